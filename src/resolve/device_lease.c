#include "resolve/device_lease.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/num.h"

#include "base/banned.h"

#define PREFIX "jobrun-"
#define DEVICE "device-"
#define WAIT   "wait-"
#define RUN    "run-"
#define LOCK   "jobrun-devices"

enum {
    LOCK_MS = 2000, /* a holder that takes longer is stopped, or a stranger */
    FULL_MS = 10,   /* until the next try, where too many wait for it */
    HASH_LEN = 8,
    CLAIMS_MOST = 1 << 16 /* that are looked at: users can make many */
};

/* The instances of a GPU share its address. */
static bool has_own_bus(const struct jr_host_device *device)
{
    bool instance = device->uuid != NULL && strncmp(device->uuid, "MIG-", 4) == 0;
    return device->bus != NULL && !instance && device->kind != JR_DEVICE_CUSTOM;
}

void jr_device_key(char ret[static JR_DEVICE_KEY_SIZE], const struct jr_host_device *device,
                   const char *kind, const char *name)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:/_-";
    char hash[JR_HASH_SIZE];
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    uint32_t index;
    if (device != NULL &&
        has_own_bus(
            device)) /* first: drivers may not know the UUID before the first use of the device */
        jr_buf_str(&text, device->bus);
    else if (device != NULL && device->uuid != NULL)
        jr_buf_str(&text, device->uuid);
    else if (device != NULL && device->bus != NULL)
        jr_buf_str(&text, device->bus);
    else if (device != NULL)
        jr_buf_printf(&text, "%s.%u", kind, device->index);
    else
        jr_buf_printf(&text, jr_num_u32(name, &index) ? "%s.%s" : "%.0s%s", kind, name);
    const char *key = text.failed ? "" : text.data;
    size_t len = strlen(key);
    if (len > 0 && len < JR_DEVICE_KEY_SIZE && strspn(key, plain) == len) {
        (void)stpcpy(ret, key);
        return;
    }
    jr_hash(hash, key, len);
    (void)snprintf(ret, JR_DEVICE_KEY_SIZE, "%.32s", hash);
}

static void print_slot_name(char ret[static JR_LEASE_NAME_SIZE], const char *key, uint64_t slot)
{
    if (slot == 0)
        (void)snprintf(ret, JR_LEASE_NAME_SIZE, PREFIX DEVICE "%s", key);
    else
        (void)snprintf(ret, JR_LEASE_NAME_SIZE, PREFIX DEVICE "%s+%" PRIu64, key, slot);
}

void jr_device_wait_name(char ret[static JR_LEASE_NAME_SIZE], const char *key, uint64_t ticket)
{
    (void)snprintf(ret, JR_LEASE_NAME_SIZE, PREFIX WAIT "%s+%" PRIu64, key, ticket);
}

/* "HASH-", by which a lease and the note of its run belong together. */
static void print_note_mark(char ret[static HASH_LEN + 2], const char *key, uint64_t slot)
{
    char name[JR_LEASE_NAME_SIZE], hash[JR_HASH_SIZE];
    print_slot_name(name, key, slot);
    jr_hash(hash, name, strlen(name));
    (void)snprintf(ret, HASH_LEN + 2, "%.*s-", HASH_LEN, hash);
}

static int hold_slot(struct jr_device_lease *ret, const char *key, uint32_t slot)
{
    char name[JR_LEASE_NAME_SIZE];
    print_slot_name(name, key, slot);
    int fd = jr_lease_socket_hold(name);
    if (fd < 0)
        return -1;
    *ret = JR_DEVICE_LEASE_NONE;
    (void)snprintf(ret->key, sizeof ret->key, "%s", key);
    ret->slot = slot;
    ret->fd = fd;
    return 0;
}

int jr_device_lease_share(struct jr_device_lease *ret, const char *key)
{
    uint32_t slot = 0;
    while (hold_slot(ret, key, slot) != 0)
        if (errno != EADDRINUSE || ++slot == JR_DEVICE_SHARERS_MOST)
            return -1;
    return 0;
}

/* A name has less room than an id may need: its first part tells it well enough. */
void jr_device_lease_note(struct jr_device_lease *lease, const char *run_id)
{
    char mark[HASH_LEN + 2], name[JR_LEASE_NAME_SIZE];
    if (lease->fd < 0 || lease->note_fd >= 0)
        return;
    print_note_mark(mark, lease->key, lease->slot);
    (void)snprintf(name, sizeof name, PREFIX RUN "%s%s", mark, run_id);
    lease->note_fd = jr_lease_socket_hold(name);
}

void jr_device_lease_release(struct jr_device_lease *lease)
{
    jr_close_fd(&lease->fd);
    jr_close_fd(&lease->note_fd);
    *lease = JR_DEVICE_LEASE_NONE;
}

