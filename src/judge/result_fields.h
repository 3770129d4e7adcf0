/* Holding results to the `fields` of the spec. */
#ifndef JR_RESULT_FIELDS_H
#define JR_RESULT_FIELDS_H

#include "judge/judge.h"

/* Hold the result of rank `i` to `fields`. */
void jr_judge_fields(struct jr_judge *judge, size_t i);

/* A value as reasons quote it: compact JSON, cut at 60 bytes; a number in the
 * fewest digits that read back as itself. */
void jr_judge_quote(struct jr_buf *out, const json_t *value);

#endif
