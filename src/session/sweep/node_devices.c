#include "session/sweep/node_devices.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "resolve/device_queue.h"
#include "session/device_wait.h"
#include "session/stages.h"

#include "base/banned.h"

#define NS_PER_MS UINT64_C(1000000)

bool jr_device_is_there(const struct jr_host *host, const char *kind, const char *key)
{
    char other[JR_DEVICE_KEY_SIZE], name[16];
    for (uint32_t i = 0; i < host->devices_count; i++) {
        const struct jr_host_device *device = &host->devices[i];
        (void)snprintf(name, sizeof name, "%u", device->index);
        jr_device_key(other, device, kind, name);
        if (device->visible && strcmp(key, other) == 0)
            return true;
    }
    return false;
}

/* What the process of the cell finds out. */
static void share_gone(struct jr_node_devices *devices)
{
    void *shared = devices->list.count == 0
                       ? MAP_FAILED
                       : mmap(NULL, devices->list.count, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    devices->gone = shared == MAP_FAILED ? NULL : shared;
}

void jr_node_devices_name(struct jr_node_devices *ret, const struct jr_host *host, const char *kind,
                          struct jr_arena *arena)
{
    struct jr_device_list *list = &ret->list;
    char key[JR_DEVICE_KEY_SIZE];
    share_gone(ret);
    ret->kind = jr_arena_strdup(arena, kind);
    list->names = jr_arena_array(arena, list->count, sizeof *list->names);
    list->keys = jr_arena_array(arena, list->count, sizeof *list->keys);
    ret->leases = jr_arena_array(arena, list->count, sizeof *ret->leases);
    for (uint32_t i = 0; !arena->failed && i < list->count; i++) {
        const struct jr_host_device *device = &host->devices[ret->numbers[i]];
        list->names[i] = jr_arena_printf(arena, "%u", device->index);
        if (list->names[i] == NULL)
            return;
        jr_device_key(key, device, kind, list->names[i]);
        list->keys[i] = jr_arena_strdup(arena, key);
    }
}

static struct jr_device_request make_request(const struct jr_node_devices *devices)
{
    return (struct jr_device_request){.keys = devices->list.keys,
                                      .count = devices->list.count,
                                      .need = devices->list.count,
                                      .around = devices->around};
}

/* Lease them with a ticket of the queue; 0: without one. */
static bool take_devices(struct jr_node_devices *devices, uint64_t ticket, const char *run_id)
{
    const struct jr_device_request request = make_request(devices);
    struct jr_arena arena = JR_ARENA_INIT;
    uint32_t *chosen = jr_arena_array(&arena, request.count + 1, sizeof *chosen);
    bool taken = chosen != NULL &&
                 jr_devices_take(&request, ticket, chosen, devices->leases) == request.need;
    jr_arena_release(&arena);
    if (!taken)
        return false;
    devices->leased = request.need;
    for (uint32_t i = 0; i < devices->leased; i++)
        jr_device_lease_note(&devices->leases[i], run_id);
    return true;
}

bool jr_node_devices_take(struct jr_node_devices *devices, const char *run_id)
{
    return devices->list.count == 0 || take_devices(devices, 0, run_id);
}

int jr_node_devices_await(struct jr_node_devices *devices, const char *run_id, uint64_t limit_ms,
                          struct jr_error *err)
{
    const struct jr_device_request request = make_request(devices);
    struct jr_device_queue queue = JR_DEVICE_QUEUE_INIT;
    static const struct jr_policy none;
    uint64_t until_ns = limit_ms == 0 || limit_ms > UINT64_MAX / (2 * NS_PER_MS)
                            ? UINT64_MAX
                            : jr_clock_ns() + limit_ms * NS_PER_MS;
    int ended = 0;
    if (jr_device_queue_join(&queue, &request) != 0) {
        ended = jr_error_sys(err, JR_STATUS_LAUNCH, "cannot wait for devices");
        jr_device_queue_leave(&queue);
        return ended;
    }
    do
        ended = jr_session_sleep_in_queue(&queue, &request, &none, until_ns);
    while (ended == 0 && !take_devices(devices, queue.ticket, run_id));
    jr_device_queue_leave(&queue);
    return ended >= 0 ? ended
                      : jr_error_set(err, JR_STATUS_UNRESOLVED,
                                     "the time of --wait is over, and the devices are still held");
}

void jr_node_devices_holders(struct jr_buf *out, const struct jr_node_devices *devices)
{
    struct jr_device_claims claims;
    const struct jr_device_viewer viewer = {.around = devices->around};
    jr_device_claims_read(&claims);
    if (jr_device_holders_print(out, &claims, &devices->list, &viewer) == 0)
        jr_buf_str(out, "others came earlier");
    jr_device_claims_release(&claims);
}

void jr_node_devices_check(struct jr_node_devices *devices, char *const *envp,
                           const struct jr_spec_file *file)
{
    const struct jr_session_options options = {.envp = envp};
    const struct jr_device_list *list = &devices->list;
    struct jr_error err = {0};
    struct jr_session *now =
        devices->gone == NULL || file == NULL ? NULL : jr_session_open(&options);
    if (now != NULL && jr_session_facts(now, NULL, &err) == JR_STATUS_OK &&
        jr_session_read_devices(now, file) == JR_STATUS_OK)
        for (uint32_t i = 0; i < list->count; i++)
            devices->gone[i] = !jr_device_is_there(&now->host, devices->kind, list->keys[i]);
    jr_session_close(now);
}

/* What there is no room for is found out by the next cell that gets it. */
char *jr_node_devices_list_gone(const struct jr_node_devices *devices)
{
    enum { MOST_BYTES = 256 }; /* of a message, see protocol.h */
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    for (uint32_t i = 0; devices->gone != NULL && i < devices->list.count; i++)
        if (devices->gone[i] && text.len < MOST_BYTES)
            jr_buf_printf(&text, "%s%u", text.len == 0 ? "" : ",", devices->numbers[i]);
    return text.len == 0 || text.failed ? NULL : jr_buf_detach(&text);
}

void jr_node_devices_give(struct jr_node_devices *devices)
{
    if (devices->gone != NULL)
        (void)munmap(devices->gone, devices->list.count);
    devices->gone = NULL;
    for (uint32_t i = 0; i < devices->leased; i++)
        jr_device_lease_release(&devices->leases[i]);
    devices->leased = 0;
}
