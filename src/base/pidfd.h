/* System calls on processes that older C libraries have no names for. */
#ifndef JR_PIDFD_H
#define JR_PIDFD_H

#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define JR_P_PIDFD 3 /* the idtype of waitid(2) */

/* pidfd_open(2), which sets close-on-exec. */
static inline int jr_pidfd_open(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* pidfd_send_signal(2). */
static inline int jr_pidfd_signal(int pidfd, int sig)
{
    return (int)syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);
}

/* waitid(2) for the end of a pidfd's process, without waiting. The C library's
 * has no room for the usage. */
static inline int jr_pidfd_wait(int pidfd, siginfo_t *ret, struct rusage *usage)
{
    return (int)syscall(SYS_waitid, JR_P_PIDFD, pidfd, ret, WEXITED | WNOHANG,
                        usage);
}

#endif
