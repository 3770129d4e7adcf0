/*
 * The part of start.h between the descriptors of a rank and its execve: the clone, and the wait for
 * what came of it.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/pidfd.h"
#include "base/strv.h"
#include "base/syscalls.h"
#include "spawn/start.h"

#include "base/banned.h"

/* The log files of streams that have no pipe. -1 with ret->stage and errno. */
static int open_child_logs(const struct jr_starter *starter, struct jr_child *child,
                           struct jr_started *ret)
{
    for (int stream = 0; stream < 2; stream++) {
        struct jr_child_stream *to = &child->streams[stream];
        if (to->path == NULL)
            continue;
        int fd = jr_start_log(starter, to);
        if (fd >= 0)
            to->slot = jr_start_fill(child, JR_SLOT_PIPE_OUT + stream, fd);
        if (fd >= 0 && to->slot >= 0)
            continue;
        ret->stage = stream == 0 ? JR_STAGE_STDOUT : JR_STAGE_STDERR;
        return -1;
    }
    return 0;
}

/* The child's table of descriptors is the runner's own until it has left what it does not need of
 * it (child.c). */
static int clone_flight(const struct jr_starter *starter, struct jr_flight *flight, bool waits)
{
    struct jr_started *ret = &flight->started;
    int flags = CLONE_VM | SIGCHLD;
    int stand_in = starter->blind ? jr_pidfd_stand_in() : -1;
    if (starter->blind && stand_in < 0)
        return -1;
    if (!starter->blind)
        flags |= CLONE_PIDFD;
    if (!starter->marks)
        flags |= CLONE_FILES;
    flags |= waits ? CLONE_VFORK : CLONE_CHILD_CLEARTID;
    flight->up = flight->held = !waits;
    flight->child.held = waits ? NULL : &flight->held;
    ret->pid =
        clone(jr_child_main, flight->stack, flags, &flight->child, &ret->pidfd, NULL, &flight->up);
    ret->at_ns = jr_clock_ns();
    if (stand_in >= 0)
        ret->pidfd = stand_in;
    if (ret->pid >= 0)
        return 0;
    int error = errno;
    if (stand_in >= 0)
        (void)close(stand_in);
    flight->up = flight->held = 0;
    ret->pidfd = -1;
    errno = error;
    return -1;
}

/* Where processes cannot share memory but for the time in which the one sleeps, such as in an
 * emulator, the first start tells. */
static int clone_child(struct jr_starter *starter, struct jr_flight *flight)
{
    bool waits = jr_start_width(starter) == 1;
    if (clone_flight(starter, flight, waits) == 0)
        return 0;
    if (waits || (errno != EINVAL && !jr_call_is_missing(errno)))
        return -1;
    starter->waits = true;
    return clone_flight(starter, flight, true);
}

/* Find the program, open the logs, and clone. */
static int begin_flight(struct jr_starter *starter, struct jr_flight *flight)
{
    struct jr_child *child = &flight->child;
    struct jr_started *ret = &flight->started;
    bool searched = strchr(child->argv[0], '/') == NULL;
    const char *path = searched ? jr_env_get(child->env, "PATH") : NULL;
    ret->stage = JR_STAGE_EXEC;
    errno = jr_program_find(&starter->program, child->argv[0], path, child->workdir);
    if (errno != 0)
        return -1;
    child->program = flight->program;
    (void)stpcpy(flight->program, starter->program.path);
    if (open_child_logs(starter, child, ret) != 0)
        return -1;
    ret->stage = JR_STAGE_CLONE;
    if (clone_child(starter, flight) != 0)
        return -1;
    ret->stage = JR_STAGE_NONE;
    return 0;
}

static void release_flight(struct jr_flight *flight)
{
    if (flight->held == 0)
        return;
    __atomic_store_n(&flight->held, 0, __ATOMIC_RELEASE);
    (void)syscall(SYS_futex, &flight->held, FUTEX_WAKE, 1, NULL, NULL, 0);
}

#define UP_LOOK_NS 100000000

/* The kernel wakes us when the child executes or ends. Some do not when it is killed, so its end is
 * looked for, too. */
static void await_landing(const struct jr_flight *flight)
{
    const struct jr_started *started = &flight->started;
    while (__atomic_load_n(&flight->up, __ATOMIC_ACQUIRE) != 0)
        if (syscall(SYS_futex, &flight->up, FUTEX_WAIT, 1,
                    &(struct timespec){.tv_nsec = UP_LOOK_NS}, NULL, 0) != 0 &&
            errno == ETIMEDOUT && jr_child_has_ended(started->pidfd, started->pid))
            return;
}

/* Returns 0 once it executes, else -1 with the stage and errno. */
static int end_flight(struct jr_flight *flight)
{
    struct jr_child *child = &flight->child;
    struct jr_started *ret = &flight->started;
    release_flight(flight);
    await_landing(flight);
    ret->stage = child->stage;
    if (ret->stage == JR_STAGE_NONE)
        return 0;
    (void)waitpid(ret->pid, NULL, 0);
    (void)close(ret->pidfd);
    ret->pidfd = -1;
    ret->pid = 0;
    errno = child->error;
    if (ret->stage == JR_STAGE_EXEC)
        errno = jr_program_refine_errno(child->program, child->workdir, errno);
    return -1;
}

int jr_start_program(struct jr_starter *starter, struct jr_child *child, struct jr_started *ret)
{
    struct jr_flight *flight = &starter->flights[0];
    flight->child = *child;
    flight->started = *ret;
    int failed = begin_flight(starter, flight);
    if (failed == 0)
        failed = end_flight(flight);
    int error = errno;
    jr_start_empty(&flight->child);
    *child = flight->child;
    *ret = flight->started;
    errno = error;
    return failed;
}

unsigned jr_start_width(const struct jr_starter *starter)
{
    bool made = starter->exported.there || starter->more != NULL;
    return starter->waits || made ? 1 : JR_FLIGHTS;
}

int jr_start_begin(struct jr_starter *starter, unsigned n, const struct jr_plan_rank *rank)
{
    struct jr_flight *flight = &starter->flights[n];
    if (jr_start_prepare(starter, n, rank) == 0 && begin_flight(starter, flight) == 0)
        return 0;
    flight->started.error = errno;
    return -1;
}

void jr_start_release(struct jr_starter *starter, unsigned n)
{
    release_flight(&starter->flights[n]);
}

void jr_start_end(struct jr_starter *starter, unsigned n, struct jr_started *ret)
{
    struct jr_flight *flight = &starter->flights[n];
    errno = flight->started.error;
    if (flight->started.stage == JR_STAGE_NONE)
        (void)end_flight(flight);
    jr_start_settle(&flight->child, &flight->started);
    *ret = flight->started;
}

void jr_start_spawn(struct jr_starter *starter, const struct jr_plan_rank *rank,
                    struct jr_started *ret)
{
    (void)jr_start_begin(starter, 0, rank);
    jr_start_end(starter, 0, ret);
}
