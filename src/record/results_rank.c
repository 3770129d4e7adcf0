#include "record/results_rank.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json_shape.h"
#include "judge/words.h"
#include "record/results_policy.h"
#include "store/outcome_codec.h"

#include "base/banned.h"

/* No run has more ranks, so none has more nodes or a longer axis. */
enum { MOST_RANKS = 1 << 20 };

struct row {
    const char *key;
    void (*put)(struct jr_buf *out, const struct row *row, const struct jr_results_rank *rank);
    void (*get)(struct jr_loaded_run *loaded, const struct row *row, size_t i, const json_t *value);
    size_t at; /* the member of the plan's rank, or of its judgement */
    struct jr_json_shape shape;
    const char *help;
};

static void *rank_member(void *base, const struct row *row)
{
    return (char *)base + row->at;
}

static const void *const_rank_member(const void *base, const struct row *row)
{
    return (const char *)base + row->at;
}

static void put_rank_number(struct jr_buf *out, const struct row *row,
                            const struct jr_results_rank *rank)
{
    const uint32_t *number = const_rank_member(rank->plan, row);
    jr_json_put_int(out, row->key, *number);
}

static void get_rank_number(struct jr_loaded_run *loaded, const struct row *row, size_t i,
                            const json_t *value)
{
    uint32_t *number = rank_member(&loaded->plan.ranks[i], row);
    *number = jr_results_below(value, UINT32_MAX);
}

static void get_node(struct jr_loaded_run *loaded, const struct row *row, size_t i,
                     const json_t *value)
{
    (void)row;
    uint32_t node = jr_results_below(value, MOST_RANKS);
    loaded->plan.ranks[i].node_rank = node;
    if (node >= loaded->plan.nodes)
        loaded->plan.nodes = node + 1;
}

static void put_plan_text(struct jr_buf *out, const struct row *row,
                          const struct jr_results_rank *rank)
{
    const char *const *text = const_rank_member(rank->plan, row);
    jr_json_put_str(out, row->key, *text);
}

static void get_plan_text(struct jr_loaded_run *loaded, const struct row *row, size_t i,
                          const json_t *value)
{
    const char **text = rank_member(&loaded->plan.ranks[i], row);
    *text = json_string_value(value);
}

/* A log that is not there is none. */
static void put_log(struct jr_buf *out, const struct row *row, const struct jr_results_rank *rank)
{
    bool err = row->at == offsetof(struct jr_plan_rank, err_path);
    if (rank->outcome->silent[err])
        jr_json_put_str(out, row->key, NULL);
    else
        put_plan_text(out, row, rank);
}

static void put_rank_host(struct jr_buf *out, const struct row *row,
                          const struct jr_results_rank *rank)
{
    jr_json_put_str(out, row->key, rank->host);
}

static void get_rank_host(struct jr_loaded_run *loaded, const struct row *row, size_t i,
                          const json_t *value)
{
    (void)row;
    uint32_t node = loaded->plan.ranks[i].node_rank;
    while (loaded->hosts_count <= node)
        if (jr_arena_push(&loaded->arena, &loaded->hosts, &loaded->hosts_count,
                          sizeof *loaded->hosts) == NULL)
            return;
    loaded->hosts[node] = jr_arena_strdup(&loaded->arena, json_string_value(value));
}

static void put_coordinates(struct jr_buf *out, const struct row *row,
                            const struct jr_results_rank *rank)
{
    jr_json_key(out, row->key);
    jr_buf_char(out, '{');
    for (int axis = 0; axis < JR_AXIS_COUNT; axis++)
        jr_json_put_int(out, jr_words_axis(axis), rank->plan->at[axis]);
    jr_buf_char(out, '}');
}

static void get_coordinates(struct jr_loaded_run *loaded, const struct row *row, size_t i,
                            const json_t *value)
{
    (void)row;
    struct jr_plan *plan = &loaded->plan;
    for (int axis = 0; axis < JR_AXIS_COUNT; axis++) {
        uint32_t at = jr_results_below(json_object_get(value, jr_words_axis(axis)), MOST_RANKS);
        plan->ranks[i].at[axis] = at;
        if (at >= plan->axis_size[axis])
            plan->axis_size[axis] = at + 1;
    }
}

