#include "cluster/controller_preempt.h"

#include <signal.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "spawn/run_options.h"
#include "store/outcome.h"

#include "base/banned.h"

#define MS UINT64_C(1000000)

/* What is left for the nodes to say what became of their ranks, the record, and the requeue, of the
 * time that the scheduler leaves. */
#define SPARE_MS 10000

static bool is_job_watched(const struct jr_controller_run *run)
{
    const struct jr_policy *policy = run->plan->policy;
    return (policy->deadline.before_ms > 0 || policy->requeue.max > 0) &&
           run->options->slurm != NULL;
}

static void on_preempted_limit(void *owner)
{
    struct jr_controller *controller = owner;
    if (controller->run != NULL)
        jr_controller_run_stop(controller->run);
}

/* The ranks have until then; the stop after it has a grace of its own. */
static void limit_preemption(struct jr_controller_run *run, uint64_t left_ms)
{
    const struct jr_policy *policy = run->plan->policy;
    uint64_t grace_ms = policy->timeouts.stop_grace_ms;
    if (policy->deadline.before_ms == 0)
        return;
    if (left_ms == 0)
        left_ms = grace_ms;
    else
        left_ms = left_ms > 2 * grace_ms ? left_ms - grace_ms : left_ms / 2;
    run->controller->preempted.due = on_preempted_limit;
    run->controller->preempted.owner = run->controller;
    run->controller->preempted.at = jr_clock_ns() + left_ms * MS;
}

static void settle_preemption(struct jr_controller_run *run, bool preempted, uint64_t left_ms)
{
    bool terminated = run->terminated;
    run->terminated = false;
    jr_controller_send_type(run->controller,
                            preempted ? JR_TO_NODES_PREEMPTED : JR_TO_NODES_NOT_PREEMPTED);
    if (preempted) {
        run->outcome->preempted = true;
        limit_preemption(run, left_ms);
    } else if (terminated) {
        run->outcome->stop_signal = SIGTERM;
        jr_controller_run_stop(run);
    }
}

static void on_scheduler_word(void *owner, uint32_t events);

/* Ask, or ask again; without a process for that the job is not preempted. */
static void call_scheduler(struct jr_controller_run *run)
{
    run->tries++;
    if (jr_slurm_call_start(&run->call, run->options->slurm, "show", JR_SLURM_QUICK_MS) != 0) {
        settle_preemption(run, false, 0);
        return;
    }
    run->answer = (struct jr_watch){run->call.keeper.fd, on_scheduler_word, run};
    if (jr_loop_add(&run->controller->loop, &run->answer, EPOLLIN) == 0)
        return;
    run->answer.fd = -1;
    jr_slurm_call_stop(&run->call);
    settle_preemption(run, false, 0);
}

static void on_scheduler_word(void *owner, uint32_t events)
{
    (void)events;
    struct jr_controller_run *run = owner;
    const struct jr_slurm_self *self = run->options->slurm;
    struct jr_slurm_job job;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_loop_remove(&run->controller->loop, &run->answer);
    run->answer.fd = -1;
    const char *why = jr_slurm_call_finish(&run->call, &text);
    if (jr_slurm_call_was_killed(why) && run->tries < JR_SLURM_TRIES) {
        call_scheduler(run);
        return;
    }
    bool known = why == NULL && jr_slurm_job_read(&job, text.data, text.len, self->job);
    bool preempted = known && jr_slurm_job_is_preempted(&job, self);
    settle_preemption(run, preempted, preempted ? jr_slurm_job_left_ms(&job, SPARE_MS) : 0);
}

void jr_controller_preempt_ask(struct jr_controller_run *run)
{
    if (run->answer.fd >= 0)
        return;
    if (run->outcome->preempted) {
        jr_controller_send_type(run->controller, JR_TO_NODES_PREEMPTED);
        return;
    }
    run->tries = 0;
    if (is_job_watched(run))
        call_scheduler(run);
    else
        settle_preemption(run, false, 0);
}

bool jr_controller_preempt_takes(struct jr_controller_run *run, int sig)
{
    bool again = run->was_terminated;
    if (sig != SIGTERM || !is_job_watched(run) || run->stopped)
        return false;
    run->was_terminated = true;
    if (run->outcome->preempted && again) /* their time is over */
        jr_controller_run_stop(run);
    if (run->outcome->preempted)
        return true;
    run->terminated = true;
    jr_controller_preempt_ask(run);
    return true;
}

void jr_controller_preempt_close(struct jr_controller_run *run)
{
    run->controller->preempted.at = 0;
    if (run->answer.fd >= 0)
        jr_loop_remove(&run->controller->loop, &run->answer);
    run->answer.fd = -1;
    jr_slurm_call_stop(&run->call);
    if (run->terminated && run->outcome->stop_signal == 0)
        run->outcome->late_signal = SIGTERM;
}
