/*
 * How each rank ended, and the cause. Every rank that failed by itself is a candidate for it. A
 * rank that jobrun stopped is one only where it was exiting before the stop: it had raised its
 * exception, or had announced that it exits, and another one, which followed, was reaped first. Its
 * functions are in internal.h.
 */
#include "judge/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/did_you_mean.h"
#include "base/shell_words.h"
#include "base/strv.h"
#include "judge/exception.h"
#include "judge/words.h"
#include "plan/planner.h"
#include "store/outcome.h"
#include "store/progress.h"

#include "base/banned.h"

/* So long before a failure a rank may have left that it is the cause of. */
#define LEFT_NS UINT64_C(1000000000)

/* Whether jobrun ended the rank: by its stop signal, or by the SIGKILL that all ranks get when
 * their runner dies. */
static bool was_rank_stopped(const struct jr_rank_outcome *rank, bool runner_died)
{
    if (rank->stopped_with != 0 || rank->killed || rank->end == JR_END_NONE)
        return true;
    return runner_died && rank->end == JR_END_SIGNALED && rank->signal == SIGKILL;
}

/* Whether the job made a step in this attempt. Without one, a rank that the deadline's signal
 * killed would be continued for ever; a preemption is not the rank's fault. */
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

/* The exception's time by the outcome's clock; 0 when it states none, or one at which its rank was
 * not running, or had already announced it. */
static uint64_t exception_time(const struct jr_judge *judge, uint32_t i, uint64_t wall_ns)
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
static const char *suggest_program(struct jr_arena *arena, const struct jr_plan_rank *plan)
{
    const char *program = plan->argv[0], *slash = strrchr(program, '/');
    struct jr_buf near JR_BUF_CLEANUP = JR_BUF_INIT;
    bool found;
    if (slash == NULL) {
        const char *path = jr_arena_printf(arena, "%s/%s", plan->workdir, program);
        if (path != NULL && access(path, X_OK) == 0)
            return jr_arena_printf(arena, "; did you mean './%s'?", program);
        found = jr_near_program(&near, plan->workdir, jr_env_get(plan->env, "PATH"), program);
    } else {
        found = jr_near_file_any(&near, plan->workdir, program);
    }
    if (found)
        return jr_arena_printf(arena, "; did you mean '%s'?", near.data);
    return slash == NULL || *program == '/' ? "" : jr_arena_printf(arena, " in %s", plan->workdir);
}

/* What is to be done about a file that is there and cannot be executed:
 * "; its lines end as on Windows: sed ...". */
