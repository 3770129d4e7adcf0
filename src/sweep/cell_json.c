#include "sweep/cell_json.h"

#include <stdio.h>
#include <string.h>

#include "base/json_shape.h"

#include "base/banned.h"

/* One key of a cell's object: what is written for cell `i`, and what the schema says of it. */
struct row {
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
static const struct row rows[] = {
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

#define ROWS (sizeof rows / sizeof *rows)

json_t *jr_cell_json(const struct jr_sweep_record *record, size_t i)
{
    json_t *cell = json_object();
    for (size_t k = 0; k < ROWS; k++)
        jr_json_set(cell, rows[k].key, rows[k].make(record, i));
    return cell;
}

json_t *jr_cell_json_schema(void)
{
    json_t *schema = json_object();
    json_t *properties = json_object(), *required = json_array();
    for (size_t i = 0; i < ROWS; i++)
        jr_json_shape_add(properties, rows[i].shape.optional ? NULL : required, rows[i].key,
                          jr_json_shape_schema(&rows[i].shape, rows[i].help));
    jr_json_set_str(schema, "description", "One cell.");
    jr_json_set_str(schema, "type", "object");
    jr_json_set(schema, "required", required);
    jr_json_set(schema, "properties", properties);
    return schema;
}
