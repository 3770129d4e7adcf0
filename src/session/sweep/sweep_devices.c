/* The devices of a sweep, which its cells share with other runs. internal.h has its manual. */
#include "session/sweep/internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/strv.h"

#include "base/banned.h"

enum { LOOKS_MOST = 8 };

#define NS_PER_MS     UINT64_C(1000000)
#define LOOK_AGAIN_NS (200 * NS_PER_MS)

/* What the kind of a device is called by the first cells that may have it; NULL: none may. */
static const char *find_kind_name(const struct jr_cell_needs *needs, uint32_t device)
{
    for (size_t i = 0; i < needs->count; i++) {
        const struct jr_cell_need *need = &needs->kinds[i];
        if (need->may != NULL && need->may[0][device])
            return need->device_name;
    }
    return NULL;
}

void jr_sweep_devices_name(struct jr_device_list *ret, struct jr_session *session,
                           const struct jr_cell_needs *needs)
{
    const struct jr_host *host = &session->host;
    struct jr_arena *arena = &session->arena;
    char key[JR_DEVICE_KEY_SIZE];
    *ret = (struct jr_device_list){0};
    if (session->cell_hosts != NULL) /* their agents have the devices */
        return;
    *ret = (struct jr_device_list){jr_arena_array(arena, host->devices_count, sizeof *ret->names),
                                   jr_arena_array(arena, host->devices_count, sizeof *ret->keys),
                                   host->devices_count};
    for (uint32_t i = 0; !arena->failed && i < ret->count; i++) {
        const char *kind = find_kind_name(needs, i);
        ret->names[i] = jr_arena_printf(arena, "%u", host->devices[i].index);
        if (kind == NULL || ret->names[i] == NULL)
            continue;
        jr_device_key(key, &host->devices[i], kind, ret->names[i]);
        ret->keys[i] = jr_arena_strdup(arena, key);
    }
    if (arena->failed)
        ret->count = 0;
}

bool jr_sweep_devices_holders(struct jr_buf *out, const struct jr_device_list *list,
                              const bool *without, const char *around)
{
    struct jr_device_claims claims;
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    const struct jr_device_viewer viewer = {.around = around};
    struct jr_device_list some = {jr_arena_array(&arena, list->count, sizeof *some.names),
                                  jr_arena_array(&arena, list->count, sizeof *some.keys), 0};
    for (uint32_t i = 0; !arena.failed && i < list->count; i++) {
        if (list->keys[i] == NULL || (without != NULL && without[i]))
            continue;
        some.names[some.count] = list->names[i];
        some.keys[some.count++] = list->keys[i];
    }
    jr_device_claims_read(&claims);
    bool any = jr_device_holders_print(out, &claims, &some, &viewer) > 0;
    jr_device_claims_release(&claims);
    return any;
}

void jr_sweep_devices_open(struct jr_sweep_run *run)
{
    struct jr_sweep_devices *devices = &run->devices;
    struct jr_session *session = run->session;
    *devices = (struct jr_sweep_devices){
        .around = jr_env_get(session->options.envp, "JOBRUN_RUN_ID"),
        .queue = JR_DEVICE_QUEUE_INIT,
        .gone =
            jr_arena_array(&session->arena, session->host.devices_count, sizeof *devices->gone)};
    jr_sweep_devices_name(&devices->list, session, &run->needs);
}

void jr_sweep_devices_close(struct jr_sweep_run *run)
{
    jr_device_queue_leave(&run->devices.queue);
    jr_arena_release(&run->devices.arena);
}

void jr_sweep_devices_look(struct jr_sweep_run *run)
{
    const struct jr_sweep_devices *devices = &run->devices;
    struct jr_schedule_node *node = &run->schedule.nodes[0];
    const struct jr_device_request request = {.around = devices->around};
    struct jr_device_claims claims;
    if (devices->list.count == 0 || run->needs.rooms[0].devices == 0)
        return;
    jr_device_claims_read(&claims);
    for (uint32_t i = 0; i < devices->list.count; i++)
        node->device_away[i] =
            !node->device_taken[i] &&
            (devices->list.keys[i] == NULL || devices->gone[i] ||
             jr_device_is_away(&claims, &request, devices->list.keys[i], devices->queue.ticket));
    jr_device_claims_release(&claims);
}

