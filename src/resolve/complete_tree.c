#include "resolve/complete_tree.h"

#include <string.h>

#include "base/strv.h"
#include "doc/doc.h"
#include "spec/field.h"

#include "base/banned.h"

static struct jr_node *complete_node(struct jr_arena *arena, const struct jr_node *node,
                                     const struct jr_spec_type *type);

static struct jr_node *default_list(struct jr_arena *arena, const struct jr_spec_field *field)
{
    const struct jr_strv items = jr_field_defaults(field, arena);
    struct jr_node *list = jr_node_sequence(arena);
    for (size_t i = 0; i < items.count; i++)
        jr_node_append(arena, list, jr_node_scalar(arena, items.items[i], false));
    return list;
}

/* A field that no one states. That `results` is left out says something by itself, so it stays
 * out. */
static struct jr_node *default_node(struct jr_arena *arena, const struct jr_spec_field *field)
{
    if (field->since == NULL || strcmp(field->key, "results") == 0)
        return NULL;
    if (field->type->kind == JR_KIND_MAP) {
        if (field->type->stated)
            return NULL;
        struct jr_node *map = complete_node(arena, jr_node_mapping(arena), field->type);
        return map == NULL || map->count == 0 ? NULL : map;
    }
    if (field->fallback == NULL)
        return NULL;
    enum jr_spec_kind kind = field->type->kind;
    bool plain = kind == JR_KIND_BOOLEAN || kind == JR_KIND_INTEGER;
    return kind == JR_KIND_LIST ? default_list(arena, field)
                                : jr_node_scalar(arena, field->fallback, plain);
}

/* A list without items, or no names at all, says as much as no field. */
static bool is_value_empty(const struct jr_node *value, const struct jr_spec_field *field)
{
    enum jr_spec_kind kind = field->type->kind;
    return (kind == JR_KIND_LIST || kind == JR_KIND_NAMES) && field->fallback == NULL &&
           value->kind != JR_NODE_SCALAR && value->count == 0;
}

static void complete_fields(struct jr_arena *arena, struct jr_node *ret, const struct jr_node *node,
                            const struct jr_spec_field *fields)
{
    for (; fields->key != NULL; fields++) {
        const struct jr_node *value = jr_doc_get(node, fields->key);
        struct jr_node *filled =
            value != NULL ? complete_node(arena, value, fields->type) : default_node(arena, fields);
        if (filled != NULL && !is_value_empty(filled, fields))
            jr_node_add(arena, ret, jr_node_scalar(arena, fields->key, false), filled);
    }
}

/* A copy of `node` in the order of the table, with its defaults; what the table does not know (x-
 * keys) comes last. */
static struct jr_node *complete_node(struct jr_arena *arena, const struct jr_node *node,
                                     const struct jr_spec_type *type)
{
    bool fixed = type->kind == JR_KIND_MAP;
    bool named = type->kind == JR_KIND_NAMES && type->item != NULL;
    if (node == NULL || node->kind != JR_NODE_MAPPING || !(fixed || named))
        return jr_node_copy(arena, node);
    struct jr_node *ret = jr_node_mapping(arena);
    if (ret == NULL)
        return NULL;
    if (fixed)
        complete_fields(arena, ret, node, type->fields);
    for (size_t i = 0; i < node->count; i++) {
        const char *key = node->pairs[i].key->text;
        const struct jr_node *value = node->pairs[i].value;
        if (named || jr_field_get(type->fields, key) == NULL)
            jr_node_add(arena, ret, jr_node_scalar(arena, key, false),
                        named ? complete_node(arena, value, type->item)
                              : jr_node_copy(arena, value));
    }
    return ret;
}

struct jr_node *jr_complete_tree(struct jr_arena *arena, const struct jr_node *root)
{
    return complete_node(arena, root, jr_field_root());
}
