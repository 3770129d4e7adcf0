#include "record/results_run.h"

#include "base/clock.h"
#include "base/json_shape.h"
#include "judge/words.h"
#include "record/results_cause.h"
#include "record/results_json.h"
#include "record/results_policy.h"
#include "record/results_rank.h"

#include "base/banned.h"

/* The shapes of keys that are no values of one member: lists of objects. */
#define JR_SCHEMA_CAUSE          "{}" /* filled in */
#define JR_SCHEMA_REQUEUE_CAUSES "[\"deadline\", \"preempted\", \"lost_node\", null]"
#define JR_SCHEMA_REQUEUED       "[\"deadline\", \"preempted\", \"lost_node\", \"other\", null]"
#define JR_SCHEMA_REQUEUE                                                                          \
    "{\"type\": [\"object\", \"null\"],"                                                           \
    " \"required\": [\"cause\", \"requeues\", \"max\", \"queued\"], "                              \
    "\"properties\": "                                                                             \
    "{\"cause\": {\"enum\": " JR_SCHEMA_REQUEUE_CAUSES ","                                         \
    " \"description\": \"Why it is to be continued; null: it is not.\"},"                          \
    " \"requeues\": " JR_SHAPE_COUNT ", \"max\": " JR_SHAPE_COUNT ","                              \
    " \"queued\": " JR_SHAPE_FLAG "}}"
#define JR_SCHEMA_ATTEMPTS                                                                         \
    "{\"type\": \"array\", \"items\": {\"type\": \"object\","                                      \
    " \"required\": [\"attempt\", \"status\", \"exit_code\", \"started\","                         \
    " \"seconds\", \"cause\", \"wait\"],"                                                          \
    " \"properties\": {\"attempt\": " JR_SHAPE_COUNT ","                                           \
    " \"status\": {\"$ref\": \"#/properties/status\"},"                                            \
    " \"exit_code\": {\"type\": \"integer\", \"minimum\": 1,"                                      \
    " \"maximum\": 255},"                                                                          \
    " \"started\": {\"type\": \"number\","                                                         \
    " \"description\": \"Since the epoch.\"},"                                                     \
    " \"seconds\": " JR_SHAPE_SECONDS ","                                                          \
    " \"cause\": {\"type\": \"string\"},"                                                          \
    " \"wait\": {\"type\": \"number\", \"minimum\": 0,"                                            \
    " \"description\": \"Before the next attempt.\"},"                                             \
    " \"step\": {\"type\": [\"integer\", \"null\"],"                                               \
    " \"description\": \"The furthest; null: none was made.\"},"                                   \
    " \"requeued\": {\"enum\": " JR_SCHEMA_REQUEUE_CAUSES ","                                      \
    " \"description\": \"Why it was to be continued, and was; null: the next "                     \
    "attempt is by `restart`.\"}}}}"
#define JR_SCHEMA_LEFT_OUT                                                                         \
    "{\"type\": \"array\", \"items\": {\"type\": \"object\","                                      \
    " \"required\": [\"host\", \"reason\"],"                                                       \
    " \"properties\": {\"host\": {\"type\": \"string\"},"                                          \
    " \"reason\": {\"type\": \"string\"}}}}"
#define JR_SCHEMA_COMPARED                                                                         \
    "{\"type\": [\"object\", \"null\"],"                                                           \
    " \"required\": [\"source\", \"equal\", \"distinct\"],"                                        \
    " \"properties\": {\"source\": {\"type\": [\"string\", \"null\"],"                             \
    " \"description\": \"What reasons call the place that ranks deliver to;"                       \
    " null: it has not the same name for all.\"},"                                                 \
    " \"equal\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}},"                        \
    " \"distinct\": {\"type\": \"array\","                                                         \
    " \"items\": {\"type\": \"string\"}}}}"
#define JR_SCHEMA_KILLED                                                                           \
    "{\"type\": [\"object\", \"null\"],"                                                           \
    " \"required\": [\"process\", \"pid\", \"signal\"],"                                           \
    " \"properties\": {\"process\": {\"enum\": [\"guard\", \"runner\"]},"                          \
    " \"pid\": {\"type\": [\"integer\", \"null\"]},"                                               \
    " \"signal\": {\"type\": [\"string\", \"null\"],"                                              \
    " \"description\": \"Its name; null: the kernel did not say.\"}}}"
