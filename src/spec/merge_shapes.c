#include "spec/merge_shapes.h"

#include <string.h>

#include "spec/field.h"

#include "base/banned.h"

/* Whether null is one of the values in it. */
static bool holds_values(const struct jr_spec_type *type)
{
    if (type->kind == JR_KIND_NAMES)
        type = type->item;
    return type->kind == JR_KIND_VALUE;
}

static struct jr_shape value_shape(const struct jr_spec_type *type)
{
    return (struct jr_shape){
        .type = type,
        .shorthand = type->shorthand,
        .forms = type->forms,
        .open = type->kind >= JR_KIND_NAMES,
        .keeps_null = type->env || holds_values(type),
        .literal = type->literal || type->is_shell,
        .early = type->early,
    };
}

bool jr_shapes_is_own(const char *key)
{
    return strncmp(key, "x-", 2) == 0 || strcmp(key, "$schema") == 0;
}

static struct jr_shape child_of_map(const struct jr_spec_type *type,
                                    const char *key)
{
    if (jr_shapes_is_own(key))
        return (struct jr_shape){.own = true};
    const struct jr_spec_field *field = jr_field_get(type->fields, key);
    if (field == NULL)
        return (struct jr_shape){0};
    struct jr_shape shape = value_shape(field->type);
    shape.resolvable = field->need == JR_NEED_RESOLVED;
    shape.awaited = !shape.resolvable;
    return shape;
}

static struct jr_shape child_shape(const struct jr_shape *shape,
                                   const char *key)
{
    const struct jr_spec_type *type = shape->type;
    struct jr_shape ret = {0};
    if (type == NULL)
        return ret;
    if (key != NULL && type->kind == JR_KIND_MAP)
        return child_of_map(type, key);
    bool item =
        key == NULL ? type->kind == JR_KIND_LIST : type->kind == JR_KIND_NAMES;
    if (item)
        ret = value_shape(type->item);
    if (type->kind == JR_KIND_VALUE)
        ret = value_shape(type);
    ret.awaited = type->outside;
    ret.literal |= type->literal;
    return ret;
}

struct jr_shapes jr_shapes_make(void)
{
    return (struct jr_shapes){value_shape(jr_field_root()), child_shape};
}