static void put_state(struct jr_buf *out, const struct row *row, const struct jr_results_rank *rank)
{
    jr_json_put_str(out, row->key, jr_rank_state_word(rank->report->state));
}

static void get_state(struct jr_loaded_run *loaded, const struct row *row, size_t i,
                      const json_t *value)
{
    (void)row;
    const char *word = json_string_value(value);
    enum jr_rank_state *state = &loaded->report.ranks[i].state;
    if (word == NULL || !jr_rank_state_of(word, state))
        *state = JR_RANK_FAILED; /* what is not known is no success */
}

static void put_error_file(struct jr_buf *out, const struct row *row,
                           const struct jr_results_rank *rank)
{
    jr_json_put_str(out, row->key, rank->report->error_file ? rank->plan->error_path : NULL);
}

static void get_error_file(struct jr_loaded_run *loaded, const struct row *row, size_t i,
                           const json_t *value)
{
    (void)row;
    loaded->plan.ranks[i].error_path = json_string_value(value);
    loaded->report.ranks[i].error_file = json_is_string(value);
}

static void put_error(struct jr_buf *out, const struct row *row, const struct jr_results_rank *rank)
{
    const char *reason = rank->report->reason;
    jr_json_put_str(out, row->key, reason != NULL ? reason : rank->report->error);
}

static void get_error(struct jr_loaded_run *loaded, const struct row *row, size_t i,
                      const json_t *value)
{
    (void)row;
    loaded->report.ranks[i].error = json_string_value(value);
}

static void put_flag(struct jr_buf *out, const struct row *row, const struct jr_results_rank *rank)
{
    const bool *flag = const_rank_member(rank->report, row);
    jr_json_put_bool(out, row->key, *flag);
}

static void get_flag(struct jr_loaded_run *loaded, const struct row *row, size_t i,
                     const json_t *value)
{
    bool *flag = rank_member(&loaded->report.ranks[i], row);
    *flag = json_is_true(value);
}

static void put_result(struct jr_buf *out, const struct row *row,
                       const struct jr_results_rank *rank)
{
    jr_json_key(out, row->key);
    if (rank->report->text != NULL)
        jr_buf_add(out, json_string_value(rank->report->text),
                   json_string_length(rank->report->text));
    else if (rank->report->result != NULL)
        jr_json_print(out, rank->report->result, 0);
    else
        jr_buf_str(out, "null");
}

static void get_result(struct jr_loaded_run *loaded, const struct row *row, size_t i,
                       const json_t *value)
{
    (void)row;
    if (value != NULL && !json_is_null(value))
        loaded->report.ranks[i].result = json_incref((json_t *)value);
}

static void put_result_error(struct jr_buf *out, const struct row *row,
                             const struct jr_results_rank *rank)
{
    enum jr_result_error error = rank->report->result_error;
    jr_json_put_str(out, row->key, error == JR_RESULT_NONE ? NULL : jr_result_error_word(error));
}

/* What is wrong with a result is a reason, not the rank's own error. */
static void get_result_error(struct jr_loaded_run *loaded, const struct row *row, size_t i,
                             const json_t *value)
{
    (void)row;
    struct jr_rank_judgement *rank = &loaded->report.ranks[i];
    if (!json_is_string(value) ||
        !jr_result_error_of(json_string_value(value), &rank->result_error))
        return;
    rank->reason = rank->error;
    rank->error = NULL;
}

