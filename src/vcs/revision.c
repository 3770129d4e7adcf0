#include "vcs/revision.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/num.h"
#include "vcs/git.h"

#include "base/banned.h"

static const size_t MOST_LIST = (size_t)256 << 20; /* bytes of the list */
#define PATIENCE_NS (60 * UINT64_C(1000000000))    /* that git may be silent */

struct entry {
    const char *path, *object;
};

struct jr_revision {
    struct jr_arena arena;
    struct jr_buf list; /* what the entries point into */
    const char *name, *top;
    char *const *envp; /* borrowed */
    struct entry *entries;
    size_t count;
    struct jr_task cat;         /* `git cat-file`, once something was read */
    struct jr_task_limit limit; /* of the silence */
    struct jr_buf ahead;        /* read from it and not used yet */
    size_t wanted;              /* bytes of it */
};

/* A sink of the list; the data is the revision. */
static int take_list(void *data, const char *bytes, size_t len)
{
    struct jr_revision *rev = data;
    jr_buf_add(&rev->list, bytes, len);
    rev->limit.deadline_ns = jr_clock_ns() + PATIENCE_NS;
    return rev->list.failed || rev->list.len >= MOST_LIST ? -1 : 0;
}

/* "MODE TYPE OBJECT<tab>PATH": regular files only. */
static bool take_entry(struct jr_revision *rev, char *line)
{
    char *tab = strchr(line, '\t');
    if (tab == NULL || strncmp(line, "100", 3) != 0)
        return true;
    *tab = '\0';
    char *object = strrchr(line, ' ');
    struct entry *entry = jr_arena_push(&rev->arena, &rev->entries, &rev->count, sizeof *entry);
    if (entry == NULL || object == NULL)
        return false;
    *entry = (struct entry){tab + 1, object + 1};
    return true;
}

