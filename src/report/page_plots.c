/* The drawings of the HTML report (plot.h, internal.h): when each rank ran, and the metrics. */
#include "report/plot.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "judge/words.h"
#include "report/internal.h"

#include "base/banned.h"

enum { WANTED = 4 /* ticks, about */ };

/* In halves, for the difference of the two may be larger than a number can be.
 */
double jr_plot_part(double value, double low, double high)
{
    double range = high / 2 - low / 2;
    return range > 0 ? (value / 2 - low / 2) / range : 0.5;
}

/* 1, 2 or 5 times a power of ten: the step of about WANTED ticks; 0: there are none. */
static double tick_step(double low, double high)
{
    double raw = (high - low) / WANTED, power = 1;
    if (!isnormal(raw) || !(raw > 0))
        return 0;
    while (power <= raw / 10)
        power *= 10;
    while (power > raw)
        power /= 10;
    double times = raw / power;
    double step = power * (times < 1.5 ? 1 : times < 3.5 ? 2 : times < 7.5 ? 5 : 10);
    return isnormal(step) ? step : 0;
}

size_t jr_plot_ticks(double ret[static JR_PLOT_TICKS], double low, double high, double least)
{
    double step = tick_step(low, high);
    size_t count = 0;
    if (step < least)
        step = least;
    /* farther from zero they could not be told apart */
    bool round = step > 0 && fabs(low / step) < 1e15;
    int64_t first = round ? (int64_t)(low / step) : 0;
    if (round && (double)first * step < low)
        first++;
    while (round && count < JR_PLOT_TICKS && (double)(first + (int64_t)count) * step <= high) {
        ret[count] = (double)(first + (int64_t)count) * step;
        count++;
    }
    if (count > 0)
        return count;
    ret[0] = low;
    ret[1] = high;
    return low < high ? 2 : 1;
}

double jr_plot_time_step(double width)
{
    enum { MOST = 6, MINUTE = 60, HOUR = 60 * MINUTE, DAY = 24 * HOUR };
    static const double steps[] = {1,           2,           5,          10,         20,
                                   30,          MINUTE,      2 * MINUTE, 5 * MINUTE, 10 * MINUTE,
                                   20 * MINUTE, 30 * MINUTE, HOUR,       2 * HOUR,   3 * HOUR,
                                   6 * HOUR,    12 * HOUR,   DAY};
    double step = 1;
    while (width / step <= 1.5 && step > 1e-9)
        step /= 10;
    for (double part = step; step < 1; part = step) {
        static const double times[] = {1, 2, 5, 10};
        for (size_t i = 0; i < sizeof times / sizeof *times; i++)
            if (width / (part * times[i]) <= MOST)
                return part * times[i];
        step *= 10;
    }
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (width / steps[i] <= MOST)
            return steps[i];
    for (step = DAY; width / step > MOST;)
        step *= 2;
    return step;
}

void jr_plot_number(struct jr_buf *out, double value, double range)
{
    bool fine = range > 0 && fabs(value) / range > 500;
    jr_buf_printf(out, fine ? "%.7g" : "%.4g", value);
}

void jr_plot_value_axis(struct jr_buf *out, double low, double high)
{
    double ticks[JR_PLOT_TICKS];
    size_t count = jr_plot_ticks(ticks, low, high, 0);
    jr_buf_printf(out, "<svg class=\"labels\" width=\"64\" height=\"%d\" aria-hidden=\"true\">",
                  JR_PLOT_HEIGHT + JR_PLOT_LABELS);
    for (size_t i = 0; i < count; i++) {
        jr_buf_printf(out, "<text x=\"58\" y=\"%.1f\">",
                      4 + JR_PLOT_HEIGHT * (1 - jr_plot_part(ticks[i], low, high)));
        jr_plot_number(out, ticks[i], high - low);
        jr_buf_str(out, "</text>");
    }
    jr_buf_str(out, "</svg>");
}

void jr_plot_open(struct jr_buf *out, const char *label, double low, double high)
{
    double ticks[JR_PLOT_TICKS];
    size_t count = jr_plot_ticks(ticks, low, high, 0);
    jr_buf_printf(out, "<svg class=\"bars\" height=\"%d\" role=\"img\" aria-label=\"%s\">",
                  JR_PLOT_HEIGHT + JR_PLOT_LABELS, label);
    for (size_t i = 0; i < count; i++) {
        double y = JR_PLOT_HEIGHT * (1 - jr_plot_part(ticks[i], low, high));
        jr_buf_printf(out, "<line x1=\"0\" x2=\"100%%\" y1=\"%.1f\" y2=\"%.1f\"/>", y, y);
    }
}

