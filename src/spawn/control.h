/*
 * The control socket of a Python or library rank: its status, and who sent it.
 *
 * Whatever the rank forks inherits its end of the socket, so that a status alone proves nothing.
 * The kernel says with each which process wrote it (SO_PASSCRED, unix(7)), as our PID namespace
 * counts.
 */
#ifndef JR_CONTROL_H
#define JR_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <jobrun/plan.h>

#define JR_CONTROL_MOST 2048 /* bytes that are read at once */

struct jr_control_status {
    pid_t from;
    size_t len; /* 0: the socket has come to its end */
    char text[JR_CONTROL_MOST];
};

/* Whether its ranks have to return; else they only have to end well. */
bool jr_control_is_awaited(const struct jr_plan *plan);

/* Whether the ranks of this plan have control sockets. */
bool jr_control_wanted(const struct jr_plan *plan);

/* Make the two ends; ours comes first and does not block. -1 with errno. */
int jr_control_open(int ends[2]);

/* Take the next bytes, all of which one process wrote. False if there are none at the moment; an
 * error is an end. */
bool jr_control_read(struct jr_control_status *ret, int fd);

/* How many bytes wait there. */
size_t jr_control_waiting(int fd);

#endif
