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
#include "vcs/internal.h"

#include "base/banned.h"

/* Submodules in submodules, and all of them. */
enum { MOST_DEPTH = 8, MOST_REPOSITORIES = 64 };

/* A file that is not tracked and larger than the patch is left out at once; a tracked one may have
 * a small difference. */
static const uint64_t MOST_TRACKED = 16 << 20;
enum { HEAD_BYTES = 128, MOST_NAMED = 5, MOST_TRIES = 3 };

/* More files than that are as slow to look at as git is to be asked. */
enum { MOST_FILES = 20000, PATH_MOST = 4096 };

/* Times of files are those of a clock that may be so much behind. */
#define CLOCK_NS (2 * UINT64_C(10000000))

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

/* Add a path, and a NUL. */
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
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    const char *whole = jr_arena_printf(&arena, "%s/%s", repository->tree.top, path);
    char link[8];
    bool secret = true;
    if (whole != NULL && readlink(whole, link, sizeof link) >= 0)
        secret = false;
    else if (whole != NULL && jr_io_read_file(&text, AT_FDCWD, whole, JR_PATCH_MOST, NULL) == 0)
        secret =
            jr_secret_lines_assign(repository->recording->request->secrets, text.data, text.len);
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
    add_path(to, path);
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
        /* Nothing is looked for where a file is gone: a link to elsewhere may lie in its way. */
        add_path(file->gone        ? &repository->drop
                 : fits && !secret ? &repository->take
                                   : &repository->hash,
                 file->path);
        repository->recording->bytes += file->bytes;
    }
}

/* Whether a file that is no text has no secret, as far as that can be read in it. The path has the
 * prefix of the repository. */
static bool shows_no_secret(void *data, const char *path)
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

/* Find what differs, and what becomes of each file of it: it is in the patch, counts by its hash
 * alone, is copied, or is left out. -1 with `err` where it is too much. */
