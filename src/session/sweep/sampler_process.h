/*
 * The process of a sampler: its pipes, which nobody waits for, and its end.
 *
 * What it writes to standard error goes to sampler.log in the folder of the sweep; the end of that
 * is its last words. Between it and the leader of the sweep is a keeper, which leads its process
 * group and ends as it does: so what it has started is ended with it, and all of it with the
 * leader, also where that is killed.
 */
#ifndef JR_SAMPLER_PROCESS_H
#define JR_SAMPLER_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include <jobrun/error.h>

#include "base/buf.h"

#define JR_SAMPLER_LOG "sampler.log"

/* Bytes of a line that it may say. */
#define JR_SAMPLER_LINE_MOST ((size_t)1 << 20)

struct jr_sampler_process {
    pid_t pid;         /* of its keeper; 0: it does not run (any more) */
    int status;        /* then, as waitpid(2) has it */
    int in_fd, out_fd; /* of its standard streams; -1: closed */
    int dir_fd;        /* of the sweep, for the log */
    struct jr_buf said, to_say;
    size_t line; /* bytes of `said` that were handed out */
    bool over;   /* nothing will come from it any more */
};

#define JR_SAMPLER_PROCESS_INIT                                                                    \
    ((struct jr_sampler_process){.in_fd = -1, .out_fd = -1, .dir_fd = -1})

/* How to start one. */
struct jr_sampler_command {
    char *const *argv, *const *envp;
    const char *folder; /* that it runs in */
    int dir_fd;         /* of the sweep; borrowed for as long as it lasts */
    mode_t file_mode;
};

/* Start it. 0, or -1 with `err`. */
int jr_sampler_start(struct jr_sampler_process *ret, const struct jr_sampler_command *command,
                     struct jr_error *err);

/* Say it as soon as it reads; `text` is emptied. */
void jr_sampler_say(struct jr_sampler_process *process, struct jr_buf *text);

/* Write and read what can be, without waiting. */
void jr_sampler_turn(struct jr_sampler_process *process);

/* The next whole line that it said, without its end, or NULL; valid until the next call. A line
 * that is too long, and one that was not ended, are `over` and stay in `said`. */
const char *jr_sampler_line(struct jr_sampler_process *process, size_t *ret_len);

/* It has ended: waitpid(2) said so. What it had written before can be read. */
void jr_sampler_ended(struct jr_sampler_process *process, int status);

/* Close its input, so that it knows that nothing more comes. */
void jr_sampler_close_input(struct jr_sampler_process *process);

/* Its output has ended: give it a moment to end, too. */
void jr_sampler_await(struct jr_sampler_process *process);

/* Append how it ended, and its last words: "ended with status 1: ValueError:
 * ...". */
void jr_sampler_describe(struct jr_buf *out, const struct jr_sampler_process *process);

/* Wait a moment for its end, then kill it, and close everything. */
void jr_sampler_close(struct jr_sampler_process *process);

/* In another process: close what is only its leader's. */
void jr_sampler_forget(struct jr_sampler_process *process);

#endif
