/* Results and marks that stand in logs, found by a pattern. */
#ifndef JR_PATTERN_H
#define JR_PATTERN_H

#include "judge/judge.h"

/* An object of the named groups of the last match in the log `path`, or NULL with the rank's fault
 * noted. Memory is bounded: a match may be 64 KiB long. `^` and `$` match at lines. */
json_t *jr_pattern_find(struct jr_judge *judge, size_t i, const char *path);

/* Whether the log `path` holds a match of `pattern`; NULL is no log. */
bool jr_pattern_holds(const char *pattern, int run_fd, const char *path);

#endif
