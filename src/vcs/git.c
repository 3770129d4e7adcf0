#include "vcs/git.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/strv.h"

#include "base/banned.h"

static const size_t MOST_REFS = (size_t)64 << 20; /* of packed-refs */
#define IGNORED_NS (10 * UINT64_C(1000000000))    /* for the list of ignored files */
enum { MOST_SAID = 4096, MOST_KEPT = 64 << 20 };

/* A small file of a git folder without its last newline. NULL: not there. */
static char *read_line(struct jr_arena *arena, const char *dir, const char *name)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    const char *path = jr_arena_printf(arena, "%s/%s", dir, name);
    if (path == NULL || jr_io_read_file(&text, AT_FDCWD, path, 4096, NULL) != 0)
        return NULL;
    return jr_arena_strndup(arena, text.data == NULL ? "" : text.data,
                            strcspn(text.data == NULL ? "" : text.data, "\n"));
}

/* `path`, which may be relative to `base`. */
static char *resolve_git_path(struct jr_arena *arena, const char *base, const char *path)
{
    if (path[0] == '/')
        return jr_arena_strdup(arena, path);
    return jr_arena_printf(arena, "%s/%s", base, path);
}

/* The git folder of the work tree around `folder`: `.git` itself, or where a
 * `.git` file (a linked work tree, a submodule) points. */
static char *find_git_dir(struct jr_arena *arena, const char *folder)
{
    JR_FREE char *top = jr_io_find_above(folder, ".git");
    struct stat st;
    if (top == NULL)
        return NULL;
    char *found = jr_arena_printf(arena, "%s/.git", top);
    if (found == NULL || stat(found, &st) != 0 || S_ISDIR(st.st_mode))
        return found;
    char *link = read_line(arena, top, ".git");
    return link == NULL || strncmp(link, "gitdir: ", 8) != 0
               ? NULL
               : resolve_git_path(arena, top, link + 8);
}

/* Look `ref` up in packed-refs, whose lines are "HASH REF". */
static char *find_packed(struct jr_arena *arena, const char *dir, const char *ref)
{
    JR_BUF_CLEANUP struct jr_buf refs = JR_BUF_INIT;
    const char *path = jr_arena_printf(arena, "%s/packed-refs", dir);
    if (path == NULL || jr_io_read_file(&refs, AT_FDCWD, path, MOST_REFS, NULL) != 0 ||
        refs.len == 0)
        return NULL;
    const char *wanted = jr_arena_printf(arena, " %s\n", ref);
    const char *found = wanted == NULL ? NULL : strstr(refs.data, wanted);
    const char *line = found;
    while (line != NULL && line > refs.data && line[-1] != '\n')
        line--;
    return line == NULL ? NULL : jr_arena_strndup(arena, line, (size_t)(found - line));
}

static const char *read_commit(struct jr_arena *arena, const char *git_dir)
{
    const char *head = read_line(arena, git_dir, "HEAD");
    if (head == NULL || strncmp(head, "ref: ", 5) != 0)
        return head;
    const char *ref = head + 5;
    const char *common = read_line(arena, git_dir, "commondir");
    const char *dir = common == NULL ? git_dir : resolve_git_path(arena, git_dir, common);
    if (dir == NULL)
        return NULL;
    const char *commit = read_line(arena, dir, ref);
    return commit != NULL ? commit : find_packed(arena, dir, ref);
}

int jr_git_report_memory(struct jr_error *err)
{
    return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
}

bool jr_git_commit(char ret[static JR_GIT_HASH], const char *folder)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    const char *git_dir = find_git_dir(&arena, folder);
    const char *commit = git_dir == NULL ? NULL : read_commit(&arena, git_dir);
    size_t len = commit == NULL ? 0 : strspn(commit, "0123456789abcdef");
    bool found = (len == 40 || len == 64) && commit[len] == '\0';
    (void)snprintf(ret, JR_GIT_HASH, "%s", found ? commit : "");
    return found;
}

