#include "vcs/git_call.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "base/strv.h"

#include "base/banned.h"

enum { MOST_WORDS = 16 };

/* posix_spawn's failures are those of the last resort: memory and processes. */
static pid_t spawn_git(char *const *argv, const int fds[static 3],
                       char *const *env)
{
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed == 0) {
        for (int fd = 0; fd < 3 && failed == 0; fd++)
            failed =
                fds[fd] < 0
                    ? posix_spawn_file_actions_addopen(&actions, fd,
                                                       "/dev/null", O_RDWR, 0)
                    : posix_spawn_file_actions_adddup2(&actions, fds[fd], fd);
        if (failed == 0)
            failed = posix_spawnp(&pid, "git", &actions, NULL, argv, env);
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    errno = failed;
    return failed == 0 ? pid : -1;
}

pid_t jr_git_spawn(const char *folder, const char *const *words,
                   const int fds[static 3], char *const *envp)
{
    const char *argv[MOST_WORDS + 16] = {"git",
                                         "-C",
                                         folder,
                                         "--no-pager",
                                         "--no-optional-locks",
                                         "--no-replace-objects",
                                         "-c",
                                         "core.fsmonitor=false",
                                         "-c",
                                         "core.hooksPath=/dev/null",
                                         "-c",
                                         "protocol.allow=never"};
    size_t count = 12;
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_strv env = {0};
    for (size_t i = 0; words[i] != NULL && i < MOST_WORDS; i++)
        argv[count++] = words[i];
    jr_strv_copy(&env, &arena, envp);
    jr_env_unset(&env, "GIT_*");
    errno = ENOMEM;
    pid_t pid =
        arena.failed ? -1 : spawn_git((char *const *)argv, fds, env.items);
    int error = errno;
    jr_arena_release(&arena);
    errno = error;
    return pid;
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
