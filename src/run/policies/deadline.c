/*
 * The warning before the end of the time: `deadline`. internal.h declares it.
 *
 * The end is that of `timeouts.run`, which is what is left of the allocation where that is less
 * (resolve/rules.c). `before` it each rank gets `signal`, by which it writes a checkpoint and ends;
 * a rank that has returned by then does not get it, for it waits for the others only
 * (exit_barrier.c). From then on neither exit code 75 nor death by that signal stops the others:
 * whether a rank has yielded is for the judge to say, who knows the steps of all nodes.
 *
 * A scheduler can say when the end is near, by a signal to jobrun, as sbatch's
 * --signal=B:USR1@600 does: that starts the deadline, and is not forwarded.
 */
#include "base/clock.h"
#include "eventloop/signals.h"
#include "plan/deadline_notice.h"
#include "run/internal.h"

#include "base/banned.h"

#define MS UINT64_C(1000000)

static void warn_rank(struct jr_rank_run *rank)
{
    int sig = jr_signals_number(rank->runner->plan->policy->deadline.signal);
    if ((rank->state != JR_LIFE_RUNNING && rank->state != JR_LIFE_SUSPENDED) ||
        rank->outcome->returned)
        return;
    rank->outcome->warned_with = sig;
    jr_rank_handle(rank, JR_RANK_ON_FORWARD, sig);
}

void jr_deadline_begin(struct jr_runner *runner)
{
    if (runner->deadline.begun || jr_stop_has_begun(runner))
        return;
    runner->deadline.begun = true;
    JR_TELL(runner, .name = JR_EVENT_DEADLINE,
            .signal = jr_signals_number(runner->plan->policy->deadline.signal),
            .running = runner->running);
    for (uint32_t i = 0; i < runner->next; i++)
        warn_rank(&runner->ranks[i]);
}

/* A scheduler that warns of a preemption does so in this way, too. */
bool jr_deadline_takes(struct jr_runner *runner, int sig)
{
    const char *notice = jr_deadline_notice(runner->plan->policy);
    if (notice == NULL || sig != jr_signals_number(notice))
        return false;
    jr_deadline_begin(runner);
    jr_preemption_ask(runner);
    return true;
}

static void on_deadline(void *owner)
{
    jr_deadline_begin(owner);
}

static int open_deadline(struct jr_runner *runner)
{
    const struct jr_plan *plan = runner->plan;
    uint64_t run_ms = plan->policy->timeouts.run_ms;
    uint64_t before_ms = plan->policy->deadline.before_ms;
    uint64_t ms = run_ms > before_ms ? run_ms - before_ms : 0; /* from now on */
    bool comes = run_ms > 0;
    if (before_ms == 0)
        return 0;
    for (uint32_t k = 0; k < plan->injections_count; k++) {
        const struct jr_injection *injection = &plan->injections[k];
        if (injection->what != JR_INJECT_DEADLINE || (comes && injection->after_ms >= ms))
            continue;
        ms = injection->after_ms;
        comes = true;
    }
    if (!comes)
        return 0;
    jr_runner_timer(runner, &runner->deadline.timer, on_deadline, true);
    runner->deadline.timer.at = jr_clock_ns() + ms * MS;
    return 0;
}

static void warn_late_rank(struct jr_rank_run *rank)
{
    if (rank->runner->deadline.begun)
        warn_rank(rank);
}

static void end_deadline(struct jr_runner *runner)
{
    runner->deadline.timer.at = 0;
}

const struct jr_runner_policy jr_deadline_policy = {
    .name = "deadline",
    .open = open_deadline,
    .rank_started = warn_late_rank,
    .stopping = end_deadline,
    .close = end_deadline,
};
