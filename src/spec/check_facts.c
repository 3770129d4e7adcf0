/*
 * What the rules of internal.h ask: what the spec states, where a contradiction is, and how many
 * ranks and nodes there are. The rule on these numbers stands here, too:
 *
 *   world_size = nodes x local_world_size = data x model x pipeline
 *
 * Each side may be stated, in part or whole; what can be known of one is held against the others.
 * What cannot be known yet is the resolver's.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <jobrun/types.h>

#include "base/num.h"
#include "base/setting_words.h"
#include "spec/internal.h"

#include "base/banned.h"

const char *jr_check_text(const struct jr_check *check, const char *path)
{
    const struct jr_node *node = jr_doc_find(check->tree, path);
    return node != NULL && node->kind == JR_NODE_SCALAR ? node->text : NULL;
}

const struct jr_node *jr_check_raw(const struct jr_check *check, const char *path)
{
    const struct jr_node *node = jr_doc_find(check->root, path);
    return node != NULL && jr_lint_is_removed(check->lint, node) ? NULL : node;
}

bool jr_check_is_open(const struct jr_check *check, const char *path)
{
    const struct jr_node *raw = jr_check_raw(check, path);
    const char *dot = strchr(path, '.');
    if (raw != NULL) {
        bool missing = raw->kind == JR_NODE_SCALAR &&
                       (jr_scalar_type(raw) == JR_SCALAR_NULL || strcmp(raw->text, "auto") == 0 ||
                        strcmp(raw->text, "???") == 0);
        return !missing && jr_doc_find(check->tree, path) == NULL;
    }
    if (dot == NULL)
        return false;
    const char *group = jr_arena_strndup(check->lint->arena, path, (size_t)(dot - path));
    return group == NULL || jr_check_is_open(check, group);
}

/* Report at the node `at`, which is somewhere below `in`; NULL: it is not. */
static struct jr_diag *report_below(struct jr_lint *lint, enum jr_diag_code code,
                                    const struct jr_node *at, const char *text,
                                    const struct jr_node *in, const struct jr_node_step *up)
{
    struct jr_diag *diag = NULL;
    for (size_t i = 0; diag == NULL && in->kind != JR_NODE_SCALAR && i < in->count; i++) {
        const struct jr_node *key = in->kind == JR_NODE_MAPPING ? in->pairs[i].key : NULL;
        const struct jr_node *value = key != NULL ? in->pairs[i].value : in->items[i];
        const struct jr_node_step step = {
            .up = up, .key = key != NULL ? key->text : NULL, .index = i};
        diag = key == at || value == at ? jr_lint_error(lint, code, at->span, &step, "%s", text)
                                        : report_below(lint, code, at, text, value, &step);
    }
    return diag;
}

