/*
 * The values of an axis of internal.h: a list as it is written, a range, or draws; and what other
 * programs write for them: choice(1,2), 1..4, {values: [1, 2]}, {min: 0, max: 1, distribution:
 * log_uniform}.
 *
 * A range includes its end where a step hits it; value i is from + i * step, written in 15 digits,
 * so that 0.1 to 0.3 by 0.1 are three values.
 *
 * Draw i of a field is made of the seed, the field's path and i alone: the first 53 bits of
 * SHA-256("SEED:PATH:I") are a number from 0 to below 1, which is moved to the interval. So it is
 * the same on every machine and for every combination of the other axes, and more draws change none
 * of the earlier.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/num.h"
#include "spec/internal.h"

#include "base/banned.h"

/* How values are drawn: {WORD: [FIRST, LAST]}. */
enum draw { DRAW_UNIFORM, DRAW_LOG_UNIFORM, DRAW_INTEGERS, DRAW_NONE };

static enum draw draw_of(const struct jr_node *value)
{
    static const char *const draws[] = {"uniform", "log_uniform", "integers", NULL};
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

static int compare_scalars(const struct jr_node *a, const struct jr_node *b)
{
    enum jr_scalar_type x = jr_scalar_type(a), y = jr_scalar_type(b);
    double first = 0, second = 0;
    if (x != y)
        return x < y ? -1 : 1;
    if (x == JR_SCALAR_FLOAT) {
        (void)is_number(a, &first);
        (void)is_number(b, &second);
        return (first > second) - (first < second);
    }
    if (x == JR_SCALAR_NULL)
        return 0;
    return x == JR_SCALAR_BOOL ? strcasecmp(a->text, b->text) : strcmp(a->text, b->text);
}

int jr_sweep_values_compare(const struct jr_node *a, const struct jr_node *b)
{
    int order = 0;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->kind == JR_NODE_SCALAR)
        return compare_scalars(a, b);
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
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

/* What other programs write. */

/* The numbers of a text with a sign between them: 2 or 3; 0 for any other text. */
static size_t split_numbers(const char *text, const char *sign, double ret[3])
{
    for (size_t count = 0; count < 3;) {
        char part[32];
        const char *end = strstr(text, sign);
        size_t len = end == NULL ? strlen(text) : (size_t)(end - text);
        if (len >= sizeof part)
            return 0;
        *(char *)mempcpy(part, text, len) = '\0';
        if (!jr_num_double(part, &ret[count]) || !isfinite(ret[count]))
            return 0;
        count++;
        if (end == NULL)
            return count > 1 ? count : 0;
        text = end + strlen(sign);
    }
    return 0;
}

/* A range as others write it: first, last and step. `alone`: the text is the only value, so that
 * 1:4 and 1-4 can hardly be meant as texts. A range without a value, or whose step nobody can know,
 * has a step that is no number. */
static bool read_other_range(const char *text, bool alone, double ret[3])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz.";
    size_t name = strspn(text, letters);
    ret[0] = 0;
    ret[2] = 1;
    if (name >= 5 && strncmp(text + name - 5, "range(", 6) == 0) { /* also np.arange( */
        double to = 0;
        int end = 0;
        text += name + 1;
        if (sscanf(text, "%lf , %lf , %lf )%n", &ret[0], &to, &ret[2], &end) < 3 &&
            sscanf(text, "%lf , %lf )%n", &ret[0], &to, &end) < 2) {
            ret[0] = 0;
            (void)sscanf(text, "%lf )%n", &to, &end);
        }
        /* TO itself is not in it */
        ret[1] = ret[0] + (ceil((to - ret[0]) / ret[2] - 1e-9) - 1) * ret[2];
        ret[2] = end == 0 ? NAN : ret[2];
        return true;
    }
    size_t count = split_numbers(text, "..", ret);
    if (count == 0 && alone)
        count = split_numbers(text, ":", ret);
    if (count == 0 && alone && *text != '-' && split_numbers(text, "-", ret) == 2 &&
        ret[0] < ret[1])
        count = 2;
    if (count == 2)
        ret[2] = floor(ret[0]) != ret[0] || floor(ret[1]) != ret[1] ? NAN
                 : ret[1] < ret[0]                                  ? -1
                                                                    : 1;
    return count > 0;
}

