/* The page of a sweep. show_sweep.h declares it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "record/load_results.h"
#include "record/record_folder.h"
#include "report/html.h"
#include "report/page.h"
#include "report/page_curves.h"
#include "session/sweep/show_sweep.h"
#include "session/sweep/sweep_plots.h"
#include "sweep/journal.h"
#include "sweep/sweep_file.h"

#include "base/banned.h"

enum { MOST_ROWS = 2000 };

/* What a sweep came to, as a word for the mark of its page. */
static const char *page_status(const struct jr_sweep_table *table)
{
    json_t *counts = json_object_get(table->sweep, "counts"), *count;
    const char *word, *status = "succeeded";
    json_object_foreach(counts, word, count) {
        if (jr_cell_status_class(word) != 0)
            return "failed";
        if (strcmp(word, "succeeded") != 0)
            status = "incomplete";
    }
    return status;
}

static void add_page_fact(struct jr_buf *out, const char *name, const char *text)
{
    if (text == NULL || *text == '\0')
        return;
    jr_buf_printf(out, "<div><dt>%s</dt><dd>", name);
    jr_html_text(out, text);
    jr_buf_str(out, "</dd></div>\n");
}

/* "0002: loss 0.31", and how it is chosen. */
static void add_best_fact(struct jr_buf *out, const struct jr_sweep_table *table)
{
    const json_t *rows = table->rows.rows;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    if (table->best < 0 || table->best_field == NULL)
        return;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (jr_json_get_int(row, "cell") != table->best)
            continue;
        jr_buf_printf(&text, "%04lld: ", (long long)table->best);
        jr_buf_str(&text, jr_row_table_heading(&table->rows, table->best_field));
        jr_buf_char(&text, ' ');
        jr_row_table_value(&text, &table->rows, row, table->best_field);
        jr_buf_str(&text, table->best_is_max ? " (the highest)" : " (the lowest)");
    }
    add_page_fact(out, "best cell", text.data);
}

static void add_page_head(struct jr_buf *out, const struct jr_sweep_table *table)
{
    const char *name = jr_json_get_str(table->sweep, "name"), *status = page_status(table);
    struct jr_buf verdict JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_sweep_table_count(&verdict, table);
    jr_html_page_head(out, name, status);
    jr_buf_str(out, "<body>\n<header>\n<p class=\"kind\">jobrun sweep</p>\n"
                    "<h1>");
    jr_html_text(out, name == NULL ? "sweep" : name);
    jr_buf_printf(out, "</h1>\n<p class=\"verdict %s\">", status);
    jr_html_text(out, verdict.data);
    jr_buf_str(out, "</p>\n<dl class=\"facts\">\n");
    add_page_fact(out, "sweep", table->id);
    add_page_fact(out, "spec", jr_json_get_str(table->sweep, "spec"));
    add_best_fact(out, table);
    jr_buf_str(out, "</dl>\n</header>\n");
}

/* The colour that marks a status. */
static const char *status_mark(const char *status)
{
    static const char *const marks[] = {"succeeded", "failed", "incomplete", "stopped", "yielded"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strcmp(marks[i], status) == 0)
            return marks[i];
    return jr_cell_status_class(status) != 0 ? "failed" : "";
}

static void add_field(struct jr_buf *out, const struct jr_sweep_table *table, const json_t *row,
                      const char *name)
{
    const json_t *value = jr_row_value(row, name);
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_row_table_value(&text, &table->rows, row, name);
    bool status = strcmp(name, "status") == 0;
    jr_buf_str(out, json_is_number(value) ? "<td class=\"n\">"
                    : status              ? "<td class=\"status\">"
                                          : "<td>");
    if (!status) { /* where the page is too narrow for a head */
        jr_buf_str(out, "<small>");
        jr_html_text(out, jr_row_table_heading(&table->rows, name));
        jr_buf_str(out, " </small>");
    }
    if (status)
        jr_buf_printf(out, "<i class=\"%s\"></i>", status_mark(text.data == NULL ? "" : text.data));
    if (text.data != NULL) /* which is safe to show already */
        jr_html_escape(out, text.data, text.len);
    jr_buf_str(out, "</td>");
    out->failed |= text.failed;
}

