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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jobrun/error.h>

#include "base/arena.h"
#include "base/buf.h"
#include "vcs/git.h"
#include "vcs/secret_lines.h"

enum { JR_PATCH_MOST = 1 << 20 }; /* bytes of all of it */

/* Why a file is not in the patch as it is, and how the record says it. */
#define JR_LEFT_OUTS(X)                                                                            \
    X(SIZE, "size")             /* the patch would be too large */                                 \
    X(BINARY, "binary")         /* it is no text, and may have a secret in it */                   \
    X(SECRET, "secret")         /* it is not tracked, and has a secret in it */                    \
    X(REDACTED, "redacted")     /* the secrets in it are replaced */                               \
    X(CONVERTED, "converted")   /* git converts its line ends or its encoding */                   \
    X(LINK, "link")             /* what this link leads to is not in the work tree */              \
    X(REPOSITORY, "repository") /* it is a repository that is not tracked */

#define JR_LEFT_OUT_ENUM(name, word) JR_LEFT_OUT_##name,
enum jr_left_out_why { JR_LEFT_OUTS(JR_LEFT_OUT_ENUM) };

/* The word of a reason, as the record has it. Static text. */
const char *jr_left_out_word(enum jr_left_out_why why);

struct jr_left_out {
    const char *path;
    enum jr_left_out_why why;
};

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

/* Remove the folder, which may not be there, with all that is in it. */
void jr_snapshot_remove(const char *folder);

/*
 * Whether the files of a work tree are as they were when it was recorded, by what stat(2) says of
 * them and of their folders: of a thousand files within two milliseconds, where git's processes
 * take twenty.
 */

/* Make the stamp of a tree that was recorded with `whole`. False where it would not be reliable: a
 * file was changed at or after `recorded_ns` (CLOCK_REALTIME) less the steps of the clock of files,
 * the files are not known, or there are too many of them. */
bool jr_tree_stamp_make(uint64_t *ret, const struct jr_run_tree *code, uint64_t recorded_ns);

/* Whether the tree would still have that stamp. */
bool jr_tree_stamp_holds(uint64_t stamp, const struct jr_run_tree *code);

/*
 * The tree of a run once more, out of its commit and its patch: as files beside the repository,
 * which is not written to, and proved by its name.
 */

/* What was recorded. Paths are absolute. */
struct jr_rebuild_request {
    const char *top;            /* of the repository */
    const char *commit;         /* NULL: there was none yet */
    const char *tree;           /* the name that it has to have */
    const struct jr_buf *patch; /* may be empty */
    char *const *files;         /* did not count; NULL-terminated, or NULL */
    const char *log_dir;        /* did not count; NULL: none */
    const char *scratch;        /* is made, and removed by who called; its parent is
                                   there */
    char *const *envp;
    struct jr_task_limit limit;
};

/* Make the files in the folder `tree` of the scratch folder, and append their paths to `ret_files`,
 * each with a NUL. -1 with `err` where the commit is not there, the patch does not fit it, or both
 * make another tree. */
int jr_tree_rebuild(const struct jr_rebuild_request *request, struct jr_buf *ret_files,
                    struct jr_error *err);

#endif
