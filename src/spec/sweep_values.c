#include "spec/sweep_values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/num.h"
#include "spec/sweep_meant_values.h"

#include "base/banned.h"

/* How values are drawn: {WORD: [FIRST, LAST]}. */
static const char *const draws[] = {"uniform", "log_uniform", "integers", NULL};
enum draw { DRAW_UNIFORM, DRAW_LOG_UNIFORM, DRAW_INTEGERS, DRAW_NONE };

static enum draw draw_of(const struct jr_node *value)
{
    unsigned i = 0;
    if (value->kind != JR_NODE_MAPPING || value->count == 0)
        return DRAW_NONE;
    while (draws[i] != NULL && strcmp(draws[i], value->pairs[0].key->text) != 0)
        i++;
    return (enum draw)i;
}

bool jr_sweep_is_draw(const struct jr_node *value)
{
    return draw_of(value) != DRAW_NONE;
}

static bool is_number(const struct jr_node *node, double *ret)
{
    if (node == NULL || node->kind != JR_NODE_SCALAR)
        return false;
    enum jr_scalar_type type = jr_scalar_type(node);
    const char *text = node->text + (node->text[0] == '+');
    return (type == JR_SCALAR_INT || type == JR_SCALAR_FLOAT) && jr_num_double(text, ret);
}

static int compare_numbers(const struct jr_node *a, const struct jr_node *b)
{
    double x = 0, y = 0;
    (void)is_number(a, &x);
    (void)is_number(b, &y);
    return (x > y) - (x < y);
}

static int compare_scalars(const struct jr_node *a, const struct jr_node *b)
{
    enum jr_scalar_type x = jr_scalar_type(a), y = jr_scalar_type(b);
    if (x != y)
        return x < y ? -1 : 1;
    if (x == JR_SCALAR_FLOAT && compare_numbers(a, b) != 0)
        return compare_numbers(a, b);
    if (x == JR_SCALAR_FLOAT || x == JR_SCALAR_NULL)
        return 0;
    return x == JR_SCALAR_BOOL ? strcasecmp(a->text, b->text) : strcmp(a->text, b->text);
}

static int compare_items(const struct jr_node *a, const struct jr_node *b)
{
    int order = 0;
    for (size_t i = 0; order == 0 && i < a->count; i++) {
        bool list = a->kind == JR_NODE_SEQUENCE;
        if (!list)
            order = strcmp(a->pairs[i].key->text, b->pairs[i].key->text);
        if (order == 0)
            order = jr_sweep_values_compare(list ? a->items[i] : a->pairs[i].value,
                                            list ? b->items[i] : b->pairs[i].value);
    }
    return order;
}

int jr_sweep_values_compare(const struct jr_node *a, const struct jr_node *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->kind == JR_NODE_SCALAR)
        return compare_scalars(a, b);
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    return compare_items(a, b);
}

/* A value of an axis on its way to be compared with the others. */
struct place {
    struct jr_node *const *values; /* one for each field */
    size_t fields, index;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    int order = 0;
    for (size_t i = 0; order == 0 && i < a->fields; i++)
        order = jr_sweep_values_compare(a->values[i], b->values[i]);
    return order;
}

static int compare_whole_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    int order = compare_places(left, right);
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

/* The values in an order in which equal ones are neighbours, the earlier first; malloc'ed. NULL:
 * there is no memory. */
static struct place *sort_values(struct jr_sweep_reading *reading, const struct jr_sweep_axis *axis)
{
    struct place *places = calloc(axis->count, sizeof *places);
    if (places == NULL)
        reading->arena->failed = true;
    for (size_t i = 0; places != NULL && i < axis->count; i++)
        places[i] = (struct place){axis->values + i * axis->fields_count, axis->fields_count, i};
    if (places != NULL)
        qsort(places, axis->count, sizeof *places, compare_whole_places);
    return places;
}

/* Refuse the first value that is there twice. */
static bool check_equal_values(struct jr_sweep_reading *reading, const struct jr_sweep_axis *axis)
{
    struct place *places = sort_values(reading, axis);
    const struct place *first = NULL, *second = NULL;
    for (size_t i = 1; places != NULL && i < axis->count; i++)
        if (compare_places(&places[i - 1], &places[i]) == 0 &&
            (second == NULL || places[i].index < second->index)) {
            first = &places[i - 1];
            second = &places[i];
        }
    bool good = second == NULL;
    if (!good) {
        struct jr_diag *diag =
            jr_sweep_refuse(reading, JR_CODE_CELL_TWICE, second->values[0]->span, axis->key->text,
                            "'%s' has this value twice", axis->key->text);
        jr_diag_relate(reading->diags, diag, first->values[0]->span, "the first time");
    }
    free(places);
    return good;
}

