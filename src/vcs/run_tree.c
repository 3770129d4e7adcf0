#include "vcs/run_tree_parts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "vcs/git.h"
#include "vcs/run_tree_files.h"
#include "vcs/work_list.h"

#include "base/banned.h"

/* Submodules in submodules, and all of them. */
enum { MOST_DEPTH = 8, MOST_REPOSITORIES = 64 };

static void drop_paths(struct jr_buf *to, const struct jr_strv *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        jr_repository_add_path(to, paths->items[i]);
}

static bool passes_aside(void *data, const char *path)
{
    const struct repository *repository = data;
    return jr_work_tree_is_aside(&repository->tree, &repository->recording->look, path);
}

/* Whether any text is to be read. */
static bool may_differ(const struct repository *repository)
{
    return repository->tree.files_count > 0 || repository->tree.nested.count > 0;
}

static int read_patch(struct repository *repository, struct jr_error *err)
{
    struct jr_code_reader reader = {.patch = &repository->recording->patch,
                                    .prefix = repository->prefix,
                                    .passes = passes_aside,
                                    .shows = jr_repository_shows,
                                    .data = repository};
    const struct jr_task_sink sink = {jr_code_reader_take, &reader};
    if (!may_differ(repository))
        return 0;
    int failed = jr_snapshot_diff(&repository->snapshot, repository->prefix, &sink, err);
    jr_code_reader_end(&reader);
    if (reader.patch->failed)
        return jr_git_report_memory(err);
    return failed;
}

static int record_repository(struct recording *recording, const char *folder, const char *prefix,
                             unsigned depth, char tree[static JR_GIT_HASH], struct jr_error *err);

/* A repository inside this one counts by the tree of its files, wherever its commit is. */
static int add_nested(struct repository *repository, const char *path, struct jr_error *err)
{
    struct jr_arena *arena = repository->recording->patch.arena;
    char name[JR_GIT_HASH];
    const char *folder = jr_arena_printf(arena, "%s/%s", repository->tree.top, path);
    const char *prefix = jr_arena_printf(arena, "%s%s/", repository->prefix, path);
    if (folder == NULL || prefix == NULL)
        return jr_git_report_memory(err);
    if (record_repository(repository->recording, folder, prefix, repository->depth + 1, name,
                          err) != 0)
        return -1;
    jr_buf_printf(&repository->state, "160000 %s 0\t", name);
    jr_repository_add_path(&repository->state, path);
    return 0;
}

/* The repositories in this one. */
static int add_all_nested(struct repository *repository, struct jr_error *err)
{
    for (size_t i = 0; i < repository->tree.nested.count; i++)
        if (add_nested(repository, repository->tree.nested.items[i], err) != 0)
            return -1;
    return 0;
}

/* The order matters: the patch is made before what it is not to have, and the trees of submodules
 * in place of their commits, are taken in. */
static int snap_files(struct repository *repository, char tree[static JR_GIT_HASH],
                      struct jr_error *err)
{
    const struct jr_snapshot *snapshot = &repository->snapshot;
    drop_paths(&repository->drop, &repository->tree.aside);
    drop_paths(&repository->drop, &repository->tree.hidden);
    if (jr_snapshot_update(snapshot, &repository->drop, &repository->take, err) != 0 ||
        read_patch(repository, err) != 0 ||
        jr_snapshot_hash(snapshot, &repository->hash, err) != 0 ||
        jr_repository_count_converted(repository, err) != 0)
        return -1;
    if (add_all_nested(repository, err) != 0)
        return -1;
    return jr_snapshot_state(snapshot, &repository->state, err) != 0
               ? -1
               : jr_snapshot_tree(snapshot, tree, err);
}

/* While git looks for what differs, the index is copied. */
static int open_snapshot(struct repository *repository, struct jr_error *err)
{
    struct recording *recording = repository->recording;
    struct jr_work_tree *tree = &repository->tree;
    const char *folder = jr_arena_printf(recording->patch.arena, "%s/%u",
                                         recording->request->scratch, recording->repositories);
    if (folder == NULL)
        return jr_git_report_memory(err);
    if (jr_work_tree_look(tree, &recording->look, err) != 0)
        return -1;
    return jr_snapshot_open(&repository->snapshot, tree, &recording->look, folder, err);
}

static int list_repository(struct repository *repository, struct jr_error *err)
{
    const struct jr_work_look *look = &repository->recording->look;
    return jr_work_tree_look(&repository->tree, look, err) != 0 ||
                   jr_repository_list(repository, err) != 0
               ? -1
               : add_all_nested(repository, err);
}