struct jr_diag *jr_check_clash(const struct jr_check *check, enum jr_diag_code code,
                               const struct jr_node *at, const struct jr_node *other,
                               const char *format, ...)
{
    enum { MOST_PLACED = 1000 }; /* findings beyond it are not kept (diag.c), and need no path */
    struct jr_diags *diags = check->lint->diags;
    struct jr_diag *diag = NULL;
    char text[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (diags->errors <= MOST_PLACED)
        diag = report_below(check->lint, code, at, text, check->tree, NULL);
    if (diag == NULL && diags->errors <= MOST_PLACED)
        diag = report_below(check->lint, code, at, text, check->root, NULL);
    if (diag == NULL)
        diag = jr_lint_error(check->lint, code, at->span, NULL, "%s", text);
    if (other != NULL && other->span.line != 0)
        jr_diag_relate(diags, diag, other->span, "stated here");
    else
        jr_lint_relate_origin(check->lint, diag, at);
    return diag;
}

/* Numbers as they are stated, or follow from others. What was put in by ${...} is not told. */

static const char *said_text(const char *text)
{
    return text == NULL ? "" : text;
}

/* The number at a path, which is called `name`. */
static struct jr_known stated_number(const struct jr_check *check, const char *path,
                                     const char *name)
{
    struct jr_known known = {0};
    const struct jr_node *node = jr_doc_find(check->tree, path);
    if (node == NULL || node->kind != JR_NODE_SCALAR || !jr_num_u64(node->text, &known.value))
        return known;
    known.node = node;
    known.told = node->filled == NULL;
    known.said = said_text(
        jr_arena_printf(check->lint->arena, "%s %s", name, jr_lint_said(check->lint, node)));
    return known;
}

struct jr_known jr_check_number(const struct jr_check *check, const char *path)
{
    return stated_number(check, path, path);
}

/* A value that follows from two others, and is reported at `at`. */
static struct jr_known derived_number(const struct jr_check *check, const struct jr_known *at,
                                      const struct jr_known *other, uint64_t value,
                                      const char *sign)
{
    const char *said = jr_arena_printf(check->lint->arena, "%s %s %s", at->said, sign, other->said);
    return (struct jr_known){at->node, value, said_text(said), at->told && other->told};
}

/* The sum of local_world_size as a list, and the largest of it. */
static struct jr_known sum_of_list(const struct jr_node *list, uint64_t *ret_largest)
{
    struct jr_known sum = {list, 0, "the sum of local_world_size", true};
    *ret_largest = 0;
    for (size_t i = 0; i < list->count; i++) {
        uint64_t value = 0;
        (void)jr_num_u64(list->items[i]->text, &value);
        sum.value += value;
        *ret_largest = value > *ret_largest ? value : *ret_largest;
        sum.told = sum.told && list->items[i]->filled == NULL;
    }
    return sum;
}

/* The mesh as a world, where all three of its axes are known. */
static struct jr_known world_of_mesh(const struct jr_check *check)
{
    static const char *const paths[] = {"parallelism.model", "parallelism.pipeline"};
    struct jr_known world = jr_check_number(check, "parallelism.data");
    for (size_t i = 0; i < 2 && world.node != NULL; i++) {
        struct jr_known axis = jr_check_number(check, paths[i]);
        if (jr_check_is_open(check, paths[i]))
            return (struct jr_known){0};
        if (axis.node != NULL && world.value <= UINT32_MAX)
            world = derived_number(check, &world, &axis, world.value * axis.value, "x");
    }
    return world.value > UINT32_MAX ? (struct jr_known){0} : world;
}

const struct jr_node *jr_check_node_hosts(const struct jr_check *check)
{
    bool pooled = check->lint->pools && jr_doc_find(check->tree, "engine.ssh") != NULL;
    return pooled ? NULL : jr_doc_get(check->tree, "hosts");
}

/* If the spec states a value in two ways, the first is used here: jr_check_sizes reports that the
 * two do not agree. */
struct jr_sizes jr_check_known(const struct jr_check *check)
{
    const struct jr_node *list = jr_doc_get(check->tree, "local_world_size");
    const struct jr_node *hosts = jr_check_node_hosts(check);
    struct jr_known world = jr_check_number(check, "world_size");
    struct jr_known nodes = jr_check_number(check, "nodes");
    struct jr_known local = jr_check_number(check, "local_world_size");
    if (list != NULL && list->kind != JR_NODE_SEQUENCE)
        list = NULL;
    if (list != NULL) {
        struct jr_known sum = sum_of_list(list, &local.value);
        local = (struct jr_known){list, local.value, "local_world_size", sum.told};
        world = world.node == NULL ? sum : world;
    } else if (world.node == NULL) {
        world = world_of_mesh(check);
    }
    if (nodes.node == NULL && list != NULL)
        nodes = (struct jr_known){list, list->count, "the entries of local_world_size", true};
    else if (nodes.node == NULL && hosts != NULL)
        nodes = (struct jr_known){hosts, hosts->count, "the entries of hosts", true};
    if (nodes.node == NULL && world.node != NULL && local.node != NULL &&
        world.value % local.value == 0)
        nodes = derived_number(check, &world, &local, world.value / local.value, "/");
    else if (local.node == NULL && world.node != NULL && nodes.node != NULL &&
             world.value % nodes.value == 0)
        local = derived_number(check, &world, &nodes, world.value / nodes.value, "/");
    else if (world.node == NULL && nodes.node != NULL && local.node != NULL &&
             nodes.value <= UINT32_MAX / local.value)
        world = derived_number(check, &local, &nodes, nodes.value * local.value, "x");
    return (struct jr_sizes){.world = world, .nodes = nodes, .local = local, .list = list};
}

const char *jr_check_amount(const struct jr_check *check, const struct jr_known *known,
                            const char *what)
{
    if (!known->told)
        return said_text(known->said);
    return said_text(jr_arena_printf(check->lint->arena, "%" PRIu64 " %s%s", known->value, what,
                                     known->value == 1 ? "" : "s"));
}

const struct jr_known *jr_check_most(const struct jr_sizes *sizes)
{
    return sizes->local.node != NULL ? &sizes->local : &sizes->world;
}

const char *jr_check_say_most(const struct jr_check *check, const struct jr_sizes *sizes)
{
    bool local = sizes->local.node != NULL;
    return said_text(jr_arena_printf(
        check->lint->arena, "%s %s", local ? "a node has" : "the whole job has",
        jr_check_amount(check, jr_check_most(sizes), local ? "local rank" : "rank")));
}

/* The rule on them. */

static void refuse_overflow(const struct jr_check *check, const struct jr_node *at,
                            const struct jr_node *other, const char *product)
{
    (void)jr_check_clash(check, JR_CODE_TOO_MANY_RANKS, at, other, "%s is more than %u ranks",
                         product, JR_RANKS_MAX);
}

/* Nodes that differ have a list of sizes, of which this is one that fits: as even as can be over
 * `part` nodes, or of nodes with `part` ranks and what is left. */
static void help_with_list(struct jr_lint *lint, struct jr_diag *diag, uint64_t world,
                           uint64_t part, bool nodes)
{
    enum { LONGEST = 8 };
    struct jr_buf list JR_BUF_CLEANUP = JR_BUF_INIT;
    uint64_t count = nodes ? part : (world - 1) / part + 1;
    if (nodes && world < part) {
        jr_diag_help(lint->diags, diag,
                     "each node has at least 1 rank: at most " JR_SETTING("nodes", "%" PRIu64),
                     world);
        return;
    }
    for (uint64_t i = 0; i < count && count <= LONGEST; i++) {
        uint64_t size = nodes              ? world / part + (i < world % part)
                        : i < world / part ? part
                                           : world % part;
        jr_buf_printf(&list, "%s%" PRIu64, i == 0 ? "" : ", ", size);
    }
    if (!list.failed)
        jr_diag_help(lint->diags, diag,
                     "nodes that differ: " JR_SETTING("local_world_size", "[%s]") "%s",
                     list.len == 0 ? "..." : list.data, list.len == 0 ? ", one per node" : "");
}

static void check_multiple(const struct jr_check *check, const struct jr_known *world,
                           const struct jr_known *part, bool nodes)
{
    if (world->node == NULL || part->node == NULL || world->value % part->value == 0)
        return;
    struct jr_diag *diag =
        jr_check_clash(check, JR_CODE_NODES_CONTRADICT_WORLD, part->node, world->node,
                       "%s is not a multiple of %s", world->said, part->said);
    if (world->told && part->told)
        help_with_list(check->lint, diag, world->value, part->value, nodes);
    else
        jr_diag_help(
            check->lint->diags, diag,
            "nodes that differ: " JR_SETTING("local_world_size", "[...]") ", one per node");
}

/* The world that is stated held against nodes and their ranks, which are the other way to it.
 * Returns the one that counts. */
static struct jr_known check_world(const struct jr_check *check, const struct jr_known *nodes,
                                   const struct jr_known *local, const struct jr_node *list)
{
    struct jr_known world = jr_check_number(check, "world_size"), known = {0};
    uint64_t largest;
    if (list != NULL) {
        known = sum_of_list(list, &largest);
        if (known.told)
            known.said = said_text(jr_arena_printf(
                check->lint->arena, "local_world_size (%" PRIu64 " in all)", known.value));
        known.told = known.told && (nodes->node == NULL || nodes->told);
    } else if (nodes->node != NULL && local->node != NULL) {
        known = derived_number(check, nodes, local, nodes->value * local->value, "x");
        known.node = local->node;
    } else {
        check_multiple(check, &world, nodes, true);
        check_multiple(check, &world, local, false);
    }
    if (known.node != NULL && known.value > JR_RANKS_MAX) {
        refuse_overflow(check, known.node, nodes->node, known.said);
        known.node = NULL;
    }
    if (world.node == NULL || known.node == NULL || known.value == world.value)
        return world.node == NULL ? known : world;
    struct jr_diag *diag = jr_check_clash(check, JR_CODE_NODES_CONTRADICT_WORLD, known.node,
                                          world.node, "%s is not %s", known.said, world.said);
    if (known.told)
        jr_diag_help(check->lint->diags, diag, "leave world_size out, and it is %" PRIu64,
                     known.value);
    else
        jr_diag_help(check->lint->diags, diag, "leave world_size out");
    return world;
}

/* The mesh held against the world that is known. */
static void check_mesh(const struct jr_check *check, const struct jr_known *world)
{
    struct jr_known data = stated_number(check, "parallelism.data", "data");
    struct jr_known model = stated_number(check, "parallelism.model", "model");
    struct jr_known pipeline = stated_number(check, "parallelism.pipeline", "pipeline");
    const struct jr_known *const axes[] = {&data, &model, &pipeline};
    const struct jr_node *at = model.node != NULL      ? model.node
                               : pipeline.node != NULL ? pipeline.node
                                                       : data.node;
    struct jr_diags *diags = check->lint->diags;
    const char *said = "";
    uint64_t mesh = 1;
    bool over = false, told = world->told;
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        if (axes[i]->node == NULL)
            continue;
        over |= __builtin_mul_overflow(mesh, axes[i]->value, &mesh);
        told = told && axes[i]->told;
        said = said_text(jr_arena_printf(check->lint->arena, "%s%s%s", said,
                                         said[0] == '\0' ? "" : " x ", axes[i]->said));
    }
    if (over || mesh > JR_RANKS_MAX) {
        refuse_overflow(check, at, NULL, said);
        return;
    }
    if (world->node == NULL)
        return;
    bool open = data.node == NULL || jr_check_is_open(check, "parallelism.model") ||
                jr_check_is_open(check, "parallelism.pipeline") ||
                jr_check_is_open(check, "parallelism.data");
    struct jr_diag *diag;
    if (open && world->value % mesh != 0) {
        uint64_t below = world->value - world->value % mesh;
        diag = jr_check_clash(check, JR_CODE_WORLD_SIZE_INDIVISIBLE, at, world->node,
                              "%s does not divide by %s", world->said, said);
        if (told && below == 0)
            jr_diag_help(diags, diag, "the nearest world size that does: %" PRIu64, mesh);
        else if (told)
            jr_diag_help(diags, diag, "nearest world sizes that do: %" PRIu64 ", %" PRIu64, below,
                         below + mesh);
    } else if (!open && mesh != world->value) {
        uint64_t group = mesh / data.value;
        diag = jr_check_clash(check, JR_CODE_MESH_CONTRADICTS_WORLD, data.node, world->node,
                              "%s is not %s", said, world->said);
        if (told && world->value % group == 0)
            jr_diag_help(diags, diag, "leave data out, and it is %" PRIu64, world->value / group);
    }
}

