/*
 * The runner: starts the ranks, moves their output, stops them, and leaves no process behind. What
 * its files share; see guard.c for the other process.
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
#include "run/policies/deadline.h"
#include "run/policies/first_failure.h"
#include "run/policies/fork_stall.h"
#include "run/policies/hang.h"
#include "run/policies/lease_callers.h"
#include "run/policies/mpi_world.h"
#include "run/policies/oom.h"
#include "run/policies/output_timeout.h"
#include "run/policies/pin_results.h"
#include "run/policies/preemption.h"
#include "run/policies/status_line.h"
#include "run/policies/setup.h"
#include "run/policies/steps.h"
#include "run/policies/stop.h"
#include "run/rank_state.h"
#include "spawn/budget.h"
#include "spawn/start.h"
#include "spawn/start_helper.h"
#include "spawn/terminal.h"
#include "store/events.h"
#include "store/outcome.h"

struct jr_runner {
    const struct jr_plan *plan;
    const struct jr_run_options *options;
    struct jr_shared *shared;
    struct jr_outcome *outcome;
    struct jr_loop loop;
    struct jr_watch signals, guard, gate;
    struct jr_signals uses; /* of the signals */
    struct jr_console_writer console;
    struct jr_tee tee;
    struct jr_events events;
    struct jr_starter starter;
    struct jr_terminal *terminal;
    struct jr_helper helper;
    /* What the policies remember. Each field is named after the file in policies/ that alone reads
     * and writes it. */
    struct jr_commands commands;
    struct jr_oom oom;
    struct jr_fork_stall fork_stall;
    struct jr_fault_injection fault_injection;
    struct jr_exit_barrier exit_barrier;
    struct jr_pin_results pin_results;
    struct jr_first_exit_timeout first_exit_timeout;
    struct jr_first_failure first_failure;
    struct jr_deadline_watch deadline;
    struct jr_preemption preemption;
    struct jr_hang hang;
    struct jr_lease_callers lease_callers;
    struct jr_mpi_world mpi_world;
    struct jr_output_timeout output_timeout;
    struct jr_setup setup;
    struct jr_step_watch steps;
    struct jr_stop stop;
    struct jr_progress_line progress;
    struct jr_rank_run *ranks;
    uint32_t next;                     /* the first that was not started */
    const struct jr_plan_rank *proven; /* one that executes; NULL */
    uint32_t found;                    /* the rank that find_process_watch found last */
    uint32_t running;                  /* started and not ended */
    uint32_t ended;                    /* gives the order */
    pid_t orphan;                      /* who SIGCHLD spoke of, when it may be no rank */
    bool guard_lost;
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
    int guard_fd;                 /* pidfd of the guard; or of a pipe whose other end is open
                                     as long as the guard lives */
    int life_fd;                  /* that other end, to be closed; -1: there is none */
    int alive_fd;                 /* open as long as the runner lives; -1: none */
    int done_fd;                  /* to be written to when it is done; -1: it need not stay */
    int gate_fd;                  /* an event: the guard has left the console; -1: it has not
                                     been there */
    int stop_signal;              /* that came before the run began, which so starts nothing;
                                     the guard relays it besides; 0 */
};

/* The whole life of the runner: never returns. */
_Noreturn void jr_runner_main(const struct jr_runner_args *args);

/* Let `event` happen to every rank that was started, or waits, and to the setup, where it is not a
 * signal for ranks. */
void jr_runner_handle_all(struct jr_runner *runner, enum jr_rank_event event, int sig);

#endif
