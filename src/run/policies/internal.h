/*
 * The runner's policies: what each of them does at the turns of a run, what it remembers, and what
 * others may ask of it. The manual of a policy is the first comment of its file. The runner knows
 * the array in policies.c alone, and what a policy remembers is a member of jr_runner that no other
 * file touches.
 */
#ifndef JR_RUN_POLICIES_INTERNAL_H
#define JR_RUN_POLICIES_INTERNAL_H

#include <limits.h>

#include <jobrun/run.h>

#include "base/backlog.h"
#include "eventloop/loop.h"
#include "output/step_lines.h"
#include "run/policies/pin_results.h"
#include "spawn/run_options.h"
#include "spawn/slurm_job.h"
#include "store/step_tracker.h"
#include "wireup/exchange.h"
#include "wireup/pmi_server.h"
#include "wireup/pmix_server.h"

struct jr_rank_run;
struct jr_runner;

/* The turns of a run. X(hook, its parameter, what it returns) */
#define JR_POLICY_HOOKS(X)                                                                         \
    /* The loop is there, and no rank yet: -1 with errno fails the run. */                         \
    X(open, (struct jr_runner * runner), int)                                                      \
    /* A rank has a process. */                                                                    \
    X(rank_started, (struct jr_rank_run * rank), void)                                             \
    /* A rank was reaped, or could not be started: its outcome says which. */                      \
    X(rank_ended, (struct jr_rank_run * rank), void)                                               \
    /* The run is being stopped: no limit of time counts any more. Once more                       \
     * when SIGKILL follows. */                                                                    \
    X(stopping, (struct jr_runner * runner), void)                                                 \
    /* jobrun is suspended: the ranks are about to be. */                                          \
    X(suspended, (struct jr_runner * runner), void)                                                \
    /* The ranks go on, after `paused_ns`; 0 where they had not been told to                       \
     * stand still. */                                                                             \
    X(resumed, (struct jr_runner * runner, uint64_t paused_ns), void)                              \
    /* No rank is left: what the policy started ends. */                                           \
    X(close, (struct jr_runner * runner), void)

/* One policy. A hook is NULL where the policy has nothing to do. */
struct jr_runner_policy {
    const char *name; /* of its file */
#define JR_POLICY_FIELD(hook, parameters, type) type(*hook) parameters;
    JR_POLICY_HOOKS(JR_POLICY_FIELD)
#undef JR_POLICY_FIELD
};

/* Call a hook of every policy that has it, in order; the first of `open` that fails ends that, with
 * -1 and errno. */
#define JR_POLICY_CALL(hook, parameters, type) type jr_policies_##hook parameters;
JR_POLICY_HOOKS(JR_POLICY_CALL)
#undef JR_POLICY_CALL

/* Each is in its file. */
extern const struct jr_runner_policy jr_commands_policy, jr_deadline_policy, jr_exit_barrier_policy,
    jr_fault_injection_policy, jr_first_exit_timeout_policy, jr_first_failure_policy,
    jr_fork_stall_policy, jr_hang_policy, jr_lease_callers_policy, jr_mpi_world_policy,
    jr_oom_policy, jr_output_timeout_policy, jr_pin_results_policy, jr_preemption_policy,
    jr_progress_policy, jr_rank_events_policy, jr_steps_policy, jr_stop_policy;

/* Append the array as text: a row per policy, a column per hook. */
void jr_policies_print(struct jr_buf *out);

/* commands.c: from the other nodes of a job, by the link of jr_run_options. */
struct jr_commands {
    struct jr_watch watch; /* -1: there is no link */
};

/* lease_callers.c: who ask for the holder of a lease of the run, or wait for its end. */
struct jr_lease_callers {
    struct jr_watch watch; /* of the backlog; -1: there are no leases */
    struct jr_backlog backlog;
    int *leases; /* as they are numbered here */
    uint32_t count;
};

/* Before descriptors move into their slots: take copies of those leases that would have to move.
 * Returns 0, or -1 with errno. */
int jr_lease_callers_keep(struct jr_runner *runner);

/* oom.c: whether the kernel killed a rank for want of memory. */
#define JR_OOM_NAMED 64 /* processes of the log that are remembered */

struct jr_oom {
    const char *root;          /* below which /proc and /dev lie; borrowed */
    char path[PATH_MAX];       /* of the file with the count */
    bool own;                  /* it counts our group, not the machine */
    uint64_t counted;          /* kills that were there, or were told of */
    uint64_t machine;          /* the machine's, when we began */
    int log_fd;                /* /dev/kmsg, from now on; -1: not to be read */
    pid_t named[JR_OOM_NAMED]; /* by the log, the last of them */
    unsigned named_count;
};

