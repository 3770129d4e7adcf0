/* The run in results.json: every key but `ranks`, one a line. */
#include "results_fields.h"

#include <string.h>
#include <sys/utsname.h>

#include "clock.h"
#include "earlier.h"
#include "judge.h"
#include "outcome.h"
#include "schemas.h"
#include "signame.h"
#include "strv.h"
#include "words.h"

#include "banned.h"

enum { FORMAT_VERSION = 1, EXIT_CODES = 256 };

#define US UINT64_C(1000) /* in nanoseconds */
#define MS UINT64_C(1000000)

struct row {
    const char *key;
    void (*put)(struct jr_buf *out, const char *key,
                const struct jr_results_run *run);
    void (*get)(struct jr_past *past, const json_t *value); /* NULL: nobody */
    struct jr_shape shape;
    const char *help;
};

uint32_t jr_results_below(const json_t *value, uint32_t end)
{
    json_int_t number = json_integer_value(value);
    return number >= 0 && number < (json_int_t)end ? (uint32_t)number : 0;
}

static uint64_t ns_of(const json_t *value)
{
    return jr_clock_ns_of(json_number_value(value));
}

static void put_version(struct jr_buf *out, const char *key,
                        const struct jr_results_run *run)
{
    (void)run;
    jr_json_put_int(out, key, FORMAT_VERSION);
}

static void put_run_id(struct jr_buf *out, const char *key,
                       const struct jr_results_run *run)
{
    jr_json_put_str(out, key, run->plan->run_id);
}

static void get_run_id(struct jr_past *past, const json_t *value)
{
    past->plan.run_id = json_string_value(value);
}

static void put_name(struct jr_buf *out, const char *key,
                     const struct jr_results_run *run)
{
    jr_json_put_str(out, key, run->plan->name);
}

static void get_name(struct jr_past *past, const json_t *value)
{
    past->plan.name = json_string_value(value);
}

static void put_fingerprint(struct jr_buf *out, const char *key,
                            const struct jr_results_run *run)
{
    jr_json_put_str(out, key, run->plan->fingerprint);
}

static void get_fingerprint(struct jr_past *past, const json_t *value)
{
    past->plan.fingerprint = json_string_value(value);
}

static void put_status(struct jr_buf *out, const char *key,
                       const struct jr_results_run *run)
{
    jr_json_put_str(out, key, jr_run_status_word(run->report->status));
}

static void get_status(struct jr_past *past, const json_t *value)
{
    if (json_is_string(value))
        (void)jr_run_status_of(json_string_value(value), &past->report.status);
}

static void put_exit_code(struct jr_buf *out, const char *key,
                          const struct jr_results_run *run)
{
    jr_json_put_int(out, key, run->report->exit_code);
}

static void get_exit_code(struct jr_past *past, const json_t *value)
{
    past->report.exit_code = (int)jr_results_below(value, EXIT_CODES);
    if (past->report.status == JR_RUN_STOPPED)
        past->outcome.stop_signal = past->report.exit_code - 128;
}

static void put_attempt(struct jr_buf *out, const char *key,
                        const struct jr_results_run *run)
{
    jr_json_put_int(out, key, run->plan->attempt);
}

static void get_attempt(struct jr_past *past, const json_t *value)
{
    past->plan.attempt = jr_results_below(value, UINT32_MAX);
}

static void put_started(struct jr_buf *out, const char *key,
                        const struct jr_results_run *run)
{
    uint64_t ns = jr_report_began_wall_ns(run->report, run->outcome);
    jr_json_put_decimal(out, key, ns / MS, 3);
}

static void get_started(struct jr_past *past, const json_t *value)
{
    past->outcome.started_wall_ns = ns_of(value);
}

static void put_finished(struct jr_buf *out, const char *key,
                         const struct jr_results_run *run)
{
    jr_json_put_decimal(out, key, run->outcome->ended_wall_ns / MS, 3);
}

static void get_finished(struct jr_past *past, const json_t *value)
{
    past->outcome.ended_wall_ns = ns_of(value);
}

static void put_seconds(struct jr_buf *out, const char *key,
                        const struct jr_results_run *run)
{
    uint64_t began_ns = jr_report_began_ns(run->report, run->outcome);
    jr_json_put_decimal(out, key, (run->outcome->ended_ns - began_ns) / US, 6);
}

static void get_seconds(struct jr_past *past, const json_t *value)
{
    past->outcome.ended_ns = ns_of(value);
}

static void put_world_size(struct jr_buf *out, const char *key,
                           const struct jr_results_run *run)
{
    jr_json_put_int(out, key, run->plan->world_size);
}

