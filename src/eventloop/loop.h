/*
 * The runner's event loop: descriptors through one epoll, deadlines through its timeout. Without an
 * event and without a deadline it never wakes.
 */
#ifndef JR_LOOP_H
#define JR_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#define JR_LOOP_BATCH  128 /* events taken from the kernel at once */
#define JR_LOOP_TIMERS 32  /* a runner has 23 at most */

/* A descriptor that is looked at. Embedded in what it belongs to, and valid until the loop ends,
 * for an event may be on its way while it is removed. */
struct jr_watch {
    int fd; /* -1: not watched */
    void (*ready)(void *owner, uint32_t events);
    void *owner;
};

/* A deadline. `at` is CLOCK_MONOTONIC ns; 0: not armed. It is disarmed before
 * `due` is called. */
struct jr_timer {
    uint64_t at;
    void (*due)(void *owner);
    void *owner;
    bool pauses; /* it does not run while the loop is paused */
};

struct jr_loop {
    int epoll_fd;
    struct jr_timer *timers[JR_LOOP_TIMERS];
    unsigned timer_count;
    bool crowded;       /* a timer found no room, and would never be due */
    uint64_t paused_ns; /* since when, monotonic; 0: it is not paused */
};

/* Returns 0, or -1 with errno. */
int jr_loop_open(struct jr_loop *loop);

/* Watch watch->fd for `events` (EPOLLIN...), level-triggered; epoll_ctl(2). The watch is borrowed
 * until the loop ends. Returns 0, or -1 with errno. */
int jr_loop_add(struct jr_loop *loop, struct jr_watch *watch, uint32_t events);

/* Watch it for other events from now on; 0: only for its end. Returns 0, or -1 with errno. */
int jr_loop_change(struct jr_loop *loop, struct jr_watch *watch, uint32_t events);

/* Watch it no longer. To be called before its descriptor is closed: if another process holds a
 * duplicate, events would continue. */
void jr_loop_remove(struct jr_loop *loop, struct jr_watch *watch);

/* Close the descriptor, which also ends the watch where no other process has
 * the file, as with those that the runner makes (child.c). watch->fd is then
 * -1; one that was -1 stays so. */
void jr_loop_close(struct jr_watch *watch);

/* Make a timer known to the loop; it is armed by setting `at`. Where there are JR_LOOP_TIMERS
 * already, the loop is crowded. */
void jr_loop_timer(struct jr_loop *loop, struct jr_timer *timer);

/* Stop the timers that pause. */
void jr_loop_pause(struct jr_loop *loop);

/* Start them again with their remaining time. Returns for how many nanoseconds they were stopped;
 * 0: they were not. */
uint64_t jr_loop_resume(struct jr_loop *loop);

/* One turn: wait (not at all with `busy`), call what is ready in the order in which the kernel
 * reported it, then what is due. Returns how many descriptors were ready. */
int jr_loop_turn(struct jr_loop *loop, bool busy);

#endif
