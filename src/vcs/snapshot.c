/* A work tree as a tree of git's, and the same out of a commit and a patch. Declared in internal.h
 * and run_tree.h. */
#include "vcs/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#include "base/banned.h"

enum { MOST_DEPTH = 200, PIECE = 256 << 10, MOST_WORDS = 16 << 10 };

/* The tree of no files, which git knows without having it. */
#define NO_FILES_SHA1   "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
#define NO_FILES_SHA256 "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"

static int copy_bytes(int from, int to)
{
    JR_FREE char *piece = malloc(PIECE);
    ssize_t got = -1;
    errno = ENOMEM;
    while (piece != NULL && (got = read(from, piece, PIECE)) > 0)
        if (jr_io_write_all(to, piece, (size_t)got) != 0)
            return -1;
    return got == 0 ? 0 : -1;
}

/* The copy is as old as the index: entries that are younger may have changed without that it shows
 * in their times, and git reads those. */
static int copy_index(const char *from, const char *to, struct jr_error *err)
{
    struct stat st;
    JR_CLOSE int in = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (in < 0 && errno == ENOENT)
        return 0;
    JR_CLOSE int out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (out < 0 || fstat(in, &st) != 0 || copy_bytes(in, out) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "the index of git could not be copied to %s",
                            to);
    const struct timespec times[2] = {st.st_mtim, st.st_mtim};
    if (futimens(out, times) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "%s", to);
    return 0;
}

/* A path in quotes, as in C, so that any byte may be in it (gitrepository- layout(5):
 * objects/info/alternates). */
static void add_quoted_path(struct jr_buf *out, const char *path)
{
    jr_buf_char(out, '"');
    for (; *path != '\0'; path++) {
        if (*path == '"' || *path == '\\')
            jr_buf_char(out, '\\');
        if (*path == '\n')
            jr_buf_str(out, "\\n");
        else
            jr_buf_char(out, *path);
    }
    jr_buf_char(out, '"');
}

int jr_snapshot_open(struct jr_snapshot *ret, const struct jr_work_tree *tree,
                     const struct jr_work_look *look, const char *folder, struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf alternate = JR_BUF_INIT;
    *ret = (struct jr_snapshot){.tree = tree, .look = look};
    struct jr_arena *arena = &ret->arena;
    const char *index = jr_arena_printf(arena, "%s/index", folder);
    const char *objects = jr_arena_printf(arena, "%s/objects", folder);
    if (arena->failed)
        return jr_git_report_memory(err);
    if (mkdir(folder, 0700) != 0 || mkdir(objects, 0700) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "%s", folder);
    add_quoted_path(&alternate, tree->objects);
    ret->variables[0] = jr_arena_printf(arena, "GIT_OBJECT_DIRECTORY=%s", objects);
    ret->variables[1] = jr_arena_printf(arena, "GIT_ALTERNATE_OBJECT_DIRECTORIES=%s",
                                        jr_buf_keep(&alternate, arena));
    ret->variables[2] = jr_arena_printf(arena, "GIT_INDEX_FILE=%s", index);
    return arena->failed ? jr_git_report_memory(err) : copy_index(tree->index, index, err);
}

int jr_snapshot_run(const struct jr_snapshot *snapshot, const char *const *words,
                    const struct jr_buf *input, const struct jr_task_sink *sink,
                    struct jr_error *err)
{
    static const struct jr_task_sink none = {NULL, NULL};
    struct jr_git_command command =
        jr_work_tree_command(snapshot->tree, snapshot->tree->top, words, snapshot->look);
    command.variables = snapshot->variables;
    return jr_git_run(&command, input, sink == NULL ? &none : sink, &snapshot->look->limit, err);
}

int jr_snapshot_state(const struct jr_snapshot *snapshot, const struct jr_buf *entries,
                      struct jr_error *err)
{
    static const char *const words[] = {"update-index", "-z", "--index-info", NULL};
    return entries->len == 0 ? 0 : jr_snapshot_run(snapshot, words, entries, NULL, err);
}

/* An entry without a mode is none. */
static int drop_all(const struct jr_snapshot *snapshot, const struct jr_buf *paths,
                    struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf entries = JR_BUF_INIT;
    size_t zeros = snapshot->tree->sha256 ? 64 : 40;
    entries.failed = paths->failed;
    for (size_t at = 0; at < paths->len; at += strlen(paths->data + at) + 1) {
        jr_buf_str(&entries, "0 ");
        jr_buf_fill(&entries, '0', zeros);
        jr_buf_char(&entries, '\t');
        jr_buf_add(&entries, paths->data + at, strlen(paths->data + at) + 1);
    }
    return jr_snapshot_state(snapshot, &entries, err);
}

/* Each git process that changes an index reads and writes all of it, so that one does both. The
 * paths to drop are words, which no option begins like. */