static void add_cell_row(struct jr_buf *out, const struct jr_sweep_table *table, const json_t *row,
                         const char *base)
{
    const struct jr_row_table *rows = &table->rows;
    const char *status = jr_json_get_str(row, "status");
    bool begun = status != NULL && strcmp(status, "not_started") != 0;
    bool best = jr_json_get_int(row, "cell") == table->best;
    struct jr_buf reason JR_BUF_CLEANUP = JR_BUF_INIT;
    char folder[16], path[32];
    jr_cell_folder(folder, jr_json_get_u32(row, "cell"));
    (void)snprintf(path, sizeof path, JR_SWEEP_CELLS "/%s/", folder);
    jr_buf_str(out, best ? "<tr class=\"best\"><th scope=\"row\">" : "<tr><th scope=\"row\">");
    if (begun)
        jr_html_link(out, base, path, folder);
    else
        jr_buf_str(out, folder);
    jr_buf_str(out, best ? " ★</th>" : "</th>");
    for (size_t i = 1; i < rows->columns_count; i++)
        add_field(out, table, row, rows->columns[i]);
    jr_buf_str(out, "<td>");
    if (jr_sweep_table_reason(&reason, table, row) && reason.data != NULL)
        jr_html_escape(out, reason.data, reason.len);
    jr_buf_str(out, "</td></tr>\n");
    out->failed |= reason.failed;
}

/* What is left out is said, and where it is. */
static void add_table_caption(struct jr_buf *out, const struct jr_sweep_table *table)
{
    const struct jr_row_table *rows = &table->rows;
    size_t all = json_array_size(rows->rows);
    jr_buf_str(out, "<caption>");
    if (rows->count < all)
        jr_buf_printf(out, "The first %zu of %zu cells", rows->count, all);
    else
        jr_buf_printf(out, "%zu cell%s", all, all == 1 ? "" : "s");
    if (rows->sort != NULL) {
        jr_buf_str(out, " by ");
        jr_html_text(out, jr_row_table_heading(rows, rows->sort));
        jr_buf_str(out, rows->falls ? ", highest first" : ", lowest first");
    }
    if (rows->count < all) {
        jr_buf_str(out, "; all of them: jobrun show ");
        jr_html_text(out, table->id);
        jr_buf_str(out, " --format csv");
    }
    jr_buf_str(out, "</caption>\n");
}

