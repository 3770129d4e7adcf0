/* The table of a sweep's cells: columns, order, formats. */
#include "session/sweep/show_sweep.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/diff_table.h"
#include "record/record_folder.h"
#include "session/sweep/load_sweep.h"
#include "sweep/cell_columns.h"
#include "sweep/cell_result.h"

#include "base/banned.h"

#define RESULTS "results."

enum { MOST_COLUMNS = 64 };

/* The table on its way out. */
struct table {
    struct jr_arena arena;
    const json_t *sweep, *cells;
    const struct jr_sweep_view *view;
    const char *columns[MOST_COLUMNS]; /* "cell", "vars.lr", "results.loss" */
    size_t count;
    const char *sort; /* a column; NULL: the numbers */
    bool falls;       /* the largest first */
    json_int_t best;  /* the number of the best cell; -1 */
};

/* The value of a cell in a column; NULL: it has none. */
static const json_t *column_value(const json_t *cell, const char *column)
{
    const json_t *value;
    if (strncmp(column, RESULTS, strlen(RESULTS)) == 0)
        value = json_object_get(json_object_get(cell, "result"),
                                column + strlen(RESULTS));
    else if (strcmp(column, "cell") == 0 || strcmp(column, "status") == 0 ||
             strcmp(column, "seconds") == 0)
        value = json_object_get(cell, column);
    else
        value = json_object_get(json_object_get(cell, "values"), column);
    return json_is_null(value) ? NULL : value;
}

static void add_column(struct table *table, const char *column)
{
    size_t i = 0;
    while (i < table->count && strcmp(table->columns[i], column) != 0)
        i++;
    if (i == table->count && table->count < MOST_COLUMNS)
        table->columns[table->count++] = column;
}

/* Whether a value differs between cells. */
static bool does_differ(const struct table *table, const char *column)
{
    const json_t *first = column_value(json_array_get(table->cells, 0), column);
    for (size_t i = 1; i < json_array_size(table->cells); i++) {
        const json_t *other =
            column_value(json_array_get(table->cells, i), column);
        if ((first == NULL) != (other == NULL) ||
            (first != NULL && json_equal(first, other) == 0))
            return true;
    }
    return false;
}

static void add_values(struct table *table)
{
    for (size_t i = 0; i < json_array_size(table->cells); i++) {
        json_t *values =
            json_object_get(json_array_get(table->cells, i), "values");
        for (void *at = json_object_iter(values); at != NULL;
             at = json_object_iter_next(values, at))
            add_column(table, json_object_iter_key(at));
    }
    size_t kept = 1;
    bool all = table->view->format == JR_SWEEP_CSV ||
               json_array_size(table->cells) < 2;
    for (size_t i = 1; i < table->count; i++)
        if (all || does_differ(table, table->columns[i]))
            table->columns[kept++] = table->columns[i];
    table->count = kept;
}

static void add_results(struct table *table)
{
    for (size_t i = 0; i < json_array_size(table->cells); i++) {
        json_t *result =
            json_object_get(json_array_get(table->cells, i), "result");
        for (void *at = json_object_iter(result); at != NULL;
             at = json_object_iter_next(result, at)) {
            const char *name = jr_arena_printf(&table->arena, RESULTS "%s",
                                               json_object_iter_key(at));
            if (name != NULL)
                add_column(table, name);
        }
    }
}

/* A column as the user calls it: a bare name is a field of the results. NULL:
 * no cell has it. */
static const char *known_column(struct table *table, const char *word,
                                size_t len)
{
    char *name = jr_arena_strndup(&table->arena, word, len);
    char *result =
        jr_arena_printf(&table->arena, RESULTS "%s", name == NULL ? "" : name);
    if (name == NULL || result == NULL)
        return NULL;
    for (size_t i = 0; i < json_array_size(table->cells); i++) {
        const json_t *cell = json_array_get(table->cells, i);
        if (column_value(cell, name) != NULL)
            return name;
        if (column_value(cell, result) != NULL)
            return result;
    }
    return strcmp(name, "seconds") == 0 ? name : NULL;
}

