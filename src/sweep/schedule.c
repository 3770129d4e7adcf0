#include "sweep/schedule.h"

#include "base/banned.h"

enum { MOST_PASSED = 16 };

/* Move a kind's next cell to one that is to be run. */
static void find_next(struct jr_schedule *schedule, uint32_t kind)
{
    size_t *at = &schedule->next[kind];
    while (*at < schedule->count && (schedule->kind_of[*at] != kind || schedule->skips[*at]))
        ++*at;
}

void jr_schedule_init(struct jr_schedule *ret, const struct jr_schedule *with)
{
    *ret = *with;
    ret->arena = JR_ARENA_INIT;
    ret->next = jr_arena_array(&ret->arena, ret->kinds_count, sizeof *ret->next);
    ret->nodes = jr_arena_array(&ret->arena, ret->nodes_count, sizeof *ret->nodes);
    for (uint32_t i = 0; ret->nodes != NULL && i < ret->nodes_count; i++) {
        const struct jr_node_room room = ret->rooms[i];
        ret->nodes[i] = (struct jr_schedule_node){
            .room = room,
            .free_cores = room.cores,
            .core_taken = jr_arena_array(&ret->arena, room.cores, sizeof(bool)),
            .device_taken = jr_arena_array(&ret->arena, room.devices, sizeof(bool)),
            .device_away = jr_arena_array(&ret->arena, room.devices, sizeof(bool)),
            .device_lost = jr_arena_array(&ret->arena, room.devices, sizeof(bool))};
    }
    ret->rooms = NULL;
    for (size_t i = 0; !ret->arena.failed && i < ret->kinds_count; i++)
        find_next(ret, (uint32_t)i);
}

void jr_schedule_release(struct jr_schedule *schedule)
{
    jr_arena_release(&schedule->arena);
}

static bool may_have(const struct jr_slots *need, uint32_t node, uint32_t device)
{
    return need->may == NULL || need->may[node][device];
}

/* Whether a device of a node will do, and is to be had now. */
static bool is_free(const struct jr_schedule *schedule, uint32_t i, const struct jr_slots *need,
                    uint32_t device, bool none_away)
{
    const struct jr_schedule_node *node = &schedule->nodes[i];
    return may_have(need, i, device) && !node->device_taken[device] && !node->device_lost[device] &&
           (none_away || !node->device_away[device]);
}

static bool has_free_slots(const struct jr_schedule *schedule, uint32_t i,
                           const struct jr_slots *need, bool none_away)
{
    const struct jr_schedule_node *node = &schedule->nodes[i];
    uint32_t devices = 0;
    for (uint32_t k = 0; k < node->room.devices; k++)
        devices += is_free(schedule, i, need, k, none_away);
    return need->cores <= node->free_cores && need->devices <= devices;
}

/* Whether a kind needs more than any node has, so that it runs alone on one. */
static bool exceeds_all_rooms(const struct jr_schedule *schedule, const struct jr_slots *need)
{
    for (uint32_t i = 0; i < schedule->nodes_count; i++) {
        const struct jr_node_room *room = &schedule->nodes[i].room;
        uint32_t devices = 0;
        for (uint32_t k = 0; k < room->devices; k++)
            devices += may_have(need, i, k);
        if (need->cores <= room->cores && need->devices <= devices)
            return false;
    }
    return true;
}

/* The node on which a cell of a kind would begin now; nodes_count: on none. One of several nodes
 * begins when all are there, and idle. */
static uint32_t find_node(const struct jr_schedule *schedule, uint32_t kind, bool none_away)
{
    const struct jr_slots *need = &schedule->kinds[kind];
    const struct jr_schedule_node *nodes = schedule->nodes;
    uint32_t none = schedule->nodes_count, idlest = none;
    bool all = true;
    if (schedule->occupied || (schedule->parallel > 0 && schedule->running >= schedule->parallel))
        return none;
    for (uint32_t i = 0; i < none; i++) {
        all &= !nodes[i].gone;
        if (nodes[i].gone || need->alone)
            continue;
        if (has_free_slots(schedule, i, need, none_away))
            return i;
        if (idlest == none || nodes[i].running < nodes[idlest].running)
            idlest = i;
    }
    if (need->alone)
        return all && schedule->running == 0 ? 0 : none;
    bool idle = idlest < none && nodes[idlest].running == 0;
    if (need->shares && (schedule->parallel > 0 || idle))
        return idlest;
    return idle && exceeds_all_rooms(schedule, need) ? idlest : none;
}

static bool does_fit(const struct jr_schedule *schedule, uint32_t kind, bool none_away)
{
    return find_node(schedule, kind, none_away) < schedule->nodes_count;
}

/* Give a cell what its kind needs. What shares, what needs more than there is, and what has all
 * nodes is given nothing of its own. */
