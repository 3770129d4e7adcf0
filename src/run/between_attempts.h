/*
 * What holds between the attempts of a run, when there is neither runner nor guard: no signal is
 * lost, and none ends the process, which has a record to keep.
 */
#ifndef JR_BETWEEN_ATTEMPTS_H
#define JR_BETWEEN_ATTEMPTS_H

#include "eventloop/signals.h"

struct jr_between_attempts {
    struct jr_signals signals;
    sigset_t mask; /* as it was */
};

/* Block the signals that a run under this policy takes. */
void jr_between_attempts_open(struct jr_between_attempts *ret, const struct jr_policy *policy,
                              const sigset_t *ignored);

struct jr_replay;

/* Wait so many milliseconds. Returns the signal that means stop, and came meanwhile or since the
 * last jr_run, at once; else 0. Meanwhile the console continues with what `replay` has for it;
 * NULL: there is none. */
int jr_between_attempts_wait(const struct jr_between_attempts *pause, uint64_t ms,
                             struct jr_replay *replay);

/* Forget what is pending, and let signals through as before. */
void jr_between_attempts_close(const struct jr_between_attempts *pause);

#endif