bool jr_sweep_is_meant_range(struct jr_arena *arena, const char *text, bool alone, bool option,
                             const char **ret_meant)
{
    double range[3];
    if (!read_other_range(text, alone, range))
        return false;
    double steps = (range[1] - range[0]) / range[2];
    const char *quote = option ? "'" : "", *step = "";
    *ret_meant = NULL;
    if (!alone || !isfinite(steps) || steps < 0)
        return true;
    if (range[2] != 1)
        step = jr_arena_printf(arena, ", step: %.15g", range[2]);
    if (option && range[2] == (range[1] < range[0] ? -1 : 1) && floor(range[0]) == range[0])
        *ret_meant = jr_arena_printf(arena, "%.15g..%.15g", range[0], range[1]);
    else
        *ret_meant = jr_arena_printf(arena, "%s{from: %.15g, to: %.15g%s}%s", quote, range[0],
                                     range[1], step, quote);
    return true;
}

/* "1,2,3", choice(1,2,3): as a list; NULL where it is none. */
static const char *meant_list(struct jr_arena *arena, const char *text)
{
    static const char *const heads[] = {"choice(", "[", "(", ""};
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    size_t i = 0;
    while (strncmp(text, heads[i], strlen(heads[i])) != 0)
        i++;
    text += strlen(heads[i]);
    size_t len = strcspn(text, ")]");
    if (memchr(text, ',', len) == NULL || strpbrk(text, "(\"'{}:#") != NULL)
        return NULL;
    for (size_t at = 0; at < len; at++)
        if (text[at] != ' ')
            jr_buf_printf(&list, "%c%s", text[at], text[at] == ',' ? " " : "");
    return jr_arena_printf(arena, "[%s]", list.failed ? "" : list.data);
}

/* Whether nothing of it was inserted: it is shown as it was written. */
static bool is_as_written(const struct jr_node *node)
{
    bool written = node->kind != JR_NODE_SCALAR || node->filled == NULL;
    for (size_t i = 0; node->kind == JR_NODE_SEQUENCE && i < node->count; i++)
        written = written && is_as_written(node->items[i]);
    return written && node->kind != JR_NODE_MAPPING;
}

/* A list under a word of trackers and tuners of experiments, on one line. */
static const char *meant_list_below(struct jr_arena *arena, const struct jr_node *node)
{
    enum { LONGEST = 100 };
    static const char *const words[] = {"values", "value",       "choices", "choice", "options",
                                        "option", "grid_search", "grid",    "list",   NULL};
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    const struct jr_node *list = NULL;
    for (size_t i = 0; list == NULL && words[i] != NULL; i++)
        list = jr_doc_get(node, words[i]);
    bool lone = list != NULL && list->kind != JR_NODE_SEQUENCE;
    if (list == NULL || (lone && node->count > 1))
        return NULL;
    if (!is_as_written(list))
        return "the list alone: [...]";
    jr_buf_str(&text, lone ? "[" : "");
    jr_doc_emit_line(&text, list);
    jr_buf_str(&text, lone ? "]" : "");
    return text.failed || text.len > LONGEST ? "the list alone: [...]"
                                             : jr_arena_strdup(arena, text.data);
}

/* {values: [1, 2]}, {min: 0, max: 1, distribution: log_uniform}, {low: 1, high: 9, step: 2}, and
 * {from: 3, to: 0, step: 1}, which goes the other way. */
static const char *meant_mapping(struct jr_arena *arena, const struct jr_node *node)
{
    static const char *const ends[][2] = {
        {"from", "to"},    {"min", "max"},   {"low", "high"},  {"lower", "upper"},
        {"start", "stop"}, {"start", "end"}, {"begin", "end"}, {"minimum", "maximum"}};
    const struct jr_node *from = NULL, *to = NULL, *step = jr_doc_get(node, "step");
    const struct jr_node *how = jr_doc_get(node, "distribution"), *log = jr_doc_get(node, "log");
    double first, last, by = 1;
    for (size_t i = 0; to == NULL && i < sizeof ends / sizeof *ends; i++) {
        from = jr_doc_get(node, ends[i][0]);
        to = from == NULL ? NULL : jr_doc_get(node, ends[i][1]);
    }
    if (to == NULL || from->kind != JR_NODE_SCALAR || from->filled != NULL ||
        to->kind != JR_NODE_SCALAR || to->filled != NULL)
        return meant_list_below(arena, node);
    if (from == jr_doc_get(node, "from")) {
        if (step == NULL || !is_number(from, &first) || !is_number(to, &last) ||
            !is_number(step, &by) || step->filled != NULL || !((last - first) / by < 0))
            return NULL;
        return jr_arena_printf(arena, "{from: %s, to: %s, step: %.15g}", from->text, to->text, -by);
    }
    if (step != NULL && step->kind == JR_NODE_SCALAR && step->filled == NULL)
        return jr_arena_printf(arena, "{from: %s, to: %s, step: %s}", from->text, to->text,
                               step->text);
    const char *text = how == NULL || how->kind != JR_NODE_SCALAR ? "" : how->text;
    bool logarithmic = log != NULL && log->kind == JR_NODE_SCALAR && strcmp(log->text, "true") == 0;
    return jr_arena_printf(arena, "{%s: [%s, %s]}",
                           logarithmic || strstr(text, "log") != NULL ? "log_uniform"
                           : strstr(text, "int") != NULL              ? "integers"
                                                                      : "uniform",
                           from->text, to->text);
}

