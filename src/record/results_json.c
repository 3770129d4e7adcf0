/*
 * results.json, key by key: rows say how each is written from a judged run, how it is read back
 * into one, how it is joined over nodes, and what it may be. What a rank's process did is in
 * store/outcome_codec.c.
 */
#include "record/results_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json_shape.h"
#include "base/names.h"
#include "base/strv.h"
#include "judge/hang_report.h"
#include "judge/judge.h"
#include "judge/restart.h"
#include "judge/result_checks.h"
#include "judge/words.h"
#include "record/internal.h"
#include "store/outcome.h"
#include "store/outcome_codec.h"
#include "store/progress.h"

#include "base/banned.h"

/* No run has more ranks, so none has more nodes or a longer axis. */
enum { FORMAT_VERSION = 1, EXIT_CODES = 256, MOST_RANKS = 1 << 20, PIECE = 1 << 16 };

#define MS           UINT64_C(1000000) /* in nanoseconds */
#define COUNT(array) (sizeof(array) / sizeof *(array))

#define WORD(name, word) word,
static const char *const run_statuses[] = {JR_RUN_STATUSES(WORD)};
static const char *const run_timeouts[] = {JR_RUN_TIMEOUTS(WORD)};
static const char *const rank_states[] = {JR_RANK_STATES(WORD)};
static const char *const result_errors[] = {JR_RESULT_ERRORS(WORD)};
static const char *const cause_kinds[] = {JR_CAUSE_KINDS(WORD)};

/* The shapes of most values; of an enum whose 0 is nothing, the words after that. */
#define SHAPE(...)                                                                                 \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define AS(schema)          SHAPE(.text = (schema))
#define OR_NULL(schema)     SHAPE(.text = (schema), .null = true)
#define OR_NONE(schema)     SHAPE(.text = (schema), .optional = true)
#define AS_WORDS(list)      SHAPE(.words = (list), .words_count = COUNT(list))
#define WORDS_OR_NULL(list) SHAPE(.words = (list), .words_count = COUNT(list), .null = true)
#define WORDS_AFTER_0(list) .words = (list) + 1, .words_count = COUNT(list) - 1
#define AS_PATH             SHAPE(.text = JR_SHAPE_TEXT, .null = true, .path = true)

/* A judged run, from which the keys are written. */
struct judged {
    const struct jr_judgement *report;
    const struct jr_plan *plan;
    const struct jr_outcome *outcome;
    struct utsname here;
};

/* A number below `end`; 0 if it is not one. What is counted up to, or used as an index, comes from
 * here: a file may say anything. */
static uint32_t number_below(const json_t *value, uint32_t end)
{
    json_int_t number = json_integer_value(value);
    return number >= 0 && number < (json_int_t)end ? (uint32_t)number : 0;
}

struct jr_strv jr_results_texts(struct jr_arena *arena, const json_t *list)
{
    struct jr_strv texts = {0};
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (text != NULL)
            jr_strv_push(&texts, arena, jr_arena_strdup(arena, text));
    }
    return texts;
}

static json_t *step_json(bool stepped, int64_t step)
{
    return stepped ? json_integer(step) : json_null();
}

/* The root cause. */

static enum jr_cause_kind cause_kind_of(const struct judged *run, size_t i)
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

/* A cause that is not a rank: jobrun's own end, what kept it from beginning, or time. */
static void cause_without_rank(struct jr_results_cause *cause, struct jr_buf *message,
                               const struct judged *run)
{
    const struct jr_outcome *outcome = run->outcome;
    bool stopped = outcome->stop_signal != 0;
    char name[JR_SIGNAL_NAME];
    if (run->report->error != NULL) {
        cause->kind = JR_CAUSE_START;
        jr_buf_str(message, run->report->error);
        return;
    }
    if (!stopped && !jr_outcome_lost(outcome))
        return;
    cause->kind = JR_CAUSE_SIGNAL;
    cause->signal = stopped ? outcome->stop_signal : jr_outcome_lost_by(outcome);
    jr_signal_name(name, cause->signal);
    if (stopped)
        jr_buf_printf(message, "jobrun was stopped by %s%s", name,
                      jr_outcome_lost(outcome) ? ", and then " : "");
    jr_words_lost(message, outcome);
}

static void cause_name_rank(struct jr_results_cause *cause, const struct judged *run, size_t i)
{
    const struct jr_plan_rank *rank = jr_plan_of(run->plan, i);
    cause->rank = rank->rank;
    cause->host = jr_words_host(run->plan, rank->node_rank, &run->here);
}

/* A rank, in its own words, else by how it ended. */
static void cause_set_rank(struct jr_results_cause *cause, struct jr_buf *message,
                           const struct judged *run, size_t i)
{
    const struct jr_rank_judgement *report = &run->report->ranks[i];
    const struct jr_rank_outcome *end = &run->outcome->ranks[i];
    const char *own = report->reason != NULL ? report->reason : report->error;
    cause_name_rank(cause, run, i);
    if (end->mpi == JR_MPI_PART_ABORTED && end->mpi_code >= 0)
        cause->exit_code = end->mpi_code;
    else if (end->mpi == JR_MPI_PART_ABORTED || end->mpi == JR_MPI_PART_FAILED)
        cause->exit_code = jr_words_exit_code(end);
    else if (end->end == JR_END_EXITED)
        cause->exit_code = end->exit_code;
    else if (jr_words_cut_short(end) != 0)
        cause->exit_code = end->told_code;
    else if (end->end == JR_END_SIGNALED)
        cause->signal = end->signal;
    if (own != NULL)
        jr_buf_str(message, own);
    else
        jr_words_rank_end(message, end);
}

static void cause_incomplete(struct jr_results_cause *cause, struct jr_buf *message,
                             const struct judged *run, uint32_t *together)
{
    const struct jr_judgement *report = run->report;
    if (report->singletons) {
        cause->kind = JR_CAUSE_SINGLETONS;
        jr_buf_str(message, report->error);
        return;
    }
    for (size_t i = 0; i < report->count; i++) {
        if (report->ranks[i].state != JR_RANK_INCOMPLETE)
            continue;
        if (cause->kind == JR_CAUSE_NONE)
            cause_set_rank(cause, message, run, i);
        else
            together[cause->together_count++] = jr_plan_of(run->plan, i)->rank;
        cause->kind = JR_CAUSE_RESULT;
    }
    if (cause->kind == JR_CAUSE_NONE && report->error != NULL) {
        cause->kind = JR_CAUSE_RESULT;
        jr_buf_str(message, report->error);
    }
}

