/* --help, of the program and of each verb. */
#ifndef JR_HELP_H
#define JR_HELP_H

#include "base/buf.h"

struct jr_verb;

/* Help for the program (NULL) or a verb, from the tables. */
void jr_cli_help(struct jr_buf *out, const struct jr_verb *verb);

#endif