#define JR_SCHEMA_NODES                                                                            \
    "{\"type\": \"array\", \"items\": {\"type\": \"object\","                                      \
    " \"required\": [\"node_rank\", \"host\", \"pid\", \"status\","                                \
    " \"exit_code\", \"cause\", \"part\"],"                                                        \
    " \"properties\": {\"node_rank\": " JR_SHAPE_COUNT ","                                         \
    " \"host\": {\"type\": [\"string\", \"null\"]},"                                               \
    " \"pid\": {\"type\": [\"integer\", \"null\"],"                                                \
    " \"description\": \"Of its jobrun.\"},"                                                       \
    " \"status\": {\"anyOf\": [{\"$ref\": \"#/properties/status\"},"                               \
    " {\"enum\": [\"lost\", \"absent\"]}], \"description\": \"lost: its"                           \
    " jobrun is gone and left no results. absent: it is not here.\"},"                             \
    " \"exit_code\": {\"type\": [\"integer\", \"null\"], \"minimum\": 0,"                          \
    " \"maximum\": 255},"                                                                          \
    " \"cause\": {\"type\": [\"string\", \"null\"]},"                                              \
    " \"part\": {\"type\": [\"string\", \"null\"],"                                                \
    " \"description\": \"Its folder in the run's.\"},"                                             \
    " \"fingerprint\": {\"type\": [\"string\", \"null\"]},"                                        \
    " \"world_size\": {\"type\": [\"integer\", \"null\"],"                                         \
    " \"description\": \"As this node has it.\"},"                                                 \
    " \"nodes\": {\"type\": [\"integer\", \"null\"]},"                                             \
    " \"ranks\": {\"type\": [\"object\", \"null\"],"                                               \
    " \"description\": \"Those that its jobrun started.\","                                        \
    " \"required\": [\"first\", \"count\"],"                                                       \
    " \"properties\": {\"first\": " JR_SHAPE_COUNT ","                                             \
    " \"count\": {\"type\": \"integer\", \"minimum\": 1}}}}}}"

enum { FORMAT_VERSION = 1, EXIT_CODES = 256 };

#define US UINT64_C(1000) /* in nanoseconds */
#define MS UINT64_C(1000000)

static uint64_t json_duration_ns(const json_t *value)
{
    return jr_clock_ns_of(json_number_value(value));
}

static const void *plan_member(const struct jr_plan *plan, const struct jr_results_row *row)
{
    return (const char *)plan + row->at;
}

static void *plan_member_to_set(struct jr_plan *plan, const struct jr_results_row *row)
{
    return (char *)plan + row->at;
}

static void put_version(struct jr_buf *out, const struct jr_results_row *row,
                        const struct jr_results_run *run)
{
    (void)run;
    jr_json_put_int(out, row->key, FORMAT_VERSION);
}

static void put_text(struct jr_buf *out, const struct jr_results_row *row,
                     const struct jr_results_run *run)
{
    jr_json_put_str(out, row->key, *(const char *const *)plan_member(run->plan, row));
}

static void get_text(struct jr_loaded_run *loaded, const struct jr_results_row *row,
                     const json_t *value)
{
    const char **text = plan_member_to_set(&loaded->plan, row);
    *text = json_string_value(value);
}

static void put_run_number(struct jr_buf *out, const struct jr_results_row *row,
                           const struct jr_results_run *run)
{
    jr_json_put_int(out, row->key, *(const uint32_t *)plan_member(run->plan, row));
}

static void get_run_number(struct jr_loaded_run *loaded, const struct jr_results_row *row,
                           const json_t *value)
{
    uint32_t *number = plan_member_to_set(&loaded->plan, row);
    *number = jr_results_below(value, UINT32_MAX);
}

static void put_status(struct jr_buf *out, const struct jr_results_row *row,
                       const struct jr_results_run *run)
{
    jr_json_put_str(out, row->key, jr_run_status_word(run->report->status));
}

