#include "base/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

/* Opened right where it is wanted, it is only to be kept open. */
static int take_descriptor(int fd, int from)
{
    if (from < 0)
        from = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (from == fd)
        return fcntl(fd, F_SETFD, 0);
    return from < 0 || dup2(from, fd) < 0 ? -1 : 0;
}

/* The child of a fork: the same as posix_spawnp does, and what that cannot. */
_Noreturn static void become_program(const struct jr_subprocess *program, pid_t parent, int told)
{
    sigset_t none;
    (void)sigemptyset(&none);
    if (program->dies && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() != parent)
        _exit(127);
    bool failed = (program->session && setsid() < 0) || (program->group && setpgid(0, 0) != 0);
    for (int sig = 1; program->session && sig < NSIG; sig++)
        (void)signal(sig, SIG_DFL);
    if (program->session)
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
    for (int fd = 0; fd < 3 && !failed; fd++)
        failed = take_descriptor(fd, program->fds[fd]) != 0;
    if (!failed && program->path != NULL)
        (void)execve(program->path, program->argv, program->envp);
    else if (!failed)
        (void)execvpe(program->argv[0], program->argv, program->envp);
    int error = errno;
    (void)!write(told, &error, sizeof error);
    _exit(127);
}

static pid_t start_by_fork(const struct jr_subprocess *program)
{
    int ends[2], error = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    JR_CLOSE int hear = ends[0];
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        become_program(program, parent, ends[1]);
    error = errno;
    (void)close(ends[1]);
    errno = error;
    if (pid < 0 || read(hear, &error, sizeof error) <= 0)
        return pid;
    (void)waitpid(pid, NULL, 0);
    errno = error;
    return -1;
}

static int add_actions(posix_spawn_file_actions_t *actions, const int *fds)
{
    int failed = 0;
    for (int fd = 0; fd < 3 && failed == 0; fd++)
        failed = fds[fd] < 0 ? posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR, 0)
                             : posix_spawn_file_actions_adddup2(actions, fds[fd], fd);
    return failed;
}

static int add_place(posix_spawnattr_t *attributes, const struct jr_subprocess *program)
{
    sigset_t none, all;
    short flags = 0;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    (void)posix_spawnattr_setsigmask(attributes, &none);
    (void)posix_spawnattr_setsigdefault(attributes, &all);
    if (program->group)
        flags |= POSIX_SPAWN_SETPGROUP;
    if (program->session)
        flags |= POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    return posix_spawnattr_setflags(attributes, flags);
}

static int spawn_program(const struct jr_subprocess *program, pid_t *ret,
                         const posix_spawn_file_actions_t *actions)
{
    posix_spawnattr_t attributes;
    int failed = posix_spawnattr_init(&attributes);
    if (failed != 0)
        return failed;
    failed = add_place(&attributes, program);
    if (failed == 0 && program->path != NULL)
        failed =
            posix_spawn(ret, program->path, actions, &attributes, program->argv, program->envp);
    else if (failed == 0)
        failed =
            posix_spawnp(ret, program->argv[0], actions, &attributes, program->argv, program->envp);
    (void)posix_spawnattr_destroy(&attributes);
    return failed;
}

pid_t jr_subprocess_start(const struct jr_subprocess *program)
{
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    if (program->dies)
        return start_by_fork(program);
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed == 0) {
        failed = add_actions(&actions, program->fds);
        if (failed == 0)
            failed = spawn_program(program, &pid, &actions);
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    errno = failed;
    if (failed == EPERM)
        return start_by_fork(program);
    return failed == 0 ? pid : -1;
}
