/*
 * Between a rank's return and its end; see exit_barrier.c.
 */
#ifndef JR_EXIT_BARRIER_H
#define JR_EXIT_BARRIER_H

#include <jobrun/plan.h>

#include "eventloop/loop.h"
#include "run/policies/policies.h"

/* What a rank has said on its control socket. */
enum jr_word { JR_WORD_NONE, JR_WORD_RETURNED, JR_WORD_FAILED };

/* What the policy remembers. */
struct jr_exit_barrier {
    struct jr_timer timer; /* the first rank whose time is up */
    uint32_t returned;     /* ranks that said so */
    bool open;             /* who has returned may go */
};

extern const struct jr_runner_policy jr_exit_barrier_policy;

/* Listen to a rank: `fd` is our end of its socket, which is taken over. */
int jr_exit_barrier_add(struct jr_rank_run *rank, int fd);

/* Nobody is to be waited for any more. */
void jr_exit_barrier_release(struct jr_runner *runner);

#endif
