#include "vcs/rebuild_tree.h"

#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "vcs/snapshot.h"
#include "vcs/work_tree.h"

#include "base/banned.h"

static int report_memory(struct jr_error *err)
{
    return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
}

/* The commit's files, changed by the patch, as an index. */
static int make_index(const struct jr_snapshot *snapshot,
                      const struct jr_rebuild_request *request,
                      struct jr_error *err)
{
    const char *const read[] = {"read-tree", request->commit, NULL};
    static const char *const empty[] = {"read-tree", "--empty", NULL};
    static const char *const apply[] = {"apply", "--cached",
                                        "--whitespace=nowarn", "-", NULL};
    if (jr_snapshot_run(snapshot, request->commit == NULL ? empty : read, NULL,
                        NULL, err) != 0)
        return jr_error_wrap(err, "the commit of the run");
    if (request->patch->len > 0 &&
        jr_snapshot_run(snapshot, apply, request->patch, NULL, err) != 0)
        return jr_error_wrap(err, "the patch of the run");
    return 0;
}

/* All files of the index, and their paths. */
static int check_out(const struct jr_snapshot *snapshot, struct jr_arena *arena,
                     const struct jr_rebuild_request *request,
                     struct jr_buf *ret_files, struct jr_error *err)
{
    static const char *const list[] = {"ls-files", "-z", NULL};
    const struct jr_git_sink sink = {jr_git_keep, ret_files};
    const char *folder = jr_arena_printf(arena, "%s/tree", request->scratch);
    const char *prefix = jr_arena_printf(arena, "--prefix=%s/", folder);
    const char *const words[] = {"checkout-index", "-a", "-f", "-q",
                                 prefix,           NULL};
    if (folder == NULL || prefix == NULL)
        return report_memory(err);
    if (mkdir(folder, 0700) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "%s", folder);
    if (jr_snapshot_run(snapshot, words, NULL, NULL, err) != 0)
        return -1;
    return jr_snapshot_run(snapshot, list, NULL, &sink, err);
}

/* Take out what did not count, as when the tree was recorded. */
static int drop_others(const struct jr_snapshot *snapshot,
                       const struct jr_buf *paths,
                       const struct jr_work_look *look, struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf drop = JR_BUF_INIT, none = JR_BUF_INIT;
    for (size_t at = 0; at < paths->len; at += strlen(paths->data + at) + 1)
        if (jr_work_tree_is_aside(snapshot->tree, look, paths->data + at))
            jr_buf_add(&drop, paths->data + at, strlen(paths->data + at) + 1);
    return jr_snapshot_update(snapshot, &drop, &none, err);
}

static int rebuild(const struct jr_snapshot *snapshot, struct jr_arena *arena,
                   const struct jr_rebuild_request *request,
                   struct jr_buf *ret_files, struct jr_error *err)
{
    char name[JR_GIT_HASH];
    if (make_index(snapshot, request, err) != 0 ||
        check_out(snapshot, arena, request, ret_files, err) != 0 ||
        drop_others(snapshot, ret_files, snapshot->look, err) != 0 ||
        jr_snapshot_tree(snapshot, name, err) != 0)
        return -1;
    if (strcmp(name, request->tree) == 0)
        return 0;
    return jr_error_set(err, JR_STATUS_LAUNCH,
                        "the commit and the patch of the run make another "
                        "tree, %.12s, than the one that was recorded, %.12s "
                        "(submodules, for example, are in neither)",
                        name, request->tree);
}

int jr_tree_rebuild(const struct jr_rebuild_request *request,
                    struct jr_buf *ret_files, struct jr_error *err)
{
    const struct jr_work_look look = {.log_dir = request->log_dir,
                                      .files = request->files,
                                      .envp = request->envp,
                                      .limit = request->limit};
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_work_tree tree;
    struct jr_snapshot snapshot = {0};
    const char *folder = jr_arena_printf(&arena, "%s/git", request->scratch);
    int failed = jr_work_tree_open(&tree, request->top, &look, err);
    if (failed == 0 && mkdir(request->scratch, 0700) != 0)
        failed = jr_error_sys(err, JR_STATUS_LAUNCH, "%s", request->scratch);
    tree.index = jr_arena_printf(&arena, "%s/none", request->scratch);
    if (failed == 0)
        failed = folder == NULL
                     ? report_memory(err)
                     : jr_snapshot_open(&snapshot, &tree, &look, folder, err);
    if (failed == 0)
        failed = rebuild(&snapshot, &arena, request, ret_files, err);
    jr_snapshot_release(&snapshot);
    jr_work_tree_release(&tree);
    jr_arena_release(&arena);
    return failed;
}
