/* A git work tree as it stands: its places, and what git lists of its files. Declared in
 * internal.h. */
#include "vcs/internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/names.h"
#include "base/syscalls.h"

#include "base/banned.h"

enum { MOST_FILTERS = 64, MOST_LINKS = 64 };

struct jr_git_command jr_work_tree_command(const struct jr_work_tree *tree, const char *folder,
                                           const char *const *words,
                                           const struct jr_work_look *look)
{
    return (struct jr_git_command){
        .folder = folder,
        .words = words,
        .settings = (const char *const *)tree->settings.items,
        .envp = look->envp,
    };
}

/* git does not read the repository of somebody else (git-config(1):
 * safe.directory). */
static int report_refusal(const char *top, struct jr_error *err)
{
    struct stat st;
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_error why = *err;
    if (err->sys == 0 && stat(top, &st) == 0 && st.st_uid != geteuid()) {
        const char *owner = jr_user_name(&arena, st.st_uid);
        (void)jr_error_set(err, JR_STATUS_LAUNCH,
                           "the repository %s belongs to %s, and git does not trust it (git "
                           "config --global --add safe.directory %s)",
                           top, owner == NULL ? "another user" : owner, top);
    } else {
        (void)jr_error_set(err, JR_STATUS_LAUNCH, "%s: %s", top, why.text);
        err->sys = why.sys;
    }
    return -1;
}

/* The next line of an answer. NULL: there is none. */
static char *take_answer_line(struct jr_buf *answer, size_t *at)
{
    if (*at >= answer->len)
        return NULL;
    char *line = answer->data + *at;
    char *end = strchr(line, '\n');
    if (end == NULL)
        return NULL;
    *end = '\0';
    *at += (size_t)(end - line) + 1;
    return line;
}

/* git says where its files are from the folder that it was asked in. */
static const char *absolute_path(struct jr_work_tree *tree, const char *folder, const char *path)
{
    if (path == NULL || path[0] == '/')
        return jr_arena_strdup(&tree->arena, path);
    return jr_arena_printf(&tree->arena, "%s/%s", folder, path);
}

/* Where the tree, its index and its objects are. A repository may say that its files lie elsewhere
 * (core.worktree): these are not those that run. */
static int take_places(struct jr_work_tree *tree, const char *folder, struct jr_buf *answer,
                       struct jr_error *err)
{
    size_t at = 0;
    char *top = take_answer_line(answer, &at);
    size_t len = top == NULL ? 0 : strlen(top);
    if (len == 0 || strncmp(folder, top, len) != 0 || (folder[len] != '/' && folder[len] != '\0'))
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "the repository of %s says that its files are in %s (core.worktree)",
                            folder, len == 0 ? "no folder" : top);
    tree->top = jr_arena_strdup(&tree->arena, top);
    tree->index = absolute_path(tree, folder, take_answer_line(answer, &at));
    tree->objects = absolute_path(tree, folder, take_answer_line(answer, &at));
    const char *format = take_answer_line(answer, &at);
    tree->sha256 = format != NULL && strcmp(format, "sha256") == 0;
    if (tree->index == NULL || tree->objects == NULL || tree->arena.failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "%s: git does not say where its objects are",
                            top);
    return 0;
}

/* "filter.NAME.clean": take the NAME out of the way. */
static int switch_filter_off(struct jr_work_tree *tree, const char *key, struct jr_error *err)
{
    static const char *const off[] = {"clean=", "process=", "required=false"};
    const char *dot = strrchr(key, '.');
    int len = (int)(dot - key);
    if (memchr(key, '=', (size_t)len) != NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "the filter '%.*s' of git's configuration has a "
                            "name that cannot be switched off",
                            len, key);
    if (tree->settings.count > (size_t)3 * MOST_FILTERS)
        return jr_error_set(err, JR_STATUS_LAUNCH, "git's configuration has more than %d filters",
                            MOST_FILTERS);
    for (size_t i = 0; i < sizeof off / sizeof *off; i++)
        jr_strv_push(&tree->settings, &tree->arena,
                     jr_arena_printf(&tree->arena, "%.*s.%s", len, key, off[i]));
    return tree->arena.failed ? jr_git_report_memory(err) : 0;
}

/* Filters are programs that git runs when it reads a file whose attributes name them
 * (gitattributes(5)); the files count as they lie. */
