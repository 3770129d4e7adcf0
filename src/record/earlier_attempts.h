/* The attempts before the one that decided: in results.json and on the page. */
#ifndef JR_EARLIER_ATTEMPTS_H
#define JR_EARLIER_ATTEMPTS_H

#include "judge/judgement.h"

/* The value of `attempts` in results.json. */
void jr_earlier_json(struct jr_buf *out, const struct jr_judgement *report);

/* The same, read; `array` is borrowed as long as the report, and may be
 * anything. Times are those of a report whose run began at 0. */
void jr_earlier_load(struct jr_judgement *ret, struct jr_arena *arena,
                     const json_t *array);

/* When the whole run began, its first attempt, by the monotonic clock. */
uint64_t jr_judgement_began_ns(const struct jr_judgement *report,
                               const struct jr_outcome *outcome);

/* The same by wall time. */
uint64_t jr_judgement_began_wall_ns(const struct jr_judgement *report,
                                    const struct jr_outcome *outcome);

#endif
