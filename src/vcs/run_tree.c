#include "vcs/run_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "vcs/snapshot.h"
#include "vcs/work_tree.h"

#include "base/banned.h"

/* Submodules in submodules, and all of them. */
enum { MOST_DEPTH = 8, MOST_REPOSITORIES = 64 };

/* A file that is not tracked and larger than the patch is left out at once; a
 * tracked one may have a small difference. */
static const uint64_t MOST_TRACKED = 16 << 20;
enum { HEAD_BYTES = 128, MOST_NAMED = 5 };

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

static int report_memory(struct jr_error *err)
{
    return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
}

static void add_path(struct jr_buf *to, const char *path)
{
    jr_buf_add(to, path, strlen(path) + 1);
}

static int compare_sizes(const void *a, const void *b)
{
    const struct jr_work_file *left = a, *right = b;
    if (left->bytes != right->bytes)
        return left->bytes < right->bytes ? -1 : 1;
    return strcmp(left->path, right->path);
}

/* Too much to read before each run, so that it is no code. */
static int refuse_size(const struct repository *repository,
                       struct jr_error *err)
{
    const struct jr_work_tree *tree = &repository->tree;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    size_t named = 0;
    for (size_t i = tree->files_count; i > 0 && named < MOST_NAMED;
         i--, named++) {
        const struct jr_work_file *file = &tree->files[i - 1];
        jr_buf_printf(&text, "%s%s", named == 0 ? "" : ", ",
                      repository->prefix);
        jr_buf_safe(&text, file->path);
        jr_buf_printf(&text, " (%.1f MiB)", (double)file->bytes / (1 << 20));
    }
    if (tree->files_count > named)
        jr_buf_printf(&text, " and %zu more", tree->files_count - named);
    return jr_error_set(
        err, JR_STATUS_LAUNCH,
        "%.1f MiB of files are changed or not tracked, more than %.0f MiB: %s; "
        "name what is no code in .gitignore",
        (double)repository->recording->bytes / (1 << 20),
        (double)JR_RUN_TREE_MOST / (1 << 20), text.failed ? "" : text.data);
}

/* Whether the file has a secret assigned in it. One that cannot be read is not
 * shown, either. */
static bool has_secret(const struct repository *repository, const char *path)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_arena arena = JR_ARENA_INIT;
    const char *whole =
        jr_arena_printf(&arena, "%s/%s", repository->tree.top, path);
    char link[8];
    bool secret = true;
    if (whole != NULL && readlink(whole, link, sizeof link) >= 0)
        secret = false;
    else if (whole != NULL &&
             jr_io_read_file(&text, AT_FDCWD, whole, JR_PATCH_MOST, NULL) == 0)
        secret = jr_secret_lines_assign(repository->recording->request->secrets,
                                        text.data, text.len);
    jr_arena_release(&arena);
    return secret;
}

static void leave_out(struct repository *repository, const char *path,
                      enum jr_left_out_why why)
{
    struct jr_code_patch *patch = &repository->recording->patch;
    const char *whole =
        jr_arena_printf(patch->arena, "%s%s", repository->prefix, path);
    if (whole == NULL)
        patch->failed = true;
    else
        jr_code_patch_leave(patch, whole, why);
}

/* Which files the patch can have: a new file is in it with all its bytes, so
 * of these the smallest, as far as there is room. */
static void sort_files(struct repository *repository)
{
    struct jr_work_tree *tree = &repository->tree;
    uint64_t room = JR_PATCH_MOST;
    if (tree->files_count > 1)
        qsort(tree->files, tree->files_count, sizeof *tree->files,
              compare_sizes);
    for (size_t i = 0; i < tree->files_count; i++) {
        const struct jr_work_file *file = &tree->files[i];
        bool fits = file->bytes <= MOST_TRACKED;
        if (file->untracked) {
            fits = file->bytes + HEAD_BYTES <= room;
            room -= fits ? file->bytes + HEAD_BYTES : 0;
        }
        bool secret =
            fits && file->untracked && has_secret(repository, file->path);
        if (!fits || secret)
            leave_out(repository, file->path,
                      secret ? JR_LEFT_OUT_SECRET : JR_LEFT_OUT_SIZE);
        add_path(fits && !secret ? &repository->take : &repository->hash,
                 file->path);
        repository->recording->bytes += file->bytes;
    }
}

static void drop_paths(struct jr_buf *to, const struct jr_strv *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        add_path(to, paths->items[i]);
}

static bool passes_aside(void *data, const char *path)
{
    const struct repository *repository = data;
    return jr_work_tree_is_aside(&repository->tree,
                                 &repository->recording->look, path);
}

/* Whether a file that is no text has no secret, as far as that can be read in
 * it. The path has the prefix of the repository. */