/* Why the run ended, and not only its last attempt. `together` has room for all ranks. */
static void find_cause(struct jr_results_cause *cause, struct jr_buf *message,
                       const struct judged *run, uint32_t *together)
{
    const struct jr_judgement *report = run->report;
    bool timed = report->status == JR_RUN_HUNG || report->status == JR_RUN_TIMED_OUT;
    cause->together = together;
    if (report->causes_count > 0) {
        cause_set_rank(cause, message, run, report->causes[0]);
        cause->kind = cause_kind_of(run, report->causes[0]);
        for (size_t c = 1; c < report->causes_count; c++)
            together[cause->together_count++] = jr_plan_of(run->plan, report->causes[c])->rank;
    } else if (timed && report->error == NULL) { /* with who differs from the others */
        cause->kind = report->status == JR_RUN_HUNG ? JR_CAUSE_HANG : JR_CAUSE_TIMEOUT;
        if (report->odd_count > 0)
            cause_name_rank(cause, run, report->odd[0]);
        for (size_t n = 1; n < report->odd_count; n++)
            together[cause->together_count++] = jr_plan_of(run->plan, report->odd[n])->rank;
        jr_hang_message(message, report, run->plan);
    } else if (report->status == JR_RUN_INCOMPLETE) {
        cause_incomplete(cause, message, run, together);
    } else {
        cause_without_rank(cause, message, run);
    }
    if (report->stall.attempts == 0)
        return;
    JR_BUF_CLEANUP struct jr_buf last = JR_BUF_INIT;
    cause->kind = JR_CAUSE_STALL;
    jr_buf_add(&last, message->data, message->len);
    jr_buf_clear(message);
    jr_words_stall(message, &report->stall);
    if (last.len > 0)
        jr_buf_printf(message, "; the last: %s", last.data);
    message->failed |= last.failed;
}

json_t *jr_results_cause_json(const struct jr_results_cause *cause)
{
    char name[JR_SIGNAL_NAME];
    if (cause->kind == JR_CAUSE_NONE)
        return json_null();
    json_t *object = json_object(), *together = json_array();
    if (cause->signal != 0)
        jr_signal_name(name, cause->signal);
    for (size_t i = 0; i < cause->together_count; i++)
        jr_json_append(together, json_integer(cause->together[i]));
    jr_json_set(object, "rank", step_json(cause->rank >= 0, cause->rank));
    jr_json_set_str(object, "host", cause->host);
    jr_json_set_str(object, "kind", jr_cause_kind_word(cause->kind));
    jr_json_set(object, "exit_code", step_json(cause->exit_code >= 0, cause->exit_code));
    jr_json_set_str(object, "signal", cause->signal == 0 ? NULL : name);
    jr_json_set_str(object, "message", cause->message);
    jr_json_set(object, "together", together);
    return object;
}

void jr_results_cause_read(struct jr_results_cause *ret, struct jr_arena *arena,
                           const json_t *object)
{
    const json_t *rank = json_object_get(object, "rank"), *together = NULL;
    const json_t *code = json_object_get(object, "exit_code");
    const char *kind = jr_json_get_str(object, "kind"), *sig = jr_json_get_str(object, "signal");
    together = json_object_get(object, "together");
    size_t count = json_array_size(together);
    uint32_t *ranks = jr_arena_array(arena, count, sizeof *ranks);
    *ret = (struct jr_results_cause){
        .rank = json_is_integer(rank) ? json_integer_value(rank) : -1,
        .host = jr_json_get_str(object, "host"),
        .exit_code = json_is_integer(code) ? (int32_t)json_integer_value(code) : -1,
        .signal = sig == NULL ? 0 : jr_signal_of(sig),
        .message = jr_json_get_str(object, "message"),
        .together = ranks,
        .together_count = ranks == NULL ? 0 : count,
    };
    if (kind != NULL)
        (void)jr_cause_kind_of(kind, &ret->kind);
    for (size_t i = 0; i < ret->together_count; i++)
        ranks[i] = (uint32_t)json_integer_value(json_array_get(together, i));
}

static json_t *cause_value(const struct judged *run)
{
    JR_FREE uint32_t *together = calloc(run->report->count + 1, sizeof *together);
    struct jr_results_cause cause = {.rank = -1, .exit_code = -1};
    JR_BUF_CLEANUP struct jr_buf message = JR_BUF_INIT;
    if (together == NULL)
        return NULL;
    find_cause(&cause, &message, run, together);
    cause.message = message.data;
    return message.failed ? NULL : jr_results_cause_json(&cause);
}

/* The run. */

static json_t *version_value(const struct judged *run)
{
    (void)run;
    return json_integer(FORMAT_VERSION);
}

static json_t *status_value(const struct judged *run)
{
    return jr_json_str(jr_run_status_word(run->report->status));
}

/* A later build may know more words: what is not known is no success. */
static void get_status(struct jr_loaded_run *to, const json_t *value)
{
    const char *word = json_string_value(value);
    struct jr_judgement *report = &to->report;
    if (word != NULL && jr_run_status_of(word, &report->status))
        return;
    report->status = JR_RUN_FAILED;
    report->error = word == NULL ? "its results.json states no status"
                                 : jr_arena_printf(&to->arena,
                                                   "its results.json has the status '%s', which "
                                                   "this version of jobrun does not know",
                                                   word);
}

static json_t *exit_code_value(const struct judged *run)
{
    return json_integer(run->report->exit_code);
}

static void get_exit_code(struct jr_loaded_run *to, const json_t *value)
{
    to->report.exit_code = (int)number_below(value, EXIT_CODES);
    if (to->report.status == JR_RUN_STOPPED)
        to->outcome.stop_signal = to->report.exit_code - 128;
}

static json_t *started_value(const struct judged *run)
{
    return json_real(jr_words_wall(jr_judgement_began_wall_ns(run->report, run->outcome)));
}

static void get_started(struct jr_loaded_run *to, const json_t *value)
{
    to->outcome.started_wall_ns = jr_clock_ns_of(json_number_value(value));
}

static json_t *seconds_value(const struct judged *run)
{
    uint64_t took_ns = run->outcome->ended_ns - jr_judgement_began_ns(run->report, run->outcome);
    return json_real((double)(took_ns / 1000) / 1e6);
}

static void get_seconds(struct jr_loaded_run *to, const json_t *value)
{
    to->outcome.ended_ns = jr_clock_ns_of(json_number_value(value));
}

/* The ranks have it, too, and are read. */
static json_t *ended_value(const struct judged *run)
{
    json_int_t ended = 0;
    for (uint32_t i = 0; i < run->outcome->count; i++)
        ended += run->outcome->ranks[i].left_running;
    return json_integer(ended);
}

static json_t *timeout_value(const struct judged *run)
{
    enum jr_timeout by = run->outcome->timed_out_by;
    return jr_json_str(by == JR_TIMEOUT_NONE ? NULL : run_timeouts[by - 1]);
}

static void get_timeout(struct jr_loaded_run *to, const json_t *value)
{
    const char *word = json_string_value(value);
    for (size_t by = 1; word != NULL && by <= COUNT(run_timeouts); by++)
        if (strcmp(run_timeouts[by - 1], word) == 0)
            to->outcome.timed_out_by = (enum jr_timeout)by;
}

/* The limit, in milliseconds; NULL: there is none. */
static uint64_t *limit_for_timeout(struct jr_timeouts *limits, enum jr_timeout by)
{
    switch (by) {
    case JR_TIMEOUT_START:
        return &limits->start_ms;
    case JR_TIMEOUT_RUN:
        return &limits->run_ms;
    case JR_TIMEOUT_SILENCE:
        return &limits->silence_ms;
    case JR_TIMEOUT_AFTER_FIRST_EXIT:
        return &limits->after_first_exit_ms;
    case JR_TIMEOUT_PROGRESS:
        return &limits->progress_ms;
    case JR_TIMEOUT_FIRST_STEP:
        return &limits->first_step_ms;
    case JR_TIMEOUT_NONE:
    case JR_TIMEOUT_EXIT:
        break;
    }
    return NULL;
}

