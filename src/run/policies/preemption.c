/*
 * A preemption: the scheduler takes the job's nodes away, so that the job is to be continued later.
 * internal.h declares it.
 *
 * Slurm tells of it by SIGTERM, which it sends for other reasons, too, and to
 * jobrun and the ranks alike. So where `deadline` or `requeue` make a
 * difference of it, SIGTERM, or what
 * a rank may do for it, is a question first:
 * scontrol(1) is asked, by the controller where there are several nodes.
 * Without an answer within two seconds it is a stop like any other. Until then
 * no rank is told anything, and its death of SIGTERM is no failure.
 *
 * The ranks would die of that SIGTERM before they are sent the deadline's signal, so under Slurm
 * those of a spec with `deadline` begin with SIGTERM ignored (the option `shields`), unless it is
 * the deadline's own.
 *
 * Under `deadline` the ranks of a preempted job get its signal at once, whatever is left of their
 * time, and have `timeouts.stop_grace` to write a checkpoint and end, or until the end that the
 * scheduler states; then they are killed. Without it they are stopped in the usual way (stop.c). A
 * rank that has died of SIGTERM has yielded as one that died of the deadline's signal. A further
 * SIGTERM stops them, and the next one kills them.
 */
#include <signal.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "run/internal.h"
#include "store/outcome.h"

#include "base/banned.h"

#define MS UINT64_C(1000000)

/* Longer than the controller asks. */
#define PATIENCE_MS (JR_SLURM_QUICK_MS + 3000)

/* What is left for the record and the requeue, of the time that the scheduler leaves. */
#define SPARE_MS 5000

bool jr_preemption_is_open(const struct jr_runner *runner)
{
    return runner->preemption.open;
}

void jr_preemption_begin(struct jr_runner *runner, uint64_t left_ms)
{
    const struct jr_policy *policy = runner->plan->policy;
    struct jr_preemption *preemption = &runner->preemption;
    if (runner->outcome->preempted || jr_stop_has_begun(runner))
        return;
    runner->outcome->preempted = true;
    JR_TELL(runner, .name = JR_EVENT_PREEMPTED, .running = runner->running);
    if (policy->deadline.before_ms == 0) {
        jr_stop_begin(runner);
        return;
    }
    if (left_ms == 0)
        left_ms = policy->timeouts.stop_grace_ms;
    /* Of several nodes, the controller watches the time. */
    if (runner->options->link == NULL)
        preemption->limit.at = jr_clock_ns() + left_ms * MS;
    jr_deadline_begin(runner);
}

static void settle_question(struct jr_runner *runner, bool preempted, uint64_t left_ms)
{
    struct jr_preemption *preemption = &runner->preemption;
    if (!preemption->open)
        return;
    preemption->open = false;
    preemption->patience.at = 0;
    if (preempted)
        jr_preemption_begin(runner, left_ms);
    else if (preemption->signalled_ns != 0)
        jr_stop_signal(runner, SIGTERM, preemption->signalled_ns);
    else if (preemption->hit)
        jr_stop_begin(runner);
}

void jr_preemption_settle(struct jr_runner *runner, bool preempted)
{
    struct jr_preemption *preemption = &runner->preemption;
    /* It may be known before it is asked. */
    if (preempted && !preemption->open)
        jr_preemption_begin(runner, 0);
    settle_question(runner, preempted, 0);
}

static void on_scheduler_answer(void *owner, uint32_t events);

/* Ask, or ask again. Without a process for that, patience ends it. */
static void call_scheduler(struct jr_runner *runner)
{
    struct jr_preemption *preemption = &runner->preemption;
    preemption->tries++;
    if (jr_slurm_call_start(&preemption->call, runner->options->slurm, "show", JR_SLURM_QUICK_MS) !=
        0)
        return;
    preemption->answer = (struct jr_watch){preemption->call.keeper.fd, on_scheduler_answer, runner};
    (void)jr_loop_add(&runner->loop, &preemption->answer, EPOLLIN);
}

