#include "sweep/cell_result.h"

#include <math.h>
#include <string.h>

#include "base/banned.h"

static const json_t *rank_result(const json_t *rank)
{
    const json_t *result = json_object_get(rank, "result");
    const char *state = jr_json_get_str(rank, "state");
    bool delivered = state != NULL && strcmp(state, "succeeded") == 0;
    return delivered && json_is_object(result) ? result : NULL;
}

/* What is known of a field, of all ranks that have it. */
struct field {
    const json_t *first;
    bool common, numbers;
    double sum, min, max;
    size_t count;
};

static void add_rank_value(struct field *field, const json_t *value)
{
    double number = json_number_value(value);
    if (field->count++ == 0) {
        *field = (struct field){value, true, json_is_number(value), number, number, number, 1};
        return;
    }
    field->common &= json_equal(field->first, value) != 0;
    field->numbers &= json_is_number(value);
    field->sum += number;
    field->min = fmin(field->min, number);
    field->max = fmax(field->max, number);
}

/* The whole of a field. */
static json_t *field_value(const struct field *field)
{
    if (field->common)
        return json_deep_copy(field->first);
    if (!field->numbers)
        return json_null();
    json_t *value = json_object();
    jr_json_set_real(value, "mean", field->sum / (double)field->count);
    jr_json_set_real(value, "min", field->min);
    jr_json_set_real(value, "max", field->max);
    jr_json_set(value, "first", json_deep_copy(field->first));
    return value;
}

static void gather_field(json_t *out, const json_t *ranks, const char *name)
{
    struct field field = {0};
    size_t i;
    const json_t *rank;
    json_array_foreach(ranks, i, rank) {
        const json_t *value = json_object_get(rank_result(rank), name);
        if (value != NULL)
            add_rank_value(&field, value);
    }
    jr_json_set(out, name, field_value(&field));
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
                gather_field(out, ranks, name);
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
