#include "sweep/cells.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "base/utf8.h"
#include "spec/sweep_options.h"

#include "base/banned.h"

/* A value of a field of an axis, in an order in which equal ones are neighbours, the earlier
 * first. */
struct sorted_value {
    const struct jr_node *value;
    size_t index; /* in the axis */
};

/* What is known of an axis while cells are made. */
struct axis_values {
    struct sorted_value **sorted; /* of each field; NULL: not looked at yet */
    size_t *matches;              /* the values that an entry is about; NULL: all of them */
    size_t count;                 /* of these */
    size_t *room;                 /* for as many as the axis has */
};

/* The making of cells. */
struct expansion {
    struct jr_cells *cells;
    const struct jr_sweep_axes *axes;
    struct jr_diags *diags;
    struct jr_arena arena;      /* of what is forgotten when they are made */
    struct axis_values *values; /* of each axis */
    bool *excluded;             /* by the place in the product */
};

static int compare_sorted(const void *left, const void *right)
{
    const struct sorted_value *a = left, *b = right;
    int order = jr_sweep_values_compare(a->value, b->value);
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

/* The values of a field, sorted, which is done once, so that an entry finds its own among them
 * without a look at all. NULL: there is no memory. */
static const struct sorted_value *sort_field(struct expansion *expansion, size_t at, size_t field)
{
    const struct jr_sweep_axis *axis = &expansion->axes->axes[at];
    struct axis_values *known = &expansion->values[at];
    if (known->sorted == NULL)
        known->sorted =
            jr_arena_array(&expansion->arena, axis->fields_count, sizeof *known->sorted);
    if (known->sorted == NULL || known->sorted[field] != NULL)
        return known->sorted == NULL ? NULL : known->sorted[field];
    struct sorted_value *list = jr_arena_array(&expansion->arena, axis->count, sizeof *list);
    for (size_t i = 0; list != NULL && i < axis->count; i++)
        list[i] = (struct sorted_value){axis->values[i * axis->fields_count + field], i};
    if (list != NULL)
        qsort(list, axis->count, sizeof *list, compare_sorted);
    return known->sorted[field] = list;
}

/* How many of the sorted values are less than a value; or, with `through`, not more than it. */
static size_t count_below(const struct sorted_value *list, size_t count,
                          const struct jr_node *value, bool through)
{
    size_t from = 0, to = count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (jr_sweep_values_compare(list[middle].value, value) < through)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Whether all that an entry says of the fields of an axis is so of a value. */
static bool does_value_match(const struct jr_sweep_axis *axis, size_t index,
                             const struct jr_sweep_choice *choice)
{
    struct jr_node *const *values = axis->values + index * axis->fields_count;
    for (size_t i = 0; i < choice->count; i++)
        for (size_t j = 0; j < axis->fields_count; j++)
            if (strcmp(axis->fields[j].path, choice->fields[i].path) == 0 &&
                jr_sweep_values_compare(values[j], choice->values[i]) != 0)
                return false;
    return true;
}

/* Find the values of axis number `at` that an entry is about: among those of the field of which
 * fewest have what it says. Whether there are any; none without memory. */
static bool match_axis(struct expansion *expansion, size_t at, const struct jr_sweep_choice *choice)
{
    const struct jr_sweep_axis *axis = &expansion->axes->axes[at];
    struct axis_values *known = &expansion->values[at];
    const struct sorted_value *fewest = NULL;
    size_t count = axis->count;
    known->matches = NULL;
    known->count = axis->count;
    for (size_t i = 0; i < choice->count; i++)
        for (size_t j = 0; j < axis->fields_count; j++) {
            if (strcmp(axis->fields[j].path, choice->fields[i].path) != 0)
                continue;
            const struct sorted_value *list = sort_field(expansion, at, j);
            if (list == NULL)
                return false;
            size_t first = count_below(list, axis->count, choice->values[i], false);
            size_t end = count_below(list, axis->count, choice->values[i], true);
            if (fewest == NULL || end - first < count) {
                fewest = list + first;
                count = end - first;
            }
        }
    if (fewest == NULL)
        return true;
    if (known->room == NULL)
        known->room = jr_arena_array(&expansion->arena, axis->count, sizeof *known->room);
    known->matches = known->room;
    known->count = 0;
    for (size_t i = 0; known->room != NULL && i < count; i++)
        if (does_value_match(axis, fewest[i].index, choice))
            known->matches[known->count++] = fewest[i].index;
    return known->count > 0;
}

/* Whether each axis has a value that an entry is about. */
static bool match_axes(struct expansion *expansion, const struct jr_sweep_choice *choice)
{
    for (size_t i = 0; i < expansion->axes->count; i++)
        if (!match_axis(expansion, i, choice))
            return false;
    return expansion->axes->count > 0;
}

/* Exclude what matches among the places from `first` on that differ in the axes from number `axis`
 * on. */
static void exclude_below(struct expansion *expansion, size_t axis, size_t first)
{
    if (axis == expansion->axes->count) {
        expansion->excluded[first] = true;
        return;
    }
    const struct axis_values *known = &expansion->values[axis];
    for (size_t i = 0; i < known->count; i++)
        exclude_below(expansion, axis + 1,
                      first * expansion->axes->axes[axis].count +
                          (known->matches == NULL ? i : known->matches[i]));
}

static int refuse_cells(struct expansion *expansion, struct jr_span at, enum jr_diag_code code,
                        const char *text)
{
    (void)jr_diags_error(expansion->diags, code, at, "sweep", "%s", text);
    return -1;
}

/* The place in the product of the cell that an entry of `include` is, which has a value of each
 * axis and nothing else; -1: it is none. */
static long find_cell_place(struct expansion *expansion, const struct jr_sweep_choice *choice)
{
    const struct jr_sweep_axes *axes = expansion->axes;
    size_t place = 0, fields = 0;
    for (size_t i = 0; i < axes->count; i++)
        fields += axes->axes[i].fields_count;
    bool whole = fields == choice->count && match_axes(expansion, choice);
    for (size_t i = 0, field; whole && i < choice->count; i++)
        whole = jr_sweep_axes_find(axes, choice->fields[i].path, &field) != NULL;
    for (size_t i = 0; whole && i < axes->count; i++)
        place = place * axes->axes[i].count + expansion->values[i].matches[0];
    return whole ? (long)place : -1;
}

json_t *jr_cell_value_json(const struct jr_node *node)
{
    bool list = node->kind == JR_NODE_SEQUENCE;
    if (node->kind != JR_NODE_SCALAR) {
        json_t *json = list ? json_array() : json_object();
        for (size_t i = 0; i < node->count; i++)
            if (list)
                jr_json_append(json, jr_cell_value_json(node->items[i]));
            else
                jr_json_set(json, node->pairs[i].key->text,
                            jr_cell_value_json(node->pairs[i].value));
        return json;
    }
    const char *text = node->text + (node->text[0] == '+');
    enum jr_scalar_type type = jr_scalar_type(node);
    int64_t whole;
    double real;
    if (type == JR_SCALAR_NULL)
        return json_null();
    if (type == JR_SCALAR_BOOL)
        return json_boolean(node->text[0] == 't' || node->text[0] == 'T');
    if (type == JR_SCALAR_INT && jr_num_i64(text, &whole))
        return json_integer(whole);
    if (type == JR_SCALAR_FLOAT && jr_num_double(text, &real))
        return json_real(real);
    return jr_json_str(node->text);
}

/* Note what an entry says, whatever the order of its fields, as said. Whether none before it says
 * the same; without memory the arena has failed. */
static bool note_entry(struct expansion *expansion, json_t *said,
                       const struct jr_sweep_choice *choice)
{
    json_t *object = json_object();
    for (size_t i = 0; i < choice->count; i++)
        jr_json_set(object, choice->fields[i].path, jr_cell_value_json(choice->values[i]));
    JR_FREE char *text = json_dumps(object, JSON_SORT_KEYS | JSON_COMPACT);
    json_decref(object);
    if (text != NULL && json_object_get(said, text) != NULL)
        return false;
    expansion->cells->arena.failed |=
        text == NULL || json_object_set_new(said, text, json_true()) != 0;
    return true;
}

static void exclude_cells(struct expansion *expansion)
{
    const struct jr_sweep_axes *axes = expansion->axes;
    json_auto_t *said = json_object();
    for (size_t i = 0; i < axes->excludes_count; i++) {
        const struct jr_sweep_choice *choice = &axes->excludes[i];
        if (match_axes(expansion, choice)) {
            if (note_entry(expansion, said, choice))
                exclude_below(expansion, 0, 0);
            continue;
        }
        struct jr_diag *diag =
            jr_diags_warning(expansion->diags, JR_CODE_EXCLUDES_NOTHING, choice->node->span,
                             "sweep.exclude", "no combination of the axes has these values");
        jr_diag_help(expansion->diags, diag, "values are compared by type: 1 is not 1.0");
    }
}

/* Whether no two entries say the same, and none what the axes make. */
static int check_includes(struct expansion *expansion)
{
    const struct jr_sweep_axes *axes = expansion->axes;
    json_t *said = json_object();
    int status = 0;
    for (size_t i = 0; i < axes->includes_count; i++)
        if (!note_entry(expansion, said, &axes->includes[i]))
            status = refuse_cells(expansion, axes->includes[i].node->span, JR_CODE_CELL_TWICE,
                                  "this cell is included twice");
    json_decref(said);
    for (size_t i = 0; i < axes->includes_count; i++) {
        long place = find_cell_place(expansion, &axes->includes[i]);
        if (place >= 0 && !expansion->excluded[place])
            status = refuse_cells(expansion, axes->includes[i].node->span, JR_CODE_CELL_TWICE,
                                  "the axes make this cell already");
    }
    return status;
}

static void number_cells(struct expansion *expansion, size_t product)
{
    struct jr_cells *cells = expansion->cells;
    const struct jr_sweep_axes *axes = expansion->axes;
    size_t fields = 0;
    for (size_t i = 0; i < axes->count; i++)
        fields += axes->axes[i].fields_count;
    cells->most_values = fields;
    for (size_t i = 0; i < product; i++)
        if (!expansion->excluded[i])
            cells->places[cells->count++] = (uint32_t)i;
    for (size_t i = 0; i < axes->includes_count; i++) {
        cells->places[cells->count++] = (uint32_t)(axes->product + i);
        if (axes->includes[i].count > cells->most_values)
            cells->most_values = axes->includes[i].count;
    }
}

int jr_cells_expand(struct jr_cells *ret, const struct jr_sweep_axes *axes, struct jr_diags *diags)
{
    size_t product = axes->count == 0 ? 0 : (size_t)axes->product;
    size_t most = product + axes->includes_count;
    struct expansion expansion = {.cells = ret, .axes = axes, .diags = diags};
    *ret = (struct jr_cells){.axes = axes};
    ret->places = jr_arena_array(&ret->arena, most, sizeof *ret->places);
    expansion.excluded = jr_arena_array(&expansion.arena, product + 1, sizeof(bool));
    expansion.values = jr_arena_array(&expansion.arena, axes->count + 1, sizeof *expansion.values);
    ret->arena.failed |= expansion.arena.failed;
    int status = ret->arena.failed ? -1 : 0;
    if (status == 0) {
        exclude_cells(&expansion);
        status = check_includes(&expansion);
        ret->arena.failed |= expansion.arena.failed;
    }
    if (status == 0)
        number_cells(&expansion, product);
    jr_arena_release(&expansion.arena);
    if (ret->arena.failed)
        status = refuse_cells(&expansion, axes->at, JR_CODE_INTERNAL, "out of memory");
    else if (status == 0 && ret->count > JR_SWEEP_CELLS_MAX)
        status = refuse_cells(&expansion, axes->at, JR_CODE_TOO_MANY_CELLS,
                              "the axes and `include` make more than 100000 cells");
    else if (status == 0 && ret->count == 0)
        status = refuse_cells(&expansion, axes->at, JR_CODE_SWEEP_INCOMPLETE,
                              "`exclude` leaves no cell");
    return status;
}

void jr_cells_release(struct jr_cells *cells)
{
    jr_arena_release(&cells->arena);
}

long jr_cells_value_index(const struct jr_cells *cells, size_t i, size_t axis)
{
    const struct jr_sweep_axes *axes = cells->axes;
    size_t place = cells->places[i];
    if (place >= axes->product)
        return -1;
    for (size_t at = axes->count - 1; at > axis; at--)
        place /= axes->axes[at].count;
    return (long)(place % axes->axes[axis].count);
}

size_t jr_cells_values(const struct jr_cells *cells, size_t i, struct jr_stated_value *ret)
{
    const struct jr_sweep_axes *axes = cells->axes;
    size_t count = 0;
    if (cells->places[i] >= axes->product) {
        size_t entry = cells->places[i] - (size_t)axes->product;
        const struct jr_sweep_choice *choice = &axes->includes[entry];
        for (; count < choice->count; count++)
            ret[count] = (struct jr_stated_value){.path = choice->fields[count].path,
                                                  .key = choice->fields[count].key,
                                                  .value = choice->values[count]};
        return count;
    }
    for (size_t at = 0; at < axes->count; at++) {
        const struct jr_sweep_axis *axis = &axes->axes[at];
        size_t value = (size_t)jr_cells_value_index(cells, i, at);
        for (size_t j = 0; j < axis->fields_count; j++)
            ret[count++] =
                (struct jr_stated_value){.path = axis->fields[j].path,
                                         .key = axis->fields[j].key,
                                         .at = axis->fields[j].at,
                                         .value = axis->values[value * axis->fields_count + j]};
    }
    return count;
}

json_t *jr_cells_json(const struct jr_cells *cells, size_t i)
{
    struct jr_stated_value *values = calloc(cells->most_values + 1, sizeof *values);
    json_t *object = values == NULL ? NULL : json_object();
    size_t count = object == NULL ? 0 : jr_cells_values(cells, i, values);
    for (size_t j = 0; j < count; j++)
        jr_json_set(object, values[j].path, jr_cell_value_json(values[j].value));
    free(values);
    return object;
}

void jr_cell_value_text(struct jr_buf *out, const struct jr_node *value)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_doc_emit_line(&line, value);
    out->failed |= line.failed;
    if (line.data != NULL)
        jr_buf_safe(out, line.data);
}

void jr_cells_text(struct jr_buf *out, const struct jr_cells *cells, size_t i)
{
    struct jr_stated_value *values = calloc(cells->most_values + 1, sizeof *values);
    size_t count = values == NULL ? 0 : jr_cells_values(cells, i, values);
    out->failed |= values == NULL;
    for (size_t j = 0; j < count; j++) {
        jr_buf_str(out, j == 0 ? "" : ",");
        jr_buf_safe(out, values[j].path);
        jr_buf_char(out, '=');
        jr_cell_value_text(out, values[j].value);
    }
    free(values);
}

/* Which cell --cell and SWEEP/CELL mean. */

enum { MOST_TOLD = 8 }; /* values, or axes */

/* The different values of a field that cells were found to have. */
struct value_list {
    const struct jr_node *values[MOST_TOLD];
    size_t count; /* of all, as far as they fit, and one more if not */
};

static int refuse_value(const char *pair, size_t len, size_t path, const struct value_list *list,
                        struct jr_error *err)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    for (size_t i = 0; i < list->count && i < MOST_TOLD; i++) {
        bool before_last = i + 1 == list->count && i > 0;
        jr_buf_str(&text, i == 0 ? "" : before_last ? " or " : ", ");
        jr_cell_value_text(&text, list->values[i]);
    }
    jr_buf_str(&text, list->count > MOST_TOLD ? ", ..." : "");
    return jr_error_set(err, JR_STATUS_USAGE, "no cell has %.*s: %.*s is %s", (int)len, pair,
                        (int)path, pair, text.failed ? "another" : text.data);
}

