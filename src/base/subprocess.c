#include "base/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/names.h"
#include "base/pidfd.h"
#include "base/syscalls.h"

#include "base/banned.h"

/* After SIGKILL, unless the process hangs in the kernel. */
enum { LAST_WAIT_MS = 1000 };

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
    const struct rlimit no_core = {0, 0};
    bool asked = program->asked, failed = false;
    sigset_t none;
    (void)sigemptyset(&none);
    if ((program->dies || asked) && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() != parent)
        _exit(127);
    if (program->session)
        failed = setsid() < 0;
    else if (program->group || asked)
        failed = setpgid(0, 0) != 0;
    for (int sig = 1; (program->session || asked) && sig < NSIG; sig++)
        (void)signal(sig, SIG_DFL);
    if (program->session || asked)
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (asked)
        (void)setrlimit(RLIMIT_CORE, &no_core);
    if (program->call != NULL) {
        (void)close(told); /* it has started */
        _exit(program->call(program->data, program->fds[1]));
    }
    for (int fd = 0; fd < 3 && !failed; fd++)
        failed = take_descriptor(fd, program->fds[fd]) != 0;
    if (!failed && program->workdir != NULL)
        failed = chdir(program->workdir) != 0;
    if (!failed && asked)
        failed = jr_close_range(STDERR_FILENO + 1, ~0U, JR_CLOSE_RANGE_CLOEXEC) != 0;
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
    if (program->dies || program->asked)
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

/* What it reads: all of it is there when it starts, so that it never waits for us while we wait for
 * it. */
static int open_input(const struct jr_buf *input)
{
    int fd = jr_memory_file("input");
    if (fd >= 0 &&
        (jr_io_write_all(fd, input->data, input->len) != 0 || lseek(fd, 0, SEEK_SET) != 0))
        (void)close(jr_steal_fd(&fd));
    return fd;
}

int jr_task_begin(struct jr_task *ret, const struct jr_subprocess *program,
                  const struct jr_buf *input)
{
    struct jr_subprocess own = *program;
    int fds[3] = {-1, JR_FD_TASK, JR_FD_TASK}, theirs[2] = {-1, -1}, ends[2];
    bool failed = input != NULL && input->failed;
    *ret = JR_TASK_NONE;
    errno = ENOMEM;
    if (program->fds != NULL)
        memcpy(fds, program->fds, sizeof fds);
    if (!failed && input != NULL) {
        fds[0] = theirs[0] = open_input(input);
        failed = theirs[0] < 0;
    }
    for (int fd = 0; fd < 2 && !failed; fd++) {
        if (fds[fd] != JR_FD_TASK)
            continue;
        failed = pipe2(ends, O_CLOEXEC) != 0;
        if (failed)
            break;
        fds[fd] = theirs[fd] = ends[fd];
        *(fd == 0 ? &ret->in : &ret->out) = ends[1 - fd];
    }
    if (fds[2] == JR_FD_TASK)
        fds[2] = ret->said = failed ? -1 : jr_memory_file("errors");
    own.fds = fds;
    pid_t pid = failed ? -1 : jr_subprocess_start(&own);
    int error = errno;
    for (int fd = 0; fd < 2; fd++)
        if (theirs[fd] >= 0)
            (void)close(theirs[fd]);
    if (pid > 0) {
        ret->pid = pid;
        ret->pidfd = jr_pidfd_open(pid);
        return 0;
    }
    jr_task_cancel(ret);
    errno = error;
    return -1;
}

/* Wait until the descriptor has something, or its end: 0, or an errno. */
static int await_fd(int fd, const struct jr_task_limit *limit)
{
    for (;;) {
        struct pollfd wait[] = {{.fd = fd, .events = POLLIN},
                                {.fd = limit->stop_fd, .events = POLLIN}};
        int ready = poll(wait, 2, jr_clock_poll_ms(limit->deadline_ns));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return ready == 0 ? ETIMEDOUT : errno;
        return wait[0].revents != 0 ? 0 : EINTR;
    }
}

int jr_task_take(const struct jr_task *task, const struct jr_task_sink *sink,
                 const struct jr_task_limit *limit)
{
    char piece[64 * 1024];
    int failed;
    while ((failed = await_fd(task->out, limit)) == 0) {
        ssize_t got = read(task->out, piece, sizeof piece);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0 ? 0 : errno;
        int taken = sink->take == NULL ? 0 : sink->take(sink->data, piece, (size_t)got);
        if (taken != 0)
            return taken < 0 ? ECANCELED : 0;
    }
    return failed;
}

