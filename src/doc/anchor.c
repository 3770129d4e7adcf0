#include "doc/anchor.h"

#include <search.h>
#include <string.h>

#include "base/banned.h"

struct anchor {
    const char *name;
    const struct jr_node *node;
};

static int compare_names(const void *a, const void *b)
{
    const struct anchor *left = a, *right = b;
    return strcmp(left->name, right->name);
}

void jr_anchors_add(struct jr_anchors *anchors, struct jr_arena *arena,
                    const char *name, const struct jr_node *node)
{
    if (name == NULL)
        return;
    struct anchor *anchor = jr_arena_alloc(arena, sizeof *anchor);
    char *copy = jr_arena_strdup(arena, name);
    if (anchor == NULL || copy == NULL)
        return;
    anchor->name = copy;
    struct anchor **slot = tsearch(anchor, &anchors->tree, compare_names);
    if (slot == NULL)
        arena->failed = true;
    else
        (*slot)->node = node;
}

const struct jr_node *jr_anchors_find(const struct jr_anchors *anchors,
                                      const char *name)
{
    const struct anchor key = {.name = name};
    struct anchor *const *slot = tfind(&key, &anchors->tree, compare_names);
    return slot == NULL ? NULL : (*slot)->node;
}

/* The anchors live in the arena, the tree's own nodes do not. */
static void keep_anchor(void *anchor)
{
    (void)anchor;
}

void jr_anchors_release(struct jr_anchors *anchors)
{
    tdestroy(anchors->tree, keep_anchor);
    anchors->tree = NULL;
}

static void add_weight(struct jr_weight *sum, const struct jr_node *child)
{
    struct jr_weight part = jr_node_weigh(child);
    sum->nodes += part.nodes;
    sum->bytes += part.bytes;
    if (part.height >= sum->height)
        sum->height = part.height + 1;
}

struct jr_weight jr_node_weigh(const struct jr_node *node)
{
    struct jr_weight sum = {.nodes = 1};
    if (node->kind == JR_NODE_SCALAR) {
        sum.bytes = node->len;
        return sum;
    }
    sum.height = 1;
    for (size_t i = 0; i < node->count; i++) {
        if (node->kind == JR_NODE_SEQUENCE) {
            add_weight(&sum, node->items[i]);
        } else {
            add_weight(&sum, node->pairs[i].key);
            add_weight(&sum, node->pairs[i].value);
        }
    }
    return sum;
}
