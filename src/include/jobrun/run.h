/*
 * What happened: the run executes a plan and returns an outcome, rank by rank. It judges nothing:
 * see verdict.h.
 */
#ifndef JOBRUN_RUN_H
#define JOBRUN_RUN_H

#include <jobrun/error.h>
#include <jobrun/plan.h>

/* The stage at which a rank's start failed; see start.c. */
#define JR_STAGES(X)                                                                               \
    X(NONE, "none", "")                                                                            \
    X(CLONE, "clone", "could not make a process")                                                  \
    X(SESSION, "session", "could not make a session")                                              \
    X(PARENT, "parent", "did not start: its runner was gone")                                      \
    X(SIGNALS, "signals", "could not set up signals")                                              \
    X(FOLDER, "folder", "could not make its folder")                                               \
    X(STDIN, "stdin", "could not open /dev/null")                                                  \
    X(STDOUT, "stdout", "could not open its standard output")                                      \
    X(STDERR, "stderr", "could not open its standard error")                                       \
    X(LIMITS, "limits", "could not set its limits")                                                \
    X(CPUS, "cpus", "could not bind to its CPUs")                                                  \
    X(WORKDIR, "workdir", "could not enter the working directory")                                 \
    X(EXEC, "exec", "could not execute")                                                           \
    X(SETUP, "setup", "did not start: its setup failed")                                           \
    X(IMPORT, "import", "did not start: its helper could not import")                              \
    X(FORK, "fork", "did not start: its helper could not fork it")                                 \
    X(STALL, "stall", "was forked and did not reach its function")                                 \
    X(LATE, "late", "did not start within timeouts.start")                                         \
    X(PMIX, "pmix", "did not start: its PMIx server failed")

#define JR_STAGE_ENUM(name, word, text) JR_STAGE_##name,
enum jr_stage { JR_STAGES(JR_STAGE_ENUM) };

/* How a rank ended. NONE: it was never started, or still ran when all was lost; START: it could not
 * start, by stage and start_errno; EXITED: by exit_code; SIGNALED: by signal and core_dumped; LOST:
 * its node was lost, and with it what became of the rank. */
#define JR_ENDS(X)                                                                                 \
    X(NONE, "none")                                                                                \
    X(START, "start")                                                                              \
    X(EXITED, "exited")                                                                            \
    X(SIGNALED, "signaled")                                                                        \
    X(LOST, "lost")

#define JR_END_ENUM(name, word) JR_END_##name,
enum jr_end { JR_ENDS(JR_END_ENUM) };

/* The fields of `timeouts` that end a run, and EXIT, which ends one rank. */
#define JR_RUN_TIMEOUTS(X)                                                                         \
    X(START, "start")                                                                              \
    X(RUN, "run")                                                                                  \
    X(SILENCE, "silence")                                                                          \
    X(AFTER_FIRST_EXIT, "after_first_exit")                                                        \
    X(PROGRESS, "progress")                                                                        \
    X(FIRST_STEP, "first_step")
#define JR_TIMEOUTS(X)                                                                             \
    X(NONE, "none")                                                                                \
    JR_RUN_TIMEOUTS(X)                                                                             \
    X(EXIT, "exit")

#define JR_TIMEOUT_ENUM(name, word) JR_TIMEOUT_##name,
enum jr_timeout { JR_TIMEOUTS(JR_TIMEOUT_ENUM) };

/* What a rank did in the MPI world that jobrun serves. NONE: it serves none;
 * ABSENT: it has not initialized; LEFT: it ended so, and others had; ABORTED:
 * it called MPI_Abort, with mpi_code; FAILED: MPI itself failed, and would exit
 * with mpi_code; BROKEN: it spoke no PMI after its init. */
#define JR_MPI_PARTS(X)                                                                            \
    X(NONE, "none")                                                                                \
    X(ABSENT, "absent")                                                                            \
    X(LEFT, "left")                                                                                \
    X(INITIALIZED, "initialized")                                                                  \
    X(FINALIZED, "finalized")                                                                      \
    X(ABORTED, "aborted")                                                                          \
    X(FAILED, "failed")                                                                            \
    X(BROKEN, "broken")

#define JR_MPI_PART_ENUM(name, word) JR_MPI_PART_##name,
enum jr_mpi_part { JR_MPI_PARTS(JR_MPI_PART_ENUM) };

/* What tells a file from any other, and from itself once it is changed. */
struct jr_pin {
    bool there;
    uint64_t dev, ino, size;
    int64_t mtime_ns, ctime_ns; /* since the epoch */
    uint64_t digest;            /* of its bytes; 0: not known */
};

/* Beyond so many artifacts, several share what is noted of them. */
#define JR_PINNED_ARTIFACTS 8

/* What became of one rank. Fixed size: it lives in memory that guard and runner share, so that it
 * survives the runner. Times are CLOCK_MONOTONIC ns. */