/* A later build may know more words: what is not known is no success. */
static void get_status(struct jr_loaded_run *loaded, const struct jr_results_row *row,
                       const json_t *value)
{
    (void)row;
    const char *word = json_string_value(value);
    struct jr_judgement *report = &loaded->report;
    if (word != NULL && jr_run_status_of(word, &report->status))
        return;
    report->status = JR_RUN_FAILED;
    report->error = word == NULL ? "its results.json states no status"
                                 : jr_arena_printf(&loaded->arena,
                                                   "its results.json has the status '%s', which "
                                                   "this version of jobrun does not know",
                                                   word);
}

static void put_run_exit_code(struct jr_buf *out, const struct jr_results_row *row,
                              const struct jr_results_run *run)
{
    jr_json_put_int(out, row->key, run->report->exit_code);
}

static void get_run_exit_code(struct jr_loaded_run *loaded, const struct jr_results_row *row,
                              const json_t *value)
{
    (void)row;
    loaded->report.exit_code = (int)jr_results_below(value, EXIT_CODES);
    if (loaded->report.status == JR_RUN_STOPPED)
        loaded->outcome.stop_signal = loaded->report.exit_code - 128;
}

static void put_started(struct jr_buf *out, const struct jr_results_row *row,
                        const struct jr_results_run *run)
{
    uint64_t ns = jr_judgement_began_wall_ns(run->report, run->outcome);
    jr_json_put_decimal(out, row->key, ns / MS, 3);
}

static void get_started(struct jr_loaded_run *loaded, const struct jr_results_row *row,
                        const json_t *value)
{
    (void)row;
    loaded->outcome.started_wall_ns = json_duration_ns(value);
}

static void put_finished(struct jr_buf *out, const struct jr_results_row *row,
                         const struct jr_results_run *run)
{
    jr_json_put_decimal(out, row->key, run->outcome->ended_wall_ns / MS, 3);
}

static void get_finished(struct jr_loaded_run *loaded, const struct jr_results_row *row,
                         const json_t *value)
{
    (void)row;
    loaded->outcome.ended_wall_ns = json_duration_ns(value);
}

static void put_run_seconds(struct jr_buf *out, const struct jr_results_row *row,
                            const struct jr_results_run *run)
{
    uint64_t began_ns = jr_judgement_began_ns(run->report, run->outcome);
    jr_json_put_decimal(out, row->key, (run->outcome->ended_ns - began_ns) / US, 6);
}

static void get_run_seconds(struct jr_loaded_run *loaded, const struct jr_results_row *row,
                            const json_t *value)
{
    (void)row;
    loaded->outcome.ended_ns = json_duration_ns(value);
}

static void put_left(struct jr_buf *out, const struct jr_results_row *row,
                     const struct jr_results_run *run)
{
    jr_json_put_int(out, row->key, run->outcome->left);
}

static void get_left(struct jr_loaded_run *loaded, const struct jr_results_row *row,
                     const json_t *value)
{
    (void)row;
    loaded->outcome.left = jr_results_below(value, UINT32_MAX);
}

static void put_ended(struct jr_buf *out, const struct jr_results_row *row,
                      const struct jr_results_run *run)
{
    uint64_t ended = 0;
    for (uint32_t i = 0; i < run->outcome->count; i++)
        ended += run->outcome->ranks[i].left_running;
    jr_json_put_int(out, row->key, (json_int_t)ended);
}

/* The ranks have it. */
static void get_ended(struct jr_loaded_run *loaded, const struct jr_results_row *row,
                      const json_t *value)
{
    (void)loaded;
    (void)row;
    (void)value;
}

static void put_cause(struct jr_buf *out, const struct jr_results_row *row,
                      const struct jr_results_run *run)
{
    jr_json_key(out, row->key);
    jr_results_find_cause(out, run);
}

#define TEXT                                                                                       \
    {                                                                                              \
        .text = JR_SHAPE_TEXT                                                                      \
    }
#define COUNT                                                                                      \
    {                                                                                              \
        .text = JR_SHAPE_COUNT                                                                     \
    }
#define TIME                                                                                       \
    {                                                                                              \
        .text = "{\"type\": \"number\"}"                                                           \
    }
#define TEXT_OR_NULL                                                                               \
    {                                                                                              \
        .text = JR_SHAPE_TEXT, .null = true                                                        \
    }

