#include "file.h"

#include <string.h>

#include "fill.h"
#include "shapes.h"

#include "banned.h"

enum jr_status jr_spec_status(const struct jr_diags *diags)
{
    static const char *const outside[] = {"JR0206", "JR0225"};
    size_t count = 0;
    for (size_t i = 0; i < diags->count; i++)
        count += diags->items[i].severity == JR_SEVERITY_ERROR &&
                 (strcmp(diags->items[i].code, outside[0]) == 0 ||
                  strcmp(diags->items[i].code, outside[1]) == 0);
    if (diags->errors == 0)
        return JR_STATUS_OK;
    return count == diags->errors ? JR_STATUS_UNRESOLVED : JR_STATUS_INVALID;
}

const struct jr_spec *jr_spec_get(const struct jr_spec_file *file)
{
    return file->spec;
}

const struct jr_doc *jr_spec_doc(const struct jr_spec_file *file)
{
    return &file->doc;
}

const struct jr_node *jr_spec_tree(const struct jr_spec_file *file)
{
    return file->tree;
}

void jr_spec_escape(struct jr_arena *arena, struct jr_node *root)
{
    const struct jr_shapes shapes = jr_shapes_make();
    jr_fill_undo(arena, &shapes, root);
}

void jr_spec_emit(struct jr_buf *out, const struct jr_spec_file *file)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_node *root = jr_node_copy(&arena, file->tree);
    if (root != NULL)
        jr_spec_escape(&arena, root);
    if (arena.failed)
        out->failed = true;
    else
        jr_doc_emit(out, root);
    jr_arena_release(&arena);
}

static const struct jr_node *find_node(const struct jr_spec_file *file,
                                       const char *path)
{
    return file->tree == NULL ? NULL : jr_doc_find(file->tree, path);
}

struct jr_span jr_spec_where(const struct jr_spec_file *file, const char *path)
{
    const struct jr_node *node = find_node(file, path);
    return node == NULL ? (struct jr_span){0} : node->span;
}

struct jr_span jr_spec_overridden(const struct jr_spec_file *file,
                                  const char *path, size_t i)
{
    const struct jr_node *node = find_node(file, path);
    node = node == NULL ? NULL : node->under;
    for (; node != NULL && i > 0; i--)
        node = node->under;
    return node == NULL ? (struct jr_span){0} : node->span;
}
