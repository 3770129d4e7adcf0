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
    MOST_NAMED = 500, /* dots with a title of their own */
    MOST_LABELS = 8,  /* below a drawing */
    LABEL_CHARS = 12, /* of one of them */
    MOST_MEANS = 200  /* values with a mean of their own */
};

#define FAR_APART  10.0  /* of the largest value to the smallest */
#define CHAR_WIDTH 0.022 /* of the width of a drawing on a telephone */

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

static void index_values(struct plot *plot)
{
    plot->places = json_object();
    for (size_t i = 0; i < json_array_size(plot->values); i++) {
        JR_FREE char *key = value_key(json_array_get(plot->values, i));
        if (key != NULL)
            jr_json_set_int(plot->places, key, (json_int_t)i);
    }
}

/* The index of a value among those of the axis; -1: a cell of `include` has another one. */
static long value_index(const struct plot *plot, const json_t *value)
{
    JR_FREE char *key = value == NULL ? NULL : value_key(value);
    const json_t *place = key == NULL ? NULL : json_object_get(plot->places, key);
    return place == NULL ? -1 : (long)json_integer_value(place);
}

static double drawn_value(const struct plot *plot, const json_t *value)
{
    double number = json_number_value(value);
    return plot->logarithmic ? log10(number) : number;
}

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
    if (!plot->scaled)
        return ((double)index + 0.5) / (double)json_array_size(plot->values);
    return 0.03 + 0.94 * jr_plot_part(drawn_value(plot, value), plot->from, plot->to);
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
        *dot = (struct dot){place_value(plot, value, (size_t)index), y, (size_t)index,
                            jr_json_get_int(row, "cell")};
        plot->low = fmin(plot->low, y);
        plot->high = fmax(plot->high, y);
        if (jr_json_get_int(row, "cell") == plot->table->best)
            plot->best = dot;
    }
    json_decref(value);
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
    double half = CHAR_WIDTH * ((double)jr_utf8_columns(text.data, len) + 1) / 2;
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

static int compare_placed(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    return (a->x > b->x) - (a->x < b->x);
}

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
    qsort(places, count, sizeof *places, compare_placed);
    for (size_t i = 0; i < count; i++)
        add_value_label(out, plot, places[i].index, &end);
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
    index_values(&plot);
    for (size_t i = 0; i < json_array_size(cells); i++)
        add_dot(&plot, json_array_get(cells, i));
    if (plot.count > 0)
        add_figure(out, &plot);
    json_decref(plot.places);
    return plot.count > 0;
}

void jr_sweep_plots(struct jr_buf *out, const struct jr_sweep_table *table, const char *name)
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
