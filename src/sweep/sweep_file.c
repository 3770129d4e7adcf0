#include "sweep/sweep_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jobrun/error.h>

#include "base/json_row.h"

#include "base/banned.h"

static const json_t *rank_result(const json_t *rank)
{
    const json_t *result = json_object_get(rank, "result");
    const char *state = jr_json_get_str(rank, "state");
    bool delivered = state != NULL && strcmp(state, "succeeded") == 0;
    return delivered && json_is_object(result) ? result : NULL;
}

/* A field of all ranks that have it: its value, or of numbers that differ what they come to. */
static json_t *gather_field(const json_t *ranks, const char *name)
{
    const json_t *rank, *first = NULL;
    bool common = true, numbers = true;
    double sum = 0, min = INFINITY, max = -INFINITY;
    size_t i, count = 0;
    json_array_foreach(ranks, i, rank) {
        const json_t *value = json_object_get(rank_result(rank), name);
        if (value == NULL)
            continue;
        double number = json_number_value(value);
        first = count++ == 0 ? value : first;
        common &= json_equal(first, value) != 0;
        numbers &= json_is_number(value);
        sum += number;
        min = fmin(min, number);
        max = fmax(max, number);
    }
    if (common)
        return json_deep_copy(first);
    if (!numbers)
        return json_null();
    json_t *value = json_object();
    jr_json_set_real(value, "mean", sum / (double)count);
    jr_json_set_real(value, "min", min);
    jr_json_set_real(value, "max", max);
    jr_json_set(value, "first", json_deep_copy(first));
    return value;
}

json_t *jr_cell_result(const json_t *results)
{
    const json_t *ranks = json_object_get(results, "ranks");
    const json_t *rank;
    json_t *out = json_object();
    bool counts = false;
    size_t i;
    json_array_foreach(ranks, i, rank) {
        const json_t *result = rank_result(rank);
        counts |= result != NULL;
        for (void *at = json_object_iter((json_t *)result); at != NULL;
             at = json_object_iter_next((json_t *)result, at)) {
            const char *name = json_object_iter_key(at);
            if (json_object_get(out, name) == NULL)
                jr_json_set(out, name, gather_field(ranks, name));
        }
    }
    if (counts)
        return out;
    json_decref(out);
    return NULL;
}

bool jr_cell_result_number(const json_t *result, const struct jr_sweep_best *best, double *ret)
{
    static const char *const keys[] = {"mean", "min", "max", "first"};
    const json_t *value = json_object_get(result, best->field);
    if (json_is_object(value))
        value = json_object_get(value, keys[best->of]);
    if (!json_is_number(value))
        return false;
    *ret = json_number_value(value);
    return true;
}

static void add_result_number(struct jr_buf *out, const json_t *value)
{
    if (json_is_integer(value))
        jr_buf_printf(out, "%lld", (long long)json_integer_value(value));
    else
        jr_buf_printf(out, "%.6g", json_real_value(value));
}

void jr_cell_result_text(struct jr_buf *out, const json_t *value)
{
    const json_t *min = json_object_get(value, "min"), *max = json_object_get(value, "max");
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    if (json_is_number(value)) {
        add_result_number(out, value);
    } else if (json_is_number(min) && json_is_number(max)) {
        add_result_number(out, min);
        jr_buf_str(out, " .. ");
        add_result_number(out, max);
    } else if (json_is_string(value)) {
        jr_buf_safe(out, json_string_value(value));
    } else if (value == NULL || json_is_null(value)) {
        jr_buf_char(out, '-');
    } else {
        jr_json_print(&text, value, 0);
        jr_buf_safe(out, text.data == NULL ? "" : text.data);
    }
}

static bool has_begun(const struct jr_cell_state *state)
{
    return strcmp(state->status, "not_started") != 0;
}

/* Of a cell: the structs are the record of its sweep and its state. */
enum { RECORD, STATE };

/* Append a value, which is taken over; NULL: there was no memory for it. */
static void put_json(struct jr_buf *out, const struct jr_json_row *row, json_t *value)
{
    jr_json_key(out, row->key);
    jr_json_print(out, value, 0);
    json_decref(value);
}

static void put_values(struct jr_buf *out, const struct jr_json_row *row, const void *const *from)
{
    const struct jr_sweep_record *record = from[RECORD];
    const struct jr_cell_state *state = from[STATE];
    put_json(out, row, jr_cells_json(record->cells, (size_t)(state - record->states)));
}