static int update_at_once(const struct jr_snapshot *snapshot, const struct jr_buf *drop,
                          const struct jr_buf *take, struct jr_error *err)
{
    static const char *const before[] = {"update-index",   "-z", "--add", "--remove", "--replace",
                                         "--force-remove", NULL};
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_strv words = {0};
    for (size_t i = 0; before[i] != NULL; i++)
        jr_strv_push(&words, &arena, jr_arena_strdup(&arena, before[i]));
    for (size_t at = 0; at < drop->len; at += strlen(drop->data + at) + 1)
        jr_strv_push(&words, &arena, jr_arena_printf(&arena, "./%s", drop->data + at));
    jr_strv_push(&words, &arena, jr_arena_strdup(&arena, "--no-force-remove"));
    jr_strv_push(&words, &arena, jr_arena_strdup(&arena, "--stdin"));
    return arena.failed
               ? jr_git_report_memory(err)
               : jr_snapshot_run(snapshot, (const char *const *)words.items, take, NULL, err);
}

int jr_snapshot_update(const struct jr_snapshot *snapshot, const struct jr_buf *drop,
                       const struct jr_buf *take, struct jr_error *err)
{
    static const char *const words[] = {"update-index", "-z",      "--add", "--remove",
                                        "--replace",    "--stdin", NULL};
    if (drop->failed || take->failed)
        return jr_git_report_memory(err);
    if (drop->len > 0 && take->len > 0 && drop->len < MOST_WORDS)
        return update_at_once(snapshot, drop, take, err);
    if (drop_all(snapshot, drop, err) != 0)
        return -1;
    return take->len == 0 ? 0 : jr_snapshot_run(snapshot, words, take, NULL, err);
}

int jr_snapshot_hash(const struct jr_snapshot *snapshot, const struct jr_buf *paths,
                     struct jr_error *err)
{
    static const char *const words[] = {"update-index", "-z",          "--add",   "--remove",
                                        "--replace",    "--info-only", "--stdin", NULL};
    return paths->len == 0 ? 0 : jr_snapshot_run(snapshot, words, paths, NULL, err);
}

int jr_snapshot_names(const struct jr_snapshot *snapshot, const struct jr_buf *paths,
                      bool as_they_lie, struct jr_buf *ret, struct jr_error *err)
{
    const char *const words[] = {"hash-object", "--stdin-paths",
                                 as_they_lie ? "--no-filters" : NULL, NULL};
    const struct jr_task_sink sink = {jr_git_keep, ret};
    JR_BUF_CLEANUP struct jr_buf quoted = JR_BUF_INIT;
    for (size_t at = 0; at < paths->len; at += strlen(paths->data + at) + 1) {
        add_quoted_path(&quoted, paths->data + at);
        jr_buf_char(&quoted, '\n');
    }
    if (paths->failed || quoted.failed)
        return jr_git_report_memory(err);
    return jr_snapshot_run(snapshot, words, &quoted, &sink, err);
}

int jr_snapshot_diff(const struct jr_snapshot *snapshot, const char *prefix,
                     const struct jr_task_sink *sink, struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf old = JR_BUF_INIT, new = JR_BUF_INIT;
    const char *none = snapshot->tree->sha256 ? NO_FILES_SHA256 : NO_FILES_SHA1;
    const char *commit = snapshot->tree->commit;
    jr_buf_printf(&old, "--src-prefix=a/%s", prefix);
    jr_buf_printf(&new, "--dst-prefix=b/%s", prefix);
    if (old.failed || new.failed)
        return jr_git_report_memory(err);
    const char *const words[] = {"-c",
                                 "core.compression=6", /* of what is no text */
                                 "diff-index",
                                 "--cached",
                                 "--binary",
                                 "--patch-with-raw",
                                 "-z",
                                 "--full-index",
                                 "--no-renames",
                                 "--no-color",
                                 "--no-ext-diff",
                                 "--no-textconv",
                                 "--unified=3",
                                 "--no-relative",
                                 "--ignore-submodules=dirty",
                                 "--submodule=short",
                                 old.data,
                                 new.data,
                                 commit[0] != '\0' ? commit : none,
                                 "--",
                                 NULL};
    return jr_snapshot_run(snapshot, words, NULL, sink, err);
}

int jr_snapshot_tree(const struct jr_snapshot *snapshot, char ret[static JR_GIT_HASH],
                     struct jr_error *err)
{
    static const char *const words[] = {"write-tree", "--missing-ok", NULL};
    JR_BUF_CLEANUP struct jr_buf name = JR_BUF_INIT;
    const struct jr_task_sink sink = {jr_git_keep, &name};
    if (jr_snapshot_run(snapshot, words, NULL, &sink, err) != 0)
        return -1;
    size_t len = strspn(name.data == NULL ? "" : name.data, "0123456789abcdef");
    if ((len != 40 && len != 64) || name.data[len] != '\n')
        return jr_error_set(err, JR_STATUS_LAUNCH, "git write-tree printed no name of a tree");
    memcpy(ret, name.data, len);
    ret[len] = '\0';
    return 0;
}

