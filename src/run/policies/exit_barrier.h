/*
 * Between a rank's return and its end; see exit_barrier.c.
 */
#ifndef JR_EXIT_BARRIER_H
#define JR_EXIT_BARRIER_H

#include <jobrun/plan.h>

#include "eventloop/loop.h"

struct jr_rank_run;
struct jr_runner;

/* What a rank has said on its control socket. */
enum jr_word { JR_WORD_NONE, JR_WORD_RETURNED, JR_WORD_FAILED };

/* What the policy remembers. */
struct jr_exit_barrier {
    struct jr_timer timer; /* the first rank whose time is up */
    uint32_t returned;     /* ranks that said so */
    bool open;             /* who has returned may go */
};

void jr_exit_barrier_open(struct jr_runner *runner);

/* Listen to a rank: `fd` is our end of its socket, which is taken over. */
int jr_exit_barrier_add(struct jr_rank_run *rank, int fd);

/* The run was suspended for so long. */
void jr_exit_barrier_shift(struct jr_runner *runner, uint64_t stood_ns);

/* A rank has ended, or could not start. */
void jr_exit_barrier_ended(struct jr_rank_run *rank);

/* Nobody is to be waited for any more. */
void jr_exit_barrier_release(struct jr_runner *runner);

#endif
