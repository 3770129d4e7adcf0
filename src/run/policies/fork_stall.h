/*
 * Forked ranks that never reach their function; see fork_stall.c.
 */
#ifndef JR_FORK_STALL_H
#define JR_FORK_STALL_H

#include "eventloop/loop.h"
#include "run/policies/policies.h"

/* What the policy remembers. */
struct jr_fork_stall {
    struct jr_timer timer;
    char threads[256]; /* of the helper, as it reports them; empty: it has none
                        */
};

extern const struct jr_runner_policy jr_fork_stall_policy;

/* The helper has threads besides the one that forks: warn, and watch. */
void jr_fork_stall_warn(struct jr_runner *runner, const char *threads);

/* A rank is about to call its function. */
void jr_fork_stall_reached(struct jr_rank_run *rank);

#endif
