#include "vcs/git.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/strv.h"
#include "base/subprocess.h"

#include "base/banned.h"

static const size_t MOST_REFS = (size_t)64 << 20; /* of packed-refs */

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

static bool is_hash(const char *text)
{
    size_t len = strspn(text, "0123456789abcdef");
    return (len == 40 || len == 64) && text[len] == '\0';
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
    struct jr_arena arena = JR_ARENA_INIT;
    const char *git_dir = find_git_dir(&arena, folder);
    const char *commit = git_dir == NULL ? NULL : read_commit(&arena, git_dir);
    bool found = commit != NULL && is_hash(commit);
    (void)snprintf(ret, JR_GIT_HASH, "%s", found ? commit : "");
    jr_arena_release(&arena);
    return found;
}

/* Whether `path` is a program in a folder whose names not everybody may change.
 */
static bool is_program(const char *folder, const char *path)
{
    struct stat st;
    return stat(folder, &st) == 0 && (st.st_mode & S_IWOTH) == 0 && stat(path, &st) == 0 &&
           S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The git of the PATH's absolute folders. A relative one is wherever the repository is that is
 * looked at: what lies there is not to be executed. */
static const char *find_program(struct jr_arena *arena, char *const *envp)
{
    const char *at = jr_env_get(envp, "PATH");
    for (size_t len; at != NULL; at = at[len] == '\0' ? NULL : at + len + 1) {
        len = strcspn(at, ":");
        const char *folder = jr_arena_strndup(arena, at, len);
        const char *path = folder == NULL ? NULL : jr_arena_printf(arena, "%s/git", folder);
        if (path != NULL && folder[0] == '/' && is_program(folder, path))
            return path;
    }
    return NULL;
}

/* git leads a group of its own, so that what it starts can be ended with it. */
static pid_t spawn_git(const char *path, char *const *argv, const int fds[static 3],
                       char *const *env)
{
    const struct jr_subprocess git = {
        .path = path, .argv = argv, .envp = env, .fds = fds, .group = true};
    return jr_subprocess_start(&git);
}

static void push_word(struct jr_strv *argv, struct jr_arena *arena, const char *word)
{
    jr_strv_push(argv, arena, jr_arena_strdup(arena, word));
}

static void push_words(struct jr_strv *argv, struct jr_arena *arena, const char *const *words)
{
    for (size_t i = 0; words != NULL && words[i] != NULL; i++)
        push_word(argv, arena, words[i]);
}

/* What the repository may say is to be executed, said otherwise. */
static void make_argv(struct jr_strv *argv, struct jr_arena *arena,
                      const struct jr_git_command *command)
{
    static const char *const before[] = {"git", "-C", NULL};
    static const char *const behind[] = {"--no-pager",
                                         "--no-optional-locks",
                                         "--no-replace-objects",
                                         "-c",
                                         "core.fsmonitor=false",
                                         "-c",
                                         "core.hooksPath=/dev/null",
                                         "-c",
                                         "protocol.allow=never",
                                         NULL};
    push_words(argv, arena, before);
    push_word(argv, arena, command->folder);
    push_words(argv, arena, behind);
    for (size_t i = 0; command->settings != NULL && command->settings[i] != NULL; i++) {
        push_word(argv, arena, "-c");
        push_word(argv, arena, command->settings[i]);
    }
    push_words(argv, arena, command->words);
}

/* Nothing is asked of anybody, nothing is fetched whatever the repository allows, and what git says
 * is said in English. */
static void make_environment(struct jr_strv *env, struct jr_arena *arena,
                             const struct jr_git_command *command)
{
    static const char *const own[] = {"GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=none",
                                      "GIT_NO_LAZY_FETCH=1", "LC_ALL=C", NULL};
    jr_strv_copy(env, arena, command->envp);
    jr_env_unset(env, "GIT_*");
    jr_env_unset(env, "LC_ALL");
    jr_env_unset(env, "SSH_ASKPASS");
    push_words(env, arena, own);
    push_words(env, arena, command->variables);
}

pid_t jr_git_spawn_command(const struct jr_git_command *command, const int fds[static 3])
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_strv argv = {0}, env = {0};
    make_argv(&argv, &arena, command);
    make_environment(&env, &arena, command);
    const char *path = find_program(&arena, command->envp);
    errno = arena.failed ? ENOMEM : ENOENT;
    pid_t pid = arena.failed || path == NULL ? -1 : spawn_git(path, argv.items, fds, env.items);
    int error = errno;
    jr_arena_release(&arena);
    errno = error;
    return pid;
}

pid_t jr_git_spawn(const char *folder, const char *const *words, const int fds[static 3],
                   char *const *envp)
{
    const struct jr_git_command command = {.folder = folder, .words = words, .envp = envp};
    return jr_git_spawn_command(&command, fds);
}

int jr_git_reap(pid_t pid)
{
    int status = 0;
    pid_t reaped;
    do
        reaped = waitpid(pid, &status, 0);
    while (reaped < 0 && errno == EINTR);
    return reaped == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void jr_git_kill(pid_t pid)
{
    (void)kill(-pid, SIGKILL);
    (void)kill(pid, SIGKILL);
}

enum { LIMIT_MS = 10000, MOST_BYTES = 64 << 20 };

/* Append all that comes out of `fd`, as long as there is time and room; false where that was too
 * little. */
static bool read_ignored_list(struct jr_buf *out, int fd)
{
    const uint64_t end = jr_clock_ns() + LIMIT_MS * UINT64_C(1000000);
    char piece[8192];
    for (;;) {
        uint64_t now = jr_clock_ns();
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int left = now >= end ? 0 : (int)((end - now) / 1000000);
        int got = poll(&ready, 1, left);
        if (got < 0 && errno == EINTR)
            continue;
        ssize_t len = got <= 0 ? -1 : read(fd, piece, sizeof piece);
        if (len <= 0)
            return len == 0 && !out->failed;
        jr_buf_add(out, piece, (size_t)len);
        if (out->len > MOST_BYTES)
            return false;
    }
}

/* Ask git; false where it does not answer. */
static bool list_ignored(struct jr_buf *out, const char *folder, char *const *envp)
{
    static const char *const words[] = {
        "ls-files",    "-z", "--others", "--ignored", "--exclude-standard",
        "--directory", "--", ".",        NULL};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    const int fds[3] = {-1, ends[1], -1};
    pid_t pid = jr_git_spawn(folder, words, fds, envp);
    (void)close(ends[1]);
    bool answered = pid > 0 && read_ignored_list(out, ends[0]);
    (void)close(ends[0]);
    if (pid > 0 && !answered)
        jr_git_kill(pid);
    return pid > 0 && jr_git_reap(pid) == 0 && answered;
}

static int compare_texts_at(const void *a, const void *b)
{
    char *const *left = a, *const *right = b;
    return strcmp(*left, *right);
}

struct jr_strv jr_git_ignored(struct jr_arena *arena, const char *folder, char *const *envp)
{
    JR_BUF_CLEANUP struct jr_buf answer = JR_BUF_INIT;
    struct jr_strv ret = {0};
    JR_FREE char *real = realpath(folder, NULL);
    JR_FREE char *top = real == NULL ? NULL : jr_io_find_above(real, ".git");
    if (top == NULL || !list_ignored(&answer, real, envp))
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
