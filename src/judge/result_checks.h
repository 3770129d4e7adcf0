/* Holding what the ranks delivered to the spec: each result to its `fields`, and all to each other,
 * by `equal` and `distinct`. */
#ifndef JR_RESULT_CHECKS_H
#define JR_RESULT_CHECKS_H

#include "judge/judge.h"

/* What reasons call the place that rank `i` delivers to: "result.json". */
const char *jr_result_source(const struct jr_judge *judge, size_t i);

/* Hold all ranks' results to `equal` and `distinct` once more, over ranks that have been compared
 * in parts: what that found is forgotten. */
void jr_compare_again(struct jr_judge *judge);

/* Whether two values are the same there: 1 is 1.0, the order of keys is none.
 */
bool jr_judge_equal(const json_t *a, const json_t *b);

/* A value as reasons quote it: compact JSON, cut at 60 bytes; a number in the fewest digits that
 * read back as itself. */
void jr_judge_quote(struct jr_buf *out, const json_t *value);

#endif
