#include "eventloop/loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#include "base/banned.h"

int jr_loop_open(struct jr_loop *loop)
{
    *loop = (struct jr_loop){.epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
    return loop->epoll_fd < 0 ? -1 : 0;
}

static int control_epoll(struct jr_loop *loop, int what, struct jr_watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    return epoll_ctl(loop->epoll_fd, what, watch->fd, &event);
}

int jr_loop_add(struct jr_loop *loop, struct jr_watch *watch, uint32_t events)
{
    return control_epoll(loop, EPOLL_CTL_ADD, watch, events);
}

int jr_loop_change(struct jr_loop *loop, struct jr_watch *watch, uint32_t events)
{
    return control_epoll(loop, EPOLL_CTL_MOD, watch, events);
}

void jr_loop_remove(struct jr_loop *loop, struct jr_watch *watch)
{
    (void)control_epoll(loop, EPOLL_CTL_DEL, watch, 0);
}

void jr_loop_close(struct jr_watch *watch)
{
    jr_close_fd(&watch->fd);
}

void jr_loop_timer(struct jr_loop *loop, struct jr_timer *timer)
{
    loop->crowded |= loop->timer_count == JR_LOOP_TIMERS;
    if (!loop->crowded)
        loop->timers[loop->timer_count++] = timer;
}

void jr_loop_pause(struct jr_loop *loop)
{
    if (loop->paused_ns == 0)
        loop->paused_ns = jr_clock_ns();
}

uint64_t jr_loop_resume(struct jr_loop *loop)
{
    uint64_t lasted_ns = loop->paused_ns == 0 ? 0 : jr_clock_ns() - loop->paused_ns;
    for (unsigned i = 0; i < loop->timer_count; i++)
        if (loop->timers[i]->pauses && loop->timers[i]->at != 0)
            loop->timers[i]->at += lasted_ns;
    loop->paused_ns = 0;
    return lasted_ns;
}

/* When a timer is due; 0: not now. */
static uint64_t timer_due_at(const struct jr_loop *loop, const struct jr_timer *timer)
{
    return timer->pauses && loop->paused_ns != 0 ? 0 : timer->at;
}

int jr_loop_turn(struct jr_loop *loop, bool busy)
{
    struct epoll_event events[JR_LOOP_BATCH];
    uint64_t nearest = 0; /* deadline; 0: none */
    for (unsigned i = 0; i < loop->timer_count; i++) {
        uint64_t at = timer_due_at(loop, loop->timers[i]);
        if (at != 0 && (nearest == 0 || at < nearest))
            nearest = at;
    }
    int count =
        epoll_wait(loop->epoll_fd, events, JR_LOOP_BATCH, busy ? 0 : jr_clock_poll_ms(nearest));
    for (int i = 0; i < count; i++) {
        struct jr_watch *watch = events[i].data.ptr;
        if (watch->fd >= 0)
            watch->ready(watch->owner, events[i].events);
    }
    for (unsigned i = 0; i < loop->timer_count; i++) {
        struct jr_timer *timer = loop->timers[i];
        uint64_t at = timer_due_at(loop, timer);
        if (at == 0 || at > jr_clock_ns())
            continue;
        timer->at = 0;
        timer->due(timer->owner);
    }
    return count < 0 ? 0 : count;
}