static json_t *limit_value(const struct judged *run)
{
    struct jr_timeouts limits = run->plan->policy->timeouts;
    const uint64_t *ms = limit_for_timeout(&limits, run->outcome->timed_out_by);
    return ms == NULL ? json_null() : json_real((double)*ms / 1e3);
}

static void get_limit(struct jr_loaded_run *to, const json_t *value)
{
    uint64_t *ms = limit_for_timeout(&to->policy.timeouts, to->outcome.timed_out_by);
    if (ms != NULL)
        *ms = jr_clock_ns_of(json_number_value(value)) / MS;
}

static json_t *progress_value(const struct judged *run)
{
    return jr_progress_json(run->outcome->progress);
}

static void get_progress(struct jr_loaded_run *to, const json_t *value)
{
    if (!json_is_object(value))
        return;
    to->outcome.progress = jr_progress_new(to->plan.count);
    if (to->outcome.progress != NULL)
        jr_progress_get(to->outcome.progress, value);
}

/* Which of jobrun's own two processes was killed. */
static json_t *killed_value(const struct judged *run)
{
    const struct jr_outcome *outcome = run->outcome;
    int sig = jr_outcome_lost_by(outcome);
    bool guard = outcome->guard_pid != 0;
    char name[JR_SIGNAL_NAME];
    if (!jr_outcome_lost(outcome))
        return json_null();
    jr_signal_name(name, sig);
    return json_pack("{s:s, s:o, s:o}", "process", guard ? "guard" : "runner", "pid",
                     step_json(guard, outcome->guard_pid), "signal",
                     jr_json_str(sig == 0 ? NULL : name));
}

static void get_killed(struct jr_loaded_run *to, const json_t *value)
{
    const char *process = jr_json_get_str(value, "process");
    const char *name = jr_json_get_str(value, "signal");
    int sig = name == NULL ? 0 : jr_signal_of(name);
    if (process != NULL && strcmp(process, "runner") == 0) {
        to->outcome.runner_signal = sig;
    } else if (process != NULL) {
        to->outcome.guard_pid = (int32_t)jr_json_get_u32(value, "pid");
        to->outcome.guard_signal = sig;
    }
}

static json_t *attempts_value(const struct judged *run)
{
    json_t *list = json_array();
    for (size_t i = 0; i < run->report->earlier_count; i++) {
        const struct jr_attempt *attempt = &run->report->earlier[i];
        const char *requeued =
            attempt->continues == JR_REQUEUE_NONE ? "other" : jr_requeue_word(attempt->continues);
        json_t *object = json_object();
        jr_json_set_int(object, "attempt", attempt->number);
        jr_json_set_str(object, "status", jr_run_status_word(attempt->status));
        jr_json_set_int(object, "exit_code", attempt->exit_code);
        jr_json_set_real(object, "started", jr_words_wall(attempt->started_wall_ns));
        jr_json_set_real(object, "seconds", jr_words_wall(attempt->ended_ns - attempt->started_ns));
        jr_json_set_str(object, "cause", attempt->cause);
        jr_json_set_real(object, "wait", (double)attempt->wait_ms / 1e3);
        jr_json_set(object, "step", step_json(attempt->stepped, attempt->best));
        jr_json_set_str(object, "requeued", attempt->requeued ? requeued : NULL);
        jr_json_append(list, object);
    }
    return list;
}

/* The times are those of a run that began at 0. */
static void get_attempts(struct jr_loaded_run *to, const json_t *value)
{
    size_t count = json_array_size(value);
    struct jr_attempt *attempts = jr_arena_array(&to->arena, count, sizeof *attempts);
    to->report.earlier = attempts;
    to->report.earlier_count = attempts == NULL ? 0 : count;
    for (size_t i = 0; i < to->report.earlier_count; i++) {
        const json_t *object = json_array_get(value, i), *step = json_object_get(object, "step");
        const char *status = jr_json_get_str(object, "status");
        const char *cause = jr_json_get_str(object, "cause");
        const char *requeued = jr_json_get_str(object, "requeued");
        attempts[i] = (struct jr_attempt){
            .number = jr_json_get_u32(object, "attempt"),
            .exit_code = (int)number_below(json_object_get(object, "exit_code"), EXIT_CODES),
            .started_wall_ns = jr_clock_ns_of(jr_json_get_real(object, "started")),
            .ended_ns = jr_clock_ns_of(jr_json_get_real(object, "seconds")),
            .cause = cause == NULL ? "" : cause,
            .wait_ms = jr_clock_ns_of(jr_json_get_real(object, "wait")) / MS,
            .stepped = json_is_integer(step),
            .best = json_integer_value(step),
            .continues = jr_requeue_of(requeued),
            .requeued = requeued != NULL,
        };
        if (status != NULL)
            (void)jr_run_status_of(status, &attempts[i].status);
    }
}

static json_t *left_out_value(const struct judged *run)
{
    json_t *list = json_array();
    for (size_t i = 0; i < run->report->left_out_count; i++) {
        json_t *object = json_object();
        jr_json_set_str(object, "host", run->report->left_out[i].host);
        jr_json_set_str(object, "reason", run->report->left_out[i].reason);
        jr_json_append(list, object);
    }
    return list;
}

static void get_left_out(struct jr_loaded_run *to, const json_t *value)
{
    size_t count = json_array_size(value);
    struct jr_lost_machine *machines = jr_arena_array(&to->arena, count, sizeof *machines);
    to->report.left_out = machines;
    to->report.left_out_count = machines == NULL ? 0 : count;
    for (size_t i = 0; i < to->report.left_out_count; i++) {
        const char *host = jr_json_get_str(json_array_get(value, i), "host");
        const char *reason = jr_json_get_str(json_array_get(value, i), "reason");
        machines[i] =
            (struct jr_lost_machine){host == NULL ? "" : host, reason == NULL ? "" : reason};
    }
}

static json_t *stall_value(const struct judged *run)
{
    const struct jr_stall *stall = &run->report->stall;
    if (stall->attempts == 0)
        return json_null();
    return json_pack("{s:I, s:o}", "attempts", (json_int_t)stall->attempts, "step",
                     step_json(stall->stepped, stall->step));
}

static void get_stall(struct jr_loaded_run *to, const json_t *value)
{
    const json_t *step = json_object_get(value, "step");
    to->report.stall = (struct jr_stall){
        .attempts = jr_json_get_u32(value, "attempts"),
        .stepped = json_is_integer(step),
        .step = json_integer_value(step),
    };
}

static json_t *requeue_value(const struct judged *run)
{
    const struct jr_requeue_state *state = &run->report->requeue;
    if (state->cause == JR_REQUEUE_NONE && state->done == 0)
        return json_null();
    return json_pack("{s:o, s:I, s:I, s:b}", "cause", jr_json_str(jr_requeue_word(state->cause)),
                     "requeues", (json_int_t)state->done, "max", (json_int_t)state->max, "queued",
                     (int)state->queued);
}

static void get_requeue(struct jr_loaded_run *to, const json_t *value)
{
    to->report.requeue = (struct jr_requeue_state){
        .cause = jr_requeue_of(jr_json_get_str(value, "cause")),
        .done = jr_json_get_u32(value, "requeues"),
        .max = jr_json_get_u32(value, "max"),
        .queued = jr_json_get_bool(value, "queued"),
    };
}

static json_t *names_json(char *const *names, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++)
        jr_json_append(list, jr_json_str(names[i]));
    return list;
}

