#include "session/sweep/sweep_plots.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "report/html.h"
#include "report/page.h"
#include "report/plot.h"
#include "sweep/cell_columns.h"
#include "sweep/cell_result.h"

#include "base/banned.h"

enum {
    MOST_DOTS = 4000, /* of a drawing */
    MOST_LABELS = 8,  /* below a drawing */
    LABEL_CHARS = 12, /* of one of them */
    MOST_MEANS = 200  /* values with a mean of their own */
};

#define FAR_APART 50.0 /* of the largest value to the smallest */
#define LABEL_GAP 0.2  /* of the width, between two labels */

/* A cell in a drawing. */
struct dot {
    double x, y;  /* x: 0 to 1 */
    size_t value; /* of the axis: its index */
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
        json_t *value =
            name.data == NULL ? NULL : json_object_get(row, name.data);
        jr_json_append(list, value == NULL ? json_null() : json_incref(value));
    }
    return list;
}

/* A value as a key. */
static char *value_key(const json_t *value)
{
    return json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
}

static void index_values(struct plot *plot)
{
    plot->places = json_object();
    for (size_t i = 0; i < json_array_size(plot->values); i++) {
        JR_FREE char *key = value_key(json_array_get(plot->values, i));
        if (key != NULL)
            jr_json_set_int(plot->places, key, (json_int_t)i);
    }
}

/* The index of a value among those of the axis; -1: a cell of `include` has
 * another one. */
static long value_index(const struct plot *plot, const json_t *value)
{
    JR_FREE char *key = value == NULL ? NULL : value_key(value);
    const json_t *place =
        key == NULL ? NULL : json_object_get(plot->places, key);
    return place == NULL ? -1 : (long)json_integer_value(place);
}

static double drawn_value(const struct plot *plot, const json_t *value)
{
    double number = json_number_value(value);
    return plot->logarithmic ? log10(number) : number;
}

/* Whether and how the values are numbers on a scale. */
static void choose_scale(struct plot *plot)
{
    size_t count = json_array_size(plot->values);
    double low = INFINITY, high = -INFINITY;
    plot->scaled = true;
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(plot->values, i);
        plot->scaled = plot->scaled && json_is_number(value);
        low = fmin(low, json_number_value(value));
        high = fmax(high, json_number_value(value));
    }
    plot->logarithmic = plot->scaled && low > 0 && high / low >= FAR_APART;
    plot->from = plot->logarithmic ? log10(low) : low;
    plot->to = plot->logarithmic ? log10(high) : high;
}

/* Where an index or a number is drawn, 0 to 1, with room on either side. */
static double place_value(const struct plot *plot, const json_t *value,
                          size_t index)
{
    if (!plot->scaled)
        return ((double)index + 0.5) / (double)json_array_size(plot->values);
    return 0.03 +
           0.94 * jr_plot_part(drawn_value(plot, value), plot->from, plot->to);
}

static void add_dot(struct plot *plot, const json_t *row)
{
    const struct jr_row_table *rows = &plot->table->rows;
    const json_t *result = jr_row_value(row, plot->name);
    const char *status = jr_json_get_str(row, "status");
    double y = result == NULL ? NAN : jr_row_table_number(rows, result);
    if (isnan(y) || status == NULL || strcmp(status, "succeeded") != 0)
        return;
    json_t *value = value_on_axis(plot->path, row);
    long index = value_index(plot, value);
    if (index >= 0) {
        struct dot *dot = &plot->dots[plot->count++];
        *dot = (struct dot){place_value(plot, value, (size_t)index), y,
                            (size_t)index};
        plot->low = fmin(plot->low, y);
        plot->high = fmax(plot->high, y);
        if (jr_json_get_int(row, "cell") == plot->table->best)
            plot->best = dot;
    }
    json_decref(value);
}

static void put_dot_at(struct jr_buf *out, const struct plot *plot, double x,
                       double y, const char *how)
{
    jr_buf_printf(out, "%s%.4g %.4g", how, JR_PLOT_SCALE * x,
                  JR_PLOT_SCALE *
                      (0.97 - 0.94 * jr_plot_part(y, plot->low, plot->high)));
}

static void add_dots(struct jr_buf *out, const struct plot *plot)
{
    size_t each = (plot->count + MOST_DOTS - 1) / MOST_DOTS;
    jr_buf_str(out, "<path class=\"dots\" d=\"");
    for (size_t i = 0; i < plot->count; i += each) {
        put_dot_at(out, plot, plot->dots[i].x, plot->dots[i].y, "M");
        jr_buf_str(out, "h0");
    }
    jr_buf_str(out, "\"/>");
    if (plot->best == NULL)
        return;
    jr_buf_str(out, "<path class=\"best\" d=\"");
    put_dot_at(out, plot, plot->best->x, plot->best->y, "M");
    jr_buf_str(out, "h0\"/>");
}

/* What the dots of one value come to. */
struct mean {
    double x, sum;
    size_t count;
};