static bool shows_bytes(void *data, const char *path)
{
    const struct repository *repository = data;
    JR_BUF_CLEANUP struct jr_buf bytes = JR_BUF_INIT;
    struct jr_arena arena = JR_ARENA_INIT;
    const char *whole =
        jr_arena_printf(&arena, "%s/%s", repository->tree.top,
                        path + strlen(repository->prefix));
    struct jr_error why = {0};
    bool shows =
        whole != NULL && jr_io_read_file(&bytes, AT_FDCWD, whole, MOST_TRACKED,
                                         &why) == 0;
    jr_arena_release(&arena);
    if (!shows)
        return why.sys == ENOENT;
    for (size_t i = 0; i < bytes.len; i++)
        if (bytes.data[i] == '\0')
            bytes.data[i] = '\n';
    return !jr_secret_lines_redact(repository->recording->request->secrets,
                                   &bytes) &&
           !bytes.failed;
}

/* Whether any text is to be read. */
static bool may_differ(const struct repository *repository)
{
    return repository->tree.files_count > 0 ||
           repository->tree.nested.count > 0;
}

static int read_patch(struct repository *repository, struct jr_error *err)
{
    struct jr_code_reader reader = {.patch = &repository->recording->patch,
                                    .prefix = repository->prefix,
                                    .passes = passes_aside,
                                    .shows = shows_bytes,
                                    .data = repository};
    const struct jr_git_sink sink = {jr_code_reader_take, &reader};
    if (!may_differ(repository))
        return 0;
    int failed =
        jr_snapshot_diff(&repository->snapshot, repository->prefix, &sink, err);
    jr_code_reader_end(&reader);
    if (reader.patch->failed)
        return report_memory(err);
    return failed;
}

static int record_repository(struct recording *recording, const char *folder,
                             const char *prefix, unsigned depth,
                             char tree[static JR_GIT_HASH],
                             struct jr_error *err);

/* A repository inside this one counts by the tree of its files, wherever its
 * commit is. */
static int add_nested(struct repository *repository, const char *path,
                      struct jr_error *err)
{
    struct jr_arena *arena = repository->recording->patch.arena;
    char name[JR_GIT_HASH];
    const char *folder =
        jr_arena_printf(arena, "%s/%s", repository->tree.top, path);
    const char *prefix =
        jr_arena_printf(arena, "%s%s/", repository->prefix, path);
    if (folder == NULL || prefix == NULL)
        return report_memory(err);
    if (record_repository(repository->recording, folder, prefix,
                          repository->depth + 1, name, err) != 0)
        return -1;
    jr_buf_printf(&repository->state, "160000 %s 0\t", name);
    add_path(&repository->state, path);
    return 0;
}

/* Whether the index knows the folder as a submodule. */
static void take_nested(struct repository *repository)
{
    const struct jr_strv *nested = &repository->tree.nested;
    for (size_t i = 0; i < nested->count; i++)
        if (jr_work_tree_is_submodule(&repository->tree, nested->items[i]))
            add_path(&repository->take, nested->items[i]);
        else
            leave_out(repository, nested->items[i], JR_LEFT_OUT_REPOSITORY);
}

/* The order matters: the patch is made before what it is not to have, and the
 * trees of submodules in place of their commits, are taken in. */
static int snap_files(struct repository *repository,
                      char tree[static JR_GIT_HASH], struct jr_error *err)
{
    const struct jr_snapshot *snapshot = &repository->snapshot;
    drop_paths(&repository->drop, &repository->tree.aside);
    drop_paths(&repository->drop, &repository->tree.hidden);
    if (jr_snapshot_update(snapshot, &repository->drop, &repository->take,
                           err) != 0 ||
        read_patch(repository, err) != 0 ||
        jr_snapshot_hash(snapshot, &repository->hash, err) != 0)
        return -1;
    for (size_t i = 0; i < repository->tree.nested.count; i++)
        if (add_nested(repository, repository->tree.nested.items[i], err) != 0)
            return -1;
    return jr_snapshot_state(snapshot, &repository->state, err) != 0
               ? -1
               : jr_snapshot_tree(snapshot, tree, err);
}

/* What is known of the work tree, whether or not it can be recorded. */
static void note_top(struct recording *recording,
                     const struct jr_work_tree *tree)
{
    struct jr_run_tree *code = recording->code;
    memcpy(code->commit, tree->commit, JR_GIT_HASH);
    code->listed = true;
    code->changed = tree->changed;
    code->top = jr_arena_strdup(recording->patch.arena, tree->top);
}

/* Find what differs, and what becomes of each file of it. */
static int list_files(struct repository *repository, struct jr_error *err)
{
    struct recording *recording = repository->recording;
    const struct jr_work_tree *tree = &repository->tree;
    if (jr_work_tree_list(&repository->tree, &recording->look, err) != 0)
        return -1;
    if (repository->depth == 0)
        note_top(recording, tree);
    take_nested(repository);
    sort_files(repository);
    for (size_t i = 0; i < tree->leaving.count; i++)
        leave_out(repository, tree->leaving.items[i], JR_LEFT_OUT_LINK);
    if (recording->bytes > JR_RUN_TREE_MOST)
        return refuse_size(repository, err);
    return recording->patch.failed ? report_memory(err) : 0;
}

