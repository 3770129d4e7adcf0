/* The plan for people. */
#ifndef JR_PLAN_PRINT_H
#define JR_PLAN_PRINT_H

#include "plan/planner.h"

/* Append the plan for people: the mesh, its groups with their proof, and a row per rank (per run of
 * like ranks beyond 64). `env` adds the variables that jobrun sets: once those that all ranks
 * share, then each rank's own. `drain` is given the contents of `out` in between; NULL: not
 * called. */
void jr_plan_print(struct jr_buf *out, const struct jr_plan *plan, bool env,
                   const struct jr_drain *drain);

#endif
