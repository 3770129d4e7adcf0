#include "base/backlog.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

/* What an event of the epoll is about. */
enum source { FROM_TIMER, FROM_SOCKET, FROM_KEPT };

enum { EVENTS_MOST = 32 };

static int control_backlog_epoll(const struct jr_backlog *backlog, int what, int fd,
                                 uint32_t events, uint64_t source)
{
    struct epoll_event event = {.events = events, .data.u64 = source};
    return epoll_ctl(backlog->epoll_fd, what, fd, &event);
}

static uint64_t name_source(enum source source, size_t index)
{
    return (uint64_t)index << 2 | (uint64_t)source;
}

/* Hear of the next one that comes to a socket, once. */
static int arm_socket(struct jr_backlog *backlog, size_t index, int what)
{
    backlog->sockets[index].due = false;
    return control_backlog_epoll(backlog, what, backlog->sockets[index].fd, EPOLLIN | EPOLLONESHOT,
                                 name_source(FROM_SOCKET, index));
}

static int open_backlog(struct jr_backlog *backlog, const int *listeners, size_t count)
{
    backlog->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    backlog->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    backlog->sockets = calloc(count, sizeof *backlog->sockets);
    if (backlog->epoll_fd < 0 || backlog->timer_fd < 0 || backlog->sockets == NULL)
        return -1;
    for (size_t i = 0; i < JR_BACKLOG_KEPT; i++)
        backlog->kept[i] = -1;
    for (size_t i = 0; i < count; i++) {
        if (listeners[i] < 0)
            continue;
        backlog->sockets[backlog->count].fd = listeners[i];
        if (arm_socket(backlog, backlog->count++, EPOLL_CTL_ADD) != 0)
            return -1;
    }
    return control_backlog_epoll(backlog, EPOLL_CTL_ADD, backlog->timer_fd, EPOLLIN,
                                 name_source(FROM_TIMER, 0));
}

int jr_backlog_open(struct jr_backlog *ret, const int *listeners, size_t count)
{
    *ret = JR_BACKLOG_NONE;
    if (count == 0 || open_backlog(ret, listeners, count) == 0)
        return 0;
    int error = errno;
    jr_backlog_close(ret);
    errno = error;
    return -1;
}

/* Let some time pass first: most of those that have come have left by then. */
static void pause_backlog(struct jr_backlog *backlog)
{
    const struct itimerspec pause = {.it_value.tv_nsec = JR_BACKLOG_PAUSE_MS * 1000000L};
    if (!backlog->pausing)
        backlog->pausing = timerfd_settime(backlog->timer_fd, 0, &pause, NULL) == 0;
}

/* Keep a connection until its other end is closed; there is room. */
static void keep_connection(struct jr_backlog *backlog, int fd)
{
    struct pollfd end = {.fd = fd, .events = POLLRDHUP};
    size_t i = 0;
    while (backlog->kept[i] >= 0)
        i++;
    if (poll(&end, 1, 0) != 0 || control_backlog_epoll(backlog, EPOLL_CTL_ADD, fd, EPOLLRDHUP,
                                                       name_source(FROM_KEPT, i)) != 0) {
        (void)close(fd);
        return;
    }
    backlog->kept[i] = fd;
    backlog->kept_count++;
}

/* Returns how many of the batch are left. A socket that is left due waits for room. */
static unsigned accept_at(struct jr_backlog *backlog, size_t index, unsigned batch)
{
    int fd = 0;
    while (batch > 0 && backlog->kept_count < JR_BACKLOG_KEPT && fd >= 0) {
        fd = accept4(backlog->sockets[index].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0)
            keep_connection(backlog, fd);
        batch--;
    }
    if (backlog->kept_count < JR_BACKLOG_KEPT)
        (void)arm_socket(backlog, index, EPOLL_CTL_MOD);
    return batch;
}

void jr_backlog_turn(struct jr_backlog *backlog)
{
    struct epoll_event events[EVENTS_MOST];
    int count = backlog->epoll_fd < 0 ? 0 : epoll_wait(backlog->epoll_fd, events, EVENTS_MOST, 0);
    for (int i = 0; i < count; i++) {
        size_t index = (size_t)(events[i].data.u64 >> 2);
        uint64_t times;
        unsigned batch = JR_BACKLOG_BATCH;
        switch ((enum source)(events[i].data.u64 & 3)) {
        case FROM_TIMER: /* the pause is over */
            (void)!read(backlog->timer_fd, &times, sizeof times);
            backlog->pausing = false;
            for (size_t j = 0; j < backlog->count; j++)
                if (backlog->sockets[j].due)
                    batch = accept_at(backlog, j, batch);
            break;
        case FROM_SOCKET:
            backlog->sockets[index].due = true;
            pause_backlog(backlog);
            break;
        case FROM_KEPT: /* one has left */
            if (backlog->kept[index] < 0)
                break;
            (void)close(backlog->kept[index]);
            backlog->kept[index] = -1;
            if (backlog->kept_count-- == JR_BACKLOG_KEPT)
                pause_backlog(backlog);
            break;
        }
    }
}

void jr_backlog_close(struct jr_backlog *backlog)
{
    for (size_t i = 0; i < JR_BACKLOG_KEPT && backlog->kept_count > 0; i++)
        if (backlog->kept[i] >= 0) {
            (void)close(backlog->kept[i]);
            backlog->kept_count--;
        }
    jr_close_fd(&backlog->epoll_fd);
    jr_close_fd(&backlog->timer_fd);
    free(backlog->sockets);
    *backlog = JR_BACKLOG_NONE;
}
