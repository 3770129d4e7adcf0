/*
 * The keeper is a child subreaper: all that the command starts ends up as its own children, so that
 * they can be found and killed. All signals are blocked in it; it reads SIGTERM, by which it is
 * told to stop, from a signalfd(2).
 */
#include "spawn/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/pidfd.h"
#include "base/strv.h"
#include "base/syscalls.h"
#include "spawn/program.h"
#include "spawn/reap_descendants.h"

#include "base/banned.h"

#define REAP_NS UINT64_C(5000000000) /* for killed processes to end */
#define MS_NS   UINT64_C(1000000)

/* The keeper's own descriptors. */
enum { REPORT_FD = STDERR_FILENO + 1, FIRST_FREE_FD };

/* What the command's process says where it could not be executed. */
struct failure {
    enum jr_keeper_end end;
    int error;
};

/* No signal interrupts it: there are no handlers here. */
static int write_all(int fd, const void *bytes, size_t len)
{
    return write(fd, bytes, len) == (ssize_t)len ? 0 : -1;
}

/* The child of the keeper: become the command, or say why not to `fd`, which is closed by
 * execve(2). */
static _Noreturn void execute_command(const struct jr_keeper_command *command, pid_t keeper, int fd)
{
    /* What jobrun ignores for itself; what it was started to ignore, as by nohup, stays ignored. */
    static const int own[] = {SIGPIPE, SIGXFSZ, SIGCHLD};
    struct jr_program program = {0};
    struct failure failure = {JR_KEEPER_NO_START, 0};
    sigset_t none;
    (void)sigemptyset(&none);
    (void)setsid();
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper)
        _exit(EXIT_FAILURE);
    if (chdir(command->workdir) != 0)
        failure = (struct failure){JR_KEEPER_NO_FOLDER, errno};
    else
        failure.error = jr_program_find(&program, command->argv[0],
                                        jr_env_get(command->env, "PATH"), command->workdir);
    if (failure.error == 0) {
        for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
            (void)signal(own[i], SIG_DFL);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)execve(program.path, command->argv, command->env);
        failure.error = jr_program_refine_errno(program.path, command->workdir, errno);
    }
    (void)write_all(fd, &failure, sizeof failure);
    _exit(EXIT_FAILURE);
}

/* Returns the pid, once the command is executing; else 0, with why. */
static pid_t start_command(const struct jr_keeper_command *command, struct jr_keeper_report *report)
{
    struct failure failure = {JR_KEEPER_NO_START, 0};
    int ends[2];
    pid_t keeper = getpid(), pid = -1;
    if (pipe2(ends, O_CLOEXEC) == 0)
        pid = fork();
    if (pid == 0)
        execute_command(command, keeper, ends[1]);
    failure.error = errno;
    if (pid > 0) {
        (void)close(ends[1]);
        if (read(ends[0], &failure, sizeof failure) == 0)
            return pid; /* else it ends, and is reaped with the rest */
    }
    report->end = failure.end;
    report->value = failure.error;
    return 0;
}

/* The command was told nothing yet: wait for its end, the limit, or a stop. */
static void await_command(pid_t pid, int signal_fd, uint64_t until_ns,
                          struct jr_keeper_report *report)
{
    /* Readable once the command has ended; without pidfds, when any child has. */
    int pidfd = jr_pidfd_open(pid);
    sigset_t child;
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    struct pollfd fds[] = {
        {.fd = pidfd >= 0 ? pidfd : signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK),
         .events = POLLIN},
        {.fd = signal_fd, .events = POLLIN}};
    struct signalfd_siginfo heard; /* of another child, perhaps */
    siginfo_t info = {0};
    int ready;
    do { /* all signals are blocked, so nothing else ends a wait */
        ready = poll(fds, 2, jr_clock_poll_ms(until_ns));
        if (ready > 0 && fds[0].revents != 0)
            (void)!read(fds[0].fd, &heard, sizeof heard);
    } while (ready > 0 && fds[1].revents == 0 && !jr_child_has_ended(fds[0].fd, pid));
    report->end = ready == 0 ? JR_KEEPER_TIMED_OUT : JR_KEEPER_STOPPED;
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG) != 0 || info.si_pid == 0)
        return;
    bool exited = info.si_code == CLD_EXITED;
    report->end = exited ? JR_KEEPER_EXITED : JR_KEEPER_SIGNALED;
    report->value = info.si_status;
}

/* Whether a child lives. Those that have ended are reaped. */
static bool has_live_child(void)
{
    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | __WALL) != 0)
            return false;
        if (info.si_pid == 0)
            return true;
    }
}

/* Nothing of jobrun's stays open here: not its console, and not its locks. */
static int take_descriptors(int out_fd, int report_fd)
{
    int null = open("/dev/null", O_RDWR);
    int out = fcntl(out_fd < 0 ? null : out_fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    int report = fcntl(report_fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    if (dup2(null, STDIN_FILENO) != STDIN_FILENO || dup2(out, STDOUT_FILENO) != STDOUT_FILENO ||
        dup2(out, STDERR_FILENO) != STDERR_FILENO ||
        dup3(report, REPORT_FD, O_CLOEXEC) != REPORT_FD)
        return -1;
    return jr_close_range(FIRST_FREE_FD, UINT_MAX, 0);
}

static _Noreturn void keep_command(const struct jr_keeper_command *command, int report_fd)
{
    struct jr_keeper_report report = {.end = JR_KEEPER_NO_START};
    uint64_t until_ns = jr_clock_ns() + (uint64_t)command->limit_ms * MS_NS;
    struct jr_reap reap;
    sigset_t all, stop;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)setsid();
    (void)prctl(PR_SET_NAME, "jobrun-keeper");
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (take_descriptors(command->out_fd, report_fd) != 0)
        _exit(EXIT_FAILURE);
    (void)sigemptyset(&stop);
    (void)sigaddset(&stop, SIGTERM);
    int signal_fd = signalfd(-1, &stop, SFD_CLOEXEC);
    pid_t pid = start_command(command, &report);
    if (pid > 0)
        await_command(pid, signal_fd, until_ns, &report);
    bool ended = report.end == JR_KEEPER_EXITED || report.end == JR_KEEPER_SIGNALED;
    report.left = ended && has_live_child();
    jr_reap(&reap, REAP_NS, NULL);
    _exit(write_all(REPORT_FD, &report, sizeof report) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

int jr_keeper_start(struct jr_keeper *ret, const struct jr_keeper_command *command)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0)
        keep_command(command, ends[1]);
    int error = errno;
    (void)close(ends[1]);
    if (pid < 0) {
        (void)close(ends[0]);
        errno = error;
        return -1;
    }
    *ret = (struct jr_keeper){.pid = pid, .fd = ends[0]};
    return 0;
}

void jr_keeper_stop(const struct jr_keeper *keeper)
{
    /* It is not reaped, so the number is its own. */
    (void)kill(keeper->pid, SIGTERM);
}

void jr_keeper_finish(struct jr_keeper *keeper, struct jr_keeper_report *ret)
{
    struct jr_keeper_report report;
    ssize_t got;
    do
        got = read(keeper->fd, &report, sizeof report);
    while (got == -1 && errno == EINTR);
    *ret = got == (ssize_t)sizeof report ? report : (struct jr_keeper_report){0};
    (void)close(keeper->fd);
    while (waitpid(keeper->pid, NULL, 0) == -1 && errno == EINTR)
        continue;
    *keeper = (struct jr_keeper){.fd = -1};
}