static void on_scheduler_answer(void *owner, uint32_t events)
{
    (void)events;
    struct jr_runner *runner = owner;
    struct jr_preemption *preemption = &runner->preemption;
    const struct jr_slurm_self *self = runner->options->slurm;
    struct jr_slurm_job job;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_loop_remove(&runner->loop, &preemption->answer);
    preemption->answer.fd = -1;
    const char *why = jr_slurm_call_finish(&preemption->call, &text);
    if (jr_slurm_call_was_killed(why) && preemption->tries < JR_SLURM_TRIES) {
        call_scheduler(runner);
        return;
    }
    bool known = why == NULL && jr_slurm_job_read(&job, text.data, text.len, self->job);
    bool preempted = known && jr_slurm_job_is_preempted(&job, self);
    settle_question(runner, preempted, preempted ? jr_slurm_job_left_ms(&job, SPARE_MS) : 0);
}

static void on_impatience(void *owner)
{
    settle_question(owner, false, 0);
}

static bool is_job_watched(const struct jr_runner *runner)
{
    const struct jr_policy *policy = runner->plan->policy;
    return (policy->deadline.before_ms > 0 || policy->requeue.max > 0) &&
           (runner->options->slurm != NULL || runner->options->link != NULL);
}

void jr_preemption_ask(struct jr_runner *runner)
{
    struct jr_preemption *preemption = &runner->preemption;
    if (preemption->open || runner->outcome->preempted || !is_job_watched(runner))
        return;
    preemption->open = true;
    preemption->patience.at = jr_clock_ns() + PATIENCE_MS * MS;
    if (runner->options->link != NULL) {
        jr_node_link_report(runner, JR_REPORT_TERMINATED, 0);
        return;
    }
    preemption->tries = 0;
    call_scheduler(runner);
}

bool jr_preemption_takes(struct jr_runner *runner, int sig)
{
    struct jr_preemption *preemption = &runner->preemption;
    uint64_t now = jr_clock_ns(), before = preemption->signalled_ns;
    if (sig != SIGTERM || !is_job_watched(runner))
        return false;
    if (runner->outcome->preempted) {
        preemption->signalled_ns = now;
        if (before == 0 || now - before < JR_SHARE_NS)
            return true;
        if (jr_stop_has_begun(runner))
            jr_stop_force(runner);
        else
            jr_stop_begin(runner);
        return true;
    }
    if (jr_stop_has_begun(runner))
        return false;
    if (before == 0)
        preemption->signalled_ns = now;
    jr_preemption_ask(runner);
    return true;
}

bool jr_preemption_explains(struct jr_rank_run *rank)
{
    struct jr_runner *runner = rank->runner;
    const struct jr_rank_outcome *outcome = rank->outcome;
    /* What a rank does that Slurm has sent SIGTERM: it dies of it, or says that it is to be
     * continued. */
    bool suspicious = outcome->end == JR_END_SIGNALED
                          ? outcome->signal == SIGTERM
                          : outcome->end == JR_END_EXITED && outcome->exit_code == JR_YIELD_CODE;
    if (!suspicious || outcome->stopped_with != 0 || outcome->injected ||
        jr_stop_has_begun(runner) || runner->outcome->preempted)
        return false;
    jr_preemption_ask(runner);
    runner->preemption.hit |= runner->preemption.open && jr_stop_follows(rank);
    return runner->preemption.open;
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
    preemption->answer.fd = -1;
    jr_runner_timer(runner, &preemption->injected, on_injected_preemption, true);
    jr_runner_timer(runner, &preemption->limit, on_preemption_limit, false);
    jr_runner_timer(runner, &preemption->patience, on_impatience, false);
    for (uint32_t k = 0; k < plan->injections_count; k++)
        if (plan->injections[k].what == JR_INJECT_PREEMPT)
            preemption->injected.at = jr_clock_ns() + plan->injections[k].after_ms * MS;
    return 0;
}

static void end_preemption(struct jr_runner *runner)
{
    runner->preemption.injected.at = runner->preemption.limit.at = 0;
}

static void close_preemption(struct jr_runner *runner)
{
    struct jr_preemption *preemption = &runner->preemption;
    end_preemption(runner);
    preemption->patience.at = 0;
    preemption->open = false;
    if (preemption->answer.fd >= 0)
        jr_loop_remove(&runner->loop, &preemption->answer);
    preemption->answer.fd = -1;
    jr_slurm_call_stop(&preemption->call);
}

const struct jr_runner_policy jr_preemption_policy = {
    .name = "preemption",
    .open = open_preemption,
    .stopping = end_preemption,
    .close = close_preemption,
};