const char *jr_sweep_meant_values(struct jr_arena *arena, const struct jr_node *node)
{
    const char *range = NULL;
    if (node->kind == JR_NODE_MAPPING)
        return meant_mapping(arena, node);
    if (node->kind != JR_NODE_SCALAR || node->filled != NULL)
        return NULL;
    (void)jr_sweep_is_meant_range(arena, node->text, true, false, &range);
    return range != NULL ? range : meant_list(arena, node->text);
}

/* Values that are there twice. Those of an axis are sorted by pointers to them, so that equal ones
 * are neighbours, and the earlier comes first. */

static int compare_axis_values(const void *left, const void *right, void *fields)
{
    struct jr_node *const *const *a = left, *const *const *b = right;
    int order = 0;
    for (size_t i = 0; order == 0 && i < *(const size_t *)fields; i++)
        order = jr_sweep_values_compare((*a)[i], (*b)[i]);
    return order != 0 ? order : (*a > *b) - (*a < *b);
}

static bool are_values_equal(struct jr_node **a, struct jr_node **b, size_t fields)
{
    size_t i = 0;
    while (i < fields && jr_sweep_values_compare(a[i], b[i]) == 0)
        i++;
    return i == fields;
}

/* malloc'ed; NULL: there is no memory. */
static struct jr_node ***sort_values(struct jr_sweep_reading *reading,
                                     const struct jr_sweep_axis *axis)
{
    size_t fields = axis->fields_count;
    struct jr_node ***sorted = calloc(axis->count, sizeof *sorted);
    if (sorted == NULL) {
        reading->arena->failed = true;
        return NULL;
    }
    for (size_t i = 0; i < axis->count; i++)
        sorted[i] = axis->values + i * fields;
    qsort_r(sorted, axis->count, sizeof *sorted, compare_axis_values, &fields);
    return sorted;
}

/* Refuse the first value that is there twice. */
static bool check_equal_values(struct jr_sweep_reading *reading, const struct jr_sweep_axis *axis)
{
    JR_FREE struct jr_node ***sorted = sort_values(reading, axis);
    struct jr_node **first = NULL, **second = NULL;
    for (size_t i = 1; sorted != NULL && i < axis->count; i++)
        if (are_values_equal(sorted[i - 1], sorted[i], axis->fields_count) &&
            (second == NULL || sorted[i] < second)) {
            first = sorted[i - 1];
            second = sorted[i];
        }
    if (second == NULL)
        return true;
    struct jr_diag *diag =
        jr_sweep_refuse(reading, JR_CODE_CELL_TWICE, (*second)->span, axis->key->text,
                        "'%s' has this value twice", axis->key->text);
    jr_diag_relate(reading->diags, diag, (*first)->span, "the first time");
    return false;
}

