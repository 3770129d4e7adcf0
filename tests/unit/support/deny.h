/*
 * A kernel without some system calls, or a sandbox that refuses them: a seccomp(2) filter, for the
 * rest of the process and all that it starts.
 */
#ifndef DENY_H
#define DENY_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

struct deny_call {
    unsigned number; /* SYS_...; of waitid, what waits for pidfds alone */
    unsigned error;  /* errno; 0: it is allowed */
};

enum { DENY_MOST = 16, DENY_P_PIDFD = 3 /* of waitid(2) */ };

static inline unsigned short deny_add(struct sock_filter *code, unsigned short len,
                                      const struct deny_call *call)
{
    const struct sock_filter refuse = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | call->error);
    const struct sock_filter load_type =
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args));
    const struct sock_filter is_pidfd = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, DENY_P_PIDFD, 0, 1);
    const struct sock_filter load_call =
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    bool narrow = call->number == SYS_waitid;
    const struct sock_filter is_call =
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call->number, 0, narrow ? 4 : 1);
    code[len++] = is_call;
    if (narrow) {
        code[len++] = load_type;
        code[len++] = is_pidfd;
    }
    code[len++] = refuse;
    if (narrow)
        code[len++] = load_call;
    return len;
}

/* False where no filter can be installed. */
static inline bool deny(const struct deny_call *calls, size_t count)
{
    struct sock_filter code[5 * DENY_MOST + 2];
    const struct sock_filter load_call =
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    unsigned short len = 0;
    code[len++] = load_call;
    for (size_t i = 0; i < count && i < DENY_MOST; i++)
        if (calls[i].error != 0)
            len = deny_add(code, len, &calls[i]);
    code[len++] = allow;
    const struct sock_fprog program = {len, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#endif
