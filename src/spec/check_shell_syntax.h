/*
 * What only a shell would replace, where no shell reads it: `$LR`, `~/data`,
 * `*.csv`, `&&` in an argument, in a variable or in a path. By its looks, so it
 * is a matter of likelihood, and of warnings. What programs are likely to read
 * themselves (a regular expression, the text of sh -c) is left alone, and so is
 * what has the tag !!str. And what jobrun itself would replace, and nothing
 * asks for: entries of `vars`.
 */
#ifndef JR_CHECK_SHELL_SYNTAX_H
#define JR_CHECK_SHELL_SYNTAX_H

#include "spec/check.h"

/* Entries of `vars` are read: warnings. */
jr_check_rule jr_check_vars;

/* No value has what only a shell would replace: warnings. */
jr_check_rule jr_check_shell_syntax;

#endif
