/*
 * The plan in the making: what its files share. planner.c puts the parts
 * together; instantiate.c compiles what the job says, once, and instantiates
 * the ranks: all of them, or each one of a lazy plan when it is asked for.
 */
#ifndef JR_BUILDER_H
#define JR_BUILDER_H

#include "base/rank_set.h"
#include "plan/per_rank.h"
#include "plan/planner.h"
#include "plan/rank_env.h"
#include "plan/template_scope.h"
#include "resolve/job.h"

/* What the ranks are made from. */
struct jr_rank_template {
    struct jr_scopes scopes;
    struct jr_environment env;
    struct jr_additions additions;
    struct jr_compiled_templates argv, artifacts;
    struct jr_compiled_template workdir, prefix;
    struct jr_compiled_template
        around[2]; /* the prefix before and after the ranks */
    struct jr_compiled_template
        result;             /* results.file; no pieces: the default */
    struct jr_sinks *sinks; /* by local rank */
    struct jr_set console;
    struct jr_set progress; /* whose streams tell steps; empty: no pattern */
};

struct jr_build {
    struct jr_plan *plan;
    struct jr_arena *arena; /* of the plan */
    /* Of the templates; for a lazy plan, of the plan too. */
    struct jr_arena *scratch;
    const struct jr_job *job;
    struct jr_plan_options options;
    struct jr_diags *diags;
    struct jr_rank_template template;
    uint32_t node, node_first; /* the node that was asked for last, and its
                                  first rank */
};

/* A finding about the spec as a whole: its field, but no position. Returns the
 * status of `err`; without memory, JR_STATUS_LAUNCH and no finding. */
enum jr_status jr_build_refuse(struct jr_build *build, enum jr_diag_code code,
                               const char *path, const struct jr_error *err);

/* Compile the templates that all ranks share. All mistakes are reported at
 * once; the first failure is the status. */
enum jr_status jr_build_templates(struct jr_build *build);

/* Fill plan->ranks, all of the world, from the templates; the rest of the plan
 * is there. Memory failure is that of one of the arenas. */
void jr_build_ranks(struct jr_build *build);

/* Whether no two ranks can have the same result file, whatever the ranks. */
bool jr_build_results_differ(const struct jr_build *build);

#endif
