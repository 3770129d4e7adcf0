/* The recording of a run's code in the making: what the files of run_tree.h share. run_tree.c leads
 * through it, run_tree_files.h decides what becomes of each file. */
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

#endif