void jr_snapshot_release(struct jr_snapshot *snapshot)
{
    jr_arena_release(&snapshot->arena);
}

/* The commit's files, changed by the patch, as an index. */
static int make_index(const struct jr_snapshot *snapshot, const struct jr_rebuild_request *request,
                      struct jr_error *err)
{
    const char *const read[] = {"read-tree", request->commit, NULL};
    static const char *const empty[] = {"read-tree", "--empty", NULL};
    static const char *const apply[] = {"apply", "--cached", "--whitespace=nowarn", "-", NULL};
    if (jr_snapshot_run(snapshot, request->commit == NULL ? empty : read, NULL, NULL, err) != 0)
        return jr_error_wrap(err, "the commit of the run");
    if (request->patch->len > 0 && jr_snapshot_run(snapshot, apply, request->patch, NULL, err) != 0)
        return jr_error_wrap(err, "the patch of the run");
    return 0;
}

/* All files of the index, and their paths. */
static int check_out(const struct jr_snapshot *snapshot, struct jr_arena *arena,
                     const struct jr_rebuild_request *request, struct jr_buf *ret_files,
                     struct jr_error *err)
{
    static const char *const list[] = {"ls-files", "-z", NULL};
    const struct jr_task_sink sink = {jr_git_keep, ret_files};
    const char *folder = jr_arena_printf(arena, "%s/tree", request->scratch);
    const char *prefix = jr_arena_printf(arena, "--prefix=%s/", folder);
    const char *const words[] = {"checkout-index", "-a", "-f", "-q", prefix, NULL};
    if (folder == NULL || prefix == NULL)
        return jr_git_report_memory(err);
    if (mkdir(folder, 0700) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "%s", folder);
    if (jr_snapshot_run(snapshot, words, NULL, NULL, err) != 0)
        return -1;
    return jr_snapshot_run(snapshot, list, NULL, &sink, err);
}

static int rebuild(const struct jr_snapshot *snapshot, struct jr_arena *arena,
                   const struct jr_rebuild_request *request, struct jr_buf *ret_files,
                   struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf drop = JR_BUF_INIT, none = JR_BUF_INIT;
    char name[JR_GIT_HASH];
    if (make_index(snapshot, request, err) != 0 ||
        check_out(snapshot, arena, request, ret_files, err) != 0)
        return -1;
    /* Take out what did not count, as when the tree was recorded. */
    for (size_t at = 0; at < ret_files->len; at += strlen(ret_files->data + at) + 1)
        if (jr_work_tree_is_aside(snapshot->tree, snapshot->look, ret_files->data + at))
            jr_buf_add(&drop, ret_files->data + at, strlen(ret_files->data + at) + 1);
    if (jr_snapshot_update(snapshot, &drop, &none, err) != 0 ||
        jr_snapshot_tree(snapshot, name, err) != 0)
        return -1;
    if (strcmp(name, request->tree) == 0)
        return 0;
    return jr_error_set(err, JR_STATUS_LAUNCH,
                        "the commit and the patch of the run make another tree, %.12s, than the "
                        "one that was recorded, %.12s (submodules, for example, are in neither)",
                        name, request->tree);
}

int jr_tree_rebuild(const struct jr_rebuild_request *request, struct jr_buf *ret_files,
                    struct jr_error *err)
{
    const struct jr_work_look look = {.log_dir = request->log_dir,
                                      .files = request->files,
                                      .envp = request->envp,
                                      .limit = request->limit};
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_work_tree tree;
    struct jr_snapshot snapshot = {0};
    const char *folder = jr_arena_printf(&arena, "%s/git", request->scratch);
    int failed = jr_work_tree_open(&tree, request->top, &look, err);
    if (failed == 0 && mkdir(request->scratch, 0700) != 0)
        failed = jr_error_sys(err, JR_STATUS_LAUNCH, "%s", request->scratch);
    tree.index = jr_arena_printf(&arena, "%s/none", request->scratch);
    if (failed == 0)
        failed = folder == NULL ? jr_git_report_memory(err)
                                : jr_snapshot_open(&snapshot, &tree, &look, folder, err);
    if (failed == 0)
        failed = rebuild(&snapshot, &arena, request, ret_files, err);
    jr_snapshot_release(&snapshot);
    jr_work_tree_release(&tree);
    return failed;
}

static void remove_folder(int at, const char *name, int depth)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    if (dir == NULL && fd >= 0)
        (void)close(fd);
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(fd, entry->d_name, 0) != 0 && depth > 0)
            remove_folder(fd, entry->d_name, depth - 1);
    }
    if (dir != NULL)
        (void)closedir(dir);
    (void)unlinkat(at, name, AT_REMOVEDIR);
}

void jr_snapshot_remove(const char *folder)
{
    remove_folder(AT_FDCWD, folder, MOST_DEPTH);
}
