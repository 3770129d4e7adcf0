#include "report/page_curves.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "report/plot.h"

#include "base/banned.h"

enum {
    MOST_DRAWN = 4000, /* points of a metric; of more, extremes are drawn */
    MOST_LINES = 512,  /* of a metric */
    MOST_RANKS = 16    /* with lines of their own */
};

/* One metric: its points, and the extent of those that have a value. */
struct curve {
    const struct jr_html_page *html;
    const char *name;
    const struct jr_metric_point *points;
    size_t count, values; /* of points, and of those with a value */
    size_t lines;         /* a line has the points of one rank and attempt */
    uint32_t ranks, last_attempt;
    bool cells;      /* and not ranks */
    double from, to; /* steps */
    const struct jr_metric_point *low, *high, *last;
};

static bool is_line_start(const struct curve *curve, size_t i)
{
    const struct jr_metric_point *point = &curve->points[i];
    return i == 0 || point->rank != point[-1].rank || point->attempt != point[-1].attempt;
}

static void extend_curve(struct curve *curve, const struct jr_metric_point *point)
{
    if (isnan(point->value))
        return;
    if (curve->values++ == 0) {
        curve->from = curve->to = point->step;
        curve->low = curve->high = point;
    }
    if (point->step < curve->from)
        curve->from = point->step;
    if (point->step > curve->to)
        curve->to = point->step;
    if (point->value < curve->low->value)
        curve->low = point;
    if (point->value > curve->high->value)
        curve->high = point;
    /* of the first rank, by its last attempt */
    if (curve->last == NULL || point->rank == curve->last->rank)
        curve->last = point;
}

/* The metric of points[0], which are sorted. */
static struct curve make_curve(const struct jr_html_page *html, const struct jr_metrics *metrics,
                               const struct jr_metric_point *points)
{
    const struct jr_metric_point *end = metrics->points + metrics->points_count;
    struct curve curve = {.html = html, .name = metrics->names[points->metric], .points = points};
    while (points + curve.count < end && points[curve.count].metric == points->metric) {
        const struct jr_metric_point *point = &points[curve.count];
        curve.lines += is_line_start(&curve, curve.count);
        curve.ranks += curve.count == 0 || point->rank != point[-1].rank;
        if (point->attempt > curve.last_attempt)
            curve.last_attempt = point->attempt;
        extend_curve(&curve, point);
        curve.count++;
    }
    return curve;
}

static void add_point(const struct curve *curve, const struct jr_metric_point *point, bool *down)
{
    jr_buf_printf(curve->html->out, *down ? "L%.4g %.4g" : "M%.4g %.4gh0",
                  JR_PLOT_SCALE * jr_plot_part(point->step, curve->from, curve->to),
                  JR_PLOT_SCALE *
                      (1 - jr_plot_part(point->value, curve->low->value, curve->high->value)));
    *down = true;
}

/* The extremes of `count` points, in their order. Where none has a value the line is
 * interrupted. */
static void add_extremes(const struct curve *curve, const struct jr_metric_point *points,
                         size_t count, bool *down)
{
    const struct jr_metric_point *low = NULL, *high = NULL;
    for (const struct jr_metric_point *at = points; at < points + count; at++) {
        if (isnan(at->value))
            continue;
        low = low == NULL || at->value < low->value ? at : low;
        high = high == NULL || at->value > high->value ? at : high;
    }
    if (low == NULL) {
        *down = false;
        return;
    }
    add_point(curve, low < high ? low : high, down);
    if (low != high)
        add_point(curve, low < high ? high : low, down);
}

/* The points from i to the end of their line. */
static void add_line(const struct curve *curve, size_t i)
{
    struct jr_buf *out = curve->html->out;
    const struct jr_metric_point *first = &curve->points[i];
    size_t end = i + 1, each = 1;
    bool down = false;
    while (end < curve->count && !is_line_start(curve, end))
        end++;
    size_t most = MOST_DRAWN / curve->lines + 2;
    if (end - i > most)
        each = ((end - i) * 2 + most - 1) / most;
    jr_buf_str(out, first->attempt < curve->last_attempt ? "<path class=\"earlier\" d=\""
                                                         : "<path d=\"");
    for (; i < end; i += each)
        add_extremes(curve, &curve->points[i], end - i < each ? end - i : each, &down);
    if (curve->cells)
        jr_buf_printf(out, "\"><title>cell %04u</title></path>", first->rank);
    else
        jr_buf_printf(out, "\"><title>rank %u, attempt %u</title></path>", first->rank,
                      first->attempt);
}

/* Those of earlier attempts lie below. */
static void add_curve_lines(const struct curve *curve, bool earlier)
{
    size_t drawn = 0;
    uint32_t ranks = 0;
    for (size_t i = 0; i < curve->count; i++) {
        const struct jr_metric_point *point = &curve->points[i];
        ranks += i == 0 || point->rank != point[-1].rank;
        if ((ranks > MOST_RANKS && !curve->cells) || drawn == MOST_LINES)
            return;
        if (!is_line_start(curve, i) || (point->attempt < curve->last_attempt) != earlier)
            continue;
        add_line(curve, i);
        drawn++;
    }
}

/* The steps below the drawing. */
static void add_steps(const struct curve *curve)
{
    double ticks[JR_PLOT_TICKS];
    size_t count = jr_plot_ticks(ticks, curve->from, curve->to, 1);
    for (size_t i = 0; i < count; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "%.0f", ticks[i]);
        jr_plot_label(curve->html->out, jr_plot_part(ticks[i], curve->from, curve->to), text);
    }
}

