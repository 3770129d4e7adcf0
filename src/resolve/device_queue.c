#include "resolve/device_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

/* Tickets beyond it are no jobrun's: nothing counts so far. */
#define TICKET_MOST UINT64_C(1000000000000000)

enum { LOOK_AGAIN_NS = 200000000 };

/* What an event of the queue's epoll is about: that somebody asks for us, or else that something
 * has changed for us. */
enum { OF_CHANGE, OF_BACKLOG };

static uint64_t find_last_ticket(const struct jr_device_claims *claims)
{
    uint64_t last = 0;
    for (size_t i = 0; i < claims->awaited_count; i++) {
        uint64_t ticket = claims->awaited[i].number;
        if (ticket > last && ticket < TICKET_MOST)
            last = ticket;
    }
    return last;
}

static void close_descriptors(int *fds, size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        (void)close(fds[i]);
    *count = 0;
}

/* All sockets of a ticket, or none; -1 with errno. */
static int hold_places(struct jr_device_queue *queue, const struct jr_device_request *request,
                       uint64_t ticket)
{
    char name[JR_LEASE_NAME_SIZE];
    for (uint32_t i = 0; i < request->count; i++) {
        jr_device_wait_name(name, request->keys[i], ticket);
        int fd = jr_lease_socket_hold(name);
        if (fd < 0) {
            int error = errno;
            close_descriptors(queue->places, &queue->places_count);
            errno = error;
            return -1;
        }
        queue->places[queue->places_count++] = fd;
    }
    queue->ticket = ticket;
    return 0;
}

/* Who comes later is connected to our places. */
static int watch_backlog(struct jr_device_queue *queue)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = OF_BACKLOG};
    if (queue->places_count == 0)
        return 0;
    if (jr_backlog_open(&queue->backlog, queue->places, queue->places_count) != 0)
        return -1;
    return epoll_ctl(queue->epoll_fd, EPOLL_CTL_ADD, queue->backlog.epoll_fd, &event);
}

static int open_queue(struct jr_device_queue *queue, size_t count)
{
    queue->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    queue->places = calloc(count, sizeof *queue->places);
    return queue->epoll_fd < 0 || queue->places == NULL ? -1 : 0;
}

int jr_device_queue_join(struct jr_device_queue *queue, const struct jr_device_request *request)
{
    struct jr_device_claims claims;
    if (open_queue(queue, request->count) != 0)
        return -1;
    JR_CLOSE int lock = jr_devices_lock();
    jr_device_claims_read(&claims);
    uint64_t ticket = find_last_ticket(&claims);
    jr_device_claims_release(&claims);
    int result;
    do
        result = hold_places(queue, request, ++ticket);
    while (result != 0 && errno == EADDRINUSE && ticket < TICKET_MOST);
    return result != 0 ? -1 : watch_backlog(queue);
}

/* Forget whom it waited for. */
static void clear_watched(struct jr_device_queue *queue)
{
    close_descriptors(queue->watched, &queue->watched_count);
    if (queue->timer_fd >= 0)
        (void)close(queue->timer_fd);
    queue->timer_fd = -1;
}

/* Look again a little later: the one in the way has so many connections that the kernel refuses
 * more, or we have no memory for one. */
static void watch_time(struct jr_device_queue *queue)
{
    const struct itimerspec again = {.it_value.tv_nsec = LOOK_AGAIN_NS};
    struct epoll_event event = {.events = EPOLLIN};
    if (queue->timer_fd >= 0)
        return;
    queue->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    (void)timerfd_settime(queue->timer_fd, 0, &again, NULL);
    (void)epoll_ctl(queue->epoll_fd, EPOLL_CTL_ADD, queue->timer_fd, &event);
}

