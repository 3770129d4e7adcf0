#include "judge/judgement.h"

#include <stdlib.h>
#include <string.h>

#include "judge/artifacts.h"
#include "judge/cause.h"
#include "judge/delivery.h"
#include "judge/hang_report.h"
#include "judge/judge.h"
#include "judge/restart.h"
#include "judge/result_checks.h"
#include "judge/results.h"
#include "judge/words.h"
#include "store/outcome.h"

#include "base/banned.h"

/* What a rank has delivered, where its files are or as its node has found it.
 */
static void judge_delivery(struct jr_judge *judge, size_t i)
{
    const json_t *delivery = judge->deliveries == NULL ? NULL : judge->deliveries[i];
    if (delivery != NULL) {
        jr_delivery_take(judge, i, delivery);
        return;
    }
    jr_result_find(judge, i);
    jr_judge_fields(judge, i);
    jr_artifact_check(judge, i);
}

/* Hold the ranks that ended well to the spec. */
static void judge_results(struct jr_judge *judge)
{
    struct jr_judgement *report = judge->report;
    jr_artifact_open(judge);
    for (size_t i = 0; i < report->count; i++)
        if (report->ranks[i].state == JR_RANK_SUCCEEDED)
            judge_delivery(judge, i);
    jr_cause_find(judge);
    jr_artifact_check_job(judge);
    jr_result_part(judge);
    jr_compare(judge);
    for (size_t i = 0; i < report->count; i++)
        if (report->ranks[i].state == JR_RANK_SUCCEEDED &&
            report->ranks[i].result_error != JR_RESULT_NONE)
            report->ranks[i].state =
                jr_judge_yielded(judge, i) ? JR_RANK_YIELDED : JR_RANK_INCOMPLETE;
}

static bool any_rank(const struct jr_judge *judge, enum jr_rank_state state)
{
    for (size_t i = 0; i < judge->report->count; i++)
        if (judge->report->ranks[i].state == state)
            return true;
    return false;
}

static bool was_run_stopped(const struct jr_judge *judge)
{
    return judge->outcome->stop_signal != 0;
}

static bool was_not_launched(const struct jr_judge *judge)
{
    if (jr_outcome_lost(judge->outcome))
        return true;
    for (size_t i = 0; i < judge->report->count; i++)
        if (judge->outcome->ranks[i].end == JR_END_START ||
            (judge->report->ranks[i].unstarted && judge->report->ranks[i].state == JR_RANK_FAILED))
            return true;
    return false;
}

static bool was_timed_out(const struct jr_judge *judge)
{
    return judge->outcome->timed_out_by == JR_TIMEOUT_RUN ||
           judge->outcome->timed_out_by == JR_TIMEOUT_AFTER_FIRST_EXIT;
}

static bool was_hung(const struct jr_judge *judge)
{
    return judge->outcome->timed_out_by == JR_TIMEOUT_SILENCE ||
           judge->outcome->timed_out_by == JR_TIMEOUT_PROGRESS ||
           judge->outcome->timed_out_by == JR_TIMEOUT_FIRST_STEP;
}

static bool has_failed(const struct jr_judge *judge)
{
    return judge->report->causes_count > 0;
}

/* Its ranks had no time to deliver, and none failed. */
static bool was_preempted(const struct jr_judge *judge)
{
    return judge->outcome->preempted &&
           (any_rank(judge, JR_RANK_NOT_STARTED) || any_rank(judge, JR_RANK_STOPPED));
}

/* No rank failed and none was told to stop, but one is missing. */
static bool was_lost(const struct jr_judge *judge)
{
    return any_rank(judge, JR_RANK_NOT_STARTED) || any_rank(judge, JR_RANK_STOPPED);
}

/* Every rank ended with 0, and none of them initialized MPI by the protocol that the spec
 * states. */