/* An empty text is null. */
static void put_known_text(struct jr_buf *out, const struct jr_json_row *row,
                           const void *const *from)
{
    const char *text = (const char *)from[STATE] + row->at;
    jr_json_put_str(out, row->key, text[0] == '\0' ? NULL : text);
}

static void put_seconds(struct jr_buf *out, const struct jr_json_row *row, const void *const *from)
{
    const struct jr_cell_state *state = from[STATE];
    put_json(out, row, has_begun(state) ? json_real(state->seconds) : json_null());
}

static void put_result(struct jr_buf *out, const struct jr_json_row *row, const void *const *from)
{
    const struct jr_cell_state *state = from[STATE];
    put_json(out, row, state->result == NULL ? json_null() : json_incref(state->result));
}

static void put_run(struct jr_buf *out, const struct jr_json_row *row, const void *const *from)
{
    const struct jr_cell_state *state = from[STATE];
    char folder[16], run[32];
    jr_cell_folder(folder, state->number);
    (void)snprintf(run, sizeof run, JR_SWEEP_CELLS "/%s", folder);
    jr_json_put_str(out, row->key, has_begun(state) ? run : NULL);
}

#define WORD(word, class) word,
static const char *const statuses[] = {JR_CELL_STATUSES(WORD)};
#undef WORD

const char *jr_cell_json_status(const json_t *cell)
{
    const char *word = jr_json_get_str(cell, "status");
    for (size_t i = 0; word != NULL && i < sizeof statuses / sizeof *statuses; i++)
        if (strcmp(statuses[i], word) == 0)
            return statuses[i];
    return NULL;
}

#define MAY_BE_NULL(what) .shape = {.text = (what), .null = true}

/* The keys of a cell, in the order in which they are written. */
static const struct jr_json_row cell_rows[] = {
    {.key = "cell",
     JR_AT(struct jr_cell_state, U32, number),
     .in = STATE,
     .help = "Its number, which belongs to its values for ever."},
    {.key = "values",
     .put = put_values,
     .shape = {.text = "{\"type\": \"object\"}"},
     .help = "The fields of the spec that it sets, by their paths. A number that JSON "
             "cannot hold is a string."},
    {.key = "status",
     JR_AT(struct jr_cell_state, TEXT, status),
     .in = STATE,
     JR_WORDS(statuses),
     .help = "As in results.json, or not_started, or running. lost: it had begun, and "
             "neither its process nor its results are there, as where its node was "
             "lost, or the jobrun of the sweep was killed."},
    {.key = "fingerprint",
     .put = put_known_text,
     .at = offsetof(struct jr_cell_state, fingerprint),
     MAY_BE_NULL(JR_SHAPE_TEXT),
     .help = "Of the experiment that ran; null: none did."},
    {.key = "code",
     .put = put_known_text,
     .at = offsetof(struct jr_cell_state, code),
     MAY_BE_NULL(JR_SHAPE_TEXT),
     .help = "The name of the git tree that it ran with; null: not known."},
    {.key = "host",
     JR_AT(struct jr_cell_state, TEXT, host),
     .in = STATE,
     .shape = {.text = JR_SHAPE_TEXT, .null = true, .optional = true},
     .help = "The machine that it runs or ran on, of several nodes that of its first "
             "rank; null: not known. Sweeps of earlier builds have none."},
    {.key = "seconds",
     .put = put_seconds,
     MAY_BE_NULL(JR_SHAPE_SECONDS),
     .help = "How long it ran; null: it has not begun."},
    {.key = "result",
     .put = put_result,
     MAY_BE_NULL("{\"type\": \"object\"}"),
     .help = "The fields that its ranks delivered: the value that they have in common; "
             "of numbers that differ an object of mean, min, max and first; null for "
             "what else differs. null: no rank has a result that counts."},
    {.key = "run",
     .put = put_run,
     MAY_BE_NULL(JR_SHAPE_TEXT),
     .help = "Its run folder, in that of the sweep; null: it has not begun."},
};

#define CELL_ROWS (sizeof cell_rows / sizeof *cell_rows)

/* The schema of an object of such rows. */
static json_t *object_schema(const struct jr_json_row *rows, size_t count, const char *help)
{
    json_t *schema = json_object(), *properties = json_object(), *required = json_array();
    jr_json_rows_schema(rows, count, properties, required);
    if (help != NULL)
        jr_json_set_str(schema, "description", help);
    jr_json_set_str(schema, "type", "object");
    jr_json_set(schema, "required", required);
    jr_json_set(schema, "properties", properties);
    return schema;
}

