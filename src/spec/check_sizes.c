#include "spec/check_sizes.h"

#include <inttypes.h>

#include <jobrun/types.h>

#include "base/num.h"
#include "spec/internal.h"

#include "base/banned.h"

struct sizes {
    struct jr_stated world, nodes, local, model, pipeline, data;
    struct jr_stated spares;    /* besides the nodes; they have hosts, too */
    const struct jr_node *list; /* local_world_size as a list */
    const struct jr_node *hosts;
    bool open; /* an axis of the mesh is stated, but its size is not known */
    /* The world as `world` or else nodes and local ranks give it, in words. */
    struct jr_stated known;
    const char *known_as;
};

/* "model 2", or "model ${vars.m}": a number that was put in is not told. */
static const char *describe_size(const struct jr_check *check, const char *name,
                                 const struct jr_stated *stated)
{
    struct jr_arena *arena = check->lint->arena;
    const char *said;
    if (stated->node->kind == JR_NODE_SEQUENCE)
        said = jr_arena_printf(arena, "%" PRIu64 " hosts", stated->value);
    else
        said = jr_arena_printf(arena, "%s %s", name, jr_lint_said(check->lint, stated->node));
    return said == NULL ? "" : said;
}

static bool is_size_literal(const struct jr_stated *stated)
{
    return stated->node == NULL || stated->node->filled == NULL;
}

static void refuse_overflow(const struct jr_check *check, const struct jr_node *at,
                            const struct jr_node *other, const char *product)
{
    (void)jr_check_clash(check, JR_CODE_TOO_MANY_RANKS, at, other, "%s is more than %u ranks",
                         product, JR_RANKS_MAX);
}

static uint64_t sum_of_sizes(const struct jr_node *list)
{
    uint64_t sum = 0, value = 0;
    for (size_t i = 0; i < list->count; i++)
        if (jr_num_u64(list->items[i]->text, &value))
            sum += value;
    return sum;
}

static bool is_literal_list(const struct jr_node *list)
{
    size_t i = 0;
    while (list != NULL && i < list->count && list->items[i]->filled == NULL)
        i++;
    return list == NULL || i == list->count;
}

/* The other way to the world: nodes and their ranks. */
static struct jr_stated world_of_nodes(const struct jr_check *check, const struct sizes *sizes,
                                       const char **ret_as)
{
    struct jr_arena *arena = check->lint->arena;
    struct jr_stated world = {0};
    if (sizes->list != NULL) {
        world = (struct jr_stated){sizes->list, sum_of_sizes(sizes->list)};
        *ret_as = "the sum of local_world_size";
        if (is_literal_list(sizes->list))
            *ret_as = jr_arena_printf(arena, "local_world_size (%" PRIu64 " in all)", world.value);
    } else if (sizes->nodes.node != NULL && sizes->local.node != NULL) {
        world.node = sizes->local.node;
        world.value = sizes->nodes.value * sizes->local.value;
        *ret_as = jr_arena_printf(arena, "%s x %s", describe_size(check, "nodes", &sizes->nodes),
                                  describe_size(check, "local_world_size", &sizes->local));
    }
    if (world.value > JR_RANKS_MAX && *ret_as != NULL) {
        refuse_overflow(check, world.node, sizes->nodes.node, *ret_as);
        world.node = NULL;
    }
    return world;
}

static void check_multiple(const struct jr_check *check, const struct sizes *sizes,
                           const struct jr_stated *part, const char *name)
{
    uint64_t world = sizes->world.value;
    if (sizes->world.node == NULL || part->node == NULL || world % part->value == 0)
        return;
    struct jr_diag *diag = jr_check_clash(check, JR_CODE_NODES_CONTRADICT_WORLD, part->node,
                                          sizes->world.node, "%s is not a multiple of %s",
                                          describe_size(check, "world_size", &sizes->world),
                                          describe_size(check, name, part));
    jr_diag_help(check->lint->diags, diag,
                 "nodes that differ: local_world_size: [...], one per node");
}

