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

/* One key of a cell's object: what is written for cell `i`, and what the schema says of it. */
struct cell_row {
    const char *key;
    json_t *(*make)(const struct jr_sweep_record *record, size_t i);
    struct jr_json_shape shape;
    const char *help;
};

static bool has_begun(const struct jr_cell_state *state)
{
    return strcmp(state->status, "not_started") != 0;
}

/* An empty text is null. */
static json_t *known_text(const char *text)
{
    return text == NULL || text[0] == '\0' ? json_null() : jr_json_str(text);
}

static json_t *make_number(const struct jr_sweep_record *record, size_t i)
{
    return json_integer(record->states[i].number);
}

static json_t *make_values(const struct jr_sweep_record *record, size_t i)
{
    return jr_cells_json(record->cells, i);
}

static json_t *make_status(const struct jr_sweep_record *record, size_t i)
{
    return jr_json_str(record->states[i].status);
}

static json_t *make_fingerprint(const struct jr_sweep_record *record, size_t i)
{
    return known_text(record->states[i].fingerprint);
}

static json_t *make_code(const struct jr_sweep_record *record, size_t i)
{
    return known_text(record->states[i].code);
}

static json_t *make_host(const struct jr_sweep_record *record, size_t i)
{
    return known_text(record->states[i].host);
}

static json_t *make_seconds(const struct jr_sweep_record *record, size_t i)
{
    const struct jr_cell_state *state = &record->states[i];
    return has_begun(state) ? json_real(state->seconds) : json_null();
}

static json_t *make_result(const struct jr_sweep_record *record, size_t i)
{
    json_t *result = record->states[i].result;
    return result == NULL ? json_null() : json_incref(result);
}

