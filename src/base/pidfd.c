#include "base/pidfd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/proc.h"
#include "base/syscalls.h"

#include "base/banned.h"

int jr_pidfd_open(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

bool jr_pidfd_works(void)
{
    JR_CLOSE int fd = jr_pidfd_open(getpid());
    return fd >= 0 || !jr_call_is_missing(errno);
}

int jr_pidfd_stand_in(void)
{
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

static int signal_pidfd(int pidfd, int sig)
{
    return (int)syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);
}

/* Whether it is no pidfd, or one that nothing can be done with here. */
static bool is_useless(int error)
{
    return jr_call_is_missing(error) || error == EBADF;
}

int jr_child_signal(int pidfd, pid_t pid, int sig)
{
    if (pidfd >= 0 && signal_pidfd(pidfd, sig) == 0)
        return 0;
    if (pidfd >= 0 && !is_useless(errno))
        return -1;
    errno = ESRCH;
    return pid > 0 ? kill(pid, sig) : -1;
}

/* The C library's has no room for the usage. */
static int wait_for(int type, int id, siginfo_t *ret, int options, struct rusage *usage)
{
    return (int)syscall(SYS_waitid, type, id, ret, options | WEXITED | WNOHANG, usage);
}

/* Kernels before 5.4 call the type invalid. */
static int wait_for_child(int pidfd, pid_t pid, siginfo_t *ret, int options, struct rusage *usage)
{
    if (pidfd >= 0 && wait_for(JR_P_PIDFD, pidfd, ret, options, usage) == 0)
        return 0;
    if (pidfd >= 0 && !is_useless(errno) && errno != EINVAL)
        return -1;
    errno = ECHILD;
    return pid > 0 ? wait_for(P_PID, pid, ret, options, usage) : -1;
}

int jr_child_wait(int pidfd, pid_t pid, siginfo_t *ret, struct rusage *usage)
{
    return wait_for_child(pidfd, pid, ret, 0, usage);
}

bool jr_child_has_ended(int pidfd, pid_t pid)
{
    siginfo_t info = {0};
    return wait_for_child(pidfd, pid, &info, WNOWAIT, NULL) == 0 && info.si_pid != 0;
}

static uint64_t after_ms(int ms)
{
    return jr_clock_ns() + (uint64_t)ms * 1000000;
}

bool jr_child_await(int pidfd, pid_t pid, int limit_ms)
{
    struct pollfd end = {.fd = pidfd, .events = POLLIN};
    uint64_t until = after_ms(limit_ms);
    if (pidfd >= 0)
        (void)poll(&end, 1, limit_ms);
    while (!jr_child_has_ended(pidfd, pid)) {
        if (jr_clock_ns() >= until)
            return false;
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return true;
}

/* 0: it is not there, or has ended and was not reaped. */
static uint64_t ticks_of(pid_t pid)
{
    struct jr_proc proc;
    return pid > 0 && jr_proc_own(&proc, pid) && proc.state != 'Z' ? proc.start_ticks : 0;
}

struct jr_hold jr_hold_open(pid_t pid)
{
    struct jr_hold hold = {.fd = pid > 0 ? jr_pidfd_open(pid) : -1};
    hold.ticks = ticks_of(pid);
    hold.pid = hold.fd >= 0 || hold.ticks != 0 ? pid : 0;
    return hold;
}

void jr_hold_close(struct jr_hold *hold)
{
    if (hold->fd >= 0)
        (void)close(hold->fd);
    *hold = JR_HOLD_NONE;
}

bool jr_hold_has_ended(const struct jr_hold *hold)
{
    struct pollfd end = {.fd = hold->fd, .events = POLLIN};
    if (hold->pid == 0)
        return true;
    if (hold->fd >= 0)
        return poll(&end, 1, 0) > 0;
    return ticks_of(hold->pid) != hold->ticks;
}

bool jr_hold_await(const struct jr_hold *hold, int limit_ms)
{
    struct pollfd end = {.fd = hold->fd, .events = POLLIN};
    uint64_t until = after_ms(limit_ms);
    if (hold->fd >= 0)
        (void)poll(&end, 1, limit_ms);
    while (!jr_hold_has_ended(hold)) {
        if (jr_clock_ns() >= until)
            return false;
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return true;
}

int jr_hold_poll_ms(const struct jr_hold *hold, int limit_ms)
{
    bool look = hold->pid != 0 && hold->fd < 0;
    if (look && (limit_ms < 0 || limit_ms > JR_HOLD_LOOK_MS))
        return JR_HOLD_LOOK_MS;
    return limit_ms;
}

/* First the kernel is told whom a descriptor belongs to, which it remembers as a process; then that
 * process is compared with the one that is meant; and only then something happens on the
 * descriptor, of which its owner is told by the signal. No moment is left in which the number could
 * change hands. Nor is the owner told of anything but that: the end of a pipe would be the next. */
static int signal_owner(const struct jr_hold *hold, int sig)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return -1;
    JR_CLOSE int from = ends[0];
    JR_CLOSE int to = ends[1];
    if (fcntl(from, F_SETOWN, hold->pid) != 0 || fcntl(from, F_SETSIG, sig) != 0)
        return -1;
    bool same = hold->ticks != 0 && ticks_of(hold->pid) == hold->ticks;
    errno = ESRCH;
    /* The kernel would not say whether we may. */
    if (!same || kill(hold->pid, 0) != 0 || fcntl(from, F_SETFL, O_ASYNC) != 0)
        return -1;
    ssize_t written = write(to, "", 1);
    int error = errno;
    (void)fcntl(from, F_SETFL, 0);
    errno = error;
    return written == 1 ? 0 : -1;
}

int jr_hold_signal(const struct jr_hold *hold, int sig)
{
    if (hold->fd >= 0 && signal_pidfd(hold->fd, sig) == 0)
        return 0;
    if (hold->fd >= 0 && !is_useless(errno))
        return -1;
    errno = ESRCH;
    return hold->pid > 0 ? signal_owner(hold, sig) : -1;
}
