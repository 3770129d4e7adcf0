#include "host/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/names.h"
#include "base/pidfd.h"

#include "base/banned.h"

/* After SIGKILL, unless the process hangs in the kernel. */
enum { LAST_WAIT_MS = 1000 };

/* The child: whatever befalls it says nothing about jobrun, so no core is left and no handler of
 * jobrun's or of a sanitizer's runs. */
static void run_asked_child(const struct jr_ask *ask, int fd)
{
    const struct rlimit none = {0, 0};
    sigset_t empty;
    for (int sig = 1; sig < NSIG; sig++)
        (void)signal(sig, SIG_DFL);
    (void)sigemptyset(&empty);
    (void)sigprocmask(SIG_SETMASK, &empty, NULL);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    _exit(ask->answer(ask->data, fd));
}

/* NULL at the end of the answer. */
static const char *read_child_answer(struct jr_buf *out, struct jr_arena *arena,
                                     const struct jr_ask *ask, int fd)
{
    uint64_t end = jr_clock_ns() + (uint64_t)ask->limit_ms * 1000000;
    size_t from = out->len;
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        char bytes[4096];
        int got = poll(&ready, 1, jr_clock_poll_ms(end));
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            return jr_arena_printf(arena, "gave no answer within %g s", ask->limit_ms / 1000.0);
        ssize_t count = got < 0 ? -1 : read(fd, bytes, sizeof bytes);
        if (count < 0)
            return jr_arena_printf(arena, "could not be read: %s", strerror(errno));
        if (count == 0)
            return out->failed ? "printed more than fits in memory" : NULL;
        jr_buf_add(out, bytes, (size_t)count);
        if (out->len - from > ask->most)
            return jr_arena_printf(arena, "printed more than %zu bytes", ask->most);
    }
}

const char *jr_ask(struct jr_buf *out, struct jr_arena *arena, const struct jr_ask *ask)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return jr_arena_printf(arena, "cannot be asked: %s", strerror(errno));
    JR_CLOSE int reader = ends[0];
    pid_t pid = fork();
    if (pid == 0)
        run_asked_child(ask, ends[1]);
    (void)close(ends[1]);
    if (pid < 0)
        return jr_arena_printf(arena, "cannot be asked: %s", strerror(errno));
    JR_CLOSE int pidfd = jr_pidfd_open(pid);
    const char *silence = read_child_answer(out, arena, ask, reader);
    siginfo_t end = {0};
    /* what has closed the pipe gets what is left of the limit to end, too */
    if (silence == NULL)
        (void)jr_child_await(pidfd, pid, (int)ask->limit_ms);
    /* it is not reaped yet, so its number, which is also that of the group, is not reused */
    (void)kill(-pid, SIGKILL);
    (void)kill(pid, SIGKILL);
    if (jr_child_await(pidfd, pid, LAST_WAIT_MS))
        (void)jr_child_wait(pidfd, pid, &end, NULL);
    if (silence != NULL)
        return silence;
    if (end.si_pid == 0)
        return "cannot be killed: it hangs in the kernel";
    if (end.si_code != CLD_EXITED) {
        char name[JR_SIGNAL_NAME];
        jr_signal_name(name, end.si_status);
        return jr_arena_printf(arena, "died by %s", name);
    }
    return end.si_status == 0 ? NULL : jr_arena_printf(arena, "exited with code %d", end.si_status);
}
