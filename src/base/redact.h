/* Values of secrets may be in arguments, variables, paths, results and messages, and the ranks need
 * them there. But jobrun never prints or records them. */
#ifndef JR_REDACT_H
#define JR_REDACT_H

#include "base/arena.h"
#include "base/buf.h"

#define JR_REDACTED "<redacted>"

/* Put JR_REDACTED in the place of every one of `values` (NULL-terminated; NULL:
 * none) that was appended from byte `from` on, as JSON has it or as people are
 * shown it. Values of less than four bytes are too common to be told apart, and
 * the keys of JSON are its writer's. */
void jr_redact(struct jr_buf *out, size_t from, char *const *values, bool json);

/* The same for a text as it is, with the reference ${env:NAME} in place of each value; `names` has
 * as many entries. */
void jr_redact_refer(struct jr_buf *out, size_t from, char *const *values, char *const *names);

/* `text` itself where it holds none of `values`, else a copy in `arena` with
 * JR_REDACTED in their places. NULL is NULL. */
const char *jr_redact_copy(struct jr_arena *arena, const char *text, char *const *values);

/* Whether a value is distinctive enough to give the secret away wherever it occurs: at least
 * `least` bytes, and not a number, a boolean or a path. */
bool jr_redact_wanted(const char *value, size_t least);

#endif