/* Begin to count, below `root` ("": this machine). The descriptor is at least
 * `at_least`. */
void jr_oom_open(struct jr_oom *oom, const char *root, int at_least);

/* Whether the SIGKILL that process `pid`, as the machine numbers it, died of came from there. Each
 * kill that was counted explains one process. */
bool jr_oom_explains(struct jr_oom *oom, pid_t pid);

/* fork_stall.c: forked ranks that never reach their function. */
struct jr_fork_stall {
    struct jr_timer timer;
    char threads[256]; /* of the helper, as it reports them; empty: it has none */
};

/* The helper has threads besides the one that forks: warn, and watch. */
void jr_fork_stall_warn(struct jr_runner *runner, const char *threads);

/* A rank is about to call its function. */
void jr_fork_stall_reached(struct jr_rank_run *rank);

/* fault_injection.c: what is to come for one rank by one injection. */
struct jr_inject_cell {
    uint64_t at; /* 0: nothing */
    bool still;  /* slow: its group stands still */
};

struct jr_fault_injection {
    struct jr_timer timer;
    struct jr_inject_cell *cells; /* injections x ranks */
};

/* exit_barrier.c: how a rank's function ended, by its control socket. */
enum jr_function_end { JR_FUNCTION_END_NONE, JR_FUNCTION_END_RETURNED, JR_FUNCTION_END_FAILED };

struct jr_exit_barrier {
    struct jr_timer timer; /* the first rank whose time is up */
    uint32_t returned;     /* ranks whose functions have */
    bool open;             /* ranks that have returned may end */
};

/* Listen to a rank: `fd` is our end of its socket, which is taken over. */
int jr_exit_barrier_add(struct jr_rank_run *rank, int fd);

/* Let the ranks that have returned end, without waiting for the others. */
void jr_exit_barrier_release(struct jr_runner *runner);

/* mpi_world.c: the stream of one rank to its process manager. */
struct jr_mpi_stream {
    struct jr_watch watch;
    struct jr_mpi_world *world;
    bool full; /* it takes no more: nothing is read from it until it does */
};

/* The stream to the process managers of other nodes, by PMI-1. */
struct jr_mpi_exchange {
    struct jr_watch watch; /* -1: it has ended, or there is none */
    struct jr_inlet inlet;
    struct jr_buf out; /* what there was no room for yet */
    size_t sent;       /* bytes of it */
    bool far;          /* there are other nodes */
    bool full;         /* room is waited for */
};

struct jr_mpi_world {
    struct jr_runner *runner;
    struct jr_pmi pmi;
    struct jr_mpi_stream *streams; /* of all ranks; NULL: none is served */
    uint32_t initialized;          /* inits so far */
    bool others;                   /* a rank of another node has */
    bool opened;                   /* the barrier, a moment ago */
    bool told;                     /* that a failure ends it in spite of the spec */
    bool explained;                /* why a second program has failed */
    struct jr_mpi_exchange exchange;
    struct jr_pmix pmix;    /* the server of PMIx, in the place of all that */
    struct jr_watch events; /* what it tells */
    bool starting;          /* it does not serve yet */
    struct jr_timer ready;  /* when that has taken too long */
};

/* Serve a rank over `fd`, our end of its stream, which does not block; -1:
 * there is none. Returns 0, or -1 with errno. */
int jr_mpi_world_add(struct jr_rank_run *rank, int fd);

/* Whether ranks may start: there is a manager for them, or none is needed. */
bool jr_mpi_world_is_ready(const struct jr_runner *runner);

/* Whether the others cannot go on without a rank that has failed: one of them
 * has initialized, and it has not finalized. That ends the run, whatever
 * `on_failure` says. */
bool jr_mpi_world_needs(const struct jr_rank_run *rank);

/* Tell of a rank whose failure ends the run where `on_failure` is `continue`. Once. */
void jr_mpi_world_tell_end(struct jr_rank_run *rank);

/* A rank of some other node has called MPI_Init. */
void jr_mpi_world_note_others(struct jr_runner *runner);

/* pin_results.c: what is to be noted, of whom. */
struct jr_pin_results {
    struct jr_arena arena;
    struct jr_set required;
    bool *common; /* see jr_pin_common */
    bool file, artifacts;
    bool everyone; /* is asked for artifacts */
    int stream;    /* 0 standard output, 1 standard error, -1 none */
};

/* The rank has returned, and says of its result file what `identity` has behind its first letter:
 * device, inode, size, and times in nanoseconds. */
void jr_pin_returned(struct jr_rank_run *rank, const char *identity);