static void get_world_size(struct jr_past *past, const json_t *value)
{
    past->plan.world_size = jr_results_below(value, UINT32_MAX);
}

static void put_left(struct jr_buf *out, const char *key,
                     const struct jr_results_run *run)
{
    jr_json_put_int(out, key, run->outcome->left);
}

static void get_left(struct jr_past *past, const json_t *value)
{
    past->outcome.left = jr_results_below(value, UINT32_MAX);
}

/* EXIT is of one rank. */
#define WORD(name, word) word,
static const char *const statuses[] = {JR_RUN_STATUSES(WORD)};
static const char *const timeouts[] = {JR_TIMEOUTS(WORD)};
enum { OF_THE_RUN = JR_TIMEOUT_EXIT };

static void put_timed_out_by(struct jr_buf *out, const char *key,
                             const struct jr_results_run *run)
{
    enum jr_timeout by = run->outcome->timed_out_by;
    jr_json_put_str(out, key, by == JR_TIMEOUT_NONE ? NULL : timeouts[by]);
}

static void get_timed_out_by(struct jr_past *past, const json_t *value)
{
    const char *word = json_string_value(value);
    for (int by = 1; word != NULL && by < OF_THE_RUN; by++)
        if (strcmp(timeouts[by], word) == 0)
            past->outcome.timed_out_by = (enum jr_timeout)by;
}

/* The limit, in milliseconds; NULL: there is none. */
static uint64_t *limit_of(struct jr_timeouts *limits, enum jr_timeout by)
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
    case JR_TIMEOUT_NONE:
    case JR_TIMEOUT_EXIT:
    case JR_TIMEOUT_COUNT:
        break;
    }
    return NULL;
}

static void put_limit(struct jr_buf *out, const char *key,
                      const struct jr_results_run *run)
{
    struct jr_timeouts limits = run->plan->policy->timeouts;
    const uint64_t *ms = limit_of(&limits, run->outcome->timed_out_by);
    if (ms != NULL)
        jr_json_put_decimal(out, key, *ms, 3);
    else
        jr_json_put_str(out, key, NULL);
}

static void get_limit(struct jr_past *past, const json_t *value)
{
    uint64_t *ms = limit_of(&past->policy.timeouts, past->outcome.timed_out_by);
    if (ms != NULL)
        *ms = ns_of(value) / MS;
}

static void put_cause(struct jr_buf *out, const char *key,
                      const struct jr_results_run *run)
{
    jr_json_key(out, key);
    jr_results_find_cause(out, run);
}

/* Which of jobrun's own two processes was killed. */
static void put_killed(struct jr_buf *out, const char *key,
                       const struct jr_results_run *run)
{
    const struct jr_outcome *outcome = run->outcome;
    int sig = jr_outcome_lost_by(outcome);
    bool guard = outcome->guard_pid != 0;
    char name[JR_SIGNAL_NAME];
    if (!jr_outcome_lost(outcome)) {
        jr_json_put_str(out, key, NULL);
        return;
    }
    jr_signal_name(name, sig);
    jr_json_key(out, key);
    jr_buf_char(out, '{');
    jr_json_put_str(out, "process", guard ? "guard" : "runner");
    if (guard)
        jr_json_put_int(out, "pid", outcome->guard_pid);
    else
        jr_json_put_str(out, "pid", NULL);
    jr_json_put_str(out, "signal", sig == 0 ? NULL : name);
    jr_buf_char(out, '}');
}

static void get_killed(struct jr_past *past, const json_t *value)
{
    const char *process = jr_json_get_str(value, "process");
    const char *name = jr_json_get_str(value, "signal");
    int sig = name == NULL ? 0 : jr_signal_of(name);
    if (process != NULL && strcmp(process, "runner") == 0) {
        past->outcome.runner_signal = sig;
    } else if (process != NULL) {
        past->outcome.guard_pid = (int32_t)jr_json_get_u32(value, "pid");
        past->outcome.guard_signal = sig;
    }
}

static void put_inject(struct jr_buf *out, const char *key,
                       const struct jr_results_run *run)
{
    jr_json_put_str(out, key, run->plan->inject);
}

static void get_inject(struct jr_past *past, const json_t *value)
{
    past->plan.inject = json_string_value(value);
}

static void put_attempts(struct jr_buf *out, const char *key,
                         const struct jr_results_run *run)
{
    jr_json_key(out, key);
    jr_earlier_json(out, run->report);
}