/* The git of the PATH's absolute folders whose names not everybody may change. A relative one is
 * wherever the repository is that is looked at: what lies there is not to be executed. */
static const char *find_git(struct jr_arena *arena, char *const *envp)
{
    const char *at = jr_env_get(envp, "PATH");
    struct stat st;
    for (size_t len; at != NULL; at = at[len] == '\0' ? NULL : at + len + 1) {
        len = strcspn(at, ":");
        const char *folder = jr_arena_strndup(arena, at, len);
        const char *path = folder == NULL ? NULL : jr_arena_printf(arena, "%s/git", folder);
        if (path != NULL && folder[0] == '/' && stat(folder, &st) == 0 &&
            (st.st_mode & S_IWOTH) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
            access(path, X_OK) == 0)
            return path;
    }
    return NULL;
}

static void push_words(struct jr_strv *argv, struct jr_arena *arena, const char *const *words,
                       const char *before)
{
    for (size_t i = 0; words != NULL && words[i] != NULL; i++) {
        if (before != NULL)
            jr_strv_push(argv, arena, jr_arena_strdup(arena, before));
        jr_strv_push(argv, arena, jr_arena_strdup(arena, words[i]));
    }
}

int jr_git_keep(void *data, const char *bytes, size_t len)
{
    struct jr_buf *to = data;
    jr_buf_add(to, bytes, len);
    return to->failed || to->len > MOST_KEPT ? -1 : 0;
}

static int fail_git(struct jr_error *err, int sys, const char *text)
{
    (void)jr_error_set(err, JR_STATUS_LAUNCH, "%s", text);
    if (err != NULL)
        err->sys = sys;
    return -1;
}

int jr_git_begin(struct jr_task *ret, const struct jr_git_command *command,
                 const struct jr_buf *input, struct jr_error *err)
{
    /* What the repository may say is to be executed, said otherwise. */
    const char *const before[] = {"git",
                                  "-C",
                                  command->folder,
                                  "--no-pager",
                                  "--no-optional-locks",
                                  "--no-replace-objects",
                                  "-c",
                                  "core.fsmonitor=false",
                                  "-c",
                                  "core.hooksPath=/dev/null",
                                  "-c",
                                  "protocol.allow=never",
                                  NULL};
    /* Nothing is asked of anybody, nothing is fetched whatever the repository allows, and what git
     * says is said in English. */
    static const char *const own[] = {"GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=none",
                                      "GIT_NO_LAZY_FETCH=1", "LC_ALL=C", NULL};
    static const int talking[3] = {JR_FD_TASK, JR_FD_TASK, JR_FD_TASK};
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_strv argv = {0}, env = {0};
    *ret = JR_TASK_NONE;
    push_words(&argv, &arena, before, NULL);
    push_words(&argv, &arena, command->settings, "-c");
    push_words(&argv, &arena, command->words, NULL);
    jr_strv_copy(&env, &arena, command->envp);
    jr_env_unset(&env, "GIT_*");
    jr_env_unset(&env, "LC_ALL");
    jr_env_unset(&env, "SSH_ASKPASS");
    push_words(&env, &arena, own, NULL);
    push_words(&env, &arena, command->variables, NULL);
    const struct jr_subprocess git = {.path = find_git(&arena, command->envp),
                                      .argv = argv.items,
                                      .envp = env.items,
                                      .fds = command->talks ? talking : NULL,
                                      .group = true};
    int failed = arena.failed || (input != NULL && input->failed) ? ENOMEM
                 : git.path == NULL                               ? ENOENT
                 : jr_task_begin(ret, &git, input) != 0           ? errno
                                                                  : 0;
    jr_arena_release(&arena);
    errno = failed;
    if (failed == ENOENT)
        return fail_git(err, ENOENT,
                        "no git program was found (jobrun looks only in absolute folders of the "
                        "PATH that not everybody may write to)");
    if (failed == ENOMEM)
        return fail_git(err, ENOMEM, "out of memory");
    return failed == 0 ? 0 : jr_error_sys(err, JR_STATUS_LAUNCH, "git");
}

