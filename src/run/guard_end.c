/*
 * The end of a run, as the guard sees it. A runner that ended by itself has left an outcome and
 * nothing else. After one that was killed the guard ends what it left, and records what it can no
 * longer say; and if the console is behind, the guard shows the rest.
 */
#include "run/guard_end.h"

#include <string.h>

#include "base/clock.h"
#include "output/log_file.h"
#include "output/replay.h"
#include "run/companion.h"
#include "spawn/reap_descendants.h"
#include "store/run_folder.h"

#include "base/banned.h"

/* What the runner could not end, it has named; if it was killed, it is what is left itself. */
static void name_stuck_processes(const struct jr_guard *guard, siginfo_t *ret)
{
    struct jr_outcome *outcome = &guard->shared->outcome;
    bool finished = guard->shared->finished;
    ret->si_code = finished ? CLD_EXITED : CLD_KILLED;
    ret->si_status = finished ? 0 : SIGKILL;
    if (outcome->left > 0)
        return;
    outcome->left = 1;
    outcome->left_pids[0] = guard->runner;
}

/* What it was writing besides. */
static void finish_limited_logs(const struct jr_guard *guard)
{
    const struct jr_plan *plan = guard->plan;
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct jr_plan_rank *rank = &plan->ranks[plan->first + i];
        const char *const paths[] = {rank->out_path, rank->err_path};
        for (int stream = 0; rank->limited && stream < 2; stream++)
            if (paths[stream] != NULL)
                jr_log_file_tidy(guard->options->dir->fd, paths[stream]);
    }
}

/* What the runner can no longer say. */
static void record_loss(const struct jr_guard *guard, int sig, const struct jr_reap *reap)
{
    struct jr_outcome *outcome = &guard->shared->outcome;
    struct jr_events events;
    outcome->runner_signal = sig;
    outcome->ended_ns = jr_clock_ns();
    outcome->ended_wall_ns = jr_clock_wall_ns();
    jr_outcome_kill(outcome);
    jr_outcome_note_logs(outcome, guard->plan, guard->options->dir->fd);
    if (guard->options->link != NULL)
        jr_events_open_fd(&events, guard->options->link->events_fd, 0);
    else
        jr_events_open(&events, guard->options->dir->fd, guard->options->dir->file_mode);
    jr_events_add(&events, &(struct jr_event){.name = JR_EVENT_RUNNER_LOST,
                                              .signal = sig,
                                              .processes = reap->killed,
                                              .left = reap->left});
    jr_events_close(&events);
}

/* A runner that is done has left nothing; it stays until the record is written, unless we have
 * other children, which cannot be swept with it there. */
static bool keep_runner(struct jr_guard *guard)
{
    struct jr_companion *companion = guard->options->companion;
    companion->pid = guard->runner;
    companion->fd = guard->runner_fd;
    companion->life_fd = guard->life_fd;
    guard->runner_fd = guard->life_fd = -1;
    if (jr_reap_only(companion->pid))
        return true;
    jr_companion_release(companion);
    return false;
}

static void finish_outcome(struct jr_guard *guard, siginfo_t *end)
{
    struct jr_outcome *outcome = &guard->shared->outcome;
    struct jr_reap reap;
    if (end->si_pid == 0) {
        end->si_code = CLD_EXITED;
        if (keep_runner(guard))
            return;
    }
    /* What the runner could not end has had its time. */
    jr_reap(&reap, outcome->left > 0 ? 0 : JR_KILL_WAIT_NS, guard->options->group);
    outcome->left = reap.left;
    memcpy(outcome->left_pids, reap.left_pids, sizeof reap.left_pids);
    if (end->si_code == CLD_EXITED)
        return;
    record_loss(guard, end->si_status, &reap);
    finish_limited_logs(guard);
}

/* Where a rank died of a signal that stops jobrun, too, and jobrun has not got it yet, it is worth
 * a moment to learn whether it was meant for both. */
static void receive_share(struct jr_guard *guard)
{
    struct jr_outcome *outcome = &guard->shared->outcome;
    int hit = jr_outcome_hit(outcome);
    if (outcome->preempted || outcome->stop_signal != 0 || hit <= 0 || hit >= NSIG ||
        guard->signals.use[hit] != JR_SIGNAL_STOP)
        return;
    if (guard->stop_signal == 0)
        guard->stop_signal = jr_signals_await(&guard->signals, jr_clock_ns() + JR_SHARE_NS);
    if (guard->stop_signal == 0)
        return;
    outcome->stop_signal = guard->stop_signal;
    jr_outcome_share(outcome->ranks, outcome->count, guard->stop_signal, outcome->ended_ns);
}

/* Returns 0 when there is an outcome, else -1 with `err`. */
static int judge_runner_end(const struct jr_guard *guard, const siginfo_t *end,
                            struct jr_error *err)
{
    const struct jr_shared *shared = guard->shared;
    if (shared->finished || end->si_code != CLD_EXITED)
        return 0;
    if (!shared->began && shared->error.text[0] != '\0') {
        if (err != NULL)
            *err = shared->error;
        return -1;
    }
    return jr_error_set(err, JR_STATUS_LAUNCH, "the runner ended by itself with exit code %d",
                        end->si_status);
}

/* Show here and now what the runner has left. */
static void replay_by_itself(const struct jr_guard *guard, bool stopped)
{
    const struct jr_run_options *options = guard->options;
    struct jr_replay replay;
    if (jr_replay_open(&replay, options->out_fd, options->err_fd, options->dir->fd,
                       options->color) == 0) {
        jr_replay_add(&replay, guard->plan, guard->remainder);
        if (stopped)
            jr_replay_hurry(&replay);
        jr_replay_finish(&replay, guard->plan->policy, &options->ignored);
    }
    guard->shared->outcome.console_failed |= replay.console.failed;
    jr_replay_close(&replay);
}

/* The console continues where the runner has come to its end with it. */
static void replay_console(const struct jr_guard *guard)
{
    struct jr_replay *replay = guard->options->replay;
    bool stopped = guard->shared->outcome.stop_signal != 0;
    if (!guard->shared->finished)
        return;
    if (replay == NULL)
        replay_by_itself(guard, stopped);
    else
        jr_replay_add(replay, guard->plan, guard->remainder);
    if (replay != NULL && stopped)
        jr_replay_hurry(replay);
}

int jr_guard_end(struct jr_guard *guard, bool gone, siginfo_t *end, struct jr_error *err)
{
    if (gone)
        finish_outcome(guard, end);
    else
        name_stuck_processes(guard, end);
    if (judge_runner_end(guard, end, err) != 0)
        return -1;
    receive_share(guard);
    replay_console(guard);
    return 0;
}