static void add_cells_table(struct jr_buf *out, const struct jr_sweep_table *table,
                            const char *base)
{
    const struct jr_row_table *rows = &table->rows;
    const struct jr_html_page html = {.out = out};
    jr_html_page_open(&html, "cells", "Cells");
    jr_buf_str(out, "<div class=\"wide\"><table class=\"sweep\">\n");
    add_table_caption(out, table);
    jr_buf_str(out, "<thead><tr>");
    for (size_t i = 0; i < rows->columns_count; i++) {
        const json_t *first = rows->count == 0 ? NULL : json_array_get(rows->rows, rows->order[0]);
        bool number = i > 0 && json_is_number(jr_row_value(first, rows->columns[i]));
        jr_buf_str(out, number ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">");
        jr_html_text(out, jr_row_table_heading(rows, rows->columns[i]));
        jr_buf_str(out, "</th>");
    }
    jr_buf_str(out, "<th scope=\"col\"></th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < rows->count; i++)
        add_cell_row(out, table, json_array_get(rows->rows, rows->order[i]), base);
    jr_buf_str(out, "</tbody>\n</table></div>\n");
    jr_html_page_close(&html);
}

/* The field that is drawn: that of `best`, or else the first number. */
static const char *drawn_field(const struct jr_sweep_table *table)
{
    const struct jr_row_table *rows = &table->rows;
    const char *name;
    json_t *known;
    if (table->best_field != NULL)
        return table->best_field;
    json_object_foreach(rows->names, name, known) {
        if (strncmp(name, JR_ROW_RESULTS, strlen(JR_ROW_RESULTS)) != 0)
            continue;
        for (size_t i = 0; i < json_array_size(rows->rows); i++) {
            const json_t *value = jr_row_value(json_array_get(rows->rows, i), name);
            if (json_is_number(value))
                return name;
        }
    }
    return NULL;
}

/* The number of a metric in the list of all cells'. */
static uint32_t metric_index(struct jr_metrics *all, const char *name)
{
    for (size_t i = 0; i < all->names_count; i++)
        if (strcmp(all->names[i], name) == 0)
            return (uint32_t)i;
    const char **slot = jr_arena_push(&all->arena, &all->names, &all->names_count, sizeof *slot);
    if (slot != NULL)
        *slot = jr_arena_strdup(&all->arena, name);
    return (uint32_t)(all->names_count - (slot != NULL));
}

/* Add what the first rank of a cell has told in its last attempt. */
static void add_cell_metrics(struct jr_metrics *all, uint32_t cell, int fd)
{
    struct jr_metrics own;
    jr_metrics_read(&own, fd);
    uint32_t attempt = 0;
    for (size_t i = 0; i < own.points_count; i++)
        if (own.points[i].attempt > attempt)
            attempt = own.points[i].attempt;
    for (size_t i = 0, first = 0; i < own.points_count; i++) {
        const struct jr_metric_point *point = &own.points[i];
        if (point->metric != own.points[first].metric)
            first = i;
        if (point->rank != own.points[first].rank || point->attempt != attempt)
            continue;
        struct jr_metric_point *slot =
            jr_arena_push(&all->arena, &all->points, &all->points_count, sizeof *slot);
        if (slot == NULL || own.names[point->metric] == NULL)
            break;
        *slot = *point;
        slot->metric = metric_index(all, own.names[point->metric]);
        slot->rank = cell;
        slot->order = (uint32_t)all->points_count;
    }
    all->arena.failed |= own.arena.failed;
    jr_metrics_release(&own);
}

static int compare_points(const void *left, const void *right)
{
    const struct jr_metric_point *a = left, *b = right;
    if (a->metric != b->metric)
        return a->metric < b->metric ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* The metrics of the first cells of the table. */
static void add_progress(struct jr_buf *out, const struct jr_sweep_table *table)
{
    enum { MOST_CELLS = 64, MOST_POINTS = 1000000 };
    const struct jr_row_table *rows = &table->rows;
    const struct jr_html_page html = {.out = out};
    struct jr_buf cells JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_metrics all = {.names = NULL};
    jr_buf_printf(&cells, "%s/%s/" JR_SWEEP_CELLS, table->log_dir, table->id);
    for (size_t i = 0;
         i < rows->count && i < MOST_CELLS && !cells.failed && all.points_count < MOST_POINTS;
         i++) {
        const json_t *row = json_array_get(rows->rows, rows->order[i]);
        uint32_t cell = jr_json_get_u32(row, "cell");
        char folder[16];
        jr_cell_folder(folder, cell);
        JR_CLOSE int fd = jr_record_folder_open(cells.data, folder, NULL);
        if (fd >= 0)
            add_cell_metrics(&all, cell, fd);
    }
    if (all.points_count > 0 && !all.arena.failed) {
        qsort(all.points, all.points_count, sizeof *all.points, compare_points);
        jr_html_cell_curves(&html, &all);
    }
    jr_metrics_release(&all);
}

static void add_sweep_files(struct jr_buf *out, const char *base)
{
    const struct jr_html_page html = {.out = out};
    jr_html_page_open(&html, "files", "Files");
    jr_buf_str(out, "<ul>\n<li>");
    jr_html_link(out, base, JR_SWEEP_FILE, JR_SWEEP_FILE);
    jr_buf_str(out, ": the axes, every cell and what became of it</li>\n<li>");
    jr_html_link(out, base, JR_JOURNAL_FILE, JR_JOURNAL_FILE);
    jr_buf_str(out, ": what began and ended, one line each</li>\n</ul>\n");
    jr_html_page_close(&html);
}

int jr_sweep_page(struct jr_buf *out, const char *log_dir, const char *id, const char *base,
                  struct jr_error *err)
{
    static const struct jr_sweep_view view = {.top = MOST_ROWS};
    struct jr_sweep_table table;
    int status = jr_sweep_table_open(&table, log_dir, id, JR_ROWS_TEXT, err);
    if (status == 0)
        status = jr_sweep_table_arrange(&table, &view, err);
    if (status == 0) {
        add_page_head(out, &table);
        jr_buf_str(out, "<main>\n");
        jr_sweep_plots(out, &table, drawn_field(&table));
        add_progress(out, &table);
        add_cells_table(out, &table, base);
        add_sweep_files(out, base);
        jr_buf_str(out, "</main>\n</body>\n</html>\n");
    }
    jr_sweep_table_close(&table);
    if (status == 0 && out->failed)
        status = jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    return status;
}