/* The fields that were compared over the ranks, and what reasons call the place that every rank
 * delivers to: those of several nodes that had a jobrun each are compared again by what joins them
 * (multinode.c). */
static json_t *compared_value(const struct judged *run)
{
    const struct jr_results *wants = &run->plan->policy->results;
    const struct jr_judge judge = {.plan = run->plan, .outcome = run->outcome, .wants = wants};
    const char *common = NULL;
    if (wants->equal_count + wants->distinct_count == 0)
        return json_null();
    for (uint32_t i = 0; i < run->outcome->count; i++) {
        const char *source = jr_result_source(&judge, i);
        bool same = i == 0 || strcmp(source, common) == 0;
        common = same ? source : NULL;
        if (!same)
            break;
    }
    return json_pack("{s:o, s:o, s:o}", "source", jr_json_str(common), "equal",
                     names_json(wants->equal, wants->equal_count), "distinct",
                     names_json(wants->distinct, wants->distinct_count));
}

/* What was compared, and what reasons call the place where it was found: a path whose last
 * component that is. */
static void get_compared(struct jr_loaded_run *to, const json_t *value)
{
    struct jr_results *wants = &to->policy.results;
    struct jr_strv equal = jr_results_texts(&to->arena, json_object_get(value, "equal"));
    struct jr_strv distinct = jr_results_texts(&to->arena, json_object_get(value, "distinct"));
    wants->stated = value != NULL && !json_is_null(value);
    wants->equal = equal.items;
    wants->equal_count = (uint32_t)equal.count;
    wants->distinct = distinct.items;
    wants->distinct_count = (uint32_t)distinct.count;
    for (uint32_t i = 0; i < to->plan.count; i++)
        to->plan.ranks[i].result_path = jr_json_get_str(value, "source");
}

/* The shapes of keys that are no values of one member. */
#define REQUEUE_CAUSES "[\"deadline\", \"preempted\", \"lost_node\", null]"
#define REQUEUE                                                                                    \
    "{\"type\": [\"object\", \"null\"], \"required\": [\"cause\", \"requeues\", \"max\", "         \
    "\"queued\"], \"properties\": {\"cause\": {\"enum\": " REQUEUE_CAUSES ", \"description\": "    \
    "\"Why it is to be continued; null: it is not.\"}, \"requeues\": " JR_SHAPE_COUNT              \
    ", \"max\": " JR_SHAPE_COUNT ", \"queued\": " JR_SHAPE_FLAG "}}"
#define ATTEMPTS                                                                                   \
    "{\"type\": \"array\", \"items\": {\"type\": \"object\", \"required\": [\"attempt\", "         \
    "\"status\", \"exit_code\", \"started\", \"seconds\", \"cause\", \"wait\"], "                  \
    "\"properties\": {\"attempt\": " JR_SHAPE_COUNT ", \"status\": {\"$ref\": "                    \
    "\"#/properties/status\"}, \"exit_code\": {\"type\": \"integer\", \"minimum\": 1, "            \
    "\"maximum\": 255}, \"started\": {\"type\": \"number\", \"description\": \"Since the "         \
    "epoch.\"}, \"seconds\": " JR_SHAPE_SECONDS ", \"cause\": {\"type\": \"string\"}, "            \
    "\"wait\": {\"type\": \"number\", \"minimum\": 0, \"description\": \"Before the next "         \
    "attempt.\"}, \"step\": {\"type\": [\"integer\", \"null\"], \"description\": \"The "           \
    "furthest; null: none was made.\"}, \"requeued\": {\"enum\": " REQUEUE_CAUSES ", "             \
    "\"description\": \"Why it was to be continued, and was; null: the next attempt is by "        \
    "`restart`.\"}}}}"
#define LEFT_OUT                                                                                   \
    "{\"type\": \"array\", \"items\": {\"type\": \"object\", \"required\": [\"host\", "            \
    "\"reason\"], \"properties\": {\"host\": {\"type\": \"string\"}, \"reason\": {\"type\": "      \
    "\"string\"}}}}"
#define COMPARED                                                                                   \
    "{\"type\": [\"object\", \"null\"], \"required\": [\"source\", \"equal\", \"distinct\"], "     \
    "\"properties\": {\"source\": {\"type\": [\"string\", \"null\"], \"description\": \"What "     \
    "reasons call the place that ranks deliver to; null: it has not the same name for "            \
    "all.\"}, \"equal\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}}, "               \
    "\"distinct\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}}}}"
#define KILLED                                                                                     \
    "{\"type\": [\"object\", \"null\"], \"required\": [\"process\", \"pid\", \"signal\"], "        \
    "\"properties\": {\"process\": {\"enum\": [\"guard\", \"runner\"]}, \"pid\": {\"type\": "      \
    "[\"integer\", \"null\"]}, \"signal\": {\"type\": [\"string\", \"null\"], "                    \
    "\"description\": \"Its name; null: the kernel did not say.\"}}}"
#define NODES                                                                                      \
    "{\"type\": \"array\", \"items\": {\"type\": \"object\", \"required\": [\"node_rank\", "       \
    "\"host\", \"pid\", \"status\", \"exit_code\", \"cause\", \"part\"], \"properties\": "         \
    "{\"node_rank\": " JR_SHAPE_COUNT ", \"host\": {\"type\": [\"string\", \"null\"]}, "           \
    "\"pid\": {\"type\": [\"integer\", \"null\"], \"description\": \"Of its jobrun.\"}, "          \
    "\"status\": {\"anyOf\": [{\"$ref\": \"#/properties/status\"}, {\"enum\": [\"lost\", "         \
    "\"absent\"]}], \"description\": \"lost: its jobrun is gone and left no results. absent: it "  \
    "is not here.\"}, \"exit_code\": {\"type\": [\"integer\", \"null\"], \"minimum\": 0, "         \
    "\"maximum\": 255}, \"cause\": {\"type\": [\"string\", \"null\"]}, \"part\": {\"type\": "      \
    "[\"string\", \"null\"], \"description\": \"Its folder in the run's.\"}, \"fingerprint\": "    \
    "{\"type\": [\"string\", \"null\"]}, \"world_size\": {\"type\": [\"integer\", \"null\"], "     \
    "\"description\": \"As this node has it.\"}, \"nodes\": {\"type\": [\"integer\", "             \
    "\"null\"]}, \"ranks\": {\"type\": [\"object\", \"null\"], \"description\": \"Those that "     \
    "its jobrun started.\", \"required\": [\"first\", \"count\"], \"properties\": "                \
    "{\"first\": " JR_SHAPE_COUNT ", \"count\": {\"type\": \"integer\", \"minimum\": 1}}}}}}"
#define STALL                                                                                      \
    "{\"type\": [\"object\", \"null\"], \"required\": [\"attempts\", \"step\"], "                  \
    "\"properties\": {\"attempts\": " JR_SHAPE_COUNT ", \"step\": {\"type\": [\"integer\", "       \
    "\"null\"], \"description\": \"The furthest step; null: none was made.\"}}}"
#define STEPS                                                                                      \
    "\"step\": {\"type\": [\"integer\", \"null\"]}, \"best\": {\"type\": [\"integer\", "           \
    "\"null\"], \"description\": \"The furthest step of the attempt.\"}, \"of\": {\"type\": "      \
    "[\"integer\", \"null\"]}, \"rate\": {\"type\": [\"number\", \"null\"], \"description\": "     \
    "\"Steps a second, of late.\"}, \"metrics\": {\"type\": \"object\", "                          \
    "\"additionalProperties\": {\"type\": [\"number\", \"null\"]}, \"description\": \"null: "      \
    "infinite, or not a number.\"}, \"time\": {\"type\": [\"string\", \"null\"], "                 \
    "\"description\": \"Of the step.\"}"
