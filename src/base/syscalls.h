/*
 * System calls that are younger than the oldest kernel that jobrun supports,
 * Linux 4.18, or that sandboxes and container run-times refuse: where they are
 * missing, jobrun does without them.
 */
#ifndef JR_SYSCALLS_H
#define JR_SYSCALLS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>

/* Headers of older kernels lack the numbers, which are the same on all
 * machines from number 424 on. */
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

/* Whether a call that failed with this errno is not there: the kernel does not
 * have it, or a filter refuses it (seccomp(2)). EPERM may also be the call's
 * own answer; what is done instead then gives it again. */
static inline bool jr_call_is_missing(int error)
{
    return error == ENOSYS || error == EPERM;
}

/* One such call. */
struct jr_syscall {
    const char *name;
    const char *since;     /* the kernel that has it: "5.9" */
    const char *otherwise; /* what jobrun does without it */
    bool (*works)(void);   /* changes nothing */
};

/* All of them. */
const struct jr_syscall *jr_syscalls(size_t *ret_count);

#endif
