/* How many ranks there are, and on which nodes, as the launchers deal them. */
#include "base/num.h"
#include "cli/translate/flag.h"

#include "base/banned.h"

uint32_t jr_put_count(const struct jr_translator *t, const char *path)
{
    const struct jr_node *node = jr_doc_get(t->to->spec, path);
    uint32_t count;
    return node != NULL && node->kind == JR_NODE_SCALAR &&
                   jr_num_u32(node->text, &count)
               ? count
               : 0;
}

/* How many ranks the first nodes have, and the later ones. */
struct deal {
    uint64_t first, first_nodes, later, later_nodes;
};

static int put_deal(struct jr_translator *t, const struct deal *deal)
{
    const struct jr_given unasked = {.what = NULL};
    enum { MOST = 4096 };
    uint64_t nodes = deal->first_nodes + deal->later_nodes;
    if (nodes > MOST || (deal->later == 0 && deal->later_nodes > 0))
        return jr_error_set(t->err, JR_STATUS_USAGE,
                            "the ranks cannot be distributed over the nodes");
    char **items = jr_arena_array(t->arena, nodes + 1, sizeof *items);
    for (uint64_t i = 0; items != NULL && i < nodes; i++)
        items[i] = jr_arena_printf(
            t->arena, "%u",
            (unsigned)(i < deal->first_nodes ? deal->first : deal->later));
    return jr_put_list(t, &unasked, "local_world_size", items);
}

/* Slots are the most that a node takes: fill one after the other, and leave out
 * the nodes that get nothing. Returns false where there are more ranks than
 * slots. */
static bool fill_host_slots(struct jr_translator *t, uint32_t world)
{
    struct jr_node *slots = jr_doc_get(t->to->spec, "local_world_size");
    struct jr_node *hosts = jr_doc_get(t->to->spec, "hosts");
    uint32_t rest = world, count;
    size_t i = 0;
    for (; i < slots->count && rest > 0; i++) {
        if (!jr_num_u32(slots->items[i]->text, &count))
            return true;
        count = count < rest ? count : rest;
        rest -= count;
        slots->items[i] =
            jr_put_scalar(t, jr_arena_printf(t->arena, "%u", count));
    }
    if (rest > 0) { /* more than the slots: nodes take more than they offer */
        (void)jr_put_drop(t, "local_world_size");
        return false;
    }
    slots->count = i;
    if (hosts != NULL)
        hosts->count = i;
    return true;
}

static int deal_evenly(struct jr_translator *t, uint32_t world, uint32_t nodes)
{
    const struct deal even = {world / nodes + 1, world % nodes, world / nodes,
                              nodes - world % nodes};
    return world % nodes == 0 ? 0 : put_deal(t, &even);
}

int jr_put_sizes(struct jr_translator *t)
{
    uint32_t world = jr_put_count(t, "world_size");
    uint32_t nodes = jr_put_count(t, "nodes");
    uint32_t local = jr_put_count(t, "local_world_size");
    const struct jr_node *stated = jr_doc_get(t->to->spec, "local_world_size");
    if (world == 0)
        return 0;
    if (stated != NULL && stated->kind == JR_NODE_SEQUENCE) {
        uint32_t hosts = (uint32_t)stated->count;
        return fill_host_slots(t, world) ? 0 : deal_evenly(t, world, hosts);
    }
    if (nodes == 0 && local != 0 && world % local != 0) {
        const struct deal filled = {local, world / local, world % local, 1};
        return put_deal(t, &filled);
    }
    if (nodes == 0 || world == (uint64_t)nodes * local)
        return 0;
    if (local != 0)
        jr_note_add(t, JR_VERDICT_CHANGED, jr_put_drop(t, "local_world_size"),
                    "it was a maximum per node; world_size gives the total");
    return deal_evenly(t, world, nodes);
}