#define PROGRESS                                                                                   \
    "{\"type\": \"object\", \"required\": [\"step\", \"best\", \"of\", \"rate\", \"metrics\", "    \
    "\"time\", \"slowest\", \"warnings\"], \"properties\": {" STEPS ", \"slowest\": {\"type\": "   \
    "[\"object\", \"null\"], \"description\": \"With several ranks, the one that is the furthest " \
    "behind.\", \"required\": [\"rank\", \"behind\"], \"properties\": {\"rank\": " JR_SHAPE_COUNT  \
    ", \"behind\": " JR_SHAPE_COUNT "}}, \"warnings\": {\"type\": \"array\", \"items\": "          \
    "{\"type\": \"string\"}}}}"
#define RANK_PROGRESS                                                                              \
    "{\"type\": \"object\", \"required\": [\"step\", \"best\", \"of\", \"rate\", \"metrics\", "    \
    "\"time\"], \"properties\": {" STEPS "}}"

/* A key of the run. One that is a plain member is written and read by its kind. */
struct run_key {
    const char *key;
    enum { RUN_VALUE, RUN_TEXT, RUN_NUMBER, RUN_SIZE, RUN_WALL } kind;
    enum { IN_PLAN, IN_OUTCOME, IN_REPORT } in; /* the struct with the member */
    size_t at;
    json_t *(*value)(const struct judged *run); /* RUN_VALUE; NULL: it is not written here */
    void (*get)(struct jr_loaded_run *to, const json_t *value); /* NULL: it is not read */
    enum jr_results_join join;
    struct jr_json_shape shape;
    const char *help;
};

#define IN(holder, type, kind, member)                                                             \
    RUN_##kind, IN_##holder, offsetof(struct type, member), NULL, NULL
#define PLANNED(kind, member)  IN(PLAN, jr_plan, kind, member)
#define OUTCOME(kind, member)  IN(OUTCOME, jr_outcome, kind, member)
#define REPORTED(kind, member) IN(REPORT, jr_judgement, kind, member)
#define VALUE(value, get)      RUN_VALUE, IN_PLAN, 0, value, get

/* A key is read after those that it depends on. */
static const struct run_key run_keys[] = {
    {"format_version", VALUE(version_value, NULL), JR_JOIN_ANY, AS("{\"const\": 1}"), NULL},
    {"run_id", PLANNED(TEXT, run_id), JR_JOIN_ANY, AS(JR_SHAPE_TEXT), NULL},
    {"name", PLANNED(TEXT, name), JR_JOIN_ANY, AS(JR_SHAPE_TEXT), NULL},
    {"fingerprint", PLANNED(TEXT, fingerprint), JR_JOIN_OWN, OR_NULL(JR_SHAPE_TEXT),
     "SHA-256 of all that belongs to the experiment; null: each node had its own jobrun, and they "
     "did not run the same."},
    {"status", VALUE(status_value, get_status), JR_JOIN_OWN, AS_WORDS(run_statuses), NULL},
    {"exit_code", VALUE(exit_code_value, get_exit_code), JR_JOIN_OWN, AS(JR_SHAPE_CODE), NULL},
    {"attempt", PLANNED(NUMBER, attempt), JR_JOIN_MOST, AS(JR_SHAPE_COUNT),
     "The number of the last attempt. Everything here is about that attempt, except the times of "
     "the run."},
    {"started", VALUE(started_value, get_started), JR_JOIN_LEAST, AS("{\"type\": \"number\"}"),
     "Since the epoch."},
    {"finished", OUTCOME(WALL, ended_wall_ns), JR_JOIN_MOST, AS("{\"type\": \"number\"}"), NULL},
    {"seconds", VALUE(seconds_value, get_seconds), JR_JOIN_OWN, AS(JR_SHAPE_SECONDS), NULL},
    {"world_size", PLANNED(NUMBER, world_size), JR_JOIN_OWN,
     AS("{\"type\": \"integer\", \"minimum\": 1}"), NULL},
    {"processes_left", OUTCOME(NUMBER, left), JR_JOIN_SUM, AS(JR_SHAPE_COUNT),
     "How many processes could not be killed."},
    {"processes_ended", VALUE(ended_value, NULL), JR_JOIN_SUM, AS(JR_SHAPE_COUNT),
     "How many processes ranks that ended by themselves had left running: jobrun ended them."},
    {"timed_out_by", VALUE(timeout_value, get_timeout), JR_JOIN_DECIDER,
     WORDS_OR_NULL(run_timeouts), "The field of `timeouts` that ended it; null: none did."},
    {"timeout_seconds", VALUE(limit_value, get_limit), JR_JOIN_DECIDER, OR_NULL(JR_SHAPE_SECONDS),
     "The value of that field."},
    {"root_cause", VALUE(cause_value, NULL), JR_JOIN_OWN, OR_NULL("{\"type\": \"object\"}"),
     "What came first; null where nothing went wrong."},
    {"progress", VALUE(progress_value, get_progress), JR_JOIN_FIRST,
     SHAPE(.text = PROGRESS, .null = true, .optional = true),
     "How far the job came; null: no rank told of a step."},
    {"jobrun_killed", VALUE(killed_value, get_killed), JR_JOIN_DECIDER, AS(KILLED),
     "Which of jobrun's two processes was killed, so that the other one ended the run; null: "
     "neither."},
    {"inject", PLANNED(TEXT, inject), JR_JOIN_ANY, OR_NULL(JR_SHAPE_TEXT),
     "The failures that --inject requested; null: none."},
    {"attempts", VALUE(attempts_value, get_attempts), JR_JOIN_OWN, AS(ATTEMPTS),
     "The earlier attempts, which failed or were to be continued."},
    {"left_out", VALUE(left_out_value, get_left_out), JR_JOIN_ANY, OR_NONE(LEFT_OUT),
     "The machines that `spare_nodes` has left without ranks, because they could not take part, "
     "in the order in which that was found out."},
    {"failed_alike", REPORTED(SIZE, idle), JR_JOIN_MOST, AS(JR_SHAPE_COUNT),
     "How many of the last attempts failed in the same way at once; more than 1 means no "
     "progress."},
    {"stall", VALUE(stall_value, get_stall), JR_JOIN_DECIDER, OR_NONE(STALL),
     "The last attempts got no further than those before them, and that many are too many "
     "(`progress.stall`); null: the job did not stall."},
    {"requeue", VALUE(requeue_value, get_requeue), JR_JOIN_ANY, OR_NONE(REQUEUE),
     "Whether the job is to be continued, and how often it was; null: neither."},
    {"not_restarted", REPORTED(TEXT, not_again), JR_JOIN_OWN, OR_NULL(JR_SHAPE_TEXT),
     "Why there was no further attempt; null: the job succeeded, was stopped, or `restart` allows "
     "none."},
    {"compared", VALUE(compared_value, get_compared), JR_JOIN_FIRST, AS(COMPARED),
     "The fields that `equal` and `distinct` name; null: none."},
    {"nodes", VALUE(NULL, NULL), JR_JOIN_OWN, OR_NONE(NODES),
     "Only in a run that was joined from parts, because each node had its own jobrun: how each "
     "node ended."},
};