bool jr_sweep_devices_take(struct jr_sweep_run *run, struct jr_cell_process *process)
{
    const struct jr_device_list *list = &run->devices.list;
    const struct jr_grant *grant = &process->grant;
    uint32_t count = grant->devices_count;
    char id[160], folder[16];
    if (count == 0)
        return true;
    uint32_t *chosen = jr_arena_array(&process->arena, count, sizeof *chosen);
    const char **keys = jr_arena_array(&process->arena, count, sizeof *keys);
    process->leases = jr_arena_array(&process->arena, count, sizeof *process->leases);
    for (uint32_t i = 0; !process->arena.failed && i < count; i++)
        keys[i] = list->keys[grant->devices[i]];
    const struct jr_device_request request = {keys, count, count, run->devices.around};
    if (process->arena.failed ||
        jr_devices_take(&request, run->devices.queue.ticket, chosen, process->leases) < count)
        return false;
    process->leases_count = count;
    jr_cell_folder(folder, run->states[process->cell].number);
    (void)snprintf(id, sizeof id, "%s.%s", run->dir.id, folder);
    for (uint32_t i = 0; i < count; i++)
        jr_device_lease_note(&process->leases[i], id);
    jr_device_queue_leave(&run->devices.queue);
    return true;
}

void jr_sweep_devices_give(struct jr_cell_process *process)
{
    for (uint32_t i = 0; i < process->leases_count; i++)
        jr_device_lease_release(&process->leases[i]);
    process->leases_count = 0;
}

void jr_sweep_devices_keep(struct jr_sweep_run *run)
{
    for (size_t i = 0; i < run->running_count; i++)
        jr_sweep_devices_give(&run->running[i]);
    jr_device_queue_leave(&run->devices.queue);
}

/* The waiting is told once: others that come and go are seen by `doctor`. */
static void tell_devices_wait(struct jr_sweep_run *run)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    if (run->devices.told)
        return;
    jr_buf_str(&line, "waiting for devices");
    if (run->session->options.wait_ms > 0) {
        jr_buf_str(&line, " for at most ");
        jr_num_add_duration(&line, run->session->options.wait_ms);
    }
    jr_buf_str(&line, ": ");
    if (!jr_sweep_devices_holders(&line, &run->devices.list, run->schedule.nodes[0].device_taken,
                                  run->devices.around))
        jr_buf_str(&line, "others came earlier");
    jr_session_note_buf(run->session, &line);
    run->devices.told = true;
}

/* No cell of a kind can have what it needs any more. */
static void drop_kind(struct jr_sweep_run *run, uint32_t kind)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    const struct jr_cell_need *need = &run->needs.kinds[kind];
    jr_buf_printf(&line, "cells that need %u %s device%s cannot begin any more: %u %s left",
                  need->devices, need->device_name, need->devices == 1 ? "" : "s",
                  run->devices.request.count, run->devices.request.count == 1 ? "is" : "are");
    jr_session_note_buf(run->session, &line);
    jr_schedule_drop(&run->schedule, kind);
    run->devices.over = true;
}

/* Whether --wait is over, which counts only while nothing runs. */
static bool is_wait_over(struct jr_sweep_run *run)
{
    struct jr_sweep_devices *devices = &run->devices;
    uint64_t now = jr_clock_ns();
    if (run->running_count > 0)
        devices->since_ns = 0;
    else if (devices->since_ns == 0)
        devices->since_ns = now;
    uint64_t due = jr_sweep_devices_due(run);
    if (devices->since_ns == 0 || devices->again || due == 0 || now < due)
        return false;
    jr_session_note(run->session, "the time of --wait is over, and the devices are still held");
    devices->over = run->closing = true;
    return true;
}

/* Stand in the queue for what a cell of that kind may have. */
static bool join_queue(struct jr_sweep_run *run, uint32_t kind)
{
    struct jr_sweep_devices *devices = &run->devices;
    const struct jr_slots *need = &run->slots[kind];
    struct jr_device_request *request = &devices->request;
    struct jr_error err = {0};
    if (devices->queue.ticket != 0 && devices->kind == kind)
        return true;
    jr_device_queue_leave(&devices->queue);
    jr_arena_release(&devices->arena);
    const char **keys = jr_arena_array(&devices->arena, devices->list.count, sizeof *keys);
    *request =
        (struct jr_device_request){.keys = keys, .need = need->devices, .around = devices->around};
    devices->kind = kind;
    for (uint32_t i = 0; keys != NULL && i < devices->list.count; i++)
        if (!devices->gone[i] && need->may[0][i])
            keys[request->count++] = devices->list.keys[i];
    if (request->count < request->need) {
        drop_kind(run, kind);
        return false;
    }
    if (!devices->arena.failed && jr_device_queue_join(&devices->queue, request) == 0)
        return true;
    jr_device_queue_leave(&devices->queue);
    (void)jr_error_sys(&err, JR_STATUS_LAUNCH, "cannot wait for devices");
    jr_session_note(run->session, err.text);
    run->closing = true;
    return false;
}

