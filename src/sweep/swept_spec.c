#include "sweep/swept_spec.h"

#include <stdlib.h>

#include "base/banned.h"

/* What each cell is loaded from, as its text was read. */
static void keep_source(struct jr_swept_spec *swept,
                        const struct jr_swept_words *words)
{
    const struct jr_source *source = jr_spec_doc(swept->file)->source;
    const char *folder = jr_spec_folder_of(swept->file);
    swept->source = *words->source;
    swept->options = *words->options;
    swept->options.sweeps = false;
    swept->options.swept = false;
    swept->options.cell = true;
    if (words->source->argv != NULL)
        return;
    if (words->source->path != NULL && swept->options.here == NULL) {
        char *here = jr_spec_folder(NULL);
        swept->options.here = jr_arena_strdup(&swept->arena, here);
        swept->arena.failed |= here == NULL;
        free(here);
    }
    swept->source = (struct jr_spec_source){.name = source->name,
                                            .folder = folder,
                                            .text = source->text,
                                            .len = source->len};
    if (swept->options.reader != NULL)
        return;
    swept->root = jr_spec_parents_root(swept->options.root, folder);
    swept->arena.failed |= swept->root == NULL;
    swept->files = jr_reader_of_files(swept->root);
    jr_cached_reader_init(swept);
    swept->options.reader = &swept->reader;
}

int jr_swept_spec_open(struct jr_swept_spec *ret, struct jr_spec_file *file,
                       const struct jr_swept_words *words,
                       struct jr_diags *diags)
{
    const struct jr_sweep_words axes = {words->sweeps, words->options->sets};
    *ret = (struct jr_swept_spec){.file = file};
    keep_source(ret, words);
    if (jr_sweep_axes_read(&ret->axes, file, &axes, diags) != 0 ||
        jr_cells_expand(&ret->cells, &ret->axes, diags) != 0)
        return -1;
    ret->values = jr_arena_array(&ret->arena, ret->cells.most_values + 1,
                                 sizeof *ret->values);
    if (!ret->arena.failed)
        return 0;
    (void)jr_diags_error(diags, JR_CODE_INTERNAL, ret->axes.at, NULL,
                         "out of memory");
    return -1;
}

void jr_swept_spec_close(struct jr_swept_spec *swept)
{
    jr_cells_release(&swept->cells);
    jr_spec_free(swept->file);
    swept->file = NULL;
    free(swept->root);
    swept->root = NULL;
    jr_arena_release(&swept->arena);
}

int jr_swept_spec_load(struct jr_spec_file **ret, struct jr_swept_spec *swept,
                       size_t i, struct jr_diags *diags)
{
    struct jr_spec_options options = swept->options;
    options.values = swept->values;
    options.values_count = jr_cells_values(&swept->cells, i, swept->values);
    return jr_spec_load(ret, &swept->source, &options, diags);
}
