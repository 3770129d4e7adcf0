/* Rules of check.h on results: where they come from, their fields and comparisons, and files that
 * several ranks share. */
#ifndef JR_CHECK_RESULTS_H
#define JR_CHECK_RESULTS_H

#include "spec/check.h"

/* Results come from where they can, their fields can be met, and what is compared are fields, each
 * once. */
jr_check_rule jr_check_source, jr_check_fields, jr_check_comparisons;

/* A stream that results are read from is kept, and no two ranks that deliver share a file. */
jr_check_rule jr_check_capture, jr_check_shared;

/* Complain at `at` where nothing keeps the stream, stdout or stderr, of some rank in a file. */
void jr_check_kept(const struct jr_check *check, const struct jr_node *at, const char *stream);

/* Whether a rule of `redirects` or `tee` (NULL: not stated) takes the stream, "out" or "err", of a
 * local rank. */
bool jr_check_takes(const struct jr_check *check, const struct jr_node *rules, const char *word,
                    uint32_t rank);

#endif
