#include "spawn/child.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <jobrun/contract.h>

#include "base/raw_call.h"
#include "base/syscalls.h"

#include "base/banned.h"

_Static_assert(JR_PMI_FD == STDERR_FILENO + 2, "it is the one behind the control socket");
_Static_assert(sizeof(rlim_t) == 8, "as prlimit64 has it");

/* A call with its own arguments, of which the kernel is given four. */
#define CALL(...) FOUR(__VA_ARGS__, 0L, 0L, 0L, 0L, 0L)
#define FOUR(number, a, b, c, d, ...)                                                              \
    jr_raw_call(number, (long)(a), (long)(b), (long)(c), (long)(d))

/* A descriptor in its place, which is not where it is. */
static long place_descriptor(int slot, int fd)
{
    return CALL(SYS_dup3, slot, fd);
}

/* Those behind the three: what it is to have, and nothing else. */
static long close_other_descriptors(const struct jr_child *child)
{
    const int extra = STDERR_FILENO + 1;
    long result = 0;
    if (child->extra)
        result = place_descriptor(JR_SLOT_EXTRA + child->shift, extra);
    if (child->pmi && result >= 0)
        result = place_descriptor(JR_SLOT_PMI + child->shift, JR_PMI_FD);
    if (child->line != 0 && result >= 0)
        result = place_descriptor(JR_SLOT_LINE + child->shift, child->line);
    if (result < 0 || child->marked)
        return result;
    if (child->pmi && !child->extra)
        (void)CALL(SYS_close, extra);
    int first = child->pmi ? JR_PMI_FD + 1 : child->extra ? extra + 1 : extra;
    if (child->line != 0 && result >= 0)
        result = CALL(SYS_close_range, first, child->line - 1);
    if (result < 0)
        return result;
    return CALL(SYS_close_range, child->line != 0 ? child->line + 1 : first, UINT_MAX);
}

/* execve makes caught signals default by itself; ignored ones it leaves. The mask comes last: from
 * here on a signal is the rank's own. What the kernel takes for an action and a mask is not what
 * the C library has; zeros are SIG_DFL, and no signal. The first word of an action is its
 * handler. They are not on the stack: what AddressSanitizer notes of a scope there would stay for
 * the next child on it, since execve does not leave the function. */
static long reset_signals(const struct jr_child *child)
{
    static const unsigned long zeros[8], ignore[8] = {1}; /* SIG_IGN */
    const long mask_size = (NSIG - 1) / 8;
    for (unsigned i = 0; i < child->reset_count; i++) {
        long result = CALL(SYS_rt_sigaction, child->reset[i], zeros, NULL, mask_size);
        if (result < 0)
            return result;
    }
    if (child->shielded)
        (void)CALL(SYS_rt_sigaction, SIGTERM, ignore, NULL, mask_size);
    return CALL(SYS_rt_sigprocmask, SIG_SETMASK, zeros, NULL, mask_size);
}

/* What returns -E for the errno E ends the child at a stage. */
#define TRY(where, call)                                                                           \
    do {                                                                                           \
        long result_ = (call);                                                                     \
        if (result_ < 0) {                                                                         \
            child->error = (int)-result_;                                                          \
            child->stage = (where);                                                                \
            return;                                                                                \
        }                                                                                          \
    } while (0)

/* Become the rank; returns where that fails. */
static void become_rank(struct jr_child *child)
{
    cpu_set_t real[JR_CHILD_CPUS / CPU_SETSIZE] = {0};
    if (!child->marked)
        TRY(JR_STAGE_CLONE, CALL(SYS_close_range, JR_SLOT_END, UINT_MAX, JR_CLOSE_RANGE_UNSHARE));
    TRY(JR_STAGE_SESSION, CALL(SYS_setsid));
    /* Between the clone and the prctl the runner may have died unnoticed. */
    TRY(JR_STAGE_PARENT, CALL(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL));
    TRY(JR_STAGE_PARENT, CALL(SYS_getppid) == child->runner ? 0 : -ESRCH);
    /* A terminal of its own is also the one that controls its session. */
    if (child->input == JR_INPUT_TERMINAL)
        TRY(JR_STAGE_STDIN, CALL(SYS_ioctl, JR_SLOT_IN, TIOCSCTTY));
    int in = child->input == JR_INPUT_NONE ? JR_SLOT_NULL : JR_SLOT_IN;
    TRY(JR_STAGE_STDIN, place_descriptor(in, STDIN_FILENO));
    TRY(JR_STAGE_STDOUT, place_descriptor(child->streams[0].slot, STDOUT_FILENO));
    TRY(JR_STAGE_STDERR, place_descriptor(child->streams[1].slot, STDERR_FILENO));
    TRY(JR_STAGE_LIMITS, close_other_descriptors(child));
    TRY(JR_STAGE_LIMITS, CALL(SYS_umask, child->umask));
    for (unsigned i = 0; i < child->limits->count; i++) {
        const struct jr_limit *row = &child->limits->items[i];
        TRY(JR_STAGE_LIMITS, CALL(SYS_prlimit64, 0, row->resource, &row->limit));
    }
    /* sched_setaffinity silently leaves out CPUs that a cpuset does not allow, and fails only if
     * none is left: here none may be missing. */
    if (child->cpus != NULL) {
        TRY(JR_STAGE_CPUS, CALL(SYS_sched_setaffinity, 0, child->cpus_size, child->cpus));
        TRY(JR_STAGE_CPUS, CALL(SYS_sched_getaffinity, 0, sizeof real, real));
        TRY(JR_STAGE_CPUS, CPU_EQUAL_S(child->cpus_size, real, child->cpus) ? 0 : -EINVAL);
    }
    if (child->workdir != NULL)
        TRY(JR_STAGE_WORKDIR, CALL(SYS_chdir, child->workdir));
    TRY(JR_STAGE_SIGNALS, reset_signals(child));
    /* Until the runner is sure to hear of our end. */
    while (child->held != NULL && __atomic_load_n(child->held, __ATOMIC_ACQUIRE) != 0)
        (void)CALL(SYS_futex, child->held, FUTEX_WAIT, 1);
    TRY(JR_STAGE_EXEC, CALL(SYS_execve, child->program, child->argv, child->env));
}

int jr_child_main(void *data)
{
    become_rank(data);
    for (;;)
        (void)CALL(SYS_exit_group, EXIT_FAILURE);
}
