/*
 * A git work tree as it stands: where it is, and which of its files are not as its index and its
 * commit have them. Nothing of it is written, and no filter, monitor or hook of its configuration
 * is executed.
 */
#ifndef JR_WORK_TREE_H
#define JR_WORK_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jobrun/error.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/strv.h"
#include "vcs/git.h"

/* A file that differs. */
struct jr_work_file {
    const char *path; /* from the top */
    uint64_t bytes;   /* of what lies there; 0 where nothing does */
    bool untracked;
    bool gone; /* tracked, and nothing of the tree lies there */
};

struct jr_work_tree {
    struct jr_arena arena;
    struct jr_task status;      /* `git status`, while it runs */
    const char *top;            /* absolute, without links */
    const char *index;          /* absolute; there may be none */
    const char *objects;        /* absolute */
    struct jr_strv settings;    /* for every git process: no filters */
    char commit[JR_GIT_HASH];   /* "": there is none yet */
    bool sha256;                /* of its objects; else SHA-1 */
    bool changed;               /* tracked files differ from the commit */
    struct jr_work_file *files; /* that differ from the commit */
    size_t files_count;
    struct jr_strv aside;      /* tracked files that are not to count */
    struct jr_strv hidden;     /* tracked files that git was told not to look at */
    struct jr_strv nested;     /* folders that are repositories themselves */
    struct jr_strv submodules; /* those of them that the index knows */
    struct jr_strv leaving;    /* links whose targets are not in the tree */
    /* Where the whole is asked for: */
    struct jr_buf tracked;  /* paths of tracked files, each with a NUL; some may
                               not be there */
    struct jr_strv ignored; /* files, and folders with a slash at the end */
    struct jr_strv specs;   /* files of the look that are not tracked */
};

/* How to look. Paths are absolute, without links. */
struct jr_work_look {
    const char *log_dir; /* neither it nor anything below it counts */
    char *const *files;  /* these do not, either; NULL-terminated */
    char *const *envp;
    bool whole;                 /* also what does not differ, and is ignored */
    struct jr_task_limit limit; /* of all that git does */
};

/* Find the work tree around the absolute path `folder`, which a `.git` lies in or above. 0, or -1
 * with `err`: git refuses it, its configuration says that its files are elsewhere, or it asks for
 * what jobrun will not do. Release in any case. */
int jr_work_tree_open(struct jr_work_tree *ret, const char *folder, const struct jr_work_look *look,
                      struct jr_error *err);

/* A git command about the tree, with its settings; all is borrowed. */
struct jr_git_command jr_work_tree_command(const struct jr_work_tree *tree, const char *folder,
                                           const char *const *words,
                                           const struct jr_work_look *look);

/* Free what was opened. */
void jr_work_tree_release(struct jr_work_tree *tree);

#endif
