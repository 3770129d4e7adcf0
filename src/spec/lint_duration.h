/* The reader of lint.h for durations: 500ms, 30s, 1h30m. What people write elsewhere is understood
 * well enough to say how it is written here. */
#ifndef JR_LINT_DURATION_H
#define JR_LINT_DURATION_H

#include "spec/lint.h"

/* The reader of durations. */
jr_reader jr_read_duration;

/* The time that a text is in words, as people write it elsewhere: 2 hours, 10min, 1.5h. False for
 * none. */
bool jr_lint_read_words(const char *text, uint64_t *ret_ms);

#endif
