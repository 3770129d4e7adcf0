#include "report/page_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "judge/result_checks.h"
#include "report/verdict_text.h"

#include "base/banned.h"

enum { MOST_FIELDS = 24, MOST_COLUMNS = 8, MOST_OPEN = 16 };

/* The fields of all results, in the order in which they are met. */
struct fields {
    const char *names[MOST_FIELDS];
    size_t count, left_out;
};

static void add_field_name(struct fields *fields, const char *name)
{
    for (size_t i = 0; i < fields->count; i++)
        if (strcmp(fields->names[i], name) == 0)
            return;
    if (fields->count < MOST_FIELDS)
        fields->names[fields->count++] = name;
    else
        fields->left_out++;
}

static struct fields find_fields(const struct jr_judgement *report)
{
    struct fields fields = {.count = 0};
    const char *name = NULL;
    json_t *value = NULL;
    for (size_t i = 0; i < report->count; i++)
        json_object_foreach(report->ranks[i].result, name, value) {
            add_field_name(&fields, name);
        }
    return fields;
}

static void plot_field(const struct jr_html_page *html, const char *name)
{
    const struct jr_judgement *report = &html->loaded->report;
    JR_FREE double *values = calloc(report->count + 1, sizeof *values);
    for (size_t i = 0; values != NULL && i < report->count; i++) {
        json_t *value = json_object_get(report->ranks[i].result, name);
        values[i] = json_is_number(value) ? json_number_value(value) : NAN;
    }
    if (values != NULL)
        jr_html_plot(html->out, "value by rank", values, report->count);
}

static size_t count_field(const struct jr_judgement *report, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < report->count; i++)
        count += json_object_get(report->ranks[i].result, name) != NULL;
    return count;
}

static void add_field_table(const struct jr_html_page *html, const struct fields *fields)
{
    const struct jr_judgement *report = &html->loaded->report;
    jr_buf_str(html->out, "<div class=\"wide\"><table>\n<caption>What the ranks delivered"
                          "</caption>\n<thead><tr><th scope=\"col\">field</th>"
                          "<th scope=\"col\" class=\"n\">ranks</th><th scope=\"col\">value"
                          "</th><th scope=\"col\">by rank</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < fields->count; i++) {
        JR_BUF_CLEANUP struct jr_buf value = JR_BUF_INIT;
        jr_print_field(&value, report, fields->names[i]);
        jr_buf_str(html->out, "<tr><th scope=\"row\">");
        jr_html_text(html->out, fields->names[i]);
        jr_buf_printf(html->out, "</th><td class=\"n\">%zu of %zu</td>",
                      count_field(report, fields->names[i]), report->count);
        jr_html_page_cell(html, value.data);
        jr_buf_str(html->out, "<td>");
        plot_field(html, fields->names[i]);
        jr_buf_str(html->out, "</td></tr>\n");
    }
    jr_buf_str(html->out, "</tbody>\n</table></div>\n");
    if (fields->left_out > 0)
        jr_buf_str(html->out, "<p>Not all fields are shown; results.json has all of them.</p>\n");
}

static void add_value_cell(const struct jr_html_page *html, const json_t *value)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (value != NULL)
        jr_judge_quote(&text, value);
    else
        jr_buf_str(&text, "—");
    jr_html_page_cell(html, text.data);
}

static void add_result_row(const struct jr_html_page *html, const struct fields *fields, size_t i)
{
    const json_t *result = html->loaded->report.ranks[i].result;
    jr_buf_printf(html->out, "<tr><th scope=\"row\">%u</th>", html->loaded->plan.ranks[i].rank);
    if (fields->count == 0)
        add_value_cell(html, result);
    for (size_t f = 0; f < fields->count && f < MOST_COLUMNS; f++)
        add_value_cell(html, json_object_get(result, fields->names[f]));
    jr_buf_str(html->out, "</tr>\n");
}