/* Whether no number that comes of nodes and their ranks was put in. */
static bool are_sizes_literal(const struct sizes *sizes)
{
    return is_size_literal(&sizes->nodes) && is_size_literal(&sizes->local) &&
           is_literal_list(sizes->list);
}

/* Nodes and their ranks, as `known`, are not the world that is stated. */
static void refuse_nodes(const struct jr_check *check, const struct sizes *sizes)
{
    struct jr_diag *diag =
        jr_check_clash(check, JR_CODE_NODES_CONTRADICT_WORLD, sizes->known.node, sizes->world.node,
                       "%s is not %s", sizes->known_as == NULL ? "" : sizes->known_as,
                       describe_size(check, "world_size", &sizes->world));
    if (are_sizes_literal(sizes))
        jr_diag_help(check->lint->diags, diag, "leave world_size out, and it is %" PRIu64,
                     sizes->known.value);
    else
        jr_diag_help(check->lint->diags, diag, "leave world_size out");
}

static void check_world_of_nodes(const struct jr_check *check, struct sizes *sizes)
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
        refuse_nodes(check, sizes);
    sizes->known = sizes->world;
    sizes->known_as = describe_size(check, "world_size", &sizes->world);
}

/* "model 2 x pipeline 2", as far as it is stated; "" for nothing. */
static const char *mesh_text(const struct jr_check *check, const struct sizes *sizes)
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
            text = jr_arena_printf(check->lint->arena, "%s%s%s", text, text[0] == '\0' ? "" : " x ",
                                   describe_size(check, axes[i].name, axes[i].stated));
    return text == NULL ? "" : text;
}

/* Whether the world that is known may be told as a number; and what the mesh leaves of it. */
static bool is_told_world(const struct sizes *sizes)
{
    if (sizes->world.node != NULL)
        return is_size_literal(&sizes->world);
    return is_size_literal(&sizes->nodes) && is_size_literal(&sizes->local) &&
           is_literal_list(sizes->list);
}

static bool is_mesh_told(const struct sizes *sizes)
{
    return is_told_world(sizes) && is_size_literal(&sizes->model) &&
           is_size_literal(&sizes->pipeline) && is_size_literal(&sizes->data);
}

/* data is left to be derived: the rest has to divide the world. */
static void check_divides(const struct jr_check *check, const struct sizes *sizes,
                          const struct jr_node *at, uint64_t group)
{
    uint64_t world = sizes->known.value;
    uint64_t below = world - world % group, above = below + group;
    if (world % group == 0)
        return;
    struct jr_diag *diag =
        jr_check_clash(check, JR_CODE_WORLD_SIZE_INDIVISIBLE, at, sizes->known.node,
                       "%s does not divide by %s", sizes->known_as, mesh_text(check, sizes));
    if (!is_mesh_told(sizes))
        return;
    if (below == 0)
        jr_diag_help(check->lint->diags, diag, "the nearest world size that does: %" PRIu64, above);
    else
        jr_diag_help(check->lint->diags, diag, "nearest world sizes that do: %" PRIu64 ", %" PRIu64,
                     below, above);
}

static void refuse_mesh(const struct jr_check *check, const struct sizes *sizes, uint64_t group)
{
    struct jr_diag *diag =
        jr_check_clash(check, JR_CODE_MESH_CONTRADICTS_WORLD, sizes->data.node, sizes->known.node,
                       "%s is not %s", mesh_text(check, sizes), sizes->known_as);
    if (sizes->known.value % group == 0 && is_mesh_told(sizes))
        jr_diag_help(check->lint->diags, diag, "leave data out, and it is %" PRIu64,
                     sizes->known.value / group);
}

