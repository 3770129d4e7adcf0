/*
 * Ranks from templates: what the job says is compiled once, and the ranks are instantiated, all of
 * them, or each one of a lazy plan when it is asked for (jr_plan_rank_at in planner.h). Private to
 * this folder.
 */
#ifndef JR_INSTANTIATE_H
#define JR_INSTANTIATE_H

#include "plan/builder.h"

/* A finding about the spec as a whole: its field, but no position. Returns the status of `err`;
 * without memory, JR_STATUS_LAUNCH and no finding. */
enum jr_status jr_build_refuse(struct jr_build *build, enum jr_diag_code code, const char *path,
                               const struct jr_error *err);

/* Compile the templates that all ranks share. All mistakes are reported at once; the first failure
 * is the status. */
enum jr_status jr_build_templates(struct jr_build *build);

/* Fill plan->ranks, all of the world, from the templates; the rest of the plan is there. Memory
 * failure is that of one of the arenas. */
void jr_build_ranks(struct jr_build *build);

/* Whether no two ranks can have the same result file, whatever the ranks. */
bool jr_build_results_differ(const struct jr_build *build);

#endif