static int list_files(struct repository *repository, struct jr_error *err)
{
    struct recording *recording = repository->recording;
    const struct jr_work_tree *tree = &repository->tree;
    if (jr_work_tree_list(&repository->tree, &recording->look, err) != 0)
        return -1;
    if (repository->depth == 0) { /* it is known, whether or not it can be recorded */
        struct jr_run_tree *code = recording->code;
        memcpy(code->commit, tree->commit, JR_GIT_HASH);
        code->listed = true;
        code->changed = tree->changed;
        code->top = jr_arena_strdup(recording->patch.arena, tree->top);
    }
    for (size_t i = 0; i < tree->nested.count; i++) {
        const char *path = tree->nested.items[i];
        size_t known = 0;
        while (known < tree->submodules.count && strcmp(tree->submodules.items[known], path) != 0)
            known++;
        if (known < tree->submodules.count)
            add_path(&repository->take, path);
        else
            leave_out(repository, path, JR_LEFT_OUT_REPOSITORY);
    }
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
            add_path(ret, tree->files[i].path);
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
    add_path(&repository->state, path);
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

/* Have the files that differ, and that git converts (line ends, encodings, $Id$), count by their
 * own bytes: two that git takes for the same are not the same to a program. The patch has what git
 * makes of them. */
static int count_converted(struct repository *repository, struct jr_error *err)
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

static bool passes_aside(void *data, const char *path)
{
    const struct repository *repository = data;
    return jr_work_tree_is_aside(&repository->tree, &repository->recording->look, path);
}

static int read_patch(struct repository *repository, struct jr_error *err)
{
    struct jr_code_reader reader = {.patch = &repository->recording->patch,
                                    .prefix = repository->prefix,
                                    .passes = passes_aside,
                                    .shows = shows_no_secret,
                                    .data = repository};
    const struct jr_task_sink sink = {jr_code_reader_take, &reader};
    if (repository->tree.files_count == 0 && repository->tree.nested.count == 0)
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
static int add_nested(struct repository *repository, struct jr_error *err)
{
    struct jr_arena *arena = repository->recording->patch.arena;
    for (size_t i = 0; i < repository->tree.nested.count; i++) {
        const char *path = repository->tree.nested.items[i];
        char name[JR_GIT_HASH];
        const char *folder = jr_arena_printf(arena, "%s/%s", repository->tree.top, path);
        const char *prefix = jr_arena_printf(arena, "%s%s/", repository->prefix, path);
        if (folder == NULL || prefix == NULL)
            return jr_git_report_memory(err);
        if (record_repository(repository->recording, folder, prefix, repository->depth + 1, name,
                              err) != 0)
            return -1;
        jr_buf_printf(&repository->state, "160000 %s 0\t", name);
        add_path(&repository->state, path);
    }
    return 0;
}

/* Make the tree beside the repository. While git looks for what differs, the index is copied. The
 * order matters: the patch is made before what it is not to have, and the trees of submodules in
 * place of their commits, are taken in. */
static int snap_files(struct repository *repository, char tree[static JR_GIT_HASH],
                      struct jr_error *err)
{
    struct recording *recording = repository->recording;
    struct jr_snapshot *snapshot = &repository->snapshot;
    const struct jr_work_tree *work = &repository->tree;
    const char *folder = jr_arena_printf(recording->patch.arena, "%s/%u",
                                         recording->request->scratch, recording->repositories);
    if (folder == NULL)
        return jr_git_report_memory(err);
    if (jr_snapshot_open(snapshot, work, &recording->look, folder, err) != 0 ||
        list_files(repository, err) != 0)
        return -1;
    for (size_t i = 0; i < work->aside.count; i++)
        add_path(&repository->drop, work->aside.items[i]);
    for (size_t i = 0; i < work->hidden.count; i++)
        add_path(&repository->drop, work->hidden.items[i]);
    if (jr_snapshot_update(snapshot, &repository->drop, &repository->take, err) != 0 ||
        read_patch(repository, err) != 0 ||
        jr_snapshot_hash(snapshot, &repository->hash, err) != 0 ||
        count_converted(repository, err) != 0 || add_nested(repository, err) != 0 ||
        jr_snapshot_state(snapshot, &repository->state, err) != 0)
        return -1;
    return jr_snapshot_tree(snapshot, tree, err);
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
    tree[0] = '\0';
    int failed = jr_work_tree_open(&repository.tree, folder, &recording->look, err);
    if (failed == 0)
        failed = jr_work_tree_look(&repository.tree, &recording->look, err);
    if (failed == 0 && recording->request->scratch != NULL)
        failed = snap_files(&repository, tree, err);
    else if (failed == 0 &&
             (list_files(&repository, err) != 0 || add_nested(&repository, err) != 0))
        failed = -1;
    jr_snapshot_release(&repository.snapshot);
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
    if (code->files.failed || code->links.failed || code->patch.failed || patch->failed ||
        code->arena.failed)
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

/* A stamp on its way: FNV-1a of all that stat(2) says. */
struct stamping {
    uint64_t hash, newest_ns;
    size_t count;
    int top_fd;
    bool failed;
};

static void stamp_number(struct stamping *stamping, uint64_t number)
{
    for (unsigned i = 0; i < sizeof number; i++) {
        stamping->hash ^= (number >> (8 * i)) & 0xff;
        stamping->hash *= UINT64_C(1099511628211);
    }
}

static uint64_t time_ns(struct timespec time)
{
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* A file that is not there is a fact, too. */
static void stamp_path(struct stamping *stamping, const char *path)
{
    struct stat st;
    if (++stamping->count > MOST_FILES) {
        stamping->failed = true;
        return;
    }
    if (fstatat(stamping->top_fd, path, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        stamping->failed |= errno != ENOENT && errno != ENOTDIR;
        stamp_number(stamping, (uint64_t)errno);
        return;
    }
    uint64_t modified = time_ns(st.st_mtim), changed = time_ns(st.st_ctim);
    stamp_number(stamping, (uint64_t)st.st_dev);
    stamp_number(stamping, (uint64_t)st.st_ino);
    stamp_number(stamping, (uint64_t)st.st_mode);
    stamp_number(stamping, S_ISDIR(st.st_mode) ? 0 : (uint64_t)st.st_size);
    stamp_number(stamping, modified);
    stamp_number(stamping, changed);
    if (modified > stamping->newest_ns)
        stamping->newest_ns = modified;
    if (changed > stamping->newest_ns)
        stamping->newest_ns = changed;
}

/* The folders above a path that are not above the one before it: a file that is made in one, or
 * removed, changes its time. */
static void stamp_folders(struct stamping *stamping, const char *path, const char *before)
{
    char folder[PATH_MOST];
    size_t len = strlen(path);
    if (len >= sizeof folder) {
        stamping->failed = true;
        return;
    }
    for (size_t i = 0; i < len && !stamping->failed; i++) {
        /* A slash at the end is of a folder that git ignores. */
        if (path[i] != '/' || i + 1 == len || strncmp(path, before, i + 1) == 0)
            continue;
        memcpy(folder, path, i);
        folder[i] = '\0';
        stamp_path(stamping, folder);
    }
}

/* Paths that each end with a NUL. */
static void stamp_list(struct stamping *stamping, const struct jr_buf *list, bool files)
{
    const char *before = "";
    for (size_t at = 0; at < list->len && !stamping->failed;) {
        const char *path = list->data + at;
        stamp_folders(stamping, path, before);
        if (files)
            stamp_path(stamping, path);
        before = path;
        at += strlen(path) + 1;
    }
}

static bool read_stamp(struct stamping *ret, const struct jr_run_tree *code)
{
    char commit[JR_GIT_HASH];
    *ret = (struct stamping){.hash = UINT64_C(14695981039346656037)};
    if (code->top == NULL || code->tree[0] == '\0')
        return false;
    JR_CLOSE int top_fd = open(code->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top_fd < 0)
        return false;
    ret->top_fd = top_fd;
    (void)jr_git_commit(commit, code->top);
    for (const char *at = commit; *at != '\0'; at++)
        stamp_number(ret, (unsigned char)*at);
    stamp_path(ret, ".");
    stamp_list(ret, &code->files, true);
    stamp_list(ret, &code->links, false);
    return !ret->failed;
}

bool jr_tree_stamp_make(uint64_t *ret, const struct jr_run_tree *code, uint64_t recorded_ns)
{
    struct stamping stamping;
    if (!read_stamp(&stamping, code) || stamping.newest_ns + CLOCK_NS >= recorded_ns)
        return false;
    *ret = stamping.hash;
    return true;
}

bool jr_tree_stamp_holds(uint64_t stamp, const struct jr_run_tree *code)
{
    struct stamping stamping;
    return read_stamp(&stamping, code) && stamping.hash == stamp;
}
