/*
 * Who was first. Every rank that failed by itself is a candidate, at the time
 * of its end as the kernel reported it, or of its exception where that was
 * earlier and lies within its life. A rank that jobrun stopped is one only
 * where its exception came before any rank's own failure: it was on its way
 * down when another one, drawn after it, was reaped first.
 */
#include "judge.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exception.h"
#include "outcome.h"
#include "run.h"
#include "strv.h"
#include "word.h"
#include "words.h"

#include "banned.h"

/* Ends that are closer than this are told as together: it is what a runner
 * needs to read a handful of exits, and less than a rank needs to notice that
 * another one is gone and to end because of it. */
static const uint64_t TOGETHER_NS = 100000;

/* Of a folder with more files, not all are compared with a name. */
enum { LOOKED_AT = 10000 };

struct candidate {
    uint32_t i;
    uint32_t order;
    uint64_t when; /* monotonic ns */
};

/* Whether a candidate cannot be told apart from the first: clocks of different
 * nodes are compared less exactly than one is read. */
static bool is_together(const struct jr_judge *judge,
                        const struct candidate *first,
                        const struct candidate *other)
{
    bool near = jr_plan_of(judge->plan, first->i)->node_rank ==
                jr_plan_of(judge->plan, other->i)->node_rank;
    uint64_t blur = near ? 0 : judge->outcome->blur_ns;
    return other->when - first->when <=
           (blur > TOGETHER_NS ? blur : TOGETHER_NS);
}

static int by_time(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->when != y->when)
        return x->when < y->when ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

/* Whether jobrun ended the rank: by its stop signal, or by the SIGKILL that
 * all ranks get when their runner dies. */
static bool was_stopped(const struct jr_rank_outcome *rank, bool runner_died)
{
    if (rank->stopped_with != 0 || rank->killed || rank->end == JR_END_NONE)
        return true;
    return runner_died && rank->end == JR_END_SIGNALED &&
           rank->signal == SIGKILL;
}

static enum jr_rank_state state_of(const struct jr_rank_outcome *rank,
                                   bool runner_died)
{
    if (rank->end == JR_END_START || rank->end == JR_END_LOST)
        return JR_RANK_FAILED;
    if (rank->pid == 0)
        return JR_RANK_NOT_STARTED;
    if (rank->lingered)
        return rank->returned ? JR_RANK_SUCCEEDED : JR_RANK_FAILED;
    if (was_stopped(rank, runner_died))
        return JR_RANK_STOPPED;
    if (rank->end == JR_END_EXITED && rank->exit_code == 0)
        return JR_RANK_SUCCEEDED;
    return JR_RANK_FAILED;
}

/* The exception's time as the outcome's clock would have told it, or the end
 * of the rank when it states none, or one outside its life. */
static uint64_t time_of(const struct jr_judge *judge, uint32_t i,
                        uint64_t wall_ns)
{
    const struct jr_outcome *run = judge->outcome;
    const struct jr_rank_outcome *rank = &run->ranks[i];
    wall_ns -= (uint64_t)rank->skew_ns;
    if (wall_ns < run->started_wall_ns || wall_ns > INT64_MAX)
        return rank->ended_ns;
    uint64_t when = run->started_ns + (wall_ns - run->started_wall_ns);
    bool alive = when >= rank->started_ns && when < rank->ended_ns;
    return alive ? when : rank->ended_ns;
}

/* A file of the folder that is called nearly so; NULL: none. */
static const char *nearest_file(struct jr_arena *arena, const char *folder,
                                const char *name)
{
    struct jr_strv names = {0};
    struct dirent *entry;
    DIR *dir = opendir(folder);
    while (dir != NULL && names.count < LOOKED_AT &&
           (entry = readdir(dir)) != NULL)
        if (entry->d_type != DT_DIR && strcmp(entry->d_name, name) != 0)
            jr_strv_push(&names, arena, jr_arena_strdup(arena, entry->d_name));
    if (dir != NULL)
        (void)closedir(dir);
    return names.count == 0 || arena->failed
               ? NULL
               : jr_word_nearest(name, (const char *const *)names.items);
}

/* Where the program that is not there was looked for, or which one was meant:
 * " in /exp", "; did you mean './train'?" */
