/* results.json as a whole; its keys are in results_table.h. */
#ifndef JR_RESULTS_JSON_H
#define JR_RESULTS_JSON_H

#include "record/results_table.h"

/* Append results.json of the contract, one rank a line. `drain` is given the contents of `out` in
 * between and at the end; NULL: not called. */
void jr_judgement_json(struct jr_buf *out, const struct jr_judgement *report,
                       const struct jr_plan *plan, const struct jr_outcome *outcome,
                       const struct jr_drain *drain);

/* Append its root cause alone: an object, or null. */
void jr_judgement_json_cause(struct jr_buf *out, const struct jr_judgement *report,
                             const struct jr_plan *plan, const struct jr_outcome *outcome);

/* Append the root cause of a judged run. */
void jr_results_find_cause(struct jr_buf *out, const struct jr_results_run *run);

#endif
