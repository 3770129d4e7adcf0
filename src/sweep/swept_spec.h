/*
 * A spec that is several: what it varies, its cells, and the spec of each.
 *
 * The spec and its parents are read once: cells that are loaded an hour later are of the same
 * texts, whatever became of the files.
 */
#ifndef JR_SWEPT_SPEC_H
#define JR_SWEPT_SPEC_H

#include "base/json.h"
#include "doc/source_reader.h"
#include "sweep/cells.h"

struct jr_swept_spec {
    struct jr_arena arena;
    struct jr_spec_file *file; /* put together, and not read any further */
    struct jr_sweep_axes axes;
    struct jr_cells cells;
    struct jr_doc composed;         /* its text, without the sweep */
    struct jr_spec_source source;   /* of each cell: the text, or a command */
    struct jr_spec_options options; /* the same */
    struct jr_stated_value *values; /* room for those of a cell */
    char *root;
    struct jr_reader files, reader; /* of parents, and what remembers them */
    struct read_file *read;         /* by `reader` */
};

/* What the command line and the caller of jr_spec_load said. */
struct jr_swept_words {
    const struct jr_spec_source *source;
    const struct jr_spec_options *options;
    char *const *sweeps; /* of --sweep, NULL-terminated, or NULL */
};

/* Make *ret of a file for which jr_spec_sweeps is true, and which is taken over in any case. The
 * words are borrowed. 0, or -1 with findings; close it in any case, after the findings. */
int jr_swept_spec_open(struct jr_swept_spec *ret, struct jr_spec_file *file,
                       const struct jr_swept_words *words, struct jr_diags *diags);

/* Free it. */
void jr_swept_spec_close(struct jr_swept_spec *swept);

/* Load cell `i` as jr_spec_load does. Its positions are those of the file, and of its values in the
 * sweep. */
int jr_swept_spec_load(struct jr_spec_file **ret, struct jr_swept_spec *swept, size_t i,
                       struct jr_diags *diags);

/* Make `swept->reader`, which reads each file once. */
void jr_cached_reader_init(struct jr_swept_spec *swept);

/* Files that cells write outside of their own folders, which must be another one in each: what a
 * cell writes would replace the results of others. */

struct jr_shared_files {
    json_t *known; /* paths of the cells so far, and the number of each */
};

/* Begin without a cell. */
void jr_shared_files_init(struct jr_shared_files *ret);

/* Look at the files that cell `i`, which is loaded and valid, states by results.file and
 * results.artifacts. One that an earlier cell has, too, is a finding: -1. */
int jr_shared_files_add(struct jr_shared_files *files, const struct jr_spec_file *cell, size_t i,
                        struct jr_diags *diags);

/* Free it. */
void jr_shared_files_release(struct jr_shared_files *files);

#endif
