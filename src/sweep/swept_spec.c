#include "sweep/swept_spec.h"

#include <stdlib.h>
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

static int add_file(struct jr_shared_files *files, const struct jr_node *tree,
                    const struct jr_node *file, size_t i, struct jr_diags *diags)
{
    struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT;
    const struct jr_node *workdir = jr_doc_get(tree, "workdir");
    if (file->filled != NULL && file->filled->unknown)
        return 0;
    if (file->text[0] != '/' && workdir != NULL && workdir->kind == JR_NODE_SCALAR)
        jr_buf_printf(&path, "%s/", workdir->text);
    jr_buf_str(&path, file->text);
    for (size_t k = 0; !path.failed && own[k] != NULL; k++)
        if (strstr(path.data, own[k]) != NULL)
            return 0;
    if (path.failed)
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

/* A reader: what was read once is not read again, so that all cells are of the same parents. What
 * could not be read is tried again. */

struct read_file {
    const char *path, *folder, *name; /* as they were asked for */
    struct jr_file file;
    const char *text;
    size_t len;
    struct read_file *next;
};

static const struct read_file *find_read_file(const struct jr_swept_spec *swept,
                                              const struct jr_reading *reading)
{
    const struct read_file *file = swept->read;
    while (file != NULL && (strcmp(file->path, reading->path) != 0 ||
                            strcmp(file->folder, reading->from->folder) != 0 ||
                            strcmp(file->name, reading->from->name) != 0))
        file = file->next;
    return file;
}

/* Remember what was read; without memory it is read again. */
static void keep_read_file(struct jr_swept_spec *swept, const struct jr_reading *reading)
{
    struct jr_arena *arena = &swept->arena;
    struct read_file *file = jr_arena_alloc(arena, sizeof *file);
    if (file == NULL)
        return;
    *file = (struct read_file){
        .path = jr_arena_strdup(arena, reading->path),
        .folder = jr_arena_strdup(arena, reading->from->folder),
        .name = jr_arena_strdup(arena, reading->from->name),
        .file = {.id = jr_arena_strdup(arena, reading->file.id),
                 .name = jr_arena_strdup(arena, reading->file.name),
                 .folder = jr_arena_strdup(arena, reading->file.folder)},
        .text = jr_arena_strndup(arena, reading->text.data == NULL ? "" : reading->text.data,
                                 reading->text.len),
        .len = reading->text.len,
        .next = swept->read};
    if (!arena->failed)
        swept->read = file;
}

static int read_once(const struct jr_reader *reader, struct jr_reading *reading,
                     struct jr_error *err)
{
    union {
        const void *given;
        struct jr_swept_spec *swept;
    } context = {reader->context}; /* it was made of one that is not constant */
    struct jr_swept_spec *swept = context.swept;
    const struct read_file *file = find_read_file(swept, reading);
    if (file == NULL) {
        int status = swept->files.read(&swept->files, reading, err);
        if (status == 0)
            keep_read_file(swept, reading);
        return status;
    }
    struct jr_arena *arena = reading->arena;
    reading->file = (struct jr_file){.id = jr_arena_strdup(arena, file->file.id),
                                     .name = jr_arena_strdup(arena, file->file.name),
                                     .folder = jr_arena_strdup(arena, file->file.folder)};
    jr_buf_add(&reading->text, file->text, file->len);
    if (!arena->failed && !reading->text.failed)
        return 0;
    (void)jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    return -1;
}

void jr_cached_reader_init(struct jr_swept_spec *swept)
{
    swept->reader = (struct jr_reader){read_once, swept};
}

/* Compose the text once for all cells, without what makes it several, so that the time of a cell
 * does not depend on how much the sweep says. What is wrong in it was told when it was first
 * read. */
static void compose_once(struct jr_swept_spec *swept)
{
    const struct jr_spec_source *source = &swept->source;
    struct jr_diags silent = JR_DIAGS_INIT;
    struct jr_node *root = NULL;
    if (jr_doc_load(&swept->composed, source->name, source->text, source->len, &silent) == 0)
        root = swept->composed.root;
    jr_diags_release(&silent);
    swept->arena.failed |= root == NULL;
    size_t kept = 0;
    for (size_t i = 0; root != NULL && i < root->count; i++)
        if (strcmp(root->pairs[i].key->text, "sweep") != 0)
            root->pairs[kept++] = root->pairs[i];
    if (root != NULL)
        root->count = kept;
    swept->options.composed = &swept->composed;
}

/* What each cell is loaded from, as its text was read. */
static void keep_source(struct jr_swept_spec *swept, const struct jr_swept_words *words)
{
    const struct jr_source *source = jr_spec_doc(swept->file)->source;
    const char *folder = jr_spec_folder_of(swept->file);
    swept->source = *words->source;
    swept->options = *words->options;
    swept->options.sweeps = false;
    swept->options.swept = false;
    swept->options.cell = true;
    swept->options.pools = true;
    if (words->source->argv != NULL)
        return;
    if (words->source->path != NULL && swept->options.here == NULL) {
        char *here = jr_spec_folder(NULL);
        swept->options.here = jr_arena_strdup(&swept->arena, here);
        swept->arena.failed |= here == NULL;
        free(here);
    }
    swept->source = (struct jr_spec_source){
        .name = source->name, .folder = folder, .text = source->text, .len = source->len};
    compose_once(swept);
    if (swept->options.reader != NULL)
        return;
    swept->root = jr_spec_parents_root(swept->options.root, folder);
    swept->arena.failed |= swept->root == NULL;
    swept->files = jr_reader_of_files(swept->root);
    jr_cached_reader_init(swept);
    swept->options.reader = &swept->reader;
}

static int refuse_no_memory(const struct jr_swept_spec *swept, struct jr_diags *diags)
{
    (void)jr_diags_error(diags, JR_CODE_INTERNAL, swept->axes.at, NULL, "out of memory");
    return -1;
}

int jr_swept_spec_open(struct jr_swept_spec *ret, struct jr_spec_file *file,
                       const struct jr_swept_words *words, struct jr_diags *diags)
{
    const struct jr_sweep_words axes = {words->sweeps, words->options->sets};
    *ret = (struct jr_swept_spec){.file = file};
    keep_source(ret, words);
    if (ret->arena.failed)
        return refuse_no_memory(ret, diags);
    if (jr_sweep_axes_read(&ret->axes, file, &axes, diags) != 0 ||
        jr_cells_expand(&ret->cells, &ret->axes, diags) != 0)
        return -1;
    ret->values = jr_arena_array(&ret->arena, ret->cells.most_values, sizeof *ret->values);
    return ret->arena.failed ? refuse_no_memory(ret, diags) : 0;
}

void jr_swept_spec_close(struct jr_swept_spec *swept)
{
    jr_cells_release(&swept->cells);
    jr_spec_free(swept->file);
    jr_doc_release(&swept->composed);
    free(swept->root);
    jr_arena_release(&swept->arena);
}

int jr_swept_spec_load(struct jr_spec_file **ret, struct jr_swept_spec *swept, size_t i,
                       struct jr_diags *diags)
{
    struct jr_spec_options options = swept->options;
    options.values = swept->values;
    options.values_count = jr_cells_values(&swept->cells, i, swept->values);
    return jr_spec_load(ret, &swept->source, &options, diags);
}
