/* results.json as a whole, and what the root cause of a run is. */
#include "record/results_json.h"

#include <stdlib.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "base/names.h"
#include "judge/hang_report.h"
#include "judge/judge.h"
#include "judge/judgement.h"
#include "judge/words.h"
#include "record/results_cause.h"
#include "record/results_rank.h"
#include "record/results_run.h"
#include "record/results_table.h"
#include "store/outcome.h"

#include "base/banned.h"

enum { PIECE = 1 << 16 };

/* What the search for the root cause works with. */
struct search {
    const struct jr_results_run *run;
    struct jr_results_cause *cause;
    struct utsname here;
    struct jr_buf message;
    uint32_t *together; /* room for all ranks */
};

static enum jr_cause_kind cause_kind_of(const struct jr_results_run *run, size_t i)
{
    const struct jr_rank_outcome *rank = &run->outcome->ranks[i];
    if (rank->end == JR_END_START || run->report->ranks[i].unstarted)
        return JR_CAUSE_START;
    if (rank->end == JR_END_LOST)
        return JR_CAUSE_LOST_NODE;
    if (rank->oom)
        return JR_CAUSE_OOM;
    if (rank->mpi == JR_MPI_PART_ABORTED)
        return JR_CAUSE_MPI_ABORT;
    if (jr_outcome_failed_mpi(rank))
        return JR_CAUSE_MPI;
    if (jr_judgement_left(&run->report->ranks[i]))
        return JR_CAUSE_RESULT;
    bool died = rank->end == JR_END_SIGNALED && jr_words_cut_short(rank) == 0;
    return died ? JR_CAUSE_SIGNAL : JR_CAUSE_EXIT;
}

static void add_cause_together(struct search *search, size_t i)
{
    if (search->together != NULL)
        search->together[search->cause->together_count++] = jr_plan_of(search->run->plan, i)->rank;
}

/* A cause that is not a rank: jobrun's own end, what kept it from beginning, or time. */
static void cause_without_rank(struct search *search)
{
    const struct jr_outcome *outcome = search->run->outcome;
    const char *error = search->run->report->error;
    bool stopped = outcome->stop_signal != 0;
    char name[JR_SIGNAL_NAME];
    if (error != NULL) {
        search->cause->kind = JR_CAUSE_START;
        jr_buf_str(&search->message, error);
        return;
    }
    if (!stopped && !jr_outcome_lost(outcome))
        return;
    search->cause->kind = JR_CAUSE_SIGNAL;
    search->cause->signal = stopped ? outcome->stop_signal : jr_outcome_lost_by(outcome);
    jr_signal_name(name, search->cause->signal);
    if (stopped)
        jr_buf_printf(&search->message, "jobrun was stopped by %s%s", name,
                      jr_outcome_lost(outcome) ? ", and then " : "");
    jr_words_lost(&search->message, outcome);
}

static void name_rank(struct search *search, size_t i)
{
    const struct jr_plan *plan = search->run->plan;
    const struct jr_plan_rank *rank = jr_plan_of(plan, i);
    search->cause->rank = rank->rank;
    search->cause->host = jr_words_host(plan, rank->node_rank, &search->here);
}

/* A rank, in its own words, else by how it ended. */
static void set_rank(struct search *search, size_t i)
{
    const struct jr_rank_judgement *report = &search->run->report->ranks[i];
    const struct jr_rank_outcome *end = &search->run->outcome->ranks[i];
    const char *own = report->reason != NULL ? report->reason : report->error;
    name_rank(search, i);
    if (end->mpi == JR_MPI_PART_ABORTED && end->mpi_code >= 0)
        search->cause->exit_code = end->mpi_code;
    else if (end->mpi == JR_MPI_PART_ABORTED || end->mpi == JR_MPI_PART_FAILED)
        search->cause->exit_code = jr_words_exit_code(end);
    else if (end->end == JR_END_EXITED)
        search->cause->exit_code = end->exit_code;
    else if (jr_words_cut_short(end) != 0)
        search->cause->exit_code = end->told_code;
    else if (end->end == JR_END_SIGNALED)
        search->cause->signal = end->signal;
    if (own != NULL)
        jr_buf_str(&search->message, own);
    else
        jr_words_rank_end(&search->message, end);
}

static void cause_incomplete(struct search *search)
{
    const struct jr_judgement *report = search->run->report;
    if (report->singletons) {
        search->cause->kind = JR_CAUSE_SINGLETONS;
        jr_buf_str(&search->message, report->error);
        return;
    }
    for (size_t i = 0; i < report->count; i++) {
        if (report->ranks[i].state != JR_RANK_INCOMPLETE)
            continue;
        if (search->cause->kind == JR_CAUSE_NONE)
            set_rank(search, i);
        else
            add_cause_together(search, i);
        search->cause->kind = JR_CAUSE_RESULT;
    }
    if (search->cause->kind == JR_CAUSE_NONE && report->error != NULL) {
        search->cause->kind = JR_CAUSE_RESULT;
        jr_buf_str(&search->message, report->error);
    }
}