static void grant_need(struct jr_schedule *schedule, uint32_t kind, struct jr_arena *arena,
                       struct jr_grant *ret)
{
    const struct jr_slots *need = &schedule->kinds[kind];
    uint32_t i = find_node(schedule, kind, false);
    struct jr_schedule_node *node = &schedule->nodes[i];
    *ret = (struct jr_grant){.node = i, .alone = need->alone};
    schedule->running++;
    schedule->occupied |= need->alone;
    node->running++;
    if (need->alone || !has_free_slots(schedule, i, need, false))
        return;
    ret->cores = jr_arena_array(arena, need->cores, sizeof *ret->cores);
    ret->devices = jr_arena_array(arena, need->devices, sizeof *ret->devices);
    if (ret->cores == NULL || ret->devices == NULL)
        return;
    for (uint32_t k = 0; k < node->room.cores && ret->cores_count < need->cores; k++)
        if (!node->core_taken[k]) {
            node->core_taken[k] = true;
            ret->cores[ret->cores_count++] = k;
        }
    for (uint32_t k = 0; k < node->room.devices && ret->devices_count < need->devices; k++)
        if (is_free(schedule, i, need, k, false)) {
            node->device_taken[k] = true;
            ret->devices[ret->devices_count++] = k;
        }
    node->free_cores -= need->cores;
}

bool jr_schedule_next(struct jr_schedule *schedule, struct jr_arena *arena, size_t *ret_cell,
                      struct jr_grant *ret)
{
    size_t first = schedule->count, best = schedule->count;
    for (size_t kind = 0; kind < schedule->kinds_count; kind++) {
        size_t cell = schedule->next[kind];
        if (cell < first)
            first = cell;
        if (cell < best && does_fit(schedule, (uint32_t)kind, false))
            best = cell;
    }
    if (best == schedule->count || (best != first && schedule->passed >= MOST_PASSED))
        return false;
    schedule->passed_before = schedule->passed;
    schedule->passed = best == first ? 0 : schedule->passed + 1;
    uint32_t kind = schedule->kind_of[best];
    grant_need(schedule, kind, arena, ret);
    schedule->next[kind]++;
    find_next(schedule, kind);
    *ret_cell = best;
    return true;
}

void jr_schedule_end(struct jr_schedule *schedule, const struct jr_grant *grant)
{
    struct jr_schedule_node *node = &schedule->nodes[grant->node];
    for (uint32_t i = 0; i < grant->cores_count; i++)
        node->core_taken[grant->cores[i]] = false;
    for (uint32_t i = 0; i < grant->devices_count; i++)
        node->device_taken[grant->devices[i]] = false;
    node->free_cores += grant->cores_count;
    node->running--;
    schedule->running--;
    schedule->occupied &= !grant->alone;
}

void jr_schedule_undo(struct jr_schedule *schedule, size_t cell, const struct jr_grant *grant)
{
    jr_schedule_end(schedule, grant);
    schedule->next[schedule->kind_of[cell]] = cell;
    schedule->passed = schedule->passed_before;
}

bool jr_schedule_lacks(const struct jr_schedule *schedule, uint32_t *ret_kind)
{
    size_t first = schedule->count, best = schedule->count;
    for (size_t kind = 0; kind < schedule->kinds_count; kind++) {
        size_t cell = schedule->next[kind];
        if (cell < first)
            first = cell;
        if (cell < best && !does_fit(schedule, (uint32_t)kind, false) &&
            does_fit(schedule, (uint32_t)kind, true))
            best = cell;
    }
    if (best == schedule->count || (best != first && schedule->passed >= MOST_PASSED))
        return false;
    *ret_kind = schedule->kind_of[best];
    return true;
}

void jr_schedule_lose(struct jr_schedule *schedule, uint32_t node)
{
    schedule->nodes[node].gone = true;
}

void jr_schedule_regain(struct jr_schedule *schedule, uint32_t node)
{
    schedule->nodes[node].gone = false;
}

bool jr_schedule_lose_device(struct jr_schedule *schedule, uint32_t node, uint32_t device)
{
    bool *lost = &schedule->nodes[node].device_lost[device];
    bool known = *lost;
    *lost = true;
    return !known;
}

bool jr_schedule_could_begin(const struct jr_schedule *schedule, uint32_t kind, uint32_t *ret_left)
{
    const struct jr_slots *need = &schedule->kinds[kind];
    uint32_t most = 0;
    for (uint32_t i = 0; i < schedule->nodes_count; i++) {
        const struct jr_schedule_node *node = &schedule->nodes[i];
        uint32_t left = 0;
        for (uint32_t k = 0; k < node->room.devices; k++)
            left += may_have(need, i, k) && !node->device_lost[k];
        most = left > most ? left : most;
    }
    *ret_left = most;
    return schedule->next[kind] >= schedule->count || need->alone || need->shares ||
           need->devices <= most || exceeds_all_rooms(schedule, need);
}

void jr_schedule_drop(struct jr_schedule *schedule, uint32_t kind)
{
    schedule->next[kind] = schedule->count;
}

bool jr_schedule_has_more(const struct jr_schedule *schedule, bool alone)
{
    for (size_t kind = 0; kind < schedule->kinds_count; kind++)
        if (schedule->next[kind] < schedule->count && schedule->kinds[kind].alone == alone)
            return true;
    return false;
}
