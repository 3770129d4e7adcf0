/*
 * Executing a plan: guard and runner.
 *
 * The process that calls jr_run becomes the guard: it forks the runner, relays signals to it, and
 * when the runner is SIGKILLed it ends and reaps whatever the run left. The runner starts the
 * ranks, moves their output, stops them, and ends them should the guard die.
 */
#ifndef JR_GUARD_H
#define JR_GUARD_H

#include "eventloop/signals.h"
#include "spawn/run_options.h"

/* Run the plan to its end: returns 0 and an outcome for whatever happened to
 * the ranks, or -1 when the run itself could not begin. The caller should have
 * one thread and no children of its own, for they are ended with the run;
 * SIGCHLD and the signals of the contract are blocked during the call and
 * restored after it. Where the options have a companion, one process is left:
 * jr_companion_release. Free with jr_outcome_release. */
int jr_run(struct jr_outcome *ret, const struct jr_plan *plan, const struct jr_run_options *options,
           struct jr_error *err);

/* What holds between the attempts of a run, when there is neither runner nor guard: no signal is
 * lost, and none ends the process, which has a record to keep. */
struct jr_between_attempts {
    struct jr_signals signals;
    sigset_t mask; /* as it was */
};

/* Block the signals that a run under this policy takes. */
void jr_between_attempts_open(struct jr_between_attempts *ret, const struct jr_policy *policy,
                              const sigset_t *ignored);

/* Wait so many milliseconds. Returns the signal that means stop, and came meanwhile or since the
 * last jr_run, at once; else 0. Meanwhile the console continues with what `replay` has for it;
 * NULL: there is none. */
int jr_between_attempts_wait(const struct jr_between_attempts *pause, uint64_t ms,
                             struct jr_replay *replay);

/* Forget what is pending, and let signals through as before. */
void jr_between_attempts_close(const struct jr_between_attempts *pause);

#endif