#define WORD(name, word) word,
static const char *const statuses[] = {JR_RUN_STATUSES(WORD)};

/* A key is read after those that it depends on. */
static const struct jr_results_row rows[] = {
    {"format_version", put_version, NULL, JR_JOIN_ANY, 0, {.text = "{\"const\": 1}"}, NULL},
    {"run_id", put_text, get_text, JR_JOIN_ANY, offsetof(struct jr_plan, run_id), TEXT, NULL},
    {"name", put_text, get_text, JR_JOIN_ANY, offsetof(struct jr_plan, name), TEXT, NULL},
    {"fingerprint", put_text, get_text, JR_JOIN_OWN, offsetof(struct jr_plan, fingerprint),
     TEXT_OR_NULL,
     "SHA-256 of all that belongs to the experiment; null: each node had its "
     "own jobrun, and they did not run the same."},
    {"status",
     put_status,
     get_status,
     JR_JOIN_OWN,
     0,
     {.words = statuses, .words_count = sizeof statuses / sizeof *statuses},
     NULL},
    {"exit_code",
     put_run_exit_code,
     get_run_exit_code,
     JR_JOIN_OWN,
     0,
     {.text = JR_SHAPE_CODE},
     NULL},
    {"attempt", put_run_number, get_run_number, JR_JOIN_MOST, offsetof(struct jr_plan, attempt),
     COUNT,
     "The number of the last attempt. Everything here is about that attempt, "
     "except the times of the run."},
    {"started", put_started, get_started, JR_JOIN_LEAST, 0, TIME, "Since the epoch."},
    {"finished", put_finished, get_finished, JR_JOIN_MOST, 0, TIME, NULL},
    {"seconds", put_run_seconds, get_run_seconds, JR_JOIN_OWN, 0, {.text = JR_SHAPE_SECONDS}, NULL},
    {"world_size",
     put_run_number,
     get_run_number,
     JR_JOIN_OWN,
     offsetof(struct jr_plan, world_size),
     {.text = "{\"type\": \"integer\", \"minimum\": 1}"},
     NULL},
    {"processes_left", put_left, get_left, JR_JOIN_SUM, 0, COUNT,
     "How many processes could not be killed."},
    {"processes_ended", put_ended, get_ended, JR_JOIN_SUM, 0, COUNT,
     "How many processes ranks that ended by themselves had left running: jobrun ended them."},
    {"timed_out_by",
     jr_results_put_timeout,
     jr_results_get_timeout,
     JR_JOIN_DECIDER,
     0,
     {.words = jr_results_timeouts, .words_count = JR_RESULTS_TIMEOUTS, .null = true},
     "The field of `timeouts` that ended it; null: none did."},
    {"timeout_seconds",
     jr_results_put_limit,
     jr_results_get_limit,
     JR_JOIN_DECIDER,
     0,
     {.text = JR_SHAPE_SECONDS, .null = true},
     "The value of that field."},
    {"root_cause", put_cause, NULL, JR_JOIN_OWN, 0, {.text = JR_SCHEMA_CAUSE}, NULL},
    {"progress",
     jr_results_put_progress,
     jr_results_get_progress,
     JR_JOIN_FIRST,
     0,
     {.text = JR_SCHEMA_PROGRESS, .null = true, .optional = true},
     "How far the job came; null: no rank told of a step."},
    {"jobrun_killed",
     jr_results_put_killed,
     jr_results_get_killed,
     JR_JOIN_DECIDER,
     0,
     {.text = JR_SCHEMA_KILLED},
     "Which of jobrun's two processes was killed, so that the other one ended "
     "the run; null: neither."},
    {"inject", put_text, get_text, JR_JOIN_ANY, offsetof(struct jr_plan, inject), TEXT_OR_NULL,
     "The failures that --inject requested; null: none."},
    {"attempts",
     jr_results_put_attempts,
     jr_results_get_attempts,
     JR_JOIN_OWN,
     0,
     {.text = JR_SCHEMA_ATTEMPTS},
     "The earlier attempts, which failed or were to be continued."},
    {"left_out",
     jr_results_put_left_out,
     jr_results_get_left_out,
     JR_JOIN_ANY,
     0,
     {.text = JR_SCHEMA_LEFT_OUT, .optional = true},
     "The machines that `spare_nodes` has left without ranks, because they "
     "could not take part, in the order in which that was found out."},
    {"failed_alike",
     jr_results_put_idle,
     jr_results_get_idle,
     JR_JOIN_MOST,
     0,
     {.text = JR_SHAPE_COUNT},
     "How many of the last attempts failed in the same way at once; more than "
     "1 means no progress."},
    {"stall",
     jr_results_put_stall,
     jr_results_get_stall,
     JR_JOIN_DECIDER,
     0,
     {.text = JR_SCHEMA_STALL, .optional = true},
     "The last attempts got no further than those before them, and that many "
     "are too many (`progress.stall`); null: the job did not stall."},
    {"requeue",
     jr_results_put_requeue,
     jr_results_get_requeue,
     JR_JOIN_ANY,
     0,
     {.text = JR_SCHEMA_REQUEUE, .optional = true},
     "Whether the job is to be continued, and how often it was; null: neither."},
    {"not_restarted", jr_results_put_not_again, jr_results_get_not_again, JR_JOIN_OWN, 0,
     TEXT_OR_NULL,
     "Why there was no further attempt; null: the job succeeded, was stopped, "
     "or `restart` allows none."},
    {"compared",
     jr_results_put_compared,
     jr_results_get_compared,
     JR_JOIN_FIRST,
     0,
     {.text = JR_SCHEMA_COMPARED},
     "The fields that `equal` and `distinct` name; null: none."},
    {"nodes",
     NULL,
     NULL,
     JR_JOIN_OWN,
     0,
     {.text = JR_SCHEMA_NODES, .optional = true},
     "Only in a run that was joined from parts, because each node had its own "
     "jobrun: how each node ended."},
};

