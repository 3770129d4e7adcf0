/*
 * The code of a run: the work tree around a folder as it stands, as the name of a tree of git's and
 * the difference to the commit.
 *
 *   git status, git ls-files   which files are not as the commit has them
 *   git update-index           these, into a copy of the index
 *   git diff-index             the patch
 *   git write-tree             the name
 *
 * A tree that differs from the commit and the same tree committed have the same name. A submodule
 * counts by the tree of its own files; ignored files, and what a sparse checkout leaves out, do not
 * count. The repository, its index and its objects are not written to, and nothing that it
 * configures is executed.
 */
#ifndef JR_RUN_TREE_H
#define JR_RUN_TREE_H

#include "vcs/code_patch.h"
#include "vcs/git.h"
#include <jobrun/error.h>

/* Bytes of changed and untracked files beyond which no tree is read. */
#define JR_RUN_TREE_MOST ((uint64_t)256 << 20)

/* What to record. Paths are absolute. */
struct jr_run_tree_request {
    const char *folder;  /* in the work tree */
    const char *scratch; /* is made, and removed; its parent is there. NULL:
                            nothing is written, and neither hash nor patch are
                            made: the files are only listed */
    bool whole;          /* list what a copy of the tree is made of */
    const char *log_dir; /* does not count; NULL: there is none */
    char *const *files;  /* do not count; NULL-terminated, or NULL */
    const struct jr_secrets *secrets;
    char *const *envp;
    int limit_ms; /* that git may take in all */
    int stop_fd;  /* see jr_task_limit */
};

struct jr_run_tree {
    struct jr_arena arena;
    bool work_tree;           /* the folder is in one */
    char commit[JR_GIT_HASH]; /* "": unknown, or there is none */
    bool listed;              /* what differs is known: */
    bool changed;             /* tracked files differ from the commit */
    bool dirty;               /* the tree does */
    char tree[JR_GIT_HASH];   /* "": not recorded */
    struct jr_buf patch;
    struct jr_left_out *left_out;
    size_t left_out_count;
    const char *top; /* of the work tree */
    /* What a copy is made of: paths from the top, each with a NUL. */
    struct jr_buf files; /* tracked, and untracked without secrets; some may
                            not be there */
    struct jr_buf links; /* ignored; folders have a slash at the end */
};

#define JR_RUN_TREE_INIT ((struct jr_run_tree){0})

/* Record it. 0, also where there is no work tree; -1 with `err` where there is one that cannot be
 * recorded: then `ret` has its commit, if that is known. Release in any case. */
int jr_run_tree_record(struct jr_run_tree *ret, const struct jr_run_tree_request *request,
                       struct jr_error *err);

/* Free it. */
void jr_run_tree_release(struct jr_run_tree *code);

#endif
