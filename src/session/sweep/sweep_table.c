#include "session/sweep/sweep_table.h"

#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "record/record_folder.h"
#include "session/sweep/load_sweep.h"
#include "sweep/sweep_file.h"

#include "base/banned.h"

static const char *const always[] = {"cell", "status", "seconds", NULL};
static const char *const yielding[] = {"code", "host", NULL};

static const struct jr_row_kind cell_kind = {
    .what = "cell", .always = always, .yielding = yielding, .bare = true};

static json_t *flat_cell(const json_t *cell)
{
    json_t *row = json_object();
    for (size_t i = 0; always[i] != NULL; i++)
        jr_json_share(row, cell, always[i]);
    for (size_t i = 0; yielding[i] != NULL; i++)
        jr_json_share(row, cell, yielding[i]);
    jr_row_add_members(row, json_object_get(cell, "values"), "");
    jr_row_add_members(row, json_object_get(cell, "result"), JR_ROW_RESULTS);
    return row;
}

static void find_fields(struct jr_sweep_table *table, const json_t *cells)
{
    table->fields = json_object();
    for (size_t i = 0; i < json_array_size(cells); i++)
        jr_row_add_members(table->fields, json_object_get(json_array_get(cells, i), "values"), "");
}

static void find_best(struct jr_sweep_table *table)
{
    const json_t *best = json_object_get(table->sweep, "best");
    const char *field = jr_json_get_str(best, "field"), *goal = jr_json_get_str(best, "goal");
    struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
    table->best = -1;
    table->rows.of = jr_json_get_str(best, "of");
    table->best_is_max = goal != NULL && strcmp(goal, "max") == 0;
    if (field != NULL) { /* of the results, also where an axis has the name */
        jr_buf_str(&name, JR_ROW_RESULTS);
        jr_buf_str(&name, field);
        table->rows.arena.failed |= name.failed;
        if (!name.failed)
            table->best_field = jr_row_table_name(&table->rows, name.data, name.len);
    }
    if (json_is_integer(json_object_get(best, "cell")))
        table->best = jr_json_get_int(best, "cell");
}

int jr_sweep_table_open(struct jr_sweep_table *ret, const char *log_dir, const char *id,
                        enum jr_row_format format, struct jr_error *err)
{
    *ret = (struct jr_sweep_table){.log_dir = log_dir, .id = id};
    ret->sweep = jr_load_sweep(log_dir, id, err);
    if (ret->sweep == NULL)
        return -1;
    const json_t *cells = json_object_get(ret->sweep, "cells");
    json_t *rows = json_array();
    for (size_t i = 0; i < json_array_size(cells); i++)
        jr_json_append(rows, flat_cell(json_array_get(cells, i)));
    find_fields(ret, cells);
    jr_row_table_init(&ret->rows, rows, &cell_kind, format);
    find_best(ret);
    return ret->rows.arena.failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory") : 0;
}

void jr_sweep_table_close(struct jr_sweep_table *table)
{
    jr_row_table_release(&table->rows);
    json_decref(table->fields);
    json_decref(table->sweep);
}

static void add_field_columns(struct jr_sweep_table *table, bool all)
{
    const char *path;
    json_t *value;
    all = all || json_array_size(table->rows.rows) < 2;
    json_object_foreach(table->fields, path, value) {
        if (all || jr_row_table_differs(&table->rows, path))
            jr_row_table_add_column(&table->rows, path);
    }
}

static void add_result_columns(struct jr_sweep_table *table)
{
    const char *name;
    json_t *value;
    json_object_foreach(table->rows.names, name, value) {
        if (strncmp(name, JR_ROW_RESULTS, strlen(JR_ROW_RESULTS)) == 0 &&
            json_object_get(table->fields, name) == NULL)
            jr_row_table_add_column(&table->rows, name);
    }
}

static bool has_several_hosts(const struct jr_sweep_table *table)
{
    const json_t *rows = table->rows.rows;
    const char *first = NULL;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const char *host = jr_json_get_str(json_array_get(rows, i), "host");
        if (first == NULL)
            first = host;
        else if (host != NULL && strcmp(host, first) != 0)
            return true;
    }
    return false;
}

static void add_usual_columns(struct jr_sweep_table *table)
{
    bool csv = table->rows.format == JR_ROWS_CSV;
    if (!csv)
        add_field_columns(table, false);
    jr_row_table_add_column(&table->rows, "status");
    if (csv) {
        jr_row_table_add_column(&table->rows, "seconds");
        add_field_columns(table, true);
    }
    add_result_columns(table);
    jr_row_table_add_column(&table->rows, "seconds");
    if (!csv && has_several_hosts(table))
        jr_row_table_add_column(&table->rows, "host");
}

int jr_sweep_table_arrange(struct jr_sweep_table *table, const struct jr_sweep_view *view,
                           struct jr_error *err)
{
    struct jr_row_table *rows = &table->rows;
    struct jr_buf best JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *sort = view->sort;
    if (view->columns == NULL)
        add_usual_columns(table);
    else if (jr_row_table_choose(rows, view->columns, err) != 0)
        return -1;
    if (sort == NULL && table->best_field != NULL) {
        jr_buf_str(&best, table->best_is_max ? "-" : "");
        jr_buf_str(&best, table->best_field);
        sort = best.data;
    }
    if (sort != NULL && jr_row_table_sort(rows, sort, err) != 0)
        return -1;
    if (view->top > 0 && view->top < rows->count)
        rows->count = view->top;
    return rows->arena.failed || best.failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory")
                                             : 0;
}

void jr_sweep_table_count(struct jr_buf *out, const struct jr_sweep_table *table)
{
    json_t *counts = json_object_get(table->sweep, "counts"), *count;
    const char *word;
    jr_buf_printf(out, "%lld of %zu delivered", (long long)jr_json_get_int(counts, "succeeded"),
                  json_array_size(table->rows.rows));
    json_object_foreach(counts, word, count) {
        if (strcmp(word, "succeeded") == 0)
            continue;
        jr_buf_printf(out, ", %lld ", (long long)json_integer_value(count));
        jr_buf_safe(out, strcmp(word, "not_started") == 0 ? "not started" : word);
    }
}

void jr_sweep_cell_reason(struct jr_buf *out, int dir_fd)
{
    json_t *results = dir_fd < 0 ? NULL : jr_record_folder_json(dir_fd, "results.json", NULL);
    const json_t *cause = json_object_get(results, "root_cause");
    const char *message = jr_json_get_str(cause, "message");
    if (json_is_integer(json_object_get(cause, "rank")))
        jr_buf_printf(out, "rank %lld   ", (long long)jr_json_get_int(cause, "rank"));
    if (message != NULL)
        jr_buf_safe(out, message);
    json_decref(results);
}

bool jr_sweep_table_reason(struct jr_buf *out, const struct jr_sweep_table *table,
                           const json_t *row)
{
    const char *status = jr_json_get_str(row, "status");
    struct jr_buf cells JR_BUF_CLEANUP = JR_BUF_INIT;
    char folder[16];
    if (status == NULL || strcmp(status, "succeeded") == 0 || strcmp(status, "running") == 0 ||
        strcmp(status, "not_started") == 0)
        return false;
    jr_buf_printf(&cells, "%s/%s/" JR_SWEEP_CELLS, table->log_dir, table->id);
    jr_cell_folder(folder, jr_json_get_u32(row, "cell"));
    JR_CLOSE int fd = cells.failed ? -1 : jr_record_folder_open(cells.data, folder, NULL);
    jr_sweep_cell_reason(out, fd);
    return true;
}