/* Refuse a value that is a text, and a range elsewhere: it would be one cell. In quotes it is meant
 * as it is. */
static bool check_range_text(struct jr_sweep_reading *reading, const struct jr_sweep_axis *axis,
                             const struct jr_node *item)
{
    const struct jr_source *source = item->span.source;
    bool option = source != NULL && source->option;
    bool alone = axis->count == 1 && axis->fields_count == 1;
    const char *meant = NULL, *key = axis->key->text;
    if (item->kind != JR_NODE_SCALAR || !item->plain || item->filled != NULL ||
        jr_scalar_type(item) != JR_SCALAR_STRING ||
        !jr_sweep_is_meant_range(reading->arena, item->text, alone, option, &meant))
        return true;
    struct jr_diag *diag = jr_sweep_refuse(reading, JR_CODE_WRONG_AXIS_VALUES, item->span, key,
                                           "'%s' is a text here, and not a range", item->text);
    if (meant == NULL)
        jr_diag_help(reading->diags, diag,
                     "as a range it has no value, or many; a range is written "
                     "{from: 0, to: 1, step: 0.25}");
    else if (option && alone)
        jr_diag_help(reading->diags, diag, "--sweep %s=%s; or '%s=\"%s\"' if the text is meant",
                     key, meant, key, item->text);
    else
        jr_diag_help(reading->diags, diag, "write %s; or \"%s\" if the text is meant", meant,
                     item->text);
    return false;
}

/* A list of values; of several fields each is a list itself. */
static bool read_value_list(struct jr_sweep_reading *reading, struct jr_sweep_axis *axis,
                            struct jr_node *list)
{
    size_t fields = axis->fields_count;
    axis->count = list->count;
    axis->values = jr_arena_array(reading->arena, list->count * fields, sizeof(struct jr_node *));
    for (size_t i = 0; axis->values != NULL && i < list->count; i++) {
        struct jr_node *item = list->items[i];
        bool tuple = item->kind == JR_NODE_SEQUENCE && item->count == fields;
        if (fields > 1 && !tuple) {
            struct jr_diag *diag =
                jr_sweep_refuse(reading, JR_CODE_WRONG_AXIS_VALUES, item->span, axis->key->text,
                                "'%s' wants a list of %zu values here, one for each field",
                                axis->key->text, fields);
            jr_diag_help(reading->diags, diag,
                         "fields that go together are written \"a,b\": [[1, 2], [3, 4]]");
            return false;
        }
        for (size_t j = 0; j < fields; j++) {
            axis->values[i * fields + j] = fields > 1 ? item->items[j] : item;
            if (!check_range_text(reading, axis, axis->values[i * fields + j]))
                return false;
        }
    }
    return axis->values != NULL && check_equal_values(reading, axis);
}

/* A number of a range or a draw as it is written, where the range is. */
static struct jr_node *write_number(struct jr_sweep_reading *reading, const struct jr_node *at,
                                    double number, bool whole)
{
    char text[64];
    (void)snprintf(text, sizeof text, whole ? "%.0f" : "%.15g", number);
    struct jr_node *node = jr_node_scalar(reading->arena, text, true);
    if (node != NULL)
        node->span = at->span;
    return node;
}

struct range {
    double from, to, step;
    bool whole;
    double count;
};

static bool is_whole(const struct jr_node *node)
{
    return node == NULL || jr_scalar_type(node) == JR_SCALAR_INT;
}

static bool refuse_range(struct jr_sweep_reading *reading, const char *key,
                         const struct jr_node *at, const char *why)
{
    const char *meant = jr_sweep_meant_values(reading->arena, at);
    struct jr_diag *diag =
        jr_sweep_refuse(reading, JR_CODE_WRONG_AXIS_VALUES, at->span, key, "'%s' %s", key, why);
    if (meant != NULL)
        jr_diag_help(reading->diags, diag, "write %s", meant);
    else
        jr_diag_help(reading->diags, diag,
                     "a list: [0.1, 0.01]; a range: {from: 0, to: 4, step: 1}; drawn: {uniform: "
                     "[0, 1]}, {log_uniform: [1e-5, 0.1]} or {integers: [1, 9]}");
    return false;
}