/* Each rank's own values: asked for, where there are many. */
static void add_result_table(const struct jr_html_page *html, const struct fields *fields)
{
    const struct jr_judgement *report = &html->loaded->report;
    jr_buf_printf(html->out,
                  "<details%s><summary>Results of each rank</summary>\n"
                  "<div class=\"wide\"><table>\n<caption>Results by rank"
                  "</caption>\n<thead><tr><th scope=\"col\">rank</th>",
                  report->count <= MOST_OPEN ? " open" : "");
    if (fields->count == 0)
        jr_buf_str(html->out, "<th scope=\"col\">result</th>");
    for (size_t f = 0; f < fields->count && f < MOST_COLUMNS; f++) {
        jr_buf_str(html->out, "<th scope=\"col\">");
        jr_html_text(html->out, fields->names[f]);
        jr_buf_str(html->out, "</th>");
    }
    jr_buf_str(html->out, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < report->count; i++)
        add_result_row(html, fields, i);
    jr_buf_str(html->out, "</tbody>\n</table></div></details>\n");
}

void jr_html_page_results(const struct jr_html_page *html)
{
    const struct jr_judgement *report = &html->loaded->report;
    struct fields fields = find_fields(report);
    size_t delivered = 0;
    for (size_t i = 0; i < report->count; i++)
        delivered += report->ranks[i].result != NULL;
    if (delivered == 0)
        return;
    jr_html_page_open(html, "results", "Results");
    if (fields.count > 0)
        add_field_table(html, &fields);
    add_result_table(html, &fields);
    jr_html_page_close(html);
}

/* One thing that ranks use. */
struct usage {
    const char *name;
    double (*value)(const struct jr_rank_outcome *rank);
    void (*cell)(const struct jr_html_page *html, uint64_t value);
};

static double end_ns_of(const struct jr_rank_outcome *rank)
{
    return rank->ended_ns > 0 ? (double)rank->ended_ns : NAN;
}

static double processor_ns_of(const struct jr_rank_outcome *rank)
{
    return rank->cpu_ns > 0 ? (double)rank->cpu_ns : NAN;
}

static double memory_bytes_of(const struct jr_rank_outcome *rank)
{
    return rank->max_rss_bytes > 0 ? (double)rank->max_rss_bytes : NAN;
}

static int compare_reals_at(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void add_usage(const struct jr_html_page *html, const struct usage *usage)
{
    const struct jr_loaded_run *loaded = html->loaded;
    size_t count = 0, most = 0;
    JR_FREE double *values = calloc(loaded->plan.count + 1, sizeof *values);
    JR_FREE double *sorted = calloc(loaded->plan.count + 1, sizeof *sorted);
    for (size_t i = 0; values && sorted && i < loaded->plan.count; i++) {
        values[i] = usage->value(&loaded->outcome.ranks[i]);
        if (isnan(values[i]))
            continue;
        if (count == 0 || values[i] > values[most])
            most = i;
        sorted[count++] = values[i];
    }
    if (count == 0)
        return;
    qsort(sorted, count, sizeof *sorted, compare_reals_at);
    jr_buf_printf(html->out, "<tr><th scope=\"row\">%s</th>", usage->name);
    usage->cell(html, (uint64_t)sorted[0]);
    usage->cell(html, (uint64_t)sorted[count / 2]);
    usage->cell(html, (uint64_t)sorted[count - 1]);
    jr_buf_printf(html->out, "<td class=\"n\">%u</td><td>", loaded->plan.ranks[most].rank);
    jr_html_plot(html->out, usage->name, values, loaded->plan.count);
    jr_buf_str(html->out, "</td></tr>\n");
}

void jr_html_page_usage(const struct jr_html_page *html)
{
    static const struct usage usages[] = {
        {"time", end_ns_of, jr_html_page_seconds},
        {"processor time", processor_ns_of, jr_html_page_seconds},
        {"peak memory", memory_bytes_of, jr_html_page_bytes},
    };
    if (html->loaded->plan.count == 0)
        return;
    jr_html_page_open(html, "usage", "Resources");
    jr_buf_str(html->out, "<div class=\"wide\"><table>\n<caption>What the ranks "
                          "used</caption>\n<thead><tr><td></td><th scope=\"col\" "
                          "class=\"n\">least</th><th scope=\"col\" class=\"n\">median</th><th "
                          "scope=\"col\" class=\"n\">most</th><th scope=\"col\" class=\"n\">by "
                          "rank</th><th scope=\"col\">all ranks</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < sizeof usages / sizeof *usages; i++)
        add_usage(html, &usages[i]);
    jr_buf_str(html->out, "</tbody>\n</table></div>\n");
    jr_html_page_close(html);
}