static int take_filters(struct jr_work_tree *tree, const struct jr_buf *answer,
                        struct jr_error *err)
{
    static const char start[] = "filter.";
    for (size_t at = 0; at < answer->len; at += strlen(answer->data + at) + 1) {
        const char *key = answer->data + at;
        const char *dot = strrchr(key, '.');
        if (strncmp(key, start, sizeof start - 1) == 0 && dot != NULL &&
            dot > key + sizeof start - 2 && switch_filter_off(tree, key, err) != 0)
            return -1;
    }
    return 0;
}

int jr_work_tree_open(struct jr_work_tree *ret, const char *folder, const struct jr_work_look *look,
                      struct jr_error *err)
{
    /* What is compared is all that a file's state says; a text is what it is; the index is one
     * file; and what is written is short-lived. */
    static const char *const own[] = {"core.trustctime=true", "core.checkStat=default",
                                      "core.safecrlf=false",  "core.splitIndex=false",
                                      "core.compression=0",   "core.bigFileThreshold=16m",
                                      "index.skipHash=true",  NULL};
    static const char *const where[] = {
        "rev-parse",  "--show-toplevel", "--git-path",           "index",
        "--git-path", "objects",         "--show-object-format", NULL};
    static const char *const what[] = {"config", "-z", "--name-only", "--list", NULL};
    JR_BUF_CLEANUP struct jr_buf places = JR_BUF_INIT, keys = JR_BUF_INIT;
    struct jr_task asked[2] = {JR_TASK_NONE, JR_TASK_NONE};
    *ret = (struct jr_work_tree){.status = JR_TASK_NONE};
    for (size_t i = 0; own[i] != NULL; i++)
        jr_strv_push(&ret->settings, &ret->arena, jr_arena_strdup(&ret->arena, own[i]));
    if (ret->arena.failed)
        return jr_git_report_memory(err);
    const struct jr_git_command first = jr_work_tree_command(ret, folder, where, look);
    const struct jr_git_command second = jr_work_tree_command(ret, folder, what, look);
    JR_FREE char *around = jr_io_find_above(folder, ".git");
    /* Both are asked at the same time: each takes as long as git takes to begin. */
    int failed = jr_git_begin(&asked[0], &first, NULL, err);
    if (failed == 0)
        failed = jr_git_begin(&asked[1], &second, NULL, err);
    if (failed == 0)
        failed =
            jr_git_end(&asked[0], &(struct jr_task_sink){jr_git_keep, &places}, &look->limit, err);
    if (failed != 0)
        failed = report_refusal(around == NULL ? folder : around, err);
    else
        failed = take_places(ret, folder, &places, err);
    if (failed == 0)
        failed =
            jr_git_end(&asked[1], &(struct jr_task_sink){jr_git_keep, &keys}, &look->limit, err);
    if (failed == 0)
        failed = take_filters(ret, &keys, err);
    jr_task_cancel(&asked[0]);
    jr_task_cancel(&asked[1]);
    return failed;
}

