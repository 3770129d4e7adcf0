/* Nodes and paths through them: doc.h for all, node.h for this folder. */
#include "doc/node.h"

#include <string.h>

#include "base/banned.h"

static struct jr_node *new_node(struct jr_arena *arena, enum jr_node_kind kind)
{
    struct jr_node *node = jr_arena_alloc(arena, sizeof *node);
    if (node != NULL)
        node->kind = kind;
    return node;
}

/* The text is stored after the node. */
struct jr_node *jr_node_scalar_n(struct jr_arena *arena, const char *text, size_t len, bool plain)
{
    struct jr_node *node = jr_arena_alloc(arena, sizeof *node + len + 1);
    if (node == NULL)
        return NULL;
    node->kind = JR_NODE_SCALAR;
    node->plain = plain;
    node->text = memcpy(node + 1, text, len);
    node->len = (uint32_t)len;
    return node;
}

struct jr_node *jr_node_scalar(struct jr_arena *arena, const char *text, bool plain)
{
    return text == NULL ? NULL : jr_node_scalar_n(arena, text, strlen(text), plain);
}

void jr_node_rewrite(struct jr_arena *arena, struct jr_node *node, const char *text, size_t len)
{
    const char *copy = jr_arena_strndup(arena, text == NULL ? "" : text, len);
    if (copy == NULL)
        return;
    node->text = copy;
    node->len = (uint32_t)len;
}

struct jr_node *jr_node_mapping(struct jr_arena *arena)
{
    return new_node(arena, JR_NODE_MAPPING);
}

struct jr_node *jr_node_sequence(struct jr_arena *arena)
{
    return new_node(arena, JR_NODE_SEQUENCE);
}

void jr_node_append(struct jr_arena *arena, struct jr_node *sequence, struct jr_node *item)
{
    if (sequence == NULL || item == NULL)
        return;
    struct jr_node **slot = jr_arena_push(arena, &sequence->items, &sequence->count, sizeof *slot);
    if (slot != NULL)
        *slot = item;
}

void jr_node_add(struct jr_arena *arena, struct jr_node *mapping, struct jr_node *key,
                 struct jr_node *value)
{
    if (mapping == NULL || key == NULL || value == NULL)
        return;
    struct jr_pair *pair = jr_arena_push(arena, &mapping->pairs, &mapping->count, sizeof *pair);
    if (pair != NULL)
        *pair = (struct jr_pair){key, value};
}

static const struct jr_filled *copy_filled(struct jr_arena *arena, const struct jr_filled *filled)
{
    if (filled == NULL)
        return NULL;
    struct jr_filled *copy = jr_arena_alloc(arena, sizeof *copy);
    if (copy == NULL)
        return NULL;
    copy->written = jr_arena_strdup(arena, filled->written);
    copy->kept = jr_arena_strdup(arena, filled->kept);
    copy->unknown = filled->unknown;
    return copy;
}

/* A copy outlives what it is made of, so it forgets what that stood for. Children are added one by
 * one: arrays that grow must have been grown by the arena, which derives their capacity from the
 * count. */
struct jr_node *jr_node_copy(struct jr_arena *arena, const struct jr_node *node)
{
    if (node == NULL)
        return NULL;
    struct jr_node *copy = node->kind == JR_NODE_SCALAR
                               ? jr_node_scalar(arena, node->text, node->plain)
                               : new_node(arena, node->kind);
    if (copy == NULL)
        return NULL;
    copy->flow = node->flow;
    copy->shared = node->shared;
    copy->meant = node->meant;
    copy->span = node->span;
    copy->filled = copy_filled(arena, node->filled);
    for (size_t i = 0; node->kind == JR_NODE_SEQUENCE && i < node->count; i++)
        jr_node_append(arena, copy, jr_node_copy(arena, node->items[i]));
    for (size_t i = 0; node->kind == JR_NODE_MAPPING && i < node->count; i++)
        jr_node_add(arena, copy, jr_node_copy(arena, node->pairs[i].key),
                    jr_node_copy(arena, node->pairs[i].value));
    return copy;
}

static struct jr_pair *find_pair(const struct jr_node *mapping, const struct jr_path_step *step)
{
    if (mapping == NULL || mapping->kind != JR_NODE_MAPPING)
        return NULL;
    for (size_t i = 0; i < mapping->count; i++) {
        const struct jr_node *key = mapping->pairs[i].key;
        if (key->len == step->len && memcmp(key->text, step->key, key->len) == 0)
            return &mapping->pairs[i];
    }
    return NULL;
}

struct jr_pair *jr_doc_pair(const struct jr_node *mapping, const char *key)
{
    const struct jr_path_step step = {.key = key, .len = strlen(key)};
    return find_pair(mapping, &step);
}

