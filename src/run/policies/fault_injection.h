/*
 * Rehearsed failures: what a plan's injections do to the ranks.
 *
 *   kill, oom, exit   SIGKILL to the rank and its group, told as what it plays
 *   stop              SIGSTOP to the rank, from which jobrun's own CONT wakes
 * it hang              SIGSTOP to its whole group, from which it does not slow
 * its group stands still for four fifths of each half second
 *
 * None of them happens to a rank that has ended, or is being stopped. A plan
 * without injections costs nothing, one with them a timer.
 */
#ifndef JR_FAULT_INJECTION_H
#define JR_FAULT_INJECTION_H

#include "eventloop/loop.h"

struct jr_rank_run;
struct jr_runner;

/* What is to come for one rank by one injection. */
struct jr_inject_cell {
    uint64_t at; /* 0: nothing */
    bool still;  /* slow: its group stands still */
};

struct jr_injector {
    struct jr_timer timer;
    struct jr_inject_cell *cells; /* injections x ranks */
};

/* -1 with ENOMEM. */
int jr_inject_open(struct jr_runner *runner);

/* A rank executes. */
void jr_inject_started(struct jr_runner *runner,
                       const struct jr_rank_run *rank);

/* A rank was reaped: its end becomes the one that was played. */
void jr_inject_ended(const struct jr_runner *runner, struct jr_rank_run *rank);

/* The ranks were told to go on. */
void jr_inject_resumed(struct jr_runner *runner);

#endif