const char *jr_results_key(size_t i, enum jr_results_join *ret_join)
{
    if (i >= COUNT(run_keys))
        return NULL;
    *ret_join = run_keys[i].join;
    return run_keys[i].key;
}

static json_t *run_key_value(const struct run_key *row, const struct judged *run)
{
    const void *const holders[] = {run->plan, run->outcome, run->report};
    const void *at = (const char *)holders[row->in] + row->at;
    switch (row->kind) {
    case RUN_TEXT:
        return jr_json_str(*(const char *const *)at);
    case RUN_NUMBER:
        return json_integer(*(const uint32_t *)at);
    case RUN_SIZE:
        return json_integer((json_int_t) * (const size_t *)at);
    case RUN_WALL:
        return json_real(jr_words_wall(*(const uint64_t *)at));
    case RUN_VALUE:
        break;
    }
    return row->value(run);
}

void jr_results_read(struct jr_loaded_run *to, const json_t *object)
{
    void *const holders[] = {&to->plan, &to->outcome, &to->report};
    for (size_t i = 0; i < COUNT(run_keys); i++) {
        const json_t *value = json_object_get(object, run_keys[i].key);
        void *at = (char *)holders[run_keys[i].in] + run_keys[i].at;
        switch (run_keys[i].kind) {
        case RUN_TEXT:
            *(const char **)at = json_string_value(value);
            break;
        case RUN_NUMBER:
            *(uint32_t *)at = number_below(value, UINT32_MAX);
            break;
        case RUN_SIZE:
            *(size_t *)at = number_below(value, UINT32_MAX);
            break;
        case RUN_WALL:
            *(uint64_t *)at = jr_clock_ns_of(json_number_value(value));
            break;
        case RUN_VALUE:
            if (run_keys[i].get != NULL)
                run_keys[i].get(to, value);
            break;
        }
    }
}

/* A rank: who it was, and what it delivered. There may be many, which are written one by one. */

struct judged_rank {
    const struct jr_plan_rank *plan;
    const struct jr_rank_outcome *outcome;
    const struct jr_rank_judgement *report;
    const char *host;
};

struct rank_key {
    const char *key;
    enum { RANK_VALUE, RANK_TEXT, RANK_NUMBER, JUDGED_TEXT, JUDGED_FLAG } kind;
    size_t at; /* the member of the plan's rank, or of its judgement */
    /* RANK_VALUE; NULL: it is not written, or not read. One that is put but read by its kind says
     * how it is put. */
    void (*put)(struct jr_buf *out, const char *key, const struct judged_rank *rank);
    void (*get)(struct jr_loaded_run *to, size_t i, const json_t *value);
    struct jr_json_shape shape;
    const char *help;
};

static void get_node(struct jr_loaded_run *to, size_t i, const json_t *value)
{
    uint32_t node = number_below(value, MOST_RANKS);
    to->plan.ranks[i].node_rank = node;
    if (node >= to->plan.nodes)
        to->plan.nodes = node + 1;
}

/* A log that is not there is none. */
static void put_stdout(struct jr_buf *out, const char *key, const struct judged_rank *rank)
{
    jr_json_put_str(out, key, rank->outcome->silent[0] ? NULL : rank->plan->out_path);
}

static void put_stderr(struct jr_buf *out, const char *key, const struct judged_rank *rank)
{
    jr_json_put_str(out, key, rank->outcome->silent[1] ? NULL : rank->plan->err_path);
}

static void put_host(struct jr_buf *out, const char *key, const struct judged_rank *rank)
{
    jr_json_put_str(out, key, rank->host);
}

static void get_host(struct jr_loaded_run *to, size_t i, const json_t *value)
{
    uint32_t node = to->plan.ranks[i].node_rank;
    while (to->hosts_count <= node)
        if (jr_arena_push(&to->arena, &to->hosts, &to->hosts_count, sizeof *to->hosts) == NULL)
            return;
    to->hosts[node] = jr_arena_strdup(&to->arena, json_string_value(value));
}

static void put_coordinates(struct jr_buf *out, const char *key, const struct judged_rank *rank)
{
    jr_json_key(out, key);
    jr_buf_char(out, '{');
    for (int axis = 0; axis < JR_AXIS_COUNT; axis++)
        jr_json_put_int(out, jr_words_axis(axis), rank->plan->at[axis]);
    jr_buf_char(out, '}');
}

static void get_coordinates(struct jr_loaded_run *to, size_t i, const json_t *value)
{
    for (int axis = 0; axis < JR_AXIS_COUNT; axis++) {
        uint32_t at = number_below(json_object_get(value, jr_words_axis(axis)), MOST_RANKS);
        to->plan.ranks[i].at[axis] = at;
        if (at >= to->plan.axis_size[axis])
            to->plan.axis_size[axis] = at + 1;
    }
}

static void put_state(struct jr_buf *out, const char *key, const struct judged_rank *rank)
{
    jr_json_put_str(out, key, jr_rank_state_word(rank->report->state));
}

static void get_state(struct jr_loaded_run *to, size_t i, const json_t *value)
{
    const char *word = json_string_value(value);
    enum jr_rank_state *state = &to->report.ranks[i].state;
    if (word == NULL || !jr_rank_state_of(word, state))
        *state = JR_RANK_FAILED; /* what is not known is no success */
}

static void put_error_file(struct jr_buf *out, const char *key, const struct judged_rank *rank)
{
    jr_json_put_str(out, key, rank->report->error_file ? rank->plan->error_path : NULL);
}

static void get_error_file(struct jr_loaded_run *to, size_t i, const json_t *value)
{
    to->plan.ranks[i].error_path = json_string_value(value);
    to->report.ranks[i].error_file = json_is_string(value);
}

static void put_error(struct jr_buf *out, const char *key, const struct judged_rank *rank)
{
    const char *reason = rank->report->reason;
    jr_json_put_str(out, key, reason != NULL ? reason : rank->report->error);
}

static void put_result(struct jr_buf *out, const char *key, const struct judged_rank *rank)
{
    const json_t *text = rank->report->text;
    jr_json_key(out, key);
    if (text != NULL)
        jr_buf_add(out, json_string_value(text), json_string_length(text));
    else if (rank->report->result != NULL)
        jr_json_print(out, rank->report->result, 0);
    else
        jr_buf_str(out, "null");
}

static void get_result(struct jr_loaded_run *to, size_t i, const json_t *value)
{
    if (value != NULL && !json_is_null(value))
        to->report.ranks[i].result = json_incref((json_t *)value);
}

static void put_result_error(struct jr_buf *out, const char *key, const struct judged_rank *rank)
{
    enum jr_result_error error = rank->report->result_error;
    jr_json_put_str(out, key, error == JR_RESULT_NONE ? NULL : jr_result_error_word(error));
}

/* What is wrong with a result is a reason, not the rank's own error. */
static void get_result_error(struct jr_loaded_run *to, size_t i, const json_t *value)
{
    struct jr_rank_judgement *rank = &to->report.ranks[i];
    if (!json_is_string(value) ||
        !jr_result_error_of(json_string_value(value), &rank->result_error))
        return;
    rank->reason = rank->error;
    rank->error = NULL;
}