void jr_plot_tick(struct jr_buf *out, double part)
{
    jr_buf_printf(out, "<line x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%d\" y2=\"%d\"/>", 100 * part,
                  100 * part, JR_PLOT_HEIGHT, JR_PLOT_HEIGHT + 4);
}

void jr_plot_label(struct jr_buf *out, double part, const char *text)
{
    double x = 100 * part;
    jr_buf_printf(out, "<text class=\"%s\" x=\"%.2f%%\" y=\"%d\">%s</text>",
                  x < 5    ? "left"
                  : x > 95 ? "right"
                           : "tick",
                  x, JR_PLOT_HEIGHT + 12, text);
}

void jr_plot_open_frame(struct jr_buf *out)
{
    jr_buf_printf(out,
                  "<svg width=\"100%%\" height=\"%d\" viewBox=\"0 0 %d %d\" "
                  "preserveAspectRatio=\"none\">",
                  JR_PLOT_HEIGHT, JR_PLOT_SCALE, JR_PLOT_SCALE);
}

void jr_plot_close(struct jr_buf *out)
{
    jr_buf_str(out, "</svg></svg></div>\n");
}

/* When each rank ran. */

enum {
    MOST_ROWS = 512, /* more ranks share a row */
    LABEL_HEIGHT = 14,
    LEAST_FAILED = 3, /* pixels */
    MOMENTS_LISTED = 40
};

/* How ranks become rows. */
struct chart {
    const struct jr_html_page *html;
    double width; /* seconds */
    uint32_t first, rows, per_row;
    uint32_t height; /* of a row */
    bool heard;      /* some rank: the notch needs a word */
    bool again;      /* there were earlier attempts */
};

static struct chart make_chart(const struct jr_html_page *html)
{
    const struct jr_plan *plan = &html->loaded->plan;
    struct chart chart = {.html = html, .per_row = 1};
    chart.width = html->timeline.end > 0 ? html->timeline.end : 1;
    chart.first = plan->count > 0 ? plan->ranks[plan->first].rank : 0;
    while (plan->count / chart.per_row > MOST_ROWS)
        chart.per_row++;
    chart.rows = (plan->count + chart.per_row - 1) / chart.per_row;
    chart.height = chart.rows <= 24 ? 18 : chart.rows <= 64 ? 10 : chart.rows <= 128 ? 5 : 1;
    for (size_t i = 0; i < html->timeline.span_count; i++) {
        chart.heard = chart.heard || html->timeline.spans[i].heard >= 0;
        chart.again = chart.again || !html->timeline.spans[i].last;
    }
    return chart;
}

static double percent_of_width(const struct chart *chart, double at)
{
    double part = 100 * at / chart->width;
    return part < 0 ? 0 : part > 100 ? 100 : part;
}

static void add_life_bar(const struct chart *chart, const struct jr_stretch *life,
                         const char *class, uint32_t y)
{
    struct jr_buf *out = chart->html->out;
    bool failed = strcmp(class, "failed") == 0;
    uint32_t thick = chart->height > 4 ? chart->height - 2 : chart->height;
    double end = life->ended < 0 ? chart->width : life->ended;
    double x = percent_of_width(chart, life->started);
    double wide = percent_of_width(chart, end) - x;
    if (failed && thick < LEAST_FAILED)
        thick = LEAST_FAILED;
    jr_buf_printf(out, "<rect class=\"%s\" x=\"%.2f%%\" y=\"%u\" width=\"%.2f%%\" height=\"%u\"/>",
                  class, x, y, wide < 0.15 ? 0.15 : wide, thick);
    if (life->heard >= 0 && chart->height > 4)
        jr_buf_printf(out,
                      "<rect class=\"heard\" x=\"%.2f%%\" y=\"%u\" width=\"2\" height=\"%u\"/>",
                      percent_of_width(chart, life->heard), y, thick);
    if (failed)
        jr_buf_printf(out, "<text class=\"mark\" x=\"%.2f%%\" y=\"%u\">✕</text>",
                      percent_of_width(chart, end), y + (thick + 9) / 2);
}