enum { PIECE = 64 << 10 };

void jr_cell_folder(char ret[static 16], uint32_t number)
{
    (void)snprintf(ret, 16, "%04u", number);
}

int jr_cell_status_class(const char *status)
{
    static const struct {
        const char *word;
        int code;
#define ROW(status_word, class) {status_word, class},
    } rows[] = {JR_CELL_STATUSES(ROW)};
#undef ROW
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].word, status) == 0)
            return rows[i].code;
    return 0;
}

static json_t *axis_json(const struct jr_sweep_axis *axis)
{
    json_t *object = json_object(), *values = json_array();
    size_t fields = axis->fields_count;
    struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT;
    for (size_t i = 0; i < fields; i++) {
        jr_buf_str(&path, i == 0 ? "" : ",");
        jr_buf_str(&path, axis->fields[i].path);
    }
    for (size_t i = 0; i < axis->count; i++) {
        json_t *value = fields == 1 ? NULL : json_array();
        for (size_t j = 0; j < fields; j++) {
            json_t *one = jr_cell_value_json(axis->values[i * fields + j]);
            if (fields == 1)
                value = one;
            else
                jr_json_append(value, one);
        }
        jr_json_append(values, value);
    }
    jr_json_set(object, "path", jr_json_buf(&path));
    jr_json_set(object, "values", values);
    return object;
}

/* Of the file: the structs are the record, and how it goes. */
struct writing {
    const struct jr_drain *drain;
    bool *ended; /* not all of it can be written */
};

static void put_version(struct jr_buf *out, const struct jr_json_row *row, const void *const *from)
{
    (void)from;
    jr_json_put_int(out, row->key, 1);
}

static void put_code_of_now(struct jr_buf *out, const struct jr_json_row *row,
                            const void *const *from)
{
    const struct jr_sweep_record *record = from[RECORD];
    bool known = record->code != NULL && record->code[0] != '\0';
    jr_json_put_str(out, row->key, known ? record->code : NULL);
}

static void put_exit_code(struct jr_buf *out, const struct jr_json_row *row,
                          const void *const *from)
{
    const struct jr_sweep_record *record = from[RECORD];
    put_json(out, row, record->exit_code == NULL ? json_null() : json_integer(*record->exit_code));
}

/* Who runs the cells, where that is no jobrun which leads the sweep. */
static void put_submitted(struct jr_buf *out, const struct jr_json_row *row,
                          const void *const *from)
{
    const struct jr_sweep_record *record = from[RECORD];
    if (record->submitted)
        put_json(out, row, json_pack("{s:s, s:s?}", "engine", "slurm", "job", record->job));
}

static void put_axes(struct jr_buf *out, const struct jr_json_row *row, const void *const *from)
{
    const struct jr_sweep_record *record = from[RECORD];
    const struct jr_sweep_axes *axes = record->cells->axes;
    jr_json_key(out, row->key);
    jr_buf_char(out, '[');
    for (size_t i = 0; i < axes->count; i++) {
        json_t *axis = axis_json(&axes->axes[i]);
        jr_buf_str(out, i == 0 ? "\n    " : ",\n    ");
        jr_json_print(out, axis, 0);
        json_decref(axis);
    }
    jr_buf_str(out, "\n  ]");
}

static void put_cells(struct jr_buf *out, const struct jr_json_row *row, const void *const *from)
{
    const struct jr_sweep_record *record = from[RECORD];
    const struct writing *writing = from[1];
    const struct jr_drain *drain = writing->drain;
    jr_buf_str(out, ",\n  ");
    jr_json_key(out, row->key);
    jr_buf_char(out, '[');
    for (size_t i = 0; i < record->cells->count && !*writing->ended; i++) {
        jr_buf_str(out, i == 0 ? "\n    {" : ",\n    {");
        jr_json_rows_put(out, cell_rows, CELL_ROWS, (const void *[]){record, &record->states[i]});
        jr_buf_char(out, '}');
        if (out->len > PIECE && drain != NULL)
            *writing->ended = drain->take(drain->data, out) != 0;
    }
    jr_buf_str(out, *writing->ended ? "" : "\n  ]");
}

static void put_former(struct jr_buf *out, const struct jr_json_row *row, const void *const *from)
{
    const struct jr_sweep_record *record = from[RECORD];
    if (json_array_size(record->former) > 0)
        put_json(out, row, json_deep_copy(record->former));
}

