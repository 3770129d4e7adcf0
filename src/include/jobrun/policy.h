/*
 * The policies that a spec states, and that travel unchanged from the spec to the run and the
 * report.
 *
 * All strings are UTF-8, NUL-terminated and borrowed: they belong to the stage that made them,
 * which must outlive the reader.
 */
#ifndef JOBRUN_POLICY_H
#define JOBRUN_POLICY_H

#include <jobrun/engine.h>
#include <jobrun/entrypoint.h>
#include <jobrun/result_spec.h>

/* Failures that can be ordered, to rehearse what follows them. */
#define JR_INJECTS(X)                                                                              \
    X(KILL, "kill", "SIGKILL")                                                                     \
    X(EXIT, "exit", "it ends with an exit code")                                                   \
    X(HANG, "hang", "it is frozen until jobrun stops it")                                          \
    X(STOP, "stop", "SIGSTOP")                                                                     \
    X(SLOW, "slow", "it is frozen for four fifths of the time")                                    \
    X(NORESULT, "noresult", "what it delivers does not count")                                     \
    X(OOM, "oom", "it is killed as if memory had run out")                                         \
    X(DEADLINE, "deadline", "the deadline comes, for the whole job")                               \
    X(PREEMPT, "preempt", "the job is preempted")                                                  \
    X(LOST_NODE, "lost_node", "its node is lost, of which there is a number")

#define JR_ENUM_INJECT(name, word, help) JR_INJECT_##name,
enum jr_inject { JR_INJECTS(JR_ENUM_INJECT) };

/* One rule of `redirects` or `tee`: which local ranks (a rank set in its canonical text, see
 * jr_set_parse), which streams. */
struct jr_stream_rule {
    char *ranks;
    enum jr_streams streams;
};

/* How ranks' lines look on the console. */
struct jr_console {
    char *prefix;        /* per-rank template */
    char *ranks;         /* rank set: whose lines are shown */
    bool timestamps;     /* wall time before the prefix */
    bool collapse;       /* the same line from several ranks is shown once */
    uint64_t partial_ms; /* after which an unfinished line is shown */
    char *show, *hide;   /* PCRE2 of the lines that are, or are not, shown;
                            NULL: all are */
};

/* Limits in milliseconds; 0 means none. */
struct jr_timeouts {
    uint64_t start_ms; /* until the last rank is executing */
    uint64_t run_ms;
    uint64_t silence_ms;          /* without a byte of any rank */
    uint64_t after_first_exit_ms; /* of the ranks that run on */
    uint64_t progress_ms;         /* without a step beyond the furthest */
    uint64_t first_step_ms;       /* until there is one */
    uint64_t exit_ms;             /* of a rank that has returned */
    uint64_t stop_grace_ms;
};

/* How the job tells how far it is; beside it, what ranks append to their progress files always
 * counts. */
struct jr_progress_source {
    enum jr_progress_from from;
    char *pattern;  /* PCRE2 with a group `step`; NULL: no stream is read */
    char *ranks;    /* rank set: whose steps count; NULL: rank 0's */
    uint32_t of;    /* the last step; 0: unknown */
    uint32_t stall; /* attempts in a row without a further step, after which
                       there is no other; 0: any number */
};

/* When ranks are told that the end is near; see run/policies/deadline.c. */
struct jr_deadline {
    uint64_t before_ms; /* the known end; 0: there is no deadline */
    char *signal;       /* without SIG */
};

/* Why a job is to be continued: it is not over, and has not failed. */
#define JR_REQUEUE_CAUSES(X)                                                                       \
    X(DEADLINE, "deadline", "the ranks stopped for the deadline")                                  \
    X(PREEMPTED, "preempted", "the scheduler needs the job's nodes")                               \
    X(LOST_NODE, "lost_node", "a node was lost")

#define JR_REQUEUE_CAUSE_ENUM(name, word, help) JR_REQUEUE_##name,
enum jr_requeue_cause { JR_REQUEUE_NONE, JR_REQUEUE_CAUSES(JR_REQUEUE_CAUSE_ENUM) JR_REQUEUE_END };

/* When a job is continued: in the queue of its scheduler, or in place. */
struct jr_requeue {
    char **on; /* words of the causes; none: all of them */
    uint32_t on_count;
    uint32_t max; /* 0: it is not */
};

/* How evidence of a hang is gathered before the stop. */
struct jr_on_hang {
    char *signal;     /* without SIG; NULL: ABRT where Python handles it */
    uint64_t wait_ms; /* for all of it together */
    char **command;   /* run for each rank; %{pid} is its process */
    uint32_t command_count;
};

/* One entry of `signals`: the name is without SIG, as USR1 or RTMIN+1. */
struct jr_signal_rule {
    char *name;
    enum jr_on_signal use;
};

/* Resource limits of the ranks, each a number, a size or `unlimited`; NULL: as they are. */
struct jr_limits {
    char *nofile, *core, *memlock, *stack, *as, *nproc;
};

/* When the whole job starts again. */
struct jr_restart {
    uint32_t max;        /* restarts, within the window */
    uint64_t backoff_ms; /* before the first; twice as long before each next */
    uint64_t window_ms;  /* 0: the whole run */
    char **on;           /* causes, as base/restart_trigger.h reads them; none: any */
    uint32_t on_count;
    char **never; /* wins over `on` */
    uint32_t never_count;
};

/* What the ranks execute, and what a copy of it has as links to the original:
 * absolute paths, "all" that git ignores, or "none". */
struct jr_code_choice {
    enum jr_code_mode mode;
    char **link;
    uint32_t link_count;
};

/* What the run does with a spec's wishes; plain values, defaults filled. */
struct jr_policy {
    enum jr_on_failure on_failure;
    enum jr_stop_target stop_target;
    bool exit_barrier; /* ranks that returned stay until all have */
    enum jr_exit_status exit_status;
    enum jr_fork_threads fork_threads;
    enum jr_log_mode log_mode;
    char *log_limit; /* see jr_num_size; NULL: none */
    enum jr_isolation isolation;
    enum jr_mpi_protocol mpi;
    struct jr_timeouts timeouts;
    struct jr_limits limits;
    struct jr_on_hang on_hang;
    struct jr_signal_rule *signals;
    uint32_t signals_count;
    struct jr_restart restart;
    char **on_end; /* a command to run once the record is complete */
    uint32_t on_end_count;
    struct jr_console console;
    struct jr_results results;
    struct jr_progress_source progress;
    struct jr_code_choice code;
    struct jr_deadline deadline;
    struct jr_requeue requeue;
    struct jr_engine engine;
};

#endif
