/*
 * How a run is stopped. internal.h declares it.
 *
 * It begins when a rank fails under `on_failure: stop`, or in an MPI world that
 * cannot go on without it (mpi_world.c), or a while later where the cause is
 * not known yet (first_failure.c), when a rank cannot be started, or not within
 * `timeouts.start`, when `timeouts.run` has passed, once there is evidence of a
 * hang (hang.c), or when jobrun is sent a signal that means stop. No further
 * rank is started. Each running one gets SIGTERM, its leader or its whole group
 * by `stop_target`, then SIGCONT, for a stopped process cannot obey. After
 * `timeouts.stop_grace` SIGKILL goes to leader and group; a second signal to
 * jobrun does the same at once. The same signal within a tenth of a second is
 * one signal: timeout(1) and shells send it to the process and to its group.
 * Where ranks begin with SIGTERM ignored (preemption.c), SIGKILL goes at once
 * to what still ignores it, which SIGTERM would have ended. Where the group was
 * signalled, the grace is the group's: a leader that obeys at once does not
 * shorten it for the others.
 *
 * What a rank left in other sessions is swept when all ranks have ended. A rank that does not die
 * of SIGKILL is waited for JR_KILL_WAIT_NS, and named.
 */
#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/proc.h"
#include "run/internal.h"
#include "store/outcome.h"

#include "base/banned.h"

#define SAME_SIGNAL_NS UINT64_C(100000000)
#define MS             UINT64_C(1000000)

void jr_stop_timed_out(struct jr_runner *runner, enum jr_timeout by)
{
    if (runner->outcome->timed_out_by == JR_TIMEOUT_NONE)
        runner->outcome->timed_out_by = by;
    JR_TELL(runner, .name = JR_EVENT_TIMEOUT, .timeout = by);
}

static void on_start_timeout(void *owner)
{
    struct jr_runner *runner = owner;
    bool importing = runner->plan->helper.argv != NULL && !runner->helper.ready;
    static const char *const text = "it did not finish within timeouts.start";
    jr_stop_timed_out(runner, JR_TIMEOUT_START);
    if (!runner->setup.done)
        jr_launch_fail(runner, JR_STAGE_SETUP, 0, text);
    else if (importing)
        jr_launch_fail(runner, JR_STAGE_IMPORT, 0, text);
    else if (!jr_mpi_world_is_ready(runner))
        jr_launch_fail(runner, JR_STAGE_PMIX, 0, "it was not ready within timeouts.start");
    else
        jr_launch_fail(runner, JR_STAGE_LATE, 0, "");
}

static void on_run_timeout(void *owner)
{
    struct jr_runner *runner = owner;
    jr_stop_timed_out(runner, JR_TIMEOUT_RUN);
    jr_stop_begin(runner);
}

static void on_grace(void *owner)
{
    jr_stop_force(owner);
}

static void on_kill_wait(void *owner)
{
    struct jr_runner *runner = owner;
    runner->stop.given_up = true;
}

static int open_stop(struct jr_runner *runner)
{
    struct jr_stop *stop = &runner->stop;
    jr_runner_timer(runner, &stop->start, on_start_timeout, true);
    jr_runner_timer(runner, &stop->run, on_run_timeout, true);
    jr_runner_timer(runner, &stop->grace, on_grace, false);
    jr_runner_timer(runner, &stop->kill, on_kill_wait, false);
    const struct jr_timeouts *timeouts = &runner->plan->policy->timeouts;
    if (timeouts->start_ms > 0)
        stop->start.at = jr_clock_ns() + timeouts->start_ms * MS;
    if (timeouts->run_ms > 0)
        stop->run.at = jr_clock_ns() + timeouts->run_ms * MS;
    return 0;
}

/* No limit of time counts any more but the grace. */
static void end_limits(struct jr_runner *runner)
{
    runner->stop.start.at = runner->stop.run.at = 0;
}

void jr_stop_end_start(struct jr_runner *runner)
{
    runner->stop.start.at = 0;
}

bool jr_stop_has_begun(const struct jr_runner *runner)
{
    return runner->stop.begun;
}

bool jr_stop_is_forced(const struct jr_runner *runner)
{
    return runner->stop.forced;
}

bool jr_stop_has_given_up(const struct jr_runner *runner)
{
    return runner->stop.given_up;
}

uint64_t jr_stop_kills_at(const struct jr_runner *runner)
{
    return runner->stop.grace.at;
}

bool jr_stop_was_signalled(const struct jr_runner *runner)
{
    return runner->stop.signalled_ns != 0;
}

/* The rank, or the setup, whose group it is; NULL: none was told to stop. */
static const struct jr_rank_run *find_stopped_group(struct jr_runner *runner, pid_t group)
{
    const struct jr_rank_run *rank = &runner->setup.run;
    for (uint32_t i = 0; rank->pid != group && i < runner->next; i++)
        rank = &runner->ranks[i];
    return group > 0 && rank->pid == group && rank->group && rank->outcome->stopped_with != 0
               ? rank
               : NULL;
}