static int refuse_column(const char *option, const char *word, size_t len,
                         struct jr_error *err)
{
    return jr_error_set(err, JR_STATUS_USAGE,
                        "%s: no cell has '%.*s'; columns are cell, status, "
                        "seconds, the paths of the axes, and the fields of the "
                        "results",
                        option, (int)len, word);
}

static int choose_columns(struct table *table, struct jr_error *err)
{
    const char *at = table->view->columns;
    add_column(table, "cell");
    if (at == NULL) {
        bool csv = table->view->format == JR_SWEEP_CSV;
        if (!csv)
            add_values(table);
        add_column(table, "status");
        if (csv) {
            add_column(table, "seconds");
            add_values(table);
        }
        add_results(table);
        add_column(table, "seconds");
        return 0;
    }
    for (size_t len; *at != '\0'; at += len + (at[len] == ',')) {
        len = strcspn(at, ",");
        const char *column = known_column(table, at, len);
        if (column == NULL)
            return refuse_column("--columns", at, len, err);
        add_column(table, column);
    }
    return 0;
}

/* The order: as it is asked for, else the best first. */
static int choose_order(struct table *table, struct jr_error *err)
{
    const json_t *best = json_object_get(table->sweep, "best");
    const char *word = table->view->sort,
               *field = jr_json_get_str(best, "field");
    const char *goal = jr_json_get_str(best, "goal");
    table->best = -1;
    if (json_is_integer(json_object_get(best, "cell")))
        table->best = jr_json_get_int(best, "cell");
    if (word == NULL && field != NULL) {
        table->sort = known_column(table, field, strlen(field));
        table->falls = goal != NULL && strcmp(goal, "max") == 0;
        return 0;
    }
    if (word == NULL)
        return 0;
    table->falls = *word == '-';
    word += *word == '-';
    table->sort = known_column(table, word, strlen(word));
    return table->sort != NULL
               ? 0
               : refuse_column("--sort", word, strlen(word), err);
}

/* A cell and its place in an order. */
struct placed {
    const struct table *table;
    const json_t *cell, *value;
    size_t index;
};

static double sort_number(const json_t *value)
{
    const json_t *mean = json_object_get(value, "mean");
    return json_number_value(mean != NULL ? mean : value);
}

static int compare_values(const json_t *a, const json_t *b)
{
    const char *x = json_string_value(a), *y = json_string_value(b);
    if (x != NULL && y != NULL)
        return strcmp(x, y);
    double m = sort_number(a), n = sort_number(b);
    return (m > n) - (m < n);
}

static int compare_placed(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    int order = 0;
    if ((a->value == NULL) != (b->value == NULL))
        return a->value == NULL ? 1 : -1; /* without it: last */
    if (a->value != NULL)
        order = compare_values(a->value, b->value);
    if (order != 0)
        return a->table->falls ? -order : order;
    return (a->index > b->index) - (a->index < b->index);
}

static struct placed *sort_cells(struct table *table)
{
    size_t count = json_array_size(table->cells);
    struct placed *placed =
        jr_arena_array(&table->arena, count + 1, sizeof *placed);
    for (size_t i = 0; placed != NULL && i < count; i++) {
        const json_t *cell = json_array_get(table->cells, i);
        placed[i] = (struct placed){
            table, cell,
            table->sort == NULL ? NULL : column_value(cell, table->sort), i};
    }
    if (placed != NULL)
        qsort(placed, count, sizeof *placed, compare_placed);
    return placed;
}

/* A value as a cell of the table. */
static void add_shown_value(struct jr_buf *out, const struct table *table,
                            const json_t *cell, const char *column)
{
    const json_t *value = column_value(cell, column);
    bool people = table->view->format == JR_SWEEP_TEXT ||
                  table->view->format == JR_SWEEP_MARKDOWN;
    if (strcmp(column, "cell") == 0 && people)
        jr_buf_printf(out, "%04lld", (long long)json_integer_value(value));
    else if (strcmp(column, "seconds") == 0 && people && value != NULL)
        jr_buf_printf(out, "%.1f", json_number_value(value));
    else if (people || value != NULL)
        jr_cell_result_text(out, value);
}

