#include "sweep/schedule.h"

#include <string.h>

#include "base/banned.h"

enum { MOST_PASSED = 16 };

/* Move a kind's next cell to one that is to be run. */
static void find_next(struct jr_schedule *schedule, uint32_t kind)
{
    size_t *at = &schedule->next[kind];
    while (*at < schedule->count && (schedule->kind_of[*at] != kind || schedule->skips[*at]))
        ++*at;
}

static void init_node(struct jr_schedule *schedule, uint32_t i)
{
    struct jr_schedule_node *node = &schedule->nodes[i];
    struct jr_arena *arena = &schedule->arena;
    node->room = schedule->rooms[i];
    node->free_cores = node->room.cores;
    node->core_taken = jr_arena_array(arena, node->room.cores, sizeof *node->core_taken);
    node->device_taken = jr_arena_array(arena, node->room.devices, sizeof *node->device_taken);
    node->device_away = jr_arena_array(arena, node->room.devices, sizeof *node->device_away);
    node->device_lost = jr_arena_array(arena, node->room.devices, sizeof *node->device_lost);
}

void jr_schedule_init(struct jr_schedule *ret, const struct jr_schedule *with)
{
    *ret = *with;
    ret->arena = JR_ARENA_INIT;
    ret->next = jr_arena_array(&ret->arena, ret->kinds_count, sizeof *ret->next);
    ret->nodes = jr_arena_array(&ret->arena, ret->nodes_count, sizeof *ret->nodes);
    for (uint32_t i = 0; ret->nodes != NULL && i < ret->nodes_count; i++)
        init_node(ret, i);
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

/* Devices of a node that will do and that no cell has. */
static uint32_t count_free_devices(const struct jr_schedule *schedule, uint32_t i,
                                   const struct jr_slots *need, bool none_away)
{
    const struct jr_schedule_node *node = &schedule->nodes[i];
    uint32_t count = 0;
    for (uint32_t k = 0; k < node->room.devices; k++)
        count += may_have(need, i, k) && !node->device_taken[k] && !node->device_lost[k] &&
                 (none_away || !node->device_away[k]);
    return count;
}

static bool has_free_slots(const struct jr_schedule *schedule, uint32_t i,
                           const struct jr_slots *need, bool none_away)
{
    return need->cores <= schedule->nodes[i].free_cores &&
           need->devices <= count_free_devices(schedule, i, need, none_away);
}

/* What needs more than there is runs alone on its node. */
static bool exceeds_room(const struct jr_schedule *schedule, uint32_t i,
                         const struct jr_slots *need)
{
    const struct jr_schedule_node *node = &schedule->nodes[i];
    uint32_t all = 0;
    for (uint32_t k = 0; k < node->room.devices; k++)
        all += may_have(need, i, k);
    return need->cores > node->room.cores || need->devices > all;
}

/* Whether it exceeds every node. */
static bool exceeds_all_rooms(const struct jr_schedule *schedule, const struct jr_slots *need)
{
    for (uint32_t i = 0; i < schedule->nodes_count; i++)
        if (!exceeds_room(schedule, i, need))
            return false;
    return true;
}

/* The least busy node that is there; nodes_count: none is. */
static uint32_t find_idlest(const struct jr_schedule *schedule)
{
    uint32_t found = schedule->nodes_count;
    for (uint32_t i = 0; i < schedule->nodes_count; i++) {
        const struct jr_schedule_node *node = &schedule->nodes[i];
        if (!node->gone &&
            (found == schedule->nodes_count || node->running < schedule->nodes[found].running))
            found = i;
    }
    return found;
}

/* A cell of several nodes begins when all are there, and idle. */
static uint32_t find_all_nodes(const struct jr_schedule *schedule)
{
    for (uint32_t i = 0; i < schedule->nodes_count; i++)
        if (schedule->nodes[i].gone)
            return schedule->nodes_count;
    return schedule->running == 0 ? 0 : schedule->nodes_count;
}

/* The node on which a cell of a kind would begin now; nodes_count: on none. */
static uint32_t find_node(const struct jr_schedule *schedule, uint32_t kind, bool none_away)
{
    const struct jr_slots *need = &schedule->kinds[kind];
    uint32_t none = schedule->nodes_count;
    if (schedule->occupied || (schedule->parallel > 0 && schedule->running >= schedule->parallel))
        return none;
    if (need->alone)
        return find_all_nodes(schedule);
    for (uint32_t i = 0; i < schedule->nodes_count; i++)
        if (!schedule->nodes[i].gone && has_free_slots(schedule, i, need, none_away))
            return i;
    uint32_t idlest = find_idlest(schedule);
    bool idle = idlest < none && schedule->nodes[idlest].running == 0;
    if (need->shares && (schedule->parallel > 0 || idle))
        return idlest;
    return idle && exceeds_all_rooms(schedule, need) ? idlest : none;
}

static bool does_fit(const struct jr_schedule *schedule, uint32_t kind, bool none_away)
{
    return find_node(schedule, kind, none_away) < schedule->nodes_count;
}

/* Take so many cores, which are free; NULL without memory. */
static uint32_t *take_free_cores(struct jr_schedule_node *node, uint32_t count,
                                 struct jr_arena *arena)
{
    uint32_t *numbers = jr_arena_array(arena, count, sizeof *numbers);
    uint32_t found = 0, room = node->room.cores;
    for (uint32_t i = 0; numbers != NULL && i < room && found < count; i++) {
        if (node->core_taken[i])
            continue;
        node->core_taken[i] = true;
        numbers[found++] = i;
    }
    return numbers;
}

/* Take so many devices that will do, and are free; NULL without memory. */
static uint32_t *take_free_devices(struct jr_schedule *schedule, uint32_t i,
                                   const struct jr_slots *need, struct jr_arena *arena)
{
    struct jr_schedule_node *node = &schedule->nodes[i];
    uint32_t *numbers = jr_arena_array(arena, need->devices, sizeof *numbers);
    uint32_t found = 0, room = node->room.devices;
    for (uint32_t k = 0; numbers != NULL && k < room && found < need->devices; k++) {
        if (!may_have(need, i, k) || node->device_taken[k] || node->device_away[k] ||
            node->device_lost[k])
            continue;
        node->device_taken[k] = true;
        numbers[found++] = k;
    }
    return numbers;
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
    ret->cores = take_free_cores(node, need->cores, arena);
    ret->devices = take_free_devices(schedule, i, need, arena);
    if (ret->cores == NULL || ret->devices == NULL)
        return;
    ret->cores_count = need->cores;
    ret->devices_count = need->devices;
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

/* The devices of a node that will do and are not lost. */
static uint32_t count_left_devices(const struct jr_schedule *schedule, uint32_t i,
                                   const struct jr_slots *need)
{
    const struct jr_schedule_node *node = &schedule->nodes[i];
    uint32_t count = 0;
    for (uint32_t k = 0; k < node->room.devices; k++)
        count += may_have(need, i, k) && !node->device_lost[k];
    return count;
}

bool jr_schedule_could_begin(const struct jr_schedule *schedule, uint32_t kind, uint32_t *ret_left)
{
    const struct jr_slots *need = &schedule->kinds[kind];
    uint32_t most = 0;
    for (uint32_t i = 0; i < schedule->nodes_count; i++) {
        uint32_t left = count_left_devices(schedule, i, need);
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