/* Lists with one entry per node. */
static void check_lengths(const struct jr_check *check, const struct jr_known *nodes,
                          const struct jr_node *list, const struct jr_node *hosts)
{
    const struct jr_known spares = jr_check_number(check, "spare_nodes");
    const struct {
        const char *name;
        const struct jr_node *list, *other;
        uint64_t count;
    } lists[] = {
        {"local_world_size", list, nodes->node, nodes->value},
        {"hosts", spares.value > 0 ? NULL : hosts, nodes->node != NULL ? nodes->node : list,
         nodes->node != NULL || list == NULL ? nodes->value : list->count},
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct jr_node *entries = lists[i].list, *other = lists[i].other;
        bool one = lists[i].count == 1;
        if (entries == NULL || other == NULL || entries->count == lists[i].count)
            continue;
        const char *said = other->kind == JR_NODE_SCALAR
                               ? jr_lint_said(check->lint, other)
                               : jr_arena_printf(check->lint->arena, "%" PRIu64, lists[i].count);
        (void)jr_check_clash(check, JR_CODE_ONE_ENTRY_PER_NODE, entries, other,
                             "'%s' has %zu entr%s, but there %s %s node%s", lists[i].name,
                             entries->count, entries->count == 1 ? "y" : "ies", one ? "is" : "are",
                             said, one ? "" : "s");
    }
    /* one for each node, and one for each spare; where there are too few, other hosts may be named
     * when it is run */
    if (spares.value > 0 && hosts != NULL && nodes->node != NULL &&
        hosts->count > nodes->value + spares.value)
        (void)jr_check_clash(check, JR_CODE_ONE_ENTRY_PER_NODE, hosts, spares.node,
                             "'hosts' has %zu entries, but nodes is %s and spare_nodes %s",
                             hosts->count, jr_lint_said(check->lint, nodes->node),
                             jr_lint_said(check->lint, spares.node));
}

void jr_check_sizes(const struct jr_check *check)
{
    const struct jr_node *list = jr_doc_get(check->tree, "local_world_size");
    const struct jr_node *hosts = jr_check_node_hosts(check);
    struct jr_known nodes = jr_check_number(check, "nodes");
    struct jr_known local = jr_check_number(check, "local_world_size");
    if (list != NULL && list->kind != JR_NODE_SEQUENCE)
        list = NULL;
    check_lengths(check, &nodes, list, hosts);
    if (nodes.node == NULL && list == NULL && hosts != NULL) {
        const char *said = jr_arena_printf(check->lint->arena, "%zu hosts", hosts->count);
        nodes = (struct jr_known){hosts, hosts->count, said_text(said), hosts->filled == NULL};
    }
    struct jr_known world = check_world(check, &nodes, &local, list);
    check_mesh(check, &world);
}