/* Whoever goes on with a sweep reads them where they are. */
static void put_artifacts(struct jr_buf *out, const char *key, const struct judged_rank *rank)
{
    const struct jr_rank_judgement *report = rank->report;
    if (report->artifacts_count == 0)
        return;
    jr_json_key(out, key);
    jr_buf_char(out, '[');
    for (size_t i = 0; i < report->artifacts_count; i++) {
        const struct jr_delivered *one = &report->artifacts[i];
        char digest[17];
        (void)snprintf(digest, sizeof digest, "%016" PRIx64, one->digest);
        jr_buf_str(out, i == 0 ? "{" : ", {");
        jr_json_put_str(out, "path", one->path);
        jr_json_put_int(out, "bytes", (json_int_t)one->size);
        jr_json_put_int(out, "mtime_ns", one->mtime_ns);
        jr_json_put_str(out, "digest", one->digest == 0 ? NULL : digest);
        jr_buf_char(out, '}');
    }
    jr_buf_char(out, ']');
}

#define COORDINATES                                                                                \
    "{\"type\": \"object\", \"required\": [\"model\", \"pipeline\", \"data\"], \"properties\": "   \
    "{\"model\": " JR_SHAPE_COUNT ", \"pipeline\": " JR_SHAPE_COUNT ", \"data\": " JR_SHAPE_COUNT  \
    "}}"
#define ARTIFACTS                                                                                  \
    "{\"type\": \"array\", \"items\": {\"type\": \"object\", \"required\": [\"path\", "            \
    "\"bytes\", \"mtime_ns\", \"digest\"], \"properties\": {\"path\": {\"type\": \"string\", "     \
    "\"description\": \"Absolute, or relative to the run folder.\"}, \"bytes\": " JR_SHAPE_COUNT   \
    ", \"mtime_ns\": {\"type\": \"integer\"}, \"digest\": {\"type\": [\"string\", \"null\"], "     \
    "\"description\": \"Of its bytes, or of samples where they are many; null: they could not be " \
    "read.\"}}}}"

#define PLANNED_TEXT(member)   RANK_TEXT, offsetof(struct jr_plan_rank, member), NULL, NULL
#define PLANNED_NUMBER(member) RANK_NUMBER, offsetof(struct jr_plan_rank, member), NULL, NULL
#define FLAGGED(member)        JUDGED_FLAG, offsetof(struct jr_rank_judgement, member), NULL, NULL
#define RANK_OTHER(put, get)   RANK_VALUE, 0, put, get
#define RANK_LOG(put, member)  RANK_TEXT, offsetof(struct jr_plan_rank, member), put, NULL

/* The rank's identity. The host of a node is read if the node is known. */
static const struct rank_key identity_keys[] = {
    {"rank", PLANNED_NUMBER(rank), AS(JR_SHAPE_COUNT), "Its number in the world."},
    {"local_rank", PLANNED_NUMBER(local_rank), AS(JR_SHAPE_COUNT), "Its number on its node."},
    {"node_rank", RANK_NUMBER, offsetof(struct jr_plan_rank, node_rank), NULL, get_node,
     AS(JR_SHAPE_COUNT), NULL},
    {"host", RANK_OTHER(put_host, get_host), OR_NULL(JR_SHAPE_TEXT), NULL},
    {"device", PLANNED_TEXT(device), OR_NULL(JR_SHAPE_TEXT), "Index or UUID of its device."},
    {"coordinates", RANK_OTHER(put_coordinates, get_coordinates), AS(COORDINATES),
     "Its place in the mesh."},
    {"state", RANK_OTHER(put_state, get_state), AS_WORDS(rank_states),
     "failed: the root cause, or together with it. stopped: by jobrun."},
};

/* What it left. An error is read before the word for what it is. */
static const struct rank_key delivery_keys[] = {
    {"stdout", RANK_LOG(put_stdout, out_path), AS_PATH,
     "Its log, relative to the run folder; null: there is none. It was not captured, or nothing "
     "was "
     "written to it (`stdout_silent`)."},
    {"stderr", RANK_LOG(put_stderr, err_path), AS_PATH, NULL},
    {"error_file", RANK_OTHER(put_error_file, get_error_file), AS_PATH, "Its uncaught exception."},
    {"error", JUDGED_TEXT, offsetof(struct jr_rank_judgement, error), put_error, NULL,
     OR_NULL(JR_SHAPE_TEXT), "Why it failed or did not deliver, in one line."},
    {"lost_peer", FLAGGED(lost_peer), AS(JR_SHAPE_FLAG),
     "Whether it failed in a way that only the loss of a peer causes, such as a connection that "
     "was reset."},
    {"early", FLAGGED(early), OR_NONE(JR_SHAPE_FLAG),
     "Whether it had ended with 0 when the first rank failed."},
    {"result", RANK_OTHER(put_result, get_result), AS("{}"),
     "The result that it delivered, which may be any JSON; null: none."},
    {"result_error", RANK_OTHER(put_result_error, get_result_error),
     SHAPE(WORDS_AFTER_0(result_errors), .null = true),
     "Why the result does not count; null: it counts."},
    {"unwritten", FLAGGED(unwritten), OR_NONE(JR_SHAPE_FLAG),
     "Whether it wrote nothing to the file that JOBRUN_RESULT_FILE names."},
    {"differs", FLAGGED(differs), AS(JR_SHAPE_FLAG),
     "Whether result_error comes from a comparison of the ranks' results, not from this result "
     "alone."},
    {"artifacts", RANK_OTHER(put_artifacts, NULL), OR_NONE(ARTIFACTS),
     "The files of `artifacts` that it delivered, and with one of the ranks those of the job, as "
     "they were then: by these --resume knows whether a cell's are still there. There is none for "
     "what is on another node."},
    {"log_secret", FLAGGED(log_secret), OR_NONE(JR_SHAPE_FLAG),
     "Whether the last lines of its logs contain the value of a secret; if so, no report quotes "
     "them."},
};

/* Of a run that is joined from parts, where it is read only. */
static const struct rank_key folder_key = {
    "folder", PLANNED_TEXT(dir), OR_NONE(JR_SHAPE_TEXT),
    "Only in a run that was joined from parts: the rank's folder within the run folder."};

static void put_rank_keys(struct jr_buf *out, const struct judged_rank *rank,
                          const struct rank_key *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const void *planned = (const char *)rank->plan + rows[i].at;
        const void *judged = (const char *)rank->report + rows[i].at;
        if (rows[i].put != NULL)
            rows[i].put(out, rows[i].key, rank);
        else if (rows[i].kind == RANK_TEXT)
            jr_json_put_str(out, rows[i].key, *(const char *const *)planned);
        else if (rows[i].kind == RANK_NUMBER)
            jr_json_put_int(out, rows[i].key, *(const uint32_t *)planned);
        else
            jr_json_put_bool(out, rows[i].key, *(const bool *)judged);
    }
}

static void read_rank_keys(struct jr_loaded_run *to, size_t i, const json_t *object,
                           const struct rank_key *rows, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        const json_t *value = json_object_get(object, rows[n].key);
        void *planned = (char *)&to->plan.ranks[i] + rows[n].at;
        void *judged = (char *)&to->report.ranks[i] + rows[n].at;
        if (rows[n].get != NULL)
            rows[n].get(to, i, value);
        else if (rows[n].kind == RANK_TEXT)
            *(const char **)planned = json_string_value(value);
        else if (rows[n].kind == RANK_NUMBER)
            *(uint32_t *)planned = number_below(value, UINT32_MAX);
        else if (rows[n].kind == JUDGED_TEXT)
            *(const char **)judged = json_string_value(value);
        else if (rows[n].kind == JUDGED_FLAG)
            *(bool *)judged = json_is_true(value);
    }
}

