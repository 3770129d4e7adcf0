/*
 * The tree of a run once more, out of its commit and its patch: as files beside
 * the repository, which is not written to, and proved by its name.
 */
#ifndef JR_REBUILD_TREE_H
#define JR_REBUILD_TREE_H

#include "base/buf.h"
#include "vcs/git_output.h"
#include <jobrun/error.h>

/* What was recorded. Paths are absolute. */
struct jr_rebuild_request {
    const char *top;            /* of the repository */
    const char *commit;         /* NULL: there was none yet */
    const char *tree;           /* the name that it has to have */
    const struct jr_buf *patch; /* may be empty */
    char *const *files;         /* did not count; NULL-terminated, or NULL */
    const char *log_dir;        /* did not count; NULL: none */
    const char *scratch; /* is made, and removed by who called; its parent is
                            there */
    char *const *envp;
    struct jr_git_limit limit;
};

/* Make the files in the folder `tree` of the scratch folder, and append their
 * paths to `ret_files`, each with a NUL. -1 with `err` where the commit is not
 * there, the patch does not fit it, or both make another tree. */
int jr_tree_rebuild(const struct jr_rebuild_request *request,
                    struct jr_buf *ret_files, struct jr_error *err);

#endif
