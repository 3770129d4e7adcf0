/*
 * A git process from its start to its end, under a deadline: what goes in is
 * there at once, what comes out is taken piece by piece, and what it complains
 * about is the error.
 */
#ifndef JR_GIT_OUTPUT_H
#define JR_GIT_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "vcs/git.h"
#include <jobrun/error.h>

/* A receiver of output. */
struct jr_git_sink {
    /* Take a piece: 0 to go on; else the process is ended. NULL: what comes out
     * is passed over. */
    int (*take)(void *data, const char *bytes, size_t len);
    void *data;
};

/* One that appends to a jr_buf, which is its data, at most 64 MiB. */
int jr_git_keep(void *data, const char *bytes, size_t len);

/* Run the command to its end, at most until `deadline_ns` of CLOCK_MONOTONIC,
 * when it is killed. `input` is what it reads; NULL: nothing. Returns 0 if it
 * ended with 0; else -1 with `err`, whose text is what git said last, less its
 * "fatal: ", or that there is no git or no time; its `sys` is ENOENT without a
 * git, ETIMEDOUT without time, ECANCELED where the sink ended it, else 0. */
int jr_git_run(const struct jr_git_command *command, const struct jr_buf *input,
               const struct jr_git_sink *sink, uint64_t deadline_ns,
               struct jr_error *err);

#endif
