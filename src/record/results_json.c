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
#include "base/json_row.h"
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

#define WORD(name, word)              word,
#define HELPED_WORD(name, word, help) word,
static const char *const run_statuses[] = {JR_RUN_STATUSES(WORD)};
static const char *const run_timeouts[] = {JR_RUN_TIMEOUTS(WORD)};
static const char *const rank_states[] = {JR_RANK_STATES(WORD)};
static const char *const result_errors[] = {JR_RESULT_ERRORS(WORD)};
static const char *const cause_kinds[] = {JR_CAUSE_KINDS(WORD)};
static const char *const requeue_causes[] = {JR_REQUEUE_CAUSES(HELPED_WORD)};

/* A judged run, from which the keys are written. */
struct judged {
    const struct jr_judgement *report;
    const struct jr_plan *plan;
    const struct jr_outcome *outcome;
    struct utsname here;
};

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

static void put_together(struct jr_buf *out, const struct jr_json_row *row, const void *const *from)
{
    const struct jr_results_cause *cause = from[0];
    jr_json_key(out, row->key);
    jr_buf_char(out, '[');
    for (size_t i = 0; i < cause->together_count; i++)
        jr_buf_printf(out, "%s%u", i == 0 ? "" : ", ", cause->together[i]);
    jr_buf_char(out, ']');
}

static void get_together(void *const *to, const struct jr_json_row *row, const json_t *value)
{
    struct jr_results_cause *cause = to[0];
    size_t count = json_array_size(value);
    uint32_t *ranks = jr_arena_array(to[1], count, sizeof *ranks);
    (void)row;
    cause->together = ranks;
    cause->together_count = ranks == NULL ? 0 : count;
    for (size_t i = 0; i < cause->together_count; i++)
        ranks[i] = (uint32_t)json_integer_value(json_array_get(value, i));
}

#define OF_CAUSE(kind, member) JR_AT(struct jr_results_cause, kind, member)

static const struct jr_json_row cause_rows[] = {
    {"rank", "null: no rank, but jobrun itself or time.", OF_CAUSE(I64, rank), .none = JR_NONE_LESS,
     .shape.text = JR_SHAPE_COUNT},
    {"host", NULL, OF_CAUSE(TEXT, host), .shape.null = true},
    {"kind", NULL, OF_CAUSE(WORD, kind), JR_WORDS_AFTER_0(cause_kinds)},
    {"exit_code", NULL, OF_CAUSE(I32, exit_code), .none = JR_NONE_LESS},
    {"signal", "The signal's name.", OF_CAUSE(SIGNAL, signal), .none = JR_NONE_ZERO},
    {"message", NULL, OF_CAUSE(TEXT, message)},
    {"together", "Ranks whose failure cannot be distinguished from it.", .put = put_together,
     .get = get_together, .shape.text = "{\"type\": \"array\", \"items\": " JR_SHAPE_COUNT "}"},
};

json_t *jr_results_cause_json(const struct jr_results_cause *cause)
{
    if (cause->kind == JR_CAUSE_NONE)
        return json_null();
    return jr_json_rows_object(cause_rows, COUNT(cause_rows), (const void *[]){cause});
}

void jr_results_cause_read(struct jr_results_cause *ret, struct jr_arena *arena,
                           const json_t *object)
{
    jr_json_rows_get(cause_rows, COUNT(cause_rows), (void *[]){ret, arena}, arena, object);
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

/* The structs that a key of the run is in: one that is written, or one that is read. */
enum { IN_PLAN, IN_OUTCOME, IN_REPORT, IN_ALL, STRUCTS };

#define OF_PLAN(kind, member)    .in = IN_PLAN, JR_AT(struct jr_plan, kind, member)
#define OF_OUTCOME(kind, member) .in = IN_OUTCOME, JR_AT(struct jr_outcome, kind, member)
#define OF_REPORT(kind, member)  .in = IN_REPORT, JR_AT(struct jr_judgement, kind, member)

#define PUT(name)                                                                                  \
    static void put_##name(struct jr_buf *out, const struct jr_json_row *row,                      \
                           const void *const *from)
#define GET(name)                                                                                  \
    static void get_##name(void *const *to, const struct jr_json_row *row, const json_t *value)

static void put_json(struct jr_buf *out, const struct jr_json_row *row, json_t *value)
{
    jr_json_key(out, row->key);
    jr_json_print(out, value, 0);
    json_decref(value);
}

/* What is not written, but read. */
PUT(nothing)
{
    (void)out, (void)row, (void)from;
}

PUT(version)
{
    (void)from;
    jr_json_put_int(out, row->key, FORMAT_VERSION);
}