/* The fields that the axes vary. */
static int refuse_axis(const struct jr_cells *cells, const char *path, size_t len,
                       struct jr_error *err)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    const struct jr_sweep_axes *axes = cells->axes;
    size_t count = 0;
    for (size_t i = 0; i < axes->count; i++)
        for (size_t j = 0; j < axes->axes[i].fields_count; j++)
            if (count++ < MOST_TOLD)
                jr_buf_printf(&text, "%s%s", count == 1 ? "; the axes are " : ", ",
                              axes->axes[i].fields[j].path);
    jr_buf_str(&text, count > MOST_TOLD ? ", ..." : "");
    return jr_error_set(err, JR_STATUS_USAGE, "'%.*s' is not an axis of the sweep%s", (int)len,
                        path, text.failed ? "" : text.data);
}

/* Neither a number nor a pair. */
static int refuse_word(const struct jr_cells *cells, const char *text, size_t len,
                       struct jr_error *err)
{
    struct jr_buf first JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_cells_text(&first, cells, 0);
    return jr_error_set(err, JR_STATUS_USAGE,
                        "'%.*s' is neither the number of a cell (0 to %zu) nor its values (%s)",
                        (int)len, text, cells->count - 1,
                        first.failed || first.len == 0 ? "PATH=VALUE" : first.data);
}