static const char *instead(struct jr_arena *arena,
                           const struct jr_plan_rank *plan)
{
    const char *program = plan->argv[0], *slash = strrchr(program, '/');
    const char *base = *program == '/' ? "" : plan->workdir;
    if (slash == NULL) {
        const char *path = jr_arena_printf(arena, "%s/%s", base, program);
        bool here = path != NULL && access(path, X_OK) == 0;
        return here ? jr_arena_printf(arena, "; did you mean './%s'?", program)
                    : "";
    }
    int upto = (int)(slash + 1 - program);
    const char *folder = jr_arena_printf(arena, "%s/%.*s", base, upto, program);
    const char *near =
        folder == NULL ? NULL : nearest_file(arena, folder, slash + 1);
    if (near != NULL)
        return jr_arena_printf(arena, "; did you mean '%.*s%s'?", upto, program,
                               near);
    return *base == '\0' ? "" : jr_arena_printf(arena, " in %s", base);
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
            rank->start_errno == ENOENT ? instead(arena, plan) : "");
    if (rank->stage == JR_STAGE_WORKDIR)
        return jr_arena_printf(arena, "%s '%s': %s", text, plan->workdir,
                               cause);
    if (*more != '\0')
        cause = more;
    else if (rank->start_errno == 0)
        return text;
    return jr_arena_printf(arena, "%s: %s", text, cause);
}

/* Why a rank failed, in its own words or the kernel's; returns when. */
static uint64_t explain(struct jr_judge *judge, uint32_t i)
{
    const struct jr_plan_rank *plan = jr_plan_of(judge->plan, i);
    const struct jr_rank_outcome *rank = &judge->outcome->ranks[i];
    struct jr_rank_report *report = &judge->report->ranks[i];
    struct jr_arena *arena = &judge->report->arena;
    struct jr_exception exception = {0};
    if (rank->end == JR_END_START) {
        report->error =
            start_error(arena, plan, rank, judge->outcome->start_text);
        return rank->ended_ns;
    }
    if (rank->end == JR_END_LOST) {
        if (judge->outcome->lost_text[0] != '\0')
            report->error = jr_arena_strdup(arena, judge->outcome->lost_text);
        return rank->ended_ns;
    }
    enum jr_exception_found found =
        jr_exception_read(&exception, arena, judge->run_fd, plan->error_path);
    report->error_foreign = found == JR_EXCEPTION_FOREIGN;
    report->error_strange =
        found == JR_EXCEPTION_READ &&
        !jr_exception_is_own(&exception, rank, judge->plan->returns);
    if (report->error_strange)
        return rank->ended_ns;
    if (found == JR_EXCEPTION_READ) {
        report->error = exception.what;
        report->where = exception.where;
        report->behind = exception.behind;
        report->error_file = true;
        report->unstarted = jr_exception_is_start(&exception, rank);
    }
    return time_of(judge, i, exception.wall_ns);
}

/* Sort out the ranks; returns the number of candidates, unsorted, of which
 * those that jobrun stopped may yet be none. */
static size_t nominate(struct jr_judge *judge, struct candidate *candidates)
{
    size_t count = 0;
    for (uint32_t i = 0; i < judge->outcome->count; i++) {
        const struct jr_rank_outcome *rank = &judge->outcome->ranks[i];
        enum jr_rank_state state =
            state_of(rank, jr_outcome_lost(judge->outcome));
        judge->report->ranks[i].state = state;
        if (state != JR_RANK_FAILED && state != JR_RANK_STOPPED)
            continue;
        uint64_t when = explain(judge, i);
        bool own = state == JR_RANK_FAILED;
        if (own || when < rank->ended_ns)
            candidates[count++] = (struct candidate){
                i, rank->order == 0 ? UINT32_MAX : rank->order, when};
    }
    return count;
}

/* Drop the stopped ranks whose exception was not before the first rank that
 * failed by itself; returns how many are left. */
static size_t elect(const struct jr_judge *judge, struct candidate *candidates,
                    size_t count)
{
    uint64_t first = 0;
    for (size_t c = 0; c < count; c++)
        if (judge->report->ranks[candidates[c].i].state == JR_RANK_FAILED &&
            (first == 0 || candidates[c].when < first))
            first = candidates[c].when;
    size_t kept = 0;
    for (size_t c = 0; c < count; c++)
        if (judge->report->ranks[candidates[c].i].state == JR_RANK_FAILED ||
            candidates[c].when < first)
            candidates[kept++] = candidates[c];
    return kept;
}

void jr_cause_find(struct jr_judge *judge)
{
    struct jr_report *report = judge->report;
    struct candidate *candidates = jr_arena_array(
        &report->arena, judge->outcome->count, sizeof *candidates);
    report->causes = jr_arena_array(&report->arena, judge->outcome->count,
                                    sizeof *report->causes);
    if (candidates == NULL || report->causes == NULL)
        return;
    size_t count = elect(judge, candidates, nominate(judge, candidates));
    qsort(candidates, count, sizeof *candidates, by_time);
    for (size_t c = 0; c < count; c++) {
        bool cause = is_together(judge, &candidates[0], &candidates[c]);
        struct jr_rank_report *rank = &report->ranks[candidates[c].i];
        if (cause)
            report->causes[report->causes_count++] = candidates[c].i;
        rank->state = cause ? JR_RANK_FAILED : JR_RANK_AFTER_FIRST_FAILURE;
    }
}
