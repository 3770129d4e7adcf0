/* The command line: words and options in any order, `--` ends the options. With
 * -n, the first word that is no spec begins a command, and what follows belongs
 * to it: no option is read there. */
#ifndef JR_PARSE_H
#define JR_PARSE_H

#include "cli/cli.h"

/* Parse argv into *ret. Returns 0, or the exit status after the mistake was told on standard
 * error. */
int jr_cli_parse(struct jr_cli *ret, int argc, char **argv, char *const *envp);

#endif
