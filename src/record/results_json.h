/* results.json as a whole, and its schema. How it is read back is in load_results.h. */
#ifndef JR_RESULTS_JSON_H
#define JR_RESULTS_JSON_H

#include "base/json.h"
#include "judge/judgement.h"

/* Append results.json of the contract, one rank a line. `drain` is given the contents of `out` in
 * between and at the end; NULL: not called. */
void jr_judgement_json(struct jr_buf *out, const struct jr_judgement *report,
                       const struct jr_plan *plan, const struct jr_outcome *outcome,
                       const struct jr_drain *drain);

/* Its root cause alone: an object, or null. NULL where memory ran out. The caller's. */
json_t *jr_judgement_cause(const struct jr_judgement *report, const struct jr_plan *plan,
                           const struct jr_outcome *outcome);

/* Append schemas/results-v1.schema.json. */
void jr_schema_results(struct jr_buf *out);

#endif