/* Hear of the end of the socket `name`. False: it has ended. */
static bool watch_socket(struct jr_device_queue *queue, const char *name)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP};
    int *more = realloc(queue->watched, (queue->watched_count + 1) * sizeof *queue->watched);
    if (more != NULL)
        queue->watched = more;
    JR_CLOSE int fd = more == NULL ? -1 : jr_lease_socket_connect(name);
    if (fd < 0 && more != NULL && errno == ECONNREFUSED)
        return false;
    if (fd < 0 || epoll_ctl(queue->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        watch_time(queue);
    else
        queue->watched[queue->watched_count++] = jr_steal_fd(&fd);
    return true;
}

/* All that hold a device. False: one of them has gone meanwhile. */
static bool watch_holders(struct jr_device_queue *queue, const char *key,
                          const struct jr_device_request *request,
                          const struct jr_device_claims *claims)
{
    char name[JR_LEASE_NAME_SIZE];
    bool all = true;
    for (size_t i = 0; i < claims->held_count; i++) {
        if (strcmp(claims->held[i].key, key) != 0 ||
            !jr_device_is_of_others(claims, request, &claims->held[i]))
            continue;
        jr_device_lease_name(name, &claims->held[i]);
        all = watch_socket(queue, name) && all;
    }
    return all;
}

enum look { LOOK_FREE, LOOK_WAIT, LOOK_AGAIN };

/* See who is in the way of having a device, and be told of that one's end: the last one that came
 * earlier and waits for it, or else its holders. */
static enum look look_at_device(struct jr_device_queue *queue, const char *key,
                                const struct jr_device_request *request,
                                const struct jr_device_claims *claims)
{
    char name[JR_LEASE_NAME_SIZE];
    uint64_t before = jr_device_awaited_before(claims, key, queue->ticket);
    if (!jr_device_is_away(claims, request, key, queue->ticket))
        return LOOK_FREE;
    if (before == 0)
        return watch_holders(queue, key, request, claims) ? LOOK_WAIT : LOOK_AGAIN;
    jr_device_wait_name(name, key, before);
    return watch_socket(queue, name) ? LOOK_WAIT : LOOK_AGAIN;
}

static enum look look_at_devices(struct jr_device_queue *queue,
                                 const struct jr_device_request *request)
{
    struct jr_device_claims claims;
    uint32_t free_count = 0;
    enum look look = LOOK_WAIT;
    clear_watched(queue);
    jr_device_claims_read(&claims);
    for (uint32_t i = 0; i < request->count; i++) {
        enum look one = look_at_device(queue, request->keys[i], request, &claims);
        free_count += one == LOOK_FREE;
        look = one == LOOK_AGAIN ? LOOK_AGAIN : look;
    }
    jr_device_claims_release(&claims);
    return free_count >= request->need ? LOOK_FREE : look;
}

/* A name that is listed and that nobody answers at must not keep us busy. */
enum { LOOKS_AT_ONCE = 8 };

/* Serve the backlog; returns whether there is anything besides. */
static bool has_changed(struct jr_device_queue *queue)
{
    struct epoll_event events[2];
    bool changed = false;
    int count = epoll_wait(queue->epoll_fd, events, 2, 0);
    for (int i = 0; i < count; i++)
        changed = changed || events[i].data.u64 == OF_CHANGE;
    jr_backlog_turn(&queue->backlog);
    return changed || count < 0;
}

bool jr_device_queue_is_ready(struct jr_device_queue *queue,
                              const struct jr_device_request *request)
{
    enum look look = LOOK_AGAIN;
    if (!has_changed(queue) && queue->asleep)
        return false;
    for (int i = 0; i < LOOKS_AT_ONCE && look == LOOK_AGAIN; i++)
        look = look_at_devices(queue, request);
    if (look == LOOK_AGAIN)
        watch_time(queue);
    queue->asleep = look != LOOK_FREE;
    return look == LOOK_FREE;
}

void jr_device_queue_leave(struct jr_device_queue *queue)
{
    clear_watched(queue);
    jr_backlog_close(&queue->backlog);
    close_descriptors(queue->places, &queue->places_count);
    if (queue->epoll_fd >= 0)
        (void)close(queue->epoll_fd);
    free(queue->watched);
    free(queue->places);
    *queue = JR_DEVICE_QUEUE_INIT;
}
