#include "vcs/run_tree_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "vcs/git.h"
#include "vcs/work_list.h"

#include "base/banned.h"

/* A file that is not tracked and larger than the patch is left out at once; a tracked one may have
 * a small difference. */
static const uint64_t MOST_TRACKED = 16 << 20;
enum { HEAD_BYTES = 128, MOST_NAMED = 5, MOST_TRIES = 3 };

void jr_repository_add_path(struct jr_buf *to, const char *path)
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
static int refuse_size(const struct repository *repository, struct jr_error *err)
{
    const struct jr_work_tree *tree = &repository->tree;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    size_t named = 0;
    for (size_t i = tree->files_count; i > 0 && named < MOST_NAMED; i--, named++) {
        const struct jr_work_file *file = &tree->files[i - 1];
        jr_buf_printf(&text, "%s%s", named == 0 ? "" : ", ", repository->prefix);
        jr_buf_safe(&text, file->path);
        jr_buf_printf(&text, " (%.1f MiB)", (double)file->bytes / (1 << 20));
    }
    if (tree->files_count > named)
        jr_buf_printf(&text, " and %zu more", tree->files_count - named);
    return jr_error_set(err, JR_STATUS_LAUNCH,
                        "%.1f MiB of files are changed or not tracked, more than %.0f MiB: %s; "
                        "name what is no code in .gitignore",
                        (double)repository->recording->bytes / (1 << 20),
                        (double)JR_RUN_TREE_MOST / (1 << 20), text.failed ? "" : text.data);
}

/* Whether the file has a secret assigned in it. One that cannot be read is not shown, either. */
static bool has_secret(const struct repository *repository, const char *path)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_arena arena = JR_ARENA_INIT;
    const char *whole = jr_arena_printf(&arena, "%s/%s", repository->tree.top, path);
    char link[8];
    bool secret = true;
    if (whole != NULL && readlink(whole, link, sizeof link) >= 0)
        secret = false;
    else if (whole != NULL && jr_io_read_file(&text, AT_FDCWD, whole, JR_PATCH_MOST, NULL) == 0)
        secret =
            jr_secret_lines_assign(repository->recording->request->secrets, text.data, text.len);
    jr_arena_release(&arena);
    return secret;
}

static void leave_out(struct repository *repository, const char *path, enum jr_left_out_why why)
{
    struct jr_code_patch *patch = &repository->recording->patch;
    const char *whole = jr_arena_printf(patch->arena, "%s%s", repository->prefix, path);
    if (whole == NULL)
        patch->failed = true;
    else
        jr_code_patch_leave(patch, whole, why);
}

/* Add the path to what a copy is made of, where there is to be one. */
static void copy_path(const struct repository *repository, struct jr_buf *to, const char *path)
{
    if (!repository->recording->request->whole)
        return;
    jr_buf_str(to, repository->prefix);
    jr_repository_add_path(to, path);
}

/* What a copy has besides the files that differ. */
static void copy_rest(const struct repository *repository)
{
    const struct jr_work_tree *tree = &repository->tree;
    struct jr_run_tree *code = repository->recording->code;
    for (size_t at = 0; at < tree->tracked.len; at += strlen(tree->tracked.data + at) + 1)
        copy_path(repository, &code->files, tree->tracked.data + at);
    for (size_t i = 0; i < tree->specs.count; i++)
        if (!has_secret(repository, tree->specs.items[i]))
            copy_path(repository, &code->files, tree->specs.items[i]);
    for (size_t i = 0; i < tree->ignored.count; i++)
        copy_path(repository, &code->links, tree->ignored.items[i]);
}

/* What is to be done with the path in the index. Nothing is looked for where a file is gone: a link
 * to elsewhere may lie in its way. */
static struct jr_buf *place_of(struct repository *repository, const struct jr_work_file *file,
                               bool shown)
{
    if (file->gone)
        return &repository->drop;
    return shown ? &repository->take : &repository->hash;
}

/* Which files the patch can have: a new file is in it with all its bytes, so of these the smallest,
 * as far as there is room. */
static void sort_files(struct repository *repository)
{
    struct jr_work_tree *tree = &repository->tree;
    uint64_t room = JR_PATCH_MOST;
    if (tree->files_count > 1)
        qsort(tree->files, tree->files_count, sizeof *tree->files, compare_sizes);
    for (size_t i = 0; i < tree->files_count; i++) {
        const struct jr_work_file *file = &tree->files[i];
        bool fits = file->bytes <= MOST_TRACKED;
        if (file->untracked) {
            fits = file->bytes + HEAD_BYTES <= room;
            room -= fits ? file->bytes + HEAD_BYTES : 0;
        }
        bool looked =
            fits || (repository->recording->request->whole && file->bytes <= JR_PATCH_MOST);
        bool secret = looked && file->untracked && has_secret(repository, file->path);
        if (file->untracked && !secret)
            copy_path(repository, &repository->recording->code->files, file->path);
        if (!fits || secret)
            leave_out(repository, file->path, secret ? JR_LEFT_OUT_SECRET : JR_LEFT_OUT_SIZE);
        jr_repository_add_path(place_of(repository, file, fits && !secret), file->path);
        repository->recording->bytes += file->bytes;
    }
}

/* Whether a file that is no text has no secret, as far as that can be read in it. The path has the
 * prefix of the repository. */