static int compare_means(const void *left, const void *right)
{
    const struct mean *a = left, *b = right;
    return (a->x > b->x) - (a->x < b->x);
}

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
    qsort(means, count, sizeof *means, compare_means);
    jr_buf_str(out, "<path class=\"mean\" d=\"");
    for (size_t i = 0; i < count; i++) {
        if (means[i].count == 0)
            continue;
        put_dot_at(out, plot, means[i].x, means[i].sum / (double)means[i].count,
                   how);
        how = "L";
    }
    jr_buf_str(out, "\"/>");
}

/* A value as a label: no longer than others have room for. */
static void add_value_label(struct jr_buf *out, const struct plot *plot,
                            const json_t *value, size_t index)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT,
                       label JR_BUF_CLEANUP = JR_BUF_INIT;
    for (size_t i = 0; json_is_array(value) && i < json_array_size(value);
         i++) {
        jr_buf_str(&text, i == 0 ? "" : ", ");
        jr_cell_result_text(&text, json_array_get(value, i));
    }
    if (!json_is_array(value))
        jr_cell_result_text(&text, value);
    if (text.data == NULL)
        return;
    size_t len = jr_utf8_cut(text.data, text.len, LABEL_CHARS);
    jr_html_escape(&label, text.data, len);
    jr_buf_str(&label, len < text.len ? "…" : "");
    jr_plot_label(out, place_value(plot, value, index),
                  label.data == NULL ? "" : label.data);
}

/* The values, or, of many on a scale, round numbers. */
static void add_labels(struct jr_buf *out, const struct plot *plot)
{
    size_t count = json_array_size(plot->values);
    double ticks[JR_PLOT_TICKS], last = -1;
    if (plot->scaled && count > MOST_LABELS) {
        size_t many = jr_plot_ticks(ticks, plot->from, plot->to, 0);
        for (size_t i = 0; i < many; i++) {
            struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
            double value = plot->logarithmic ? pow(10, ticks[i]) : ticks[i];
            jr_plot_number(&text, value, 0);
            jr_plot_label(
                out, 0.03 + 0.94 * jr_plot_part(ticks[i], plot->from, plot->to),
                text.data == NULL ? "" : text.data);
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(plot->values, i);
        double x = place_value(plot, value, i);
        if (last >= 0 && fabs(x - last) < LABEL_GAP)
            continue;
        last = x;
        add_value_label(out, plot, value, i);
    }
}

/* "lr", or of fields that go together "batch, steps". */
static void add_axis_name(struct jr_buf *out, const char *path)
{
    for (size_t len; *path != '\0'; path += len + (path[len] == ',')) {
        struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
        len = strcspn(path, ",");
        jr_buf_add(&name, path, len);
        if (name.data != NULL)
            jr_html_text(out, jr_cell_column_name(name.data));
        jr_buf_str(out, path[len] == ',' ? ", " : "");
    }
}

static void add_caption(struct jr_buf *out, const struct plot *plot)
{
    const struct jr_row_table *rows = &plot->table->rows;
    jr_buf_str(out, "<figcaption><strong>");
    jr_html_text(out, jr_row_table_heading(rows, plot->name));
    jr_buf_str(out, "</strong> over ");
    add_axis_name(out, plot->path);
    if (plot->logarithmic)
        jr_buf_str(out, ", to a logarithmic scale");
    if (plot->count > MOST_DOTS)
        jr_buf_printf(out, "; one in %zu of %zu cells is drawn",
                      (plot->count + MOST_DOTS - 1) / MOST_DOTS, plot->count);
    jr_buf_str(out, "</figcaption>\n");
}

static void add_figure(struct jr_buf *out, const struct plot *plot)
{
    jr_buf_str(out, "<figure>\n");
    add_caption(out, plot);
    jr_buf_str(out, "<div class=\"chart\">");
    jr_plot_value_axis(out, plot->low, plot->high);
    jr_plot_open(out, "a dot for each cell; the table has the numbers",
                 plot->low, plot->high);
    add_labels(out, plot);
    jr_plot_open_frame(out);
    add_means(out, plot);
    add_dots(out, plot);
    jr_plot_close(out);
    jr_buf_str(out, "</figure>\n");
}

/* One axis; nothing where it has one value, or no cell has delivered. */
static bool draw_axis(struct jr_buf *out, const struct jr_sweep_table *table,
                      const char *name, const json_t *axis)
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
    index_values(&plot);
    for (size_t i = 0; i < json_array_size(cells); i++)
        add_dot(&plot, json_array_get(cells, i));
    if (plot.count > 0)
        add_figure(out, &plot);
    json_decref(plot.places);
    return plot.count > 0;
}

void jr_sweep_plots(struct jr_buf *out, const struct jr_sweep_table *table,
                    const char *name)
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
    jr_buf_str(out, "<p>A dot is a cell that delivered. The line goes through "
                    "the means of the values; the large dot is the best "
                    "cell.</p>\n<div class=\"curves\">\n");
    jr_buf_add(out, figures.data, figures.len);
    jr_buf_str(out, "</div>\n");
    jr_html_page_close(&html);
}