#define ROWS (sizeof rows / sizeof *rows)

void jr_results_put_run(struct jr_buf *out, const struct jr_results_run *run)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].put == NULL)
            continue;
        jr_buf_str(out, i == 0 ? "{\n  " : ",\n  ");
        rows[i].put(out, &rows[i], run);
    }
}

const struct jr_results_row *jr_results_rows(size_t *ret_count)
{
    *ret_count = ROWS;
    return rows;
}

void jr_results_get_run(struct jr_loaded_run *loaded, const json_t *object)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].get != NULL)
            rows[i].get(loaded, &rows[i], json_object_get(object, rows[i].key));
}

/* The rest of the schema: what is no plain value of its own. */
static void add_schema_parts(json_t *properties, json_t *required, json_t *schema)
{
    static const struct jr_json_shape list = {.text = "{\"type\": \"array\", \"items\": {\"$ref\": "
                                                      "\"#/$defs/rank\"}}"};
    json_t *parts = json_object();
    jr_json_set(properties, "root_cause", jr_results_cause_schema());
    jr_json_shape_add(properties, required, "ranks", jr_json_shape_schema(&list, NULL));
    jr_json_set(parts, "rank", jr_results_rank_schema());
    jr_json_set(schema, "required", required);
    jr_json_set(schema, "properties", properties);
    jr_json_set(schema, "$defs", parts);
}

void jr_schema_results(struct jr_buf *out)
{
    json_t *schema = json_object();
    json_t *properties = json_object(), *required = json_array();
    jr_json_set_str(schema, "$schema", "https://json-schema.org/draft/2020-12/schema");
    jr_json_set_str(schema, "$id", "results-v1.schema.json");
    jr_json_set_str(schema, "title", "Results of a jobrun run, version 1");
    jr_json_set_str(schema, "description",
                    "results.json of a run folder. A reader ignores keys that "
                    "it does not know; times are seconds.");
    jr_json_set_str(schema, "type", "object");
    for (size_t i = 0; i < ROWS; i++)
        jr_json_shape_add(properties, rows[i].shape.optional ? NULL : required, rows[i].key,
                          jr_json_shape_schema(&rows[i].shape, rows[i].help));
    add_schema_parts(properties, required, schema);
    jr_json_print(out, schema, 2);
    jr_buf_char(out, '\n');
    json_decref(schema);
}
