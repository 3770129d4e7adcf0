/* Holding what the ranks delivered to the spec: each result to its `fields`, and all to each other,
 * by `equal` and `distinct`. */
#ifndef JR_RESULT_CHECKS_H
#define JR_RESULT_CHECKS_H

#include "judge/judge.h"

/* Hold all ranks' results to `equal` and `distinct`. */
void jr_compare(struct jr_judge *judge);

/* The same once more, over ranks that have been compared in parts: what that found is forgotten. */
void jr_compare_again(struct jr_judge *judge);

/* Whether two values are the same there: 1 is 1.0, the order of keys is none.
 */
bool jr_judge_equal(const json_t *a, const json_t *b);

/* Hold the result of rank `i` to `fields`. */
void jr_judge_fields(struct jr_judge *judge, size_t i);

/* A value as reasons quote it: compact JSON, cut at 60 bytes; a number in the fewest digits that
 * read back as itself. */
void jr_judge_quote(struct jr_buf *out, const json_t *value);

#endif