static void add_caption(const struct curve *curve)
{
    struct jr_buf *out = curve->html->out;
    jr_buf_str(out, "<figcaption><strong>");
    jr_html_text(out, curve->name);
    jr_buf_str(out, "</strong>");
    if (!curve->cells)
        jr_buf_printf(out, " %.6g at step %.0f", curve->last->value, curve->last->step);
    jr_buf_str(out, "</figcaption>\n");
}

static void add_curve(const struct curve *curve)
{
    struct jr_buf *out = curve->html->out;
    struct jr_buf label JR_BUF_CLEANUP = JR_BUF_INIT;
    double low = curve->low->value, high = curve->high->value;
    jr_html_text(&label, curve->name);
    jr_buf_str(&label, curve->cells ? " over the steps of each cell"
                                    : " over the steps; the table of metrics has its extremes");
    jr_buf_printf(out, "<figure%s>\n", curve->ranks > 1 ? " class=\"many\"" : "");
    add_caption(curve);
    jr_buf_str(out, "<div class=\"chart\">");
    jr_plot_value_axis(out, low, high);
    jr_plot_open(out, label.failed ? "" : label.data, low, high);
    add_steps(curve);
    jr_plot_open_frame(out);
    add_curve_lines(curve, true);
    add_curve_lines(curve, false);
    jr_plot_close(out);
    jr_buf_str(out, "</figure>\n");
}

/* A cell with a value and its step; empty where there is none. */
static void add_value_cell(struct jr_buf *out, const struct jr_metric_point *point)
{
    jr_buf_str(out, "<td class=\"n\">");
    if (point != NULL)
        jr_buf_printf(out, "%.6g <small>step %.0f</small>", point->value, point->step);
    jr_buf_str(out, "</td>");
}

static void add_row(const struct curve *curve)
{
    struct jr_buf *out = curve->html->out;
    jr_buf_str(out, "<tr><th scope=\"row\" class=\"name\">");
    jr_html_text(out, curve->name);
    jr_buf_str(out, "</th>");
    add_value_cell(out, curve->last);
    add_value_cell(out, curve->low);
    add_value_cell(out, curve->high);
    jr_buf_printf(out, "<td class=\"n\">%zu</td><td class=\"n\">%zu</td></tr>\n", curve->count,
                  curve->count - curve->values);
}

/* What a reader of the drawings has to know. */
static void add_notes(const struct jr_html_page *html, const struct jr_metrics *metrics)
{
    uint32_t ranks = 0;
    bool again = false;
    for (const struct jr_metric_point *at = metrics->points;
         at < metrics->points + metrics->points_count;) {
        struct curve curve = make_curve(html, metrics, at);
        ranks = curve.ranks > ranks ? curve.ranks : ranks;
        again |= curve.points[0].attempt < curve.last_attempt;
        at += curve.count;
    }
    jr_buf_str(html->out, "<p>The metrics over the steps of the job");
    if (ranks > MOST_RANKS)
        jr_buf_printf(html->out, ", of the first %d of %u ranks", MOST_RANKS, ranks);
    else if (ranks > 1)
        jr_buf_str(html->out, ", with one line for each rank");
    if (again)
        jr_buf_str(html->out, "; the pale lines are earlier attempts");
    jr_buf_str(html->out, ".");
    if (metrics->partial)
        jr_buf_str(html->out, " Some of " JR_METRICS_FILE " is missing or unreadable.");
    jr_buf_str(html->out, "</p>\n");
}

static void add_table(const struct jr_html_page *html, const struct jr_metrics *metrics)
{
    jr_buf_str(html->out, "<div class=\"wide\"><table>\n<caption>Metrics</caption>\n"
                          "<thead><tr><th scope=\"col\">metric</th><th scope=\"col\" "
                          "class=\"n\">last</th><th scope=\"col\" class=\"n\">lowest</th><th "
                          "scope=\"col\" class=\"n\">highest</th><th scope=\"col\" "
                          "class=\"n\">points</th><th scope=\"col\" class=\"n\">nan or "
                          "inf</th></tr></thead>\n"
                          "<tbody>\n");
    for (const struct jr_metric_point *at = metrics->points;
         at < metrics->points + metrics->points_count;) {
        struct curve curve = make_curve(html, metrics, at);
        add_row(&curve);
        at += curve.count;
    }
    jr_buf_str(html->out, "</tbody>\n</table></div>\n");
}

/* One drawing for each metric. */
static void add_curves(const struct jr_html_page *html, const struct jr_metrics *metrics,
                       bool cells)
{
    jr_buf_str(html->out, "<div class=\"curves\">\n");
    for (const struct jr_metric_point *at = metrics->points;
         at < metrics->points + metrics->points_count;) {
        struct curve curve = make_curve(html, metrics, at);
        curve.cells = cells;
        if (curve.values > 0)
            add_curve(&curve);
        at += curve.count;
    }
    jr_buf_str(html->out, "</div>\n");
}

void jr_html_cell_curves(const struct jr_html_page *html, const struct jr_metrics *metrics)
{
    jr_html_page_open(html, "curves", "Progress");
    jr_buf_str(html->out, "<p>The metrics of the cells over their steps, with a line for each "
                          "cell: the first rank's of its last attempt.</p>\n");
    add_curves(html, metrics, true);
    jr_html_page_close(html);
}

void jr_html_page_curves(const struct jr_html_page *html)
{
    struct jr_metrics metrics;
    jr_metrics_read(&metrics, html->fd);
    html->out->failed |= metrics.arena.failed;
    if (metrics.points_count > 0) {
        jr_html_page_open(html, "curves", "Metrics");
        add_notes(html, &metrics);
        add_curves(html, &metrics, false);
        add_table(html, &metrics);
        jr_html_page_close(html);
    }
    jr_metrics_release(&metrics);
}