/* Where the rank is among those of the plan, which may lack some: nodes that are not here. The
 * count of them: nowhere. */
static uint32_t rank_index(const struct chart *chart, uint32_t rank)
{
    const struct jr_plan *plan = &chart->html->loaded->plan;
    uint32_t i = rank - chart->first;
    if (rank < chart->first)
        return plan->count;
    if (i >= plan->count)
        i = plan->count - 1;
    while (i > 0 && plan->ranks[i].rank > rank)
        i--;
    return plan->ranks[i].rank == rank ? i : plan->count;
}

/* Failures come last, to lie above what else is in their rows. */
static void add_lives(const struct chart *chart, bool failed)
{
    const struct jr_html_page *html = chart->html;
    for (size_t n = 0; n < html->timeline.span_count; n++) {
        const struct jr_stretch *life = &html->timeline.spans[n];
        uint32_t i = rank_index(chart, life->rank);
        if (i >= html->loaded->plan.count)
            continue;
        /* The last life is judged; of the earlier ones nothing is known but that the job was
         * started again. */
        const char *class =
            life->last ? jr_rank_state_word(html->loaded->report.ranks[i].state) : "earlier";
        if ((strcmp(class, "failed") == 0) == failed)
            add_life_bar(chart, life, class, i / chart->per_row * chart->height);
    }
}

/* Round times; the first is 0. */
static void add_ticks(const struct chart *chart)
{
    struct jr_buf *out = chart->html->out;
    uint32_t bottom = chart->rows * chart->height;
    double step = jr_plot_time_step(chart->width);
    for (int i = 0; i * step <= chart->width; i++) {
        double x = percent_of_width(chart, i * step);
        jr_buf_printf(out,
                      "<line x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" y2=\"%u\"/>"
                      "<text class=\"%s\" x=\"%.2f%%\" y=\"%u\">",
                      x, x, bottom,
                      i == 0   ? "left"
                      : x > 95 ? "right"
                               : "tick",
                      x, bottom + 12);
        jr_clock_human(out, jr_clock_ns_of(i * step));
        jr_buf_str(out, "</text>");
    }
}

/* The states that ranks ended in, as the legend of the colours. */
static void add_legend(const struct jr_html_page *html)
{
    static const enum jr_rank_state order[] = {JR_RANK_FAILED,      JR_RANK_AFTER_FIRST_FAILURE,
                                               JR_RANK_INCOMPLETE,  JR_RANK_STOPPED,
                                               JR_RANK_NOT_STARTED, JR_RANK_YIELDED,
                                               JR_RANK_SUCCEEDED};
    const struct jr_loaded_run *loaded = html->loaded;
    JR_FREE uint32_t *ranks = calloc(loaded->plan.count + 1, sizeof *ranks);
    jr_buf_str(html->out, "<ul class=\"legend\">\n");
    for (size_t k = 0; ranks != NULL && k < sizeof order / sizeof *order; k++) {
        size_t count = 0;
        for (uint32_t i = 0; i < loaded->plan.count; i++)
            if (loaded->report.ranks[i].state == order[k])
                ranks[count++] = loaded->plan.ranks[i].rank;
        if (count == 0)
            continue;
        jr_buf_printf(html->out, "<li><i class=\"%s\"></i>%s: ", jr_rank_state_word(order[k]),
                      jr_html_page_state(order[k]));
        jr_words_ranks(html->out, ranks, count);
        jr_buf_str(html->out, "</li>\n");
    }
    jr_buf_str(html->out, "</ul>\n");
}

static void add_chart(const struct chart *chart)
{
    const struct jr_timeline *timeline = &chart->html->timeline;
    struct jr_buf *out = chart->html->out;
    jr_buf_str(out, "<figure>\n<div class=\"chart\">");
    uint32_t step = (LABEL_HEIGHT + chart->height - 1) / chart->height;
    jr_buf_printf(out, "<svg class=\"labels\" width=\"64\" height=\"%u\" aria-hidden=\"true\">",
                  chart->rows * chart->height + LABEL_HEIGHT);
    for (uint32_t row = 0; row < chart->rows; row += step)
        jr_buf_printf(out, "<text x=\"58\" y=\"%u\">%u</text>", row * chart->height + 11,
                      chart->html->loaded->plan.ranks[row * chart->per_row].rank);
    jr_buf_str(out, "</svg>");
    jr_buf_printf(out,
                  "<svg class=\"bars\" height=\"%u\" role=\"img\" aria-label="
                  "\"When each rank ran; the table of ranks has the same\">",
                  chart->rows * chart->height + LABEL_HEIGHT);
    add_ticks(chart);
    add_lives(chart, false);
    add_lives(chart, true);
    jr_buf_str(out, "</svg></div>\n<figcaption>One bar for each rank, from its start to its end");
    if (chart->per_row > 1)
        jr_buf_printf(out, ", %u ranks in a row", chart->per_row);
    if (chart->heard && chart->height > 4)
        jr_buf_str(out, "; the light notch is its first output");
    if (chart->again)
        jr_buf_str(out, "; the pale bars are earlier attempts");
    jr_buf_str(out, ".");
    if (timeline->partial)
        jr_buf_str(out, " Some of events.jsonl is missing or unreadable.");
    jr_buf_str(out, "</figcaption>\n</figure>\n");
}

