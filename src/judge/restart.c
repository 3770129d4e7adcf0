#include "judge/restart.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/restart_trigger.h"
#include "judge/internal.h"
#include "judge/words.h"
#include "store/outcome.h"
#include "store/progress.h"

#include "base/banned.h"

#define MS      UINT64_C(1000000)
#define AT_ONCE (10 * UINT64_C(1000000000)) /* ns that show no progress */

static const uint64_t LONGEST_WAIT_MS = 5 * 60 * 1000;

/* Whether `requeue` is what decides on the attempt. */
static bool is_requeue_sought(const struct jr_requeue *spec, const struct jr_attempt *last)
{
    if (spec->max == 0 || last->continues == JR_REQUEUE_NONE)
        return false;
    bool found = spec->on_count == 0;
    for (uint32_t i = 0; i < spec->on_count && !found; i++)
        found = strcmp(spec->on[i], jr_requeue_word(last->continues)) == 0;
    return found;
}

uint32_t jr_restart_requeues(const struct jr_history *history)
{
    uint32_t count = 0;
    for (size_t i = 0; i < history->count; i++)
        count += history->items[i].requeued && history->items[i].continues != JR_REQUEUE_NONE;
    return count;
}

/* Why the last attempt is not one to start again after; false: it is. */
static bool is_restart_barred(struct jr_verdict *ret, const struct jr_attempt *last)
{
    size_t size = sizeof ret->why;
    if (!last->failed)
        (void)snprintf(ret->why, size, "%s", last->left == NULL ? "" : last->left);
    else if (last->never != NULL)
        (void)snprintf(ret->why, size, "restart.never names %.100s", last->never);
    else if (last->on == NULL)
        (void)snprintf(ret->why, size, "restart.on does not name such a cause");
    else
        return false;
    return true;
}

struct jr_stall jr_restart_stall(const struct jr_history *history)
{
    struct jr_stall stall = {.stepped = history->items[0].stepped, .step = history->items[0].best};
    for (size_t i = 1; i < history->count; i++) {
        const struct jr_attempt *attempt = &history->items[i];
        bool further = attempt->stepped && (!stall.stepped || attempt->best > stall.step);
        stall.attempts = further ? 0 : stall.attempts + 1;
        stall.stepped |= further;
        stall.step = further ? attempt->best : stall.step;
    }
    return stall;
}

/* Whether the job has made no step forward for as many attempts as it may. */
static bool has_stalled(struct jr_verdict *ret, uint32_t most, const struct jr_history *history)
{
    struct jr_stall stall = jr_restart_stall(history);
    struct jr_buf words JR_BUF_CLEANUP = JR_BUF_INIT;
    if (most == 0 || stall.attempts < most)
        return false;
    jr_words_stall(&words, &stall);
    ret->stall = stall;
    (void)snprintf(ret->why, sizeof ret->why, "%s (progress.stall is %u)",
                   words.failed ? "it stalled" : words.data, most);
    return true;
}

static void decide_requeue(struct jr_verdict *ret, const struct jr_policy *policy,
                           const struct jr_history *history)
{
    const struct jr_attempt *last = &history->items[history->count - 1];
    if (has_stalled(ret, policy->progress.stall, history))
        return;
    if (last->left != NULL)
        (void)snprintf(ret->why, sizeof ret->why, "%s", last->left);
    else if (ret->requeued >= policy->requeue.max)
        (void)snprintf(ret->why, sizeof ret->why, "requeue.max is %u", policy->requeue.max);
    else {
        ret->again = true;
        ret->requeue = last->continues;
    }
}

void jr_restart_decide(struct jr_verdict *ret, const struct jr_policy *policy,
                       const struct jr_history *history)
{
    const struct jr_restart *spec = &policy->restart;
    const struct jr_attempt *last = &history->items[history->count - 1];
    *ret = (struct jr_verdict){.requeued = jr_restart_requeues(history)};
    if (is_requeue_sought(&policy->requeue, last)) {
        decide_requeue(ret, policy, history);
        return;
    }
    if (spec->max == 0 || is_restart_barred(ret, last) ||
        has_stalled(ret, policy->progress.stall, history))
        return;
    /* Restarts that are not older than the window. */
    for (size_t i = 1; i < history->count; i++)
        ret->counted += !history->items[i - 1].requeued &&
                        (spec->window_ms == 0 ||
                         last->ended_ns - history->items[i].started_ns <= spec->window_ms * MS);
    if (ret->counted >= spec->max) {
        struct jr_buf window JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_num_add_duration(&window, spec->window_ms);
        bool whole = spec->window_ms == 0 || window.failed;
        (void)snprintf(ret->why, sizeof ret->why, "restart.max is %u%s%s", spec->max,
                       whole ? "" : " within ", whole ? "" : window.data);
        return;
    }
    uint64_t most = spec->backoff_ms > LONGEST_WAIT_MS ? spec->backoff_ms : LONGEST_WAIT_MS;
    uint64_t wait = spec->backoff_ms;
    for (uint32_t i = 0; i < ret->counted && wait < most; i++)
        wait *= 2;
    ret->again = true;
    ret->wait_ms = wait < most ? wait : most;
}

