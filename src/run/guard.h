/*
 * Executing a plan: guard and runner.
 *
 * The process that calls jr_run becomes the guard: it forks the runner, relays signals to it, and
 * when the runner is SIGKILLed it ends and reaps whatever the run left. The runner starts the
 * ranks, moves their output, stops them, and ends them should the guard die.
 */
#ifndef JR_GUARD_H
#define JR_GUARD_H

#include "spawn/run_options.h"

/* Run the plan to its end: returns 0 and an outcome for whatever happened to
 * the ranks, or -1 when the run itself could not begin. The caller should have
 * one thread and no children of its own, for they are ended with the run;
 * SIGCHLD and the signals of the contract are blocked during the call and
 * restored after it. Where the options have a companion, one process is left:
 * jr_companion_release. Free with jr_outcome_release. */
int jr_run(struct jr_outcome *ret, const struct jr_plan *plan, const struct jr_run_options *options,
           struct jr_error *err);

#endif