/* Whether cell `i` has the value in the field whose path has `len` bytes; what it has is one of
 * `list` from now on. */
static bool has_value(const struct jr_cells *cells, size_t i, const char *path, size_t len,
                      const struct jr_node *value, struct jr_stated_value *values,
                      struct value_list *list)
{
    bool same = false;
    for (size_t j = jr_cells_values(cells, i, values); j-- > 0;) {
        const struct jr_node *own = values[j].value;
        size_t at = 0;
        if (strncmp(values[j].path, path, len) != 0 || values[j].path[len] != '\0')
            continue;
        same = value != NULL && jr_sweep_values_compare(own, value) == 0;
        while (at < list->count && at < MOST_TOLD &&
               jr_sweep_values_compare(list->values[at], own) != 0)
            at++;
        if (at < list->count && at < MOST_TOLD)
            continue;
        if (list->count < MOST_TOLD)
            list->values[list->count] = own;
        list->count += list->count <= MOST_TOLD;
    }
    return same;
}

/* Narrow `left` to the cells that have the pair from `text` to `end`; its value is read by type. */
static int narrow_by_pair(const struct jr_cells *cells, bool *left, const char *text,
                          const char *end, struct jr_stated_value *values, struct jr_error *err)
{
    const char *equals = memchr(text, '=', (size_t)(end - text));
    size_t len = equals == NULL ? 0 : (size_t)(equals - text), found = 0;
    struct jr_doc doc = JR_DOC_INIT;
    struct jr_diags silent = JR_DIAGS_INIT;
    struct jr_buf value JR_BUF_CLEANUP = JR_BUF_INIT;
    struct value_list list = {.count = 0};
    if (len == 0)
        return refuse_word(cells, text, (size_t)(end - text), err);
    jr_buf_add(&value, equals + 1, (size_t)(end - equals - 1));
    if (!value.failed)
        (void)jr_doc_load_value(&doc, "--cell", value.data, 0, &silent);
    const struct jr_node *wanted = silent.errors == 0 ? doc.root : NULL;
    for (size_t i = 0; i < cells->count; i++) {
        left[i] = left[i] && has_value(cells, i, text, len, wanted, values, &list);
        found += left[i];
    }
    jr_diags_release(&silent);
    jr_doc_release(&doc);
    if (list.count == 0)
        return refuse_axis(cells, text, len, err);
    return found > 0 ? 0 : refuse_value(text, (size_t)(end - text), len, &list, err);
}

