/* What the guard does once the runner has ended. For guard.c alone. */
#ifndef JR_GUARD_END_H
#define JR_GUARD_END_H

#include <signal.h>
#include <stdbool.h>

#include "eventloop/signals.h"
#include "run/runner.h"
#include "spawn/run_options.h"
#include "spawn/terminal.h"

/* The guard of a run. */
struct jr_guard {
    const struct jr_plan *plan;
    const struct jr_run_options *options;
    struct jr_shared *shared;
    struct jr_remainder *remainder;
    bool blind;  /* there are no pidfds: each watches the other by a pipe */
    int self_fd; /* a pidfd of our own, for the runner to watch; or the end of a
                    pipe */
    int life_fd; /* the other end, which only we have; -1: not there */
    pid_t runner;
    int runner_fd; /* its pidfd; -1: none */
    int alive_fd;  /* has an end once the runner goes, where it is init of a
                      namespace or there is no pidfd */
    int done_fd;   /* is written to by a runner that is done, and stays */
    int gate_fd;   /* an event: we have left the console; -1: not there */
    int signal_fd;
    int stop_signal; /* the first signal that means stop; 0 */
    struct jr_signals signals;
    struct jr_terminal terminal; /* --debug */
    struct jr_run_options own;   /* with the rank's end of it */
    int subreaper;               /* as it was, like those below */
    sigset_t mask;
    struct sigaction on_pipe, on_child;
};

/* Complete the outcome after the runner, whose end is `end`: end and reap what is left, record a
 * runner that was killed, and show what it has left for the console. `gone`: the runner has ended,
 * or is done and stays; else it could not be reaped, and is named among what is left. Returns 0
 * when there is an outcome, else -1 with `err`. */
int jr_guard_end(struct jr_guard *guard, bool gone, siginfo_t *end, struct jr_error *err);

#endif
