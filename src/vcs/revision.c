#include "vcs/revision.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/num.h"
#include "base/syscalls.h"
#include "vcs/git.h"

#include "base/banned.h"

static const size_t MOST_LIST = (size_t)256 << 20; /* bytes of the list */
enum { PATIENCE = 60 };                            /* seconds that git may be silent */

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
    pid_t pid; /* of `git cat-file`, once something was read; else 0 */
    int to, from;
    struct jr_buf ahead; /* read from it and not used yet */
};

/* Append what git writes next. Returns how much, 0 at the end; -1 when it is silent for too long,
 * or there is no memory. */
static ssize_t read_git_output(int fd, struct jr_buf *to)
{
    char text[16 * 1024];
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    int ready;
    do
        ready = poll(&wait, 1, PATIENCE * 1000);
    while (ready < 0 && errno == EINTR);
    ssize_t got = ready <= 0 ? -1 : read(fd, text, sizeof text);
    if (got > 0)
        jr_buf_add(to, text, (size_t)got);
    return to->failed ? -1 : got;
}

/* What git has said last, without its "fatal: ". */
static const char *git_complaint(int fd, struct jr_buf *text)
{
    struct jr_error err;
    if (fd < 0 || lseek(fd, 0, SEEK_SET) != 0 || jr_io_read_fd(text, fd, 4096, &err) != 0 ||
        text->len == 0)
        return "git gave no reason";
    text->data[strcspn(text->data, "\n")] = '\0';
    const char *colon = strstr(text->data, ": ");
    return colon != NULL ? colon + 2 : text->data;
}

/* Run `git ls-tree` to its end. */
static int run_list(struct jr_revision *rev, const char *commit, struct jr_error *err)
{
    const char *const words[] = {"ls-tree", "-r", "-z", "--full-tree", commit, NULL};
    JR_BUF_CLEANUP struct jr_buf said = JR_BUF_INIT;
    JR_CLOSE int told = jr_memory_file("git");
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "git");
    JR_CLOSE int from = ends[0];
    const int fds[3] = {-1, ends[1], told};
    pid_t pid = jr_git_spawn(rev->top, words, fds, rev->envp);
    (void)close(ends[1]);
    if (pid < 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "git");
    ssize_t got;
    do
        got = read_git_output(from, &rev->list);
    while (got > 0 && rev->list.len < MOST_LIST);
    if (got != 0)
        jr_git_kill(pid);
    if (jr_git_reap(pid) == 0)
        return 0;
    if (got != 0)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "git ls-tree takes too long, or prints too much");
    return jr_error_set(err, JR_STATUS_USAGE, "no commit '%s' in %s: %s", rev->name, rev->top,
                        git_complaint(told, &said));
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
    if (commit == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    if (run_list(rev, commit, err) != 0)
        return -1;
    for (size_t at = 0, len; at < rev->list.len; at += len + 1) {
        len = strlen(rev->list.data + at);
        if (!take_entry(rev, rev->list.data + at))
            return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    }
    if (rev->count > 0)
        qsort(rev->entries, rev->count, sizeof *rev->entries, compare_entry_paths);
    return 0;
}

static struct jr_revision *new_revision(const char *top, const char *name, char *const *envp)
{
    struct jr_revision *rev = calloc(1, sizeof *rev);
    if (rev == NULL)
        return NULL;
    rev->top = jr_arena_strdup(&rev->arena, top);
    rev->name = jr_arena_strdup(&rev->arena, name);
    rev->envp = envp;
    rev->to = rev->from = -1;
    if (!rev->arena.failed)
        return rev;
    jr_revision_close(rev);
    return NULL;
}

int jr_revision_open(struct jr_revision **ret, const char *folder, const char *name,
                     char *const *envp, struct jr_error *err)
{
    JR_FREE char *top = jr_io_find_above(folder, ".git");
    if (top == NULL)
        return jr_error_set(err, JR_STATUS_USAGE, "no git repository at %s", folder);
    if (name[0] == '\0' || name[0] == '-')
        return jr_error_set(err, JR_STATUS_USAGE, "'%s' is not a commit", name);
    struct jr_revision *rev = new_revision(top, name, envp);
    if (rev == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    if (read_tree_list(rev, err) != 0) {
        jr_revision_close(rev);
        return -1;
    }
    *ret = rev;
    return 0;
}

static void stop_cat_file(struct jr_revision *rev)
{
    if (rev->pid > 0) {
        jr_git_kill(rev->pid);
        (void)jr_git_reap(rev->pid);
    }
    rev->pid = 0;
    if (rev->to >= 0)
        (void)close(jr_steal_fd(&rev->to));
    if (rev->from >= 0)
        (void)close(jr_steal_fd(&rev->from));
    jr_buf_release(&rev->ahead);
}

void jr_revision_close(struct jr_revision *revision)
{
    if (revision == NULL)
        return;
    stop_cat_file(revision);
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

/* Start `git cat-file`, once. */
static int start_cat_file(struct jr_revision *rev, struct jr_error *err)
{
    static const char *const words[] = {"cat-file", "--batch", NULL};
    int in[2], out[2];
    if (rev->pid > 0)
        return 0;
    if (pipe2(in, O_CLOEXEC) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "git");
    JR_CLOSE int their_in = in[0];
    rev->to = in[1];
    if (pipe2(out, O_CLOEXEC) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "git");
    JR_CLOSE int their_out = out[1];
    rev->from = out[0];
    const int fds[3] = {their_in, their_out, -1};
    rev->pid = jr_git_spawn(rev->top, words, fds, rev->envp);
    if (rev->pid > 0)
        return 0;
    rev->pid = 0;
    return jr_error_sys(err, JR_STATUS_LAUNCH, "git");
}

/* Have at least `len` bytes of its output ahead. */
static bool fill_ahead(struct jr_revision *rev, size_t len)
{
    while (rev->ahead.len < len)
        if (read_git_output(rev->from, &rev->ahead) <= 0)
            return false;
    return true;
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
    if (jr_io_write_all(rev->to, line, (size_t)len) != 0 || !read_head(rev, &size))
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
    const struct entry *entry = find_tree_entry(revision, path);
    if (entry == NULL) {
        errno = ENOENT;
        return jr_error_sys(err, JR_STATUS_INVALID, "%s:%s", revision->name, path);
    }
    if (start_cat_file(revision, err) == 0 &&
        read_object(revision, entry->object, limit, out, err) == 0)
        return 0;
    /* What is left of an answer is not to be taken for the next one. */
    stop_cat_file(revision);
    return -1;
}
