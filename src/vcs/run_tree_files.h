/* What becomes of each file where the code of a run is recorded. */
#ifndef JR_RUN_TREE_FILES_H
#define JR_RUN_TREE_FILES_H

#include "vcs/run_tree_parts.h"

/* Find what differs, and what becomes of each file of it: it is in the patch, counts by its hash
 * alone, is copied, or is left out. -1 with `err` where it is too much. */
int jr_repository_list(struct repository *repository, struct jr_error *err);

/* Have the files that differ, and that git converts (line ends, encodings, $Id$), count by their
 * own bytes: two that git takes for the same are not the same to a program. The patch has what git
 * makes of them. */
int jr_repository_count_converted(struct repository *repository, struct jr_error *err);

/* Whether a file that is no text has no secret, as far as that can be read in it. The data is the
 * repository; the path has its prefix. */
bool jr_repository_shows(void *data, const char *path);

/* Add a path, and a NUL. */
void jr_repository_add_path(struct jr_buf *to, const char *path);

#endif
