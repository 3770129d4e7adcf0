/* The plan for people and for programs. */
#ifndef JR_PLAN_PRINT_H
#define JR_PLAN_PRINT_H

#include "plan/planner.h"

/* Append the plan for people: the mesh, its groups with their proof, and a row per rank (per run of
 * like ranks beyond 64). `env` adds the variables that jobrun sets: once those that all ranks
 * share, then each rank's own. `drain` is given the contents of `out` in between; NULL: not
 * called. */
void jr_plan_print(struct jr_buf *out, const struct jr_plan *plan, bool env,
                   const struct jr_drain *drain);

/* Append the plan as the JSON of the contract, one rank a line: see schemas/plan-v1.schema.json.
 * `env` has what jobrun sets, not what the rank inherits; values of secrets are "<redacted>"; a
 * list of members of more than 1 KiB is left to mesh.groups. `drain` is given the contents of `out`
 * in between; NULL: not called. */
void jr_plan_json(struct jr_buf *out, const struct jr_plan *plan, const struct jr_drain *drain);

#endif