static void get_attempts(struct jr_past *past, const json_t *value)
{
    jr_earlier_load(&past->report, &past->arena, value);
}

static void put_alike(struct jr_buf *out, const char *key,
                      const struct jr_results_run *run)
{
    jr_json_put_int(out, key, (json_int_t)run->report->idle);
}

static void get_alike(struct jr_past *past, const json_t *value)
{
    past->report.idle = jr_results_below(value, UINT32_MAX);
}

static void put_not_again(struct jr_buf *out, const char *key,
                          const struct jr_results_run *run)
{
    jr_json_put_str(out, key, run->report->not_again);
}

static void get_not_again(struct jr_past *past, const json_t *value)
{
    past->report.not_again = json_string_value(value);
}

/* What reasons call the place that every rank delivers to; NULL: it has not
 * the same name for all. */
static const char *common_source(const struct jr_judge *judge)
{
    const char *name = NULL;
    for (uint32_t i = 0; i < judge->outcome->count; i++) {
        const char *source = jr_result_source(judge, i);
        if (name != NULL && strcmp(source, name) != 0)
            return NULL;
        name = source;
    }
    return name;
}

static void put_names(struct jr_buf *out, const char *key, char *const *names,
                      uint32_t count)
{
    jr_json_key(out, key);
    jr_buf_char(out, '[');
    for (uint32_t i = 0; i < count; i++) {
        jr_buf_str(out, i == 0 ? "" : ", ");
        jr_json_quote(out, names[i]);
    }
    jr_buf_char(out, ']');
}

/* The fields that were compared over the ranks: those of several nodes that had
 * a jobrun each are compared again by what joins them (across.c). */
static void put_compared(struct jr_buf *out, const char *key,
                         const struct jr_results_run *run)
{
    const struct jr_judge judge = {.plan = run->plan,
                                   .outcome = run->outcome,
                                   .wants = &run->plan->policy->results};
    const struct jr_results *wants = judge.wants;
    if (wants->equal_count + wants->distinct_count == 0) {
        jr_json_put_str(out, key, NULL);
        return;
    }
    jr_json_key(out, key);
    jr_buf_char(out, '{');
    jr_json_put_str(out, "source", common_source(&judge));
    put_names(out, "equal", wants->equal, wants->equal_count);
    put_names(out, "distinct", wants->distinct, wants->distinct_count);
    jr_buf_char(out, '}');
}

static char **names_of(struct jr_arena *arena, const json_t *list,
                       uint32_t *ret_count)
{
    struct jr_strv names = {0};
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (name != NULL)
            jr_strv_push(&names, arena, jr_arena_strdup(arena, name));
    }
    *ret_count = (uint32_t)names.count;
    return names.items;
}

/* What was compared, and what reasons call the place where it was found: a
 * path whose last component that is. */
static void get_compared(struct jr_past *past, const json_t *value)
{
    const char *source = jr_json_get_str(value, "source");
    struct jr_results *wants = &past->policy.results;
    wants->stated = value != NULL && !json_is_null(value);
    wants->equal = names_of(&past->arena, json_object_get(value, "equal"),
                            &wants->equal_count);
    wants->distinct = names_of(&past->arena, json_object_get(value, "distinct"),
                               &wants->distinct_count);
    for (uint32_t i = 0; i < past->plan.count; i++)
        past->plan.ranks[i].result_path = source;
}

#define TEXT                                                                   \
    {                                                                          \
        .text = JR_SHAPE_TEXT                                                  \
    }
#define COUNT                                                                  \
    {                                                                          \
        .text = JR_SHAPE_COUNT                                                 \
    }
#define TIME                                                                   \
    {                                                                          \
        .text = "{\"type\": \"number\"}"                                       \
    }
#define TEXT_OR_NULL                                                           \
    {                                                                          \
        .text = JR_SHAPE_TEXT, .null = true                                    \
    }