static bool are_singletons(const struct jr_judge *judge)
{
    const struct jr_plan_mpi *mpi = &judge->plan->mpi;
    if (!mpi->stated || mpi->protocol == JR_MPI_PROTOCOL_NONE)
        return false;
    for (size_t i = 0; i < judge->report->count; i++)
        if (judge->outcome->ranks[i].mpi != JR_MPI_PART_ABSENT ||
            !jr_outcome_is_well(&judge->outcome->ranks[i]))
            return false;
    return judge->report->count > 0;
}

static bool is_incomplete(const struct jr_judge *judge)
{
    return any_rank(judge, JR_RANK_INCOMPLETE);
}

static bool is_to_continue(const struct jr_judge *judge)
{
    return any_rank(judge, JR_RANK_YIELDED);
}

static bool lacks_logs(const struct jr_judge *judge)
{
    return judge->report->logs_incomplete;
}

struct rule {
    bool (*applies)(const struct jr_judge *judge);
    enum jr_run_status status;
    enum jr_status code;
};

/* The first that applies decides. */
static const struct rule rules[] = {
    {was_run_stopped, JR_RUN_STOPPED, JR_STATUS_OK}, /* 128 + the signal */
    {was_not_launched, JR_RUN_LAUNCH_FAILED, JR_STATUS_LAUNCH},
    {was_hung, JR_RUN_HUNG, JR_STATUS_TIMEOUT},
    {was_timed_out, JR_RUN_TIMED_OUT, JR_STATUS_TIMEOUT},
    {has_failed, JR_RUN_FAILED, JR_STATUS_FAILED},
    {was_preempted, JR_RUN_YIELDED, JR_STATUS_YIELDED},
    {was_lost, JR_RUN_LAUNCH_FAILED, JR_STATUS_LAUNCH},
    {are_singletons, JR_RUN_INCOMPLETE, JR_STATUS_INCOMPLETE},
    {is_incomplete, JR_RUN_INCOMPLETE, JR_STATUS_INCOMPLETE},
    {is_to_continue, JR_RUN_YIELDED, JR_STATUS_YIELDED},
    {lacks_logs, JR_RUN_INCOMPLETE, JR_STATUS_LAUNCH},
};

/* The root cause's own exit code, as a shell would tell it. */
static int rank_code(const struct jr_judge *judge)
{
    const struct jr_rank_outcome *rank = &judge->outcome->ranks[judge->report->causes[0]];
    int code = jr_words_exit_code(rank);
    if (code != 0)
        return code;
    return rank->end == JR_END_SIGNALED ? 128 + rank->signal : JR_STATUS_FAILED;
}

/* Why the job is to be continued, if it is. A node that is lost is a failure, which a requeue may
 * turn into that. */
static enum jr_requeue_cause find_requeue_cause(const struct jr_judge *judge)
{
    const struct jr_judgement *report = judge->report;
    if (report->status == JR_RUN_YIELDED)
        return judge->outcome->preempted ? JR_REQUEUE_PREEMPTED : JR_REQUEUE_DEADLINE;
    bool lost = report->status == JR_RUN_FAILED && report->causes_count > 0 &&
                judge->outcome->ranks[report->causes[0]].end == JR_END_LOST;
    return lost ? JR_REQUEUE_LOST_NODE : JR_REQUEUE_NONE;
}

/* "4 singletons: mpi: pmi1 is stated, but no rank called MPI_Init through it"
 */
static void describe_singletons(struct jr_judge *judge)
{
    static const char *const words[] = {
#define WORD(name, word, help) word,
        JR_MPI_PROTOCOLS(WORD)
#undef WORD
    };
    struct jr_judgement *report = judge->report;
    const char *library = judge->plan->mpi.library;
    report->singletons = true;
    report->error = jr_arena_printf(
        &report->arena,
        "%zu singleton%s: `mpi: %s` is stated, but no rank called MPI_Init through it%s%s%s",
        report->count, report->count == 1 ? "" : "s", words[judge->plan->mpi.protocol],
        library == NULL ? "" : " (the program needs ", library == NULL ? "" : library,
        library == NULL ? "" : ")");
}

