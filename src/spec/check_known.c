/*
 * How many ranks and nodes there are, as far as the spec alone decides it. If
 * it states a value in two ways, the first is used here; check_sizes.c reports
 * that the two do not agree.
 */
#include "spec/check.h"

#include <inttypes.h>
#include <string.h>

#include "base/num.h"

#include "base/banned.h"

static bool is_missing_word(const struct jr_node *node)
{
    return node->kind == JR_NODE_SCALAR &&
           (jr_scalar_type(node) == JR_SCALAR_NULL ||
            strcmp(node->text, "auto") == 0 || strcmp(node->text, "???") == 0);
}

bool jr_check_is_open(const struct jr_check *check, const char *path)
{
    const struct jr_node *raw = jr_check_raw(check, path);
    const char *dot = strchr(path, '.');
    if (raw != NULL)
        return !is_missing_word(raw) && jr_doc_find(check->tree, path) == NULL;
    if (dot == NULL)
        return false;
    const char *group =
        jr_arena_strndup(check->lint->arena, path, (size_t)(dot - path));
    return group == NULL || jr_check_is_open(check, group);
}

static bool is_list_told(const struct jr_node *node)
{
    bool list = node->kind == JR_NODE_SEQUENCE;
    for (size_t i = 0; list && i < node->count; i++)
        if (node->items[i]->filled != NULL)
            return false;
    return list || node->filled == NULL;
}

/* "model 2", or "model ${vars.m}": a number that was put in is not told. */
static const char *describe_number(const struct jr_check *check,
                                   const char *name, const struct jr_node *node)
{
    const char *said = jr_arena_printf(check->lint->arena, "%s %s", name,
                                       jr_lint_said(check->lint, node));
    return said == NULL ? "" : said;
}

static struct jr_known stated_known(const struct jr_check *check,
                                    const char *path)
{
    struct jr_stated number = jr_check_number(check, path);
    struct jr_known known = {.node = number.node, .value = number.value};
    if (known.node == NULL)
        return known;
    known.told = is_list_told(known.node);
    known.said = describe_number(check, path, known.node);
    return known;
}

static struct jr_known counted_known(const struct jr_node *list,
                                     const char *said)
{
    return (struct jr_known){list, list->count, said, true};
}

/* The sum of local_world_size as a list, or the largest of it. */
static struct jr_known sum_or_largest_known(const struct jr_node *list,
                                            bool sum)
{
    struct jr_known known = {.node = list,
                             .said = sum ? "the sum of local_world_size"
                                         : "local_world_size",
                             .told = is_list_told(list)};
    for (size_t i = 0; i < list->count; i++) {
        uint64_t value = 0;
        (void)jr_num_u64(list->items[i]->text, &value);
        if (sum)
            known.value += value;
        else if (value > known.value)
            known.value = value;
    }
    return known;
}

/* A value that follows from two others, and is reported at `at`. */
static struct jr_known derived_known(const struct jr_check *check,
                                     const struct jr_known *at,
                                     const struct jr_known *other,
                                     uint64_t value, const char *sign)
{
    const char *said = jr_arena_printf(check->lint->arena, "%s %s %s", at->said,
                                       sign, other->said);
    return (struct jr_known){.node = at->node,
                             .value = value,
                             .said = said == NULL ? "" : said,
                             .told = at->told && other->told};
}

/* The mesh as a world, where all three of its axes are known. */
static struct jr_known world_of_mesh(const struct jr_check *check)
{
    struct jr_known world = stated_known(check, "parallelism.data");
    static const char *const paths[] = {"parallelism.model",
                                        "parallelism.pipeline"};
    for (size_t i = 0; i < 2 && world.node != NULL; i++) {
        struct jr_known axis = stated_known(check, paths[i]);
        if (jr_check_is_open(check, paths[i]))
            return (struct jr_known){0};
        if (axis.node != NULL && world.value <= UINT32_MAX)
            world = derived_known(check, &world, &axis,
                                  world.value * axis.value, "x");
    }
    return world.value > UINT32_MAX ? (struct jr_known){0} : world;
}

static void derive_sizes(const struct jr_check *check, struct jr_sizes *sizes)
{
    const struct jr_known *world = &sizes->world;
    const struct jr_known *nodes = &sizes->nodes, *local = &sizes->local;
    if (nodes->node == NULL && world->node != NULL && local->node != NULL &&
        world->value % local->value == 0)
        sizes->nodes = derived_known(check, world, local,
                                     world->value / local->value, "/");
    else if (local->node == NULL && world->node != NULL &&
             nodes->node != NULL && world->value % nodes->value == 0)
        sizes->local = derived_known(check, world, nodes,
                                     world->value / nodes->value, "/");
    else if (world->node == NULL && nodes->node != NULL &&
             local->node != NULL && nodes->value <= UINT32_MAX / local->value)
        sizes->world = derived_known(check, local, nodes,
                                     nodes->value * local->value, "x");
}

struct jr_sizes jr_check_known(const struct jr_check *check)
{
    const struct jr_node *local = jr_doc_get(check->tree, "local_world_size");
    const struct jr_node *hosts = jr_doc_get(check->tree, "hosts");
    struct jr_sizes sizes = {.world = stated_known(check, "world_size"),
                             .nodes = stated_known(check, "nodes")};
    if (local != NULL && local->kind == JR_NODE_SEQUENCE) {
        sizes.list = local;
        sizes.local = sum_or_largest_known(local, false);
    } else {
        sizes.local = stated_known(check, "local_world_size");
    }
    if (sizes.nodes.node == NULL && local != NULL && local == sizes.list)
        sizes.nodes = counted_known(local, "the entries of local_world_size");
    else if (sizes.nodes.node == NULL && hosts != NULL)
        sizes.nodes = counted_known(hosts, "the entries of hosts");
    if (sizes.world.node == NULL && sizes.list != NULL)
        sizes.world = sum_or_largest_known(sizes.list, true);
    else if (sizes.world.node == NULL)
        sizes.world = world_of_mesh(check);
    derive_sizes(check, &sizes);
    return sizes;
}

const char *jr_check_amount(const struct jr_check *check,
                            const struct jr_known *known, const char *what)
{
    const char *said = known->said;
    if (known->told)
        said =
            jr_arena_printf(check->lint->arena, "%" PRIu64 " %s%s",
                            known->value, what, known->value == 1 ? "" : "s");
    return said == NULL ? "" : said;
}

const struct jr_known *jr_check_most(const struct jr_sizes *sizes)
{
    return sizes->local.node != NULL ? &sizes->local : &sizes->world;
}

const char *jr_check_say_most(const struct jr_check *check,
                              const struct jr_sizes *sizes)
{
    bool local = sizes->local.node != NULL;
    const char *said = jr_arena_printf(
        check->lint->arena, "%s %s", local ? "a node has" : "the whole job has",
        jr_check_amount(check, jr_check_most(sizes),
                        local ? "local rank" : "rank"));
    return said == NULL ? "" : said;
}