/* What else was in the groups that were told to stop, and ignores that because its rank began
 * so. */
static void kill_shielded_members(struct jr_runner *runner)
{
    JR_CLOSEDIR DIR *proc = jr_proc_is_ours() ? opendir("/proc") : NULL;
    const struct dirent *entry;
    uint32_t pid;
    while (proc != NULL && (entry = readdir(proc)) != NULL)
        if (jr_num_u32(entry->d_name, &pid) &&
            find_stopped_group(runner, getpgid((pid_t)pid)) != NULL &&
            jr_proc_ignores((pid_t)pid, SIGTERM))
            (void)kill((pid_t)pid, SIGKILL);
}

void jr_stop_begin(struct jr_runner *runner)
{
    struct jr_stop *stop = &runner->stop;
    if (stop->begun)
        return;
    stop->begun = true;
    jr_tee_hurry(&runner->tee);
    jr_policies_stopping(runner);
    stop->grace.at = jr_clock_ns() + runner->plan->policy->timeouts.stop_grace_ms * MS;
    if (runner->running == 0)
        return;
    JR_TELL(runner, .name = JR_EVENT_STOP, .signal = SIGTERM, .running = runner->running);
    jr_first_failure_note_exiting(runner);
    jr_runner_handle_all(runner, JR_RANK_ON_STOP, SIGTERM);
    if (runner->options->shields)
        kill_shielded_members(runner);
}

void jr_stop_force(struct jr_runner *runner)
{
    struct jr_stop *stop = &runner->stop;
    if (stop->forced)
        return;
    stop->begun = stop->forced = true;
    stop->grace.at = 0;
    jr_policies_stopping(runner);
    stop->kill.at = jr_clock_ns() + JR_KILL_WAIT_NS;
    if (runner->running == 0)
        return;
    JR_TELL(runner, .name = JR_EVENT_KILL, .running = runner->running);
    jr_runner_handle_all(runner, JR_RANK_ON_KILL, SIGKILL);
}

/* The number of a group is not given away as long as the group has a process; later it may be
 * another's, which costs a wait within the grace. */
static bool has_group_left(const struct jr_rank_run *rank)
{
    return rank->group && rank->pid > 0 && rank->outcome->stopped_with != 0 &&
           kill(-rank->pid, 0) == 0;
}

bool jr_stop_waits(struct jr_runner *runner)
{
    struct jr_stop *stop = &runner->stop;
    if (!stop->begun || stop->forced)
        return false;
    while (stop->groups_gone < runner->next && !has_group_left(&runner->ranks[stop->groups_gone]))
        stop->groups_gone++;
    return stop->groups_gone < runner->next || has_group_left(&runner->setup.run);
}

void jr_stop_signal(struct jr_runner *runner, int sig, uint64_t since_ns)
{
    struct jr_stop *stop = &runner->stop;
    uint64_t now = jr_clock_ns(), before = stop->signalled_ns;
    if (before != 0 && now - before < SAME_SIGNAL_NS)
        return;
    stop->signalled_ns = now;
    JR_TELL(runner, .name = JR_EVENT_SIGNAL, .signal = sig);
    if (before != 0) {
        jr_stop_force(runner);
        return;
    }
    runner->outcome->stop_signal = sig;
    jr_outcome_share(runner->outcome->ranks, runner->outcome->count, sig, since_ns);
    jr_stop_begin(runner);
}

bool jr_stop_follows(const struct jr_rank_run *rank)
{
    return rank->runner->plan->policy->on_failure == JR_ON_FAILURE_STOP || jr_mpi_world_needs(rank);
}

void jr_stop_failed(struct jr_rank_run *rank)
{
    bool held = jr_first_failure_holds(rank);
    if (!jr_stop_follows(rank))
        return;
    jr_mpi_world_tell_end(rank);
    if (!held)
        jr_stop_begin(rank->runner);
}

/* Decide what the end of a rank means to the others. */
static void judge_rank_end(struct jr_rank_run *rank)
{
    struct jr_runner *runner = rank->runner;
    const struct jr_rank_outcome *outcome = rank->outcome;
    bool well = jr_outcome_is_well(outcome) ||
                jr_outcome_may_yield(outcome, runner->outcome->preempted) ||
                jr_preemption_explains(rank);
    bool unstarted = outcome->end == JR_END_START;
    int sig = runner->outcome->stop_signal;
    if (sig != 0) /* before we could send it */
        jr_outcome_share(rank->outcome, 1, sig, jr_clock_ns());
    if (jr_hang_has_begun(runner))
        return;
    if (unstarted)
        (void)jr_first_failure_holds(rank);
    else if (!well)
        jr_stop_failed(rank);
    jr_first_failure_ended(rank);
    if (unstarted)
        jr_stop_begin(runner);
}

const struct jr_runner_policy jr_stop_policy = {
    .name = "stop",
    .open = open_stop,
    .rank_ended = judge_rank_end,
    .stopping = end_limits,
    .close = end_limits,
};