static void put_artifacts(struct jr_buf *out, const struct row *row,
                          const struct jr_results_rank *rank)
{
    const struct jr_rank_judgement *report = rank->report;
    if (report->artifacts_count == 0)
        return;
    jr_json_key(out, row->key);
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

/* Whoever goes on with a sweep reads them where they are. */
static void get_artifacts(struct jr_loaded_run *loaded, const struct row *row, size_t i,
                          const json_t *value)
{
    (void)loaded;
    (void)row;
    (void)i;
    (void)value;
}

#define WORD(name, word) word,
static const char *const states[] = {JR_RANK_STATES(WORD)};
static const char *const errors[] = {JR_RESULT_ERRORS(WORD)};

#define PLAN(member)   offsetof(struct jr_plan_rank, member)
#define JUDGED(member) offsetof(struct jr_rank_judgement, member)
#define TEXT_OR_NULL                                                                               \
    {                                                                                              \
        .text = JR_SHAPE_TEXT, .null = true                                                        \
    }
#define PATH_OR_NULL                                                                               \
    {                                                                                              \
        .text = JR_SHAPE_TEXT, .null = true, .path = true                                          \
    }
#define COORDINATES                                                                                \
    "{\"type\": \"object\","                                                                       \
    " \"required\": [\"model\", \"pipeline\", \"data\"],"                                          \
    " \"properties\": {\"model\": " JR_SHAPE_COUNT ", \"pipeline\": " JR_SHAPE_COUNT               \
    ", \"data\": " JR_SHAPE_COUNT "}}"

#define ARTIFACTS                                                                                  \
    "{\"type\": \"array\", \"items\": {\"type\": \"object\","                                      \
    " \"required\": [\"path\", \"bytes\", \"mtime_ns\", \"digest\"],"                              \
    " \"properties\": {\"path\": {\"type\": \"string\","                                           \
    " \"description\": \"Absolute, or relative to the run folder.\"},"                             \
    " \"bytes\": " JR_SHAPE_COUNT ", \"mtime_ns\": {\"type\": \"integer\"},"                       \
    " \"digest\": {\"type\": [\"string\", \"null\"], \"description\":"                             \
    " \"Of its bytes, or of samples where they are many; null: they could"                         \
    " not be read.\"}}}}"

/* The rank's identity. The host of a node is read if the node is known. */
static const struct row identity[] = {
    {"rank",
     put_rank_number,
     get_rank_number,
     PLAN(rank),
     {.text = JR_SHAPE_COUNT},
     "Its number in the world."},
    {"local_rank",
     put_rank_number,
     get_rank_number,
     PLAN(local_rank),
     {.text = JR_SHAPE_COUNT},
     "Its number on its node."},
    {"node_rank", put_rank_number, get_node, PLAN(node_rank), {.text = JR_SHAPE_COUNT}, NULL},
    {"host", put_rank_host, get_rank_host, 0, TEXT_OR_NULL, NULL},
    {"device", put_plan_text, get_plan_text, PLAN(device), TEXT_OR_NULL,
     "Index or UUID of its device."},
    {"coordinates",
     put_coordinates,
     get_coordinates,
     0,
     {.text = COORDINATES},
     "Its place in the mesh."},
    {"state",
     put_state,
     get_state,
     0,
     {.words = states, .words_count = sizeof states / sizeof *states},
     "failed: the root cause, or together with it. stopped: by jobrun."},
};

/* What it left. An error is read before the word for what it is. */
static const struct row delivery[] = {
    {"stdout", put_log, get_plan_text, PLAN(out_path), PATH_OR_NULL,
     "Its log, relative to the run folder; null: there is none. It was not "
     "captured, or nothing was written to it (`stdout_silent`)."},
    {"stderr", put_log, get_plan_text, PLAN(err_path), PATH_OR_NULL, NULL},
    {"error_file", put_error_file, get_error_file, 0, PATH_OR_NULL, "Its uncaught exception."},
    {"error", put_error, get_error, 0, TEXT_OR_NULL,
     "Why it failed or did not deliver, in one line."},
    {"lost_peer",
     put_flag,
     get_flag,
     JUDGED(lost_peer),
     {.text = JR_SHAPE_FLAG},
     "Whether it failed in a way that only the loss of a peer causes, such as "
     "a connection that was reset."},
    {"early",
     put_flag,
     get_flag,
     JUDGED(early),
     {.text = JR_SHAPE_FLAG, .optional = true},
     "Whether it had ended with 0 when the first rank failed."},
    {"result",
     put_result,
     get_result,
     0,
     {.text = "{}"},
     "The result that it delivered, which may be any JSON; null: none."},
    {"result_error", put_result_error, get_result_error, 0, JR_SHAPE_WORDS(errors),
     "Why the result does not count; null: it counts."},
    {"unwritten",
     put_flag,
     get_flag,
     JUDGED(unwritten),
     {.text = JR_SHAPE_FLAG, .optional = true},
     "Whether it wrote nothing to the file that JOBRUN_RESULT_FILE names."},
    {"differs",
     put_flag,
     get_flag,
     JUDGED(differs),
     {.text = JR_SHAPE_FLAG},
     "Whether result_error comes from a comparison of the ranks' results, not "
     "from this result alone."},
    {"artifacts",
     put_artifacts,
     get_artifacts,
     0,
     {.text = ARTIFACTS, .optional = true},
     "The files of `artifacts` that it delivered, and with one of the ranks "
     "those of the job, as they were then: by these --resume knows whether a "
     "cell's are still there. There is none for what is on another node."},
    {"log_secret",
     put_flag,
     get_flag,
     JUDGED(log_secret),
     {.text = JR_SHAPE_FLAG, .optional = true},
     "Whether the last lines of its logs contain the value of a secret; if so, "
     "no report quotes them."},
};

/* Of a run that is joined from parts. */
static const struct row folder = {"folder",
                                  NULL,
                                  get_plan_text,
                                  PLAN(dir),
                                  {.text = JR_SHAPE_TEXT, .optional = true},
                                  "Only in a run that was joined from parts: "
                                  "the rank's folder within the run folder."};

#define COUNT(array) (sizeof(array) / sizeof *(array))

void jr_results_put_rank(struct jr_buf *out, const struct jr_results_rank *rank)
{
    jr_buf_char(out, '{');
    for (size_t i = 0; i < COUNT(identity); i++)
        identity[i].put(out, &identity[i], rank);
    jr_outcome_put(out, rank->outcome);
    jr_results_put_rank_progress(out, rank);
    for (size_t i = 0; i < COUNT(delivery); i++)
        delivery[i].put(out, &delivery[i], rank);
    jr_buf_char(out, '}');
}

static void get_rank_member(struct jr_loaded_run *loaded, const struct row *row, size_t i,
                            const json_t *object)
{
    row->get(loaded, row, i, json_object_get(object, row->key));
}

void jr_results_get_rank(struct jr_loaded_run *loaded, size_t i, const json_t *object)
{
    for (size_t n = 0; n < COUNT(identity); n++)
        get_rank_member(loaded, &identity[n], i, object);
    jr_outcome_get(&loaded->outcome.ranks[i], object);
    jr_results_get_rank_progress(loaded, i, json_object_get(object, "progress"));
    for (size_t n = 0; n < COUNT(delivery); n++)
        get_rank_member(loaded, &delivery[n], i, object);
    get_rank_member(loaded, &folder, i, object);
}

const char *jr_results_path(size_t i)
{
    for (size_t n = 0; n < COUNT(delivery); n++)
        if (delivery[n].shape.path && i-- == 0)
            return delivery[n].key;
    return NULL;
}

static void add_rank_rows(json_t *properties, json_t *required, const struct row *rows,
                          size_t count)
{
    for (size_t i = 0; i < count; i++)
        jr_json_shape_add(properties, rows[i].shape.optional ? NULL : required, rows[i].key,
                          jr_json_shape_schema(&rows[i].shape, rows[i].help));
}

json_t *jr_results_rank_schema(void)
{
    json_t *schema = json_object();
    json_t *properties = json_object(), *required = json_array();
    add_rank_rows(properties, required, identity, COUNT(identity));
    jr_outcome_schema(properties, required);
    jr_json_shape_add(
        properties, NULL, "progress",
        jr_json_shape_schema(&(struct jr_json_shape){.text = JR_SCHEMA_RANK_PROGRESS},
                             "How far it came, where the steps of several ranks count."));
    add_rank_rows(properties, required, delivery, COUNT(delivery));
    add_rank_rows(properties, required, &folder, 1);
    jr_json_set_str(schema, "description", "One rank.");
    jr_json_set_str(schema, "type", "object");
    jr_json_set(schema, "required", required);
    jr_json_set(schema, "properties", properties);
    return schema;
}
