/*
 * The child side of a start: from clone to execve, in memory shared with the runner, which goes on
 * meanwhile, or is suspended (start.h). Raw system calls only (base/raw_call.h), and nothing is
 * written but the child's own stack and its struct jr_child.
 */
#ifndef JR_CHILD_H
#define JR_CHILD_H

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <jobrun/run.h>

#include "spawn/budget.h"

#define JR_FLIGHTS 8 /* starts that are under way at once; see start.h */

/* Where the runner keeps the descriptors that a child needs: below JR_SLOT_END, for the child's
 * first act is to drop everything from there on while it makes its table its own, which is what
 * keeps a start cheap when the runner has thousands of descriptors. */
enum jr_slot {
    JR_SLOT_DIR = 10, /* the run folder */
    JR_SLOT_NULL,     /* /dev/null */
    JR_SLOT_OUT,      /* jobrun's own standard output, to inherit */
    JR_SLOT_ERR,
    JR_SLOT_IN,       /* what one rank is to have as its standard input */
    JR_SLOT_PIPE_OUT, /* write ends of the pipes of the rank at hand, or its
                         log files */
    JR_SLOT_PIPE_ERR,
    JR_SLOT_EXTRA, /* what the child is to have as descriptor 3 */
    JR_SLOT_PMI,   /* what it is to have as JR_PMI_FD */
    JR_SLOT_LINE,  /* its life line */
    JR_SLOT_NEXT,  /* the same five of the next flight, and so on */
    JR_SLOT_END = JR_SLOT_PIPE_OUT + JR_FLIGHTS * (JR_SLOT_NEXT - JR_SLOT_PIPE_OUT)
};

#define JR_CHILD_CPUS 8192 /* as many as Linux may be built for */

/* One output stream: a copy of the descriptor `slot`. With a `path`, the start opens that file
 * first, beneath JR_SLOT_DIR, and puts it into a slot; the file is made, and must not be there,
 * unless it is `shared` by both. */
struct jr_child_stream {
    const char *path;
    int slot;
    bool shared;
};

struct jr_child {
    pid_t runner;
    const char *program; /* for execve; relative to `workdir` */
    char *const *argv, *const *env;
    const char *workdir;
    struct jr_child_stream streams[2]; /* standard output and error */
    int shift;                         /* from the slots of the first flight to its own */
    mode_t umask;
    bool extra;  /* descriptor 3 is wanted */
    bool pmi;    /* JR_PMI_FD is */
    int line;    /* what its life line is to be; 0: it has none */
    bool marked; /* the table of descriptors is ours already, and each of them
                    but 0, 1 and 2 is closed by execve */
    enum jr_input input;
    const int *reset; /* ignored signals that are to be default again */
    unsigned reset_count;
    bool shielded; /* SIGTERM is to be ignored */
    const struct jr_limit_list *limits;
    const cpu_set_t *cpus; /* NULL: not bound */
    size_t cpus_size;      /* bytes */
    const uint32_t *held;  /* it does not execute while this is 1; NULL: it need
                              not wait */

    /* What went wrong: read by the runner once the child is gone. */
    enum jr_stage stage; /* JR_STAGE_NONE: it is executing */
    int error;           /* errno */
};

/* For clone(CLONE_VM), with CLONE_FILES unless the child is `marked`: `child` is a struct jr_child.
 * Never returns. */
int jr_child_main(void *child);

#endif
