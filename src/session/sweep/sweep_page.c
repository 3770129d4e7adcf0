/* The page of a sweep, with its drawings. show_sweep.h declares it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "record/load_results.h"
#include "record/record_folder.h"
#include "report/page.h"
#include "report/plot.h"
#include "session/sweep/show_sweep.h"
#include "session/sweep/internal.h"
#include "sweep/cells.h"
#include "sweep/sweep_file.h"
#include "sweep/journal.h"

#include "base/banned.h"

enum {
    MOST_DOTS = 4000, /* of a drawing */
    MOST_NAMED = 500, /* dots with a title of their own */
    MOST_LABELS = 8,  /* below a drawing */
    LABEL_CHARS = 12, /* of one of them */
    MOST_MEANS = 200  /* values with a mean of their own */
};

#define FAR_APART    10.0  /* of the largest value to the smallest */
#define LETTER_WIDTH 0.022 /* of the width of a drawing on a telephone */

/* A cell in a drawing. */
struct dot {
    double x, y;     /* x: 0 to 1 */
    size_t value;    /* of the axis: its index */
    json_int_t cell; /* its number */
};

struct plot {
    const struct jr_sweep_table *table;
    const char *name;     /* of the field */
    const char *path;     /* of the axis */
    const json_t *values; /* the axis's own */
    json_t *places;       /* of each value as a text: its index; owned */
    bool scaled, logarithmic;
    double from, to; /* of the axis, as they are drawn */
    double low, high;
    struct dot *dots;
    size_t count;
    const struct dot *best;
};

/* The value of a cell on an axis that has several fields is a list of them. */
static json_t *value_on_axis(const char *path, const json_t *row)
{
    json_t *list;
    if (strchr(path, ',') == NULL)
        return json_incref(json_object_get(row, path));
    list = json_array();
    for (size_t len; *path != '\0'; path += len + (path[len] == ',')) {
        struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
        len = strcspn(path, ",");
        jr_buf_add(&name, path, len);
        json_t *value = name.data == NULL ? NULL : json_object_get(row, name.data);
        jr_json_append(list, value == NULL ? json_null() : json_incref(value));
    }
    return list;
}

/* A value as a key. */
static char *value_key(const json_t *value)
{
    return json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
}