bool jr_sweep_devices_await(struct jr_sweep_run *run)
{
    struct jr_sweep_devices *devices = &run->devices;
    uint32_t kind;
    while (!run->closing && jr_schedule_lacks(&run->schedule, &kind)) {
        if (!join_queue(run, kind))
            continue;
        tell_devices_wait(run);
        if (jr_device_queue_is_ready(&devices->queue, &devices->request))
            return true;
        if (!is_wait_over(run))
            return false;
    }
    devices->since_ns = 0;
    jr_device_queue_leave(&devices->queue);
    return false;
}

uint64_t jr_sweep_devices_due(const struct jr_sweep_run *run)
{
    const struct jr_sweep_devices *devices = &run->devices;
    uint64_t ms = run->session->options.wait_ms;
    if (devices->again)
        return jr_clock_ns() + LOOK_AGAIN_NS;
    if (devices->since_ns == 0 || ms == 0 || ms > (UINT64_MAX - devices->since_ns) / NS_PER_MS)
        return 0;
    return devices->since_ns + ms * NS_PER_MS;
}

/* Tell that a device is not there any more; `node`: where that is, or "". */
static void note_lost_device(const struct jr_sweep_run *run, const char *node, const char *kind,
                             const char *name)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_safe(&line, node);
    jr_buf_printf(&line, "%sthe %s device %s is not there any more: no other cell gets it",
                  node[0] == '\0' ? "" : ": ", kind, name);
    jr_session_note_buf(run->session, &line);
}

/* Take it from an agent that devices of its node, numbers of its facts, are not there any more. */
static void lose_remote_devices(struct jr_sweep_run *run, const struct jr_cell_process *process)
{
    const struct jr_grant *grant = &process->grant;
    const struct jr_host *host = &run->session->cell_hosts[grant->node];
    const struct jr_cell_need *need = &run->needs.kinds[run->needs.kind_of[process->cell]];
    const char *at = process->gone;
    uint64_t device;
    char name[16];
    while (at != NULL && jr_num_digits(&at, &device) &&
           device < run->schedule.nodes[grant->node].room.devices) {
        if (jr_schedule_lose_device(&run->schedule, grant->node, (uint32_t)device)) {
            (void)snprintf(name, sizeof name, "%u", host->devices[device].index);
            note_lost_device(run, run->nodes.hosts[grant->node], need->device_name, name);
        }
        at += *at == ',';
    }
    for (size_t i = 0; i < run->needs.count; i++) { /* what no node can hold any more */
        uint32_t kind = (uint32_t)i, left;
        if (jr_schedule_could_begin(&run->schedule, kind, &left))
            continue;
        run->devices.request.count = left;
        drop_kind(run, kind);
    }
}

void jr_sweep_devices_check(struct jr_sweep_run *run, const struct jr_cell_process *process)
{
    const struct jr_session_options options = {.envp = run->session->options.envp};
    struct jr_session *now = NULL;
    struct jr_error err = {0};
    if (process->gone != NULL)
        lose_remote_devices(run, process);
    if (process->on_node)
        return;
    if (process->grant.devices_count > 0 && run->session->cell_files_count > 0)
        now = jr_session_open(&options);
    if (now != NULL && jr_session_facts(now, NULL, &err) == JR_STATUS_OK &&
        jr_session_read_devices(now, run->session->cell_files[0]) == JR_STATUS_OK)
        for (uint32_t i = 0; i < process->grant.devices_count; i++) {
            uint32_t device = process->grant.devices[i];
            const char *kind = find_kind_name(&run->needs, device);
            if (jr_device_is_there(&now->host, kind, run->devices.list.keys[device]))
                continue;
            run->devices.gone[device] = true;
            note_lost_device(run, "", kind, run->devices.list.names[device]);
        }
    jr_session_close(now);
}

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