size_t jr_restart_idle(const struct jr_history *history)
{
    size_t first = history->count;
    const struct jr_attempt *last = &history->items[history->count - 1];
    while (first > 0 && history->items[first - 1].failed &&
           history->items[first - 1].lived_ns < AT_ONCE &&
           strcmp(history->items[first - 1].how, last->how) == 0)
        first--;
    return history->count - first;
}

/* The attempt with which causes are compared. */
struct view {
    const struct jr_judgement *report;
    const struct jr_plan *plan;
    const struct jr_outcome *outcome;
    int run_fd;
    struct jr_arena *arena;
};

/* Whether a rank's own end is of the kind. */
static bool rank_matches(const struct view *view, size_t i,
                         const struct jr_restart_trigger *trigger)
{
    const struct jr_rank_outcome *rank = &view->outcome->ranks[i];
    bool unstarted = rank->end == JR_END_START || view->report->ranks[i].unstarted;
    bool left = jr_judgement_left(&view->report->ranks[i]);
    int code = jr_words_exit_code(rank);
    switch (trigger->kind) {
    case JR_RESTART_TRIGGER_START:
        return unstarted;
    case JR_RESTART_TRIGGER_EXIT:
        return !unstarted && code != 0 && !left && jr_restart_trigger_takes_code(trigger, code);
    case JR_RESTART_TRIGGER_SIGNAL:
        return rank->end == JR_END_SIGNALED && !rank->oom && code == 0 &&
               jr_restart_trigger_takes_signal(trigger, rank->signal);
    case JR_RESTART_TRIGGER_OOM:
        return rank->oom;
    case JR_RESTART_TRIGGER_LOST_NODE:
        return rank->end == JR_END_LOST;
    case JR_RESTART_TRIGGER_STDERR:
        return jr_pattern_holds(trigger->pattern, view->run_fd,
                                jr_plan_of(view->plan, i)->err_path);
    case JR_RESTART_TRIGGER_RESULT:
        return left;
    case JR_RESTART_TRIGGER_HANG:
    case JR_RESTART_TRIGGER_TIMEOUT:
    case JR_RESTART_TRIGGER_COUNT:
        break;
    }
    return false;
}

/* Whether a rank that is to blame matches: one that failed together with the first, unless its
 * failure may follow from that. If no rank is to blame, a pattern may match the output of any. */
static bool any_rank_matches(const struct view *view, const struct jr_restart_trigger *trigger)
{
    const struct jr_judgement *report = view->report;
    bool all = report->causes_count == 0 && trigger->kind == JR_RESTART_TRIGGER_STDERR;
    for (size_t c = 0; c < report->causes_count; c++)
        if (!report->ranks[report->causes[c]].follows &&
            rank_matches(view, report->causes[c], trigger))
            return true;
    for (size_t i = 0; all && i < report->count; i++)
        if (rank_matches(view, i, trigger))
            return true;
    return false;
}

static bool matches_trigger(const struct view *view, const char *text)
{
    struct jr_restart_trigger trigger;
    struct jr_restart_trigger_fault fault;
    enum jr_run_status status = view->report->status;
    if (!jr_restart_trigger_parse(&trigger, view->arena, text, &fault))
        return false;
    if (trigger.kind == JR_RESTART_TRIGGER_TIMEOUT)
        return status == JR_RUN_TIMED_OUT;
    if (trigger.kind == JR_RESTART_TRIGGER_HANG)
        return status == JR_RUN_HUNG;
    if (trigger.kind == JR_RESTART_TRIGGER_RESULT && status == JR_RUN_INCOMPLETE)
        return true;
    return any_rank_matches(view, &trigger);
}

/* The first entry that the attempt meets, or NULL. */
static const char *first_matching_entry(const struct view *view, char *const *entries,
                                        uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (matches_trigger(view, entries[i]))
            return entries[i];
    return NULL;
}

/* Whether it failed in a way that could start again; else *ret_left says why not, but for a
 * success. */
static bool can_restart(const struct view *view, const char **ret_left)
{
    const struct jr_outcome *outcome = view->outcome;
    enum jr_run_status status = view->report->status;
    bool own = jr_outcome_lost(outcome) || view->report->error != NULL ||
               (status == JR_RUN_LAUNCH_FAILED && view->report->causes_count == 0) ||
               (status == JR_RUN_INCOMPLETE &&
                jr_judgement_first(view->report, JR_RANK_INCOMPLETE) == view->report->count);
    *ret_left = NULL;
    if (view->report->singletons) {
        *ret_left = "its ranks would not become one MPI world then either";
        return false;
    }
    if (status == JR_RUN_SUCCEEDED || status == JR_RUN_STOPPED)
        return false;
    if (own)
        *ret_left = "jobrun itself failed";
    else if (view->plan->count < view->plan->world_size)
        *ret_left = "the other nodes would not start again with this one";
    else if (outcome->left > 0)
        *ret_left = "processes are left, which would disturb the next attempt";
    return *ret_left == NULL && status != JR_RUN_YIELDED;
}

