/*
 * How each rank ended, and the cause. Every rank that failed by itself is a
 * candidate for it. A rank that jobrun stopped is one only where it was exiting
 * before the stop: it had raised its exception, or had announced that it exits,
 * and another one, which followed, was reaped first.
 */
#include "judge/cause.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/did_you_mean.h"
#include "base/shebang.h"
#include "base/strv.h"
#include "judge/exception.h"
#include "judge/failure_order.h"
#include "judge/words.h"
#include "store/outcome.h"
#include "store/progress.h"

#include "base/banned.h"

/* Whether jobrun ended the rank: by its stop signal, or by the SIGKILL that
 * all ranks get when their runner dies. */
static bool was_rank_stopped(const struct jr_rank_outcome *rank,
                             bool runner_died)
{
    if (rank->stopped_with != 0 || rank->killed || rank->end == JR_END_NONE)
        return true;
    return runner_died && rank->end == JR_END_SIGNALED &&
           rank->signal == SIGKILL;
}

/* Whether the job made a step in this attempt. Without one, a rank that the
 * deadline's signal killed would be continued for ever; a preemption is not the
 * rank's fault. */
static bool may_signal_yield(const struct jr_outcome *run)
{
    return run->preempted || (run->progress != NULL && run->progress->job.any);
}

static enum jr_rank_state rank_state_of(const struct jr_outcome *run,
                                        const struct jr_rank_outcome *rank)
{
    const bool runner_died = jr_outcome_lost(run);
    if (rank->end == JR_END_START || rank->end == JR_END_LOST)
        return JR_RANK_FAILED;
    if (rank->pid == 0)
        return JR_RANK_NOT_STARTED;
    if (rank->lingered)
        return rank->returned ? JR_RANK_SUCCEEDED : JR_RANK_FAILED;
    if (jr_outcome_failed_mpi(rank))
        return JR_RANK_FAILED;
    if (was_rank_stopped(rank, runner_died))
        return JR_RANK_STOPPED;
    if (rank->end == JR_END_EXITED && rank->exit_code == 0)
        return JR_RANK_SUCCEEDED;
    if (jr_outcome_may_yield(rank, run->preempted) &&
        (may_signal_yield(run) || rank->end == JR_END_EXITED))
        return JR_RANK_YIELDED;
    return JR_RANK_FAILED;
}

/* The exception's time by the outcome's clock; 0 when it states none, or one
 * at which its rank was not running, or had already announced it. */
static uint64_t exception_time(const struct jr_judge *judge, uint32_t i,
                               uint64_t wall_ns)
{
    const struct jr_outcome *run = judge->outcome;
    const struct jr_rank_outcome *rank = &run->ranks[i];
    uint64_t end = rank->told_ns != 0 ? rank->told_ns : rank->ended_ns;
    wall_ns -= (uint64_t)rank->clock_offset_ns;
    if (wall_ns < run->started_wall_ns || wall_ns > INT64_MAX)
        return 0;
    uint64_t when = run->started_ns + (wall_ns - run->started_wall_ns);
    return when >= rank->started_ns && when < end ? when : 0;
}

/* Where the program that is not there was looked for, or which one was meant:
 * " in /exp", "; did you mean './train'?" */
static const char *suggest_program(struct jr_arena *arena,
                                   const struct jr_plan_rank *plan)
{
    const char *program = plan->argv[0], *slash = strrchr(program, '/');
    struct jr_buf near JR_BUF_CLEANUP = JR_BUF_INIT;
    bool found;
    if (slash == NULL) {
        const char *path =
            jr_arena_printf(arena, "%s/%s", plan->workdir, program);
        if (path != NULL && access(path, X_OK) == 0)
            return jr_arena_printf(arena, "; did you mean './%s'?", program);
        found = jr_near_program(&near, plan->workdir,
                                jr_env_get(plan->env, "PATH"), program);
    } else {
        found = jr_near_file_any(&near, plan->workdir, program);
    }
    if (found)
        return jr_arena_printf(arena, "; did you mean '%s'?", near.data);
    return slash == NULL || *program == '/'
               ? ""
               : jr_arena_printf(arena, " in %s", plan->workdir);
}

/* What is to be done about a file that is there and cannot be executed:
 * "; its lines end as on Windows: sed ...". */
static const char *suggest_change(struct jr_arena *arena,
                                  const struct jr_plan_rank *plan, int error)
{
    struct jr_buf help JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *program = plan->argv[0];
    const char *path =
        program[0] == '/'
            ? program
            : jr_arena_printf(arena, "%s/%s", plan->workdir, program);
    size_t len = strlen(program);
    if (error == EACCES && len > 3 && strcmp(program + len - 3, ".py") == 0)
        return "; or put python3 before it";
    if (error != ELIBACC || path == NULL || strchr(program, '/') == NULL)
        return "";
    const struct jr_shebang shebang = jr_shebang_read(arena, AT_FDCWD, path);
    if (!jr_shebang_help_windows(&help, &shebang, program))
        return "";
    const char *text = jr_arena_printf(arena, "; %s", help.data);
    return text == NULL ? "" : text;
}

