/*
 * What is shown after a run: what its console had not taken by then, out of the files of the
 * streams, attempt after attempt, and what jobrun itself says after that. Nothing here blocks but
 * jr_replay_finish.
 */
#ifndef JR_REPLAY_H
#define JR_REPLAY_H

#include <jobrun/plan.h>

#include "eventloop/loop.h"
#include "eventloop/signals.h"
#include "output/catch_up.h"
#include "output/console.h"

struct jr_replay_part;

struct jr_replay {
    struct jr_loop loop;
    struct jr_console_writer console;
    struct jr_logfiles files;
    bool color;
    struct jr_replay_part *first, *last; /* the first is being shown */
    bool ended;                          /* by a signal: no more of the files is shown */
    bool cut;                            /* and there was more */
    bool hurried;                        /* the console is given little time from now on */
    struct jr_watch signals;
    struct jr_signals uses;
    struct jr_timer patience;
    uint64_t limit_ns; /* when a hurried one ends in any case */
    char *bytes;
};

/* For a console as jr_run_options has it; `dir_fd` is that of the run folder,
 * and stays the caller's. Returns 0, or -1 with errno; close it in both cases.
 */
int jr_replay_open(struct jr_replay *replay, int out_fd, int err_fd, int dir_fd, bool color);

/* Drop what is left to show, and free. */
void jr_replay_close(struct jr_replay *replay);

/* Add what a run of `plan` has left, and copy what is needed of both; out of memory it is not
 * shown. */
void jr_replay_add(struct jr_replay *replay, const struct jr_plan *plan,
                   const struct jr_remainder *left);

/* Add text of our own, for standard error; it is copied. False if there is no memory for it. */
bool jr_replay_print(struct jr_replay *replay, const char *text, size_t len);

/* Whether there is anything left to show. */
bool jr_replay_is_done(const struct jr_replay *replay);

/* Show as much as the console takes now. */
void jr_replay_turn(struct jr_replay *replay);

/* Whoever stopped the run does not wait long for its console: a second in which that takes nothing,
 * and ten in all. */
void jr_replay_hurry(struct jr_replay *replay);

/* Show all, however long the console takes; the signals that a run under
 * `policy` takes are blocked. One that would stop the run ends the files, and
 * hurries what is left. */
void jr_replay_finish(struct jr_replay *replay, const struct jr_policy *policy,
                      const sigset_t *ignored);

#endif