/* A later build may know more words: what is not known is no success. */
GET(status)
{
    struct jr_loaded_run *loaded = to[IN_ALL];
    const char *word = json_string_value(value);
    struct jr_judgement *report = &loaded->report;
    (void)row;
    if (word != NULL && jr_run_status_of(word, &report->status))
        return;
    report->status = JR_RUN_FAILED;
    report->error = word == NULL ? "its results.json states no status"
                                 : jr_arena_printf(&loaded->arena,
                                                   "its results.json has the status '%s', which "
                                                   "this version of jobrun does not know",
                                                   word);
}

GET(exit_code)
{
    struct jr_loaded_run *loaded = to[IN_ALL];
    (void)row;
    loaded->report.exit_code = (int)jr_json_below(value, EXIT_CODES);
    if (loaded->report.status == JR_RUN_STOPPED)
        loaded->outcome.stop_signal = loaded->report.exit_code - 128;
}

PUT(started)
{
    uint64_t began_ns = jr_judgement_began_wall_ns(from[IN_REPORT], from[IN_OUTCOME]);
    jr_json_put_decimal(out, row->key, began_ns / MS, 3);
}

PUT(seconds)
{
    const struct jr_outcome *outcome = from[IN_OUTCOME];
    uint64_t took_ns = outcome->ended_ns - jr_judgement_began_ns(from[IN_REPORT], outcome);
    put_json(out, row, json_real((double)(took_ns / 1000) / 1e6));
}