/* Everything in events.jsonl that is not a rank's own start and end. */
static void add_moments(const struct jr_html_page *html)
{
    const struct jr_timeline *timeline = &html->timeline;
    size_t skip =
        timeline->moment_count > MOMENTS_LISTED ? timeline->moment_count - MOMENTS_LISTED : 0;
    if (timeline->moment_count == 0)
        return;
    jr_buf_str(html->out, "<table>\n<caption>What jobrun did, after the first start");
    if (skip > 0)
        jr_buf_printf(html->out, " (the last %d of %zu)", MOMENTS_LISTED, timeline->moment_count);
    jr_buf_str(html->out, "</caption>\n<thead><tr><th scope=\"col\">after</th>"
                          "<th scope=\"col\">event</th><th scope=\"col\">details"
                          "</th></tr></thead>\n<tbody>\n");
    for (size_t i = skip; i < timeline->moment_count; i++) {
        const struct jr_moment *moment = &timeline->moments[i];
        jr_buf_str(html->out, "<tr>");
        jr_html_page_seconds(html, jr_clock_ns_of(moment->at) + 1);
        jr_html_page_cell(html, moment->words);
        jr_html_page_cell(html, moment->text);
        jr_buf_str(html->out, "</tr>\n");
    }
    jr_buf_str(html->out, "</tbody>\n</table>\n");
}

void jr_html_page_time(const struct jr_html_page *html)
{
    struct chart chart = make_chart(html);
    if (chart.rows == 0)
        return;
    jr_html_page_open(html, "timeline", "Timeline");
    add_legend(html);
    if (html->timeline.span_count > 0)
        add_chart(&chart);
    add_moments(html);
    jr_html_page_close(html);
}

/* Metrics over the steps. */

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

static void add_curve(const struct curve *curve)
{
    struct jr_buf *out = curve->html->out;
    struct jr_buf label JR_BUF_CLEANUP = JR_BUF_INIT;
    double low = curve->low->value, high = curve->high->value;
    jr_html_text(&label, curve->name);
    jr_buf_str(&label, curve->cells ? " over the steps of each cell"
                                    : " over the steps; the table of metrics has its extremes");
    jr_buf_printf(out, "<figure%s>\n", curve->ranks > 1 ? " class=\"many\"" : "");
    jr_html_put(out, "<figcaption><strong>", curve->name, "</strong>");
    if (!curve->cells)
        jr_buf_printf(out, " %.6g at step %.0f", curve->last->value, curve->last->step);
    jr_buf_str(out, "</figcaption>\n");
    jr_buf_str(out, "<div class=\"chart\">");
    jr_plot_value_axis(out, low, high);
    jr_plot_open(out, label.failed ? "" : label.data, low, high);
    double ticks[JR_PLOT_TICKS]; /* the steps below the drawing */
    size_t count = jr_plot_ticks(ticks, curve->from, curve->to, 1);
    for (size_t i = 0; i < count; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "%.0f", ticks[i]);
        jr_plot_label(out, jr_plot_part(ticks[i], curve->from, curve->to), text);
    }
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
        jr_html_put(html->out, "<tr><th scope=\"row\" class=\"name\">", curve.name, "</th>");
        add_value_cell(html->out, curve.last);
        add_value_cell(html->out, curve.low);
        add_value_cell(html->out, curve.high);
        jr_buf_printf(html->out, "<td class=\"n\">%zu</td><td class=\"n\">%zu</td></tr>\n",
                      curve.count, curve.count - curve.values);
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
