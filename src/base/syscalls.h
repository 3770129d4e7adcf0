/*
 * System calls that are younger than the oldest kernel that jobrun supports, Linux 4.18, or that
 * sandboxes and container run-times refuse: where they are missing, jobrun does without them. Those
 * that need more than that have a function here that takes another way (and pidfd.h has the one for
 * processes).
 */
#ifndef JR_SYSCALLS_H
#define JR_SYSCALLS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>

/* Headers of older kernels lack the numbers, which are the same on all machines from number 424
 * on. */
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif

/* Whether a call that failed with this errno is not there: the kernel does not have it, or a filter
 * refuses it (seccomp(2)). EPERM may also be the call's own answer; what is done instead then gives
 * it again. */
static inline bool jr_call_is_missing(int error)
{
    return error == ENOSYS || error == EPERM;
}

/* One such call. */
struct jr_syscall {
    const char *name;
    const char *since;     /* the kernel that has it: "5.9" */
    const char *otherwise; /* what jobrun does without it */
    long number, args[4];  /* such as it does not accept: what is there complains about them */
};

/* All of them. */
const struct jr_syscall *jr_syscalls(size_t *ret_count);

/* Whether the kernel has it, and lets us make it; nothing changes. */
bool jr_syscall_works(const struct jr_syscall *call);

/*
 * close_range(2) of Linux 5.9, for which C libraries before 2.34 have no name, and what stands for
 * it on older kernels and in sandboxes that refuse it.
 */

/* The flags, which headers of older kernels do not have. */
#define JR_CLOSE_RANGE_UNSHARE (1U << 1) /* CLOSE_RANGE_UNSHARE */
#define JR_CLOSE_RANGE_CLOEXEC (1U << 2) /* CLOSE_RANGE_CLOEXEC, Linux 5.11 */

/* Whether the kernel has the call, and lets us make it. */
bool jr_close_range_works(void);

/* Close, or mark, the descriptors from `first` to `last`; `flags` are those of close_range(2).
 * Where the call is missing or refused, the descriptors are found in /proc/self/fd; that is
 * async-signal-safe, too. Returns 0, or -1 with errno: of close_range(2), of unshare(2), or of the
 * folder. */
int jr_close_range(unsigned first, unsigned last, unsigned flags);

/* faccessat2(2), with the flags AT_EACCESS and AT_SYMLINK_NOFOLLOW. The C library's faccessat takes
 * the refusal of a sandbox for that of the file. Returns 0, or -1 with errno. */
int jr_access(int dir_fd, const char *path, int mode, int flags);

/* memfd_create(2): an empty file to write to and to read from, with close-on-exec, that ends with
 * its last descriptor; `name` is shown in /proc/PID/fd. Otherwise a file without a name in /dev/shm
 * or /tmp. Returns the descriptor, or -1 with errno. */
int jr_memory_file(const char *name);

#endif
