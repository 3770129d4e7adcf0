/*
 * From a job to a plan: pure, except for the environment that it is given. It is printed by
 * plan_json.h and plan_print.h.
 */
#ifndef JR_PLANNER_H
#define JR_PLANNER_H

#include <jobrun/plan.h>
#include <jobrun/types.h>

#include "base/arena.h"
#include "base/buf.h"

struct jr_job;
struct jr_diags;

struct jr_plan_options {
    const char *run_id;
    const char *folder;          /* of the run, below log_dir; NULL: its id */
    const char *cell, *sweep_id; /* of a sweep; NULL: it is no cell of one */
    const char *own;             /* of the run folder what is this jobrun's: "node_1";
                                    NULL: all of it */
    char *const *environ;        /* jobrun's own environment, NULL-terminated */
    bool local;                  /* every node's ranks on this machine */
    bool whole;                  /* every node's ranks, wherever they run */
    uint32_t attempt;
    const uint32_t *debug_rank; /* it gets a terminal, the others write to files
                                   only; NULL: none */
    const uint32_t *stdin_rank; /* it gets jobrun's standard input */
    const char *inject;         /* --inject; NULL: none */
    enum {
        JR_PLAN_KEEPS_ALL,
        JR_PLAN_KEEPS_NO_ENV, /* for a run: an environment is only looked at for its start */
        JR_PLAN_KEEPS_NONE    /* for printing only */
    } keeps;                /* of the ranks, unless a helper must be planned from what they share */
    struct jr_plan_mpi mpi; /* what is served, found out before */
    const char *support;    /* absolute: the folder with python/jobrun and
                               jobrun-step; NULL: there is none, and Python and
                               libraries cannot be planned */
};

/* The name of the run's folder in log_dir. */
const char *jr_plan_folder(const struct jr_plan_options *options);

/* Build the plan in `arena`; it borrows from the job, and, where it does not keep all, from what
 * the options point to; `arena` stays at its place then. Warnings (a model group that crosses a
 * node, LOCAL_RANK no device index, a list of members too long for the environment) go to `diags`,
 * as do errors: an environment variable that must be there and is not (JR_STATUS_UNRESOLVED), a
 * template or a rank set that is none (JR_STATUS_INVALID). Without memory JR_STATUS_LAUNCH, and no
 * finding. *ret is set on JR_STATUS_OK only. */
enum jr_status jr_plan_build(struct jr_plan *ret, struct jr_arena *arena, const struct jr_job *job,
                             const struct jr_plan_options *options, struct jr_diags *diags);

/* What is known of a rank without its texts: place, device, CPUs, streams, and how many variables
 * it has. */
void jr_plan_place(const struct jr_plan *plan, uint32_t rank, struct jr_plan_rank *ret);

/* A rank whole; where the plan does not keep all, it is made in `arena`, whose failure is that of
 * memory. Asking for
 * ranks in their order is cheapest. */
struct jr_plan_rank jr_plan_rank_at(const struct jr_plan *plan, uint32_t rank,
                                    struct jr_arena *arena);

#endif