/* While git looks for what differs, the index is copied. */
static int open_snapshot(struct repository *repository, struct jr_error *err)
{
    struct recording *recording = repository->recording;
    struct jr_work_tree *tree = &repository->tree;
    const char *folder =
        jr_arena_printf(recording->patch.arena, "%s/%u",
                        recording->request->scratch, recording->repositories);
    if (folder == NULL)
        return report_memory(err);
    if (jr_work_tree_look(tree, &recording->look, err) != 0)
        return -1;
    return jr_snapshot_open(&repository->snapshot, tree, &recording->look,
                            folder, err);
}

static int read_repository(struct repository *repository,
                           char tree[static JR_GIT_HASH], struct jr_error *err)
{
    int failed = open_snapshot(repository, err);
    if (failed == 0)
        failed = list_files(repository, err);
    if (failed == 0)
        failed = snap_files(repository, tree, err);
    jr_snapshot_release(&repository->snapshot);
    return failed;
}

static int record_repository(struct recording *recording, const char *folder,
                             const char *prefix, unsigned depth,
                             char tree[static JR_GIT_HASH],
                             struct jr_error *err)
{
    struct repository repository = {
        .recording = recording, .prefix = prefix, .depth = depth};
    if (depth > MOST_DEPTH || recording->repositories >= MOST_REPOSITORIES)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "%s: more than %d repositories in one another, or "
                            "%d in all",
                            folder, MOST_DEPTH, MOST_REPOSITORIES);
    recording->repositories++;
    int failed =
        jr_work_tree_open(&repository.tree, folder, &recording->look, err);
    if (failed == 0)
        failed = read_repository(&repository, tree, err);
    jr_buf_release(&repository.drop);
    jr_buf_release(&repository.take);
    jr_buf_release(&repository.hash);
    jr_buf_release(&repository.state);
    jr_work_tree_release(&repository.tree);
    return failed;
}

/* As git names them: without links. A file that is a link counts by both its
 * names. */
static char **real_files(struct jr_arena *arena, char *const *files)
{
    struct jr_strv real = {0};
    for (size_t i = 0; files != NULL && files[i] != NULL; i++) {
        JR_FREE char *whole = realpath(files[i], NULL);
        const char *slash = strrchr(files[i], '/');
        const char *above =
            slash == NULL ? NULL
                          : jr_arena_strndup(arena, files[i],
                                             (size_t)(slash - files[i] + 1));
        JR_FREE char *folder = above == NULL ? NULL : realpath(above, NULL);
        if (whole != NULL)
            jr_strv_push(&real, arena, jr_arena_strdup(arena, whole));
        if (folder != NULL)
            jr_strv_push(&real, arena,
                         jr_arena_printf(arena, "%s%s", folder, slash));
    }
    return real.items;
}

static int record_found(struct recording *recording, const char *folder,
                        struct jr_error *err)
{
    const struct jr_run_tree_request *request = recording->request;
    struct jr_run_tree *code = recording->code;
    struct jr_code_patch *patch = &recording->patch;
    char tree[JR_GIT_HASH];
    if (mkdir(request->scratch, 0700) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "%s", request->scratch);
    int failed = record_repository(recording, folder, "", 0, tree, err);
    jr_snapshot_remove(request->scratch);
    if (failed != 0)
        return strstr(err->text, folder) != NULL
                   ? -1
                   : jr_error_wrap(err, "%s", folder);
    jr_code_patch_print(&code->patch, patch);
    code->left_out = patch->left_out;
    code->left_out_count = patch->left_out_count;
    code->dirty = patch->differs;
    if (code->patch.failed || patch->failed || code->arena.failed)
        return report_memory(err);
    memcpy(code->tree, tree, sizeof tree);
    return 0;
}

int jr_run_tree_record(struct jr_run_tree *ret,
                       const struct jr_run_tree_request *request,
                       struct jr_error *err)
{
    *ret = JR_RUN_TREE_INIT;
    JR_FREE char *folder = realpath(request->folder, NULL);
    JR_FREE char *top =
        folder == NULL ? NULL : jr_io_find_above(folder, ".git");
    JR_FREE char *log_dir =
        request->log_dir == NULL ? NULL : realpath(request->log_dir, NULL);
    if (top == NULL)
        return 0;
    ret->work_tree = true;
    (void)jr_git_commit(ret->commit, folder);
    struct recording recording = {
        .request = request,
        .look = {.log_dir = log_dir,
                 .files = real_files(&ret->arena, request->files),
                 .envp = request->envp,
                 .limit = {.deadline_ns = jr_clock_ns() +
                                          (uint64_t)request->limit_ms *
                                              1000000U,
                           .stop_fd = request->stop_fd}},
        .code = ret,
        .patch = {.arena = &ret->arena, .secrets = request->secrets},
    };
    int failed = ret->arena.failed ? report_memory(err)
                                   : record_found(&recording, folder, err);
    jr_code_patch_release(&recording.patch);
    return failed;
}

void jr_run_tree_release(struct jr_run_tree *code)
{
    jr_buf_release(&code->patch);
    jr_arena_release(&code->arena);
}
