/*
 * A work tree as a tree of git's, made beside its repository: a copy of the index and a store of
 * objects in a folder of our own, which reads the repository's objects
 * (GIT_ALTERNATE_OBJECT_DIRECTORIES) and writes none.
 */
#ifndef JR_SNAPSHOT_H
#define JR_SNAPSHOT_H

#include "base/buf.h"
#include "vcs/git.h"
#include "vcs/work_tree.h"

struct jr_snapshot {
    const struct jr_work_tree *tree;
    const struct jr_work_look *look;
    const char *variables[3];
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

/* Remove the folder, which may not be there, with all that is in it. */
void jr_snapshot_remove(const char *folder);

#endif