/* Whether a mapping is a range, and which. */
static bool read_range(struct jr_sweep_reading *reading, const struct jr_sweep_axis *axis,
                       const struct jr_node *node, struct range *ret)
{
    const struct jr_node *from = jr_doc_get(node, "from"), *to = jr_doc_get(node, "to"),
                         *step = jr_doc_get(node, "step");
    const char *key = axis->key->text;
    size_t known = step != NULL ? 3 : 2;
    ret->step = 1;
    if (from == NULL || to == NULL || known != node->count)
        return refuse_range(reading, key, node, "wants a list of values, a range, or a draw");
    if (!is_number(from, &ret->from) || !is_number(to, &ret->to) ||
        (step != NULL && !is_number(step, &ret->step)))
        return refuse_range(reading, key, node, "has a range without numbers");
    ret->whole = is_whole(from) && is_whole(to) && is_whole(step);
    if (step == NULL && ret->to < ret->from)
        ret->step = -1;
    if (ret->step == 0)
        return refuse_range(reading, key, step, "has a range whose step is 0");
    ret->count = floor((ret->to - ret->from) / ret->step + 1e-9) + 1;
    if (step == NULL && ret->count == 1 && ret->to != ret->from)
        return refuse_range(reading, key, node, "has a range of one value: its step is 1");
    return ret->count >= 1 || refuse_range(reading, key, node, "has a range without a value");
}

static bool expand_range(struct jr_sweep_reading *reading, struct jr_sweep_axis *axis,
                         const struct jr_node *node)
{
    struct range range;
    if (!read_range(reading, axis, node, &range))
        return false;
    if (range.count > JR_SWEEP_CELLS_MAX) {
        (void)jr_sweep_refuse(reading, JR_CODE_TOO_MANY_CELLS, node->span, axis->key->text,
                              "the range of '%s' has more than %u values", axis->key->text,
                              JR_SWEEP_CELLS_MAX);
        return false;
    }
    axis->count = (size_t)range.count;
    axis->values = jr_arena_array(reading->arena, axis->count, sizeof(struct jr_node *));
    for (size_t i = 0; axis->values != NULL && i < axis->count; i++)
        axis->values[i] =
            write_number(reading, node, range.from + (double)i * range.step, range.whole);
    return !reading->arena->failed;
}

bool jr_sweep_read_values(struct jr_sweep_reading *reading, struct jr_sweep_axis *axis,
                          struct jr_node *value)
{
    if (value->kind == JR_NODE_MAPPING && axis->fields_count == 1)
        return expand_range(reading, axis, value);
    if (value->kind != JR_NODE_SEQUENCE)
        return refuse_range(reading, axis->key->text, value,
                            axis->fields_count > 1 ? "wants a list of lists, a value for each "
                                                     "field in each"
                                                   : "wants a list of values, a range, or a draw");
    if (value->count == 0)
        return refuse_range(reading, axis->key->text, value, "has no value");
    return read_value_list(reading, axis, value);
}

/* The interval of a draw. */
static bool read_interval(struct jr_sweep_reading *reading, const struct jr_axis_field *field,
                          const struct jr_node *how, double ret[2])
{
    const struct jr_node *list = how->pairs[0].value;
    enum draw draw = draw_of(how);
    bool good = how->count == 1 && list->kind == JR_NODE_SEQUENCE && list->count == 2 &&
                is_number(list->items[0], &ret[0]) && is_number(list->items[1], &ret[1]) &&
                ret[0] < ret[1];
    if (good && draw == DRAW_INTEGERS)
        good = is_whole(list->items[0]) && is_whole(list->items[1]);
    if (good && draw == DRAW_LOG_UNIFORM)
        good = ret[0] > 0;
    if (!good)
        (void)refuse_range(reading, field->path, how,
                           draw == DRAW_LOG_UNIFORM
                               ? "wants log_uniform: [A, B] with 0 < A < B"
                               : "wants [A, B] with A < B for a draw, whole numbers for integers");
    return good;
}

