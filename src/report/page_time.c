#include "report/page_time.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "judge/words.h"
#include "report/plot.h"

#include "base/banned.h"

enum {
    MOST_ROWS = 512, /* more ranks share a row */
    LABEL_HEIGHT = 14,
    LEAST_FAILED = 3, /* pixels */
    MOST_LISTED = 40
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

/* What became of the rank in this life: the last one is judged, of the earlier ones nothing is
 * known but that the job was started again. */
static const char *life_class(const struct chart *chart, const struct jr_stretch *life, uint32_t i)
{
    return life->last ? jr_rank_state_word(chart->html->loaded->report.ranks[i].state) : "earlier";
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
        const char *class = life_class(chart, life, i);
        if ((strcmp(class, "failed") == 0) == failed)
            add_life_bar(chart, life, class, i / chart->per_row * chart->height);
    }
}

static void add_labels(const struct chart *chart)
{
    struct jr_buf *out = chart->html->out;
    uint32_t step = (LABEL_HEIGHT + chart->height - 1) / chart->height;
    jr_buf_printf(out, "<svg class=\"labels\" width=\"64\" height=\"%u\" aria-hidden=\"true\">",
                  chart->rows * chart->height + LABEL_HEIGHT);
    for (uint32_t row = 0; row < chart->rows; row += step)
        jr_buf_printf(out, "<text x=\"58\" y=\"%u\">%u</text>", row * chart->height + 11,
                      chart->html->loaded->plan.ranks[row * chart->per_row].rank);
    jr_buf_str(out, "</svg>");
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
    add_labels(chart);
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
    size_t skip = timeline->moment_count > MOST_LISTED ? timeline->moment_count - MOST_LISTED : 0;
    if (timeline->moment_count == 0)
        return;
    jr_buf_str(html->out, "<table>\n<caption>What jobrun did, after the first start");
    if (skip > 0)
        jr_buf_printf(html->out, " (the last %d of %zu)", MOST_LISTED, timeline->moment_count);
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
