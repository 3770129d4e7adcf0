#include "resolve/tree_diff.h"

#include <string.h>

#include "doc/key.h"

#include "base/banned.h"

static void compare_nodes(struct jr_changes *to, const char *path,
                          const struct jr_node *a, const struct jr_node *b);

static bool is_node_kind(const struct jr_node *node, enum jr_node_kind kind)
{
    return node != NULL && node->kind == kind;
}

/* Whether a path leads to what a function is called with, or into it. */
static bool is_argument(const char *path)
{
    static const char *const owners[] = {"entrypoint.", "per_rank."};
    size_t len = strlen(owners[0]);
    if (strncmp(path, owners[1], strlen(owners[1])) == 0)
        len = strlen(owners[1]) + strcspn(path + strlen(owners[1]), ".") + 1;
    else if (strncmp(path, owners[0], len) != 0)
        return false;
    return strlen(path) > len && (strncmp(path + len, "args[", 5) == 0 ||
                                  strncmp(path + len, "kwargs.", 7) == 0);
}

static bool same_scalar(const struct jr_node *a, const struct jr_node *b,
                        bool argument)
{
    enum jr_scalar_type type = jr_scalar_type(a), other = jr_scalar_type(b);
    bool none = type == JR_SCALAR_NULL;
    if (none != (other == JR_SCALAR_NULL) ||
        (argument && (type == JR_SCALAR_STRING) != (other == JR_SCALAR_STRING)))
        return false;
    return none || (a->len == b->len && memcmp(a->text, b->text, a->len) == 0);
}

static void add_change(struct jr_changes *to, const char *path,
                       const struct jr_node *a, const struct jr_node *b)
{
    struct jr_change *change =
        jr_arena_push(&to->arena, &to->items, &to->count, sizeof *change);
    if (change != NULL)
        *change = (struct jr_change){path, a, b};
}

static const char *child_path(struct jr_changes *to, const char *path,
                              const char *key)
{
    if (path[0] == '\0')
        return jr_arena_strdup(&to->arena, key);
    return jr_arena_printf(&to->arena, "%s.%s", path, key);
}

/* A mapping, or NULL, with what makes it fast to look into. */
struct side {
    const struct jr_node *mapping;
    const struct jr_key *sorted;
};

static struct side sorted_side(struct jr_changes *to,
                               const struct jr_node *mapping)
{
    struct side side = {mapping, NULL};
    if (mapping != NULL)
        side.sorted = jr_keys_sort(&to->arena, mapping);
    return side;
}

static const struct jr_node *get_side_value(const struct side *side,
                                            const char *key)
{
    const struct jr_pair *pair = NULL;
    if (side->mapping != NULL)
        pair = jr_keys_find(side->mapping, side->sorted, key);
    return pair == NULL ? NULL : pair->value;
}

/* Either can be NULL: then all of the other is new. */
static void compare_mappings(struct jr_changes *to, const char *path,
                             const struct jr_node *a, const struct jr_node *b)
{
    const struct side left = sorted_side(to, a), right = sorted_side(to, b);
    for (size_t i = 0; a != NULL && i < a->count; i++) {
        const char *key = a->pairs[i].key->text;
        compare_nodes(to, child_path(to, path, key), a->pairs[i].value,
                      get_side_value(&right, key));
    }
    for (size_t i = 0; b != NULL && i < b->count; i++) {
        const char *key = b->pairs[i].key->text;
        if (get_side_value(&left, key) == NULL)
            compare_nodes(to, child_path(to, path, key), NULL,
                          b->pairs[i].value);
    }
}

static void compare_items(struct jr_changes *to, const char *path,
                          const struct jr_node *a, const struct jr_node *b)
{
    for (size_t i = 0; i < a->count; i++)
        compare_nodes(to, jr_arena_printf(&to->arena, "%s[%zu]", path, i),
                      a->items[i], b->items[i]);
}

static void compare_nodes(struct jr_changes *to, const char *path,
                          const struct jr_node *a, const struct jr_node *b)
{
    bool map_a = is_node_kind(a, JR_NODE_MAPPING),
         map_b = is_node_kind(b, JR_NODE_MAPPING);
    bool list_a = is_node_kind(a, JR_NODE_SEQUENCE),
         list_b = is_node_kind(b, JR_NODE_SEQUENCE);
    if (path == NULL)
        return;
    bool argument = is_argument(path);
    if (argument && (a == NULL || b == NULL))
        add_change(to, path, a, b);
    else if ((map_a || a == NULL) && (map_b || b == NULL))
        compare_mappings(to, path, a, b);
    else if (list_a && list_b && a->count == b->count)
        compare_items(to, path, a, b);
    else if (!is_node_kind(a, JR_NODE_SCALAR) ||
             !is_node_kind(b, JR_NODE_SCALAR) || !same_scalar(a, b, argument))
        add_change(to, path, a, b);
}

void jr_changes_find(struct jr_changes *ret, const struct jr_node *a,
                     const struct jr_node *b)
{
    *ret = JR_CHANGES_INIT;
    compare_nodes(ret, "", a, b);
}

void jr_changes_release(struct jr_changes *changes)
{
    jr_arena_release(&changes->arena);
    *changes = JR_CHANGES_INIT;
}
