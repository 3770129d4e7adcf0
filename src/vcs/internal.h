/*
 * What the files of this folder share: a work tree as it stands, the same as a tree of git's, and
 * its difference to the commit as a patch.
 */
#ifndef JR_VCS_INTERNAL_H
#define JR_VCS_INTERNAL_H

#include "vcs/git.h"
#include "vcs/run_tree.h"

/* A git work tree as it stands: where it is, and which of its files are not as its index and its
 * commit have them. Nothing of it is written, and no filter, monitor or hook of its configuration
 * is executed. */

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

/* Find what the index says: what is aside, hidden, and a submodule. Meanwhile git looks for what
 * differs. */
int jr_work_tree_look(struct jr_work_tree *tree, const struct jr_work_look *look,
                      struct jr_error *err);

/* Find what differs, after jr_work_tree_look: all the rest. */
int jr_work_tree_list(struct jr_work_tree *tree, const struct jr_work_look *look,
                      struct jr_error *err);

/* Whether the path, from the top, is one that does not count. */
bool jr_work_tree_is_aside(const struct jr_work_tree *tree, const struct jr_work_look *look,
                           const char *path);

/* A work tree as a tree of git's, made beside its repository: a copy of the index and a store of
 * objects in a folder of our own, which reads the repository's objects
 * (GIT_ALTERNATE_OBJECT_DIRECTORIES) and writes none. */

struct jr_snapshot {
    const struct jr_work_tree *tree;
    const struct jr_work_look *look;
    const char *variables[4]; /* NULL-terminated */
    struct jr_arena arena;
};

/* Copy the index of the tree into `folder`, which is absolute, is made, and is to be removed by
 * jr_snapshot_remove. Both are borrowed, as is `look`. */
int jr_snapshot_open(struct jr_snapshot *ret, const struct jr_work_tree *tree,
                     const struct jr_work_look *look, const char *folder, struct jr_error *err);

/* Run a git command in it. `input` and `sink` may be NULL. */
int jr_snapshot_run(const struct jr_snapshot *snapshot, const char *const *words,
                    const struct jr_buf *input, const struct jr_task_sink *sink,
                    struct jr_error *err);

/* Take the paths of `drop` out of it, and then those of `take` in as they lie, or out where nothing
 * does. Each ends with a NUL. The contents are kept, for the difference. */
int jr_snapshot_update(const struct jr_snapshot *snapshot, const struct jr_buf *drop,
                       const struct jr_buf *take, struct jr_error *err);

/* Take paths in by their hash alone. */
int jr_snapshot_hash(const struct jr_snapshot *snapshot, const struct jr_buf *paths,
                     struct jr_error *err);

/* Take entries as they are stated: "MODE OBJECT 0<tab>PATH", each with a NUL.
 */
int jr_snapshot_state(const struct jr_snapshot *snapshot, const struct jr_buf *entries,
                      struct jr_error *err);

/* Append the names of the contents of files, a line each: as git converts them (line ends,
 * encodings), or as they lie. The paths end with a NUL each, and are regular files. */
int jr_snapshot_names(const struct jr_snapshot *snapshot, const struct jr_buf *paths,
                      bool as_they_lie, struct jr_buf *ret, struct jr_error *err);

/* Print the difference of the commit to it: the entries as `git diff-index
 * --raw -z` has them, a NUL, and the text of each. `prefix` is before every
 * path of the text. */
int jr_snapshot_diff(const struct jr_snapshot *snapshot, const char *prefix,
                     const struct jr_task_sink *sink, struct jr_error *err);

/* The name of the whole as a tree. */
int jr_snapshot_tree(const struct jr_snapshot *snapshot, char ret[static JR_GIT_HASH],
                     struct jr_error *err);

/* Free it; the folder stays. */
void jr_snapshot_release(struct jr_snapshot *snapshot);

/* The difference of a work tree to its commit as a patch of bounded size, without secrets: whole
 * files are left out, the largest first, and which they are is said. */

/* The files of a difference that have been read so far. */
struct jr_code_piece {
    const char *path;
    struct jr_buf text;
};

struct jr_code_patch {
    struct jr_arena *arena; /* of the paths */
    const struct jr_secrets *secrets;
    struct jr_code_piece *pieces; /* without those that were left out */
    size_t count;
    size_t bytes; /* of all of them */
    struct jr_left_out *left_out;
    size_t left_out_count;
    bool differs; /* there was a file, in it or left out */
    bool failed;  /* no memory */
};

/* Add that a file is left out. The path is copied. */
void jr_code_patch_leave(struct jr_code_patch *patch, const char *path, enum jr_left_out_why why);

/* Take a difference, as jr_snapshot_diff prints it, piece by piece. */
struct jr_code_reader {
    struct jr_code_patch *patch;
    const char *prefix; /* before every path */
    /* Whether the file of that path is not to be in it, and does not differ. */
    bool (*passes)(void *data, const char *path);
    /* Whether the file of that path, with the prefix, may be in it though it is no text, in which
     * secrets cannot be replaced. NULL: none may. */
    bool (*shows)(void *data, const char *path);
    void *data;

    struct jr_buf partial; /* of a record or a line */
    const char **paths;    /* of the texts, in their order; NULL: passed over */
    size_t paths_count, next;
    bool text;                  /* the records have ended */
    bool cut;                   /* the line goes on that was taken in part */
    bool expected;              /* a path comes next */
    char state;                 /* of the file whose path it is */
    struct jr_code_piece piece; /* that is being read */
    bool open, large;
    bool binary;   /* it is no text, and is left out */
    bool encoded;  /* it is no text, and is in the patch: */
    bool complete; /* and what follows is what it was before */
};

/* A jr_task_sink's `take`; its data is the reader. */
int jr_code_reader_take(void *data, const char *bytes, size_t len);

/* Add what was read last, and free the reader. */
void jr_code_reader_end(struct jr_code_reader *reader);

/* Append the text of all pieces, in the order of their paths' reading. */
void jr_code_patch_print(struct jr_buf *out, const struct jr_code_patch *patch);

/* Free the pieces. */
void jr_code_patch_release(struct jr_code_patch *patch);

#endif
