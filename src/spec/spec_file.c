#include "spec/spec_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "doc/interpolate.h"
#include "doc/node_path.h"
#include "spec/assemble.h"

#include "base/banned.h"

enum jr_status jr_spec_status(const struct jr_diags *diags)
{
    size_t own = 0, outside = 0;
    for (size_t i = 0; i < diags->count; i++) {
        const struct jr_diag *diag = &diags->items[i];
        if (diag->severity != JR_SEVERITY_ERROR)
            continue;
        own += jr_diag_is(diag, JR_CODE_INTERNAL);
        outside += jr_diag_is(diag, JR_CODE_VALUE_NOT_SUPPLIED) ||
                   jr_diag_is(diag, JR_CODE_UNKNOWN_VARIABLE);
    }
    if (own > 0 || diags->errors == 0 || diags->arena.failed)
        return JR_STATUS_LAUNCH;
    return outside == diags->errors ? JR_STATUS_UNRESOLVED : JR_STATUS_INVALID;
}

const char *jr_spec_folder_of(const struct jr_spec_file *file)
{
    return file->folder;
}

bool jr_spec_sweeps(const struct jr_spec_file *file)
{
    return file->sweeps;
}

bool jr_spec_states_ssh(const struct jr_spec_file *file)
{
    return jr_assembly_states_ssh(file->doc.root);
}

bool jr_spec_pools_hosts(const struct jr_spec_file *file)
{
    return file->pools && file->spec != NULL && file->spec->policy.engine.ssh != NULL;
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
    jr_interpolate_undo(arena, &shapes, root);
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

static const struct jr_node *find_spec_node(const struct jr_spec_file *file, const char *path)
{
    return file->tree == NULL ? NULL : jr_doc_find(file->tree, path);
}

/* What a message, or a record, has for a scalar. */
typedef const char *teller(struct jr_arena *arena, const struct jr_node *node);

static const char *text_of_source(struct jr_arena *arena, const struct jr_node *node)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    if (node->filled == NULL)
        return NULL;
    jr_point_text(&out, node->filled->written, strlen(node->filled->written));
    return jr_buf_keep(&out, arena);
}

static const char *text_of_kept(struct jr_arena *arena, const struct jr_node *node)
{
    (void)arena;
    return node->filled == NULL ? NULL : node->filled->kept;
}

/* A list, if the teller has something else than its text for any item. */
static const char *text_of_items(struct jr_arena *arena, const struct jr_node *list, teller *tell)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    bool any = false;
    for (size_t i = 0; i < list->count; i++) {
        const struct jr_node *item = list->items[i];
        const char *told = NULL;
        if (item->kind == JR_NODE_SCALAR)
            told = tell(arena, item);
        any = any || told != NULL;
        jr_buf_printf(&out, "%s%s", i == 0 ? "" : ",",
                      told != NULL                   ? told
                      : item->kind == JR_NODE_SCALAR ? item->text
                                                     : "...");
    }
    return any ? jr_buf_keep(&out, arena) : NULL;
}

static const char *text_of_field(const struct jr_spec_file *file, struct jr_arena *arena,
                                 const char *path, teller *tell)
{
    const struct jr_node *node = find_spec_node(file, path);
    if (node != NULL && node->kind == JR_NODE_SEQUENCE)
        return text_of_items(arena, node, tell);
    if (node != NULL && node->kind == JR_NODE_MAPPING)
        node = jr_doc_find(file->doc.root, path); /* its short form */
    return node != NULL && node->kind == JR_NODE_SCALAR ? tell(arena, node) : NULL;
}

const char *jr_spec_written(const struct jr_spec_file *file, struct jr_arena *arena,
                            const char *path)
{
    return text_of_field(file, arena, path, text_of_source);
}

const char *jr_spec_kept(const struct jr_spec_file *file, struct jr_arena *arena, const char *path)
{
    return text_of_field(file, arena, path, text_of_kept);
}

static bool is_value_unknown(const struct jr_node *node)
{
    bool unknown = node->filled != NULL && node->filled->unknown;
    for (size_t i = 0; node->kind == JR_NODE_SEQUENCE && i < node->count; i++)
        unknown = unknown || is_value_unknown(node->items[i]);
    return unknown;
}

bool jr_spec_is_unknown(const struct jr_spec_file *file, const char *path)
{
    char group[64];
    const char *dot = strrchr(path, '.');
    const struct jr_node *node = jr_doc_find(file->doc.root, path);
    if (node != NULL || dot == NULL)
        return node != NULL && is_value_unknown(node);
    (void)snprintf(group, sizeof group, "%.*s", (int)(dot - path), path);
    return jr_spec_is_unknown(file, group);
}

struct jr_span jr_spec_where(const struct jr_spec_file *file, const char *path)
{
    const struct jr_node *node = find_spec_node(file, path);
    return node == NULL ? (struct jr_span){0} : node->span;
}

struct jr_span jr_spec_where_within(const struct jr_spec_file *file, const char *path)
{
    struct jr_span span = {0};
    JR_FREE char *part = strdup(path);
    for (size_t len = strlen(path); part != NULL && len > 0 && span.line == 0; len--) {
        bool whole = strchr(".[", part[len]) != NULL; /* or the end */
        part[len] = '\0';
        if (whole)
            span = jr_spec_where(file, part);
    }
    return span;
}

struct jr_span jr_spec_overridden(const struct jr_spec_file *file, const char *path, size_t i)
{
    const struct jr_node *node = find_spec_node(file, path);
    node = node == NULL ? NULL : node->under;
    for (; node != NULL && i > 0; i--)
        node = node->under;
    return node == NULL ? (struct jr_span){0} : node->span;
}