/* The last line that it wrote, without "fatal: ". */
static int report_complaint(int fd, struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, shown = JR_BUF_INIT;
    off_t end = lseek(fd, 0, SEEK_END);
    off_t from = end > MOST_SAID ? end - MOST_SAID : 0;
    if (end <= 0 || lseek(fd, from, SEEK_SET) < 0 ||
        jr_io_read_fd(&text, fd, MOST_SAID, NULL) != 0 || text.len == 0)
        return fail_git(err, 0, "git gave no reason");
    const char *fatal = strstr(text.data, "fatal: ");
    const char *line = fatal != NULL ? fatal + strlen("fatal: ") : text.data;
    if (strncmp(line, "error: ", strlen("error: ")) == 0)
        line += strlen("error: ");
    jr_buf_escaped(&shown, line, strcspn(line, "\n"));
    return fail_git(err, 0, shown.failed ? "out of memory" : shown.data);
}

int jr_git_end(struct jr_task *task, const struct jr_task_sink *sink,
               const struct jr_task_limit *limit, struct jr_error *err)
{
    int status = 0, failed = jr_task_end(task, sink, limit, &status);
    if (failed != 0)
        (void)fail_git(err, failed,
                       failed == ETIMEDOUT   ? "git did not finish in time"
                       : failed == EINTR     ? "git was stopped by a signal"
                       : failed == ECANCELED ? "git printed too much"
                                             : strerror(failed));
    else if (status != 0)
        (void)report_complaint(task->said, err);
    jr_task_cancel(task);
    return failed == 0 && status == 0 ? 0 : -1;
}

int jr_git_run(const struct jr_git_command *command, const struct jr_buf *input,
               const struct jr_task_sink *sink, const struct jr_task_limit *limit,
               struct jr_error *err)
{
    struct jr_task task;
    return jr_git_begin(&task, command, input, err) != 0 ? -1 : jr_git_end(&task, sink, limit, err);
}

static int compare_texts_at(const void *a, const void *b)
{
    char *const *left = a, *const *right = b;
    return strcmp(*left, *right);
}

struct jr_strv jr_git_ignored(struct jr_arena *arena, const char *folder, char *const *envp)
{
    static const char *const words[] = {
        "ls-files",    "-z", "--others", "--ignored", "--exclude-standard",
        "--directory", "--", ".",        NULL};
    const struct jr_task_limit limit = {jr_clock_ns() + IGNORED_NS, -1};
    JR_BUF_CLEANUP struct jr_buf answer = JR_BUF_INIT;
    struct jr_strv ret = {0};
    JR_FREE char *real = realpath(folder, NULL);
    JR_FREE char *top = real == NULL ? NULL : jr_io_find_above(real, ".git");
    const struct jr_git_command command = {.folder = real, .words = words, .envp = envp};
    if (top == NULL ||
        jr_git_run(&command, NULL, &(struct jr_task_sink){jr_git_keep, &answer}, &limit, NULL) != 0)
        return ret;
    for (size_t at = 0; at < answer.len; at += strlen(answer.data + at) + 1)
        jr_strv_push(&ret, arena, jr_arena_strdup(arena, answer.data + at));
    if (arena->failed)
        return (struct jr_strv){0};
    if (ret.count > 1)
        qsort(ret.items, ret.count, sizeof *ret.items, compare_texts_at);
    return ret;
}

bool jr_git_is_ignored(const struct jr_strv *ignored, const char *path)
{
    return ignored->count > 0 && bsearch(&path, ignored->items, ignored->count,
                                         sizeof *ignored->items, compare_texts_at) != NULL;
}
