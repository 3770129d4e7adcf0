#include "session/sweep/sampler_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/names.h"
#include "base/syscalls.h"
#include "spawn/reap_descendants.h"

#include "base/banned.h"

#define REAP_NS UINT64_C(5000000000) /* for killed processes to end */

enum { WORDS_MOST = 600, END_MS = 2000, STEP_MS = 10 };

/* Everything as a program expects it, and its end with the keeper's. */
_Noreturn static void become_sampler(const struct jr_sampler_command *command,
                                     const int fds[static 3], pid_t keeper, int report)
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == keeper && chdir(command->folder) == 0 && dup2(fds[0], 0) >= 0 &&
        dup2(fds[1], 1) >= 0 && dup2(fds[2], 2) >= 0)
        (void)execvpe(command->argv[0], command->argv, command->envp);
    const int why = errno;
    (void)!write(report, &why, sizeof why);
    _exit(127);
}

/* Wait for the end of the sampler, or of the leader, of which SIGTERM tells. Returns how the
 * sampler ended, as waitpid(2) has it. */
static int await_sampler(pid_t sampler)
{
    sigset_t heard;
    int sig = 0, status = 0, ended = SIGKILL;
    pid_t pid = 0;
    (void)sigemptyset(&heard);
    (void)sigaddset(&heard, SIGCHLD);
    (void)sigaddset(&heard, SIGTERM);
    while (pid != sampler && sig != SIGTERM && sigwait(&heard, &sig) == 0)
        while (pid != sampler && (pid = waitpid(-1, &status, WNOHANG)) > 0)
            if (pid == sampler)
                ended = status;
    return ended;
}

/* End as another process has. */
_Noreturn static void end_like(int status)
{
    static const struct rlimit none;
    sigset_t own;
    if (WIFEXITED(status))
        _exit(WEXITSTATUS(status));
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)signal(WTERMSIG(status), SIG_DFL);
    (void)sigemptyset(&own);
    (void)sigaddset(&own, WTERMSIG(status));
    (void)raise(WTERMSIG(status));
    (void)sigprocmask(SIG_UNBLOCK, &own, NULL);
    _exit(128 + WTERMSIG(status));
}

/* The child of the leader. It keeps no descriptor: neither the pipes, nor what the leader holds for
 * its cells. */
_Noreturn static void keep_sampler(const struct jr_sampler_command *command,
                                   const int fds[static 3], pid_t leader, int report)
{
    struct jr_reap reap;
    sigset_t all;
    pid_t own = getpid(), pid = -1;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_NAME, "jobrun-sampler");
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() == leader)
        pid = fork();
    if (pid == 0)
        become_sampler(command, fds, own, report);
    const int why = errno;
    if (pid < 0) {
        (void)!write(report, &why, sizeof why);
        _exit(127);
    }
    (void)jr_close_range(0, ~0U, 0);
    int status = await_sampler(pid);
    jr_reap(&reap, REAP_NS, NULL);
    end_like(status);
}

/* Whether the program is there: nothing comes then, as the pipe is closed on exec. */
static int await_exec(int report, int *ret_errno)
{
    ssize_t got;
    do
        got = read(report, ret_errno, sizeof *ret_errno);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof *ret_errno ? -1 : 0;
}