static json_t *make_run(const struct jr_sweep_record *record, size_t i)
{
    const struct jr_cell_state *state = &record->states[i];
    char folder[16], run[32];
    jr_cell_folder(folder, state->number);
    (void)snprintf(run, sizeof run, JR_SWEEP_CELLS "/%s", folder);
    return known_text(has_begun(state) ? run : NULL);
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

/* The keys of a cell, in the order in which they are written. */
static const struct cell_row cell_rows[] = {
    {"cell",
     make_number,
     {.text = JR_SHAPE_COUNT},
     "Its number, which belongs to its values for ever."},
    {"values",
     make_values,
     {.text = "{\"type\": \"object\"}"},
     "The fields of the spec that it sets, by their paths. A number that JSON "
     "cannot hold is a string."},
    {"status",
     make_status,
     {.words = statuses, .words_count = sizeof statuses / sizeof *statuses},
     "As in results.json, or not_started, or running. lost: it had begun, and "
     "neither its process nor its results are there, as where its node was "
     "lost, or the jobrun of the sweep was killed."},
    {"fingerprint",
     make_fingerprint,
     {.text = JR_SHAPE_TEXT, .null = true},
     "Of the experiment that ran; null: none did."},
    {"code",
     make_code,
     {.text = JR_SHAPE_TEXT, .null = true},
     "The name of the git tree that it ran with; null: not known."},
    {"host",
     make_host,
     {.text = JR_SHAPE_TEXT, .null = true, .optional = true},
     "The machine that it runs or ran on, of several nodes that of its first "
     "rank; null: not known. Sweeps of earlier builds have none."},
    {"seconds",
     make_seconds,
     {.text = JR_SHAPE_SECONDS, .null = true},
     "How long it ran; null: it has not begun."},
    {"result",
     make_result,
     {.text = "{\"type\": \"object\"}", .null = true},
     "The fields that its ranks delivered: the value that they have in common; "
     "of numbers that differ an object of mean, min, max and first; null for "
     "what else differs. null: no rank has a result that counts."},
    {"run",
     make_run,
     {.text = JR_SHAPE_TEXT, .null = true},
     "Its run folder, in that of the sweep; null: it has not begun."},
};

#define CELL_ROWS (sizeof cell_rows / sizeof *cell_rows)

json_t *jr_cell_json(const struct jr_sweep_record *record, size_t i)
{
    json_t *cell = json_object();
    for (size_t k = 0; k < CELL_ROWS; k++)
        jr_json_set(cell, cell_rows[k].key, cell_rows[k].make(record, i));
    return cell;
}

json_t *jr_cell_json_schema(void)
{
    json_t *schema = json_object();
    json_t *properties = json_object(), *required = json_array();
    for (size_t i = 0; i < CELL_ROWS; i++)
        jr_json_shape_add(properties, cell_rows[i].shape.optional ? NULL : required,
                          cell_rows[i].key,
                          jr_json_shape_schema(&cell_rows[i].shape, cell_rows[i].help));
    jr_json_set_str(schema, "description", "One cell.");
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

/* What a row of the sweep's object is written with. */
struct sweep_writer {
    struct jr_buf *out;
    const struct jr_sweep_record *record;
    const struct jr_drain *drain;
};

/* One key of the sweep's object. `make` is NULL for what is written piece by piece; that it returns
 * NULL says that there was no memory. */
struct sweep_row {
    const char *key;
    json_t *(*make)(const struct jr_sweep_record *record);
    int (*write)(const struct sweep_writer *writer);
    bool (*has)(const struct jr_sweep_record *record); /* NULL: always */
    struct jr_json_shape shape;
    const char *help;
};

static json_t *make_version(const struct jr_sweep_record *record)
{
    (void)record;
    return json_integer(1);
}

static json_t *make_id(const struct jr_sweep_record *record)
{
    return jr_json_str(record->sweep_id);
}

static json_t *make_name(const struct jr_sweep_record *record)
{
    return jr_json_str(record->name);
}

static json_t *make_spec(const struct jr_sweep_record *record)
{
    return jr_json_str(record->spec);
}

static json_t *make_code_of_now(const struct jr_sweep_record *record)
{
    bool known = record->code != NULL && record->code[0] != '\0';
    return jr_json_str(known ? record->code : NULL);
}

static json_t *make_exit_code(const struct jr_sweep_record *record)
{
    return record->exit_code == NULL ? json_null() : json_integer(*record->exit_code);
}

/* Whether who runs the cells is no jobrun that leads the sweep. */
static bool is_submitted(const struct jr_sweep_record *record)
{
    return record->submitted;
}

static json_t *make_submitted(const struct jr_sweep_record *record)
{
    json_t *object = json_object();
    jr_json_set_str(object, "engine", "slurm");
    jr_json_set_str(object, "job", record->job);
    return object;
}

static int write_axes(const struct sweep_writer *writer)
{
    const struct jr_sweep_axes *axes = writer->record->cells->axes;
    jr_buf_char(writer->out, '[');
    for (size_t i = 0; i < axes->count; i++) {
        json_t *axis = axis_json(&axes->axes[i]);
        jr_buf_str(writer->out, i == 0 ? "\n    " : ",\n    ");
        jr_json_print(writer->out, axis, 0);
        json_decref(axis);
    }
    jr_buf_str(writer->out, "\n  ]");
    return 0;
}

static int write_cells(const struct sweep_writer *writer)
{
    const struct jr_drain *drain = writer->drain;
    jr_buf_char(writer->out, '[');
    for (size_t i = 0; i < writer->record->cells->count; i++) {
        json_t *cell = jr_cell_json(writer->record, i);
        jr_buf_str(writer->out, i == 0 ? "\n    " : ",\n    ");
        jr_json_print(writer->out, cell, 0);
        json_decref(cell);
        if (writer->out->len > PIECE && drain != NULL && drain->take(drain->data, writer->out) != 0)
            return -1;
    }
    jr_buf_str(writer->out, "\n  ]");
    return 0;
}

static bool has_former(const struct jr_sweep_record *record)
{
    return json_array_size(record->former) > 0;
}

static json_t *make_former(const struct jr_sweep_record *record)
{
    return json_deep_copy(record->former);
}

/* How many cells have each status, in the order in which they are met. */
static json_t *make_counts(const struct jr_sweep_record *record)
{
    json_t *counts = json_object();
    for (size_t i = 0; i < record->cells->count; i++) {
        const char *status = record->states[i].status;
        json_t *count = json_object_get(counts, status);
        if (count == NULL)
            jr_json_set_int(counts, status, 1);
        else
            (void)json_integer_set(count, json_integer_value(count) + 1);
    }
    return counts;
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

struct jr_sweep_best jr_sweep_best_of(const json_t *best)
{
    const char *goal = jr_json_get_str(best, "goal"), *of = jr_json_get_str(best, "of");
    struct jr_sweep_best ret = {.field = jr_json_get_str(best, "field")};
    for (size_t i = 0; goal != NULL && i < sizeof goals / sizeof *goals; i++)
        if (strcmp(goals[i], goal) == 0)
            ret.goal = (enum jr_sweep_goal)i;
    for (size_t i = 0; of != NULL && i < sizeof ofs / sizeof *ofs; i++)
        if (strcmp(ofs[i], of) == 0)
            ret.of = (enum jr_sweep_of)i;
    return ret;
}

static json_t *make_best(const struct jr_sweep_record *record)
{
    const struct jr_sweep_best *best = &record->cells->axes->best;
    long found = jr_sweep_record_best(record);
    json_t *object = best->field == NULL ? json_null() : json_object();
    if (best->field == NULL)
        return object;
    jr_json_set_str(object, "field", best->field);
    jr_json_set_str(object, "goal", goals[best->goal]);
    jr_json_set_str(object, "of", ofs[best->of]);
    jr_json_set(object, "cell",
                found < 0 ? json_null() : json_integer(record->states[found].number));
    return object;
}

/* How cells are compared, and the best of them. */
static json_t *best_schema(void)
{
    static const struct {
        const char *key;
        struct jr_json_shape shape;
        const char *help;
    } rows[] = {{"field", {.text = JR_SHAPE_TEXT}, "The field of results."},
                {"goal", {.words = goals, .words_count = sizeof goals / sizeof *goals}, NULL},
                {"of",
                 {.words = ofs, .words_count = sizeof ofs / sizeof *ofs},
                 "Which of its ranks' values counts, where they differ."},
                {"cell",
                 {.text = JR_SHAPE_COUNT, .null = true},
                 "The number of the best cell; null: none delivered the field."}};
    json_t *schema = json_object();
    json_t *properties = json_object(), *required = json_array();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        jr_json_shape_add(properties, required, rows[i].key,
                          jr_json_shape_schema(&rows[i].shape, rows[i].help));
    jr_json_set_str(schema, "type", "object");
    jr_json_set(schema, "required", required);
    jr_json_set(schema, "properties", properties);
    return schema;
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
static const struct sweep_row sweep_rows[] = {
    {"format_version", make_version, NULL, NULL, {.text = "{\"const\": 1}"}, NULL},
    {"sweep_id", make_id, NULL, NULL, {.text = JR_SHAPE_TEXT}, NULL},
    {"name", make_name, NULL, NULL, {.text = JR_SHAPE_TEXT, .null = true}, NULL},
    {"spec",
     make_spec,
     NULL,
     NULL,
     {.text = JR_SHAPE_TEXT, .null = true},
     "The file of the spec, absolute; null: it has none."},
    {"code",
     make_code_of_now,
     NULL,
     NULL,
     {.text = JR_SHAPE_TEXT, .null = true},
     "The name of the git tree when the sweep was run last; null: not known."},
    {"exit_code",
     make_exit_code,
     NULL,
     NULL,
     {.text = JR_SHAPE_CODE, .null = true, .optional = true},
     "With which the sweep ended; null: it has not ended, was killed, or is a job array, whose "
     "exit status is that of its cells. Sweeps of earlier builds have none."},
    {"submitted",
     make_submitted,
     NULL,
     is_submitted,
     {.text = SHAPE_SUBMITTED, .optional = true},
     "The cells are tasks of a job array."},
    {"axes",
     NULL,
     write_axes,
     NULL,
     {.text = SHAPE_AXES},
     "In the order of the spec: the last one is the fastest."},
    {"cells", NULL, write_cells, NULL, {.text = SHAPE_CELLS}, NULL},
    {"former",
     make_former,
     NULL,
     has_former,
     {.text = SHAPE_FORMER, .optional = true},
     "Cells that the axes do not have any more. Nobody else gets their numbers."},
    {"counts", make_counts, NULL, NULL, {.text = SHAPE_COUNTS}, "How many cells have each status."},
    {"best",
     make_best,
     NULL,
     NULL,
     {.text = SHAPE_BEST},
     "null: the spec does not say how cells are compared."},
};

#define ROWS (sizeof sweep_rows / sizeof *sweep_rows)

void jr_sweep_record_json(struct jr_buf *out, const struct jr_sweep_record *record,
                          const struct jr_drain *drain)
{
    const struct sweep_writer writer = {out, record, drain};
    for (size_t i = 0; i < ROWS; i++) {
        const struct sweep_row *row = &sweep_rows[i];
        if (row->has != NULL && !row->has(record))
            continue;
        jr_buf_str(out, i == 0 ? "{\n  \"" : ",\n  \"");
        jr_buf_str(out, row->key);
        jr_buf_str(out, "\": ");
        if (row->write != NULL && row->write(&writer) != 0)
            return; /* not all of it could be written */
        if (row->write != NULL)
            continue;
        json_t *value = row->make(record);
        jr_json_print(out, value, 0);
        json_decref(value);
    }
    jr_buf_str(out, "\n}\n");
}

void jr_sweep_record_schema(struct jr_buf *out)
{
    json_t *schema = json_object(), *parts = json_object();
    json_t *properties = json_object(), *required = json_array();
    for (size_t i = 0; i < ROWS; i++)
        jr_json_shape_add(properties, sweep_rows[i].shape.optional ? NULL : required,
                          sweep_rows[i].key,
                          jr_json_shape_schema(&sweep_rows[i].shape, sweep_rows[i].help));
    jr_json_set_str(schema, "$schema", "https://json-schema.org/draft/2020-12/schema");
    jr_json_set_str(schema, "$id", "sweep-v1.schema.json");
    jr_json_set_str(schema, "title", "A sweep of jobrun, version 1");
    jr_json_set_str(schema, "description",
                    "sweep.json of a sweep's folder, and what `jobrun show SWEEP --format json` "
                    "prints. A reader ignores keys that it does not know.");
    jr_json_set_str(schema, "type", "object");
    jr_json_set(schema, "required", required);
    jr_json_set(schema, "properties", properties);
    jr_json_set(parts, "cell", jr_cell_json_schema());
    jr_json_set(parts, "best", best_schema());
    jr_json_set(schema, "$defs", parts);
    jr_json_print(out, schema, 2);
    jr_buf_char(out, '\n');
    json_decref(schema);
}