/* Whether the path, from the top, is the log_dir or below it. */
static bool is_log(const struct jr_work_tree *tree, const struct jr_work_look *look,
                   const char *path)
{
    size_t top = strlen(tree->top);
    const char *log_dir = look->log_dir;
    if (log_dir == NULL || strncmp(log_dir, tree->top, top) != 0 || log_dir[top] != '/')
        return false;
    size_t len = strlen(log_dir + top + 1);
    return strncmp(path, log_dir + top + 1, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

bool jr_work_tree_is_aside(const struct jr_work_tree *tree, const struct jr_work_look *look,
                           const char *path)
{
    size_t top = strlen(tree->top);
    if (is_log(tree, look, path))
        return true;
    for (size_t i = 0; look->files != NULL && look->files[i] != NULL; i++)
        if (strncmp(look->files[i], tree->top, top) == 0 && look->files[i][top] == '/' &&
            strcmp(look->files[i] + top + 1, path) == 0)
            return true;
    return false;
}

/* Records that end with a NUL, as they come in. */
struct records {
    struct jr_work_tree *tree;
    const struct jr_work_look *look;
    struct jr_buf partial;
    void (*take)(struct records *records, char *record);
    int top_fd;
};

static int take_records(void *data, const char *bytes, size_t len)
{
    struct records *records = data;
    for (const char *end; len > 0; len -= (size_t)(end - bytes), bytes = end) {
        const char *nul = memchr(bytes, '\0', len);
        end = nul == NULL ? bytes + len : nul + 1;
        jr_buf_add(&records->partial, bytes, (size_t)(end - bytes));
        if (nul == NULL || records->partial.failed)
            continue;
        records->take(records, records->partial.data);
        jr_buf_clear(&records->partial);
    }
    return records->partial.failed || records->tree->arena.failed ? -1 : 0;
}

/* What is behind `count` blanks. */
static char *skip_fields(char *record, int count)
{
    for (; count > 0 && record != NULL; count--) {
        record = strchr(record, ' ');
        record = record == NULL ? NULL : record + 1;
    }
    return record;
}

static void push_path(struct jr_strv *to, struct jr_work_tree *tree, const char *path, size_t len)
{
    jr_strv_push(to, &tree->arena, jr_arena_strndup(&tree->arena, path, len));
}

/* How a file differs. */
enum difference { CHANGED, UNTRACKED, GONE };

static void add_file(struct records *records, const char *path, enum difference how)
{
    struct jr_work_tree *tree = records->tree;
    struct stat st;
    if (jr_work_tree_is_aside(tree, records->look, path))
        return;
    struct jr_work_file *file =
        jr_arena_push(&tree->arena, &tree->files, &tree->files_count, sizeof *file);
    if (file == NULL)
        return;
    *file = (struct jr_work_file){
        .path = jr_arena_strdup(&tree->arena, path),
        .untracked = how == UNTRACKED,
        .gone = how == GONE,
    };
    if (how == GONE || fstatat(records->top_fd, path, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    if (S_ISREG(st.st_mode))
        file->bytes = (uint64_t)st.st_size;
    else /* a FIFO is no file of the tree */
        file->gone = !S_ISLNK(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* What git does not look at: a file, or all of a folder. Python's caches are about the files beside
 * them, and no code. */
static void take_ignored(struct records *records, const char *path, size_t len)
{
    static const char *const caches[] = {"__pycache__/", ".pyc"};
    struct jr_work_tree *tree = records->tree;
    for (size_t i = 0; i < sizeof caches / sizeof *caches; i++) {
        size_t size = strlen(caches[i]);
        if (len >= size && strcmp(path + len - size, caches[i]) == 0)
            return;
    }
    if (!is_log(tree, records->look, path))
        push_path(&tree->ignored, tree, path, len);
}

/* A line of `git status --porcelain=v2`. */
static void take_status(struct records *records, char *record)
{
    static const char oid[] = "# branch.oid ";
    struct jr_work_tree *tree = records->tree;
    size_t len = strlen(record);
    if (strncmp(record, oid, sizeof oid - 1) == 0 && record[sizeof oid - 1] != '(' &&
        len - sizeof oid + 1 < JR_GIT_HASH)
        memcpy(tree->commit, record + sizeof oid - 1, len - sizeof oid + 2);
    if (record[0] == '?' && len > 3 && record[len - 1] == '/') {
        push_path(&tree->nested, tree, record + 2, len - 3);
        return;
    }
    char *path = NULL;
    if (record[0] == '!' && len > 2) {
        take_ignored(records, record + 2, len - 2);
        return;
    }
    if (record[0] == '1' || record[0] == 'u')
        path = skip_fields(record, record[0] == '1' ? 8 : 10);
    else if (record[0] == '?')
        path = skip_fields(record, 1);
    if (path == NULL)
        return;
    if (record[0] == '?' && records->look->whole &&
        jr_work_tree_is_aside(tree, records->look, path) && !is_log(tree, records->look, path))
        push_path(&tree->specs, tree, path, strlen(path));
    if (record[0] == '?')
        add_file(records, path, UNTRACKED);
    else
        add_file(records, path, record[0] == '1' && record[3] == 'D' ? GONE : CHANGED);
    tree->changed |= record[0] != '?';
}

/* Note a link that leads out of the tree: what it leads to is not recorded. */
static void check_link(struct jr_work_tree *tree, const char *path)
{
    size_t len = strlen(tree->top);
    const char *whole = jr_arena_printf(&tree->arena, "%s/%s", tree->top, path);
    JR_FREE char *real = whole == NULL ? NULL : realpath(whole, NULL);
    if (real == NULL || tree->leaving.count >= MOST_LINKS)
        return;
    if (strncmp(real, tree->top, len) != 0 || (real[len] != '/' && real[len] != '\0'))
        push_path(&tree->leaving, tree, path, strlen(path));
}

static bool lies_there(const struct records *records, const char *path)
{
    return jr_access(records->top_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A file in conflict has several entries, one after the other. */
static void keep_tracked(struct records *records, const char *path)
{
    struct jr_buf *tracked = &records->tree->tracked;
    size_t size = strlen(path) + 1;
    if (is_log(records->tree, records->look, path) ||
        (tracked->len >= size && memcmp(tracked->data + tracked->len - size, path, size) == 0 &&
         (tracked->len == size || tracked->data[tracked->len - size - 1] == '\0')))
        return;
    jr_buf_add(tracked, path, size);
}

/* "H 100644 OBJECT 0<tab>PATH" of `git ls-files -v -s`. A small letter: git was told to take the
 * file as unchanged. S: not to look at it, as where a sparse checkout leaves it out; where it lies
 * there all the same, it counts. */
static void take_entry(struct records *records, char *record)
{
    struct jr_work_tree *tree = records->tree;
    char *path = strchr(record, '\t');
    if (path++ == NULL || strlen(record) < sizeof "H 100644")
        return;
    char tag = record[0];
    const char *mode = record + 2;
    if (records->look->whole && strncmp(mode, "160000", 6) != 0)
        keep_tracked(records, path);
    bool unseen = tag == 'S' || tag == 's';
    if (jr_work_tree_is_aside(tree, records->look, path)) {
        push_path(&tree->aside, tree, path, strlen(path));
    } else if (strncmp(mode, "160000", 6) == 0) {
        const char *git = jr_arena_printf(&tree->arena, "%s/.git", path);
        if (git == NULL || !lies_there(records, git))
            return;
        push_path(&tree->nested, tree, path, strlen(path));
        push_path(&tree->submodules, tree, path, strlen(path));
    } else if ((tag >= 'a' && tag <= 'z' && !unseen) || (unseen && lies_there(records, path))) {
        push_path(&tree->hidden, tree, path, strlen(path));
        add_file(records, path, CHANGED);
    }
    if (strncmp(mode, "120000", 6) == 0)
        check_link(tree, path);
}

/* Take what a process lists. */
static int end_list(struct jr_task *task, struct records *records, struct jr_error *err)
{
    struct jr_work_tree *tree = records->tree;
    JR_CLOSE int top_fd = open(tree->top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const struct jr_task_sink sink = {take_records, records};
    records->top_fd = top_fd;
    int failed = jr_git_end(task, &sink, &records->look->limit, err);
    jr_buf_release(&records->partial);
    return tree->arena.failed || tree->tracked.failed ? jr_git_report_memory(err) : failed;
}

/* Both read the whole index, which takes as long as the tree is large: so at the same time. */
int jr_work_tree_look(struct jr_work_tree *tree, const struct jr_work_look *look,
                      struct jr_error *err)
{
    const char *const status[] = {"status",
                                  "--porcelain=v2",
                                  "-z",
                                  "--branch",
                                  "--no-ahead-behind",
                                  "--untracked-files=all",
                                  "--no-renames",
                                  "--ignore-submodules=all",
                                  look->whole ? "--ignored=matching" : NULL,
                                  NULL};
    static const char *const list[] = {"ls-files", "-z", "-v", "-s", NULL};
    const struct jr_git_command first = jr_work_tree_command(tree, tree->top, status, look);
    const struct jr_git_command second = jr_work_tree_command(tree, tree->top, list, look);
    struct records records = {.tree = tree, .look = look, .take = take_entry};
    struct jr_task entries;
    if (jr_git_begin(&tree->status, &first, NULL, err) != 0 ||
        jr_git_begin(&entries, &second, NULL, err) != 0)
        return -1;
    return end_list(&entries, &records, err);
}

static int compare_texts(const void *a, const void *b)
{
    char *const *left = a, *const *right = b;
    return strcmp(*left, *right);
}

int jr_work_tree_list(struct jr_work_tree *tree, const struct jr_work_look *look,
                      struct jr_error *err)
{
    struct records records = {.tree = tree, .look = look, .take = take_status};
    if (end_list(&tree->status, &records, err) != 0)
        return -1;
    for (size_t i = 0; i < tree->files_count; i++) {
        const struct jr_work_file *file = &tree->files[i];
        const char *whole = jr_arena_printf(&tree->arena, "%s/%s", tree->top, file->path);
        struct stat st;
        if (file->untracked && whole != NULL && lstat(whole, &st) == 0 && S_ISLNK(st.st_mode))
            check_link(tree, file->path);
    }
    if (tree->nested.count > 1)
        qsort(tree->nested.items, tree->nested.count, sizeof *tree->nested.items, compare_texts);
    return 0;
}

void jr_work_tree_release(struct jr_work_tree *tree)
{
    jr_task_cancel(&tree->status);
    jr_buf_release(&tree->tracked);
    jr_arena_release(&tree->arena);
}