static void check_mesh_sizes(const struct jr_check *check, const struct sizes *sizes)
{
    const struct jr_node *at = sizes->model.node;
    uint64_t group = (at == NULL ? 1 : sizes->model.value), mesh;
    if (sizes->pipeline.node != NULL) {
        at = at != NULL ? at : sizes->pipeline.node;
        group *= sizes->pipeline.value;
    }
    if (__builtin_mul_overflow(group, sizes->data.node == NULL ? 1 : sizes->data.value, &mesh) ||
        mesh > JR_RANKS_MAX) {
        refuse_overflow(check, at != NULL ? at : sizes->data.node, NULL, mesh_text(check, sizes));
        return;
    }
    if (sizes->known.node == NULL || sizes->known_as == NULL)
        return;
    if (sizes->data.node == NULL || sizes->open)
        check_divides(check, sizes, at != NULL ? at : sizes->data.node, mesh);
    else if (mesh != sizes->known.value)
        refuse_mesh(check, sizes, group);
}

/* One for each node, and one for each spare; where there are too few, other hosts may be named when
 * it is run. */
static void check_hosts_with_spares(const struct jr_check *check, const struct sizes *sizes)
{
    const struct jr_node *hosts = sizes->hosts;
    const struct jr_stated *nodes = &sizes->nodes, *spares = &sizes->spares;
    if (hosts == NULL || nodes->node == NULL || hosts->count <= nodes->value + spares->value)
        return;
    (void)jr_check_clash(check, JR_CODE_ONE_ENTRY_PER_NODE, hosts, spares->node,
                         "'hosts' has %zu entries, but nodes is %s and spare_nodes %s",
                         hosts->count, jr_lint_said(check->lint, nodes->node),
                         jr_lint_said(check->lint, spares->node));
}

/* Lists with one entry per node. */
static void check_lengths(const struct jr_check *check, const struct sizes *sizes)
{
    const struct {
        const char *name;
        const struct jr_node *list;
    } lists[] = {{"local_world_size", sizes->list},
                 {"hosts", sizes->spares.value > 0 ? NULL : sizes->hosts}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct jr_node *list = lists[i].list, *other = sizes->nodes.node;
        uint64_t nodes = sizes->nodes.value;
        if (other == NULL && list != sizes->list && sizes->list != NULL) {
            other = sizes->list;
            nodes = sizes->list->count;
        }
        if (list == NULL || other == NULL || list->count == nodes)
            continue;
        const char *said = other->kind == JR_NODE_SCALAR
                               ? jr_lint_said(check->lint, other)
                               : jr_arena_printf(check->lint->arena, "%" PRIu64, nodes);
        (void)jr_check_clash(check, JR_CODE_ONE_ENTRY_PER_NODE, list, other,
                             "'%s' has %zu entr%s, but there %s %s node%s", lists[i].name,
                             list->count, list->count == 1 ? "y" : "ies", nodes == 1 ? "is" : "are",
                             said, nodes == 1 ? "" : "s");
    }
}

void jr_check_sizes(const struct jr_check *check)
{
    const struct jr_node *local = jr_doc_get(check->tree, "local_world_size");
    struct sizes sizes = {
        .world = jr_check_number(check, "world_size"),
        .nodes = jr_check_number(check, "nodes"),
        .spares = jr_check_number(check, "spare_nodes"),
        .local = jr_check_number(check, "local_world_size"),
        .model = jr_check_number(check, "parallelism.model"),
        .pipeline = jr_check_number(check, "parallelism.pipeline"),
        .data = jr_check_number(check, "parallelism.data"),
        .hosts = jr_check_node_hosts(check),
    };
    if (local != NULL && local->kind == JR_NODE_SEQUENCE)
        sizes.list = local;
    sizes.open = jr_check_is_open(check, "parallelism.model") ||
                 jr_check_is_open(check, "parallelism.pipeline") ||
                 jr_check_is_open(check, "parallelism.data");
    check_lengths(check, &sizes);
    if (sizes.spares.value > 0)
        check_hosts_with_spares(check, &sizes);
    if (sizes.nodes.node == NULL && sizes.list == NULL && sizes.hosts != NULL)
        sizes.nodes = (struct jr_stated){sizes.hosts, sizes.hosts->count};
    check_world_of_nodes(check, &sizes);
    check_mesh_sizes(check, &sizes);
}
