/*
 * jobrun --detach: the run continues in a session of its own, and what it would
 * have shown goes to console.log in its folder. Whatever is wrong before the
 * first rank starts is still told to the one who called.
 */
#ifndef JR_DETACH_H
#define JR_DETACH_H

#include "cli/cli.h"

struct jr_detach {
    int fd; /* to the process that was called; -1: not detached */
};

#define JR_DETACH_INIT                                                         \
    {                                                                          \
        .fd = -1                                                               \
    }

/* Fork. The child, which is to make the run, goes on: false. In the process
 * that was called it returns true once the run was let go or was refused, with
 * the exit status. Before a port is leased or a folder made. */
bool jr_detach_fork(struct jr_detach *detach, const struct jr_cli *cli,
                    int *ret_status);

/* In the child, once the run has begun: report the id and leave the
 * terminal, which changes what `cli` says about the outputs. Does nothing if
 * nothing was forked. Returns the exit status, or 0 to continue. */
int jr_detach_leave(struct jr_detach *detach, struct jr_cli *cli,
                    const struct jr_session *session);

#endif