/* From 0 to below 1. */
static double draw_fraction(const struct jr_sweep_reading *reading, const char *path, size_t i)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    char hash[JR_HASH_SIZE];
    jr_buf_printf(&text, "%u:%s:%zu", reading->axes->seed, path, i);
    jr_hash(hash, text.data, text.failed ? 0 : text.len);
    hash[16] = '\0';
    return (double)(strtoull(hash, NULL, 16) >> 11) * 0x1p-53;
}

static struct jr_node *draw_value(struct jr_sweep_reading *reading,
                                  const struct jr_axis_field *field, const struct jr_node *how,
                                  size_t i)
{
    double ends[2] = {0, 1};
    double at = draw_fraction(reading, field->path, i);
    (void)is_number(how->pairs[0].value->items[0], &ends[0]);
    (void)is_number(how->pairs[0].value->items[1], &ends[1]);
    enum draw draw = draw_of(how);
    if (draw == DRAW_INTEGERS)
        return write_number(reading, how, ends[0] + floor(at * (ends[1] - ends[0] + 1)), true);
    double number = draw == DRAW_LOG_UNIFORM
                        ? exp(log(ends[0]) + at * (log(ends[1]) - log(ends[0])))
                        : ends[0] + at * (ends[1] - ends[0]);
    char text[64];
    /* What libraries of mathematics differ in is behind these digits. */
    (void)snprintf(text, sizeof text, "%.12g", number);
    struct jr_node *node = jr_node_scalar(reading->arena, text, true);
    if (node != NULL)
        node->span = how->span;
    return node;
}

/* Leave out draws that are the same as an earlier one. */
static void drop_equal_draws(struct jr_sweep_reading *reading, struct jr_sweep_axis *axis)
{
    struct place *places = sort_values(reading, axis);
    size_t fields = axis->fields_count, kept = 0;
    bool *again = jr_arena_array(reading->arena, axis->count, sizeof *again);
    for (size_t i = 1; places != NULL && again != NULL && i < axis->count; i++)
        again[places[i].index] = compare_places(&places[i - 1], &places[i]) == 0;
    for (size_t i = 0; places != NULL && again != NULL && i < axis->count; i++) {
        if (again[i])
            continue;
        (void)memmove(axis->values + kept * fields, axis->values + i * fields,
                      fields * sizeof(struct jr_node *));
        kept++;
    }
    free(places);
    if (reading->arena->failed || kept == axis->count)
        return;
    (void)jr_diags_warning(reading->diags, JR_CODE_CELL_TWICE, axis->key->span, "sweep.samples",
                           "%zu of %zu draws are the same as earlier ones, and are left out",
                           axis->count - kept, axis->count);
    axis->count = kept;
}

/* Whether all draws can be made. */
static bool check_draws(struct jr_sweep_reading *reading, const struct jr_sweep_axis *axis)
{
    double ends[2];
    bool good = true;
    for (size_t i = 0; i < axis->fields_count; i++)
        good = read_interval(reading, &axis->fields[i], axis->values[i], ends) && good;
    if (good && reading->axes->samples == 0) {
        struct jr_diag *diag = jr_sweep_refuse(
            reading, JR_CODE_SWEEP_INCOMPLETE, axis->key->span, axis->key->text,
            "'%s' is drawn, and the sweep does not say how often", axis->fields[0].path);
        jr_diag_help(reading->diags, diag, "add to `sweep`: samples: 20");
        good = false;
    }
    return good;
}

void jr_sweep_draw(struct jr_sweep_reading *reading)
{
    struct jr_sweep_axes *axes = reading->axes;
    struct jr_sweep_axis *draw = reading->draws;
    if (draw == NULL || reading->arena->failed || !check_draws(reading, draw))
        return;
    struct jr_node **how = draw->values;
    size_t fields = draw->fields_count;
    draw->count = axes->samples;
    draw->values = jr_arena_array(reading->arena, draw->count * fields, sizeof(struct jr_node *));
    for (size_t i = 0; draw->values != NULL && i < draw->count; i++)
        for (size_t j = 0; j < fields; j++)
            draw->values[i * fields + j] = draw_value(reading, &draw->fields[j], how[j], i);
    if (!reading->arena->failed)
        drop_equal_draws(reading, draw);
    struct jr_sweep_axis *slot =
        jr_arena_push(reading->arena, &axes->axes, &axes->count, sizeof *slot);
    if (slot != NULL)
        *slot = *draw;
}
