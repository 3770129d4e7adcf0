#include "vcs/work_list.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/syscalls.h"
#include "vcs/git.h"

#include "base/banned.h"

enum { MOST_LINKS = 64 };

bool jr_work_tree_is_log(const struct jr_work_tree *tree, const struct jr_work_look *look,
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
    if (jr_work_tree_is_log(tree, look, path))
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

/* Python's caches are about the files beside them, and no code. */
static bool is_cache(const char *path, size_t len)
{
    static const char *const names[] = {"__pycache__/", ".pyc"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size = strlen(names[i]);
        if (len >= size && strcmp(path + len - size, names[i]) == 0)
            return true;
    }
    return false;
}

/* What git does not look at: a file, or all of a folder. */
static void take_ignored(struct records *records, const char *path, size_t len)
{
    struct jr_work_tree *tree = records->tree;
    if (!jr_work_tree_is_log(tree, records->look, path) && !is_cache(path, len))
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
        jr_work_tree_is_aside(tree, records->look, path) &&
        !jr_work_tree_is_log(tree, records->look, path))
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

static void check_untracked_link(struct jr_work_tree *tree, const char *path)
{
    struct stat st;
    const char *whole = jr_arena_printf(&tree->arena, "%s/%s", tree->top, path);
    if (whole != NULL && lstat(whole, &st) == 0 && S_ISLNK(st.st_mode))
        check_link(tree, path);
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
    if (jr_work_tree_is_log(records->tree, records->look, path) ||
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

static const char *const status_words[] = {
    "status",       "--porcelain=v2",          "-z",
    "--branch",     "--no-ahead-behind",       "--untracked-files=all",
    "--no-renames", "--ignore-submodules=all", NULL};
static const char *const whole_words[] = {"status",
                                          "--porcelain=v2",
                                          "-z",
                                          "--branch",
                                          "--no-ahead-behind",
                                          "--untracked-files=all",
                                          "--no-renames",
                                          "--ignore-submodules=all",
                                          "--ignored=matching",
                                          NULL};
static const char *const entry_words[] = {"ls-files", "-z", "-v", "-s", NULL};

static int begin_list(struct jr_task *ret, const struct jr_work_tree *tree,
                      const char *const *words, const struct jr_work_look *look,
                      struct jr_error *err)
{
    const struct jr_git_command command = jr_work_tree_command(tree, tree->top, words, look);
    return jr_git_begin(ret, &command, NULL, err);
}

/* Take what a process lists. */
static int end_list(struct jr_task *process, struct records *records, struct jr_error *err)
{
    struct jr_work_tree *tree = records->tree;
    JR_CLOSE int top_fd = open(tree->top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const struct jr_task_sink sink = {take_records, records};
    records->top_fd = top_fd;
    int failed = jr_git_end(process, &sink, &records->look->limit, err);
    jr_buf_release(&records->partial);
    return tree->arena.failed || tree->tracked.failed ? jr_git_report_memory(err) : failed;
}

/* Both read the whole index, which takes as long as the tree is large: so at the same time. */
int jr_work_tree_look(struct jr_work_tree *tree, const struct jr_work_look *look,
                      struct jr_error *err)
{
    struct records records = {.tree = tree, .look = look, .take = take_entry};
    struct jr_task entries;
    if (begin_list(&tree->status, tree, look->whole ? whole_words : status_words, look, err) != 0 ||
        begin_list(&entries, tree, entry_words, look, err) != 0)
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
    for (size_t i = 0; i < tree->files_count; i++)
        if (tree->files[i].untracked)
            check_untracked_link(tree, tree->files[i].path);
    if (tree->nested.count > 1)
        qsort(tree->nested.items, tree->nested.count, sizeof *tree->nested.items, compare_texts);
    return 0;
}

bool jr_work_tree_is_submodule(const struct jr_work_tree *tree, const char *path)
{
    for (size_t i = 0; i < tree->submodules.count; i++)
        if (strcmp(tree->submodules.items[i], path) == 0)
            return true;
    return false;
}
