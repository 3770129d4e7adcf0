#include "resolve/device_holders.h"

#include <string.h>
#include <unistd.h>

#include "base/banned.h"

enum { GROUPS_MOST = 16 }; /* holders that a message names */

/* Holders, and the devices that each of them has. */
struct holders {
    struct jr_arena arena;
    struct {
        struct jr_device_user user;
        const char *names; /* "0, 1" */
        bool several;
    } groups[GROUPS_MOST];
    size_t count;
};

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

static void add_holder(struct holders *to, const struct jr_device_user *user, const char *name)
{
    size_t i = 0;
    while (i < to->count && !is_same_user(&to->groups[i].user, user))
        i++;
    if (i == GROUPS_MOST)
        return;
    if (i == to->count) {
        to->groups[to->count++].user = *user;
        to->groups[i].names = name;
        return;
    }
    to->groups[i].several = true;
    to->groups[i].names = jr_arena_printf(&to->arena, "%s, %s", to->groups[i].names, name);
}

static void find_holders(struct holders *to, const struct jr_device_claims *claims,
                         const struct jr_device_list *list, const struct jr_device_viewer *viewer)
{
    for (uint32_t i = 0; i < list->count; i++)
        for (size_t j = 0; j < claims->held_count; j++) {
            const struct jr_device_claim *held = &claims->held[j];
            if (strcmp(held->key, list->keys[i]) != 0 || is_own_lease(viewer, held))
                continue;
            const struct jr_device_user user = jr_device_user_of(claims, held);
            if (!is_around(viewer, &user))
                add_holder(to, &user, list->names[i]);
        }
}

size_t jr_device_holders_print(struct jr_buf *out, const struct jr_device_claims *claims,
                               const struct jr_device_list *list,
                               const struct jr_device_viewer *viewer)
{
    struct holders holders = {.arena = JR_ARENA_INIT};
    find_holders(&holders, claims, list, viewer);
    for (size_t i = 0; i < holders.count; i++) {
        jr_buf_printf(out, "%s%s %s held by ", i == 0 ? "" : "; ", holders.groups[i].names,
                      holders.groups[i].several ? "are" : "is");
        jr_device_user_print(out, &holders.groups[i].user);
    }
    out->failed |= holders.arena.failed;
    jr_arena_release(&holders.arena);
    return holders.count;
}

bool jr_device_waiters_print(struct jr_buf *out, const struct jr_device_claims *claims,
                             const struct jr_device_request *request, uint64_t ticket)
{
    struct jr_device_claim last = {0};
    for (uint32_t i = 0; i < request->count; i++) {
        const struct jr_device_claim claim = {
            request->keys[i], jr_device_awaited_before(claims, request->keys[i], ticket)};
        last = claim.number > last.number ? claim : last;
    }
    if (last.number == 0)
        return false;
    const struct jr_holder waits = jr_device_waits(&last);
    jr_holder_print(out, &waits);
    jr_buf_str(out, " waits for some of them, and came earlier");
    return true;
}