/* How many cells have each status, in the order in which they are met. */
static void put_counts(struct jr_buf *out, const struct jr_json_row *row, const void *const *from)
{
    const struct jr_sweep_record *record = from[RECORD];
    json_t *counts = json_object();
    for (size_t i = 0; i < record->cells->count; i++) {
        const char *status = record->states[i].status;
        json_t *count = json_object_get(counts, status);
        if (count == NULL)
            jr_json_set_int(counts, status, 1);
        else
            (void)json_integer_set(count, json_integer_value(count) + 1);
    }
    put_json(out, row, counts);
}

bool jr_cell_result_beats(const json_t *result, const struct jr_sweep_best *best, bool any,
                          double *most)
{
    double value;
    if (!jr_cell_result_number(result, best, &value))
        return false;
    if (any && !(best->goal == JR_GOAL_MAX ? value > *most : value < *most))
        return false;
    *most = value;
    return true;
}

long jr_sweep_record_best(const struct jr_sweep_record *record)
{
    double most = 0;
    long found = -1;
    for (size_t i = 0; i < record->cells->count; i++)
        if (strcmp(record->states[i].status, "succeeded") == 0 &&
            jr_cell_result_beats(record->states[i].result, &record->cells->axes->best, found >= 0,
                                 &most))
            found = (long)i;
    return found;
}

#define WORD(name, word, help) word,
static const char *const goals[] = {JR_SWEEP_GOALS(WORD)};
static const char *const ofs[] = {JR_SWEEP_OFS(WORD)};
#undef WORD

/* How cells are compared, and the best of them, -1. */
static const struct jr_json_row best_rows[] = {
    {.key = "field", JR_AT(struct jr_sweep_best, TEXT, field), .help = "The field of results."},
    {.key = "goal", JR_AT(struct jr_sweep_best, WORD, goal), JR_WORDS(goals)},
    {.key = "of",
     JR_AT(struct jr_sweep_best, WORD, of),
     JR_WORDS(ofs),
     .help = "Which of its ranks' values counts, where they differ."},
    {.key = "cell",
     .in = 1,
     .kind = JR_ROW_I64,
     .none = JR_NONE_LESS,
     .shape = {.text = JR_SHAPE_COUNT},
     .help = "The number of the best cell; null: none delivered the field."}};

#define BEST_ROWS (sizeof best_rows / sizeof *best_rows)

struct jr_sweep_best jr_sweep_best_of(const json_t *best)
{
    struct jr_sweep_best ret = {.field = NULL};
    int64_t cell;
    jr_json_rows_get(best_rows, BEST_ROWS, (void *[]){&ret, &cell}, NULL, best);
    return ret;
}

static void put_best(struct jr_buf *out, const struct jr_json_row *row, const void *const *from)
{
    const struct jr_sweep_record *record = from[RECORD];
    const struct jr_sweep_best *best = &record->cells->axes->best;
    long found = jr_sweep_record_best(record);
    int64_t cell = found < 0 ? -1 : (int64_t)record->states[found].number;
    put_json(out, row,
             best->field == NULL
                 ? json_null()
                 : jr_json_rows_object(best_rows, BEST_ROWS, (const void *[]){best, &cell}));
}

#define SHAPE_AXES                                                                                 \
    "{\"type\": \"array\", \"items\": {\"type\": \"object\","                                      \
    " \"required\": [\"path\", \"values\"], \"properties\": {"                                     \
    " \"path\": {\"type\": \"string\","                                                            \
    " \"description\": \"Of fields that go together: all, with commas.\"},"                        \
    " \"values\": {\"type\": \"array\", \"description\":"                                          \
    " \"Of fields that go together, each is a list.\"}}}}"
#define SHAPE_CELLS "{\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/cell\"}}"
#define SHAPE_SUBMITTED                                                                            \
    "{\"type\": \"object\", \"required\": [\"engine\", \"job\"],"                                  \
    " \"properties\": {\"engine\": {\"const\": \"slurm\"},"                                        \
    " \"job\": {\"type\": [\"string\", \"null\"], \"description\":"                                \
    " \"As sbatch prints it; null: not known yet.\"}}}"
#define SHAPE_FORMER                                                                               \
    "{\"type\": \"array\", \"items\": {\"type\": \"object\","                                      \
    " \"required\": [\"cell\", \"values\"], \"properties\": {"                                     \
    " \"cell\": " JR_SHAPE_COUNT ", \"values\": {\"type\": \"object\"}}}}"
