/*
 * jobrun-step: what jobrun executes for a rank whose entrypoint is `library`.
 *
 *     jobrun-step PATH SYMBOL [ARG]...
 *     jobrun-step serve [--refuse-threads] PATH
 *                                      (the helper that its ranks are forks of)
 *
 * It does for a shared library what python/jobrun/_worker.py does for a Python function, with the
 * same files, the same exit code for what could not be started, and the same control socket. main.c
 * reads the command line and the rank's place, entry_call.c loads and calls, serve.c is the helper,
 * threads.c its pools of threads; this header is main.c's and what they share.
 */
#ifndef JR_WORKER_H
#define JR_WORKER_H

#include <stdbool.h>
#include <sys/types.h>

#include <jobrun/error.h>
#include <jobrun/rank.h>

#include "base/buf.h"

enum {
    JR_WORKER_UNSTARTED = 126, /* the exit code: no code of the user's ran */
    JR_WORKER_CONTROL = 3      /* the runner's control socket, if there is one */
};

/* One call of the user's function. */
struct jr_worker {
    const char *path, *symbol;
    int argc;
    char **argv;
    int control; /* the control socket; -1: none */
    ino_t control_ino;
    bool forked; /* of a helper: the runner hears that the step is reached */
};

/* Read a rank's place from the environment of the contract. -1 with `err` where a variable is not
 * there. */
int jr_worker_rank(struct jr_rank *ret, struct jr_error *err);

/* What jr_progress of jobrun/rank.h promises. */
int jr_worker_progress(const struct jr_rank *rank, int64_t step, int64_t of,
                       const char *metrics_json);

#endif
