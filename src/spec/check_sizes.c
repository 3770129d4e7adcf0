/*
 * The numbers that say how many ranks there are.
 *
 *   world_size = nodes x local_world_size = data x model x pipeline
 *
 * Each side may be stated, in part or whole; what can be known of one is held
 * against the others. What cannot be known yet is the resolver's.
 */
#include "check.h"

#include <inttypes.h>

#include "num.h"

#include "banned.h"

struct sizes {
    struct jr_stated world, nodes, local, model, pipeline, data;
    const struct jr_node *list; /* local_world_size as a list */
    const struct jr_node *hosts;
    /* The world as `world` or else nodes and local ranks give it, in words. */
    struct jr_stated known;
    const char *known_as;
};

static void refuse_overflow(const struct jr_check *check,
                            const struct jr_node *at,
                            const struct jr_node *other, const char *product)
{
    (void)jr_check_clash(check, 315, at, other, "%s is more than %u ranks",
                         product, UINT32_MAX);
}

static uint64_t sum_of(const struct jr_node *list)
{
    uint64_t sum = 0, value = 0;
    for (size_t i = 0; i < list->count; i++)
        if (jr_num_u64(list->items[i]->text, &value))
            sum += value;
    return sum;
}

/* The other way to the world: nodes and their ranks. */
static struct jr_stated world_of_nodes(const struct jr_check *check,
                                       const struct sizes *sizes,
                                       const char **ret_as)
{
    struct jr_arena *arena = check->lint->arena;
    struct jr_stated world = {0};
    if (sizes->list != NULL) {
        world = (struct jr_stated){sizes->list, sum_of(sizes->list)};
        *ret_as = jr_arena_printf(
            arena, "local_world_size (%" PRIu64 " in all)", world.value);
    } else if (sizes->nodes.node != NULL && sizes->local.node != NULL) {
        world.node = sizes->local.node;
        world.value = sizes->nodes.value * sizes->local.value;
        *ret_as = jr_arena_printf(
            arena, "nodes %" PRIu64 " x local_world_size %" PRIu64,
            sizes->nodes.value, sizes->local.value);
    }
    if (world.value > UINT32_MAX && *ret_as != NULL) {
        refuse_overflow(check, world.node, sizes->nodes.node, *ret_as);
        world.node = NULL;
    }
    return world;
}

static void check_multiple(const struct jr_check *check,
                           const struct sizes *sizes,
                           const struct jr_stated *part, const char *name)
{
    uint64_t world = sizes->world.value;
    if (sizes->world.node == NULL || part->node == NULL ||
        world % part->value == 0)
        return;
    struct jr_diag *diag =
        jr_check_clash(check, 312, part->node, sizes->world.node,
                       "world_size %" PRIu64 " is no multiple of %s %" PRIu64,
                       world, name, part->value);
    jr_diag_help(check->lint->diags, diag,
                 "nodes that differ: local_world_size: [...], one per node");
}

static void check_nodes(const struct jr_check *check, struct sizes *sizes)
{
    const char *as = NULL;
    struct jr_stated nodes = world_of_nodes(check, sizes, &as);
    if (nodes.node == NULL && as == NULL && sizes->list == NULL) {
        check_multiple(check, sizes, &sizes->nodes, "nodes");
        check_multiple(check, sizes, &sizes->local, "local_world_size");
    }
    sizes->known = nodes;
    sizes->known_as = as;
    if (sizes->world.node == NULL)
        return;
    if (nodes.node != NULL && nodes.value != sizes->world.value)
        jr_diag_help(check->lint->diags,
                     jr_check_clash(check, 312, nodes.node, sizes->world.node,
                                    "%s is not world_size %" PRIu64,
                                    as == NULL ? "" : as, sizes->world.value),
                     "leave world_size out, and it is %" PRIu64, nodes.value);
    sizes->known = sizes->world;
    sizes->known_as = jr_arena_printf(check->lint->arena, "world_size %" PRIu64,
                                      sizes->world.value);
}

/* "model 2 x pipeline 2", as far as it is stated; "" for nothing. */
static const char *mesh_text(const struct jr_check *check,
                             const struct sizes *sizes)
{
    const struct {
        const char *name;
        const struct jr_stated *stated;
    } axes[] = {
        {"data", &sizes->data},
        {"model", &sizes->model},
        {"pipeline", &sizes->pipeline},
    };
    const char *text = "";
    for (size_t i = 0; i < sizeof axes / sizeof *axes && text != NULL; i++)
        if (axes[i].stated->node != NULL)
            text = jr_arena_printf(check->lint->arena, "%s%s%s %" PRIu64, text,
                                   text[0] == '\0' ? "" : " x ", axes[i].name,
                                   axes[i].stated->value);
    return text == NULL ? "" : text;
}

