/* The recording of a run's code in the making: what the files of run_tree.h
 * share. run_tree.c leads through it, run_tree_files.c decides what becomes of
 * each file. */
#ifndef JR_RUN_TREE_PARTS_H
#define JR_RUN_TREE_PARTS_H

#include "vcs/run_tree.h"
#include "vcs/snapshot.h"
#include "vcs/work_tree.h"

/* The recording of one work tree, and of those inside it. */
struct recording {
    const struct jr_run_tree_request *request;
    struct jr_work_look look;
    struct jr_run_tree *code;
    struct jr_code_patch patch;
    uint64_t bytes; /* of the files that differ */
    unsigned repositories;
};

/* One repository: the work tree itself, or a submodule. */
struct repository {
    struct recording *recording;
    const char *prefix; /* "", or its path with a slash */
    unsigned depth;
    struct jr_work_tree tree;
    struct jr_snapshot snapshot;
    struct jr_buf drop, take, hash, state; /* paths, and entries */
};

/* Find what differs, and what becomes of each file of it: it is in the patch,
 * counts by its hash alone, is copied, or is left out. -1 with `err` where it
 * is too much. */
int jr_repository_list(struct repository *repository, struct jr_error *err);

/* Have the files that differ, and that git converts (line ends, encodings,
 * $Id$), count by their own bytes: two that git takes for the same are not the
 * same to a program. The patch has what git makes of them. */
int jr_repository_count_converted(struct repository *repository,
                                  struct jr_error *err);

/* Whether a file that is no text has no secret, as far as that can be read in
 * it. The data is the repository; the path has its prefix. */
bool jr_repository_shows(void *data, const char *path);

/* Add a path, and a NUL. */
void jr_repository_add_path(struct jr_buf *to, const char *path);

#endif
