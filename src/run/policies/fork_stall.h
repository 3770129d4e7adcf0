/*
 * Forked ranks that never reach their function; see fork_stall.c.
 */
#ifndef JR_FORK_STALL_H
#define JR_FORK_STALL_H

#include <stdbool.h>

#include "eventloop/loop.h"

struct jr_runner;
struct jr_rank_run;

struct jr_fork_stall {
    struct jr_timer timer;
    char threads[256]; /* of the helper, as it told them; empty: it has none */
};

void jr_fork_stall_open(struct jr_runner *runner);

/* The helper has threads besides the one that forks: warn, and watch. */
void jr_fork_stall_warn(struct jr_runner *runner, const char *threads);

/* A rank was forked. */
void jr_fork_stall_started(struct jr_rank_run *rank);

/* It is about to call its function. */
void jr_fork_stall_reached(struct jr_rank_run *rank);

/* It has ended, and was reaped: where it was killed for never having reached
 * its function, its start has failed. */
void jr_fork_stall_ended(struct jr_rank_run *rank);

/* The run stood still for that long. */
void jr_fork_stall_shift(struct jr_runner *runner, uint64_t stood_ns);

#endif
