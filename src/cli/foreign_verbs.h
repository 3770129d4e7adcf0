/* Verbs that other tools have for what a verb of jobrun does, and launchers. */
#ifndef JR_FOREIGN_VERBS_H
#define JR_FOREIGN_VERBS_H

#include <stdbool.h>

/* What is typed after `jobrun` instead of a verb such as "ps"; NULL: it is not
 * known. */
const char *jr_foreign_verb(const char *word);

/* Whether a word is a launcher whose lines `jobrun new --from` translates. */
bool jr_foreign_launcher(const char *word);

#endif
