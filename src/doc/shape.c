#include "doc/shape.h"

#include <string.h>

#include "doc/tree.h"

#include "base/banned.h"

bool jr_shape_is_missing(const struct jr_shape *shape,
                         const struct jr_node *node)
{
    if (node->kind != JR_NODE_SCALAR)
        return false;
    return jr_scalar_type(node) == JR_SCALAR_NULL ||
           (shape->resolvable && (strcmp(node->text, "auto") == 0 ||
                                  strcmp(node->text, "???") == 0));
}

struct jr_node *jr_shape_unfold(struct jr_arena *arena,
                                const struct jr_shape *shape,
                                struct jr_node *node)
{
    if (shape->shorthand == NULL || node->kind == JR_NODE_MAPPING ||
        jr_shape_is_missing(shape, node))
        return NULL;
    struct jr_node *mapping = jr_node_mapping(arena);
    struct jr_node *key = jr_node_scalar(arena, shape->shorthand, false);
    if (mapping == NULL || key == NULL)
        return NULL;
    mapping->span = key->span = node->span;
    jr_node_add(arena, mapping, key, node);
    return mapping;
}

const char *jr_shape_form(const struct jr_shape *shape,
                          const struct jr_node *mapping)
{
    const char *const *form = shape->forms;
    while (form != NULL && *form != NULL && jr_doc_pair(mapping, *form) == NULL)
        form++;
    return form == NULL ? NULL : *form;
}
