/*
 * jobrun-step: what jobrun executes for a rank whose entrypoint is `library`.
 *
 *     jobrun-step PATH SYMBOL [ARG]...
 *     jobrun-step serve [--refuse-threads] PATH
 *                                      (the helper that its ranks are forks of)
 *
 * It does for a shared library what python/jobrun/_worker.py does for a Python
 * function, with the same files, the same exit code for what could not be
 * started, and the same control socket.
 */
#ifndef JR_WORKER_H
#define JR_WORKER_H

#include <stdbool.h>
#include <sys/types.h>

#include <jobrun/error.h>
#include <jobrun/rank.h>

#include "base/buf.h"

enum {
    JR_STEP_UNSTARTED = 126, /* the exit code: no code of the user's ran */
    JR_STEP_CONTROL = 3      /* the runner's control socket, if there is one */
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

/* Read a rank's place from the environment of the contract. -1 with `err` where
 * a variable is not there. */
int jr_worker_rank(struct jr_rank *ret, struct jr_error *err);

/* Load, call, deliver, and wait for the runner's word: the exit code. */
int jr_worker_run(const struct jr_worker *step);

/* Tell that the rank could not be started, on standard error and in its
 * error.json; returns JR_STEP_UNSTARTED. */
int jr_worker_refuse(const struct jr_error *err);

/* The words of a command line. */
struct jr_worker_words {
    int argc;
    char **argv;
};

/* Be the helper; returns in each rank, with the rank's words. */
void jr_worker_serve(const char *path, bool refuse_threads,
                     struct jr_worker_words *ret);

/* Append what may have been meant by a symbol that the library at `path` does
 * not have; nothing where nothing is like it. symbols.c */
void jr_worker_suggest(const char *path, const char *symbol,
                       struct jr_buf *ret);

/* dlopen(3); NULL with `err`. */
void *jr_worker_load(const char *path, struct jr_error *err);

#endif
