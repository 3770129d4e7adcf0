/*
 * Between a rank's return and its end; see exit_barrier.c.
 */
#ifndef JR_EXIT_BARRIER_H
#define JR_EXIT_BARRIER_H

#include <jobrun/plan.h>

#include "eventloop/loop.h"
#include "run/policies/policies.h"

/* How a rank's function ended, by its control socket. */
enum jr_function_end { JR_FUNCTION_END_NONE, JR_FUNCTION_END_RETURNED, JR_FUNCTION_END_FAILED };

/* What the policy remembers. */
struct jr_exit_barrier {
    struct jr_timer timer; /* the first rank whose time is up */
    uint32_t returned;     /* ranks whose functions have */
    bool open;             /* ranks that have returned may end */
};

extern const struct jr_runner_policy jr_exit_barrier_policy;

/* Listen to a rank: `fd` is our end of its socket, which is taken over. */
int jr_exit_barrier_add(struct jr_rank_run *rank, int fd);

/* Let the ranks that have returned end, without waiting for the others. */
void jr_exit_barrier_release(struct jr_runner *runner);

#endif
