/*
 * What the files of the runner share. runner.c has its loop, from its fork to its end; launch.c
 * starts ranks and takes their ends, by the table of rank_state.c; setup.c runs what comes before
 * them; the policies decide (policies/internal.h). guard.c has the other process. Not for other
 * layers.
 */
#ifndef JR_RUN_INTERNAL_H
#define JR_RUN_INTERNAL_H

#include "eventloop/signals.h"
#include "output/console.h"
#include "output/tee.h"
#include "run/policies/internal.h"
#include "spawn/budget.h"
#include "spawn/start.h"
#include "spawn/start_helper.h"
#include "spawn/terminal.h"
#include "store/events.h"
#include "store/outcome.h"

/* One rank while it runs: a state x event table, every cell filled. */

#define JR_LIFE_STATES(X)                                                                          \
    X(WAITING, "waiting") /* not started yet */                                                    \
    X(RUNNING, "running")                                                                          \
    X(SUSPENDED, "suspended") /* by SIGSTOP, for jobrun was */                                     \
    X(STOPPING, "stopping")   /* was told to end; the grace runs */                                \
    X(KILLING, "killing")     /* got SIGKILL */                                                    \
    X(ENDED, "ended")

#define JR_RANK_EVENTS(X)                                                                          \
    X(STARTED, "started")                                                                          \
    X(UNSTARTED, "unstarted") /* could not be started, or shall not be */                          \
    X(EXIT, "exit")           /* its process ended and was reaped */                               \
    X(STOP, "stop")                                                                                \
    X(KILL, "kill")                                                                                \
    X(SUSPEND, "suspend")                                                                          \
    X(RESUME, "resume")                                                                            \
    X(FORWARD, "forward") /* a signal that is the rank's business */                               \
    X(ASK, "ask")         /* a signal for evidence of a hang; see hang.c */

#define JR_LIFE_ENUM(name, word)       JR_LIFE_##name,
#define JR_RANK_EVENT_ENUM(name, word) JR_RANK_ON_##name,
enum jr_life { JR_LIFE_STATES(JR_LIFE_ENUM) JR_LIFE_COUNT };
enum jr_rank_event { JR_RANK_EVENTS(JR_RANK_EVENT_ENUM) JR_RANK_EVENT_COUNT };

struct jr_rank_run {
    struct jr_runner *runner;
    struct jr_watch watch;   /* its pidfd, or a stand-in; -1: it is reaped */
    struct jr_watch control; /* its control socket; see exit_barrier.c */
    struct jr_watch line;    /* its life line; see first_failure.c */
    enum jr_function_end function_end;
    uint64_t leave_by;   /* when it must have ended; 0: no such time */
    uint64_t reach_by;   /* when it must have reached its function; 0 */
    bool other_released; /* a process that is not the rank got its answer */
    enum jr_life state;
    bool announced; /* it told that it fails, before it let go of anything */
    bool group;     /* the stop signal goes to its whole process group */
    bool shielded;  /* it began with SIGTERM ignored */
    pid_t pid;      /* leader of its session and group, not reaped */
    const struct jr_plan_rank *plan;
    struct jr_rank_outcome *outcome;
};

/* Let `event` happen to the rank. `sig` is what STOP, FORWARD and ASK send. */
void jr_rank_handle(struct jr_rank_run *rank, enum jr_rank_event event, int sig);

/* Take the end of the rank's process, once its pidfd is readable, into the outcome. False while
 * there is none. */
bool jr_rank_reap(struct jr_rank_run *rank);

/* Append the table as text: a row per state, a column per event. */
void jr_rank_table_print(struct jr_buf *out);

/* The ranks' coming and going: each is started when its turn comes, here or by the helper, is
 * watched, and is judged at its end. */

/* Before anything else: there is no helper yet. */
void jr_launch_open(struct jr_runner *runner);

/* The setup is done: start the helper, if ranks are forked from one. */
void jr_launch_begin(struct jr_runner *runner);

/* Start some of the ranks that are due, and tend the helper. Returns whether there was a rank that
 * could be started at once. */
bool jr_launch_turn(struct jr_runner *runner);

/* Whether ranks are still to come. */
bool jr_launch_is_due(const struct jr_runner *runner);

/* No further rank will start: the first that has no process is reported as the one that failed.
 * `text`: more of why; may be empty. */
void jr_launch_fail(struct jr_runner *runner, enum jr_stage stage, int error, const char *text);

/* The spec's `setup`: run once, before the helper and the ranks. */
struct jr_setup {
    bool done;                /* ranks may start: it went well, or there is none */
    struct jr_rank_run run;   /* its process, which ends as those of ranks do; pid 0: none */
    struct jr_plan_rank plan; /* its streams and folder, as if it were one */
    struct jr_rank_outcome outcome;
    char log[64];
    int exported; /* a file in memory: what it exports; -1: none */
};

/* Begin, or call jr_launch_begin at once where the plan has no setup. */
void jr_setup_open(struct jr_runner *runner);

/* node_link.c: copies of the descriptors of jr_run_link; -1: there is no link. */
struct jr_node_link {
    int commands_fd;
    int reports_fd;
    int exchange_fd; /* -1 also where it was taken */
};

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
    struct jr_setup setup;
    struct jr_node_link link;
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

/* Write an event: JR_TELL(runner, .name = JR_EVENT_STOP, .signal = SIGTERM). */
#define JR_TELL(runner, ...) jr_events_add(&(runner)->events, &(struct jr_event){__VA_ARGS__})

/* Before descriptors move into their slots: take copies of the link's. Returns 0, or -1 with errno;
 * without a link nothing is done. */
int jr_node_link_keep(struct jr_runner *runner);

/* Tell the other nodes; without a link nothing is done. `for_ns` is that of QUIET, else 0. */
void jr_node_link_report(struct jr_runner *runner, enum jr_report_name name, uint64_t for_ns);

/* The descriptor of the exchange, which is the caller's from now on; -1: there is no link. */
int jr_node_link_take_exchange(struct jr_runner *runner);

/* Set a timer up, which is due at no time yet. It `pauses` while jobrun is suspended. */
void jr_runner_timer(struct jr_runner *runner, struct jr_timer *timer, void (*due)(void *),
                     bool pauses);

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
