#include "sweep/schedule.h"

#include <string.h>

#include "base/banned.h"

enum { MOST_PASSED = 16 };

/* Move a kind's next cell to one that is to be run. */
static void find_next(struct jr_schedule *schedule, uint32_t kind)
{
    size_t *at = &schedule->next[kind];
    while (*at < schedule->count &&
           (schedule->kind_of[*at] != kind || schedule->skips[*at]))
        ++*at;
}

void jr_schedule_init(struct jr_schedule *ret, const struct jr_schedule *with)
{
    *ret = *with;
    ret->arena = JR_ARENA_INIT;
    ret->free = ret->room;
    ret->next =
        jr_arena_array(&ret->arena, ret->kinds_count + 1, sizeof *ret->next);
    ret->core_taken = jr_arena_array(&ret->arena, ret->room.cores + 1,
                                     sizeof *ret->core_taken);
    ret->device_taken = jr_arena_array(&ret->arena, ret->room.devices + 1,
                                       sizeof *ret->device_taken);
    ret->device_away = jr_arena_array(&ret->arena, ret->room.devices + 1,
                                      sizeof *ret->device_away);
    for (size_t i = 0; !ret->arena.failed && i < ret->kinds_count; i++)
        find_next(ret, (uint32_t)i);
}

void jr_schedule_release(struct jr_schedule *schedule)
{
    jr_arena_release(&schedule->arena);
}

static bool may_have(const struct jr_slots *need, uint32_t device)
{
    return need->may == NULL || need->may[device];
}

/* Devices that will do and that no cell has. */
static uint32_t count_free_devices(const struct jr_schedule *schedule,
                                   const struct jr_slots *need, bool none_away)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < schedule->room.devices; i++)
        count += may_have(need, i) && !schedule->device_taken[i] &&
                 (none_away || !schedule->device_away[i]);
    return count;
}

/* What needs more than there is runs alone. */
static bool exceeds_room(const struct jr_schedule *schedule,
                         const struct jr_slots *need)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < schedule->room.devices; i++)
        all += may_have(need, i);
    return need->cores > schedule->room.cores || need->devices > all;
}

static bool does_fit(const struct jr_schedule *schedule, uint32_t kind,
                     bool none_away)
{
    const struct jr_slots *need = &schedule->kinds[kind];
    if (schedule->parallel > 0 && schedule->running >= schedule->parallel)
        return false;
    if (need->shares && (schedule->parallel > 0 || schedule->running == 0))
        return true;
    if (schedule->running == 0 && exceeds_room(schedule, need))
        return true;
    return need->cores <= schedule->free.cores &&
           need->devices <= count_free_devices(schedule, need, none_away);
}

/* Take so many free cores; NULL without memory. */
static uint32_t *take_free_cores(struct jr_schedule *schedule, uint32_t count,
                                 struct jr_arena *arena)
{
    uint32_t *numbers = jr_arena_array(arena, count + 1, sizeof *numbers);
    uint32_t found = 0, room = schedule->room.cores;
    for (uint32_t i = 0; numbers != NULL && i < room && found < count; i++) {
        if (schedule->core_taken[i])
            continue;
        schedule->core_taken[i] = true;
        numbers[found++] = i;
    }
    return numbers;
}

/* Take so many free devices that will do; NULL without memory. */
static uint32_t *take_free_devices(struct jr_schedule *schedule,
                                   const struct jr_slots *need,
                                   struct jr_arena *arena)
{
    uint32_t *numbers =
        jr_arena_array(arena, need->devices + 1, sizeof *numbers);
    uint32_t found = 0, room = schedule->room.devices;
    for (uint32_t i = 0; numbers != NULL && i < room && found < need->devices;
         i++) {
        if (!may_have(need, i) || schedule->device_taken[i] ||
            schedule->device_away[i])
            continue;
        schedule->device_taken[i] = true;
        numbers[found++] = i;
    }
    return numbers;
}

/* Give a cell what its kind needs. What shares, and what needs more than there
 * is, is given nothing of its own. */
static void grant_need(struct jr_schedule *schedule, uint32_t kind,
                       struct jr_arena *arena, struct jr_grant *ret)
{
    const struct jr_slots *need = &schedule->kinds[kind];
    *ret = (struct jr_grant){0};
    if (need->cores > schedule->free.cores ||
        need->devices > count_free_devices(schedule, need, false))
        return;
    ret->cores = take_free_cores(schedule, need->cores, arena);
    ret->devices = take_free_devices(schedule, need, arena);
    if (ret->cores == NULL || ret->devices == NULL)
        return;
    ret->cores_count = need->cores;
    ret->devices_count = need->devices;
    schedule->free.cores -= need->cores;
}

bool jr_schedule_next(struct jr_schedule *schedule, struct jr_arena *arena,
                      size_t *ret_cell, struct jr_grant *ret)
{
    size_t first = schedule->count, best = schedule->count;
    for (size_t kind = 0; kind < schedule->kinds_count; kind++) {
        size_t cell = schedule->next[kind];
        if (cell < first)
            first = cell;
        if (cell < best && does_fit(schedule, (uint32_t)kind, false))
            best = cell;
    }
    if (best == schedule->count ||
        (best != first && schedule->passed >= MOST_PASSED))
        return false;
    schedule->passed_before = schedule->passed;
    schedule->passed = best == first ? 0 : schedule->passed + 1;
    uint32_t kind = schedule->kind_of[best];
    grant_need(schedule, kind, arena, ret);
    schedule->next[kind]++;
    find_next(schedule, kind);
    schedule->running++;
    *ret_cell = best;
    return true;
}

void jr_schedule_end(struct jr_schedule *schedule, const struct jr_grant *grant)
{
    for (uint32_t i = 0; i < grant->cores_count; i++)
        schedule->core_taken[grant->cores[i]] = false;
    for (uint32_t i = 0; i < grant->devices_count; i++)
        schedule->device_taken[grant->devices[i]] = false;
    schedule->free.cores += grant->cores_count;
    schedule->running--;
}

void jr_schedule_undo(struct jr_schedule *schedule, size_t cell,
                      const struct jr_grant *grant)
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
    if (best == schedule->count ||
        (best != first && schedule->passed >= MOST_PASSED))
        return false;
    *ret_kind = schedule->kind_of[best];
    return true;
}

void jr_schedule_add(struct jr_schedule *schedule)
{
    schedule->count++;
    for (size_t kind = 0; kind < schedule->kinds_count; kind++)
        find_next(schedule, (uint32_t)kind);
}

bool jr_schedule_has_room(const struct jr_schedule *schedule, uint32_t kind)
{
    return does_fit(schedule, kind, false);
}

void jr_schedule_drop(struct jr_schedule *schedule, uint32_t kind)
{
    schedule->next[kind] = schedule->count;
}

bool jr_schedule_has_more(const struct jr_schedule *schedule)
{
    for (size_t kind = 0; kind < schedule->kinds_count; kind++)
        if (schedule->next[kind] < schedule->count)
            return true;
    return false;
}