/* The only cell that has all of the pairs, or why there is none. */
static int choose_by_values(size_t *ret, const struct jr_cells *cells, const char *text,
                            struct jr_error *err)
{
    JR_FREE bool *left = calloc(cells->count + 1, sizeof *left);
    JR_FREE struct jr_stated_value *values = calloc(cells->most_values + 1, sizeof *values);
    struct jr_buf list JR_BUF_CLEANUP = JR_BUF_INIT;
    size_t found = 0, first = 0;
    if (left == NULL || values == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    for (size_t i = 0; i < cells->count; i++)
        left[i] = true;
    for (const char *at = text, *end = ""; at != NULL; at = *end == '\0' ? NULL : end + 1) {
        end = jr_sweep_value_end(at);
        if (narrow_by_pair(cells, left, at, end, values, err) != 0)
            return -1;
    }
    for (size_t i = 0; i < cells->count; i++) {
        if (!left[i])
            continue;
        if (found++ == 0)
            first = i;
        if (found <= 4)
            jr_buf_printf(&list, "%s%zu", found == 1 ? "" : ", ", i);
    }
    if (found != 1)
        return jr_error_set(err, JR_STATUS_USAGE,
                            "%s is true of %zu cells (%s%s): state more values, or a number", text,
                            found, list.failed ? "" : list.data, found > 4 ? ", ..." : "");
    *ret = first;
    return 0;
}

int jr_cells_choose(size_t *ret, const struct jr_cells *cells, const char *text,
                    struct jr_error *err)
{
    const char *digits = text;
    while (digits[0] == '0' && digits[1] != '\0') /* 0007 is 7 */
        digits++;
    uint64_t number;
    if (!jr_num_u64(digits, &number))
        return choose_by_values(ret, cells, text, err);
    if (number < cells->count) {
        *ret = (size_t)number;
        return 0;
    }
    return jr_error_set(err, JR_STATUS_USAGE, "there is no cell %s: the sweep has cells 0 to %zu",
                        text, cells->count - 1);
}

const char *jr_cell_column_name(const char *path)
{
    static const char *const own[] = {"vars.", "extends."};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strncmp(path, own[i], strlen(own[i])) == 0)
            return path + strlen(own[i]);
    return path;
}

