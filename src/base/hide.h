/* Values of secrets that a spec reads by ${env:NAME} stand in arguments,
 * variables and paths, and there they have to stand. Told they are not,
 * wherever they are met. */
#ifndef JR_HIDE_H
#define JR_HIDE_H

#include "buf.h"

#define JR_REDACTED "<redacted>"

/* Put JR_REDACTED in the place of every one of `values` (NULL-terminated; NULL:
 * none) that was appended from byte `from` on, as JSON has it or as people are
 * shown it. Values of less than four bytes are too common to be told apart. */
void jr_hide(struct jr_buf *out, size_t from, char *const *values, bool json);

#endif