/* "could not execute './trian': No such file or directory" */
static const char *start_error(struct jr_arena *arena,
                               const struct jr_plan_rank *plan,
                               const struct jr_rank_outcome *rank,
                               const char *more)
{
#define TEXT(name, word, text) text,
    static const char *const texts[] = {JR_STAGES(TEXT)};
#undef TEXT
    const char *cause = jr_start_reason(plan, rank);
    const char *text = texts[rank->stage];
    if (rank->stage == JR_STAGE_EXEC)
        return jr_arena_printf(
            arena, "%s '%s': %s%s", text, plan->argv[0], cause,
            rank->start_errno == ENOENT
                ? suggest_program(arena, plan)
                : suggest_change(arena, plan, rank->start_errno));
    if (rank->stage == JR_STAGE_WORKDIR)
        return jr_arena_printf(arena, "%s '%s': %s", text, plan->workdir,
                               cause);
    if (*more != '\0')
        cause = more;
    else if (rank->start_errno == 0)
        return text;
    return jr_arena_printf(arena, "%s: %s", text, cause);
}

/* Why a rank failed, in its own words or the kernel's. Returns when it raised
 * its exception; 0: it did not, or did not say. */
static uint64_t explain_failure(struct jr_judge *judge, uint32_t i)
{
    const struct jr_plan_rank *plan = jr_plan_of(judge->plan, i);
    const struct jr_rank_outcome *rank = &judge->outcome->ranks[i];
    struct jr_rank_judgement *report = &judge->report->ranks[i];
    struct jr_arena *arena = &judge->report->arena;
    struct jr_exception exception = {0};
    if (rank->end == JR_END_START) {
        report->error =
            start_error(arena, plan, rank, judge->outcome->start_text);
        return 0;
    }
    if (rank->end == JR_END_LOST) {
        if (judge->outcome->lost_text[0] != '\0')
            report->error = jr_arena_strdup(arena, judge->outcome->lost_text);
        return 0;
    }
    enum jr_exception_found found =
        jr_exception_read(&exception, arena, judge->run_fd, plan->error_path);
    report->error_foreign = found == JR_EXCEPTION_FOREIGN;
    report->error_strange =
        found == JR_EXCEPTION_READ &&
        !jr_exception_is_own(&exception, rank, judge->plan->returns);
    if (report->error_strange)
        return 0;
    if (found == JR_EXCEPTION_READ) {
        report->error = exception.what;
        report->where = exception.where;
        report->behind = exception.behind;
        report->error_file = true;
        report->lost_peer |= exception.lost_peer;
        report->unstarted = jr_exception_is_start(&exception, rank);
    }
    return exception_time(judge, i, exception.wall_ns);
}

/* Whether a rank that jobrun stopped was on its way out by then, as it said.
 * Where it is not known when it was told to stop, the others decide. */
static bool was_rank_leaving(const struct jr_rank_outcome *rank,
                             uint64_t raised_ns)
{
    uint64_t when = rank->told_ns != 0 ? rank->told_ns : raised_ns;
    return when != 0 && (rank->alive_ns == 0 || when <= rank->alive_ns);
}

/* Sort out the ranks; returns the number of candidates, of which those that
 * jobrun stopped may yet be none. */
static size_t collect_candidates(struct jr_judge *judge,
                                 struct jr_candidate *candidates)
{
    size_t count = 0;
    for (uint32_t i = 0; i < judge->outcome->count; i++) {
        const struct jr_rank_outcome *rank = &judge->outcome->ranks[i];
        struct jr_rank_judgement *report = &judge->report->ranks[i];
        report->state = rank_state_of(judge->outcome, rank);
        if (report->state != JR_RANK_FAILED && report->state != JR_RANK_STOPPED)
            continue;
        report->lost_peer = rank->lost_peer;
        uint64_t raised_ns = explain_failure(judge, i);
        if (report->state == JR_RANK_FAILED ||
            was_rank_leaving(rank, raised_ns))
            candidates[count++] = jr_order_candidate(judge, i, raised_ns);
    }
    return count;
}

/* Whether it failed by itself, or was on its way out before its stop; or, where
 * that is not known, before the first that failed by itself. */
static bool failed_by_itself(const struct jr_judge *judge,
                             const struct jr_candidate *candidate,
                             uint64_t first_ns)
{
    const struct jr_rank_outcome *rank = &judge->outcome->ranks[candidate->i];
    if (judge->report->ranks[candidate->i].state == JR_RANK_FAILED)
        return true;
    return first_ns != 0 && (rank->alive_ns != 0 || candidate->at < first_ns);
}

