/*
 * Which ranks cause a hang, in which no rank has failed and nothing continues.
 * The ranks of a job do the same thing; in a hang most of them wait for one
 * that does something else. So they are grouped by what they were activity, as
 * their evidence says, and the smallest group is the one that differs. Where
 * all do the same, it is the rank that fell silent well before the others. If
 * there is no such difference, no rank is named, and the report still shows
 * what they did.
 */
#include "judge/hang_report.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/num.h"
#include "judge/run_file.h"
#include "judge/thread_state.h"
#include "judge/words.h"
#include "store/progress.h"

#include "base/banned.h"

/* A rank that has been silent for so much longer than the next fell silent
 * first: seconds, and a part of what the next one was. */
static const double FIRST_BY = 1.0, FIRST_PART = 0.1;

/* Bytes of a rank's evidence; jobrun cuts it long before that. */
enum { EVIDENCE_MOST = 64 << 20 };

static json_t *load_rank_evidence(const struct jr_judge *judge, size_t i)
{
    const char *dir = jr_plan_of(judge->plan, i)->dir;
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_buf_printf(&path, "%s/hang.json", dir == NULL ? "." : dir);
    if (path.failed || jr_run_file_read(&text, judge->run_fd, path.data,
                                        EVIDENCE_MOST, NULL) != 0)
        return NULL;
    return jr_json_parse(text.data, text.len, NULL);
}

static void add_to_group(struct jr_judgement *report, const char *activity,
                         uint32_t i, double silence)
{
    struct jr_hang_group *group = report->hang;
    while (group != NULL && strcmp(group->activity, activity) != 0)
        group = group->next;
    if (group == NULL) {
        group = jr_arena_alloc(&report->arena, sizeof *group);
        if (group == NULL)
            return;
        *group = (struct jr_hang_group){
            .activity = jr_arena_strdup(&report->arena, activity),
            .ranks = jr_arena_array(&report->arena, report->count,
                                    sizeof *group->ranks),
            .silence = silence,
            .next = report->hang};
        report->hang = group;
    }
    if (group->ranks != NULL)
        group->ranks[group->count++] = i;
    if (silence > group->silence)
        group->silence = silence;
}

/* The longest silence of all, whose it was, and the next. */
struct silences {
    double longest, next;
    uint32_t who;
};

static void note_silence(struct silences *silences, uint32_t i, double silence)
{
    if (silence > silences->longest) {
        silences->next = silences->longest;
        silences->longest = silence;
        silences->who = i;
    } else if (silence > silences->next) {
        silences->next = silence;
    }
}

/* The smallest group comes first. */
static void sort_groups(struct jr_judgement *report)
{
    struct jr_hang_group *sorted = NULL;
    while (report->hang != NULL) {
        struct jr_hang_group *group = report->hang, **at = &sorted;
        report->hang = group->next;
        while (*at != NULL && (*at)->count <= group->count)
            at = &(*at)->next;
        group->next = *at;
        *at = group;
    }
    report->hang = sorted;
}

/* Blame the group that differs, or who fell silent first. */
static void choose_odd_ranks(struct jr_judgement *report,
                             const struct silences *silences)
{
    const struct jr_hang_group *first = report->hang;
    const struct jr_hang_group *second = first == NULL ? NULL : first->next;
    double margin = silences->next * FIRST_PART;
    margin = margin > FIRST_BY ? margin : FIRST_BY;
    if (second != NULL && first->count < second->count) {
        report->odd = first->ranks;
        report->odd_count = first->count;
    } else if (silences->next >= 0 &&
               silences->longest - silences->next >= margin) {
        report->odd = jr_arena_array(&report->arena, 1, sizeof *report->odd);
        report->odd_count = report->odd != NULL;
        if (report->odd != NULL)
            report->odd[0] = silences->who;
        report->odd_silent = true;
    }
}

static void find_odd(struct jr_judge *judge)
{
    struct jr_judgement *report = judge->report;
    struct silences silences = {.longest = -1, .next = -1};
    for (uint32_t i = 0; i < report->count; i++) {
        JR_BUF_CLEANUP struct jr_buf activity = JR_BUF_INIT;
        json_t *evidence = load_rank_evidence(judge, i);
        if (evidence == NULL)
            continue;
        double silence = jr_thread_state_silence(evidence);
        jr_thread_state_words(&activity, evidence);
        json_decref(evidence);
        if (activity.failed)
            continue;
        add_to_group(report, activity.data, i, silence);
        note_silence(&silences, i, silence);
    }
    sort_groups(report);
    choose_odd_ranks(report, &silences);
}