/* A run that met one of its timeouts, with who differs from the others. */
static void cause_of_time(struct search *search)
{
    const struct jr_judgement *report = search->run->report;
    search->cause->kind = report->status == JR_RUN_HUNG ? JR_CAUSE_HANG : JR_CAUSE_TIMEOUT;
    if (report->odd_count > 0)
        name_rank(search, report->odd[0]);
    for (size_t n = 1; n < report->odd_count; n++)
        add_cause_together(search, report->odd[n]);
    jr_hang_message(&search->message, report, search->run->plan);
}

static void find_cause(struct search *search)
{
    const struct jr_judgement *report = search->run->report;
    bool timed = report->status == JR_RUN_HUNG || report->status == JR_RUN_TIMED_OUT;
    if (report->causes_count > 0) {
        set_rank(search, report->causes[0]);
        search->cause->kind = cause_kind_of(search->run, report->causes[0]);
        for (size_t c = 1; c < report->causes_count; c++)
            add_cause_together(search, report->causes[c]);
    } else if (timed && report->error == NULL) {
        cause_of_time(search);
    } else if (report->status == JR_RUN_INCOMPLETE) {
        cause_incomplete(search);
    } else {
        cause_without_rank(search);
    }
}

/* Why the run ended, and not only its last attempt. */
static void find_run_cause(struct search *search)
{
    const struct jr_stall *stall = &search->run->report->stall;
    JR_BUF_CLEANUP struct jr_buf last = JR_BUF_INIT;
    find_cause(search);
    if (stall->attempts == 0)
        return;
    search->cause->kind = JR_CAUSE_STALL;
    jr_buf_add(&last, search->message.data, search->message.len);
    jr_buf_clear(&search->message);
    jr_words_stall(&search->message, stall);
    if (last.len > 0)
        jr_buf_printf(&search->message, "; the last: %s", last.data);
    search->message.failed |= last.failed;
}

void jr_results_find_cause(struct jr_buf *out, const struct jr_results_run *run)
{
    JR_FREE uint32_t *together = calloc(run->report->count + 1, sizeof *together);
    struct jr_results_cause cause = {.rank = -1, .exit_code = -1, .together = together};
    struct search search = {.run = run, .cause = &cause, .together = together};
    (void)uname(&search.here);
    find_run_cause(&search);
    cause.message = search.message.data;
    jr_results_put_cause(out, &cause);
    out->failed |= search.message.failed || together == NULL;
    jr_buf_release(&search.message);
}

/* Let the drain have what there is, once that is enough. False: it ended. */
static bool pass_to_drain(struct jr_buf *out, const struct jr_drain *drain, size_t enough)
{
    return drain == NULL || out->failed || out->len < enough || drain->take(drain->data, out) == 0;
}

static struct jr_results_rank results_rank_of(const struct jr_results_run *run,
                                              const struct utsname *here, size_t i)
{
    const struct jr_plan_rank *rank = jr_plan_of(run->plan, i);
    return (struct jr_results_rank){
        .plan = rank,
        .outcome = &run->outcome->ranks[i],
        .report = &run->report->ranks[i],
        .host = jr_words_host(run->plan, rank->node_rank, here),
        .progress = run->outcome->progress,
        .i = i,
    };
}

void jr_judgement_json(struct jr_buf *out, const struct jr_judgement *report,
                       const struct jr_plan *plan, const struct jr_outcome *outcome,
                       const struct jr_drain *drain)
{
    const struct jr_results_run run = {report, plan, outcome};
    struct utsname here;
    (void)uname(&here);
    jr_results_put_run(out, &run);
    jr_buf_str(out, ",\n  ");
    jr_json_key(out, "ranks");
    jr_buf_char(out, '[');
    for (size_t i = 0; i < report->count; i++) {
        struct jr_results_rank rank = results_rank_of(&run, &here, i);
        jr_buf_str(out, i == 0 ? "\n    " : ",\n    ");
        jr_results_put_rank(out, &rank);
        if (!pass_to_drain(out, drain, PIECE))
            return;
    }
    jr_buf_str(out, report->count == 0 ? "]\n}\n" : "\n  ]\n}\n");
    (void)pass_to_drain(out, drain, 0);
}

void jr_judgement_json_cause(struct jr_buf *out, const struct jr_judgement *report,
                             const struct jr_plan *plan, const struct jr_outcome *outcome)
{
    const struct jr_results_run run = {report, plan, outcome};
    jr_results_find_cause(out, &run);
}
