#include "vcs/git_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/pidfd.h"
#include "base/syscalls.h"

#include "base/banned.h"

enum { MOST_SAID = 4096, MOST_KEPT = 64 << 20 };

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

/* Milliseconds that are left, rounded up. */
static int time_left(uint64_t deadline_ns)
{
    uint64_t now = jr_clock_ns();
    uint64_t left = now >= deadline_ns ? 0 : deadline_ns - now;
    uint64_t ms = (left + 999999) / 1000000;
    return ms > 3600000 ? 3600000 : (int)ms;
}

/* Wait until the descriptor has something, or its end: 0, or an errno. */
static int await_fd(int fd, const struct jr_git_limit *limit)
{
    for (;;) {
        struct pollfd wait[] = {{.fd = fd, .events = POLLIN},
                                {.fd = limit->stop_fd, .events = POLLIN}};
        int ready = poll(wait, 2, time_left(limit->deadline_ns));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return ready == 0 ? ETIMEDOUT : errno;
        return wait[0].revents != 0 ? 0 : EINTR;
    }
}

/* Hand on all that comes out: 0 at its end, else an errno. */
static int take_output(int fd, const struct jr_git_sink *sink, const struct jr_git_limit *limit)
{
    char piece[64 * 1024];
    int failed;
    while ((failed = await_fd(fd, limit)) == 0) {
        ssize_t got = read(fd, piece, sizeof piece);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0 ? 0 : errno;
        if (sink->take != NULL && sink->take(sink->data, piece, (size_t)got) != 0)
            return ECANCELED;
    }
    return failed;
}

/* What it reads: all of it is there when it starts, so that it never waits for us while we wait for
 * it. */
static int open_input(const struct jr_buf *input)
{
    int fd = jr_memory_file("git");
    if (fd >= 0 &&
        (jr_io_write_all(fd, input->data, input->len) != 0 || lseek(fd, 0, SEEK_SET) != 0))
        (void)close(jr_steal_fd(&fd));
    return fd;
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

/* The process is to end by itself, once its output has; but it has to. */
static int end_process(pid_t pid, const struct jr_git_limit *limit)
{
    JR_CLOSE int pidfd = jr_pidfd_open(pid);
    int failed = 0;
    if (pidfd >= 0)
        failed = await_fd(pidfd, limit);
    else if (!jr_child_await(pidfd, pid, time_left(limit->deadline_ns)))
        failed = ETIMEDOUT;
    if (failed != 0)
        jr_git_kill(pid);
    int status = jr_git_reap(pid);
    if (failed != 0)
        return failed;
    return status == 0 ? 0 : -1;
}

int jr_git_begin(struct jr_git_process *ret, const struct jr_git_command *command,
                 const struct jr_buf *input, struct jr_error *err)
{
    int ends[2];
    *ret = JR_GIT_PROCESS_INIT;
    if (input != NULL && input->failed)
        return fail_git(err, ENOMEM, "out of memory");
    JR_CLOSE int in = input == NULL ? -1 : open_input(input);
    JR_CLOSE int said = jr_memory_file("git");
    if ((input != NULL && in < 0) || pipe2(ends, O_CLOEXEC) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "git");
    JR_CLOSE int from = ends[0];
    const int fds[3] = {in, ends[1], said};
    pid_t pid = jr_git_spawn_command(command, fds);
    int error = errno;
    (void)close(ends[1]);
    errno = error;
    if (pid < 0 && errno == ENOENT)
        return fail_git(err, ENOENT,
                        "no git program was found (jobrun looks only in absolute folders of the "
                        "PATH that not everybody may write to)");
    if (pid < 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "git");
    *ret = (struct jr_git_process){pid, jr_steal_fd(&from), jr_steal_fd(&said)};
    return 0;
}

void jr_git_cancel(struct jr_git_process *process)
{
    if (process->pid > 0) {
        jr_git_kill(process->pid);
        (void)jr_git_reap(process->pid);
    }
    process->pid = 0;
    if (process->from >= 0)
        (void)close(jr_steal_fd(&process->from));
    if (process->said >= 0)
        (void)close(jr_steal_fd(&process->said));
}

/* Its output, and then its end: 0, -1 where it failed, or an errno. */
static int await_end(struct jr_git_process *process, const struct jr_git_sink *sink,
                     const struct jr_git_limit *limit)
{
    int failed = take_output(process->from, sink, limit);
    if (failed != 0)
        return failed;
    pid_t pid = process->pid;
    process->pid = 0;
    return end_process(pid, limit);
}

int jr_git_end(struct jr_git_process *process, const struct jr_git_sink *sink,
               const struct jr_git_limit *limit, struct jr_error *err)
{
    int failed = await_end(process, sink, limit);
    if (failed == ETIMEDOUT)
        (void)fail_git(err, ETIMEDOUT, "git did not finish in time");
    else if (failed == EINTR)
        (void)fail_git(err, EINTR, "git was stopped by a signal");
    else if (failed > 0)
        (void)fail_git(err, failed,
                       failed == ECANCELED ? "git printed too much" : strerror(failed));
    else if (failed < 0)
        (void)report_complaint(process->said, err);
    jr_git_cancel(process);
    return failed == 0 ? 0 : -1;
}

int jr_git_run(const struct jr_git_command *command, const struct jr_buf *input,
               const struct jr_git_sink *sink, const struct jr_git_limit *limit,
               struct jr_error *err)
{
    struct jr_git_process process;
    if (jr_git_begin(&process, command, input, err) != 0)
        return -1;
    return jr_git_end(&process, sink, limit, err);
}
