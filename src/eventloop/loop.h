/*
 * The runner's event loop: descriptors through one epoll, deadlines through its
 * timeout. Without an event and without a deadline it never wakes.
 */
#ifndef JR_LOOP_H
#define JR_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#define JR_LOOP_BATCH  128 /* events taken from the kernel at once */
#define JR_LOOP_TIMERS 24

/* A descriptor that is looked at. Embedded in what it belongs to, and valid
 * until the loop ends, for an event may be on its way while it is removed. */
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
    uint64_t paused_ns; /* since then; 0: it is not paused */
};

/* Returns 0, or -1 with errno. */
int jr_loop_open(struct jr_loop *loop);

/* Begin, change and end the watch over watch->fd for `events` (EPOLLIN...);
 * level-triggered. Remove it before closing: if another process holds a
 * duplicate, events would continue. For a file that no other process has, such
 * as those that the runner makes (child.c), closing also ends the watch, in one
 * call; watch->fd is then -1. */
int jr_loop_add(struct jr_loop *loop, struct jr_watch *watch, uint32_t events);
int jr_loop_change(struct jr_loop *loop, struct jr_watch *watch,
                   uint32_t events);
void jr_loop_remove(struct jr_loop *loop, struct jr_watch *watch);
void jr_loop_close(struct jr_watch *watch);

/* Make a timer known to the loop; it is armed by setting `at`. */
void jr_loop_timer(struct jr_loop *loop, struct jr_timer *timer);

/* Stop the timers that pause, and start them again with their remaining time.
 * The latter returns how long they were stopped; 0: they were not. */
void jr_loop_pause(struct jr_loop *loop);
uint64_t jr_loop_resume(struct jr_loop *loop);

/* One turn: wait (not at all with `busy`), call what is ready in the order in
 * which the kernel reported it, then what is due. Returns how many descriptors
 * were ready. */
int jr_loop_turn(struct jr_loop *loop, bool busy);

#endif
