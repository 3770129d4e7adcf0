#include "sweep/shared_files.h"

#include <string.h>

#include "base/banned.h"

/* Words that are another one in each cell. */
static const char *const own[] = {"%{cell}", "%{run_id}", "%{run_dir}", "%{rank_dir}", NULL};

void jr_shared_files_init(struct jr_shared_files *ret)
{
    ret->known = json_object();
}

void jr_shared_files_release(struct jr_shared_files *files)
{
    json_decref(files->known);
}

static bool is_own(const char *path)
{
    size_t i = 0;
    while (own[i] != NULL && strstr(path, own[i]) == NULL)
        i++;
    return own[i] != NULL;
}

/* The path as it is in all cells, with the folder that it is relative to. */
static void add_whole_path(struct jr_buf *out, const struct jr_node *tree, const char *path)
{
    const struct jr_node *workdir = jr_doc_get(tree, "workdir");
    if (path[0] != '/' && workdir != NULL && workdir->kind == JR_NODE_SCALAR) {
        jr_buf_str(out, workdir->text);
        jr_buf_char(out, '/');
    }
    jr_buf_str(out, path);
}

static int add_file(struct jr_shared_files *files, const struct jr_node *tree,
                    const struct jr_node *file, size_t i, struct jr_diags *diags)
{
    struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT;
    if (file->filled != NULL && file->filled->unknown)
        return 0;
    add_whole_path(&path, tree, file->text);
    if (path.failed || is_own(path.data))
        return 0;
    const json_t *other = json_object_get(files->known, path.data);
    if (other == NULL) {
        (void)json_object_set_new(files->known, path.data, json_integer((json_int_t)i));
        return 0;
    }
    if (json_integer_value(other) == (json_int_t)i)
        return 0; /* a rule of the spec's own is about that */
    struct jr_diag *diag =
        jr_diags_error(diags, JR_CODE_FILE_SHARED_BY_CELLS, file->span, "results",
                       "cells of the sweep would write the same file");
    jr_diag_help(diags, diag, "put %%{cell} into the path");
    return -1;
}

int jr_shared_files_add(struct jr_shared_files *files, const struct jr_spec_file *cell, size_t i,
                        struct jr_diags *diags)
{
    const struct jr_node *tree = jr_spec_tree(cell);
    const struct jr_node *results = jr_doc_get(tree, "results");
    const struct jr_node *file = jr_doc_get(results, "file");
    const struct jr_node *artifacts = jr_doc_get(results, "artifacts");
    int status = 0;
    if (file != NULL && file->kind == JR_NODE_SCALAR)
        status |= add_file(files, tree, file, i, diags);
    for (size_t j = 0; artifacts != NULL && j < artifacts->count; j++)
        if (artifacts->items[j]->kind == JR_NODE_SCALAR)
            status |= add_file(files, tree, artifacts->items[j], i, diags);
    return status;
}