bool jr_repository_shows(void *data, const char *path)
{
    const struct repository *repository = data;
    JR_BUF_CLEANUP struct jr_buf bytes = JR_BUF_INIT;
    struct jr_arena arena = JR_ARENA_INIT;
    const char *whole =
        jr_arena_printf(&arena, "%s/%s", repository->tree.top, path + strlen(repository->prefix));
    struct jr_error why = {0};
    bool shows = whole != NULL && jr_io_read_file(&bytes, AT_FDCWD, whole, MOST_TRACKED, &why) == 0;
    jr_arena_release(&arena);
    if (!shows)
        return why.sys == ENOENT;
    for (size_t i = 0; i < bytes.len; i++)
        if (bytes.data[i] == '\0')
            bytes.data[i] = '\n';
    return !jr_secret_lines_redact(repository->recording->request->secrets, &bytes) &&
           !bytes.failed;
}

/* Whether the index knows the folder as a submodule. */
static void take_nested(struct repository *repository)
{
    const struct jr_strv *nested = &repository->tree.nested;
    for (size_t i = 0; i < nested->count; i++)
        if (jr_work_tree_is_submodule(&repository->tree, nested->items[i]))
            jr_repository_add_path(&repository->take, nested->items[i]);
        else
            leave_out(repository, nested->items[i], JR_LEFT_OUT_REPOSITORY);
}

/* What is known of the work tree, whether or not it can be recorded. */
static void note_top(struct recording *recording, const struct jr_work_tree *tree)
{
    struct jr_run_tree *code = recording->code;
    memcpy(code->commit, tree->commit, JR_GIT_HASH);
    code->listed = true;
    code->changed = tree->changed;
    code->top = jr_arena_strdup(recording->patch.arena, tree->top);
}

/* Find what differs, and what becomes of each file of it. */
int jr_repository_list(struct repository *repository, struct jr_error *err)
{
    struct recording *recording = repository->recording;
    const struct jr_work_tree *tree = &repository->tree;
    if (jr_work_tree_list(&repository->tree, &recording->look, err) != 0)
        return -1;
    if (repository->depth == 0)
        note_top(recording, tree);
    take_nested(repository);
    sort_files(repository);
    copy_rest(repository);
    for (size_t i = 0; i < tree->leaving.count; i++)
        leave_out(repository, tree->leaving.items[i], JR_LEFT_OUT_LINK);
    if (recording->bytes > JR_RUN_TREE_MOST)
        return refuse_size(repository, err);
    return recording->patch.failed ? jr_git_report_memory(err) : 0;
}

/* The files that differ, less links and folders, each with a NUL. */
static void list_regular_files(const struct repository *repository, struct jr_buf *ret)
{
    const struct jr_work_tree *tree = &repository->tree;
    struct stat st;
    JR_CLOSE int top = open(tree->top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < tree->files_count; i++)
        if (!tree->files[i].gone &&
            fstatat(top, tree->files[i].path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            jr_repository_add_path(ret, tree->files[i].path);
}

/* The line at *at of names, which goes to the next; NULL: it is no name. */
static const char *take_name(const struct jr_buf *names, size_t *at, size_t len)
{
    const char *name = names->data == NULL ? NULL : names->data + *at;
    if (name == NULL || *at + len >= names->len || name[len] != '\n')
        return NULL;
    *at += len + 1;
    return name;
}

static void state_converted(struct repository *repository, const char *path, const char *name,
                            size_t len)
{
    struct stat st;
    JR_CLOSE int top = open(repository->tree.top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fstatat(top, path, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    jr_buf_printf(&repository->state, "%s %.*s 0\t",
                  (st.st_mode & S_IXUSR) != 0 ? "100755" : "100644", (int)len, name);
    jr_repository_add_path(&repository->state, path);
    leave_out(repository, path, JR_LEFT_OUT_CONVERTED);
}

/* Their names as git converts them and as they lie. A file that goes away meanwhile ends git, and
 * then those that are left are named. */
static int name_regular_files(const struct repository *repository, struct jr_buf *ret_paths,
                              struct jr_buf *ret_made, struct jr_buf *ret_own, struct jr_error *err)
{
    const struct jr_snapshot *snapshot = &repository->snapshot;
    for (int i = 0; i < MOST_TRIES; i++) {
        jr_buf_clear(ret_paths);
        jr_buf_clear(ret_made);
        jr_buf_clear(ret_own);
        list_regular_files(repository, ret_paths);
        if (ret_paths->len == 0 ||
            (jr_snapshot_names(snapshot, ret_paths, false, ret_made, err) == 0 &&
             jr_snapshot_names(snapshot, ret_paths, true, ret_own, err) == 0))
            return 0;
        if (err->sys != 0)
            break;
    }
    return -1;
}

int jr_repository_count_converted(struct repository *repository, struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf paths = JR_BUF_INIT, made = JR_BUF_INIT, own = JR_BUF_INIT;
    const size_t len = repository->tree.sha256 ? 64 : 40;
    if (name_regular_files(repository, &paths, &made, &own, err) != 0)
        return -1;
    for (size_t at = 0, a = 0, b = 0; at < paths.len; at += strlen(paths.data + at) + 1) {
        const char *name = take_name(&own, &b, len);
        const char *other = take_name(&made, &a, len);
        if (name == NULL || other == NULL)
            return jr_error_set(err, JR_STATUS_LAUNCH, "git hash-object printed no name of a file");
        if (memcmp(name, other, len) != 0)
            state_converted(repository, paths.data + at, name, len);
    }
    return repository->state.failed ? jr_git_report_memory(err) : 0;
}
