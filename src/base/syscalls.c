#include "base/syscalls.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/close_range.h"
#include "base/pidfd.h"

#include "base/banned.h"

/* Each is made with arguments that it cannot accept, so that nothing happens:
 * what is there complains about them. */

static bool has_answered(long result)
{
    return result >= 0 || !jr_call_is_missing(errno);
}

static bool has_pidfd_open(void)
{
    JR_CLOSE int fd = jr_pidfd_open(getpid());
    return fd >= 0;
}

static bool has_pidfd_send_signal(void)
{
    return has_answered(syscall(SYS_pidfd_send_signal, -1, 0, NULL, 0));
}

static bool has_waitid(void)
{
    JR_CLOSE int fd = open("/", O_PATH | O_CLOEXEC);
    siginfo_t info;
    /* EINVAL says that the kernel does not know what is to be waited for. */
    return syscall(SYS_waitid, JR_P_PIDFD, fd, &info, WEXITED | WNOHANG,
                   NULL) == 0 ||
           (!jr_call_is_missing(errno) && errno != EINVAL);
}

static bool has_clone3(void)
{
    return has_answered(syscall(SYS_clone3, NULL, 0));
}

static bool has_openat2(void)
{
    return has_answered(syscall(SYS_openat2, -1, NULL, NULL, 0));
}

static bool has_faccessat2(void)
{
    return has_answered(syscall(SYS_faccessat2, -1, "", 0, ~0));
}

static bool has_memfd_create(void)
{
    return has_answered(syscall(SYS_memfd_create, NULL, 0));
}

const struct jr_syscall *jr_syscalls(size_t *ret_count)
{
    static const struct jr_syscall rows[] = {
        {"memfd_create", "3.17", "files in /dev/shm or /tmp without a name",
         has_memfd_create},
        {"pidfd_send_signal", "5.1", "kill, of children not reaped yet",
         has_pidfd_send_signal},
        {"pidfd_open", "5.3",
         "SIGCHLD, and a pipe between jobrun's two processes", has_pidfd_open},
        {"clone3", "5.7", "fork, and then a move into the control group",
         has_clone3},
        {"waitid of a pidfd", "5.4", "waitid of a pid, of children only",
         has_waitid},
        {"openat2", "5.6", "openat, folder by folder", has_openat2},
        {"faccessat2", "5.8", "access for the same user, else the mode's bits",
         has_faccessat2},
        {"close_range", "5.9", "a walk over /proc/self/fd, and marks",
         jr_close_range_works},
    };
    *ret_count = sizeof rows / sizeof *rows;
    return rows;
}