static int compare_entry_paths(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

static int read_tree_list(struct jr_revision *rev, struct jr_error *err)
{
    const char *commit = jr_arena_printf(&rev->arena, "%s^{commit}", rev->name);
    const char *const words[] = {"ls-tree", "-r", "-z", "--full-tree", commit, NULL};
    const struct jr_git_command command = {.folder = rev->top, .words = words, .envp = rev->envp};
    const struct jr_task_sink sink = {take_list, rev};
    struct jr_error why = {0};
    if (commit == NULL)
        return jr_git_report_memory(err);
    if (jr_git_begin(&rev->cat, &command, NULL, &why) != 0) {
        errno = why.sys;
        return jr_error_sys(err, JR_STATUS_LAUNCH, "git");
    }
    rev->limit.deadline_ns = jr_clock_ns() + PATIENCE_NS;
    if (jr_git_end(&rev->cat, &sink, &rev->limit, &why) != 0)
        return why.sys != 0 ? jr_error_set(err, JR_STATUS_LAUNCH,
                                           "git ls-tree takes too long, or prints too much")
                            : jr_error_set(err, JR_STATUS_USAGE, "no commit '%s' in %s: %s",
                                           rev->name, rev->top, why.text);
    for (size_t at = 0, len; at < rev->list.len; at += len + 1) {
        len = strlen(rev->list.data + at);
        if (!take_entry(rev, rev->list.data + at))
            return jr_git_report_memory(err);
    }
    if (rev->count > 0)
        qsort(rev->entries, rev->count, sizeof *rev->entries, compare_entry_paths);
    return 0;
}

int jr_revision_open(struct jr_revision **ret, const char *folder, const char *name,
                     char *const *envp, struct jr_error *err)
{
    JR_FREE char *top = jr_io_find_above(folder, ".git");
    if (top == NULL)
        return jr_error_set(err, JR_STATUS_USAGE, "no git repository at %s", folder);
    if (name[0] == '\0' || name[0] == '-')
        return jr_error_set(err, JR_STATUS_USAGE, "'%s' is not a commit", name);
    struct jr_revision *rev = calloc(1, sizeof *rev);
    if (rev == NULL)
        return jr_git_report_memory(err);
    rev->top = jr_arena_strdup(&rev->arena, top);
    rev->name = jr_arena_strdup(&rev->arena, name);
    rev->envp = envp;
    rev->cat = JR_TASK_NONE;
    rev->limit.stop_fd = -1;
    if ((rev->arena.failed ? jr_git_report_memory(err) : read_tree_list(rev, err)) != 0) {
        jr_revision_close(rev);
        return -1;
    }
    *ret = rev;
    return 0;
}

void jr_revision_close(struct jr_revision *revision)
{
    if (revision == NULL)
        return;
    jr_task_cancel(&revision->cat);
    jr_buf_release(&revision->ahead);
    jr_buf_release(&revision->list);
    jr_arena_release(&revision->arena);
    free(revision);
}

const char *jr_revision_name(const struct jr_revision *revision)
{
    return revision->name;
}

const char *jr_revision_top(const struct jr_revision *revision)
{
    return revision->top;
}

size_t jr_revision_count(const struct jr_revision *revision)
{
    return revision->count;
}

const char *jr_revision_path(const struct jr_revision *revision, size_t i)
{
    return revision->entries[i].path;
}

static const struct entry *find_tree_entry(const struct jr_revision *rev, const char *path)
{
    const struct entry wanted = {.path = path};
    return rev->count == 0 ? NULL
                           : bsearch(&wanted, rev->entries, rev->count, sizeof *rev->entries,
                                     compare_entry_paths);
}

bool jr_revision_has(const struct jr_revision *revision, const char *path)
{
    return find_tree_entry(revision, path) != NULL;
}

static int take_ahead(void *data, const char *bytes, size_t len)
{
    struct jr_revision *rev = data;
    jr_buf_add(&rev->ahead, bytes, len);
    rev->limit.deadline_ns = jr_clock_ns() + PATIENCE_NS;
    return rev->ahead.failed ? -1 : rev->ahead.len >= rev->wanted;
}

/* Have at least `len` bytes of its output ahead. */
static bool fill_ahead(struct jr_revision *rev, size_t len)
{
    const struct jr_task_sink sink = {take_ahead, rev};
    rev->wanted = len;
    rev->limit.deadline_ns = jr_clock_ns() + PATIENCE_NS;
    return rev->ahead.len >= len ||
           (jr_task_take(&rev->cat, &sink, &rev->limit) == 0 && rev->ahead.len >= len);
}

static void drop_ahead(struct jr_revision *rev, size_t len)
{
    rev->ahead.len -= len;
    (void)memmove(rev->ahead.data, rev->ahead.data + len, rev->ahead.len + 1);
}

/* The head of an answer: "OBJECT blob SIZE". */
static bool read_head(struct jr_revision *rev, uint64_t *ret_size)
{
    const char *end = NULL;
    for (size_t len = 1; end == NULL && fill_ahead(rev, len); len = rev->ahead.len + 1)
        end = memchr(rev->ahead.data, '\n', rev->ahead.len);
    if (end == NULL)
        return false;
    size_t len = (size_t)(end - rev->ahead.data);
    rev->ahead.data[len] = '\0';
    const char *space = strrchr(rev->ahead.data, ' ');
    bool good = strstr(rev->ahead.data, " blob ") != NULL && jr_num_u64(space + 1, ret_size);
    drop_ahead(rev, len + 1);
    return good;
}

static int read_object(struct jr_revision *rev, const char *object, size_t limit,
                       struct jr_buf *out, struct jr_error *err)
{
    char line[80];
    uint64_t size = 0;
    int len = snprintf(line, sizeof line, "%s\n", object);
    if (jr_io_write_all(rev->cat.in, line, (size_t)len) != 0 || !read_head(rev, &size))
        return jr_error_set(err, JR_STATUS_LAUNCH, "git cat-file gave no answer");
    if (size > limit)
        return jr_error_set(err, JR_STATUS_INVALID, "the file is larger than %zu bytes", limit);
    if (!fill_ahead(rev, (size_t)size + 1))
        return jr_error_set(err, JR_STATUS_LAUNCH, "git cat-file broke off");
    jr_buf_add(out, rev->ahead.data, (size_t)size);
    drop_ahead(rev, (size_t)size + 1);
    return 0;
}

int jr_revision_read(struct jr_revision *revision, const char *path, size_t limit,
                     struct jr_buf *out, struct jr_error *err)
{
    static const char *const words[] = {"cat-file", "--batch", NULL};
    const struct jr_git_command command = {
        .folder = revision->top, .words = words, .envp = revision->envp, .talks = true};
    const struct entry *entry = find_tree_entry(revision, path);
    if (entry == NULL) {
        errno = ENOENT;
        return jr_error_sys(err, JR_STATUS_INVALID, "%s:%s", revision->name, path);
    }
    if ((revision->cat.pid != 0 || jr_git_begin(&revision->cat, &command, NULL, err) == 0) &&
        read_object(revision, entry->object, limit, out, err) == 0)
        return 0;
    /* What is left of an answer is not to be taken for the next one. */
    jr_task_cancel(&revision->cat);
    jr_buf_release(&revision->ahead);
    return -1;
}
