#include "loop.h"

#include <errno.h>
#include <limits.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "clock.h"

#include "banned.h"

int jr_loop_open(struct jr_loop *loop)
{
    *loop = (struct jr_loop){.epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
    return loop->epoll_fd < 0 ? -1 : 0;
}

static int control(struct jr_loop *loop, int what, struct jr_watch *watch,
                   uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    return epoll_ctl(loop->epoll_fd, what, watch->fd, &event);
}

int jr_loop_add(struct jr_loop *loop, struct jr_watch *watch, uint32_t events)
{
    return control(loop, EPOLL_CTL_ADD, watch, events);
}

int jr_loop_change(struct jr_loop *loop, struct jr_watch *watch,
                   uint32_t events)
{
    return control(loop, EPOLL_CTL_MOD, watch, events);
}

void jr_loop_remove(struct jr_loop *loop, struct jr_watch *watch)
{
    (void)control(loop, EPOLL_CTL_DEL, watch, 0);
}

void jr_loop_timer(struct jr_loop *loop, struct jr_timer *timer)
{
    if (loop->timer_count < JR_LOOP_TIMERS)
        loop->timers[loop->timer_count++] = timer;
}

/* Milliseconds until the nearest deadline, rounded up; -1: there is none. */
static int patience(const struct jr_loop *loop)
{
    uint64_t nearest = UINT64_MAX;
    for (unsigned i = 0; i < loop->timer_count; i++) {
        uint64_t at = loop->timers[i]->at;
        if (at != 0 && at < nearest)
            nearest = at;
    }
    if (nearest == UINT64_MAX)
        return -1;
    uint64_t now = jr_clock_ns();
    if (nearest <= now)
        return 0;
    uint64_t ms = (nearest - now + 999999) / 1000000;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

static void call_due(struct jr_loop *loop)
{
    for (unsigned i = 0; i < loop->timer_count; i++) {
        struct jr_timer *timer = loop->timers[i];
        if (timer->at == 0 || timer->at > jr_clock_ns())
            continue;
        timer->at = 0;
        timer->due(timer->owner);
    }
}

int jr_loop_turn(struct jr_loop *loop, bool busy)
{
    struct epoll_event events[JR_LOOP_BATCH];
    int count = epoll_wait(loop->epoll_fd, events, JR_LOOP_BATCH,
                           busy ? 0 : patience(loop));
    for (int i = 0; i < count; i++) {
        struct jr_watch *watch = events[i].data.ptr;
        if (watch->fd >= 0)
            watch->ready(watch->owner, events[i].events);
    }
    call_due(loop);
    return count < 0 ? 0 : count;
}