/* Drop the stopped ranks that are none; returns how many are left. */
static size_t drop_stopped_candidates(const struct jr_judge *judge,
                                      struct jr_candidate *candidates,
                                      size_t count)
{
    uint64_t first_ns = 0;
    for (size_t c = 0; c < count; c++)
        if (judge->report->ranks[candidates[c].i].state == JR_RANK_FAILED &&
            (first_ns == 0 || candidates[c].at < first_ns))
            first_ns = candidates[c].at;
    size_t kept = 0;
    for (size_t c = 0; c < count; c++)
        if (failed_by_itself(judge, &candidates[c], first_ns))
            candidates[kept++] = candidates[c];
    return kept;
}

/* What died in another way than by what jobrun sent it did not just stop. */
static void report_crashes(struct jr_judge *judge)
{
    struct jr_judgement *report = judge->report;
    for (size_t i = 0; report->causes_count > 0 && i < report->count; i++)
        if (report->ranks[i].state == JR_RANK_STOPPED &&
            jr_words_crashed(&judge->outcome->ranks[i]))
            report->ranks[i].state = JR_RANK_AFTER_FIRST_FAILURE;
}

void jr_cause_find(struct jr_judge *judge)
{
    struct jr_judgement *report = judge->report;
    struct jr_candidate *candidates = jr_arena_array(
        &report->arena, judge->outcome->count, sizeof *candidates);
    report->causes = jr_arena_array(&report->arena, judge->outcome->count,
                                    sizeof *report->causes);
    if (candidates == NULL || report->causes == NULL)
        return;
    size_t count = drop_stopped_candidates(
        judge, candidates, collect_candidates(judge, candidates));
    size_t together = jr_order_find(judge, candidates, count);
    for (size_t c = 0; c < count; c++) {
        bool cause = c < together;
        struct jr_rank_judgement *rank = &report->ranks[candidates[c].i];
        if (cause)
            report->causes[report->causes_count++] = candidates[c].i;
        rank->follows = cause && candidates[c].failure > candidates[0].failure;
        rank->state = cause ? JR_RANK_FAILED : JR_RANK_AFTER_FIRST_FAILURE;
    }
    report_crashes(judge);
    for (uint32_t i = 0; together > 0 && i < report->count; i++)
        report->ranks[i].early = report->ranks[i].state == JR_RANK_SUCCEEDED &&
                                 jr_order_had_ended(judge, i, candidates);
}

static uint64_t left_at_ns(const struct jr_rank_outcome *rank)
{
    return rank->leaving_ns != 0 ? rank->leaving_ns : rank->ended_ns;
}

/* Whether it left by itself without anything that it had to deliver, up to a
 * second after the loss, which gives way to that. What a rank delivered and is
 * wrong is no sign that it left too soon. */
static bool has_left(const struct jr_judge *judge, size_t i)
{
    const struct jr_judgement *report = judge->report;
    const struct jr_rank_outcome *rank = &judge->outcome->ranks[i];
    enum jr_result_error error = report->ranks[i].result_error;
    uint64_t lost_ns = judge->outcome->ranks[report->causes[0]].ended_ns;
    return report->ranks[i].state == JR_RANK_SUCCEEDED &&
           !jr_judge_yielded(judge, i) &&
           (error == JR_RESULT_MISSING || error == JR_RESULT_EMPTY ||
            error == JR_RESULT_STALE) &&
           left_at_ns(rank) < lost_ns + JR_ORDER_GIVES_WAY_NS;
}

/* The first of them; the count of ranks if there is none. */
static size_t first_that_left(const struct jr_judge *judge)
{
    const struct jr_judgement *report = judge->report;
    const struct jr_rank_outcome *ranks = judge->outcome->ranks;
    size_t first = report->count;
    for (size_t i = 0; i < report->count; i++)
        if (has_left(judge, i) &&
            (first == report->count ||
             left_at_ns(&ranks[i]) < left_at_ns(&ranks[first])))
            first = i;
    return first;
}

/* Make it the cause. Who lost a peer comes after it, or is together with it
 * where it had not surely left by then. */
static void put_first(struct jr_judgement *report, size_t left)
{
    bool surely = report->ranks[left].early;
    for (size_t c = 0; c < report->causes_count; c++) {
        struct jr_rank_judgement *lost = &report->ranks[report->causes[c]];
        lost->follows = !surely;
        if (surely)
            lost->state = JR_RANK_AFTER_FIRST_FAILURE;
    }
    if (surely)
        report->causes_count = 0;
    memmove(report->causes + 1, report->causes,
            report->causes_count * sizeof *report->causes);
    report->causes[0] = (uint32_t)left;
    report->causes_count++;
    report->ranks[left].state = JR_RANK_FAILED;
}

void jr_cause_blame_early(struct jr_judge *judge)
{
    struct jr_judgement *report = judge->report;
    if (report->causes_count == 0 ||
        !report->ranks[report->causes[0]].lost_peer)
        return;
    size_t left = first_that_left(judge);
    if (left == report->count)
        return;
    put_first(report, left);
    const struct jr_candidate first = jr_order_end(judge, (uint32_t)left);
    for (uint32_t i = 0; i < report->count; i++)
        report->ranks[i].early = report->ranks[i].early && i != left &&
                                 jr_order_had_ended(judge, i, &first);
}