static void decide_status(struct jr_judge *judge)
{
    struct jr_judgement *report = judge->report;
    const struct rule *rule = rules, *end = rules + sizeof rules / sizeof *rules;
    while (rule < end && !rule->applies(judge))
        rule++;
    if (rule == end)
        return;
    if (rule->applies == are_singletons)
        describe_singletons(judge);
    if (rule->applies == was_lost && report->error == NULL && judge->outcome->start_text[0] != '\0')
        report->error = jr_arena_strdup(&report->arena, judge->outcome->start_text);
    report->status = rule->status;
    report->exit_code = (int)rule->code;
    if (rule->status == JR_RUN_STOPPED)
        report->exit_code = 128 + judge->outcome->stop_signal;
    if (rule->code == JR_STATUS_FAILED && judge->plan->policy->exit_status == JR_EXIT_STATUS_RANK)
        report->exit_code = rank_code(judge);
}

static void judge_all_ranks(struct jr_judge *judge)
{
    judge->report->logs_incomplete = judge->outcome->console_errno != 0;
    for (size_t i = 0; i < judge->outcome->count; i++)
        if (judge->outcome->ranks[i].log_errno != 0)
            judge->report->logs_incomplete = true;
    jr_cause_sort(judge);
    jr_hang_find(judge);
    judge_results(judge);
    decide_status(judge);
    judge->report->requeue.cause = find_requeue_cause(judge);
}

int jr_judgement_make(struct jr_judgement *ret, const struct jr_plan *plan,
                      const struct jr_outcome *outcome, const struct jr_left *left,
                      struct jr_error *err)
{
    struct jr_judgement report = {.count = outcome->count};
    struct jr_judge judge = {
        .report = &report,
        .plan = plan,
        .outcome = outcome,
        .before = left->before,
        .deliveries = left->deliveries,
        .apart = left->apart,
        .wants = &plan->policy->results,
        .run_fd = left->run_fd,
    };
    report.ranks = jr_arena_array(&report.arena, report.count, sizeof *report.ranks);
    int result = jr_judge_init(&judge, err);
    if (result == 0 && report.ranks != NULL)
        judge_all_ranks(&judge);
    jr_judge_release(&judge);
    if (result == 0 && report.arena.failed)
        result = jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    if (result == 0)
        *ret = report;
    else
        jr_judgement_release(&report);
    return result;
}

void jr_judgement_stall(struct jr_judgement *report, const struct jr_stall *stall)
{
    report->stall = *stall;
    report->exit_code = JR_STATUS_TIMEOUT;
    if (report->status == JR_RUN_YIELDED)
        report->status = JR_RUN_FAILED;
    report->requeue.cause = JR_REQUEUE_NONE;
}

bool jr_judgement_left(const struct jr_rank_judgement *rank)
{
    return rank->state == JR_RANK_FAILED && rank->result_error != JR_RESULT_NONE;
}

size_t jr_judgement_first(const struct jr_judgement *report, enum jr_rank_state state)
{
    size_t i = 0;
    while (i < report->count && report->ranks[i].state != state)
        i++;
    return i;
}

uint64_t jr_judgement_began_ns(const struct jr_judgement *report, const struct jr_outcome *outcome)
{
    return report->earlier_count > 0 ? report->earlier[0].started_ns : outcome->started_ns;
}

uint64_t jr_judgement_began_wall_ns(const struct jr_judgement *report,
                                    const struct jr_outcome *outcome)
{
    return report->earlier_count > 0 ? report->earlier[0].started_wall_ns
                                     : outcome->started_wall_ns;
}

void jr_judgement_release(struct jr_judgement *report)
{
    for (size_t i = 0; report->ranks != NULL && i < report->count; i++) {
        json_decref(report->ranks[i].result);
        json_decref(report->ranks[i].text);
    }
    jr_arena_release(&report->arena);
    *report = (struct jr_judgement){0};
}
