#include "vcs/snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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

static int make_folders(struct jr_snapshot *snapshot, const char *folder, struct jr_error *err)
{
    const char *objects = jr_arena_printf(&snapshot->arena, "%s/objects", folder);
    if (objects == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    if (mkdir(folder, 0700) != 0 || mkdir(objects, 0700) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "%s", folder);
    JR_BUF_CLEANUP struct jr_buf alternate = JR_BUF_INIT;
    add_quoted_path(&alternate, snapshot->tree->objects);
    struct jr_arena *arena = &snapshot->arena;
    snapshot->variables[0] = jr_arena_printf(arena, "GIT_OBJECT_DIRECTORY=%s", objects);
    snapshot->variables[1] = jr_arena_printf(arena, "GIT_ALTERNATE_OBJECT_DIRECTORIES=%s",
                                             jr_buf_keep(&alternate, arena));
    snapshot->variables[2] = jr_arena_printf(arena, "GIT_INDEX_FILE=%s/index", folder);
    return arena->failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory") : 0;
}

int jr_snapshot_open(struct jr_snapshot *ret, const struct jr_work_tree *tree,
                     const struct jr_work_look *look, const char *folder, struct jr_error *err)
{
    *ret = (struct jr_snapshot){.tree = tree, .look = look};
    if (make_folders(ret, folder, err) != 0)
        return -1;
    const char *index = jr_arena_printf(&ret->arena, "%s/index", folder);
    if (index == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    return copy_index(tree->index, index, err);
}

int jr_snapshot_run(const struct jr_snapshot *snapshot, const char *const *words,
                    const struct jr_buf *input, const struct jr_task_sink *sink,
                    struct jr_error *err)
{
    const char *const variables[] = {snapshot->variables[0], snapshot->variables[1],
                                     snapshot->variables[2], NULL};
    const struct jr_git_command command = {
        .folder = snapshot->tree->top,
        .words = words,
        .settings = (const char *const *)snapshot->tree->settings.items,
        .variables = variables,
        .envp = snapshot->look->envp,
    };
    static const struct jr_task_sink none = {NULL, NULL};
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
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_strv words = {0};
    for (size_t i = 0; before[i] != NULL; i++)
        jr_strv_push(&words, &arena, jr_arena_strdup(&arena, before[i]));
    for (size_t at = 0; at < drop->len; at += strlen(drop->data + at) + 1)
        jr_strv_push(&words, &arena, jr_arena_printf(&arena, "./%s", drop->data + at));
    jr_strv_push(&words, &arena, jr_arena_strdup(&arena, "--no-force-remove"));
    jr_strv_push(&words, &arena, jr_arena_strdup(&arena, "--stdin"));
    int failed = arena.failed
                     ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory")
                     : jr_snapshot_run(snapshot, (const char *const *)words.items, take, NULL, err);
    jr_arena_release(&arena);
    return failed;
}

int jr_snapshot_update(const struct jr_snapshot *snapshot, const struct jr_buf *drop,
                       const struct jr_buf *take, struct jr_error *err)
{
    static const char *const words[] = {"update-index", "-z",      "--add", "--remove",
                                        "--replace",    "--stdin", NULL};
    if (drop->failed || take->failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
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
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
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
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
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