static void set_nonblocking(int fd)
{
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* Three pipes: what it reads, what it writes, and why it did not start. */
static int make_pipes(int pipes[static 3][2])
{
    for (int i = 0; i < 3; i++)
        pipes[i][0] = pipes[i][1] = -1;
    for (int i = 0; i < 3; i++)
        if (pipe2(pipes[i], O_CLOEXEC) != 0)
            return -1;
    return 0;
}

static void close_end(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}

int jr_sampler_start(struct jr_sampler_process *ret, const struct jr_sampler_command *command,
                     struct jr_error *err)
{
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
    int pipes[3][2];
    pid_t leader = getpid(), pid = -1;
    *ret = JR_SAMPLER_PROCESS_INIT;
    JR_CLOSE int log = openat(command->dir_fd, JR_SAMPLER_LOG, flags, command->file_mode);
    if (make_pipes(pipes) == 0 && log >= 0)
        pid = fork();
    if (pid == 0)
        keep_sampler(command, (const int[]){pipes[0][0], pipes[1][1], log}, leader, pipes[2][1]);
    int why = errno;
    close_end(pipes[0][0]);
    close_end(pipes[1][1]);
    close_end(pipes[2][1]);
    ret->pid = pid < 0 ? 0 : pid;
    ret->in_fd = pipes[0][1];
    ret->out_fd = pipes[1][0];
    ret->dir_fd = command->dir_fd;
    bool started = pid > 0 && await_exec(pipes[2][0], &why) == 0;
    close_end(pipes[2][0]);
    if (started) {
        set_nonblocking(ret->in_fd);
        set_nonblocking(ret->out_fd);
        return 0;
    }
    jr_sampler_close(ret);
    errno = why;
    return jr_error_sys(err, JR_STATUS_LAUNCH, "could not start the sampler %s", command->argv[0]);
}

/* Take bytes off the front. */
static void drop_front(struct jr_buf *buf, size_t len)
{
    memmove(buf->data, buf->data + len, buf->len - len);
    buf->len -= len;
    buf->data[buf->len] = '\0';
}

static void write_some(struct jr_sampler_process *process)
{
    while (process->in_fd >= 0 && process->to_say.len > 0) {
        ssize_t put = write(process->in_fd, process->to_say.data, process->to_say.len);
        if (put > 0)
            drop_front(&process->to_say, (size_t)put);
        else if (errno == EAGAIN)
            return;
        else if (errno != EINTR)
            jr_sampler_close_input(process);
    }
}

/* Nothing is read: an answer that is there at once still wakes poll(2). */
void jr_sampler_say(struct jr_sampler_process *process, struct jr_buf *text)
{
    if (process->in_fd >= 0)
        jr_buf_add(&process->to_say, text->data, text->len);
    jr_buf_clear(text);
    write_some(process);
}

static void read_some(struct jr_sampler_process *process)
{
    char bytes[8192];
    while (process->out_fd >= 0 && process->said.len <= JR_SAMPLER_LINE_MOST) {
        ssize_t got = read(process->out_fd, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        if (got > 0) {
            jr_buf_add(&process->said, bytes, (size_t)got);
            continue;
        }
        (void)close(process->out_fd);
        process->out_fd = -1;
    }
}

void jr_sampler_turn(struct jr_sampler_process *process)
{
    write_some(process);
    read_some(process);
}

static void drop_front_line(struct jr_sampler_process *process)
{
    if (process->line > 0)
        drop_front(&process->said, process->line);
    process->line = 0;
    read_some(process);
}

const char *jr_sampler_line(struct jr_sampler_process *process, size_t *ret_len)
{
    struct jr_buf *said = &process->said;
    drop_front_line(process);
    const char *end = said->len == 0 ? NULL : memchr(said->data, '\n', said->len);
    if (end != NULL) {
        *ret_len = (size_t)(end - said->data);
        process->line = *ret_len + 1;
        return said->data;
    }
    process->over = process->out_fd < 0 || process->pid == 0 || said->len > JR_SAMPLER_LINE_MOST;
    return NULL;
}

void jr_sampler_ended(struct jr_sampler_process *process, int status)
{
    process->pid = 0;
    process->status = status;
    jr_sampler_turn(process);
}

void jr_sampler_close_input(struct jr_sampler_process *process)
{
    close_end(process->in_fd);
    process->in_fd = -1;
    jr_buf_clear(&process->to_say);
}

/* The last line of the log that says anything. */
static void add_last_words(struct jr_buf *out, int dir_fd)
{
    char bytes[WORDS_MOST];
    JR_CLOSE int fd =
        openat(dir_fd, JR_SAMPLER_LOG, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    off_t end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    off_t from = end > WORDS_MOST ? end - WORDS_MOST : 0;
    ssize_t got = fd < 0 ? 0 : pread(fd, bytes, sizeof bytes, from);
    size_t len = got > 0 ? (size_t)got : 0;
    while (len > 0 && (bytes[len - 1] == '\n' || bytes[len - 1] == ' '))
        len--;
    const char *line = len == 0 ? NULL : memrchr(bytes, '\n', len);
    size_t first = line == NULL ? 0 : (size_t)(line + 1 - bytes);
    if (len == first)
        return;
    jr_buf_str(out, ": ");
    jr_buf_escaped(out, bytes + first, len - first);
}

void jr_sampler_describe(struct jr_buf *out, const struct jr_sampler_process *process)
{
    char name[JR_SIGNAL_NAME];
    if (process->pid != 0) {
        jr_buf_str(out, "closed its output");
    } else if (WIFSIGNALED(process->status)) {
        jr_signal_name(name, WTERMSIG(process->status));
        jr_buf_printf(out, "was killed by %s", name);
    } else {
        jr_buf_printf(out, "ended with status %d", WEXITSTATUS(process->status));
    }
    if (process->said.len > 0)
        jr_buf_str(out, " in the middle of a line");
    add_last_words(out, process->dir_fd);
}

void jr_sampler_await(struct jr_sampler_process *process)
{
    for (int ms = 0; process->pid > 0 && ms < END_MS; ms += STEP_MS) {
        pid_t got = waitpid(process->pid, &process->status, WNOHANG);
        if (got == process->pid || (got < 0 && errno != EINTR))
            process->pid = 0;
        else
            (void)poll(NULL, 0, STEP_MS);
    }
}

void jr_sampler_close(struct jr_sampler_process *process)
{
    jr_sampler_close_input(process);
    jr_sampler_await(process);
    if (process->pid > 0) {
        (void)kill(-process->pid, SIGKILL);
        (void)waitpid(process->pid, &process->status, 0);
        process->pid = 0;
    }
    close_end(process->out_fd);
    process->out_fd = -1;
    jr_buf_release(&process->said);
    jr_buf_release(&process->to_say);
}

void jr_sampler_forget(struct jr_sampler_process *process)
{
    close_end(process->in_fd);
    close_end(process->out_fd);
    process->in_fd = process->out_fd = -1;
    process->pid = 0;
}