/* KEY or KEY+NUMBER. */
static void add_claim(struct jr_device_claims *claims, const char *text,
                      struct jr_device_claim **list, size_t *count)
{
    struct jr_device_claim claim = {0};
    const char *plus = strrchr(text, '+');
    const char *digits = plus == NULL ? "0" : plus + 1;
    size_t len = plus == NULL ? strlen(text) : (size_t)(plus - text);
    if (len == 0 || len >= JR_DEVICE_KEY_SIZE || !jr_num_u64(digits, &claim.number))
        return;
    claim.key = jr_arena_strndup(&claims->arena, text, len);
    struct jr_device_claim *slot = jr_arena_push(&claims->arena, list, count, sizeof *slot);
    if (slot != NULL && claim.key != NULL)
        *slot = claim;
}

static bool take_claim_name(void *data, const char *name)
{
    struct jr_device_claims *claims = data;
    struct jr_arena *arena = &claims->arena;
    name += strlen(PREFIX);
    if (strncmp(name, DEVICE, strlen(DEVICE)) == 0)
        add_claim(claims, name + strlen(DEVICE), &claims->held, &claims->held_count);
    else if (strncmp(name, WAIT, strlen(WAIT)) == 0)
        add_claim(claims, name + strlen(WAIT), &claims->awaited, &claims->awaited_count);
    else if (strncmp(name, RUN, strlen(RUN)) == 0) {
        const char **slot =
            jr_arena_push(arena, &claims->notes, &claims->notes_count, sizeof *slot);
        if (slot != NULL)
            *slot = jr_arena_strdup(arena, name + strlen(RUN));
    }
    return !arena->failed &&
           claims->held_count + claims->awaited_count + claims->notes_count < CLAIMS_MOST;
}

void jr_device_claims_read(struct jr_device_claims *ret)
{
    *ret = (struct jr_device_claims){0};
    jr_lease_socket_list(PREFIX, take_claim_name, ret);
    if (ret->arena.failed)
        jr_device_claims_release(ret);
}

void jr_device_claims_release(struct jr_device_claims *claims)
{
    jr_arena_release(&claims->arena);
    *claims = (struct jr_device_claims){0};
}

bool jr_device_is_held(const struct jr_device_claims *claims, const char *key)
{
    for (size_t i = 0; i < claims->held_count; i++)
        if (strcmp(claims->held[i].key, key) == 0)
            return true;
    return false;
}

/* The highest ticket below `ticket` (0: of all) of those who wait for a device; 0: nobody does. */
static uint64_t awaited_before(const struct jr_device_claims *claims, const char *key,
                               uint64_t ticket)
{
    uint64_t last = 0;
    for (size_t i = 0; i < claims->awaited_count; i++) {
        const struct jr_device_claim *claim = &claims->awaited[i];
        if (claim->number > last && (ticket == 0 || claim->number < ticket) &&
            strcmp(claim->key, key) == 0)
            last = claim->number;
    }
    return last;
}

struct jr_device_user jr_device_user_of(const struct jr_device_claims *claims,
                                        const struct jr_device_claim *held)
{
    char mark[HASH_LEN + 2], name[JR_LEASE_NAME_SIZE];
    print_slot_name(name, held->key, held->number);
    struct jr_device_user user = {.holder = jr_lease_socket_holder(name)};
    print_note_mark(mark, held->key, held->number);
    for (size_t i = 0; user.holder.uid != (uid_t)-1 && i < claims->notes_count; i++) {
        const char *note = claims->notes[i];
        if (strncmp(note, mark, strlen(mark)) != 0)
            continue;
        /* only the holder itself can have made a note that counts */
        (void)snprintf(name, sizeof name, PREFIX RUN "%s", note);
        struct jr_holder maker = jr_lease_socket_holder(name);
        if (maker.uid == user.holder.uid && maker.pid == user.holder.pid)
            (void)snprintf(user.run, sizeof user.run, "%s", note + strlen(mark));
    }
    return user;
}

void jr_device_user_print(struct jr_buf *out, const struct jr_device_user *user)
{
    if (user->run[0] != '\0') {
        jr_buf_str(out, "run ");
        jr_buf_safe(out, user->run);
        jr_buf_str(out, " (");
    }
    jr_holder_print(out, &user->holder);
    jr_buf_str(out, user->run[0] != '\0' ? ")" : "");
}