/* Of numbers, or of what begins with one. */
static int compare_axis_values(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Whether the values, ascending, are farther apart than linear steps, but not than equal factors:
 * the largest gap is what is looked at. */
static bool is_logarithmic(const double *values, size_t count)
{
    double linear = 0, factor = 0, low = values[0], high = values[count - 1];
    if (!(low > 0) || high / low < FAR_APART)
        return false;
    for (size_t i = 1; i < count; i++) {
        linear = fmax(linear, (values[i] - values[i - 1]) / (high - low));
        factor = fmax(factor, log(values[i] / values[i - 1]) / log(high / low));
    }
    return factor < linear;
}

/* Whether and how the values are numbers on a scale. */
static void choose_scale(struct plot *plot)
{
    size_t count = json_array_size(plot->values);
    JR_FREE double *numbers = calloc(count, sizeof *numbers);
    plot->scaled = numbers != NULL;
    for (size_t i = 0; plot->scaled && i < count; i++) {
        const json_t *value = json_array_get(plot->values, i);
        plot->scaled = json_is_number(value);
        numbers[i] = json_number_value(value);
    }
    if (!plot->scaled)
        return;
    qsort(numbers, count, sizeof *numbers, compare_axis_values);
    double low = numbers[0], high = numbers[count - 1];
    plot->logarithmic = is_logarithmic(numbers, count);
    plot->from = plot->logarithmic ? log10(low) : low;
    plot->to = plot->logarithmic ? log10(high) : high;
}

/* Where an index or a number is drawn, 0 to 1, with room on either side. */
static double place_value(const struct plot *plot, const json_t *value, size_t index)
{
    double number = json_number_value(value);
    if (!plot->scaled)
        return ((double)index + 0.5) / (double)json_array_size(plot->values);
    return 0.03 +
           0.94 * jr_plot_part(plot->logarithmic ? log10(number) : number, plot->from, plot->to);
}

static void add_dot(struct plot *plot, const json_t *row)
{
    const struct jr_row_table *rows = &plot->table->rows;
    const json_t *result = jr_row_value(row, plot->name);
    const char *status = jr_json_get_str(row, "status");
    double y = result == NULL ? NAN : jr_row_table_number(rows, result);
    if (isnan(y) || status == NULL || strcmp(status, "succeeded") != 0)
        return;
    json_auto_t *value = value_on_axis(plot->path, row);
    JR_FREE char *key = value == NULL ? NULL : value_key(value);
    const json_t *place = key == NULL ? NULL : json_object_get(plot->places, key);
    if (place != NULL) { /* else a cell of `include` has another one */
        size_t index = (size_t)json_integer_value(place);
        struct dot *dot = &plot->dots[plot->count++];
        *dot =
            (struct dot){place_value(plot, value, index), y, index, jr_json_get_int(row, "cell")};
        plot->low = fmin(plot->low, y);
        plot->high = fmax(plot->high, y);
        if (jr_json_get_int(row, "cell") == plot->table->best)
            plot->best = dot;
    }
}

static void put_dot_at(struct jr_buf *out, const struct plot *plot, double x, double y,
                       const char *how)
{
    jr_buf_printf(out, "%s%.4g %.4g", how, JR_PLOT_SCALE * x,
                  JR_PLOT_SCALE * (0.97 - 0.94 * jr_plot_part(y, plot->low, plot->high)));
}

static void add_value_text(struct jr_buf *out, const json_t *value);

/* A dot that says what it is to whoever points at it. */
static void add_named_dot(struct jr_buf *out, const struct plot *plot, const struct dot *dot)
{
    struct jr_buf value JR_BUF_CLEANUP = JR_BUF_INIT;
    add_value_text(&value, json_array_get(plot->values, dot->value));
    jr_buf_str(out, "<path d=\"");
    put_dot_at(out, plot, dot->x, dot->y, "M");
    jr_buf_printf(out, "h0\"><title>cell %04lld: ", (long long)dot->cell);
    jr_html_text(out, jr_row_table_heading(&plot->table->rows, plot->name));
    jr_buf_printf(out, " %.6g at ", dot->y);
    jr_html_text(out, value.data == NULL ? "" : value.data);
    jr_buf_str(out, "</title></path>");
}

static void add_dots(struct jr_buf *out, const struct plot *plot)
{
    size_t each = (plot->count + MOST_DOTS - 1) / MOST_DOTS;
    bool named = plot->count <= MOST_NAMED;
    jr_buf_str(out, named ? "<g class=\"dots\">" : "<path class=\"dots\" d=\"");
    for (size_t i = 0; i < plot->count; i += each) {
        if (named) {
            add_named_dot(out, plot, &plot->dots[i]);
            continue;
        }
        put_dot_at(out, plot, plot->dots[i].x, plot->dots[i].y, "M");
        jr_buf_str(out, "h0");
    }
    jr_buf_str(out, named ? "</g>" : "\"/>");
    if (plot->best == NULL)
        return;
    jr_buf_str(out, "<g class=\"best\">");
    add_named_dot(out, plot, plot->best);
    jr_buf_str(out, "</g>");
}

/* What the dots of one value come to. */
struct mean {
    double x, sum;
    size_t count;
};

/* A line through the means of the values. */
static void add_means(struct jr_buf *out, const struct plot *plot)
{
    size_t count = json_array_size(plot->values);
    const char *how = "M";
    JR_FREE struct mean *means = calloc(count, sizeof *means);
    if (means == NULL || count > MOST_MEANS)
        return;
    for (size_t i = 0; i < plot->count; i++) {
        struct mean *mean = &means[plot->dots[i].value];
        mean->x = plot->dots[i].x;
        mean->sum += plot->dots[i].y;
        mean->count++;
    }
    qsort(means, count, sizeof *means, compare_axis_values);
    jr_buf_str(out, "<path class=\"mean\" d=\"");
    for (size_t i = 0; i < count; i++) {
        if (means[i].count == 0)
            continue;
        put_dot_at(out, plot, means[i].x, means[i].sum / (double)means[i].count, how);
        how = "L";
    }
    jr_buf_str(out, "\"/>");
}

static void add_value_text(struct jr_buf *out, const json_t *value)
{
    for (size_t i = 0; json_is_array(value) && i < json_array_size(value); i++) {
        jr_buf_str(out, i == 0 ? "" : ", ");
        jr_cell_result_text(out, json_array_get(value, i));
    }
    if (!json_is_array(value))
        jr_cell_result_text(out, value);
}

/* A tick for a value, with a label where there is room behind `*end`, which is where the last one
 * ended. */
static void add_value_label(struct jr_buf *out, const struct plot *plot, size_t index, double *end)
{
    const json_t *value = json_array_get(plot->values, index);
    double x = place_value(plot, value, index);
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT, label JR_BUF_CLEANUP = JR_BUF_INIT;
    add_value_text(&text, value);
    jr_plot_tick(out, x);
    if (text.data == NULL)
        return;
    size_t len = jr_utf8_cut(text.data, text.len, LABEL_CHARS);
    double half = LETTER_WIDTH * ((double)jr_utf8_columns(text.data, len) + 1) / 2;
    double from = x - half < 0 ? 0 : x - half;
    if (from < *end)
        return;
    *end = from + 2 * half;
    jr_html_escape(&label, text.data, len);
    jr_buf_str(&label, len < text.len ? "…" : "");
    jr_plot_label(out, x, label.data == NULL ? "" : label.data);
}

struct placed {
    double x;
    size_t index;
};

/* The values, or, of many on a scale, round numbers. */
static void add_labels(struct jr_buf *out, const struct plot *plot)
{
    size_t count = json_array_size(plot->values);
    double ticks[JR_PLOT_TICKS], end = 0;
    if (plot->scaled && count > MOST_LABELS) {
        size_t many = jr_plot_ticks(ticks, plot->from, plot->to, 0);
        for (size_t i = 0; i < many; i++) {
            struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
            double value = plot->logarithmic ? pow(10, ticks[i]) : ticks[i];
            double x = 0.03 + 0.94 * jr_plot_part(ticks[i], plot->from, plot->to);
            jr_plot_number(&text, value, 0);
            jr_plot_tick(out, x);
            jr_plot_label(out, x, text.data == NULL ? "" : text.data);
        }
        return;
    }
    JR_FREE struct placed *places = calloc(count, sizeof *places);
    if (places == NULL || count > MOST_MEANS)
        return;
    for (size_t i = 0; i < count; i++)
        places[i] = (struct placed){place_value(plot, json_array_get(plot->values, i), i), i};
    qsort(places, count, sizeof *places, compare_axis_values);
    for (size_t i = 0; i < count; i++)
        add_value_label(out, plot, places[i].index, &end);
}

static void add_figure(struct jr_buf *out, const struct plot *plot)
{
    jr_buf_str(out, "<figure>\n<figcaption><strong>");
    jr_html_text(out, jr_row_table_heading(&plot->table->rows, plot->name));
    jr_buf_str(out, "</strong> over ");
    for (const char *path = plot->path; *path != '\0';) { /* of fields that go together: all */
        struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
        size_t len = strcspn(path, ",");
        jr_buf_add(&name, path, len);
        if (name.data != NULL)
            jr_html_text(out, jr_cell_column_name(name.data));
        jr_buf_str(out, path[len] == ',' ? ", " : "");
        path += len + (path[len] == ',');
    }
    if (plot->logarithmic)
        jr_buf_str(out, ", to a logarithmic scale");
    if (plot->count > MOST_DOTS)
        jr_buf_printf(out, "; one in %zu of %zu cells is drawn",
                      (plot->count + MOST_DOTS - 1) / MOST_DOTS, plot->count);
    jr_buf_str(out, "</figcaption>\n<div class=\"chart\">");
    jr_plot_value_axis(out, plot->low, plot->high);
    jr_plot_open(out, "a dot for each cell; the table has the numbers", plot->low, plot->high);
    add_labels(out, plot);
    jr_plot_open_frame(out);
    add_means(out, plot);
    add_dots(out, plot);
    jr_plot_close(out);
    jr_buf_str(out, "</figure>\n");
}

/* One axis; nothing where it has one value, or no cell has delivered. */
static bool draw_axis(struct jr_buf *out, const struct jr_sweep_table *table, const char *name,
                      const json_t *axis)
{
    const json_t *cells = table->rows.rows;
    struct plot plot = {.table = table,
                        .name = name,
                        .path = jr_json_get_str(axis, "path"),
                        .values = json_object_get(axis, "values"),
                        .low = INFINITY,
                        .high = -INFINITY};
    JR_FREE struct dot *dots = calloc(json_array_size(cells) + 1, sizeof *dots);
    plot.dots = dots;
    if (dots == NULL || plot.path == NULL || json_array_size(plot.values) < 2)
        return false;
    choose_scale(&plot);
    plot.places = json_object();
    for (size_t i = 0; i < json_array_size(plot.values); i++) {
        JR_FREE char *key = value_key(json_array_get(plot.values, i));
        if (key != NULL)
            jr_json_set_int(plot.places, key, (json_int_t)i);
    }
    for (size_t i = 0; i < json_array_size(cells); i++)
        add_dot(&plot, json_array_get(cells, i));
    if (plot.count > 0)
        add_figure(out, &plot);
    json_decref(plot.places);
    return plot.count > 0;
}

/* Append the section with the drawings: of each axis with several values, the
 * field `name` of the cells that delivered. Nothing where there is none, or
 * `name` is NULL. */
static void sweep_plots(struct jr_buf *out, const struct jr_sweep_table *table, const char *name)
{
    const struct jr_html_page html = {.out = out};
    const json_t *axes = json_object_get(table->sweep, "axes");
    struct jr_buf figures JR_BUF_CLEANUP = JR_BUF_INIT;
    bool any = false;
    for (size_t i = 0; name != NULL && i < json_array_size(axes); i++)
        any |= draw_axis(&figures, table, name, json_array_get(axes, i));
    out->failed |= figures.failed;
    if (!any || figures.failed)
        return;
    jr_html_page_open(&html, "axes", "Over each axis");
    jr_buf_str(out, "<p>A dot is a cell that delivered. The line goes through the means of the "
                    "values; the large dot is the best cell.</p>\n<div class=\"curves\">\n");
    jr_buf_add(out, figures.data, figures.len);
    jr_buf_str(out, "</div>\n");
    jr_html_page_close(&html);
}

enum { MOST_ROWS = 2000 };

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
    const char *name = jr_json_get_str(table->sweep, "name"), *status = "succeeded", *word;
    json_t *counts = json_object_get(table->sweep, "counts"), *count;
    struct jr_buf verdict JR_BUF_CLEANUP = JR_BUF_INIT;
    json_object_foreach(counts, word, count) {
        if (jr_cell_status_class(word) != 0)
            status = "failed";
        else if (strcmp(word, "succeeded") != 0 && strcmp(status, "failed") != 0)
            status = "incomplete";
    }
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
        size_t known = 0; /* its number in the list of all cells' */
        while (known < all->names_count && strcmp(all->names[known], own.names[point->metric]) != 0)
            known++;
        const char **name =
            known < all->names_count
                ? NULL
                : jr_arena_push(&all->arena, &all->names, &all->names_count, sizeof *name);
        if (name != NULL)
            *name = jr_arena_strdup(&all->arena, own.names[point->metric]);
        slot->metric = (uint32_t)(known < all->names_count ? known : known - 1);
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

int jr_sweep_page(struct jr_buf *out, const char *log_dir, const char *id, const char *base,
                  struct jr_error *err)
{
    static const struct jr_sweep_view view = {.top = MOST_ROWS};
    const struct jr_html_page html = {.out = out};
    struct jr_sweep_table table;
    int status = jr_sweep_table_open(&table, log_dir, id, JR_ROWS_TEXT, err);
    if (status == 0)
        status = jr_sweep_table_arrange(&table, &view, err);
    if (status == 0) {
        add_page_head(out, &table);
        jr_buf_str(out, "<main>\n");
        sweep_plots(out, &table, drawn_field(&table));
        add_progress(out, &table);
        add_cells_table(out, &table, base);
        jr_html_page_open(&html, "files", "Files");
        jr_buf_str(out, "<ul>\n<li>");
        jr_html_link(out, base, JR_SWEEP_FILE, JR_SWEEP_FILE);
        jr_buf_str(out, ": the axes, every cell and what became of it</li>\n<li>");
        jr_html_link(out, base, JR_JOURNAL_FILE, JR_JOURNAL_FILE);
        jr_buf_str(out, ": what began and ended, one line each</li>\n</ul>\n");
        jr_html_page_close(&html);
        jr_buf_str(out, "</main>\n</body>\n</html>\n");
    }
    jr_sweep_table_close(&table);
    if (status == 0 && out->failed)
        status = jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    return status;
}