#define SHAPE_COUNTS                                                                               \
    "{\"type\": \"object\", \"additionalProperties\": {\"type\": \"integer\","                     \
    " \"minimum\": 1}, \"propertyNames\":"                                                         \
    " {\"$ref\": \"#/$defs/cell/properties/status\"}}"
#define SHAPE_BEST "{\"anyOf\": [{\"type\": \"null\"}, {\"$ref\": \"#/$defs/best\"}]}"

/* The keys of the file, in the order in which they are written. */
static const struct jr_json_row sweep_rows[] = {
    {.key = "format_version", .put = put_version, .shape = {.text = "{\"const\": 1}"}},
    {.key = "sweep_id", JR_AT(struct jr_sweep_record, TEXT, sweep_id)},
    {.key = "name", JR_AT(struct jr_sweep_record, TEXT, name), .shape = {.null = true}},
    {.key = "spec",
     JR_AT(struct jr_sweep_record, TEXT, spec),
     .shape = {.null = true},
     .help = "The file of the spec, absolute; null: it has none."},
    {.key = "code",
     .put = put_code_of_now,
     MAY_BE_NULL(JR_SHAPE_TEXT),
     .help = "The name of the git tree when the sweep was run last; null: not known."},
    {.key = "exit_code",
     .put = put_exit_code,
     .shape = {.text = JR_SHAPE_CODE, .null = true, .optional = true},
     .help = "With which the sweep ended; null: it has not ended, was killed, or is a job array, "
             "whose exit status is that of its cells. Sweeps of earlier builds have none."},
    {.key = "submitted",
     .put = put_submitted,
     .shape = {.text = SHAPE_SUBMITTED, .optional = true},
     .help = "The cells are tasks of a job array."},
    {.key = "axes",
     .put = put_axes,
     .shape = {.text = SHAPE_AXES},
     .help = "In the order of the spec: the last one is the fastest."},
    {.key = "cells", .put = put_cells, .shape = {.text = SHAPE_CELLS}},
    {.key = "former",
     .put = put_former,
     .shape = {.text = SHAPE_FORMER, .optional = true},
     .help = "Cells that the axes do not have any more. Nobody else gets their numbers."},
    {.key = "counts",
     .put = put_counts,
     .shape = {.text = SHAPE_COUNTS},
     .help = "How many cells have each status."},
    {.key = "best",
     .put = put_best,
     .shape = {.text = SHAPE_BEST},
     .help = "null: the spec does not say how cells are compared."},
};

#define ROWS (sizeof sweep_rows / sizeof *sweep_rows)

void jr_sweep_record_json(struct jr_buf *out, const struct jr_sweep_record *record,
                          const struct jr_drain *drain)
{
    bool ended = false;
    const struct writing writing = {drain, &ended};
    jr_buf_char(out, '{');
    for (size_t i = 0; i < ROWS && !ended; i++) {
        struct jr_buf key JR_BUF_CLEANUP = JR_BUF_INIT;
        const void *const from[] = {record, &writing};
        bool cells = sweep_rows[i].put == put_cells; /* piece by piece */
        jr_json_row_put(cells ? out : &key, &sweep_rows[i], from);
        if (key.len > 0)
            jr_buf_str(out, i == 0 ? "\n  " : ",\n  ");
        jr_buf_add(out, key.data, key.len);
        out->failed |= key.failed;
    }
    if (!ended)
        jr_buf_str(out, "\n}\n");
}

void jr_sweep_record_schema(struct jr_buf *out)
{
    json_t *schema = json_object(), *parts = json_object();
    json_t *properties = json_object(), *required = json_array();
    jr_json_rows_schema(sweep_rows, ROWS, properties, required);
    jr_json_set_str(schema, "$schema", "https://json-schema.org/draft/2020-12/schema");
    jr_json_set_str(schema, "$id", "sweep-v1.schema.json");
    jr_json_set_str(schema, "title", "A sweep of jobrun, version 1");
    jr_json_set_str(schema, "description",
                    "sweep.json of a sweep's folder, and what `jobrun show SWEEP --format json` "
                    "prints. A reader ignores keys that it does not know.");
    jr_json_set_str(schema, "type", "object");
    jr_json_set(schema, "required", required);
    jr_json_set(schema, "properties", properties);
    jr_json_set(parts, "cell", object_schema(cell_rows, CELL_ROWS, "One cell."));
    jr_json_set(parts, "best", object_schema(best_rows, BEST_ROWS, NULL));
    jr_json_set(schema, "$defs", parts);
    jr_json_print(out, schema, 2);
    jr_buf_char(out, '\n');
    json_decref(schema);
}