int jr_devices_lock(void)
{
    uint64_t until_ns = jr_clock_ns() + LOCK_MS * UINT64_C(1000000), now;
    int fd;
    while ((fd = jr_lease_socket_hold(LOCK)) < 0 && errno == EADDRINUSE &&
           (now = jr_clock_ns()) < until_ns) {
        /* until whoever has the lock gives it back */
        JR_CLOSE int holder = jr_lease_socket_connect(LOCK);
        int left_ms = (int)((until_ns - now) / 1000000 + 1);
        if (holder < 0 && errno == EAGAIN)
            (void)poll(NULL, 0, FULL_MS);
        else if (holder >= 0)
            (void)poll(&(struct pollfd){.fd = holder, .events = POLLIN}, 1, left_ms);
    }
    return fd;
}

/* Whether a lease is that of another run than the one around the request. */
static bool is_held_by_other(const struct jr_device_claims *claims,
                             const struct jr_device_request *request,
                             const struct jr_device_claim *held)
{
    if (request->around == NULL)
        return true;
    const struct jr_device_user user = jr_device_user_of(claims, held);
    return user.holder.uid != geteuid() || strcmp(user.run, request->around) != 0;
}

bool jr_device_is_held_by_others(const struct jr_device_claims *claims,
                                 const struct jr_device_request *request, const char *key)
{
    for (size_t i = 0; i < claims->held_count; i++)
        if (strcmp(claims->held[i].key, key) == 0 &&
            is_held_by_other(claims, request, &claims->held[i]))
            return true;
    return false;
}

bool jr_device_is_away(const struct jr_device_claims *claims,
                       const struct jr_device_request *request, const char *key, uint64_t ticket)
{
    return jr_device_is_held_by_others(claims, request, key) ||
           awaited_before(claims, key, ticket) != 0;
}

uint32_t jr_devices_take(const struct jr_device_request *request, uint64_t ticket, uint32_t *chosen,
                         struct jr_device_lease *leases)
{
    struct jr_device_claims claims;
    uint32_t taken = 0;
    JR_CLOSE int lock = leases == NULL ? -1 : jr_devices_lock();
    jr_device_claims_read(&claims);
    for (uint32_t i = 0; i < request->count && taken < request->need; i++) {
        const char *key = request->keys[i];
        if (jr_device_is_away(&claims, request, key, ticket))
            continue;
        int got = 0;
        if (leases != NULL) /* beside the run around us, or as the only one */
            got = request->around != NULL ? jr_device_lease_share(&leases[taken], key)
                                          : hold_slot(&leases[taken], key, 0);
        if (got == 0)
            chosen[taken++] = i;
    }
    jr_device_claims_release(&claims);
    for (uint32_t i = 0; leases != NULL && taken < request->need && i < taken; i++)
        jr_device_lease_release(&leases[i]);
    return taken;
}

enum { HOLDERS_MOST = 16 }; /* that a message names */

static bool is_same_user(const struct jr_device_user *a, const struct jr_device_user *b)
{
    return a->holder.pid == b->holder.pid && a->holder.uid == b->holder.uid &&
           strcmp(a->run, b->run) == 0;
}

static bool is_around(const struct jr_device_viewer *viewer, const struct jr_device_user *user)
{
    return viewer->around != NULL && user->holder.uid == geteuid() &&
           strcmp(viewer->around, user->run) == 0;
}

static bool is_own_lease(const struct jr_device_viewer *viewer, const struct jr_device_claim *held)
{
    for (uint32_t i = 0; i < viewer->own_count; i++)
        if (viewer->own[i].slot == held->number && strcmp(viewer->own[i].key, held->key) == 0)
            return true;
    return false;
}

size_t jr_device_holders_print(struct jr_buf *out, const struct jr_device_claims *claims,
                               const struct jr_device_list *list,
                               const struct jr_device_viewer *viewer)
{
    /* holders, and the devices that each of them has: "0, 1" */
    struct jr_device_user users[HOLDERS_MOST];
    const char *names[HOLDERS_MOST];
    bool several[HOLDERS_MOST] = {false};
    size_t count = 0;
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    for (uint32_t i = 0; i < list->count; i++)
        for (size_t j = 0; j < claims->held_count; j++) {
            const struct jr_device_claim *held = &claims->held[j];
            if (strcmp(held->key, list->keys[i]) != 0 || is_own_lease(viewer, held))
                continue;
            const struct jr_device_user user = jr_device_user_of(claims, held);
            if (is_around(viewer, &user))
                continue;
            size_t k = 0;
            while (k < count && !is_same_user(&users[k], &user))
                k++;
            if (k == HOLDERS_MOST)
                continue;
            several[k] = k < count;
            names[k] = k < count ? jr_arena_printf(&arena, "%s, %s", names[k], list->names[i])
                                 : list->names[i];
            users[k] = user;
            count = k == count ? count + 1 : count;
        }
    for (size_t i = 0; i < count && !arena.failed; i++) {
        jr_buf_printf(out, "%s%s %s held by ", i == 0 ? "" : "; ", names[i],
                      several[i] ? "are" : "is");
        jr_device_user_print(out, &users[i]);
    }
    out->failed |= arena.failed;
    return count;
}

