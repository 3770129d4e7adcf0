/*
 * A preemption: the scheduler takes the job's nodes away, so that the job is to
 * be continued later.
 *
 * Under `deadline` the ranks get its signal at once, whatever is left of their
 * time, and have `timeouts.stop_grace` to write a checkpoint and end, or until
 * the end that the scheduler states; then they are killed. Without it they are
 * stopped in the usual way (stop.c). A rank that has died of SIGTERM, which
 * schedulers send to all processes of a job, has yielded as one that died of
 * the deadline's signal.
 */
#include "run/policies/preemption.h"

#include "base/clock.h"
#include "run/runner.h"

#include "base/banned.h"

#define MS UINT64_C(1000000)

void jr_preemption_begin(struct jr_runner *runner, uint64_t left_ms)
{
    const struct jr_policy *policy = runner->plan->policy;
    struct jr_preemption *preemption = &runner->preemption;
    if (runner->outcome->preempted || jr_stop_has_begun(runner))
        return;
    runner->outcome->preempted = true;
    jr_events_add(&runner->events,
                  &(struct jr_event){.name = JR_EVENT_PREEMPTED,
                                     .running = runner->running});
    if (policy->deadline.before_ms == 0) {
        jr_stop_begin(runner);
        return;
    }
    if (left_ms == 0)
        left_ms = policy->timeouts.stop_grace_ms;
    preemption->limit.at = jr_clock_ns() + left_ms * MS;
    jr_deadline_begin(runner);
}

static void on_injected_preemption(void *owner)
{
    jr_preemption_begin(owner, 0);
}

static void on_preemption_limit(void *owner)
{
    jr_stop_force(owner);
}

static int open_preemption(struct jr_runner *runner)
{
    const struct jr_plan *plan = runner->plan;
    struct jr_preemption *preemption = &runner->preemption;
    *preemption = (struct jr_preemption){
        .injected = {.due = on_injected_preemption,
                     .owner = runner,
                     .pauses = true},
        .limit = {.due = on_preemption_limit, .owner = runner},
    };
    for (uint32_t k = 0; k < plan->injections_count; k++)
        if (plan->injections[k].what == JR_INJECT_PREEMPT)
            preemption->injected.at =
                jr_clock_ns() + plan->injections[k].after_ms * MS;
    jr_loop_timer(&runner->loop, &preemption->injected);
    jr_loop_timer(&runner->loop, &preemption->limit);
    return 0;
}

static void end_preemption(struct jr_runner *runner)
{
    runner->preemption.injected.at = runner->preemption.limit.at = 0;
}

const struct jr_runner_policy jr_preemption_policy = {
    .name = "preemption",
    .open = open_preemption,
    .stopping = end_preemption,
    .close = end_preemption,
};
