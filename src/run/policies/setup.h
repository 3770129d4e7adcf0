/*
 * The spec's `setup`: run once, before the helper and the ranks; see setup.c.
 */
#ifndef JR_SETUP_H
#define JR_SETUP_H

#include "run/rank_state.h"

struct jr_setup {
    bool done;                /* ranks may start: it went well, or there is none */
    struct jr_rank_run run;   /* its process, which ends as those of ranks do */
    struct jr_plan_rank plan; /* its streams and folder, as if it were one */
    struct jr_rank_outcome outcome;
    char log[64];
    int exported; /* a file in memory: what it exports; -1: none */
};

/* Whether ranks may start. */
bool jr_setup_is_done(const struct jr_runner *runner);

/* The process of the setup, whose `pid` is 0 if there is none. */
struct jr_rank_run *jr_setup_process(struct jr_runner *runner);

/* Begin, or call jr_launch_begin at once where the plan has no setup. */
void jr_setup_open(struct jr_runner *runner);

#endif