/* data is left to be derived: the rest has to divide the world. */
static void check_divides(const struct jr_check *check,
                          const struct sizes *sizes, const struct jr_node *at,
                          uint64_t group)
{
    uint64_t world = sizes->known.value;
    uint64_t below = world - world % group, above = below + group;
    if (world % group == 0)
        return;
    struct jr_diag *diag = jr_check_clash(
        check, 310, at, sizes->known.node, "%s does not divide by %s",
        sizes->known_as, mesh_text(check, sizes));
    if (below == 0)
        jr_diag_help(check->lint->diags, diag,
                     "the nearest world size that does: %" PRIu64, above);
    else
        jr_diag_help(check->lint->diags, diag,
                     "nearest world sizes that do: %" PRIu64 ", %" PRIu64,
                     below, above);
}

static void refuse_mesh(const struct jr_check *check, const struct sizes *sizes,
                        uint64_t group)
{
    struct jr_diag *diag = jr_check_clash(
        check, 311, sizes->data.node, sizes->known.node, "%s is not %s",
        mesh_text(check, sizes), sizes->known_as);
    if (sizes->known.value % group == 0)
        jr_diag_help(check->lint->diags, diag,
                     "leave data out, and it is %" PRIu64,
                     sizes->known.value / group);
}

static void check_mesh(const struct jr_check *check, const struct sizes *sizes)
{
    const struct jr_node *at = sizes->model.node;
    uint64_t group = (at == NULL ? 1 : sizes->model.value), mesh;
    if (sizes->pipeline.node != NULL) {
        at = at != NULL ? at : sizes->pipeline.node;
        group *= sizes->pipeline.value;
    }
    if (__builtin_mul_overflow(
            group, sizes->data.node == NULL ? 1 : sizes->data.value, &mesh) ||
        mesh > UINT32_MAX) {
        refuse_overflow(check, at != NULL ? at : sizes->data.node, NULL,
                        mesh_text(check, sizes));
        return;
    }
    if (sizes->known.node == NULL || sizes->known_as == NULL)
        return;
    if (sizes->data.node == NULL)
        check_divides(check, sizes, at, group);
    else if (mesh != sizes->known.value)
        refuse_mesh(check, sizes, group);
}

/* Lists with one entry per node. */
static void check_lengths(const struct jr_check *check,
                          const struct sizes *sizes)
{
    const struct {
        const char *name;
        const struct jr_node *list;
    } lists[] = {{"local_world_size", sizes->list}, {"hosts", sizes->hosts}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct jr_node *list = lists[i].list, *other = sizes->nodes.node;
        uint64_t nodes = sizes->nodes.value;
        if (other == NULL && list != sizes->list && sizes->list != NULL) {
            other = sizes->list;
            nodes = sizes->list->count;
        }
        if (list == NULL || other == NULL || list->count == nodes)
            continue;
        (void)jr_check_clash(
            check, 313, list, other,
            "'%s' has %zu entr%s, but there %s %" PRIu64 " node%s",
            lists[i].name, list->count, list->count == 1 ? "y" : "ies",
            nodes == 1 ? "is" : "are", nodes, nodes == 1 ? "" : "s");
    }
}

/* node_rank and rank_start count from 0 to below what they count. */
static void check_below(const struct jr_check *check, const char *path,
                        const struct jr_stated *most, const char *what)
{
    struct jr_stated index = jr_check_number(check, path);
    if (index.node == NULL || most->node == NULL || index.value < most->value)
        return;
    struct jr_diag *diag = jr_check_clash(
        check, 314, index.node, most->node,
        "%s %" PRIu64 " is beyond the last of %" PRIu64 " %s%s", path,
        index.value, most->value, what, most->value == 1 ? "" : "s");
    jr_diag_help(check->lint->diags, diag,
                 "%ss count from 0: the last is %" PRIu64, what,
                 most->value - 1);
}

void jr_check_sizes(const struct jr_check *check)
{
    const struct jr_node *local = jr_doc_get(check->tree, "local_world_size");
    struct sizes sizes = {
        .world = jr_check_number(check, "world_size"),
        .nodes = jr_check_number(check, "nodes"),
        .local = jr_check_number(check, "local_world_size"),
        .model = jr_check_number(check, "parallelism.model"),
        .pipeline = jr_check_number(check, "parallelism.pipeline"),
        .data = jr_check_number(check, "parallelism.data"),
        .hosts = jr_doc_get(check->tree, "hosts"),
    };
    if (local != NULL && local->kind == JR_NODE_SEQUENCE)
        sizes.list = local;
    check_lengths(check, &sizes);
    check_nodes(check, &sizes);
    check_mesh(check, &sizes);
    struct jr_stated nodes = sizes.nodes;
    const struct jr_node *list = sizes.list != NULL ? sizes.list : sizes.hosts;
    if (nodes.node == NULL && list != NULL)
        nodes = (struct jr_stated){list, list->count};
    check_below(check, "node_rank", &nodes, "node");
    check_below(check, "rank_start", &sizes.known, "rank");
}