static const char *suggest_change(struct jr_arena *arena, const struct jr_plan_rank *plan,
                                  int error)
{
    struct jr_buf help JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *program = plan->argv[0];
    const char *path =
        program[0] == '/' ? program : jr_arena_printf(arena, "%s/%s", plan->workdir, program);
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
static const char *start_error(struct jr_arena *arena, const struct jr_plan_rank *plan,
                               const struct jr_rank_outcome *rank, const char *more)
{
#define TEXT(name, word, text) text,
    static const char *const texts[] = {JR_STAGES(TEXT)};
#undef TEXT
    const char *cause = jr_start_reason(plan, rank);
    const char *text = texts[rank->stage];
    if (rank->stage == JR_STAGE_EXEC)
        return jr_arena_printf(arena, "%s '%s': %s%s", text, plan->argv[0], cause,
                               rank->start_errno == ENOENT
                                   ? suggest_program(arena, plan)
                                   : suggest_change(arena, plan, rank->start_errno));
    if (rank->stage == JR_STAGE_WORKDIR)
        return jr_arena_printf(arena, "%s '%s': %s", text, plan->workdir, cause);
    if (*more != '\0')
        cause = more;
    else if (rank->start_errno == 0)
        return text;
    return jr_arena_printf(arena, "%s: %s", text, cause);
}

/* Why a rank failed, in its own words or the kernel's. Returns when it raised its exception; 0: it
 * did not, or did not say. */
static uint64_t explain_failure(struct jr_judge *judge, uint32_t i)
{
    const struct jr_plan_rank *plan = jr_plan_of(judge->plan, i);
    const struct jr_rank_outcome *rank = &judge->outcome->ranks[i];
    struct jr_rank_judgement *report = &judge->report->ranks[i];
    struct jr_arena *arena = &judge->report->arena;
    struct jr_exception exception = {0};
    if (rank->end == JR_END_START) {
        struct jr_plan_rank whole = *plan;
        if (whole.env == NULL) /* where its PATH is */
            whole = jr_plan_rank_at(judge->plan, plan->rank, arena);
        report->error = start_error(arena, &whole, rank, judge->outcome->start_text);
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
        found == JR_EXCEPTION_READ && !jr_exception_is_own(&exception, rank, judge->plan->returns);
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

void jr_cause_sort(struct jr_judge *judge)
{
    judge->candidates =
        jr_arena_array(&judge->report->arena, judge->outcome->count, sizeof *judge->candidates);
    if (judge->candidates == NULL)
        return;
    for (uint32_t i = 0; i < judge->outcome->count; i++) {
        const struct jr_rank_outcome *rank = &judge->outcome->ranks[i];
        struct jr_rank_judgement *report = &judge->report->ranks[i];
        report->state = rank_state_of(judge->outcome, rank);
        if (report->state != JR_RANK_FAILED && report->state != JR_RANK_STOPPED)
            continue;
        report->lost_peer = rank->lost_peer;
        /* One that jobrun stopped may have been on its way out by then, as it said. Where it is not
         * known when it was told to stop, the others decide. */
        uint64_t raised_ns = explain_failure(judge, i);
        uint64_t when = rank->told_ns != 0 ? rank->told_ns : raised_ns;
        bool leaving = when != 0 && (rank->alive_ns == 0 || when <= rank->alive_ns);
        if (report->state == JR_RANK_FAILED || leaving)
            judge->candidates[judge->candidates_count++] = jr_order_candidate(judge, i, raised_ns);
    }
}

/* Drop the stopped ranks that are none: where no time of their stop is known, those that were not
 * before the first that failed by itself. */
static void drop_stopped_candidates(struct jr_judge *judge)
{
    uint64_t first_ns = UINT64_MAX;
    size_t kept = 0;
    bool any = false;
    for (size_t c = 0; c < judge->candidates_count; c++) {
        const struct jr_candidate *candidate = &judge->candidates[c];
        if (judge->report->ranks[candidate->i].state != JR_RANK_FAILED)
            continue;
        any = true;
        if (candidate->until < first_ns)
            first_ns = candidate->until;
    }
    for (size_t c = 0; any && c < judge->candidates_count; c++) {
        const struct jr_candidate *candidate = &judge->candidates[c];
        if (judge->report->ranks[candidate->i].state == JR_RANK_FAILED ||
            judge->outcome->ranks[candidate->i].alive_ns != 0 || candidate->until < first_ns)
            judge->candidates[kept++] = *candidate;
    }
    judge->candidates_count = kept;
}

/* Those that left without their result may be why others failed: up to a second later, or whenever
 * who failed had lost a peer. What a rank delivered and is wrong is no sign that it left too
 * soon. */
static void add_leavers(struct jr_judge *judge)
{
    const struct jr_candidate first = *jr_order_first(judge->candidates, judge->candidates_count);
    for (uint32_t i = 0; i < judge->report->count; i++) {
        enum jr_result_error error = judge->report->ranks[i].result_error;
        if (judge->report->ranks[i].state != JR_RANK_SUCCEEDED || jr_judge_yielded(judge, i) ||
            (error != JR_RESULT_MISSING && error != JR_RESULT_EMPTY && error != JR_RESULT_STALE))
            continue;
        const struct jr_candidate left = jr_order_end(judge, i);
        if (first.failure == JR_FAILURE_LOST_PEER || left.until + LEFT_NS >= first.from)
            judge->candidates[judge->candidates_count++] = left;
    }
}

void jr_cause_find(struct jr_judge *judge)
{
    struct jr_judgement *report = judge->report;
    struct jr_candidate *candidates = judge->candidates;
    report->causes = jr_arena_array(&report->arena, judge->outcome->count, sizeof *report->causes);
    drop_stopped_candidates(judge);
    if (judge->candidates_count == 0 || report->causes == NULL)
        return;
    add_leavers(judge);
    size_t count = judge->candidates_count;
    size_t together = jr_order_find(judge, candidates, count);
    for (size_t c = 0; c < count; c++) {
        bool cause = c < together;
        struct jr_rank_judgement *rank = &report->ranks[candidates[c].i];
        if (cause)
            report->causes[report->causes_count++] = candidates[c].i;
        rank->follows = cause && candidates[c].failure > candidates[0].failure;
        if (cause)
            rank->state = JR_RANK_FAILED;
        else if (candidates[c].failure != JR_FAILURE_LEFT)
            rank->state = JR_RANK_AFTER_FIRST_FAILURE;
    }
    /* What died in another way than by what jobrun sent it did not just stop. */
    for (size_t i = 0; i < report->count; i++)
        if (report->ranks[i].state == JR_RANK_STOPPED &&
            jr_words_crashed(&judge->outcome->ranks[i]))
            report->ranks[i].state = JR_RANK_AFTER_FIRST_FAILURE;
    struct jr_candidate first = candidates[0];
    /* Who leaves closes its connections before it ends. */
    if (first.failure == JR_FAILURE_LOST_PEER)
        first.from = judge->outcome->ranks[first.i].ended_ns;
    for (uint32_t i = 0; i < report->count; i++) {
        const struct jr_candidate end = jr_order_end(judge, i);
        report->ranks[i].early =
            report->ranks[i].state == JR_RANK_SUCCEEDED && jr_order_before(judge, &end, &first);
    }
}