static const char *heading(const struct table *table, const char *column)
{
    if (table->view->format == JR_SWEEP_CSV)
        return column;
    return strncmp(column, RESULTS, strlen(RESULTS)) == 0
               ? column + strlen(RESULTS)
               : jr_cell_column_name(column);
}

/* Why a cell did not deliver, by its own record: "rank 0   RuntimeError: ..."
 */
static void add_reason(struct jr_buf *out, struct table *table,
                       const json_t *cell, const char *folder)
{
    const char *run = jr_json_get_str(cell, "run"),
               *status = jr_json_get_str(cell, "status");
    const char *slash = run == NULL ? NULL : strchr(run, '/');
    if (slash == NULL || status == NULL || strcmp(status, "succeeded") == 0 ||
        strcmp(status, "running") == 0)
        return;
    char *cells = jr_arena_printf(&table->arena, "%s/%.*s", folder,
                                  (int)(slash - run), run);
    int fd = cells == NULL ? -1 : jr_record_folder_open(cells, slash + 1, NULL);
    json_t *results =
        fd < 0 ? NULL : jr_record_folder_json(fd, "results.json", NULL);
    const json_t *cause = json_object_get(results, "root_cause");
    const char *message = jr_json_get_str(cause, "message");
    if (json_is_integer(json_object_get(cause, "rank")))
        jr_buf_printf(out, "rank %lld   ",
                      (long long)jr_json_get_int(cause, "rank"));
    if (message != NULL)
        jr_buf_safe(out, message);
    jr_buf_printf(out, "   (jobrun show %s/%lld)", table->view->word,
                  (long long)jr_json_get_int(cell, "cell"));
    json_decref(results);
    if (fd >= 0)
        (void)close(fd);
}

/* A cell that delivered, but with other code than the sweep had at last. */
static void add_code_mark(struct jr_buf *out, const struct table *table,
                          const json_t *cell)
{
    const char *ran = jr_json_get_str(cell, "code"),
               *now = jr_json_get_str(table->sweep, "code"),
               *status = jr_json_get_str(cell, "status");
    if (ran != NULL && now != NULL && strcmp(ran, now) != 0 && status != NULL &&
        strcmp(status, "succeeded") == 0)
        jr_buf_str(out, "other code");
}

static size_t lines_of(const struct table *table)
{
    size_t count = json_array_size(table->cells);
    uint32_t top = table->view->top;
    return top > 0 && top < count ? top : count;
}

/* "lr-scan: 23 of 24 delivered, 1 failed      best by accuracy, highest first"
 */
static void print_summary(struct jr_buf *out, const struct table *table)
{
    json_t *counts = json_object_get(table->sweep, "counts");
    const char *name = jr_json_get_str(table->sweep, "name");
    jr_buf_safe(out, name == NULL ? "sweep" : name);
    jr_buf_printf(out, ": %lld of %zu delivered",
                  (long long)jr_json_get_int(counts, "succeeded"),
                  json_array_size(table->cells));
    for (void *at = json_object_iter(counts); at != NULL;
         at = json_object_iter_next(counts, at)) {
        const char *word = json_object_iter_key(at);
        if (strcmp(word, "succeeded") != 0)
            jr_buf_printf(
                out, ", %lld %s",
                (long long)json_integer_value(json_object_iter_value(at)),
                strcmp(word, "not_started") == 0 ? "not started" : word);
    }
    if (table->sort != NULL) {
        jr_buf_str(out, "      by ");
        jr_buf_safe(out, heading(table, table->sort));
        jr_buf_str(out, table->falls ? ", highest first" : ", lowest first");
    }
    jr_buf_char(out, '\n');
}