/* first_exit_timeout.c: `timeouts.after_first_exit`. */
struct jr_first_exit_timeout {
    struct jr_timer timer;
    bool begun; /* a rank has ended well */
};

/* The first rank has ended well; later ones change nothing. */
void jr_first_exit_begin(struct jr_runner *runner);

/* first_failure.c: what is noted of it while it can still be told apart from what follows from it,
 * and the stop that waits for that. */
struct jr_first_failure {
    struct jr_timer timer; /* the stop is held until then */
    struct jr_loop lines;  /* the ranks' life lines */
    uint64_t until_ns;     /* and at most until then; 0: it never was */
    uint64_t noted_ns;     /* when exiting ranks were last noted; 0: never */
    uint32_t failed;       /* ranks that failed while the stop was held */
    uint32_t exiting;      /* those that have announced that, and not ended */
};

/* A rank was started: hear of the end of its life line, whose read end is
 * `line`; -1: it has none. */
void jr_first_failure_watch(struct jr_rank_run *rank, int line);

/* Note which life lines have hung up by now, in their order. */
void jr_first_failure_hear_lines(struct jr_runner *runner);

/* A rank announces that it fails, before it closes anything: by an exception, or to exit with
 * `code`, which is not 0 then. It waits for the answer. */
void jr_first_failure_announced(struct jr_rank_run *rank, int code);

/* A rank has failed, by being reaped. Returns whether the stop that follows waits for more to be
 * known. */
bool jr_first_failure_holds(struct jr_rank_run *rank);

/* A rank has ended well, or badly after all. */
void jr_first_failure_ended(struct jr_rank_run *rank);

/* Note which ranks are exiting, just before the stop signal is sent. */
void jr_first_failure_note_exiting(struct jr_runner *runner);

/* Whether the stop is being held: no further rank is started then. */
bool jr_first_failure_holds_stop(const struct jr_runner *runner);

/* Whether the run continues, without a rank of ours, only to hold its stop. */
bool jr_first_failure_waits(const struct jr_runner *runner);

/* deadline.c: the warning before the end of the time. */
struct jr_deadline_watch {
    struct jr_timer timer;
    bool begun; /* ranks that start from now on are warned at once */
};

/* Warn the ranks now; a second time nothing happens. */
void jr_deadline_begin(struct jr_runner *runner);

/* jobrun was sent a signal that it forwards. True: it is the word of the scheduler that the end is
 * near, and is not. */
bool jr_deadline_takes(struct jr_runner *runner, int sig);

/* preemption.c: the scheduler takes the job's nodes away. */
struct jr_preemption {
    struct jr_timer injected; /* when it is rehearsed */
    struct jr_timer limit;    /* when the ranks have had their time */
    struct jr_timer patience; /* when no answer is awaited any more */
    struct jr_watch answer;
    struct jr_slurm_call call;
    unsigned tries;        /* calls that were made for the answer */
    bool open;             /* it is not known yet whether the job is preempted */
    bool hit;              /* a rank has died of SIGTERM since, and that ends the run */
    uint64_t signalled_ns; /* when jobrun was sent SIGTERM; 0: it was not */
};

/* The job is preempted: its ranks have `left_ms` from now on, or
 * `timeouts.stop_grace` where that is 0. A second time nothing happens. */
void jr_preemption_begin(struct jr_runner *runner, uint64_t left_ms);

/* jobrun was sent a signal that stops runs. True: it may mean a preemption, and is taken care
 * of. */
bool jr_preemption_takes(struct jr_runner *runner, int sig);

/* A rank has ended. True: by a signal that may mean a preemption, so that it is not known yet
 * whether it failed. */
bool jr_preemption_explains(struct jr_rank_run *rank);

/* Something may mean a preemption: find out. */
void jr_preemption_ask(struct jr_runner *runner);

/* The controller has found out. */
void jr_preemption_settle(struct jr_runner *runner, bool preempted);

/* Whether it is not known yet. */
bool jr_preemption_is_open(const struct jr_runner *runner);

/* hang.c: evidence of a hang, and then the stop. Why it is one: */
enum jr_hang_why {
    JR_HANG_SILENCE,    /* timeouts.silence */
    JR_HANG_FIRST_EXIT, /* timeouts.after_first_exit */
    JR_HANG_PROGRESS,   /* timeouts.progress */
    JR_HANG_FIRST_STEP  /* timeouts.first_step */
};

struct jr_hang {
    struct jr_timer timer;
    bool begun;                 /* no end of a rank begins the stop any more */
    bool looked;                /* the evidence is written */
    uint64_t until_ns;          /* then it is enough */
    uint64_t first_ns;          /* when the ranks were first looked at */
    struct jr_hang_rank *ranks; /* one per rank */
    uint32_t next;              /* the first rank whose command was not started */
    uint32_t running;           /* commands */
};

