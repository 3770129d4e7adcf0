/*
 * The runner: starts the ranks, moves their output, stops them, and leaves no
 * process behind. What its files share; see guard.c for the other process.
 */
#ifndef JR_RUNNER_H
#define JR_RUNNER_H

#include "eventloop/loop.h"
#include "eventloop/signals.h"
#include "output/console.h"
#include "output/tee.h"
#include "run/launch.h"
#include "run/policies/commands.h"
#include "run/policies/fault_injection.h"
#include "run/policies/first_exit_timeout.h"
#include "run/policies/first_failure.h"
#include "run/policies/fork_stall.h"
#include "run/policies/hang.h"
#include "run/policies/oom.h"
#include "run/policies/output_timeout.h"
#include "run/policies/pin_results.h"
#include "run/policies/progress.h"
#include "run/policies/setup.h"
#include "run/rank_state.h"
#include "spawn/budget.h"
#include "spawn/start.h"
#include "spawn/start_helper.h"
#include "spawn/terminal.h"
#include "store/events.h"
#include "store/outcome.h"

#define JR_KILL_WAIT_NS (10 * UINT64_C(1000000000)) /* for unkillable ones */

/* What the stop policy remembers; see stop.c. */
struct jr_stop {
    bool begun;            /* no further rank is started */
    bool forced;           /* SIGKILL was sent */
    bool given_up;         /* what is left does not die */
    uint64_t signalled_ns; /* when jobrun was last told to stop */
    uint32_t gone;         /* ranks, from the first on, without a group left */
    struct jr_timer start, run, grace, kill;
};

struct jr_runner {
    const struct jr_plan *plan;
    const struct jr_run_options *options;
    struct jr_shared *shared;
    struct jr_outcome *outcome;
    struct jr_loop loop;
    struct jr_watch signals, guard, gate;
    struct jr_watch orders; /* of the link; -1: there is none */
    struct jr_signals uses; /* of the signals */
    struct jr_console_writer screen;
    struct jr_tee tee;
    struct jr_events events;
    struct jr_status_line status;
    struct jr_starter starter;
    struct jr_terminal *terminal;
    struct jr_setup setup;
    struct jr_helper helper;
    struct jr_exit_barrier linger;
    struct jr_pinning pinning;
    struct jr_fork_stall fork_stall;
    struct jr_output_timeout silence;
    struct jr_first_exit straggle;
    struct jr_first_failure first;
    struct jr_hang hang;
    struct jr_injector injector;
    struct jr_stop stop;
    struct jr_rank_run *ranks;
    uint32_t next;    /* the first that was not started */
    uint32_t running; /* started and not ended */
    uint32_t ended;   /* gives the order */
    pid_t orphan;     /* who SIGCHLD spoke of, when it may be no rank */
    bool guard_lost;
    struct jr_oom oom;
    int done_fd; /* as that of jr_runner_args */
    int proc_fd; /* the machine's /proc, in a namespace; -1: it is ours */
};

/* What the guard hands to the process that it forked. */
struct jr_runner_args {
    const struct jr_plan *plan;
    const struct jr_run_options *options;
    struct jr_shared *shared;
    const struct jr_budget *budget;
    struct jr_remainder *remainder;
    struct jr_terminal *terminal; /* of the rank with JR_INPUT_TERMINAL */
    int guard_fd;                 /* pidfd of the guard */
    int alive_fd; /* open as long as the runner lives; -1: none */
    int done_fd;  /* to be written to when it is done; -1: it need not stay */
    int gate_fd;  /* an event: the guard has left the console; -1: it has not
                     been there */
};

/* The whole life of the runner: never returns. */
_Noreturn void jr_runner_main(const struct jr_runner_args *args);

/* Let `event` happen to every rank that was started, or waits, and to the
 * setup, where it is not a signal for ranks. */
void jr_runner_tell_all(struct jr_runner *runner, enum jr_rank_event event,
                        int sig);

/* The stop policy: stop.c. */
void jr_stop_open(struct jr_runner *runner);
/* Record that a timeout has passed which ends the run; the first one counts. */
void jr_stop_timed_out(struct jr_runner *runner, enum jr_timeout by);
/* End the run: stop signal, SIGCONT, the grace, SIGKILL. Once. */
void jr_stop_begin(struct jr_runner *runner);
/* Once no rank runs or is to come: whether they left processes in their groups,
 * which were told to stop and still have the grace. */
bool jr_stop_waits(struct jr_runner *runner);
/* SIGKILL now. */
void jr_stop_force(struct jr_runner *runner);
/* jobrun was sent a signal that stops it: the first begins, another forces. */
void jr_stop_signal(struct jr_runner *runner, int sig);
/* Nothing is left to stop: no timeout counts any more. */
void jr_stop_rest(struct jr_runner *runner);
/* A rank ended: decide what that means to the others. */
void jr_stop_judge(struct jr_runner *runner, struct jr_rank_run *rank);

#endif
