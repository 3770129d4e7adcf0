/*
 * References in shell text: ${vars.lr}, which no shell can read, becomes ${JOBRUN_VAR_lr}, and
 * `env` gets JOBRUN_VAR_lr: "${vars.lr}", so that quotes, $(( )) and values with blanks are the
 * shell's. Any other dotted path of the spec is named with its dots as underscores. What has no dot
 * is the shell's own.
 */
#ifndef JR_SHELL_VARIABLES_H
#define JR_SHELL_VARIABLES_H

#include "doc/doc.h"

/* Change `entrypoint.shell` and `setup` of a whole tree so, before ${...} is replaced in it. What
 * has the tag !!str is left alone. Where the shell would not read a reference, in single quotes or
 * in a here-document whose word is quoted, and where its name is none for a variable, that is a
 * finding. */
void jr_shell_variables(struct jr_doc *doc, struct jr_diags *diags);

#endif
