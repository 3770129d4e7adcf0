/*
 * The process around a run: --detach, and the signals that are for the run.
 *
 * With --detach the run continues in a session of its own, and what it would have shown goes to
 * console.log in its folder. Whatever is wrong before the first rank starts is still told to the
 * one who called.
 *
 * A run takes signals itself while it lasts. Between the creation of its folder and its verdict
 * none of them may end jobrun, or the folder would show a lost run. They are blocked; a run obeys
 * those that are pending when it begins. Once there is a verdict they stay blocked until jobrun has
 * ended: the exit status is the one that results.json states, whenever a signal comes.
 */
#ifndef JR_DETACH_H
#define JR_DETACH_H

#include "cli/cli.h"

struct jr_sweep_place;

struct jr_detach {
    int fd; /* to the process that was called; -1: not detached */
};

#define JR_DETACH_INIT                                                                             \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* Fork. The child, which is to make the run, goes on: false. In the process that was called it
 * returns true once the run was let go or was refused, with the exit status. Before a port is
 * leased or a folder made. */
bool jr_detach_fork(struct jr_detach *detach, const struct jr_cli *cli, int *ret_status);

/* In the child, once the run has begun: report the id and leave the terminal, which changes what
 * `cli` says about the outputs. Does nothing if nothing was forked. Returns the exit status, or 0
 * to continue. */
int jr_detach_leave(struct jr_detach *detach, struct jr_cli *cli, const struct jr_session *session);

/* The same once a sweep has begun, or is gone on with. */
int jr_detach_leave_sweep(struct jr_detach *detach, struct jr_cli *cli,
                          const struct jr_sweep_place *place);

struct jr_session;

/* Block the signals that the session's run takes. After a verdict they stay so. */
void jr_hold_signals(const struct jr_session *session);

/* There will be no verdict. Drops what came meanwhile, which was for the run; from now on the stop
 * signals end the process, those aside that were ignored when it began. Returns the first stop
 * signal that was dropped; 0: there was none. */
int jr_hold_end(void);

#endif
