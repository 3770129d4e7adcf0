/*
 * Starting a rank: what every start method promises, and what they share.
 *
 * A method turns one rank of the plan into a process: child of the runner, leader of a session of
 * its own, killed with the runner, with descriptors 0, 1, 2 and no other but its life line. It
 * returns once the rank executes, or with the stage and the errno at which it did not.
 *
 * The life line is the write end of a pipe which the rank never uses, as its highest descriptor.
 * When a process ends, the kernel lets go of its files before it can be reaped, and of the highest
 * first (fput() by way of task_work, whose list is last in, first out): before any socket by which
 * a peer could notice. So these pipes hang up in the order in which ranks began to die, which is
 * not the order in which they can be reaped. What a rank starts has the line as well; as long as
 * that lives, the line says nothing.
 */
#ifndef JR_START_H
#define JR_START_H

#include <limits.h>

#include "spawn/budget.h"
#include "spawn/child.h"
#include "spawn/exported.h"
#include "spawn/program.h"
#include "spawn/run_options.h"

/* Where a stream of a rank goes. A console that is closed, or does not show the rank, takes the
 * pipe out of the way. */
enum jr_route {
    JR_ROUTE_INHERIT,  /* jobrun's own descriptor */
    JR_ROUTE_FILE,     /* a file that the child side opens */
    JR_ROUTE_PIPE,     /* to the runner: console, and file if there is a path */
    JR_ROUTE_TERMINAL, /* the rank's own */
    JR_ROUTE_NULL
};

/* `stream` is 0 for standard output, 1 for standard error. A file with a limit
 * is written by the runner, too. */
enum jr_route jr_start_route(const struct jr_plan_rank *rank, int stream,
                             const struct jr_run_options *options);

/* Whether both streams of a rank go to one file; either may have none. */
bool jr_start_shares_file(const struct jr_plan_rank *rank);

/* Whether the console shows it. */
bool jr_start_is_shown(const struct jr_plan_rank *rank, int stream,
                       const struct jr_run_options *options);

/* How many of the plan's streams go through the runner, and how many of those into a file as well:
 * what the start will cost in descriptors. */
struct jr_start_cost {
    uint64_t pipes, files;
};

/* Count that over the ranks that the plan starts here. */
struct jr_start_cost jr_start_cost(const struct jr_plan *plan,
                                   const struct jr_run_options *options);

#define JR_CPUS JR_CHILD_CPUS

/* A rank that was started, or not. The caller owns the descriptors. */
struct jr_started {
    pid_t pid;
    int pidfd;           /* or its stand-in (base/pidfd.h) */
    int control;         /* our end of its control socket; -1: none */
    int pmi;             /* our end of its stream to its process manager */
    int line;            /* the read end of its life line; -1: it has none */
    int pipes[2];        /* read ends; -1: the stream is none of the runner's */
    bool kept[2];        /* the piped streams have log files, which whoever
                            reads the pipes makes when there is something to
                            write */
    uint64_t at_ns;      /* when it was, by jr_clock_ns */
    enum jr_stage stage; /* JR_STAGE_NONE: it executes */
    int error;
};
#define JR_STARTED_NONE                                                                            \
    ((struct jr_started){.pidfd = -1, .control = -1, .pmi = -1, .line = -1, .pipes = {-1, -1}})

/* A start that is under way: the child may be on its way to execve. */
struct jr_flight {
    struct jr_child child;
    struct jr_started started;
    struct jr_arena words;  /* its environment, until the flight's next start */
    char *stack;            /* the child side's */
    uint32_t up;            /* 1, until the kernel sees the child execute or
                               end (CLONE_CHILD_CLEARTID) */
    uint32_t held;          /* 1, until the child may execute */
    char program[PATH_MAX]; /* its own copy */
    cpu_set_t cpus[JR_CPUS / CPU_SETSIZE];
};