/* A key is read after those that it depends on. */
static const struct row rows[] = {
    {"format_version", put_version, NULL, {.text = "{\"const\": 1}"}, NULL},
    {"run_id", put_run_id, get_run_id, TEXT, NULL},
    {"name", put_name, get_name, TEXT, NULL},
    {"fingerprint", put_fingerprint, get_fingerprint, TEXT_OR_NULL,
     "SHA-256 over what was run, placement aside; null where nodes that had a "
     "jobrun each did not run the same."},
    {"status",
     put_status,
     get_status,
     {.words = statuses, .words_count = sizeof statuses / sizeof *statuses},
     NULL},
    {"exit_code", put_exit_code, get_exit_code, {.text = JR_SHAPE_CODE}, NULL},
    {"attempt", put_attempt, get_attempt, COUNT,
     "The last one, which all that is told here is of, but for the times of "
     "the run."},
    {"started", put_started, get_started, TIME, "Since the epoch."},
    {"finished", put_finished, get_finished, TIME, NULL},
    {"seconds", put_seconds, get_seconds, {.text = JR_SHAPE_SECONDS}, NULL},
    {"world_size",
     put_world_size,
     get_world_size,
     {.text = "{\"type\": \"integer\", \"minimum\": 1}"},
     NULL},
    {"processes_left", put_left, get_left, COUNT, "That could not be ended."},
    {"timed_out_by",
     put_timed_out_by,
     get_timed_out_by,
     {.words = timeouts + 1, .words_count = OF_THE_RUN - 1, .null = true},
     "The field of `timeouts` that ended it; null: none did."},
    {"timeout_seconds",
     put_limit,
     get_limit,
     {.text = JR_SHAPE_SECONDS, .null = true},
     "What that field was set to."},
    {"root_cause", put_cause, NULL, {.text = JR_SCHEMA_CAUSE}, NULL},
    {"jobrun_killed",
     put_killed,
     get_killed,
     {.text = JR_SCHEMA_KILLED, .optional = true},
     "The process of jobrun's two that was killed, after which the other one "
     "ended the run; null: neither was."},
    {"inject", put_inject, get_inject, TEXT_OR_NULL,
     "The failures that were rehearsed; null: none was ordered."},
    {"attempts",
     put_attempts,
     get_attempts,
     {.text = JR_SCHEMA_ATTEMPTS},
     "Those before it, which failed."},
    {"failed_alike",
     put_alike,
     get_alike,
     {.text = JR_SHAPE_COUNT, .optional = true},
     "How many of the last attempts failed the same way at once; more than 1 "
     "is no progress."},
    {"not_restarted", put_not_again, get_not_again, TEXT_OR_NULL,
     "Why there was no further attempt; null: it did well, was stopped, or "
     "`restart` asks for none."},
    {"compared",
     put_compared,
     get_compared,
     {.text = JR_SCHEMA_COMPARED},
     "The fields that `equal` and `distinct` name; null: none."},
    {"nodes",
     NULL,
     NULL,
     {.text = JR_SCHEMA_NODES, .optional = true},
     "Only of a run whose nodes had a jobrun each, which is joined from their "
     "parts: how each node ended."},
};

#define ROWS (sizeof rows / sizeof *rows)

void jr_results_put_run(struct jr_buf *out, const struct jr_results_run *run)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].put == NULL)
            continue;
        jr_buf_str(out, i == 0 ? "{\n  " : ",\n  ");
        rows[i].put(out, rows[i].key, run);
    }
}

void jr_results_get_run(struct jr_past *past, const json_t *object)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].get != NULL)
            rows[i].get(past, json_object_get(object, rows[i].key));
}

/* The rest of the schema: what is no plain value of its own. */
static void add_parts(json_t *properties, json_t *required, json_t *schema)
{
    static const struct jr_shape list = {
        .text = "{\"type\": \"array\", \"items\": {\"$ref\": "
                "\"#/$defs/rank\"}}"};
    json_t *parts = json_object();
    jr_json_set(properties, "root_cause", jr_results_cause_schema());
    jr_shape_add(properties, required, "ranks", jr_shape_schema(&list, NULL));
    jr_json_set(parts, "rank", jr_results_rank_schema());
    jr_json_set(schema, "required", required);
    jr_json_set(schema, "properties", properties);
    jr_json_set(schema, "$defs", parts);
}

void jr_schema_results(struct jr_buf *out)
{
    json_t *schema = json_object();
    json_t *properties = json_object(), *required = json_array();
    jr_json_set_str(schema, "$schema",
                    "https://json-schema.org/draft/2020-12/schema");
    jr_json_set_str(schema, "title", "Results of a jobrun run, version 1");
    jr_json_set_str(schema, "description",
                    "results.json of a run folder. A reader ignores keys that "
                    "it does not know; times are seconds.");
    jr_json_set_str(schema, "type", "object");
    for (size_t i = 0; i < ROWS; i++)
        jr_shape_add(properties, rows[i].shape.optional ? NULL : required,
                     rows[i].key,
                     jr_shape_schema(&rows[i].shape, rows[i].help));
    add_parts(properties, required, schema);
    jr_json_print(out, schema, 2);
    jr_buf_char(out, '\n');
    json_decref(schema);
}