/* Make the column of a field, which is added if there is none, as wide as a value. */
static void fit_column(struct jr_cell_columns *columns, const char *path,
                       const struct jr_node *value)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    size_t i = 0;
    while (i < columns->count && strcmp(columns->items[i].path, path) != 0)
        i++;
    if (i == columns->count) {
        struct jr_cell_column *added =
            jr_arena_push(&columns->arena, &columns->items, &columns->count, sizeof *added);
        if (added == NULL)
            return;
        jr_buf_safe(&text, jr_cell_column_name(path));
        columns->arena.failed |= text.failed;
        *added = (struct jr_cell_column){path, jr_utf8_columns(text.data, text.len)};
        jr_buf_clear(&text);
    }
    jr_cell_value_text(&text, value);
    columns->arena.failed |= text.failed;
    size_t width = jr_utf8_columns(text.data, text.len);
    if (columns->items[i].width < width)
        columns->items[i].width = width;
}

void jr_cell_columns_init(struct jr_cell_columns *ret, const struct jr_cells *cells)
{
    const struct jr_sweep_axes *axes = cells->axes;
    *ret = (struct jr_cell_columns){.cells = cells};
    ret->values = jr_arena_array(&ret->arena, cells->most_values, sizeof *ret->values);
    for (size_t i = 0; i < axes->count; i++) {
        const struct jr_sweep_axis *axis = &axes->axes[i];
        for (size_t j = 0; j < axis->count * axis->fields_count; j++)
            fit_column(ret, axis->fields[j % axis->fields_count].path, axis->values[j]);
    }
    for (size_t i = 0; i < axes->includes_count; i++)
        for (size_t j = 0; j < axes->includes[i].count; j++)
            fit_column(ret, axes->includes[i].fields[j].path, axes->includes[i].values[j]);
}