bool jr_device_waiters_print(struct jr_buf *out, const struct jr_device_claims *claims,
                             const struct jr_device_request *request, uint64_t ticket)
{
    struct jr_device_claim last = {0};
    for (uint32_t i = 0; i < request->count; i++) {
        const struct jr_device_claim claim = {request->keys[i],
                                              awaited_before(claims, request->keys[i], ticket)};
        last = claim.number > last.number ? claim : last;
    }
    if (last.number == 0)
        return false;
    char name[JR_LEASE_NAME_SIZE];
    jr_device_wait_name(name, last.key, last.number);
    const struct jr_holder waits = jr_lease_socket_holder(name);
    jr_holder_print(out, &waits);
    jr_buf_str(out, " waits for some of them, and came earlier");
    return true;
}

/* Tickets beyond it are no jobrun's: nothing counts so far. */
#define TICKET_MOST UINT64_C(1000000000000000)

enum { LOOK_AGAIN_NS = 200000000 };

/* What an event of the queue's epoll is about: that somebody asks for us, or else that something
 * has changed for us. */
enum { OF_CHANGE, OF_BACKLOG };

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

int jr_device_queue_join(struct jr_device_queue *queue, const struct jr_device_request *request)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = OF_BACKLOG};
    struct jr_device_claims claims;
    uint64_t ticket = 0;
    queue->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    queue->places = calloc(request->count, sizeof *queue->places);
    if (queue->epoll_fd < 0 || queue->places == NULL)
        return -1;
    JR_CLOSE int lock = jr_devices_lock();
    jr_device_claims_read(&claims);
    for (size_t i = 0; i < claims.awaited_count; i++)
        if (claims.awaited[i].number > ticket && claims.awaited[i].number < TICKET_MOST)
            ticket = claims.awaited[i].number;
    jr_device_claims_release(&claims);
    int result;
    do
        result = hold_places(queue, request, ++ticket);
    while (result != 0 && errno == EADDRINUSE && ticket < TICKET_MOST);
    if (result != 0 || queue->places_count == 0)
        return result;
    /* who comes later is connected to our places */
    if (jr_backlog_open(&queue->backlog, queue->places, queue->places_count) != 0)
        return -1;
    return epoll_ctl(queue->epoll_fd, EPOLL_CTL_ADD, queue->backlog.epoll_fd, &event);
}

/* Forget whom it waited for. */
static void clear_watched(struct jr_device_queue *queue)
{
    close_descriptors(queue->watched, &queue->watched_count);
    jr_close_fd(&queue->timer_fd);
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

enum look { LOOK_FREE, LOOK_WAIT, LOOK_AGAIN };

/* See who is in the way of having a device, and be told of that one's end: the last one that came
 * earlier and waits for it, or else all its holders. */
static enum look look_at_device(struct jr_device_queue *queue, const char *key,
                                const struct jr_device_request *request,
                                const struct jr_device_claims *claims)
{
    char name[JR_LEASE_NAME_SIZE];
    uint64_t before = awaited_before(claims, key, queue->ticket);
    bool there = true; /* none of them has gone meanwhile */
    if (!jr_device_is_away(claims, request, key, queue->ticket))
        return LOOK_FREE;
    if (before != 0) {
        jr_device_wait_name(name, key, before);
        return watch_socket(queue, name) ? LOOK_WAIT : LOOK_AGAIN;
    }
    for (size_t i = 0; i < claims->held_count; i++) {
        const struct jr_device_claim *held = &claims->held[i];
        if (strcmp(held->key, key) != 0 || !is_held_by_other(claims, request, held))
            continue;
        print_slot_name(name, key, held->number);
        there = watch_socket(queue, name) && there;
    }
    return there ? LOOK_WAIT : LOOK_AGAIN;
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

bool jr_device_queue_is_ready(struct jr_device_queue *queue,
                              const struct jr_device_request *request)
{
    enum look look = LOOK_AGAIN;
    struct epoll_event events[2];
    int count = epoll_wait(queue->epoll_fd, events, 2, 0);
    bool changed = count < 0;
    for (int i = 0; i < count; i++)
        changed = changed || events[i].data.u64 == OF_CHANGE;
    jr_backlog_turn(&queue->backlog);
    if (!changed && queue->asleep)
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
    jr_close_fd(&queue->epoll_fd);
    free(queue->watched);
    free(queue->places);
    *queue = JR_DEVICE_QUEUE_INIT;
}
