/*
 * A git process from its start to its end, under a deadline: what goes in is there at once, what
 * comes out is taken piece by piece, and what it complains about is the error.
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
    /* Take a piece: 0 to go on; else the process is ended. NULL: what comes out is passed over. */
    int (*take)(void *data, const char *bytes, size_t len);
    void *data;
};

/* One that appends to a jr_buf, which is its data, at most 64 MiB. */
int jr_git_keep(void *data, const char *bytes, size_t len);

/* How long git is waited for. */
struct jr_git_limit {
    uint64_t deadline_ns; /* of CLOCK_MONOTONIC */
    int stop_fd;          /* until this is readable; it is not read. -1: none */
};

/* A process on its way. */
struct jr_git_process {
    pid_t pid; /* 0: there is none */
    int from;  /* its output */
    int said;  /* its complaints */
};

#define JR_GIT_PROCESS_INIT ((struct jr_git_process){0, -1, -1})

/* Start the command. `input` is what it reads, all of which is there at once; NULL: nothing. 0, or
 * -1 with `err`, whose `sys` is ENOENT without a git. */
int jr_git_begin(struct jr_git_process *ret, const struct jr_git_command *command,
                 const struct jr_buf *input, struct jr_error *err);

/* Take its output, and wait for its end, at most as the limit says; then it is killed. Returns 0 if
 * it ended with 0; else -1 with `err`, whose text is what git said last, less its "fatal: ", or
 * that there was no time; its `sys` is ETIMEDOUT without time, EINTR where it was stopped,
 * ECANCELED where the sink ended it, 0 where git failed. */
int jr_git_end(struct jr_git_process *process, const struct jr_git_sink *sink,
               const struct jr_git_limit *limit, struct jr_error *err);

/* Kill it, unless it has ended. A second time nothing happens. */
void jr_git_cancel(struct jr_git_process *process);

/* Start it, and wait for its end. */
int jr_git_run(const struct jr_git_command *command, const struct jr_buf *input,
               const struct jr_git_sink *sink, const struct jr_git_limit *limit,
               struct jr_error *err);

#endif
