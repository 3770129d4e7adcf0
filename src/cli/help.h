/* --help, of the program and of each verb; and the verbs help and version,
 * which cli.h declares. */
#ifndef JR_HELP_H
#define JR_HELP_H

#include "base/buf.h"

struct jr_verb;

/* Help for the program (NULL; its rare verbs too if `all`) or a verb, from the tables, as wide as
 * out->width says. */
void jr_cli_help(struct jr_buf *out, const struct jr_verb *verb, bool all);

#endif