/* "rank 3 exited with code 1"; *ret_how is where its end begins. */
static void describe_rank_failure(struct jr_buf *out, const struct view *view, size_t i,
                                  size_t *ret_how)
{
    const struct jr_rank_judgement *rank = &view->report->ranks[i];
    const char *own = rank->reason != NULL ? rank->reason : rank->error;
    jr_buf_printf(out, "rank %u ", jr_plan_of(view->plan, i)->rank);
    *ret_how = out->len;
    if (rank->reason == NULL && view->outcome->ranks[i].end != JR_END_START)
        jr_words_rank_end(out, &view->outcome->ranks[i]);
    else
        jr_buf_str(out, rank->reason != NULL ? "did not deliver" : "");
    if (own == NULL)
        return;
    jr_buf_str(out, out->len > *ret_how ? ": " : "");
    jr_buf_safe(out, own);
}

static const char *const overruns[] = {
    [JR_TIMEOUT_SILENCE] = "no rank wrote anything within timeouts.silence",
    [JR_TIMEOUT_AFTER_FIRST_EXIT] = "not all ended within timeouts.after_first_exit of the first",
    [JR_TIMEOUT_PROGRESS] = "the job made no step forward within timeouts.progress",
    [JR_TIMEOUT_FIRST_STEP] = "the job made no step within timeouts.first_step",
    [JR_TIMEOUT_EXIT] = NULL,
};

static void describe_attempt_cause(struct jr_buf *out, const struct view *view, size_t *ret_how)
{
    const struct jr_judgement *report = view->report;
    enum jr_timeout by = view->outcome->timed_out_by;
    size_t i = report->causes_count > 0 ? report->causes[0]
                                        : jr_judgement_first(report, JR_RANK_INCOMPLETE);
    *ret_how = 0;
    if (report->status == JR_RUN_TIMED_OUT || report->status == JR_RUN_HUNG)
        jr_buf_str(out, overruns[by] != NULL ? overruns[by] : "longer than timeouts.run");
    else if (report->status == JR_RUN_YIELDED)
        jr_words_yield(out, report->requeue.cause, view->outcome);
    else if (i < report->count)
        describe_rank_failure(out, view, i, ret_how);
    else
        jr_buf_str(out, jr_run_status_word(report->status));
}

static void fill_attempt(struct jr_attempt *attempt, const struct view *view)
{
    const struct jr_restart *spec = &view->plan->policy->restart;
    const struct jr_judgement *report = view->report;
    const struct jr_outcome *outcome = view->outcome;
    const struct jr_progress *progress = outcome->progress;
    uint64_t end =
        report->causes_count > 0 ? outcome->ranks[report->causes[0]].ended_ns : outcome->ended_ns;
    struct jr_buf cause JR_BUF_CLEANUP = JR_BUF_INIT;
    size_t how;
    describe_attempt_cause(&cause, view, &how);
    attempt->number = view->plan->attempt;
    attempt->status = report->status;
    attempt->exit_code = report->exit_code;
    attempt->cause = jr_buf_keep(&cause, view->arena);
    attempt->how = attempt->cause == NULL ? "" : attempt->cause + how;
    attempt->started_ns = outcome->started_ns;
    attempt->started_wall_ns = outcome->started_wall_ns;
    attempt->ended_ns = outcome->ended_ns;
    attempt->lived_ns = end > attempt->started_ns ? end - attempt->started_ns : 0;
    attempt->stepped = progress != NULL && progress->job.any;
    attempt->best = attempt->stepped ? progress->job.best : 0;
    attempt->continues = report->requeue.cause;
    attempt->failed = can_restart(view, &attempt->left);
    if (!attempt->failed || spec->max == 0)
        return;
    attempt->never = first_matching_entry(view, spec->never, spec->never_count);
    attempt->on = spec->on_count == 0 ? "" : first_matching_entry(view, spec->on, spec->on_count);
}

int jr_history_add(struct jr_history *history, const struct jr_judgement *report,
                   const struct jr_plan *plan, const struct jr_outcome *outcome, int run_fd)
{
    const struct view view = {.report = report,
                              .plan = plan,
                              .outcome = outcome,
                              .run_fd = run_fd,
                              .arena = &history->arena};
    struct jr_attempt *attempt =
        jr_arena_push(&history->arena, &history->items, &history->count, sizeof *attempt);
    if (attempt != NULL)
        fill_attempt(attempt, &view);
    return history->arena.failed ? -1 : 0;
}

int jr_history_recall(struct jr_history *history, const struct jr_attempt *attempt)
{
    struct jr_attempt *kept =
        jr_arena_push(&history->arena, &history->items, &history->count, sizeof *kept);
    if (kept == NULL)
        return -1;
    *kept = *attempt;
    kept->left = kept->on = kept->never = NULL;
    kept->failed = false;
    kept->how = "";
    kept->cause = jr_arena_strdup(&history->arena, attempt->cause == NULL ? "" : attempt->cause);
    return history->arena.failed ? -1 : 0;
}

void jr_history_release(struct jr_history *history)
{
    jr_arena_release(&history->arena);
    *history = (struct jr_history){0};
}
