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

/* Each step returns -E for the errno E, or what is not negative; the table below names its
 * stage. */
typedef long child_step(const struct jr_child *child);

static long own_descriptor_table(const struct jr_child *child)
{
    if (child->marked)
        return 0;
    return CALL(SYS_close_range, JR_SLOT_END, UINT_MAX, JR_CLOSE_RANGE_UNSHARE);
}

static long start_new_session(const struct jr_child *child)
{
    (void)child;
    return CALL(SYS_setsid);
}

/* Between the clone and the prctl the runner may have died unnoticed. */
static long die_with_runner(const struct jr_child *child)
{
    long result = CALL(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
    if (result < 0)
        return result;
    return CALL(SYS_getppid) == child->runner ? 0 : -ESRCH;
}

/* A descriptor in its place, which is not where it is. */
static long place_descriptor(int slot, int fd)
{
    return CALL(SYS_dup3, slot, fd);
}

/* A terminal of its own is also the one that controls its session. */
static long open_stdin(const struct jr_child *child)
{
    int slot = child->input == JR_INPUT_NONE ? JR_SLOT_NULL : JR_SLOT_IN;
    if (child->input == JR_INPUT_TERMINAL) {
        long result = CALL(SYS_ioctl, JR_SLOT_IN, TIOCSCTTY);
        if (result < 0)
            return result;
    }
    return place_descriptor(slot, STDIN_FILENO);
}

static long open_stdout(const struct jr_child *child)
{
    return place_descriptor(child->streams[0].slot, STDOUT_FILENO);
}

static long open_stderr(const struct jr_child *child)
{
    return place_descriptor(child->streams[1].slot, STDERR_FILENO);
}

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

static long set_limits(const struct jr_child *child)
{
    long result = CALL(SYS_umask, child->umask);
    for (unsigned i = 0; i < child->limits->count && result >= 0; i++) {
        const struct jr_limit *row = &child->limits->items[i];
        result = CALL(SYS_prlimit64, 0, row->resource, &row->limit);
    }
    return result;
}

/* sched_setaffinity silently leaves out CPUs that a cpuset does not allow, and fails only if none
 * is left: here none may be missing. */
static long bind_child_cpus(const struct jr_child *child)
{
    cpu_set_t real[JR_CHILD_CPUS / CPU_SETSIZE] = {0};
    if (child->cpus == NULL)
        return 0;
    long result = CALL(SYS_sched_setaffinity, 0, child->cpus_size, child->cpus);
    if (result >= 0)
        result = CALL(SYS_sched_getaffinity, 0, sizeof real, real);
    if (result < 0)
        return result;
    return CPU_EQUAL_S(child->cpus_size, real, child->cpus) ? 0 : -EINVAL;
}

static long enter_workdir(const struct jr_child *child)
{
    return child->workdir == NULL ? 0 : CALL(SYS_chdir, child->workdir);
}

/* execve makes caught signals default by itself; ignored ones it leaves. The mask comes last: from
 * here on a signal is the rank's own. What the kernel takes for an action and a mask is not what
 * the C library has; zeros are SIG_DFL, and no signal. The first word of an action is its
 * handler. */
static long reset_signals(const struct jr_child *child)
{
    const unsigned long zeros[8] = {0}, ignore[8] = {1}; /* SIG_IGN */
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

/* Until the runner is sure to hear of our end. */
static long await_watch(const struct jr_child *child)
{
    while (child->held != NULL && __atomic_load_n(child->held, __ATOMIC_ACQUIRE) != 0)
        (void)CALL(SYS_futex, child->held, FUTEX_WAIT, 1);
    return 0;
}

static long execute_program(const struct jr_child *child)
{
    return CALL(SYS_execve, child->program, child->argv, child->env);
}

int jr_child_main(void *data)
{
    static const struct {
        enum jr_stage stage;
        child_step *step;
    } steps[] = {
        {JR_STAGE_CLONE, own_descriptor_table},
        {JR_STAGE_SESSION, start_new_session},
        {JR_STAGE_PARENT, die_with_runner},
        {JR_STAGE_STDIN, open_stdin},
        {JR_STAGE_STDOUT, open_stdout},
        {JR_STAGE_STDERR, open_stderr},
        {JR_STAGE_LIMITS, close_other_descriptors},
        {JR_STAGE_LIMITS, set_limits},
        {JR_STAGE_CPUS, bind_child_cpus},
        {JR_STAGE_WORKDIR, enter_workdir},
        {JR_STAGE_SIGNALS, reset_signals},
        {JR_STAGE_CLONE, await_watch},
        {JR_STAGE_EXEC, execute_program},
    };
    struct jr_child *child = data;
    for (size_t i = 0;; i++) { /* the last one fails where it returns */
        long result = steps[i].step(child);
        if (result >= 0)
            continue;
        child->error = (int)-result;
        child->stage = steps[i].stage;
        break;
    }
    for (;;)
        (void)CALL(SYS_exit_group, EXIT_FAILURE);
}