/* The process is to end by itself, once its output has; but it has to. It is not reaped. */
static int await_end(const struct jr_task *task, const struct jr_task_limit *limit)
{
    siginfo_t end;
    if (task->pidfd >= 0)
        return await_fd(task->pidfd, limit);
    if (limit->deadline_ns != 0)
        return jr_child_await(-1, task->pid, jr_clock_poll_ms(limit->deadline_ns)) ? 0 : ETIMEDOUT;
    while (waitid(P_PID, (id_t)task->pid, &end, WEXITED | WNOWAIT) != 0)
        if (errno != EINTR)
            return errno;
    return 0;
}

/* It is not reaped yet, so its number, which is also that of a group of its own, is not reused.
 * Returns its status as waitpid(2) has it. */
static int end_group(struct jr_task *task)
{
    siginfo_t end = {0};
    (void)kill(-task->pid, SIGKILL);
    (void)kill(task->pid, SIGKILL);
    if (jr_child_await(task->pidfd, task->pid, LAST_WAIT_MS))
        (void)jr_child_wait(task->pidfd, task->pid, &end, NULL);
    task->pid = 0;
    if (end.si_pid == 0)
        return SIGKILL;
    return end.si_code == CLD_EXITED ? end.si_status << 8 : end.si_status;
}

int jr_task_end(struct jr_task *task, const struct jr_task_sink *sink,
                const struct jr_task_limit *limit, int *ret_status)
{
    if (task->in >= 0)
        (void)close(jr_steal_fd(&task->in));
    int failed = task->out < 0 ? 0 : jr_task_take(task, sink, limit);
    if (failed == 0)
        failed = await_end(task, limit);
    int status = end_group(task);
    if (failed == 0)
        *ret_status = status;
    return failed;
}

void jr_task_cancel(struct jr_task *task)
{
    int *const fds[] = {&task->pidfd, &task->in, &task->out, &task->said};
    if (task->pid > 0)
        (void)end_group(task);
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (*fds[i] >= 0)
            (void)close(jr_steal_fd(fds[i]));
}

/* An answer, of at most so many bytes. */
struct answer {
    struct jr_buf *to;
    size_t most;
};

static int keep_answer(void *data, const char *bytes, size_t len)
{
    const struct answer *answer = data;
    jr_buf_add(answer->to, bytes, len);
    return answer->to->failed || answer->to->len > answer->most ? -1 : 0;
}

const char *jr_subprocess_ask(struct jr_buf *out, struct jr_arena *arena,
                              const struct jr_subprocess *program, unsigned limit_ms, size_t most)
{
    static const int fds[3] = {-1, JR_FD_TASK, -1};
    const struct jr_task_limit limit = {jr_clock_ns() + (uint64_t)limit_ms * 1000000, -1};
    struct answer answer = {out, out->len + most};
    struct jr_subprocess asked = *program;
    struct jr_task task;
    int status = 0;
    asked.asked = true;
    if (program->fds == NULL)
        asked.fds = fds;
    if (jr_task_begin(&task, &asked, NULL) != 0) {
        if (program->call != NULL || errno == EAGAIN || errno == EMFILE)
            return jr_arena_printf(arena, "cannot be asked: %s", strerror(errno));
        if (asked.fds[2] >= 0)
            (void)dprintf(asked.fds[2], "%s\n", strerror(errno));
        return "exited with code 127";
    }
    int failed = jr_task_end(&task, &(struct jr_task_sink){keep_answer, &answer}, &limit, &status);
    jr_task_cancel(&task);
    if (failed == ETIMEDOUT)
        return jr_arena_printf(arena, "gave no answer within %g s", limit_ms / 1000.0);
    if (failed == ECANCELED && !out->failed)
        return jr_arena_printf(arena, "printed more than %zu bytes", most);
    if (failed == ECANCELED || out->failed)
        return "printed more than fits in memory";
    if (failed != 0)
        return jr_arena_printf(arena, "could not be read: %s", strerror(failed));
    if (WIFSIGNALED(status)) {
        char name[JR_SIGNAL_NAME];
        jr_signal_name(name, WTERMSIG(status));
        return jr_arena_printf(arena, "died by %s", name);
    }
    return status == 0 ? NULL : jr_arena_printf(arena, "exited with code %d", WEXITSTATUS(status));
}