void jr_results_read_rank(struct jr_loaded_run *to, size_t i, const json_t *object)
{
    struct jr_progress *progress = to->outcome.progress;
    const json_t *steps = json_object_get(object, "progress");
    read_rank_keys(to, i, object, identity_keys, COUNT(identity_keys));
    jr_outcome_get(&to->outcome.ranks[i], object);
    if (progress != NULL && i < progress->count && json_is_object(steps))
        jr_progress_get_rank(&progress->ranks[i], progress, steps);
    read_rank_keys(to, i, object, delivery_keys, COUNT(delivery_keys));
    read_rank_keys(to, i, object, &folder_key, 1);
}

const char *jr_results_path(size_t i)
{
    for (size_t n = 0; n < COUNT(delivery_keys); n++)
        if (delivery_keys[n].shape.path && i-- == 0)
            return delivery_keys[n].key;
    return NULL;
}

/* All of it. */

static void put_rank(struct jr_buf *out, const struct judged *run, size_t i)
{
    const struct jr_plan_rank *plan = jr_plan_of(run->plan, i);
    const struct jr_progress *progress = run->outcome->progress;
    const struct judged_rank rank = {plan, &run->outcome->ranks[i], &run->report->ranks[i],
                                     jr_words_host(run->plan, plan->node_rank, &run->here)};
    jr_buf_char(out, '{');
    put_rank_keys(out, &rank, identity_keys, COUNT(identity_keys));
    jr_outcome_put(out, rank.outcome);
    if (progress != NULL && progress->all && i < progress->count && progress->ranks[i].any) {
        json_t *steps = jr_progress_rank_json(progress, &progress->ranks[i]);
        jr_json_key(out, "progress");
        jr_json_print(out, steps, 0);
        json_decref(steps);
    }
    put_rank_keys(out, &rank, delivery_keys, COUNT(delivery_keys));
    jr_buf_char(out, '}');
}

/* Let the drain have what there is, once that is enough. False: it ended. */
static bool pass_to_drain(struct jr_buf *out, const struct jr_drain *drain, size_t enough)
{
    return drain == NULL || out->failed || out->len < enough || drain->take(drain->data, out) == 0;
}

void jr_judgement_json(struct jr_buf *out, const struct jr_judgement *report,
                       const struct jr_plan *plan, const struct jr_outcome *outcome,
                       const struct jr_drain *drain)
{
    struct judged run = {.report = report, .plan = plan, .outcome = outcome};
    (void)uname(&run.here);
    jr_buf_str(out, "{\n  ");
    for (size_t i = 0; i < COUNT(run_keys); i++) {
        if (run_keys[i].kind == RUN_VALUE && run_keys[i].value == NULL)
            continue;
        json_t *value = run_key_value(&run_keys[i], &run);
        jr_json_key(out, run_keys[i].key);
        jr_json_print(out, value, 0);
        jr_buf_str(out, ",\n  ");
        json_decref(value);
    }
    jr_json_key(out, "ranks");
    jr_buf_char(out, '[');
    for (size_t i = 0; i < report->count; i++) {
        jr_buf_str(out, i == 0 ? "\n    " : ",\n    ");
        put_rank(out, &run, i);
        if (!pass_to_drain(out, drain, PIECE))
            return;
    }
    jr_buf_str(out, report->count == 0 ? "]\n}\n" : "\n  ]\n}\n");
    (void)pass_to_drain(out, drain, 0);
}

json_t *jr_judgement_cause(const struct jr_judgement *report, const struct jr_plan *plan,
                           const struct jr_outcome *outcome)
{
    struct judged run = {.report = report, .plan = plan, .outcome = outcome};
    (void)uname(&run.here);
    return cause_value(&run);
}

/* The schema. */

static void add_shape(json_t *properties, json_t *required, const char *key,
                      const struct jr_json_shape *shape, const char *help)
{
    jr_json_shape_add(properties, shape->optional ? NULL : required, key,
                      jr_json_shape_schema(shape, help));
}

static void add_rank_shapes(json_t *properties, json_t *required, const struct rank_key *rows,
                            size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_shape(properties, required, rows[i].key, &rows[i].shape, rows[i].help);
}

static json_t *rank_schema(void)
{
    static const struct jr_json_shape progress = OR_NONE(RANK_PROGRESS);
    json_t *properties = json_object(), *required = json_array();
    add_rank_shapes(properties, required, identity_keys, COUNT(identity_keys));
    jr_outcome_schema(properties, required);
    add_shape(properties, required, "progress", &progress,
              "How far it came, where the steps of several ranks count.");
    add_rank_shapes(properties, required, delivery_keys, COUNT(delivery_keys));
    add_rank_shapes(properties, required, &folder_key, 1);
    return json_pack("{s:s, s:s, s:o, s:o}", "description", "One rank.", "type", "object",
                     "required", required, "properties", properties);
}

/* The members of the root cause, as jr_results_cause_json writes them. */
static void add_cause_shapes(json_t *schema)
{
    static const struct {
        const char *key;
        struct jr_json_shape shape;
        const char *help;
    } rows[] = {
        {"rank", OR_NULL(JR_SHAPE_COUNT), "null: no rank, but jobrun itself or time."},
        {"host", OR_NULL(JR_SHAPE_TEXT), NULL},
        {"kind", SHAPE(WORDS_AFTER_0(cause_kinds)), NULL},
        {"exit_code", OR_NULL(JR_SHAPE_COUNT), NULL},
        {"signal", OR_NULL(JR_SHAPE_SIGNAL), "The signal's name."},
        {"message", AS(JR_SHAPE_TEXT), NULL},
        {"together", AS("{\"type\": \"array\", \"items\": " JR_SHAPE_COUNT "}"),
         "Ranks whose failure cannot be distinguished from it."},
    };
    json_t *properties = json_object(), *required = json_array();
    for (size_t i = 0; i < COUNT(rows); i++)
        add_shape(properties, required, rows[i].key, &rows[i].shape, rows[i].help);
    jr_json_set(schema, "required", required);
    jr_json_set(schema, "properties", properties);
}

void jr_schema_results(struct jr_buf *out)
{
    static const struct jr_json_shape list =
        AS("{\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/rank\"}}");
    json_t *properties = json_object(), *required = json_array();
    for (size_t i = 0; i < COUNT(run_keys); i++)
        add_shape(properties, required, run_keys[i].key, &run_keys[i].shape, run_keys[i].help);
    add_cause_shapes(json_object_get(properties, "root_cause"));
    add_shape(properties, required, "ranks", &list, NULL);
    json_t *schema = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:{s:o}}", "$schema",
        "https://json-schema.org/draft/2020-12/schema", "$id", "results-v1.schema.json", "title",
        "Results of a jobrun run, version 1", "description",
        "results.json of a run folder. A reader ignores keys that it does not know; times are "
        "seconds.",
        "type", "object", "required", required, "properties", properties, "$defs", "rank",
        rank_schema());
    jr_json_print(out, schema, 2);
    jr_buf_char(out, '\n');
    json_decref(schema);
}
