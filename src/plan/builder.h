/*
 * The plan in the making: what its files share. planner.c puts the parts together; instantiate.h
 * has what compiles the templates and makes the ranks of them. Private to this folder.
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
    struct jr_compiled_template around[2]; /* the prefix before and after the ranks */
    struct jr_compiled_template result;    /* results.file; no pieces: the default */
    struct jr_sinks *sinks;                /* by local rank */
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

#endif
