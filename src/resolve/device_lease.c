#include "resolve/device_lease.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
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

/* The bus address comes first: drivers may not know the UUID before the first use of the device. */
static void print_device_key(struct jr_buf *out, const struct jr_host_device *device,
                             const char *kind, const char *name)
{
    uint32_t index;
    if (device != NULL && has_own_bus(device))
        jr_buf_str(out, device->bus);
    else if (device != NULL && device->uuid != NULL)
        jr_buf_str(out, device->uuid);
    else if (device != NULL && device->bus != NULL)
        jr_buf_str(out, device->bus);
    else if (device != NULL)
        jr_buf_printf(out, "%s.%u", kind, device->index);
    else
        jr_buf_printf(out, jr_num_u32(name, &index) ? "%s.%s" : "%.0s%s", kind, name);
}

static bool is_key_plain(const char *text)
{
    size_t len = strlen(text);
    return len > 0 && len < JR_DEVICE_KEY_SIZE &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:/_-") ==
               len;
}

void jr_device_key(char ret[static JR_DEVICE_KEY_SIZE], const struct jr_host_device *device,
                   const char *kind, const char *name)
{
    char hash[JR_HASH_SIZE];
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    print_device_key(&text, device, kind, name);
    const char *plain = text.failed ? "" : text.data;
    if (is_key_plain(plain)) {
        (void)stpcpy(ret, plain);
        return;
    }
    jr_hash(hash, plain, strlen(plain));
    (void)snprintf(ret, JR_DEVICE_KEY_SIZE, "%.32s", hash);
}

static void print_slot_name(char ret[static JR_LEASE_NAME_SIZE], const char *key, uint64_t slot)
{
    if (slot == 0)
        (void)snprintf(ret, JR_LEASE_NAME_SIZE, PREFIX DEVICE "%s", key);
    else
        (void)snprintf(ret, JR_LEASE_NAME_SIZE, PREFIX DEVICE "%s+%" PRIu64, key, slot);
}

void jr_device_lease_name(char ret[static JR_LEASE_NAME_SIZE], const struct jr_device_claim *held)
{
    print_slot_name(ret, held->key, held->number);
}

void jr_device_wait_name(char ret[static JR_LEASE_NAME_SIZE], const char *key, uint64_t ticket)
{
    (void)snprintf(ret, JR_LEASE_NAME_SIZE, PREFIX WAIT "%s+%" PRIu64, key, ticket);
}

struct jr_holder jr_device_waits(const struct jr_device_claim *awaited)
{
    char name[JR_LEASE_NAME_SIZE];
    jr_device_wait_name(name, awaited->key, awaited->number);
    return jr_lease_socket_holder(name);
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
    if (lease->fd >= 0)
        (void)close(lease->fd);
    if (lease->note_fd >= 0)
        (void)close(lease->note_fd);
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

uint64_t jr_device_awaited_before(const struct jr_device_claims *claims, const char *key,
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

/* Only the holder itself can have made a note that counts. */
static void find_run(const struct jr_device_claims *claims, const struct jr_device_claim *held,
                     struct jr_device_user *user)
{
    char mark[HASH_LEN + 2], name[JR_LEASE_NAME_SIZE];
    print_note_mark(mark, held->key, held->number);
    for (size_t i = 0; i < claims->notes_count; i++) {
        const char *note = claims->notes[i];
        if (strncmp(note, mark, strlen(mark)) != 0)
            continue;
        (void)snprintf(name, sizeof name, PREFIX RUN "%s", note);
        struct jr_holder maker = jr_lease_socket_holder(name);
        if (maker.uid == user->holder.uid && maker.pid == user->holder.pid)
            (void)snprintf(user->run, sizeof user->run, "%s", note + strlen(mark));
    }
}

struct jr_device_user jr_device_user_of(const struct jr_device_claims *claims,
                                        const struct jr_device_claim *held)
{
    char name[JR_LEASE_NAME_SIZE];
    print_slot_name(name, held->key, held->number);
    struct jr_device_user user = {.holder = jr_lease_socket_holder(name)};
    if (user.holder.uid != (uid_t)-1)
        find_run(claims, held, &user);
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

/* Sleep until whoever has the lock gives it back. */
static void await_unlock(uint64_t until_ns)
{
    JR_CLOSE int fd = jr_lease_socket_connect(LOCK);
    uint64_t now = jr_clock_ns();
    int left_ms = now < until_ns ? (int)((until_ns - now) / 1000000 + 1) : 0;
    if (fd < 0 && errno == EAGAIN)
        (void)poll(NULL, 0, FULL_MS);
    else if (fd >= 0)
        (void)poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, left_ms);
}

int jr_devices_lock(void)
{
    uint64_t until_ns = jr_clock_ns() + LOCK_MS * UINT64_C(1000000);
    int fd;
    while ((fd = jr_lease_socket_hold(LOCK)) < 0 && errno == EADDRINUSE && jr_clock_ns() < until_ns)
        await_unlock(until_ns);
    return fd;
}

bool jr_device_is_of_others(const struct jr_device_claims *claims,
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
            jr_device_is_of_others(claims, request, &claims->held[i]))
            return true;
    return false;
}

bool jr_device_is_away(const struct jr_device_claims *claims,
                       const struct jr_device_request *request, const char *key, uint64_t ticket)
{
    return jr_device_is_held_by_others(claims, request, key) ||
           jr_device_awaited_before(claims, key, ticket) != 0;
}

/* Beside the run around us, or as the only one. */
static int lease_free_device(struct jr_device_lease *ret, const struct jr_device_request *request,
                             const char *key)
{
    return request->around != NULL ? jr_device_lease_share(ret, key) : hold_slot(ret, key, 0);
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
        if (leases == NULL || lease_free_device(&leases[taken], request, key) == 0)
            chosen[taken++] = i;
    }
    jr_device_claims_release(&claims);
    for (uint32_t i = 0; leases != NULL && taken < request->need && i < taken; i++)
        jr_device_lease_release(&leases[i]);
    return taken;
}
