/*
 * Short backlogs for sockets that listen and through which nothing is said, as are the leases of
 * devices and ports. Who connects to one asks the kernel whose it is and leaves, or stays in order
 * to hear of its end. The kernel keeps both in the backlog, and those that have left until they are
 * accepted.
 *
 * So they are: a moment after one has come, those that have left meanwhile are closed, and the
 * others are kept until they leave, too. Anybody can connect, which is why all of it is bounded.
 * JR_BACKLOG_KEPT are kept; while there are so many, the rest waits in the kernel. Of those that
 * come and go, JR_BACKLOG_BATCH are accepted in JR_BACKLOG_PAUSE_MS. When nobody comes, nothing
 * happens.
 *
 *     struct jr_backlog backlog;
 *     jr_backlog_open(&backlog, listeners, count);
 *     ... whenever backlog.epoll_fd is readable: jr_backlog_turn(&backlog) ...
 *     jr_backlog_close(&backlog);
 */
#ifndef JR_BACKLOG_H
#define JR_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>

#define JR_BACKLOG_KEPT     16
#define JR_BACKLOG_BATCH    256
#define JR_BACKLOG_PAUSE_MS 50

/* The descriptors that an open one has at most, its sockets aside. */
#define JR_BACKLOG_FDS (JR_BACKLOG_KEPT + 2)

struct jr_backlog_socket {
    int fd;   /* listens; -1: there is none */
    bool due; /* somebody has come, and may be accepted after the pause */
};

struct jr_backlog {
    int epoll_fd; /* readable when there is something to do; -1: never */
    int timer_fd;
    bool pausing;
    struct jr_backlog_socket *sockets;
    size_t count;
    int kept[JR_BACKLOG_KEPT]; /* connections; -1: room for one */
    size_t kept_count;
};

/* One with no sockets. */
#define JR_BACKLOG_NONE ((struct jr_backlog){.epoll_fd = -1, .timer_fd = -1})

/* Look after the backlogs of `count` sockets, which never block; of them -1 are passed over. They
 * are borrowed until the backlog is closed; its memory is freed by that. 0, or -1 with errno; it is
 * JR_BACKLOG_NONE then. */
int jr_backlog_open(struct jr_backlog *ret, const int *listeners, size_t count);

/* Do what there is to do, without waiting. */
void jr_backlog_turn(struct jr_backlog *backlog);

/* Hang up all that are kept: they can connect again to whoever has the sockets still. The sockets
 * stay open. */
void jr_backlog_close(struct jr_backlog *backlog);

#endif
