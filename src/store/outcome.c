#include "store/outcome.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/syscalls.h"
#include "store/progress.h"

#include "base/banned.h"

static size_t shared_outcome_size(uint32_t count)
{
    return sizeof(struct jr_shared) + (size_t)count * sizeof(struct jr_rank_outcome);
}

struct jr_shared *jr_shared_new(uint32_t count)
{
    struct jr_shared *shared = mmap(NULL, shared_outcome_size(count), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return NULL;
    shared->outcome.count = count;
    shared->outcome.ranks = shared->ranks;
    shared->outcome.progress = jr_progress_new(count);
    if (shared->outcome.progress != NULL)
        return shared;
    (void)munmap(shared, shared_outcome_size(count));
    return NULL;
}

void jr_shared_free(struct jr_shared *shared)
{
    if (shared == NULL)
        return;
    jr_progress_free(shared->outcome.progress);
    (void)munmap(shared, shared_outcome_size(shared->outcome.count));
}

void jr_outcome_note_logs(struct jr_outcome *outcome, const struct jr_plan *plan, int fd)
{
    for (uint32_t i = 0; i < outcome->count; i++) {
        const struct jr_plan_rank *rank = &plan->ranks[plan->first + i];
        const char *const paths[] = {rank->out_path, rank->err_path};
        for (int n = 0; n < 2; n++)
            outcome->ranks[i].silent[n] = paths[n] != NULL &&
                                          jr_access(fd, paths[n], F_OK, AT_SYMLINK_NOFOLLOW) != 0 &&
                                          errno == ENOENT;
    }
}

int jr_shared_copy(struct jr_outcome *ret, const struct jr_shared *shared)
{
    uint32_t count = shared->outcome.count;
    struct jr_rank_outcome *ranks = calloc((size_t)count + 1, sizeof(struct jr_rank_outcome));
    if (ranks == NULL)
        return -1;
    memcpy(ranks, shared->ranks, (size_t)count * sizeof *ranks);
    *ret = shared->outcome;
    ret->ranks = ranks;
    ret->progress = jr_progress_is_told(shared->outcome.progress)
                        ? jr_progress_copy(shared->outcome.progress)
                        : NULL;
    return 0;
}

int jr_outcome_none(struct jr_outcome *ret, const struct jr_plan *plan)
{
    struct jr_outcome none = {.started_ns = jr_clock_ns(),
                              .started_wall_ns = jr_clock_wall_ns(),
                              .count = plan->count,
                              .ranks = calloc((size_t)plan->count + 1, sizeof *none.ranks)};
    if (none.ranks == NULL)
        return -1;
    none.ended_ns = none.started_ns;
    none.ended_wall_ns = none.started_wall_ns;
    *ret = none;
    return 0;
}

void jr_outcome_kill(struct jr_outcome *outcome)
{
    for (uint32_t i = 0; i < outcome->count; i++) {
        struct jr_rank_outcome *rank = &outcome->ranks[i];
        if (rank->pid == 0 || rank->end != JR_END_NONE)
            continue;
        rank->killed = true;
        if (rank->stopped_with == 0)
            rank->stopped_with = SIGKILL;
    }
}

void jr_outcome_release(struct jr_outcome *outcome)
{
    free(outcome->ranks);
    jr_progress_free(outcome->progress);
    *outcome = (struct jr_outcome){0};
}

/* What an errno means at a stage, where the system's words are too general. */
struct reason {
    enum jr_stage stage;
    int error;
    const char *text;
};

#define PLANTED                                                                                    \
    "there is something in its place that jobrun did not create (a rank of "                       \
    "this or an earlier attempt may have)"

static const struct reason reasons[] = {
    {JR_STAGE_CLONE, EAGAIN, "a limit on processes is reached (ulimit -u, the cgroup's pids.max)"},
    {JR_STAGE_EXEC, EISDIR, "it is a folder"},
    {JR_STAGE_EXEC, EACCES, "it is not executable (chmod +x)"},
    {JR_STAGE_EXEC, ENOEXEC, "it is neither a program nor a script with a #! line"},
    {JR_STAGE_EXEC, ELIBACC,
     "the interpreter that it names (#! line, or loader) cannot be executed"},
    {JR_STAGE_FOLDER, EEXIST, PLANTED},
    {JR_STAGE_FOLDER, ENOTDIR, PLANTED},
    {JR_STAGE_FOLDER, ELOOP, PLANTED},
    {JR_STAGE_STDOUT, EEXIST, PLANTED},
    {JR_STAGE_STDOUT, ELOOP, PLANTED},
    {JR_STAGE_STDERR, EEXIST, PLANTED},
    {JR_STAGE_STDERR, ELOOP, PLANTED},
};

const char *jr_start_reason(const struct jr_plan_rank *rank, const struct jr_rank_outcome *outcome)
{
    int error = outcome->start_errno;
    if (outcome->stage == JR_STAGE_EXEC && error == ENOENT && strchr(rank->argv[0], '/') == NULL)
        return "not found in PATH";
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (reasons[i].stage == outcome->stage && reasons[i].error == error)
            return reasons[i].text;
    /* Of a number that it does not know, strerror(3) writes into a buffer. */
    return error > 0 && error <= EHWPOISON ? strerror(error) : "unknown error";
}

/* The signal that ended a rank and that jobrun had not sent; 0: none. */
static int outside_signal(const struct jr_rank_outcome *rank)
{
    if (rank->stopped_with != 0 || rank->killed)
        return 0;
    if (rank->end == JR_END_SIGNALED)
        return rank->signal;
    return rank->end == JR_END_EXITED && rank->exit_code > 128 ? rank->exit_code - 128 : 0;
}

bool jr_outcome_left_mpi(const struct jr_rank_outcome *rank)
{
    return rank->end == JR_END_EXITED && rank->exit_code == 0 && rank->stopped_with == 0 &&
           !rank->killed && (rank->mpi == JR_MPI_PART_LEFT || rank->mpi == JR_MPI_PART_INITIALIZED);
}

bool jr_outcome_failed_mpi(const struct jr_rank_outcome *rank)
{
    return rank->mpi == JR_MPI_PART_ABORTED || rank->mpi == JR_MPI_PART_FAILED ||
           rank->mpi == JR_MPI_PART_BROKEN || jr_outcome_left_mpi(rank);
}

bool jr_outcome_is_well(const struct jr_rank_outcome *rank)
{
    if (jr_outcome_failed_mpi(rank))
        return false;
    return (rank->end == JR_END_EXITED && rank->exit_code == 0) ||
           (rank->lingered && rank->returned);
}

bool jr_outcome_may_yield(const struct jr_rank_outcome *rank, bool preempted)
{
    if (rank->stopped_with != 0 || rank->killed)
        return false;
    if (rank->end == JR_END_EXITED)
        return (rank->warned_with != 0 || preempted) && rank->exit_code == JR_YIELD_CODE;
    return rank->end == JR_END_SIGNALED &&
           ((rank->warned_with != 0 && rank->signal == rank->warned_with) ||
            (preempted && rank->signal == SIGTERM));
}

bool jr_outcome_cut_off(const struct jr_rank_outcome *rank)
{
    return rank->end == JR_END_SIGNALED && rank->signal == SIGTERM && rank->stopped_with == 0 &&
           rank->warned_with != SIGTERM && !rank->killed && !rank->injected;
}

bool jr_outcome_lost(const struct jr_outcome *outcome)
{
    return outcome->runner_signal != 0 || outcome->guard_pid != 0;
}

int jr_outcome_lost_by(const struct jr_outcome *outcome)
{
    return outcome->guard_pid != 0 ? outcome->guard_signal : outcome->runner_signal;
}

int jr_outcome_hit(const struct jr_outcome *outcome)
{
    int hit = 0;
    for (uint32_t i = 0; i < outcome->count && hit == 0; i++)
        hit = outside_signal(&outcome->ranks[i]);
    return hit;
}

void jr_outcome_share(struct jr_rank_outcome *ranks, uint32_t count, int sig, uint64_t now_ns)
{
    for (uint32_t i = 0; i < count; i++)
        if (outside_signal(&ranks[i]) == sig && ranks[i].ended_ns + JR_SHARE_NS > now_ns)
            ranks[i].stopped_with = sig;
}
