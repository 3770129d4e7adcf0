#include "doc/merge.h"

#include <string.h>

#include "base/did_you_mean.h"
#include "doc/doc.h"
#include "doc/internal.h"

#include "base/banned.h"

/* The header alone: what is in it is shared. */
struct jr_node *jr_merge_replace(struct jr_arena *arena, struct jr_node *base,
                                 const struct jr_node *over)
{
    struct jr_node *node = jr_arena_alloc(arena, sizeof *node);
    if (node == NULL)
        return NULL;
    *node = *over;
    node->under = base;
    return node;
}

/* The entries of the base, each with what lies over it. */
static void merge_base(const struct jr_merger *merger, const struct jr_shape *shape,
                       struct jr_node *out, const struct jr_node *base, const struct jr_node *over)
{
    const struct jr_key *sorted = jr_keys_sort(merger->arena, over);
    for (size_t i = 0; i < base->count; i++) {
        struct jr_pair *under = &base->pairs[i];
        const struct jr_pair *found = jr_keys_find(over, sorted, under->key->text);
        if (found == NULL) {
            jr_node_add(merger->arena, out, under->key, under->value);
        } else if (shape->keeps_null || found->value->kind != JR_NODE_SCALAR ||
                   jr_scalar_type(found->value) != JR_SCALAR_NULL) { /* which removes it */
            struct jr_shape child = merger->shapes->child(shape, under->key->text);
            jr_node_add(merger->arena, out, found->key,
                        jr_merge(merger, &child, under->value, found->value));
        }
    }
}

static struct jr_node *merge_mappings(const struct jr_merger *merger, const struct jr_shape *shape,
                                      const struct jr_node *base, const struct jr_node *over)
{
    struct jr_node *out = jr_node_mapping(merger->arena);
    if (out == NULL)
        return NULL;
    out->span = over->span;
    out->flow = over->flow;
    merge_base(merger, shape, out, base, over);
    const struct jr_key *sorted = jr_keys_sort(merger->arena, base);
    for (size_t i = 0; i < over->count; i++) {
        const struct jr_pair *pair = &over->pairs[i];
        if (jr_keys_find(base, sorted, pair->key->text) == NULL)
            jr_node_add(merger->arena, out, pair->key, pair->value);
    }
    return out;
}

struct jr_node *jr_merge(const struct jr_merger *merger, const struct jr_shape *shape,
                         struct jr_node *base, struct jr_node *over)
{
    struct jr_node *lower = base;
    if (over->kind == JR_NODE_MAPPING && base->kind != JR_NODE_MAPPING)
        lower = jr_shape_unfold(merger->arena, shape, base);
    if (lower == NULL || lower->kind != JR_NODE_MAPPING || over->kind != JR_NODE_MAPPING)
        return jr_merge_replace(merger->arena, base, over);
    const char *below = jr_shape_form(shape, lower), *above = jr_shape_form(shape, over);
    if (below == NULL || above == NULL || strcmp(below, above) == 0)
        return merge_mappings(merger, shape, lower, over);
    return jr_merge_replace(merger->arena, base, over);
}

bool jr_shape_is_missing(const struct jr_shape *shape, const struct jr_node *node)
{
    if (node->kind != JR_NODE_SCALAR)
        return false;
    return jr_scalar_type(node) == JR_SCALAR_NULL ||
           (shape->resolvable &&
            (strcmp(node->text, "auto") == 0 || strcmp(node->text, "???") == 0));
}

struct jr_node *jr_shape_unfold(struct jr_arena *arena, const struct jr_shape *shape,
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

const char *jr_shape_form(const struct jr_shape *shape, const struct jr_node *mapping)
{
    const char *const *form = shape->forms;
    while (form != NULL && *form != NULL && jr_doc_pair(mapping, *form) == NULL)
        form++;
    return form == NULL ? NULL : *form;
}

void jr_parent_choices_add(struct jr_parent_choices *choices, struct jr_arena *arena,
                           const struct jr_parent_choice *choice)
{
    struct jr_parent_choice *slot =
        jr_arena_push(arena, &choices->items, &choices->count, sizeof *slot);
    if (slot != NULL)
        *slot = *choice;
}

struct jr_node *jr_parent_choices_path(const struct jr_parent_choices *choices, const char *name)
{
    for (size_t i = choices->count; i > 0; i--)
        if (strcmp(choices->items[i - 1].name, name) == 0)
            return choices->items[i - 1].path;
    return NULL;
}

const struct jr_file *jr_parent_choices_from(const struct jr_parent_choices *choices,
                                             const struct jr_node *path, const struct jr_file *own,
                                             struct jr_file *here)
{
    size_t i = 0;
    while (i < choices->count && choices->items[i].path != path)
        i++;
    if (i == choices->count)
        return own;
    *here = (struct jr_file){.name = "", .folder = choices->here};
    return choices->items[i].from != NULL ? choices->items[i].from : here;
}

void jr_parent_choices_note(struct jr_parent_choices *choices, struct jr_arena *arena,
                            const char *name)
{
    for (size_t i = 0; i < choices->count; i++)
        choices->items[i].taken |= strcmp(choices->items[i].name, name) == 0;
    for (size_t i = 0; i < choices->names.count; i++)
        if (strcmp(choices->names.items[i], name) == 0)
            return;
    jr_strv_push(&choices->names, arena, (char *)name);
}

/* Refuse a choice for a name that no file has. */
static void refuse_choice(const struct jr_parent_choices *choices,
                          const struct jr_parent_choice *choice, struct jr_diags *diags)
{
    struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT, list JR_BUF_CLEANUP = JR_BUF_INIT;
    const struct jr_strv *names = &choices->names;
    for (size_t i = 0; i < names->count; i++) /* "base, model and optimizer" */
        jr_buf_printf(&list, "%s%s",
                      i == 0                 ? ""
                      : i + 1 < names->count ? ", "
                                             : " and ",
                      names->items[i]);
    const char *near = NULL;
    jr_buf_str(&path, "extends.");
    jr_point_text(&path, choice->name, strlen(choice->name));
    const char *shown = path.failed ? "extends" : path.data;
    struct jr_diag *diag = jr_diags_error(diags, JR_CODE_UNDECLARED_ENTRY, choice->at, shown,
                                          "'%s' is not declared in the spec", shown);
    if (names->count > 0)
        near = jr_did_you_mean(choice->name, (const char *const *)names->items);
    if (near != NULL)
        jr_diag_help(diags, diag, "did you mean 'extends.%s'?", near);
    else if (names->count > 0)
        jr_diag_help(diags, diag, "the named parents are %s", list.failed ? "" : list.data);
    else
        jr_diag_help(diags, diag,
                     "no parent has a name; a spec names them by a mapping: extends: {base: PATH}");
}

bool jr_parent_choices_check(const struct jr_parent_choices *choices, struct jr_diags *diags)
{
    bool good = true;
    for (size_t i = 0; i < choices->count; i++) {
        if (choices->items[i].taken)
            continue;
        refuse_choice(choices, &choices->items[i], diags);
        good = false;
    }
    return good;
}
