/*
 * Another program beside us, from its start to its end: git, ssh, tar, sbatch, squeue, a program of
 * the user's that is asked for facts. What goes into it is there at once, what comes out is taken
 * piece by piece, and it ends by a deadline, with all of its group. Ranks are not started by this
 * (spawn/start.h).
 */
#ifndef JR_SUBPROCESS_H
#define JR_SUBPROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"

/* What a program is started with. */
struct jr_subprocess {
    const char *path; /* NULL: argv[0], as execvp(3) looks for it in PATH */
    char *const *argv, *const *envp;
    const int *fds; /* three that become its 0, 1 and 2; -1: /dev/null */
    bool group;     /* leads a process group of its own */
    bool session;   /* in a session of its own, with no signal blocked, caught
                       or ignored */
    bool dies;      /* is killed when the calling thread ends */
    bool asked;     /* whatever befalls it says nothing about us: all of these but the session,
                       and it leaves no core and inherits no descriptor besides `fds` */
    /* Of one that is asked: */
    const char *workdir;              /* NULL: ours */
    int (*call)(void *data, int out); /* what runs instead of a program, in a fork of one thread:
                                         it writes to `out`, and returns an exit code */
    void *data;
};

/* Start a program: posix_spawnp(3), which in C libraries from 2.34 on fails where a sandbox refuses
 * clone3(2) with EPERM; then, and where it is to die with us, by fork(2). Returns its pid, or -1
 * with errno. */
pid_t jr_subprocess_start(const struct jr_subprocess *program);

/* In `fds` of a program that is a task: a pipe whose other end the task has; of 2 a file in memory.
 */
enum { JR_FD_TASK = -2 };

/* A program on its way. */
struct jr_task {
    pid_t pid; /* 0: there is none, or it has ended */
    int pidfd; /* -1: there are none here */
    int in;    /* what it reads; -1: not ours */
    int out;   /* what it prints; -1: not ours */
    int said;  /* a file with what it printed to standard error; -1: not ours */
};

#define JR_TASK_NONE ((struct jr_task){0, -1, -1, -1, -1})

/* A receiver of output. */
struct jr_task_sink {
    /* Take a piece: 0 to go on, 1 to come back for more; -1: it is to be ended. NULL: what comes
     * out is passed over. */
    int (*take)(void *data, const char *bytes, size_t len);
    void *data;
};

/* How long a program is waited for. */
struct jr_task_limit {
    uint64_t deadline_ns; /* of CLOCK_MONOTONIC; 0: for ever */
    int stop_fd;          /* until this is readable; it is not read. -1: none */
};

/* Start it; without `fds` its output and its errors are the task's. `input` is what it reads; NULL:
 * what `fds` says, or nothing. 0, or -1 with errno. */
int jr_task_begin(struct jr_task *ret, const struct jr_subprocess *program,
                  const struct jr_buf *input);

/* Hand on what it prints, until the sink comes back or it has closed its output. 0, or an errno:
 * ETIMEDOUT without time, EINTR where it was stopped, ECANCELED where the sink ended it. */
int jr_task_take(const struct jr_task *task, const struct jr_task_sink *sink,
                 const struct jr_task_limit *limit);

/* Take all that it prints, and wait for its end; then what is left of its group is killed, and so
 * is itself where there is an errno, as of jr_task_take. What it said stays until it is cancelled.
 * Returns 0 with its status as waitpid(2) has it. */
int jr_task_end(struct jr_task *task, const struct jr_task_sink *sink,
                const struct jr_task_limit *limit, int *ret_status);

/* Kill it, unless it has ended, and close what is ours. A second time nothing happens. */
void jr_task_cancel(struct jr_task *task);

/* Ask a program, or `call`, and append to `out` what it printed until it and all that it started
 * had closed their output: at most `most` bytes within `limit_ms`. Returns NULL once it has ended
 * with 0; else why there is no answer, as a clause in `arena`: "gave no answer within 10 s", "died
 * by SIGSEGV", "exited with code 3". What cannot be executed says so to its standard error, and
 * exits with 127. */
const char *jr_subprocess_ask(struct jr_buf *out, struct jr_arena *arena,
                              const struct jr_subprocess *program, unsigned limit_ms, size_t most);

#endif
