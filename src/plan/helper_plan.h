/* The helper that ranks are forked from, except how they are distinguished. */
#ifndef JR_HELPER_PLAN_H
#define JR_HELPER_PLAN_H

#include "plan/template_scope.h"

/* Fill in the plan's helper, when its ranks are there. Its environment is what
 * those that start here have in common. Memory failure is the arena's. */
void jr_helper_fill(struct jr_plan *plan, const struct jr_scopes *scopes,
                    struct jr_arena *arena);

#endif
