/* The plan for programs: the words of the contract, a rank at a time. */
#ifndef JR_PLAN_JSON_H
#define JR_PLAN_JSON_H

#include "plan/planner.h"

/* Append the plan as the JSON of the contract, one rank a line: see schemas/plan-v1.schema.json.
 * `env` has what jobrun sets, not what the rank inherits; values of secrets are "<redacted>"; a
 * list of members of more than 1 KiB is left to mesh.groups. `drain` is given the contents of `out`
 * in between; NULL: not called. */
void jr_plan_json(struct jr_buf *out, const struct jr_plan *plan, const struct jr_drain *drain);

#endif