/* Leave out draws that are the same as an earlier one. */
static void drop_equal_draws(struct jr_sweep_reading *reading, struct jr_sweep_axis *axis)
{
    JR_FREE struct jr_node ***sorted = sort_values(reading, axis);
    size_t fields = axis->fields_count, kept = 0;
    bool *again = jr_arena_array(reading->arena, axis->count, sizeof *again);
    if (sorted == NULL || again == NULL)
        return;
    for (size_t i = 1; i < axis->count; i++)
        again[(size_t)(sorted[i] - axis->values) / fields] =
            are_values_equal(sorted[i - 1], sorted[i], fields);
    for (size_t i = 0; i < axis->count; i++) {
        if (again[i])
            continue;
        (void)memmove(axis->values + kept * fields, axis->values + i * fields,
                      fields * sizeof(struct jr_node *));
        kept++;
    }
    if (kept == axis->count)
        return;
    (void)jr_diags_warning(reading->diags, JR_CODE_CELL_TWICE, axis->key->span, "sweep.samples",
                           "%zu of %zu draws are the same as earlier ones, and are left out",
                           axis->count - kept, axis->count);
    axis->count = kept;
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
                     "a range is written {from: 0, to: 1, step: 0.25}; or \"%s\" if the text is "
                     "meant",
                     item->text);
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
        if (fields > 1 && (item->kind != JR_NODE_SEQUENCE || item->count != fields)) {
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

/* A number of a range or a draw, at the place of that; NULL: there is no memory. */
static struct jr_node *write_number(struct jr_sweep_reading *reading, const struct jr_node *at,
                                    double number, int digits)
{
    char text[64];
    (void)snprintf(text, sizeof text, digits == 0 ? "%.*f" : "%.*g", digits, number);
    struct jr_node *node = jr_node_scalar(reading->arena, text, true);
    if (node != NULL)
        node->span = at->span;
    return node;
}

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

static bool expand_range(struct jr_sweep_reading *reading, struct jr_sweep_axis *axis,
                         const struct jr_node *node)
{
    const struct jr_node *from = jr_doc_get(node, "from"), *to = jr_doc_get(node, "to"),
                         *step = jr_doc_get(node, "step");
    const char *key = axis->key->text;
    double first, last, by = 1;
    if (from == NULL || to == NULL || node->count != (step != NULL ? 3 : 2))
        return refuse_range(reading, key, node, "wants a list of values, a range, or a draw");
    if (!is_number(from, &first) || !is_number(to, &last) ||
        (step != NULL && !is_number(step, &by)))
        return refuse_range(reading, key, node, "has a range without numbers");
    if (step == NULL && last < first)
        by = -1;
    if (by == 0)
        return refuse_range(reading, key, step, "has a range whose step is 0");
    double count = floor((last - first) / by + 1e-9) + 1;
    if (step == NULL && count == 1 && last != first)
        return refuse_range(reading, key, node, "has a range of one value: its step is 1");
    if (!(count >= 1))
        return refuse_range(reading, key, node, "has a range without a value");
    if (count > JR_SWEEP_CELLS_MAX) {
        (void)jr_sweep_refuse(reading, JR_CODE_TOO_MANY_CELLS, node->span, key,
                              "the range of '%s' has more than %u values", key, JR_SWEEP_CELLS_MAX);
        return false;
    }
    int digits = is_whole(from) && is_whole(to) && is_whole(step) ? 0 : 15;
    axis->count = (size_t)count;
    axis->values = jr_arena_array(reading->arena, axis->count, sizeof(struct jr_node *));
    for (size_t i = 0; axis->values != NULL && i < axis->count; i++)
        axis->values[i] = write_number(reading, node, first + (double)i * by, digits);
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

static struct jr_node *draw_value(struct jr_sweep_reading *reading,
                                  const struct jr_axis_field *field, const struct jr_node *how,
                                  size_t i)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    char hash[JR_HASH_SIZE];
    double ends[2] = {0, 1};
    jr_buf_printf(&text, "%u:%s:%zu", reading->axes->seed, field->path, i);
    jr_hash(hash, text.data, text.failed ? 0 : text.len);
    hash[16] = '\0';
    double at = (double)(strtoull(hash, NULL, 16) >> 11) * 0x1p-53;
    (void)is_number(how->pairs[0].value->items[0], &ends[0]);
    (void)is_number(how->pairs[0].value->items[1], &ends[1]);
    /* What libraries of mathematics differ in is behind 12 digits. */
    switch (draw_of(how)) {
    case DRAW_INTEGERS:
        return write_number(reading, how, ends[0] + floor(at * (ends[1] - ends[0] + 1)), 0);
    case DRAW_LOG_UNIFORM:
        return write_number(reading, how, exp(log(ends[0]) + at * (log(ends[1]) - log(ends[0]))),
                            12);
    case DRAW_UNIFORM:
    case DRAW_NONE:
        break;
    }
    return write_number(reading, how, ends[0] + at * (ends[1] - ends[0]), 12);
}

void jr_sweep_draw(struct jr_sweep_reading *reading)
{
    struct jr_sweep_axes *axes = reading->axes;
    struct jr_sweep_axis *draw = reading->draws;
    double ends[2];
    bool good = true;
    if (draw == NULL || reading->arena->failed)
        return;
    for (size_t i = 0; i < draw->fields_count; i++)
        good = read_interval(reading, &draw->fields[i], draw->values[i], ends) && good;
    if (good && axes->samples == 0) {
        struct jr_diag *diag = jr_sweep_refuse(
            reading, JR_CODE_SWEEP_INCOMPLETE, draw->key->span, draw->key->text,
            "'%s' is drawn, and the sweep does not say how often", draw->fields[0].path);
        jr_diag_help(reading->diags, diag, "add to `sweep`: samples: 20");
        good = false;
    }
    if (!good)
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
