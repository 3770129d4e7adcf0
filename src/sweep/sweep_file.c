#include "sweep/sweep_file.h"

#include <stdio.h>
#include <string.h>

#include <jobrun/error.h>

#include "base/json_shape.h"
#include "sweep/cell_json.h"
#include "sweep/cell_result.h"

#include "base/banned.h"

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

long jr_sweep_record_best(const struct jr_sweep_record *record)
{
    const struct jr_sweep_best *best = &record->cells->axes->best;
    double value, most = 0;
    long found = -1;
    for (size_t i = 0; i < record->cells->count; i++) {
        const struct jr_cell_state *state = &record->states[i];
        if (strcmp(state->status, "succeeded") != 0 ||
            !jr_cell_result_number(state->result, best, &value))
            continue;
        bool better = best->goal == JR_GOAL_MAX ? value > most : value < most;
        if (found >= 0 && !better)
            continue;
        found = (long)i;
        most = value;
    }
    return found;
}

#define WORD(name, word, help) word,
static const char *const goals[] = {JR_SWEEP_GOALS(WORD)};
static const char *const ofs[] = {JR_SWEEP_OFS(WORD)};
#undef WORD

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
static const struct sweep_row rows[] = {
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

#define ROWS (sizeof rows / sizeof *rows)

/* Returns whether all of it could be written. */
static bool write_row(const struct sweep_writer *writer, const struct sweep_row *row)
{
    if (row->has != NULL && !row->has(writer->record))
        return true;
    jr_buf_str(writer->out, row == rows ? "{\n  \"" : ",\n  \"");
    jr_buf_str(writer->out, row->key);
    jr_buf_str(writer->out, "\": ");
    if (row->write != NULL)
        return row->write(writer) == 0;
    json_t *value = row->make(writer->record);
    jr_json_print(writer->out, value, 0);
    json_decref(value);
    return true;
}

void jr_sweep_record_json(struct jr_buf *out, const struct jr_sweep_record *record,
                          const struct jr_drain *drain)
{
    const struct sweep_writer writer = {out, record, drain};
    for (size_t i = 0; i < ROWS; i++)
        if (!write_row(&writer, &rows[i]))
            return;
    jr_buf_str(out, "\n}\n");
}

void jr_sweep_record_schema(struct jr_buf *out)
{
    json_t *schema = json_object(), *parts = json_object();
    json_t *properties = json_object(), *required = json_array();
    for (size_t i = 0; i < ROWS; i++)
        jr_json_shape_add(properties, rows[i].shape.optional ? NULL : required, rows[i].key,
                          jr_json_shape_schema(&rows[i].shape, rows[i].help));
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
