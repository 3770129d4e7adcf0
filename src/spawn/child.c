#include "spawn/child.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jobrun/contract.h>

#include "base/io.h"
#include "base/syscalls.h"

#include "base/banned.h"

_Static_assert(JR_PMI_FD == STDERR_FILENO + 2,
               "it is the one behind the control socket");

/* Each step returns 0, or -1 with errno; the table below names its stage. */
typedef int child_step(const struct jr_child *child);

static int own_descriptor_table(const struct jr_child *child)
{
    if (child->marked)
        return 0;
    return jr_close_range(JR_SLOT_END, ~0U, JR_CLOSE_RANGE_UNSHARE);
}

static int start_new_session(const struct jr_child *child)
{
    (void)child;
    return setsid() < 0 ? -1 : 0;
}

/* Between the clone and the prctl the runner may have died unnoticed. */
static int die_with_runner(const struct jr_child *child)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return -1;
    if (getppid() == child->runner)
        return 0;
    errno = ESRCH;
    return -1;
}

/* A terminal of its own is also the one that controls its session. */
static int open_stdin(const struct jr_child *child)
{
    int slot = child->input == JR_INPUT_NONE ? JR_SLOT_NULL : JR_SLOT_IN;
    if (child->input == JR_INPUT_TERMINAL &&
        ioctl(JR_SLOT_IN, TIOCSCTTY, 0) != 0)
        return -1;
    return dup2(slot, STDIN_FILENO) < 0 ? -1 : 0;
}

int jr_child_open(const struct jr_child_stream *to, int flags, mode_t mode)
{
    struct stat st;
    flags |= O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY;
    if (!to->shared)
        return jr_open_beneath(JR_SLOT_DIR, to->path, flags | O_EXCL, mode);
    /* A FIFO in its place would hold us for ever. */
    int fd = jr_open_beneath(JR_SLOT_DIR, to->path, flags | O_NONBLOCK, mode);
    if (fd < 0)
        return -1;
    bool plain = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (plain && fcntl(fd, F_SETFL, O_APPEND) == 0)
        return fd;
    (void)close(fd);
    errno = EEXIST;
    return -1;
}

static int open_stream(const struct jr_child *child, int stream)
{
    const struct jr_child_stream *to = &child->streams[stream - 1];
    if (to->path == NULL)
        return dup2(to->slot, stream) < 0 ? -1 : 0;
    int fd = jr_child_open(to, 0, child->file_mode);
    if (fd < 0 || fd == stream)
        return fd < 0 ? -1 : 0;
    int copied = dup2(fd, stream);
    if (child->marked) /* nothing closes it later */
        (void)close(fd);
    return copied < 0 ? -1 : 0;
}

static int open_stdout(const struct jr_child *child)
{
    return open_stream(child, STDOUT_FILENO);
}

static int open_stderr(const struct jr_child *child)
{
    return open_stream(child, STDERR_FILENO);
}

static int close_other_descriptors(const struct jr_child *child)
{
    const int extra = STDERR_FILENO + 1;
    if ((child->extra && dup2(JR_SLOT_EXTRA, extra) < 0) ||
        (child->pmi && dup2(JR_SLOT_PMI, JR_PMI_FD) < 0))
        return -1;
    if (child->marked)
        return 0;
    if (child->pmi && !child->extra)
        (void)close(extra);
    int first = child->pmi ? JR_PMI_FD + 1 : child->extra ? extra + 1 : extra;
    return jr_close_range((unsigned)first, ~0U, 0);
}

static int set_limits(const struct jr_child *child)
{
    (void)umask(child->umask);
    for (unsigned i = 0; i < child->limits->count; i++) {
        const struct jr_limit *row = &child->limits->items[i];
        if (setrlimit((__rlimit_resource_t)row->resource, &row->limit) != 0)
            return -1;
    }
    return 0;
}

/* sched_setaffinity silently leaves out CPUs that a cpuset does not allow, and
 * fails only if none is left: here none may be missing. */
static int bind_child_cpus(const struct jr_child *child)
{
    cpu_set_t real[JR_CHILD_CPUS / CPU_SETSIZE] = {0};
    if (child->cpus == NULL)
        return 0;
    if (sched_setaffinity(0, child->cpus_size, child->cpus) != 0 ||
        sched_getaffinity(0, sizeof real, real) != 0)
        return -1;
    errno = EINVAL;
    return CPU_EQUAL_S(child->cpus_size, real, child->cpus) ? 0 : -1;
}

static int enter_workdir(const struct jr_child *child)
{
    return child->workdir == NULL ? 0 : chdir(child->workdir);
}

/* execve makes caught signals default by itself; ignored ones it leaves. The
 * mask comes last: from here on a signal is the rank's own. */
static int reset_signals(const struct jr_child *child)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    for (unsigned i = 0; i < child->reset_count; i++)
        if (sigaction(child->reset[i], &standard, NULL) != 0)
            return -1;
    sigset_t none;
    (void)sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, NULL);
}

static int execute_program(const struct jr_child *child)
{
    return execve(child->program, child->argv, child->env);
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
        {JR_STAGE_EXEC, execute_program},
    };
    struct jr_child *child = data;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (steps[i].step(child) == 0)
            continue;
        child->error = errno;
        child->stage = steps[i].stage;
        break;
    }
    _exit(127);
}
