#include "sweep/sweep_file.h"

#include <stdio.h>
#include <string.h>

#include <jobrun/error.h>

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
    } rows[] = {{"succeeded", 0},
                {"failed", JR_STATUS_FAILED},
                {"stopped", JR_STATUS_FAILED},
                {"incomplete", JR_STATUS_INCOMPLETE},
                {"timed_out", JR_STATUS_TIMEOUT},
                {"hung", JR_STATUS_TIMEOUT},
                {"launch_failed", JR_STATUS_LAUNCH},
                {"yielded", JR_STATUS_YIELDED}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].word, status) == 0)
            return rows[i].code;
    return 0; /* it has not begun */
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

static void add_axes(struct jr_buf *out, const struct jr_sweep_axes *axes)
{
    jr_buf_str(out, "  \"axes\": [");
    for (size_t i = 0; i < axes->count; i++) {
        json_t *axis = axis_json(&axes->axes[i]);
        jr_buf_str(out, i == 0 ? "\n    " : ",\n    ");
        jr_json_print(out, axis, 0);
        json_decref(axis);
    }
    jr_buf_str(out, "\n  ],\n");
}

static void add_cell(struct jr_buf *out, const struct jr_sweep_record *record,
                     size_t i)
{
    const struct jr_cell_state *state = &record->states[i];
    bool begun = strcmp(state->status, "not_started") != 0;
    char folder[16], run[32];
    json_t *cell = json_object();
    jr_cell_folder(folder, state->number);
    (void)snprintf(run, sizeof run, JR_SWEEP_CELLS "/%s", folder);
    jr_json_set_int(cell, "cell", state->number);
    jr_json_set(cell, "values", jr_cells_json(record->cells, i));
    jr_json_set_str(cell, "status", state->status);
    jr_json_set_str(cell, "fingerprint",
                    state->fingerprint[0] == '\0' ? NULL : state->fingerprint);
    jr_json_set_str(cell, "code", state->code[0] == '\0' ? NULL : state->code);
    if (begun)
        jr_json_set_real(cell, "seconds", state->seconds);
    else
        jr_json_set_null(cell, "seconds");
    jr_json_set(cell, "result",
                state->result == NULL ? json_null()
                                      : json_incref(state->result));
    jr_json_set_str(cell, "run", begun ? run : NULL);
    jr_buf_str(out, i == 0 ? "\n    " : ",\n    ");
    jr_json_print(out, cell, 0);
    json_decref(cell);
}

/* Who runs the cells, where that is no jobrun that leads the sweep. */
static void add_submitted(struct jr_buf *out, const char *job)
{
    json_t *object = json_object();
    jr_json_set_str(object, "engine", "slurm");
    jr_json_set_str(object, "job", job);
    jr_buf_str(out, "  \"submitted\": ");
    jr_json_print(out, object, 0);
    jr_buf_str(out, ",\n");
    json_decref(object);
}

/* How many cells have each status, in the order in which they are met. */
static void add_counts(struct jr_buf *out, const struct jr_sweep_record *record)
{
    json_t *counts = json_object();
    for (size_t i = 0; i < record->cells->count; i++) {
        const char *status = record->states[i].status;
        jr_json_set_int(counts, status, jr_json_get_int(counts, status) + 1);
    }
    jr_buf_str(out, "  \"counts\": ");
    jr_json_print(out, counts, 0);
    json_decref(counts);
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

static void add_best(struct jr_buf *out, const struct jr_sweep_record *record)
{
#define WORD(name, word, help) word,
    static const char *const goals[] = {JR_SWEEP_GOALS(WORD)};
    static const char *const ofs[] = {JR_SWEEP_OFS(WORD)};
#undef WORD
    const struct jr_sweep_best *best = &record->cells->axes->best;
    long found = jr_sweep_record_best(record);
    json_t *object = best->field == NULL ? json_null() : json_object();
    if (best->field != NULL) {
        jr_json_set_str(object, "field", best->field);
        jr_json_set_str(object, "goal", goals[best->goal]);
        jr_json_set_str(object, "of", ofs[best->of]);
        jr_json_set(object, "cell",
                    found < 0 ? json_null()
                              : json_integer(record->states[found].number));
    }
    jr_buf_str(out, ",\n  \"best\": ");
    jr_json_print(out, object, 0);
    jr_buf_str(out, "\n}\n");
    json_decref(object);
}

void jr_sweep_record_json(struct jr_buf *out,
                          const struct jr_sweep_record *record,
                          const struct jr_drain *drain)
{
    jr_buf_str(out, "{\n  \"format_version\": 1,\n  \"sweep_id\": ");
    jr_json_quote(out, record->sweep_id);
    jr_buf_str(out, ",\n  \"name\": ");
    jr_json_quote(out, record->name);
    jr_buf_str(out, ",\n  \"spec\": ");
    jr_json_quote(out, record->spec);
    jr_buf_str(out, ",\n  \"code\": ");
    jr_json_quote(out, record->code == NULL || record->code[0] == '\0'
                           ? NULL
                           : record->code);
    if (record->exit_code != NULL)
        jr_buf_printf(out, ",\n  \"exit_code\": %d", *record->exit_code);
    else
        jr_buf_str(out, ",\n  \"exit_code\": null");
    jr_buf_str(out, record->cells->axes->sampler != NULL
                        ? ",\n  \"sampler\": true,\n"
                        : ",\n");
    if (record->submitted)
        add_submitted(out, record->job);
    add_axes(out, record->cells->axes);
    jr_buf_str(out, "  \"cells\": [");
    for (size_t i = 0; i < record->cells->count; i++) {
        add_cell(out, record, i);
        if (out->len > PIECE && drain != NULL &&
            drain->take(drain->data, out) != 0)
            return;
    }
    jr_buf_str(out, "\n  ],\n");
    if (json_array_size(record->former) > 0) {
        jr_buf_str(out, "  \"former\": ");
        jr_json_print(out, record->former, 0);
        jr_buf_str(out, ",\n");
    }
    add_counts(out, record);
    add_best(out, record);
}
