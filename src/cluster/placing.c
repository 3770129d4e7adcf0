#include "cluster/placing.h"

#include <string.h>

#include "base/banned.h"

int jr_placing_make(struct jr_placing *ret, struct jr_arena *arena, char *const *hosts,
                    uint32_t nodes, uint32_t spares)
{
    size_t count = (size_t)nodes + spares;
    *ret = (struct jr_placing){
        .arena = arena,
        .nodes = nodes,
        .spares = spares,
        .hosts = jr_arena_array(arena, count, sizeof *ret->hosts),
        .machines = jr_arena_array(arena, count, sizeof *ret->machines),
        .left_out = jr_arena_array(arena, count, sizeof *ret->left_out),
    };
    if (arena->failed)
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        ret->hosts[i] = jr_arena_strdup(arena, hosts[i]);
        ret->machines[i] = i;
    }
    return arena->failed ? -1 : 0;
}

/* Close the gap that a spare leaves. */
static void remove_spare(struct jr_placing *placing, uint32_t index)
{
    uint32_t last = placing->nodes + --placing->spares;
    for (uint32_t i = index; i < last; i++) {
        placing->hosts[i] = placing->hosts[i + 1];
        placing->machines[i] = placing->machines[i + 1];
    }
}

int jr_placing_leave_out(struct jr_placing *placing, uint32_t index, const char *why)
{
    uint32_t spare = placing->nodes;
    const char *reason = jr_arena_strdup(placing->arena, why);
    if (placing->spares == 0 || reason == NULL)
        return -1;
    placing->left_out[placing->left_out_count++] =
        (struct jr_lost_machine){placing->hosts[index], reason};
    if (index >= spare) {
        remove_spare(placing, index);
        return 0;
    }
    placing->hosts[index] = placing->hosts[spare];
    placing->machines[index] = placing->machines[spare];
    remove_spare(placing, spare);
    return 0;
}

uint32_t jr_placing_task(const struct jr_placing *placing, uint32_t node)
{
    uint32_t before = 0;
    for (uint32_t i = 0; i < placing->nodes; i++)
        before += placing->machines[i] < placing->machines[node];
    return before;
}