static void print_text(struct jr_buf *out, struct table *table,
                       const struct placed *placed, const char *folder)
{
    struct jr_buf rows JR_BUF_CLEANUP = JR_BUF_INIT;
    print_summary(out, table);
    for (size_t i = 0; i < table->count; i++) {
        jr_buf_str(&rows, i == 0 ? "  " : "\t");
        jr_buf_safe(&rows, heading(table, table->columns[i]));
    }
    jr_buf_char(&rows, '\n');
    for (size_t i = 0; i < lines_of(table); i++) {
        const json_t *cell = placed[i].cell;
        bool best = jr_json_get_int(cell, "cell") == table->best;
        for (size_t j = 0; j < table->count; j++) {
            jr_buf_str(&rows, j > 0 ? "\t" : best ? "* " : "  ");
            add_shown_value(&rows, table, cell, table->columns[j]);
        }
        jr_buf_char(&rows, '\t');
        if (table->view->columns == NULL) {
            add_code_mark(&rows, table, cell);
            add_reason(&rows, table, cell, folder);
        }
        jr_buf_char(&rows, '\n');
    }
    if (table->count < JR_TABLE_COLUMNS)
        jr_table_add(out, &rows, 3);
    else
        jr_buf_add(out, rows.data, rows.len);
    out->failed |= rows.failed;
}

/* A field of CSV: in quotes where it has to be (RFC 4180). */
static void add_csv(struct jr_buf *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        jr_buf_str(out, text);
        return;
    }
    jr_buf_char(out, '"');
    jr_buf_replaced(out, text, "\"", "\"\"");
    jr_buf_char(out, '"');
}

static void add_row_field(struct jr_buf *out, const struct table *table,
                          const char *text, size_t i)
{
    if (table->view->format == JR_SWEEP_CSV) {
        jr_buf_str(out, i == 0 ? "" : ",");
        add_csv(out, text);
        return;
    }
    jr_buf_str(out, i == 0 ? "| " : " | ");
    jr_buf_replaced(out, text, "|", "\\|");
}

/* CSV and Markdown: a line of headings, and one for each cell. */
static void print_lines(struct jr_buf *out, struct table *table,
                        const struct placed *placed)
{
    bool markdown = table->view->format == JR_SWEEP_MARKDOWN;
    for (size_t i = 0; i < table->count; i++)
        add_row_field(out, table, heading(table, table->columns[i]), i);
    jr_buf_str(out, markdown ? " |\n" : "\n");
    for (size_t i = 0; markdown && i < table->count; i++)
        jr_buf_str(out, i + 1 < table->count ? "|---" : "|---|\n");
    for (size_t i = 0; i < lines_of(table); i++) {
        for (size_t j = 0; j < table->count; j++) {
            struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
            add_shown_value(&text, table, placed[i].cell, table->columns[j]);
            out->failed |= text.failed;
            add_row_field(out, table, text.data == NULL ? "" : text.data, j);
        }
        jr_buf_str(out, markdown ? " |\n" : "\n");
    }
}

static int print_table(struct jr_buf *out, struct table *table,
                       const char *folder, struct jr_error *err)
{
    if (choose_columns(table, err) != 0 || choose_order(table, err) != 0)
        return -1;
    const struct placed *placed = sort_cells(table);
    if (placed != NULL && table->view->format == JR_SWEEP_TEXT)
        print_text(out, table, placed, folder);
    else if (placed != NULL)
        print_lines(out, table, placed);
    return table->arena.failed || out->failed
               ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory")
               : 0;
}

int jr_sweep_show(struct jr_buf *out, const char *log_dir, const char *id,
                  const struct jr_sweep_view *view, struct jr_error *err)
{
    struct jr_buf folder JR_BUF_CLEANUP = JR_BUF_INIT;
    json_t *sweep = jr_load_sweep(log_dir, id, err);
    if (sweep == NULL)
        return -1;
    struct table table = {
        .sweep = sweep, .cells = json_object_get(sweep, "cells"), .view = view};
    int status = 0;
    jr_buf_printf(&folder, "%s/%s", log_dir, id);
    if (view->format == JR_SWEEP_JSON) {
        jr_json_print(out, sweep, 2);
        jr_buf_char(out, '\n');
    } else {
        status =
            print_table(out, &table, folder.failed ? "" : folder.data, err);
    }
    jr_arena_release(&table.arena);
    json_decref(sweep);
    return status;
}
