/* Files that cells write outside of their own folders, which must be another one in each: what a
 * cell writes would replace the results of others. */
#ifndef JR_SHARED_FILES_H
#define JR_SHARED_FILES_H

#include "base/json.h"
#include "sweep/cells.h"

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