/* The ranks have it, too, and are read. */
PUT(ended)
{
    const struct jr_outcome *outcome = from[IN_OUTCOME];
    json_int_t ended = 0;
    for (uint32_t i = 0; i < outcome->count; i++)
        ended += outcome->ranks[i].left_running;
    jr_json_put_int(out, row->key, ended);
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

PUT(limit)
{
    const struct jr_plan *plan = from[IN_PLAN];
    const struct jr_outcome *outcome = from[IN_OUTCOME];
    struct jr_timeouts limits = plan->policy->timeouts;
    const uint64_t *ms = limit_for_timeout(&limits, outcome->timed_out_by);
    if (ms == NULL)
        jr_json_put_str(out, row->key, NULL);
    else
        jr_json_put_decimal(out, row->key, *ms, 3);
}

GET(limit)
{
    struct jr_loaded_run *loaded = to[IN_ALL];
    uint64_t *ms = limit_for_timeout(&loaded->policy.timeouts, loaded->outcome.timed_out_by);
    (void)row;
    if (ms != NULL)
        *ms = jr_clock_ns_of(json_number_value(value)) / MS;
}

PUT(cause)
{
    put_json(out, row, cause_value(from[IN_ALL]));
}

PUT(progress)
{
    const struct jr_outcome *outcome = from[IN_OUTCOME];
    put_json(out, row, jr_progress_json(outcome->progress));
}

GET(progress)
{
    struct jr_loaded_run *loaded = to[IN_ALL];
    (void)row;
    if (!json_is_object(value))
        return;
    loaded->outcome.progress = jr_progress_new(loaded->plan.count);
    if (loaded->outcome.progress != NULL)
        jr_progress_get(loaded->outcome.progress, value);
}

/* Which of jobrun's own two processes was killed. */
PUT(killed)
{
    const struct jr_outcome *outcome = from[IN_OUTCOME];
    bool guard = outcome->guard_pid != 0;
    int sig = jr_outcome_lost_by(outcome);
    char name[JR_SIGNAL_NAME];
    jr_signal_name(name, sig);
    put_json(out, row,
             !jr_outcome_lost(outcome)
                 ? json_null()
                 : json_pack("{s:s, s:o, s:o}", "process", guard ? "guard" : "runner", "pid",
                             guard ? json_integer(outcome->guard_pid) : json_null(), "signal",
                             jr_json_str(sig == 0 ? NULL : name)));
}

GET(killed)
{
    struct jr_outcome *outcome = to[IN_OUTCOME];
    const char *process = jr_json_get_str(value, "process");
    const char *name = jr_json_get_str(value, "signal");
    int sig = name == NULL ? 0 : jr_signal_of(name);
    (void)row;
    if (process != NULL && strcmp(process, "runner") == 0) {
        outcome->runner_signal = sig;
    } else if (process != NULL) {
        outcome->guard_pid = (int32_t)jr_json_get_u32(value, "pid");
        outcome->guard_signal = sig;
    }
}

static const struct jr_json_row killed_rows[] = {
    {"process", .shape.words = (const char *const[]){"guard", "runner"}, .shape.words_count = 2},
    {"pid", .shape.text = "{\"type\": \"integer\"}", .shape.null = true},
    {"signal", "Its name; null: the kernel did not say.", .shape.text = JR_SHAPE_TEXT,
     .shape.null = true},
};

PUT(took)
{
    const struct jr_attempt *attempt = from[0];
    jr_json_put_decimal(out, row->key, (attempt->ended_ns - attempt->started_ns) / MS, 3);
}

PUT(requeued)
{
    const struct jr_attempt *attempt = from[0];
    const char *word =
        attempt->continues == JR_REQUEUE_NONE ? "other" : jr_requeue_word(attempt->continues);
    jr_json_put_str(out, row->key, attempt->requeued ? word : NULL);
}

GET(requeued)
{
    struct jr_attempt *attempt = to[0];
    (void)row;
    attempt->continues = jr_requeue_of(json_string_value(value));
    attempt->requeued = json_is_string(value);
}

#define OF_ATTEMPT(kind, member) JR_AT(struct jr_attempt, kind, member)

/* The times are those of a run that began at 0. */
static const struct jr_json_row attempt_rows[] = {
    {"attempt", NULL, OF_ATTEMPT(U32, number)},
    {"status", NULL, OF_ATTEMPT(WORD, status), JR_WORDS(run_statuses),
     .shape.text = "{\"$ref\": \"#/properties/status\"}"},
    {"exit_code", NULL, OF_ATTEMPT(U32, exit_code), .limit = EXIT_CODES,
     .shape.text = "{\"type\": \"integer\", \"minimum\": 1, \"maximum\": 255}"},
    {"started", "Since the epoch.", OF_ATTEMPT(TIME, started_wall_ns)},
    {"seconds", NULL, OF_ATTEMPT(SPAN, ended_ns), .put = put_took},
    {"cause", NULL, OF_ATTEMPT(TEXT, cause), .none = JR_NONE_EMPTY},
    {"wait", "Before the next attempt.", OF_ATTEMPT(SECONDS, wait_ms)},
    {"step", "The furthest; null: none was made.", OF_ATTEMPT(I64, best),
     JR_TOLD_BY(struct jr_attempt, stepped), .shape.optional = true},
    {"requeued", "Why it was to be continued, and was; null: the next attempt is by `restart`.",
     .put = put_requeued, .get = get_requeued, JR_WORDS(requeue_causes), .shape.null = true,
     .shape.optional = true},
};

static const struct jr_json_row left_out_rows[] = {
    {"host", NULL, JR_AT(struct jr_lost_machine, TEXT, host), .none = JR_NONE_EMPTY},
    {"reason", NULL, JR_AT(struct jr_lost_machine, TEXT, reason), .none = JR_NONE_EMPTY},
};

static const struct jr_json_row stall_rows[] = {
    {"attempts", NULL, JR_AT(struct jr_stall, U32, attempts)},
    {"step", "The furthest step; null: none was made.", JR_AT(struct jr_stall, I64, step),
     JR_TOLD_BY(struct jr_stall, stepped)},
};

static const struct jr_json_row requeue_rows[] = {
    {"cause", "Why it is to be continued; null: it is not.",
     JR_AT(struct jr_requeue_state, WORD, cause), .none = JR_NONE_ZERO, .first = 1,
     JR_WORDS(requeue_causes)},
    {"requeues", NULL, JR_AT(struct jr_requeue_state, U32, done)},
    {"max", NULL, JR_AT(struct jr_requeue_state, U32, max)},
    {"queued", NULL, JR_AT(struct jr_requeue_state, FLAG, queued)},
};

/* An object that is null as long as there is nothing to say. */
PUT(stall)
{
    const struct jr_judgement *report = from[IN_REPORT];
    bool told = report->stall.attempts > 0;
    put_json(
        out, row,
        told ? jr_json_rows_object(stall_rows, COUNT(stall_rows), (const void *[]){&report->stall})
             : json_null());
}

PUT(requeue)
{
    const struct jr_judgement *report = from[IN_REPORT];
    bool told = report->requeue.cause != JR_REQUEUE_NONE || report->requeue.done > 0;
    put_json(out, row,
             told ? jr_json_rows_object(requeue_rows, COUNT(requeue_rows),
                                        (const void *[]){&report->requeue})
                  : json_null());
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
PUT(compared)
{
    const struct jr_plan *plan = from[IN_PLAN];
    const struct jr_outcome *outcome = from[IN_OUTCOME];
    const struct jr_results *wants = &plan->policy->results;
    const struct jr_judge judge = {.plan = plan, .outcome = outcome, .wants = wants};
    const char *common = NULL;
    if (wants->equal_count + wants->distinct_count == 0) {
        jr_json_put_str(out, row->key, NULL);
        return;
    }
    for (uint32_t i = 0; i < outcome->count; i++) {
        const char *source = jr_result_source(&judge, i);
        bool same = i == 0 || strcmp(source, common) == 0;
        common = same ? source : NULL;
        if (!same)
            break;
    }
    put_json(out, row,
             json_pack("{s:o, s:o, s:o}", "source", jr_json_str(common), "equal",
                       names_json(wants->equal, wants->equal_count), "distinct",
                       names_json(wants->distinct, wants->distinct_count)));
}

/* What was compared, and what reasons call the place where it was found: a path whose last
 * component that is. */
GET(compared)
{
    struct jr_loaded_run *loaded = to[IN_ALL];
    struct jr_results *wants = &loaded->policy.results;
    struct jr_strv equal = jr_results_texts(&loaded->arena, json_object_get(value, "equal"));
    struct jr_strv distinct = jr_results_texts(&loaded->arena, json_object_get(value, "distinct"));
    (void)row;
    wants->stated = value != NULL && !json_is_null(value);
    wants->equal = equal.items;
    wants->equal_count = (uint32_t)equal.count;
    wants->distinct = distinct.items;
    wants->distinct_count = (uint32_t)distinct.count;
    for (uint32_t i = 0; i < loaded->plan.count; i++)
        loaded->plan.ranks[i].result_path = jr_json_get_str(value, "source");
}

static const struct jr_json_row compared_rows[] = {
    {"source",
     "What reasons call the place that ranks deliver to; null: it has not the same name "
     "for all.",
     .shape.text = JR_SHAPE_TEXT, .shape.null = true},
    {"equal", .shape.text = JR_SHAPE_TEXTS},
    {"distinct", .shape.text = JR_SHAPE_TEXTS},
};

#define A_NUMBER .shape.text = "{\"type\": \"integer\"}", .shape.null = true
#define A_TEXT   .shape.text = JR_SHAPE_TEXT, .shape.null = true

/* How each node ended, as multinode.c has it. */
static const struct jr_json_row node_rows[] = {
    {"node_rank", .shape.text = JR_SHAPE_COUNT},
    {"host", A_TEXT},
    {"pid", "Of its jobrun.", A_NUMBER},
    {"status", "lost: its jobrun is gone and left no results. absent: it is not here.",
     .shape.text = "{\"anyOf\": [{\"$ref\": \"#/properties/status\"}, {\"enum\": "
                   "[\"lost\", \"absent\"]}]}"},
    {"exit_code", .shape.text = JR_SHAPE_CODE, .shape.null = true},
    {"cause", A_TEXT},
    {"part", "Its folder in the run's.", A_TEXT},
    {"fingerprint", A_TEXT, .shape.optional = true},
    {"world_size", "As this node has it.", A_NUMBER, .shape.optional = true},
    {"nodes", A_NUMBER, .shape.optional = true},
    {"ranks", .shape.optional = true,
     .shape.text =
         "{\"type\": [\"object\", \"null\"], \"description\": \"Those that its jobrun "
         "started.\", \"required\": [\"first\", \"count\"], \"properties\": "
         "{\"first\": " JR_SHAPE_COUNT ", \"count\": {\"type\": \"integer\", \"minimum\": 1}}}"},
};

/* A key is read after those that it depends on. */
static const struct jr_json_row run_rows[] = {
    {"format_version", .put = put_version, .join = JR_JOIN_ANY, .shape.text = "{\"const\": 1}"},
    {"run_id", NULL, OF_PLAN(TEXT, run_id), .join = JR_JOIN_ANY},
    {"name", NULL, OF_PLAN(TEXT, name), .join = JR_JOIN_ANY},
    {"fingerprint",
     "SHA-256 of all that belongs to the experiment; null: each node had its own jobrun, and they "
     "did not run the same.",
     OF_PLAN(TEXT, fingerprint), .shape.null = true},
    {"status", NULL, OF_REPORT(WORD, status), .get = get_status, JR_WORDS(run_statuses)},
    {"exit_code", NULL, OF_REPORT(I32, exit_code), .get = get_exit_code,
     .shape.text = JR_SHAPE_CODE},
    {"attempt",
     "The number of the last attempt. Everything here is about that attempt, except the times of "
     "the run.",
     OF_PLAN(U32, attempt), .join = JR_JOIN_MOST},
    {"started", "Since the epoch.", OF_OUTCOME(TIME, started_wall_ns), .put = put_started,
     .join = JR_JOIN_LEAST},
    {"finished", NULL, OF_OUTCOME(TIME, ended_wall_ns), .join = JR_JOIN_MOST},
    {"seconds", NULL, OF_OUTCOME(SPAN, ended_ns), .put = put_seconds},
    {"world_size", NULL, OF_PLAN(U32, world_size),
     .shape.text = "{\"type\": \"integer\", \"minimum\": 1}"},
    {"processes_left", "How many processes could not be killed.", OF_OUTCOME(U32, left),
     .join = JR_JOIN_SUM},
    {"processes_ended",
     "How many processes ranks that ended by themselves had left running: jobrun ended them.",
     .put = put_ended, .join = JR_JOIN_SUM, .shape.text = JR_SHAPE_COUNT},
    {"timed_out_by", "The field of `timeouts` that ended it; null: none did.",
     OF_OUTCOME(WORD, timed_out_by), .none = JR_NONE_ZERO, .join = JR_JOIN_DECIDER, .first = 1,
     JR_WORDS(run_timeouts)},
    {"timeout_seconds", "The value of that field.", .put = put_limit, .get = get_limit,
     .join = JR_JOIN_DECIDER, .shape.text = JR_SHAPE_SECONDS, .shape.null = true},
    {"root_cause", "What came first; null where nothing went wrong.", .put = put_cause,
     .shape.text = "{\"type\": \"object\"}", .shape.null = true},
    {"progress", "How far the job came; null: no rank told of a step.", .put = put_progress,
     .get = get_progress, .join = JR_JOIN_FIRST, .rows = jr_progress_rows,
     .rows_count = JR_PROGRESS_ROWS, .shape.null = true, .shape.optional = true},
    {"jobrun_killed",
     "Which of jobrun's two processes was killed, so that the other one ended the run; null: "
     "neither.",
     .put = put_killed, .get = get_killed, .join = JR_JOIN_DECIDER, JR_ROWS(killed_rows),
     .shape.null = true},
    {"inject", "The failures that --inject requested; null: none.", OF_PLAN(TEXT, inject),
     .join = JR_JOIN_ANY, .shape.null = true},
    {"attempts", "The earlier attempts, which failed or were to be continued.", .in = IN_REPORT,
     JR_LIST(struct jr_judgement, earlier, earlier_count, struct jr_attempt, attempt_rows)},
    {"left_out",
     "The machines that `spare_nodes` has left without ranks, because they could not take part, "
     "in the order in which that was found out.",
     .in = IN_REPORT,
     JR_LIST(struct jr_judgement, left_out, left_out_count, struct jr_lost_machine, left_out_rows),
     .join = JR_JOIN_ANY, .shape.optional = true},
    {"failed_alike",
     "How many of the last attempts failed in the same way at once; more than 1 means no "
     "progress.",
     OF_REPORT(U64, idle), .join = JR_JOIN_MOST},
    {"stall",
     "The last attempts got no further than those before them, and that many are too many "
     "(`progress.stall`); null: the job did not stall.",
     OF_REPORT(OBJECT, stall), JR_ROWS(stall_rows), .put = put_stall, .join = JR_JOIN_DECIDER,
     .shape.null = true, .shape.optional = true},
    {"requeue", "Whether the job is to be continued, and how often it was; null: neither.",
     OF_REPORT(OBJECT, requeue), JR_ROWS(requeue_rows), .put = put_requeue, .join = JR_JOIN_ANY,
     .shape.null = true, .shape.optional = true},
    {"not_restarted",
     "Why there was no further attempt; null: the job succeeded, was stopped, or `restart` allows "
     "none.",
     OF_REPORT(TEXT, not_again), .shape.null = true},
    {"compared", "The fields that `equal` and `distinct` name; null: none.", .put = put_compared,
     .get = get_compared, .join = JR_JOIN_FIRST, JR_ROWS(compared_rows), .shape.null = true},
    {"nodes",
     "Only in a run that was joined from parts, because each node had its own jobrun: how each "
     "node ended.",
     .kind = JR_ROW_VALUES, JR_ROWS(node_rows), .shape.optional = true},
};

json_t *jr_results_join(const json_t *const *parts, size_t count, const json_t *decider)
{
    return jr_json_rows_join(run_rows, COUNT(run_rows), parts, count, decider);
}

void jr_results_read(struct jr_loaded_run *to, const json_t *object)
{
    void *const structs[STRUCTS] = {&to->plan, &to->outcome, &to->report, to};
    jr_json_rows_get(run_rows, COUNT(run_rows), structs, &to->arena, object);
}

/* A rank: who it was, and what it delivered. There may be many, which are written one by one. The
 * structs are those of the rank; IN_ALL is its host when it is written. */

#define OF_RANK(kind, member)   .in = IN_PLAN, JR_AT(struct jr_plan_rank, kind, member)
#define OF_JUDGED(kind, member) .in = IN_REPORT, JR_AT(struct jr_rank_judgement, kind, member)

GET(node)
{
    struct jr_loaded_run *loaded = to[IN_ALL];
    struct jr_plan_rank *rank = to[IN_PLAN];
    (void)row;
    rank->node_rank = jr_json_below(value, MOST_RANKS);
    if (rank->node_rank >= loaded->plan.nodes)
        loaded->plan.nodes = rank->node_rank + 1;
}

/* A log that is not there is none. */
PUT(log)
{
    const struct jr_rank_outcome *outcome = from[IN_OUTCOME];
    const char *path = *(const char *const *)((const char *)from[IN_PLAN] + row->at);
    bool err = row->at == offsetof(struct jr_plan_rank, err_path);
    jr_json_put_str(out, row->key, outcome->silent[err] ? NULL : path);
}

PUT(host)
{
    jr_json_put_str(out, row->key, from[IN_ALL]);
}

GET(host)
{
    struct jr_loaded_run *loaded = to[IN_ALL];
    uint32_t node = ((const struct jr_plan_rank *)to[IN_PLAN])->node_rank;
    (void)row;
    while (loaded->hosts_count <= node)
        if (jr_arena_push(&loaded->arena, &loaded->hosts, &loaded->hosts_count,
                          sizeof *loaded->hosts) == NULL)
            return;
    loaded->hosts[node] = jr_arena_strdup(&loaded->arena, json_string_value(value));
}

GET(coordinates)
{
    struct jr_loaded_run *loaded = to[IN_ALL];
    struct jr_plan_rank *rank = to[IN_PLAN];
    (void)row;
    for (int axis = 0; axis < JR_AXIS_COUNT; axis++) {
        rank->at[axis] = jr_json_below(json_object_get(value, jr_words_axis(axis)), MOST_RANKS);
        if (rank->at[axis] >= loaded->plan.axis_size[axis])
            loaded->plan.axis_size[axis] = rank->at[axis] + 1;
    }
}

GET(state)
{
    struct jr_rank_judgement *rank = to[IN_REPORT];
    const char *word = json_string_value(value);
    (void)row;
    if (word == NULL || !jr_rank_state_of(word, &rank->state))
        rank->state = JR_RANK_FAILED; /* what is not known is no success */
}

PUT(error_file)
{
    const struct jr_plan_rank *rank = from[IN_PLAN];
    const struct jr_rank_judgement *judged = from[IN_REPORT];
    jr_json_put_str(out, row->key, judged->error_file ? rank->error_path : NULL);
}

GET(error_file)
{
    struct jr_plan_rank *rank = to[IN_PLAN];
    struct jr_rank_judgement *judged = to[IN_REPORT];
    (void)row;
    rank->error_path = json_string_value(value);
    judged->error_file = json_is_string(value);
}

PUT(error)
{
    const struct jr_rank_judgement *rank = from[IN_REPORT];
    jr_json_put_str(out, row->key, rank->reason != NULL ? rank->reason : rank->error);
}

PUT(result)
{
    const struct jr_rank_judgement *rank = from[IN_REPORT];
    jr_json_key(out, row->key);
    if (rank->text != NULL)
        jr_buf_add(out, json_string_value(rank->text), json_string_length(rank->text));
    else if (rank->result != NULL)
        jr_json_print(out, rank->result, 0);
    else
        jr_buf_str(out, "null");
}

GET(result)
{
    struct jr_rank_judgement *rank = to[IN_REPORT];
    (void)row;
    if (value != NULL && !json_is_null(value))
        rank->result = json_incref((json_t *)value);
}

/* What is wrong with a result is a reason, not the rank's own error. */
GET(result_error)
{
    struct jr_rank_judgement *rank = to[IN_REPORT];
    (void)row;
    if (!json_is_string(value) ||
        !jr_result_error_of(json_string_value(value), &rank->result_error))
        return;
    rank->reason = rank->error;
    rank->error = NULL;
}

PUT(digest)
{
    const struct jr_delivered *one = from[0];
    char digest[17];
    (void)snprintf(digest, sizeof digest, "%016" PRIx64, one->digest);
    jr_json_put_str(out, row->key, one->digest == 0 ? NULL : digest);
}

/* Whoever goes on with a sweep reads them where they are. */
PUT(artifacts)
{
    const struct jr_rank_judgement *rank = from[IN_REPORT];
    struct jr_json_row list = *row;
    list.put = NULL;
    if (rank->artifacts_count > 0)
        jr_json_row_put(out, &list, from);
}

GET(nothing)
{
    (void)to, (void)row, (void)value;
}

static const struct jr_json_row coordinate_rows[] = {
    {"model", NULL, JR_AT(struct jr_plan_rank, U32, at[JR_AXIS_MODEL])},
    {"pipeline", NULL, JR_AT(struct jr_plan_rank, U32, at[JR_AXIS_PIPELINE])},
    {"data", NULL, JR_AT(struct jr_plan_rank, U32, at[JR_AXIS_DATA])},
};

static const struct jr_json_row artifact_rows[] = {
    {"path", "Absolute, or relative to the run folder.", JR_AT(struct jr_delivered, TEXT, path)},
    {"bytes", NULL, JR_AT(struct jr_delivered, U64, size)},
    {"mtime_ns", NULL, JR_AT(struct jr_delivered, I64, mtime_ns)},
    {"digest", "Of its bytes, or of samples where they are many; null: they could not be read.",
     .put = put_digest, .shape.text = JR_SHAPE_TEXT, .shape.null = true},
};

/* The rank's identity. The host of a node is read if the node is known. */
static const struct jr_json_row identity_rows[] = {
    {"rank", "Its number in the world.", OF_RANK(U32, rank)},
    {"local_rank", "Its number on its node.", OF_RANK(U32, local_rank)},
    {"node_rank", NULL, OF_RANK(U32, node_rank), .get = get_node},
    {"host", NULL, A_TEXT, .put = put_host, .get = get_host},
    {"device", "Index or UUID of its device.", OF_RANK(TEXT, device), .shape.null = true},
    {"coordinates", "Its place in the mesh.", .kind = JR_ROW_OBJECT, JR_ROWS(coordinate_rows),
     .get = get_coordinates},
    {"state", "failed: the root cause, or together with it. stopped: by jobrun.",
     OF_JUDGED(WORD, state), .get = get_state, JR_WORDS(rank_states)},
};

#define A_PATH .shape.null = true, .shape.path = true

/* What it left. An error is read before the word for what it is. */
static const struct jr_json_row delivery_rows[] = {
    {"stdout",
     "Its log, relative to the run folder; null: there is none. It was not captured, or nothing "
     "was written to it (`stdout_silent`).",
     OF_RANK(TEXT, out_path), .put = put_log, A_PATH},
    {"stderr", NULL, OF_RANK(TEXT, err_path), .put = put_log, A_PATH},
    {"error_file", "Its uncaught exception.", OF_RANK(TEXT, error_path), .put = put_error_file,
     .get = get_error_file, A_PATH},
    {"error", "Why it failed or did not deliver, in one line.", OF_JUDGED(TEXT, error),
     .put = put_error, .shape.null = true},
    {"lost_peer",
     "Whether it failed in a way that only the loss of a peer causes, such as a connection that "
     "was reset.",
     OF_JUDGED(FLAG, lost_peer)},
    {"early", "Whether it had ended with 0 when the first rank failed.", OF_JUDGED(FLAG, early),
     .shape.optional = true},
    {"result", "The result that it delivered, which may be any JSON; null: none.",
     .put = put_result, .get = get_result, .shape.text = "{}"},
    {"result_error", "Why the result does not count; null: it counts.",
     OF_JUDGED(WORD, result_error), .none = JR_NONE_ZERO, .get = get_result_error,
     JR_WORDS_AFTER_0(result_errors)},
    {"unwritten", "Whether it wrote nothing to the file that JOBRUN_RESULT_FILE names.",
     OF_JUDGED(FLAG, unwritten), .shape.optional = true},
    {"differs",
     "Whether result_error comes from a comparison of the ranks' results, not from this result "
     "alone.",
     OF_JUDGED(FLAG, differs)},
    {"artifacts",
     "The files of `artifacts` that it delivered, and with one of the ranks those of the job, as "
     "they were then: by these --resume knows whether a cell's are still there. There is none for "
     "what is on another node.",
     .in = IN_REPORT,
     JR_LIST(struct jr_rank_judgement, artifacts, artifacts_count, struct jr_delivered,
             artifact_rows),
     .put = put_artifacts, .get = get_nothing, .shape.optional = true},
    {"log_secret",
     "Whether the last lines of its logs contain the value of a secret; if so, no report quotes "
     "them.",
     OF_JUDGED(FLAG, log_secret), .shape.optional = true},
    {"folder", "Only in a run that was joined from parts: the rank's folder within the run folder.",
     OF_RANK(TEXT, dir), .put = put_nothing, .shape.optional = true},
};

void jr_results_read_rank(struct jr_loaded_run *to, size_t i, const json_t *object)
{
    struct jr_progress *progress = to->outcome.progress;
    const json_t *steps = json_object_get(object, "progress");
    void *const structs[STRUCTS] = {&to->plan.ranks[i], &to->outcome.ranks[i], &to->report.ranks[i],
                                    to};
    jr_json_rows_get(identity_rows, COUNT(identity_rows), structs, &to->arena, object);
    jr_outcome_get(&to->outcome.ranks[i], object);
    if (progress != NULL && i < progress->count && json_is_object(steps))
        jr_progress_get_rank(&progress->ranks[i], progress, steps);
    jr_json_rows_get(delivery_rows, COUNT(delivery_rows), structs, &to->arena, object);
}

const char *jr_results_path(size_t i)
{
    for (size_t n = 0; n < COUNT(delivery_rows); n++)
        if (delivery_rows[n].shape.path && i-- == 0)
            return delivery_rows[n].key;
    return NULL;
}

/* All of it. */

static void put_rank(struct jr_buf *out, const struct judged *run, size_t i)
{
    const struct jr_plan_rank *plan = jr_plan_of(run->plan, i);
    const struct jr_progress *progress = run->outcome->progress;
    const void *const structs[STRUCTS] = {plan, &run->outcome->ranks[i], &run->report->ranks[i],
                                          jr_words_host(run->plan, plan->node_rank, &run->here)};
    jr_buf_char(out, '{');
    jr_json_rows_put(out, identity_rows, COUNT(identity_rows), structs);
    jr_outcome_put(out, &run->outcome->ranks[i]);
    if (progress != NULL && progress->all && i < progress->count && progress->ranks[i].any) {
        json_t *steps = jr_progress_rank_json(progress, &progress->ranks[i]);
        jr_json_key(out, "progress");
        jr_json_print(out, steps, 0);
        json_decref(steps);
    }
    jr_json_rows_put(out, delivery_rows, COUNT(delivery_rows), structs);
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
    const void *const structs[STRUCTS] = {plan, outcome, report, &run};
    (void)uname(&run.here);
    jr_buf_str(out, "{\n  ");
    for (size_t i = 0; i < COUNT(run_rows); i++) {
        size_t before = out->len;
        jr_json_row_put(out, &run_rows[i], structs);
        jr_buf_str(out, out->len > before ? ",\n  " : "");
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

static json_t *rank_schema(void)
{
    static const struct jr_json_row progress = {
        "progress", "How far it came, where the steps of several ranks count.",
        .rows = jr_progress_rows, .rows_count = JR_STEPS_ROWS, .shape.optional = true};
    json_t *properties = json_object(), *required = json_array();
    jr_json_rows_schema(identity_rows, COUNT(identity_rows), properties, required);
    jr_outcome_schema(properties, required);
    jr_json_rows_schema(&progress, 1, properties, required);
    jr_json_rows_schema(delivery_rows, COUNT(delivery_rows), properties, required);
    return json_pack("{s:s, s:s, s:o, s:o}", "description", "One rank.", "type", "object",
                     "required", required, "properties", properties);
}

void jr_schema_results(struct jr_buf *out)
{
    static const struct jr_json_row list = {
        "ranks", .shape.text = "{\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/rank\"}}"};
    json_t *properties = json_object(), *required = json_array();
    json_t *members = json_object(), *wanted = json_array();
    jr_json_rows_schema(run_rows, COUNT(run_rows), properties, required);
    /* of the root cause, which is described before its members are */
    jr_json_rows_schema(cause_rows, COUNT(cause_rows), members, wanted);
    jr_json_set(json_object_get(properties, "root_cause"), "required", wanted);
    jr_json_set(json_object_get(properties, "root_cause"), "properties", members);
    jr_json_rows_schema(&list, 1, properties, required);
    json_auto_t *schema = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:{s:o}}", "$schema",
        "https://json-schema.org/draft/2020-12/schema", "$id", "results-v1.schema.json", "title",
        "Results of a jobrun run, version 1", "description",
        "results.json of a run folder. A reader ignores keys that it does not know; times are "
        "seconds.",
        "type", "object", "required", required, "properties", properties, "$defs", "rank",
        rank_schema());
    jr_json_print(out, schema, 2);
    jr_buf_char(out, '\n');
}