/* Gather evidence from the ranks that live, and then stop the run. Once; not in a run that is being
 * stopped. */
void jr_hang_begin(struct jr_runner *runner, enum jr_hang_why why);

/* Whether evidence is, or was, gathered: from then on no end of a rank begins the stop. */
bool jr_hang_has_begun(const struct jr_runner *runner);

/* The watch of the process, if it is one of the commands that gather evidence; NULL. */
struct jr_watch *jr_hang_watch(struct jr_runner *runner, pid_t pid);

/* output_timeout.c, `timeouts.silence`: the sizes of a rank's plain files when they were last
 * looked at. */
struct jr_output_timeout_sizes {
    int64_t bytes[2];
};

struct jr_output_timeout {
    struct jr_timer timer;
    bool open;                             /* it can be told */
    uint64_t since_ns;                     /* no silence began before this */
    struct jr_output_timeout_sizes *sizes; /* one per rank; NULL: no plain files */
};

/* Report to the other nodes of the job for how long all ranks here have written nothing. */
void jr_output_timeout_report(struct jr_runner *runner);

/* steps.c: the steps that ranks tell. */
struct jr_step_watch {
    bool open;
    struct jr_step_tracker tracker;
    struct jr_step_lines streams, lines; /* of the streams, of the files */
    struct jr_watch folder;              /* inotify(7); -1: not watched */
    int folder_fd;                       /* of the files; -1: none */
    struct jr_step_file *files;          /* one a rank */
    char *bytes;                         /* of a file, read just now */
    struct jr_timer flush, limit;
    struct jr_timer watch; /* when the folder's begins, if not at once */
    struct jr_step_limit limits;
};

/* All that the ranks wrote has been read: write the files for the last time. */
void jr_steps_finish(struct jr_runner *runner);

/* stop.c: who decides that a run is to end, and how that is done. */
struct jr_stop {
    bool begun;            /* no further rank is started */
    bool forced;           /* SIGKILL was sent */
    bool given_up;         /* what is left does not die */
    uint64_t signalled_ns; /* when jobrun was last told to stop */
    uint32_t groups_gone;  /* ranks, from the first on, without a group left */
    struct jr_timer start, run, grace, kill;
};

/* How long a process is waited for that SIGKILL does not end. */
#define JR_KILL_WAIT_NS (10 * UINT64_C(1000000000))

/* Record that a timeout has passed which ends the run; the first one counts. */
void jr_stop_timed_out(struct jr_runner *runner, enum jr_timeout by);

/* End the run: stop signal, SIGCONT, the grace, SIGKILL. Once. */
void jr_stop_begin(struct jr_runner *runner);

/* Whether the failure of a rank ends the run. */
bool jr_stop_follows(const struct jr_rank_run *rank);

/* A rank that has ended has failed: end the run, at once or, where its cause is not known yet, a
 * while later, if that is what failures do. */
void jr_stop_failed(struct jr_rank_run *rank);

/* Send SIGKILL now. */
void jr_stop_force(struct jr_runner *runner);

/* jobrun was sent a signal that stops it: the first begins, another forces. It came at `since_ns`,
 * and may have had to be understood first: ranks that it had ended by then share it. */
void jr_stop_signal(struct jr_runner *runner, int sig, uint64_t since_ns);

/* All ranks have started: `timeouts.start` counts no more. */
void jr_stop_end_start(struct jr_runner *runner);

/* Whether the run is being stopped, so that no further rank starts; whether SIGKILL was sent;
 * whether what is left has not died of it within JR_KILL_WAIT_NS. */
bool jr_stop_has_begun(const struct jr_runner *runner);
bool jr_stop_is_forced(const struct jr_runner *runner);
bool jr_stop_has_given_up(const struct jr_runner *runner);

/* Once no rank runs or is to come: whether they left processes in their groups, which were told to
 * stop and still have the grace. */
bool jr_stop_waits(struct jr_runner *runner);

/* When SIGKILL follows, by the monotonic clock; 0: it does not, or was sent. */
uint64_t jr_stop_kills_at(const struct jr_runner *runner);

/* Whether jobrun was told to stop by a signal. */
bool jr_stop_was_signalled(const struct jr_runner *runner);

/* status_line.c: the live status, once a second, and when a stop begins. */
struct jr_progress_line {
    struct jr_timer tick;
    bool open; /* there is a line; without it nothing is drawn, nor woken for */
    uint64_t started_ns;
};

#endif