struct jr_rank_outcome {
    int32_t pid;     /* 0: never started */
    int32_t own_pid; /* the same as the rank itself sees it */
    enum jr_end end;
    enum jr_stage stage;
    int32_t start_errno;
    int32_t exit_code;
    int32_t signal;
    bool core_dumped;
    bool oom;                                /* SIGKILL for want of memory, by the kernel's account
                                              */
    int32_t stopped_with;                    /* the signal that jobrun stopped it with first; 0 */
    int32_t warned_with;                     /* the signal of the deadline, sent while it ran; 0 */
    bool returned;                           /* it said so itself, and what it had to deliver
                                                stands in its file */
    int32_t returned_by;                     /* another process that said so, which does not
                                                count; 0 */
    bool pinned;                             /* what it had delivered when it ended is known, as
                                                far as it has to deliver: */
    struct jr_pin result;                    /* its result file, */
    uint64_t artifacts[JR_PINNED_ARTIFACTS]; /* digests of its artifacts, */
    uint64_t captured;                       /* and the bytes of the stream with its result */
    bool job_pinned; /* it was the last of its node: the artifacts of the job
                        as a whole are among those digests */
    bool far;        /* its node is another machine than the outcome's */
    bool lingered;   /* it then, or after its exception, did not end within
                        timeouts.exit, and was killed */
    bool killed;     /* needed SIGKILL after the grace */
    bool injected;   /* `injection` was done to it, a rehearsal */
    enum jr_inject injection;
    int32_t injected_code; /* of JR_INJECT_EXIT */
    uint32_t order;        /* 1 for the first rank that ended, in the kernel's
                              own order; 0 while it has not */
    uint64_t started_ns, ended_ns;
    uint64_t alive_ns;   /* when it was last seen not to be on its way out: at
                            the first failure, and before the stop; 0 */
    uint64_t exiting_ns; /* when it was first seen to be on its way out, before
                            it was reaped or told to stop; 0 */
    uint64_t line_ns;    /* when its life line hung up, as it began to die; 0:
                            it has none that tells. On one node the order of
                            these times, told_ns and leaving_ns is the kernel's
                          */
    uint64_t told_ns;    /* when it told of its own failure, before it let go of
                            anything; 0: it did not */
    int32_t told_code;   /* what it was going to exit with then; 0: it had
                            raised an exception */
    uint64_t leaving_ns; /* when it told that it had returned, or was going to
                            exit with 0; 0: it did not */
    enum jr_mpi_part mpi;
    int32_t mpi_code;        /* of ABORTED and FAILED */
    bool mpi_spawned;        /* it asked MPI for more processes, and was refused */
    bool lost_peer;          /* it failed in a way that only a lost peer causes */
    uint32_t words;          /* a hash of the type of its exception, or else of its
                                last line of standard error, without numbers; 0 */
    uint64_t heard_ns;       /* when its last byte was seen; 0: none was */
    int64_t clock_offset_ns; /* the wall clock of its node less that of the
                                outcome */
    uint64_t max_rss_bytes;
    uint64_t cpu_ns;       /* user and system, with what it waited for */
    int32_t log_errno;     /* why a log file of this rank is incomplete; 0: none is */
    uint64_t dropped[2];   /* bytes that stdout.log and stderr.log lack for the
                              sake of log_limit */
    bool on_screen;        /* the end of its standard error stands on the terminal */
    uint32_t left_running; /* processes that it left when it ended by itself,
                              and that jobrun then ended */
    bool silent[2];        /* the stream was to have that file, and has none, for
                              nothing was written to it */
};

/* A machine of the job that has no ranks of it any more: a spare has its place, or it was one. */
struct jr_lost_machine {
    const char *host, *reason;
};

struct jr_progress;

struct jr_outcome {
    uint64_t started_ns, ended_ns; /* monotonic */
    uint64_t started_wall_ns, ended_wall_ns;
    uint64_t clock_error_ns;      /* times of different nodes that are closer than
                              this cannot be told apart; 0: it was one machine */
    enum jr_timeout timed_out_by; /* the first that it met; NONE */
    bool preempted;               /* the scheduler takes the job's nodes away */
    int32_t stop_signal;          /* jobrun was told to stop by this signal; 0 */
    int32_t late_signal;          /* the same when there was nothing left to stop; 0 */
    int32_t runner_signal;        /* the runner died of this signal; 0 */
    int32_t guard_pid;            /* of jobrun's guard, where it was killed and the
                                     runner tells of it; 0 */
    int32_t guard_signal;         /* that it was killed by; 0: the kernel did not say */
    bool console_failed;          /* the console went away or was full */
    int32_t console_errno;        /* why it is not whole, where somebody may miss it */
    uint32_t pattern_limits;      /* lines that took console.show or hide too many
                                     steps */
    char start_text[1024];        /* more of why a rank could not start; else empty */
    char lost_text[512];          /* how the first node that was lost was; else empty */
    uint32_t left;                /* processes that could not be ended */
    int32_t left_pids[16];        /* the first of them */
    struct jr_progress *progress; /* how far it came: see store/progress.h of
                                     the source; NULL: unknown */
    uint32_t count;               /* of ranks: plan->count, from plan->first on */
    struct jr_rank_outcome *ranks;
};

#endif