struct jr_starter {
    const struct jr_plan *plan;
    const struct jr_run_options *options;
    pid_t runner;
    struct jr_flight flights[JR_FLIGHTS];
    bool waits; /* no two starts at once: the runner sleeps during each */
    int pipe_size;
    const struct jr_limit_list *limits; /* of the ranks */
    mode_t umask;
    bool controls; /* each rank gets a control socket; see exit_barrier.c */
    bool pmi;      /* each rank gets a stream to its process manager; see
                      run/policies/mpi_world.c */
    int line;      /* the descriptor that is each rank's life line; 0: there
                      are none */
    bool marks;    /* there is no close_range(2): all descriptors are marked to
                      be closed by execve */
    bool blind;    /* there are no pidfds: SIGCHLD tells of ends */
    int reset[64];
    unsigned reset_count;
    int attempt_fd;   /* the folder of the ranks' folders; -1: not made yet */
    const char *made; /* the first rank's folder, made before its start */
    struct jr_program program;
    struct jr_exported exported; /* by the setup */
    char *const *more;           /* variables that every rank gets besides; NULL: none */
};

/* Make the calling process, the runner, ready to start ranks: moves descriptors into their slots,
 * learns the ignored signals, and what the kernel lacks. Returns 0, or -1 with errno. */
int jr_starter_open(struct jr_starter *starter, const struct jr_plan *plan,
                    const struct jr_run_options *options, const struct jr_budget *budget);

/* What the methods share: fill what is the same for every child. */
void jr_start_child(struct jr_starter *starter, struct jr_child *ret);

/* Make a rank's streams, whose ends are in their slots, and fill those of
 * `child` and *ret. -1 with ret->stage and errno. */
int jr_start_streams(struct jr_starter *starter, const struct jr_plan_rank *rank,
                     struct jr_child *child, struct jr_started *ret);

/* The same, and all else that makes the child of flight `n` a rank. */
int jr_start_prepare(struct jr_starter *starter, unsigned n, const struct jr_plan_rank *rank);

/* Make a rank's folder, and the attempt's above it when it is the first. NULL:
 * there is none. No link is followed, and an existing folder is refused, except
 * the attempt's folder that the head of several nodes has made, and the first
 * rank's, which the setup or the helper has made. 0, or -1 with errno. */
int jr_start_folder(struct jr_starter *starter, const char *path);

/* The path of what lies beside the rank's folder. */
void jr_start_beside(const struct jr_starter *starter, const struct jr_plan_rank *rank,
                     const char *name, char *ret, size_t size);

/* The log file of a stream, beneath the run folder, to append to; -1 with errno. */
int jr_start_log(const struct jr_starter *starter, const struct jr_child_stream *to);

/* Execute the child's argv, and wait until it does; fills pid and pidfd. -1 with ret->stage and
 * errno. */
int jr_start_program(struct jr_starter *starter, struct jr_child *child, struct jr_started *ret);

/* The end of a start: empty the slots, and keep errno where it failed. */
void jr_start_settle(const struct jr_child *child, struct jr_started *started);

/*
 * spawn: a fresh process image, by clone(VM, PIDFD, FILES). Several starts may be under way at
 * once, in flights: to begin one takes a fraction of what the kernel takes to execute a program,
 * which it does on other CPUs meanwhile. The two halves belong together: nothing else happens to
 * the run between them. Where the kernel lacks what belongs to it, and where an environment is made
 * for each start anew, the runner sleeps during each start, as with posix_spawn(3). The other
 * methods are in start_helper.h.
 */

/* How many flights there may be at once. */
unsigned jr_start_width(const struct jr_starter *starter);

/* Begin to start a rank, as flight `n`, which has to be ended. It does not execute yet where others
 * may be under way. -1: it has failed already; why is told at its end. */
int jr_start_begin(struct jr_starter *starter, unsigned n, const struct jr_plan_rank *rank);

/* Let the child of flight `n` execute: who is to hear of its end watches it. */
void jr_start_release(struct jr_starter *starter, unsigned n);

/* Wait until the child of flight `n` executes, or has failed to. It is released if it was not. */
void jr_start_end(struct jr_starter *starter, unsigned n, struct jr_started *ret);

/* Both. */
void jr_start_spawn(struct jr_starter *starter, const struct jr_plan_rank *rank,
                    struct jr_started *ret);

#endif