static int read_repository(struct repository *repository, char tree[static JR_GIT_HASH],
                           struct jr_error *err)
{
    tree[0] = '\0';
    if (repository->recording->request->scratch == NULL)
        return list_repository(repository, err);
    int failed = open_snapshot(repository, err);
    if (failed == 0)
        failed = jr_repository_list(repository, err);
    if (failed == 0)
        failed = snap_files(repository, tree, err);
    jr_snapshot_release(&repository->snapshot);
    return failed;
}

static int record_repository(struct recording *recording, const char *folder, const char *prefix,
                             unsigned depth, char tree[static JR_GIT_HASH], struct jr_error *err)
{
    struct repository repository = {.recording = recording, .prefix = prefix, .depth = depth};
    if (depth > MOST_DEPTH || recording->repositories >= MOST_REPOSITORIES)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "%s: more than %d repositories in one another, or %d in all", folder,
                            MOST_DEPTH, MOST_REPOSITORIES);
    recording->repositories++;
    int failed = jr_work_tree_open(&repository.tree, folder, &recording->look, err);
    if (failed == 0)
        failed = read_repository(&repository, tree, err);
    jr_buf_release(&repository.drop);
    jr_buf_release(&repository.take);
    jr_buf_release(&repository.hash);
    jr_buf_release(&repository.state);
    jr_work_tree_release(&repository.tree);
    return failed;
}

/* As git names them: without links. A file that is a link counts by both its names. */
static char **real_files(struct jr_arena *arena, char *const *files)
{
    struct jr_strv real = {0};
    for (size_t i = 0; files != NULL && files[i] != NULL; i++) {
        JR_FREE char *whole = realpath(files[i], NULL);
        const char *slash = strrchr(files[i], '/');
        const char *above = slash == NULL
                                ? NULL
                                : jr_arena_strndup(arena, files[i], (size_t)(slash - files[i] + 1));
        JR_FREE char *folder = above == NULL ? NULL : realpath(above, NULL);
        if (whole != NULL)
            jr_strv_push(&real, arena, jr_arena_strdup(arena, whole));
        if (folder != NULL)
            jr_strv_push(&real, arena, jr_arena_printf(arena, "%s%s", folder, slash));
    }
    return real.items;
}

static int record_found(struct recording *recording, const char *folder, struct jr_error *err)
{
    const struct jr_run_tree_request *request = recording->request;
    struct jr_run_tree *code = recording->code;
    struct jr_code_patch *patch = &recording->patch;
    char tree[JR_GIT_HASH];
    if (request->scratch != NULL && mkdir(request->scratch, 0700) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "%s", request->scratch);
    int failed = record_repository(recording, folder, "", 0, tree, err);
    if (request->scratch != NULL)
        jr_snapshot_remove(request->scratch);
    if (failed != 0)
        return strstr(err->text, folder) != NULL ? -1 : jr_error_wrap(err, "%s", folder);
    jr_code_patch_print(&code->patch, patch);
    code->left_out = patch->left_out;
    code->left_out_count = patch->left_out_count;
    code->dirty = patch->differs;
    if (code->files.failed || code->links.failed)
        return jr_git_report_memory(err);
    if (code->patch.failed || patch->failed || code->arena.failed)
        return jr_git_report_memory(err);
    memcpy(code->tree, tree, sizeof tree);
    return 0;
}

int jr_run_tree_record(struct jr_run_tree *ret, const struct jr_run_tree_request *request,
                       struct jr_error *err)
{
    *ret = JR_RUN_TREE_INIT;
    JR_FREE char *folder = realpath(request->folder, NULL);
    JR_FREE char *top = folder == NULL ? NULL : jr_io_find_above(folder, ".git");
    JR_FREE char *log_dir = request->log_dir == NULL ? NULL : realpath(request->log_dir, NULL);
    if (top == NULL)
        return 0;
    ret->work_tree = true;
    (void)jr_git_commit(ret->commit, folder);
    struct recording recording = {
        .request = request,
        .look = {.log_dir = log_dir,
                 .whole = request->whole,
                 .files = real_files(&ret->arena, request->files),
                 .envp = request->envp,
                 .limit = {.deadline_ns = jr_clock_ns() + (uint64_t)request->limit_ms * 1000000U,
                           .stop_fd = request->stop_fd}},
        .code = ret,
        .patch = {.arena = &ret->arena, .secrets = request->secrets},
    };
    int failed =
        ret->arena.failed ? jr_git_report_memory(err) : record_found(&recording, folder, err);
    jr_code_patch_release(&recording.patch);
    return failed;
}

void jr_run_tree_release(struct jr_run_tree *code)
{
    jr_buf_release(&code->patch);
    jr_buf_release(&code->files);
    jr_buf_release(&code->links);
    jr_arena_release(&code->arena);
}
