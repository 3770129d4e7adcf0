#include "vcs/git.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "vcs/git_call.h"

#include "base/banned.h"

static const size_t MOST_REFS = (size_t)64 << 20; /* of packed-refs */

/* A small file of a git folder without its last newline. NULL: not there. */
static char *read_line(struct jr_arena *arena, const char *dir,
                       const char *name)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    const char *path = jr_arena_printf(arena, "%s/%s", dir, name);
    if (path == NULL || jr_io_read_file(&text, AT_FDCWD, path, 4096, NULL) != 0)
        return NULL;
    return jr_arena_strndup(arena, text.data == NULL ? "" : text.data,
                            strcspn(text.data == NULL ? "" : text.data, "\n"));
}

/* `path`, which may be relative to `base`. */
static char *resolve_git_path(struct jr_arena *arena, const char *base,
                              const char *path)
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
static char *find_packed(struct jr_arena *arena, const char *dir,
                         const char *ref)
{
    JR_BUF_CLEANUP struct jr_buf refs = JR_BUF_INIT;
    const char *path = jr_arena_printf(arena, "%s/packed-refs", dir);
    if (path == NULL ||
        jr_io_read_file(&refs, AT_FDCWD, path, MOST_REFS, NULL) != 0 ||
        refs.len == 0)
        return NULL;
    const char *wanted = jr_arena_printf(arena, " %s\n", ref);
    const char *found = wanted == NULL ? NULL : strstr(refs.data, wanted);
    const char *line = found;
    while (line != NULL && line > refs.data && line[-1] != '\n')
        line--;
    return line == NULL ? NULL
                        : jr_arena_strndup(arena, line, (size_t)(found - line));
}

static const char *read_commit(struct jr_arena *arena, const char *git_dir)
{
    const char *head = read_line(arena, git_dir, "HEAD");
    if (head == NULL || strncmp(head, "ref: ", 5) != 0)
        return head;
    const char *ref = head + 5;
    const char *common = read_line(arena, git_dir, "commondir");
    const char *dir =
        common == NULL ? git_dir : resolve_git_path(arena, git_dir, common);
    if (dir == NULL)
        return NULL;
    const char *commit = read_line(arena, dir, ref);
    return commit != NULL ? commit : find_packed(arena, dir, ref);
}

/* Start `git status` with its output in a pipe. */
static void spawn_status(struct jr_git *git, const char *folder,
                         char *const *envp)
{
    static const char *const words[] = {"status", "--porcelain",
                                        "--untracked-files=no",
                                        "--ignore-submodules=all", NULL};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    const int fds[3] = {-1, ends[1], -1};
    pid_t pid = jr_git_spawn(folder, words, fds, envp);
    (void)close(ends[1]);
    git->fd = ends[0];
    if (pid < 0)
        (void)close(jr_steal_fd(&git->fd));
    else
        git->pid = pid;
}

void jr_git_start(struct jr_git *git, const char *folder, char *const *envp)
{
    struct jr_arena arena = JR_ARENA_INIT;
    const char *git_dir = find_git_dir(&arena, folder);
    const char *commit = git_dir == NULL ? NULL : read_commit(&arena, git_dir);
    if (commit != NULL && is_hash(commit))
        (void)snprintf(git->commit, sizeof git->commit, "%s", commit);
    if (git_dir != NULL)
        spawn_status(git, folder, envp);
    jr_arena_release(&arena);
}

/* Read the output up to its end or the deadline. Returns whether it ended, and
 * whether there was any. */
static bool read_git_status(int fd, uint64_t deadline_ns, bool *ret_any)
{
    char text[4096];
    for (;;) {
        uint64_t now = jr_clock_ns();
        int left = now >= deadline_ns
                       ? 0
                       : (int)((deadline_ns - now + 999999) / 1000000);
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        int ready = poll(&wait, 1, left);
        if (ready < 0 && errno == EINTR)
            continue;
        ssize_t got = ready <= 0 ? -1 : read(fd, text, sizeof text);
        if (got <= 0)
            return got == 0;
        *ret_any = true;
    }
}

void jr_git_finish(struct jr_git *git, int timeout_ms)
{
    if (git->pid == 0)
        return;
    bool any = false;
    uint64_t wait_ns = (uint64_t)(timeout_ms < 0 ? 0 : timeout_ms) * 1000000U;
    bool ended = read_git_status(git->fd, jr_clock_ns() + wait_ns, &any);
    if (!ended)
        (void)kill(git->pid, SIGKILL);
    git->dirty_known = jr_git_reap(git->pid) == 0 && ended;
    git->dirty = git->dirty_known && any;
    git->pid = 0;
    (void)close(jr_steal_fd(&git->fd));
}