void jr_cell_columns_release(struct jr_cell_columns *columns)
{
    jr_arena_release(&columns->arena);
}

/* Append a text that is safe to show, and blanks to the end of its column. */
static void add_padded(struct jr_buf *out, const struct jr_buf *text, size_t width)
{
    out->failed |= text->failed;
    if (text->failed)
        return;
    jr_buf_add(out, text->data, text->len);
    jr_buf_fill(out, ' ', width - jr_utf8_columns(text->data, text->len) + 2);
}

void jr_cell_columns_head(struct jr_buf *out, const struct jr_cell_columns *columns)
{
    out->failed |= columns->arena.failed;
    for (size_t i = 0; i < columns->count; i++) {
        struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_safe(&name, jr_cell_column_name(columns->items[i].path));
        add_padded(out, &name, columns->items[i].width);
    }
}

void jr_cell_columns_row(struct jr_buf *out, const struct jr_cell_columns *columns, size_t i)
{
    out->failed |= columns->arena.failed;
    if (out->failed)
        return;
    size_t count = jr_cells_values(columns->cells, i, columns->values);
    for (size_t at = 0; at < columns->count; at++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        for (size_t j = 0; j < count; j++)
            if (strcmp(columns->values[j].path, columns->items[at].path) == 0)
                jr_cell_value_text(&text, columns->values[j].value);
        if (text.data == NULL)
            jr_buf_char(&text, '-');
        add_padded(out, &text, columns->items[at].width);
    }
}