struct jr_node *jr_doc_get(const struct jr_node *mapping, const char *key)
{
    struct jr_pair *pair = jr_doc_pair(mapping, key);
    return pair == NULL ? NULL : pair->value;
}

void jr_node_set(struct jr_arena *arena, struct jr_node *mapping, const char *key,
                 struct jr_node *value)
{
    struct jr_pair *pair = jr_doc_pair(mapping, key);
    if (pair == NULL)
        jr_node_add(arena, mapping, jr_node_scalar(arena, key, false), value);
    else if (value != NULL)
        pair->value = value;
}

/* "[12]": no sign, and too few digits to wrap. */
static bool read_index(const char **path, struct jr_path_step *ret)
{
    const char *digit = *path + 1;
    size_t count = strspn(digit, "0123456789");
    if (count == 0 || count > 9 || digit[count] != ']')
        return false;
    *ret = (struct jr_path_step){0};
    for (size_t i = 0; i < count; i++)
        ret->index = ret->index * 10 + (size_t)(digit[i] - '0');
    *path = digit + count + 1;
    return true;
}

bool jr_path_next(const char **path, const char *whole, struct jr_path_step *ret)
{
    if (**path == '[')
        return read_index(path, ret);
    if (*path != whole && *(*path)++ != '.')
        return false;
    *ret = (struct jr_path_step){.key = *path, .len = strcspn(*path, ".[]")};
    *path += ret->len;
    return ret->len != 0 && **path != ']';
}

struct jr_node **jr_path_follow(const struct jr_node *node, const struct jr_path_step *step)
{
    if (step->key != NULL) {
        struct jr_pair *pair = find_pair(node, step);
        return pair == NULL ? NULL : &pair->value;
    }
    if (node->kind != JR_NODE_SEQUENCE || step->index >= node->count)
        return NULL;
    return &node->items[step->index];
}

struct jr_node *jr_doc_find(const struct jr_node *node, const char *path)
{
    struct jr_path_step step;
    struct jr_node **slot = NULL;
    if (path == NULL)
        return NULL;
    for (const char *at = path; node != NULL && *at != '\0'; node = *slot) {
        if (!jr_path_next(&at, path, &step))
            return NULL;
        slot = jr_path_follow(node, &step);
        if (slot == NULL)
            return NULL;
    }
    return slot == NULL ? NULL : *slot;
}

/* Whether `node`, or nothing, may be made a collection for the step. */
static bool is_free(const struct jr_node *node)
{
    return node == NULL || (node->kind == JR_NODE_SCALAR && jr_scalar_type(node) == JR_SCALAR_NULL);
}

struct jr_node *jr_path_enter(struct jr_arena *arena, struct jr_node *node,
                              const struct jr_path_step *step)
{
    enum jr_node_kind kind = step->key != NULL ? JR_NODE_MAPPING : JR_NODE_SEQUENCE;
    if (is_free(node))
        node = new_node(arena, kind);
    if (node == NULL || node->kind != kind)
        return NULL;
    return step->key == NULL && step->index > node->count ? NULL : node;
}

void jr_path_attach(struct jr_arena *arena, struct jr_node *node, const struct jr_path_step *step,
                    struct jr_node *child)
{
    struct jr_node **slot = jr_path_follow(node, step);
    if (slot != NULL)
        *slot = child;
    else if (step->key == NULL)
        jr_node_append(arena, node, child);
    else
        jr_node_add(arena, node, jr_node_scalar_n(arena, step->key, step->len, false), child);
}

struct change {
    struct jr_arena *arena;
    const char *path;
    struct jr_node *value;
};

/* Return the replacement for `node` after the value was put where the rest of the path, from `at`,
 * leads; NULL if it cannot be put there. Children are handled first, so that a path that does not
 * fit changes nothing. */
static struct jr_node *put_at_path(const struct change *change, struct jr_node *node,
                                   const char *at, unsigned depth)
{
    struct jr_path_step step;
    if (*at == '\0')
        return change->value;
    if (depth == JR_DOC_MAX_DEPTH || !jr_path_next(&at, change->path, &step))
        return NULL;
    node = jr_path_enter(change->arena, node, &step);
    if (node == NULL)
        return NULL;
    struct jr_node **slot = jr_path_follow(node, &step);
    struct jr_node *child = put_at_path(change, slot == NULL ? NULL : *slot, at, depth + 1);
    if (child == NULL)
        return NULL;
    jr_path_attach(change->arena, node, &step, child);
    return node;
}

bool jr_node_set_path(struct jr_arena *arena, struct jr_node *mapping, const char *path,
                      struct jr_node *value)
{
    const struct change change = {arena, path, value};
    return *path != '\0' && !is_free(mapping) && put_at_path(&change, mapping, path, 0) != NULL;
}
