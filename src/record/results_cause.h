/* The causes in results.json: the root cause, and which of jobrun's own processes was killed. */
#ifndef JR_RESULTS_CAUSE_H
#define JR_RESULTS_CAUSE_H

#include "record/results_table.h"

/* Append the object of the root cause, or null. */
void jr_results_put_cause(struct jr_buf *out, const struct jr_results_cause *cause);

/* Read it; `together` is of `arena`, the strings are the object's. */
void jr_results_get_cause(struct jr_results_cause *ret, struct jr_arena *arena,
                          const json_t *object);

/* The schema of the root cause. */
json_t *jr_results_cause_schema(void);

/* Which of jobrun's own two processes was killed. */
jr_results_put jr_results_put_killed;
jr_results_get jr_results_get_killed;

#endif