static void add_duration(struct jr_buf *out, const char *before, uint64_t ms)
{
    jr_buf_str(out, before);
    if (ms > 0)
        jr_num_add_duration(out, ms);
    else /* a record does not say */
        jr_buf_str(out, "the time");
}

/* "no step beyond 120 for 15m" */
static void describe_step_limit(struct jr_buf *out, struct jr_judge *judge)
{
    const struct jr_timeouts *timeouts = &judge->plan->policy->timeouts;
    const struct jr_progress *progress = judge->outcome->progress;
    if (judge->outcome->timed_out_by == JR_TIMEOUT_FIRST_STEP) {
        add_duration(out, "no first step within ", timeouts->first_step_ms);
        jr_buf_str(out, " (timeouts.first_step)");
        return;
    }
    jr_buf_str(out, "no step ");
    if (progress != NULL && progress->job.any)
        jr_buf_printf(out, "beyond %lld ", (long long)progress->job.best);
    add_duration(out, "for ", timeouts->progress_ms);
    jr_buf_str(out, " (timeouts.progress)");
}

/* Which limit was met. */
static const char *describe_overrun(struct jr_judge *judge)
{
    const struct jr_timeouts *timeouts = &judge->plan->policy->timeouts;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (judge->outcome->timed_out_by == JR_TIMEOUT_SILENCE) {
        add_duration(&text, "no output from any rank for ",
                     timeouts->silence_ms);
        jr_buf_str(&text, " (timeouts.silence)");
    } else if (judge->outcome->timed_out_by == JR_TIMEOUT_AFTER_FIRST_EXIT) {
        add_duration(&text, "not all ended within ",
                     timeouts->after_first_exit_ms);
        jr_buf_str(&text, " of the first (timeouts.after_first_exit)");
    } else if (judge->outcome->timed_out_by == JR_TIMEOUT_PROGRESS ||
               judge->outcome->timed_out_by == JR_TIMEOUT_FIRST_STEP) {
        describe_step_limit(&text, judge);
    } else {
        jr_buf_str(&text, "longer than timeouts.run");
        if (timeouts->run_ms > 0) {
            jr_buf_str(&text, ", which is ");
            jr_clock_human(&text, timeouts->run_ms * UINT64_C(1000000));
        }
    }
    return jr_buf_keep(&text, &judge->report->arena);
}

void jr_hang_find(struct jr_judge *judge)
{
    enum jr_timeout by = judge->outcome->timed_out_by;
    if (by == JR_TIMEOUT_NONE || by == JR_TIMEOUT_START)
        return;
    if (by != JR_TIMEOUT_RUN)
        find_odd(judge);
    if (judge->report->overrun == NULL)
        judge->report->overrun = describe_overrun(judge);
}

/* "silent for 14 s", or nothing. */
static void add_silence_words(struct jr_buf *out, double silence)
{
    if (silence < 0)
        return;
    jr_buf_str(out, ", silent for ");
    jr_clock_human(out, jr_clock_ns_of(silence));
}

void jr_hang_group_text(struct jr_buf *out, const struct jr_plan *plan,
                        const struct jr_hang_group *group)
{
    JR_FREE uint32_t *ranks = calloc(group->count + 1, sizeof *ranks);
    for (size_t i = 0; ranks != NULL && i < group->count; i++)
        ranks[i] = jr_plan_of(plan, group->ranks[i])->rank;
    if (ranks != NULL)
        jr_words_ranks(out, ranks, group->count);
    jr_buf_printf(out, " %s", group->activity);
    add_silence_words(out, group->silence);
}

void jr_hang_message(struct jr_buf *out, const struct jr_judgement *report,
                     const struct jr_plan *plan)
{
    jr_buf_str(out, report->overrun);
    if (report->odd_count == 0)
        return;
    jr_buf_str(out, "; ");
    if (report->odd_silent)
        jr_buf_printf(out, "rank %u fell silent first",
                      jr_plan_of(plan, report->odd[0])->rank);
    else
        jr_hang_group_text(out, plan, report->hang);
}
