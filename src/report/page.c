/* The report as one HTML file; its drawings are in page_plots.c. */
#include "report/page.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/syscalls.h"
#include "generated/sheets.h"
#include "judge/hang_report.h"
#include "judge/result_checks.h"
#include "judge/words.h"
#include "record/multinode.h"
#include "record/record_code.h"
#include "record/record_folder.h"
#include "report/internal.h"
#include "report/show.h"
#include "store/outcome.h"
#include "store/progress.h"
#include "store/run_folder.h"

#include "base/banned.h"

void jr_html_escape(struct jr_buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        switch (text[i]) {
        case '&':
            jr_buf_str(out, "&amp;");
            break;
        case '<':
            jr_buf_str(out, "&lt;");
            break;
        case '>':
            jr_buf_str(out, "&gt;");
            break;
        case '"':
            jr_buf_str(out, "&quot;");
            break;
        case '\'':
            jr_buf_str(out, "&#39;");
            break;
        default:
            jr_buf_char(out, text[i]);
        }
    }
}

void jr_html_text(struct jr_buf *out, const char *text)
{
    JR_BUF_CLEANUP struct jr_buf safe = JR_BUF_INIT;
    if (text == NULL)
        return;
    jr_buf_safe(&safe, text);
    jr_html_escape(out, safe.data, safe.len);
    out->failed = out->failed || safe.failed;
}

void jr_html_put(struct jr_buf *out, const char *before, const char *text, const char *after)
{
    jr_buf_str(out, before);
    jr_html_text(out, text);
    jr_buf_str(out, after);
}

static void add_path(struct jr_buf *out, const char *path)
{
    for (; *path != '\0'; path++) {
        unsigned char byte = (unsigned char)*path;
        if (byte < 128 && (isalnum(byte) || strchr("/-._~", byte) != NULL))
            jr_buf_char(out, *path);
        else
            jr_buf_printf(out, "%%%02X", byte);
    }
}

void jr_html_link(struct jr_buf *out, const char *base, const char *path, const char *label)
{
    jr_buf_str(out, "<a href=\"");
    add_path(out, base);
    jr_buf_char(out, '/');
    add_path(out, path);
    jr_html_put(out, "\">", label, "</a>");
}

enum { PLOT_WIDTH = 160, PLOT_HEIGHT = 24, PLOT_MARGIN = 3 };

void jr_html_plot(struct jr_buf *out, const char *label, const double *values, size_t count)
{
    double min = INFINITY, max = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        min = values[i] < min ? values[i] : min;
        max = values[i] > max ? values[i] : max;
    }
    if (!(min < max) || !isfinite(max - min))
        return;
    jr_buf_printf(out,
                  "<svg class=\"plot\" width=\"%d\" height=\"%d\" role=\"img\" "
                  "aria-label=\"%s\"><path d=\"",
                  PLOT_WIDTH, PLOT_HEIGHT, label);
    double wide = PLOT_WIDTH - 2 * PLOT_MARGIN;
    double high = PLOT_HEIGHT - 2 * PLOT_MARGIN;
    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i]))
            jr_buf_printf(out, "M%.1f %.1fh.1",
                          PLOT_MARGIN + wide * ((double)i + 0.5) / (double)count,
                          PLOT_MARGIN + high * (max - values[i]) / (max - min));
    jr_buf_str(out, "\"/></svg>");
}

/* What the parts of the page share. */

void jr_html_page_cell(const struct jr_html_page *html, const char *text)
{
    jr_html_put(html->out, "<td>", text, "</td>");
}

void jr_html_page_seconds(const struct jr_html_page *html, uint64_t ns)
{
    jr_buf_str(html->out, "<td class=\"n\">");
    if (ns > 0)
        jr_clock_human(html->out, ns);
    jr_buf_str(html->out, "</td>");
}

static void page_bytes(const struct jr_html_page *html, uint64_t bytes)
{
    jr_buf_str(html->out, "<td class=\"n\">");
    if (bytes > 0)
        jr_buf_printf(html->out, "%.1f MiB", (double)bytes / (1 << 20));
    jr_buf_str(html->out, "</td>");
}

void jr_html_page_open(const struct jr_html_page *html, const char *id, const char *title)
{
    jr_buf_printf(html->out,
                  "<section id=\"%s\" aria-labelledby=\"%s-title\">\n"
                  "<h2 id=\"%s-title\">%s</h2>\n",
                  id, id, id, title);
}

void jr_html_page_close(const struct jr_html_page *html)
{
    jr_buf_str(html->out, "</section>\n");
}

const char *jr_html_page_state(enum jr_rank_state state)
{
    static const char *const words[] = {
        [JR_RANK_SUCCEEDED] = "succeeded",
        [JR_RANK_FAILED] = "failed",
        [JR_RANK_INCOMPLETE] = "did not deliver",
        [JR_RANK_AFTER_FIRST_FAILURE] = "failed after the first",
        [JR_RANK_STOPPED] = "stopped by jobrun",
        [JR_RANK_NOT_STARTED] = "not started",
        [JR_RANK_YIELDED] = "stopped for the deadline",
    };
    return words[state];
}

/* What the ranks delivered and used. */

enum { MOST_FIELDS = 24, MOST_COLUMNS = 8, MOST_OPEN = 16 };

/* Find the fields of all results, in the order in which they are met. Returns how many; *ret_more:
 * there are more. */
static size_t find_fields(const char *ret[static MOST_FIELDS], bool *ret_more,
                          const struct jr_judgement *report)
{
    size_t count = 0;
    const char *name = NULL;
    json_t *value = NULL;
    *ret_more = false;
    for (size_t i = 0; i < report->count; i++)
        json_object_foreach(report->ranks[i].result, name, value) {
            size_t f = 0;
            while (f < count && strcmp(ret[f], name) != 0)
                f++;
            if (f == count && count < MOST_FIELDS)
                ret[count++] = name;
            else
                *ret_more |= f == count;
        }
    return count;
}

static void add_field_table(const struct jr_html_page *html, const char *const *names,
                            size_t names_count, bool more)
{
    const struct jr_judgement *report = &html->loaded->report;
    JR_FREE double *values = calloc(report->count + 1, sizeof *values);
    jr_buf_str(html->out, "<div class=\"wide\"><table>\n<caption>What the ranks delivered"
                          "</caption>\n<thead><tr><th scope=\"col\">field</th>"
                          "<th scope=\"col\" class=\"n\">ranks</th><th scope=\"col\">value"
                          "</th><th scope=\"col\">by rank</th></tr></thead>\n<tbody>\n");
    for (size_t f = 0; f < names_count; f++) {
        JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
        size_t count = 0;
        for (size_t i = 0; i < report->count; i++) {
            json_t *value = json_object_get(report->ranks[i].result, names[f]);
            count += value != NULL;
            if (values != NULL)
                values[i] = json_is_number(value) ? json_number_value(value) : NAN;
        }
        jr_print_field(&text, report, names[f]);
        jr_html_put(html->out, "<tr><th scope=\"row\">", names[f], "</th>");
        jr_buf_printf(html->out, "<td class=\"n\">%zu of %zu</td>", count, report->count);
        jr_html_page_cell(html, text.data);
        jr_buf_str(html->out, "<td>");
        if (values != NULL)
            jr_html_plot(html->out, "value by rank", values, report->count);
        jr_buf_str(html->out, "</td></tr>\n");
    }
    jr_buf_str(html->out, "</tbody>\n</table></div>\n");
    if (more)
        jr_buf_str(html->out, "<p>Not all fields are shown; results.json has all of them.</p>\n");
}

static void add_result_cell(const struct jr_html_page *html, const json_t *value)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (value != NULL)
        jr_judge_quote(&text, value);
    else
        jr_buf_str(&text, "—");
    jr_html_page_cell(html, text.data);
}

/* Each rank's own values: asked for, where there are many. */
static void add_result_table(const struct jr_html_page *html, const char *const *names,
                             size_t count)
{
    const struct jr_judgement *report = &html->loaded->report;
    jr_buf_printf(html->out,
                  "<details%s><summary>Results of each rank</summary>\n"
                  "<div class=\"wide\"><table>\n<caption>Results by rank"
                  "</caption>\n<thead><tr><th scope=\"col\">rank</th>",
                  report->count <= MOST_OPEN ? " open" : "");
    if (count == 0)
        jr_buf_str(html->out, "<th scope=\"col\">result</th>");
    for (size_t f = 0; f < count && f < MOST_COLUMNS; f++)
        jr_html_put(html->out, "<th scope=\"col\">", names[f], "</th>");
    jr_buf_str(html->out, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < report->count; i++) {
        const json_t *result = report->ranks[i].result;
        jr_buf_printf(html->out, "<tr><th scope=\"row\">%u</th>", html->loaded->plan.ranks[i].rank);
        if (count == 0)
            add_result_cell(html, result);
        for (size_t f = 0; f < count && f < MOST_COLUMNS; f++)
            add_result_cell(html, json_object_get(result, names[f]));
        jr_buf_str(html->out, "</tr>\n");
    }
    jr_buf_str(html->out, "</tbody>\n</table></div></details>\n");
}

void jr_html_page_results(const struct jr_html_page *html)
{
    const struct jr_judgement *report = &html->loaded->report;
    const char *names[MOST_FIELDS];
    bool more;
    size_t delivered = 0, count = find_fields(names, &more, report);
    for (size_t i = 0; i < report->count; i++)
        delivered += report->ranks[i].result != NULL;
    if (delivered == 0)
        return;
    jr_html_page_open(html, "results", "Results");
    if (count > 0)
        add_field_table(html, names, count, more);
    add_result_table(html, names, count);
    jr_html_page_close(html);
}

static int compare_reals_at(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* A row of one thing that ranks use, of which `values` has that of each rank; NAN: none. Both have
 * room for all ranks. */
static void add_usage(const struct jr_html_page *html, const char *name, const double *values,
                      double *sorted, bool is_time)
{
    const struct jr_plan *plan = &html->loaded->plan;
    size_t count = 0, most = 0;
    for (size_t i = 0; i < plan->count; i++) {
        if (isnan(values[i]))
            continue;
        if (count == 0 || values[i] > values[most])
            most = i;
        sorted[count++] = values[i];
    }
    if (count == 0)
        return;
    qsort(sorted, count, sizeof *sorted, compare_reals_at);
    const double shown[] = {sorted[0], sorted[count / 2], sorted[count - 1]};
    jr_buf_printf(html->out, "<tr><th scope=\"row\">%s</th>", name);
    for (size_t i = 0; i < 3; i++) {
        if (is_time)
            jr_html_page_seconds(html, (uint64_t)shown[i]);
        else
            page_bytes(html, (uint64_t)shown[i]);
    }
    jr_buf_printf(html->out, "<td class=\"n\">%u</td><td>", plan->ranks[most].rank);
    jr_html_plot(html->out, name, values, plan->count);
    jr_buf_str(html->out, "</td></tr>\n");
}

void jr_html_page_usage(const struct jr_html_page *html)
{
    static const char *const names[] = {"time", "processor time", "peak memory"};
    uint32_t count = html->loaded->plan.count;
    JR_FREE double *values = calloc((size_t)count + 1, sizeof *values);
    JR_FREE double *sorted = calloc((size_t)count + 1, sizeof *sorted);
    if (count == 0)
        return;
    jr_html_page_open(html, "usage", "Resources");
    jr_buf_str(html->out, "<div class=\"wide\"><table>\n<caption>What the ranks "
                          "used</caption>\n<thead><tr><td></td><th scope=\"col\" "
                          "class=\"n\">least</th><th scope=\"col\" class=\"n\">median</th><th "
                          "scope=\"col\" class=\"n\">most</th><th scope=\"col\" class=\"n\">by "
                          "rank</th><th scope=\"col\">all ranks</th></tr></thead>\n<tbody>\n");
    for (size_t n = 0; n < 3 && values != NULL && sorted != NULL; n++) {
        for (uint32_t i = 0; i < count; i++) {
            const struct jr_rank_outcome *rank = &html->loaded->outcome.ranks[i];
            const uint64_t used[] = {rank->ended_ns, rank->cpu_ns, rank->max_rss_bytes};
            values[i] = used[n] > 0 ? (double)used[n] : NAN;
        }
        add_usage(html, names[n], values, sorted, n < 2);
    }
    jr_buf_str(html->out, "</tbody>\n</table></div>\n");
    jr_html_page_close(html);
}

/* What became of the ranks. */

enum {
    RANKS_OPEN = 32, /* ranks that are shown without being asked for */
    MOST_PLACES = 128,
    MOST_LISTED = 50, /* of those that went wrong, where there are more */
    MOST_STACKS = 64  /* ranks whose threads are listed */
};

static const char *rank_state_text(const struct jr_html_page *html, uint32_t i)
{
    enum jr_rank_state state = html->loaded->report.ranks[i].state;
    return state == JR_RANK_YIELDED && jr_outcome_cut_off(&html->loaded->outcome.ranks[i])
               ? "preempted before its checkpoint"
               : jr_html_page_state(state);
}

static void add_square(const struct jr_html_page *html, uint32_t i, const char *tag)
{
    enum jr_rank_state state = html->loaded->report.ranks[i].state;
    jr_buf_printf(html->out, "<%s class=\"%s\" title=\"%s\">%u%s</%s>", tag,
                  jr_rank_state_word(state), rank_state_text(html, i),
                  html->loaded->plan.ranks[i].rank, state == JR_RANK_FAILED ? " ✕" : "", tag);
}

/* A row of the mesh: the ranks that differ on the model axis alone. */
static void add_mesh_row(const struct jr_html_page *html, uint32_t from, uint32_t to)
{
    const struct jr_plan *plan = &html->loaded->plan;
    const struct jr_plan_rank *rank = &plan->ranks[from];
    jr_buf_str(html->out, "<tr><th scope=\"row\">");
    const char *before = "";
    for (int axis = JR_AXIS_DATA; axis > JR_AXIS_MODEL; axis--) {
        if (plan->axis_size[axis] < 2)
            continue;
        jr_buf_printf(html->out, "%s%s %u", before, jr_words_axis(axis), rank->at[axis]);
        before = ", ";
    }
    jr_buf_str(html->out, "</th>");
    for (uint32_t i = from; i < to; i++)
        add_square(html, i, "td");
    jr_buf_str(html->out, "</tr>\n");
}

static void add_grid(const struct jr_html_page *html)
{
    const struct jr_plan *plan = &html->loaded->plan;
    uint32_t model = plan->axis_size[JR_AXIS_MODEL];
    jr_buf_str(html->out, "<div class=\"wide\"><table class=\"mesh\">\n"
                          "<caption>Ranks by their place in the mesh, coloured "
                          "by outcome</caption>\n"
                          "<thead><tr><td></td>");
    for (uint32_t m = 0; m < model; m++)
        jr_buf_printf(html->out, "<th scope=\"col\">model %u</th>", m);
    jr_buf_str(html->out, "</tr></thead>\n<tbody>\n");
    for (uint32_t i = 0; i < plan->count;) {
        uint32_t from = i++;
        while (i < plan->count && i - from < model && plan->ranks[i].at[JR_AXIS_MODEL] != 0)
            i++;
        add_mesh_row(html, from, i);
    }
    jr_buf_str(html->out, "</tbody>\n</table></div>\n");
}

void jr_html_page_mesh(const struct jr_html_page *html)
{
    const struct jr_plan *plan = &html->loaded->plan;
    if (plan->count < 2)
        return;
    bool folded = plan->count > MOST_PLACES;
    jr_html_page_open(html, "mesh", "Mesh");
    if (folded)
        jr_buf_printf(html->out, "<details><summary>The places of %u ranks</summary>\n",
                      plan->count);
    if (plan->axis_size[JR_AXIS_MODEL] > 1 || plan->axis_size[JR_AXIS_PIPELINE] > 1) {
        add_grid(html);
    } else { /* one axis: the place says nothing, the number of a rank is its place */
        jr_buf_str(html->out, "<ul class=\"cells\">");
        for (uint32_t i = 0; i < plan->count; i++)
            add_square(html, i, "li");
        jr_buf_str(html->out, "</ul>\n");
    }
    if (folded)
        jr_buf_str(html->out, "</details>\n");
    jr_html_page_close(html);
}

static void add_end_cell(const struct jr_html_page *html, uint32_t i)
{
    const struct jr_rank_judgement *verdict = &html->loaded->report.ranks[i];
    JR_BUF_CLEANUP struct jr_buf end = JR_BUF_INIT;
    jr_words_rank_end(&end, &html->loaded->outcome.ranks[i]);
    const char *why = verdict->reason != NULL ? verdict->reason : verdict->error;
    jr_buf_str(html->out, "<td>");
    jr_html_text(html->out, end.data);
    if (why != NULL) {
        jr_buf_str(html->out, "<br><small>");
        jr_html_text(html->out, why);
        jr_buf_str(html->out, "</small>");
    }
    jr_buf_str(html->out, "</td>");
}

static void add_where(const struct jr_html_page *html, uint32_t i)
{
    const struct jr_plan *plan = &html->loaded->plan;
    const struct jr_plan_rank *rank = &plan->ranks[i];
    const char *host = plan->hosts == NULL ? NULL : plan->hosts[rank->node_rank];
    jr_buf_printf(html->out, "<td>node %u", rank->node_rank);
    if (host != NULL) {
        jr_buf_str(html->out, " (");
        jr_html_text(html->out, host);
        jr_buf_char(html->out, ')');
    }
    jr_buf_printf(html->out, ", local %u", rank->local_rank);
    if (rank->device != NULL) {
        jr_buf_str(html->out, ", device ");
        jr_html_text(html->out, rank->device);
    }
    jr_buf_str(html->out, "</td>");
}

/* A log beneath the run folder can be followed; one elsewhere is named. Of one that is not there
 * nobody knows here whether anything was written to it. */
static void add_log_link(const struct jr_html_page *html, const char *path, const char *label)
{
    if (path == NULL)
        return;
    if (*path != '/' && jr_access(html->fd, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
        jr_buf_printf(html->out, "%s: no file", label);
    else if (*path != '/')
        jr_html_link(html->out, html->base, path, label);
    else
        jr_html_text(html->out, path);
    jr_buf_char(html->out, ' ');
}

/* Whether each rank has steps of its own. */
static bool has_rank_steps(const struct jr_html_page *html)
{
    const struct jr_progress *progress = html->loaded->outcome.progress;
    return progress != NULL && progress->all;
}

/* The step of a rank, its rate, and how far it is behind the furthest. */
static void add_step_cells(const struct jr_html_page *html, uint32_t i, int64_t furthest)
{
    const struct jr_steps *steps = &html->loaded->outcome.progress->ranks[i];
    if (!steps->any) {
        jr_buf_str(html->out, "<td></td><td></td><td></td>");
        return;
    }
    jr_buf_printf(html->out, "<td class=\"n\">%" PRId64 "</td><td class=\"n\">", steps->step);
    if (steps->rate > 0)
        jr_buf_printf(html->out, "%.3g", steps->rate);
    jr_buf_str(html->out, "</td><td class=\"n\">");
    if (steps->step < furthest)
        jr_buf_printf(html->out, "%" PRId64, furthest - steps->step);
    jr_buf_str(html->out, "</td>");
}

static void add_rank_table_row(const struct jr_html_page *html, uint32_t i, int64_t furthest)
{
    const struct jr_plan_rank *rank = &html->loaded->plan.ranks[i];
    const struct jr_rank_outcome *end = &html->loaded->outcome.ranks[i];
    const struct jr_rank_judgement *verdict = &html->loaded->report.ranks[i];
    jr_buf_printf(html->out, "<tr><th scope=\"row\">%u</th><td><i class=\"%s\"></i>%s</td>",
                  rank->rank, jr_rank_state_word(verdict->state), rank_state_text(html, i));
    add_end_cell(html, i);
    add_where(html, i);
    if (has_rank_steps(html))
        add_step_cells(html, i, furthest);
    jr_html_page_seconds(html, end->ended_ns);
    jr_html_page_seconds(html, end->cpu_ns);
    page_bytes(html, end->max_rss_bytes);
    jr_buf_str(html->out, "<td>");
    if (end->pid != 0) {
        add_log_link(html, rank->out_path, "stdout");
        add_log_link(html, rank->err_path, "stderr");
    }
    if (verdict->error_file)
        add_log_link(html, rank->error_path, "error");
    jr_buf_str(html->out, "</td></tr>\n");
}

static bool has_rank_failed(enum jr_rank_state state)
{
    return state == JR_RANK_FAILED || state == JR_RANK_INCOMPLETE ||
           state == JR_RANK_AFTER_FIRST_FAILURE;
}

/* A table of all ranks, or of those that went wrong. */
static void add_rank_table(const struct jr_html_page *html, bool all, const char *caption)
{
    const struct jr_loaded_run *loaded = html->loaded;
    jr_buf_printf(html->out,
                  "<div class=\"wide\"><table>\n<caption>%s</caption>\n<thead><tr><th "
                  "scope=\"col\">rank</th><th scope=\"col\">state</th><th scope=\"col\">how it "
                  "ended</th><th scope=\"col\">where</th>%s<th scope=\"col\" "
                  "class=\"n\">time</th><th scope=\"col\" class=\"n\">processor</th><th "
                  "scope=\"col\" class=\"n\">peak memory</th><th "
                  "scope=\"col\">logs</th></tr></thead>\n<tbody>\n",
                  caption,
                  has_rank_steps(html) ? "<th scope=\"col\" class=\"n\">step</th>"
                                         "<th scope=\"col\" class=\"n\">steps/s</th>"
                                         "<th scope=\"col\" class=\"n\">behind</th>"
                                       : "");
    const struct jr_progress *progress = loaded->outcome.progress;
    int64_t furthest = 0;
    for (uint32_t i = 0; has_rank_steps(html) && i < loaded->plan.count; i++)
        if (progress->ranks[i].any && progress->ranks[i].step > furthest)
            furthest = progress->ranks[i].step;
    uint32_t listed = 0;
    for (uint32_t i = 0; i < loaded->plan.count; i++)
        if (all || (has_rank_failed(loaded->report.ranks[i].state) && listed++ < MOST_LISTED))
            add_rank_table_row(html, i, furthest);
    jr_buf_str(html->out, "</tbody>\n</table></div>\n");
}

void jr_html_page_ranks(const struct jr_html_page *html)
{
    const struct jr_loaded_run *loaded = html->loaded;
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < loaded->plan.count; i++)
        wrong += has_rank_failed(loaded->report.ranks[i].state);
    if (loaded->plan.count == 0)
        return;
    jr_html_page_open(html, "ranks", "Ranks");
    if (loaded->plan.count <= RANKS_OPEN) {
        add_rank_table(html, true, "All ranks");
    } else {
        if (wrong > 0)
            add_rank_table(html, false,
                           wrong > MOST_LISTED ? "The first 50 ranks that failed or did not deliver"
                                               : "The ranks that failed or did not deliver");
        jr_buf_printf(html->out, "<details><summary>All %u ranks</summary>\n", loaded->plan.count);
        add_rank_table(html, true, "All ranks");
        jr_buf_str(html->out, "</details>\n");
    }
    jr_html_page_close(html);
}

/* The rows of all ranks that left evidence, and their threads to `stacks`. */
static uint32_t add_evidence_rows(const struct jr_html_page *html, struct jr_buf *stacks)
{
    const struct jr_plan *plan = &html->loaded->plan;
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct jr_plan_rank *rank = &plan->ranks[plan->first + i];
        JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT, activity = JR_BUF_INIT;
        jr_buf_printf(&path, "%s/hang.json", rank->dir == NULL ? "." : rank->dir);
        json_t *evidence = path.failed ? NULL : jr_record_folder_json(html->fd, path.data, NULL);
        if (evidence == NULL)
            continue;
        if (count == 0)
            jr_buf_str(html->out, "<div class=\"wide\"><table>\n<caption>What each rank "
                                  "was doing before it was stopped</caption>\n<thead><tr>"
                                  "<th scope=\"col\">rank</th><th scope=\"col\">doing</th>"
                                  "<th scope=\"col\">silent for</th>"
                                  "<th scope=\"col\">CPU used</th></tr></thead>\n"
                                  "<tbody>\n");
        jr_thread_state_words(&activity, evidence);
        jr_buf_printf(html->out, "<tr><th scope=\"row\">%u</th>", rank->rank);
        jr_html_page_cell(html, activity.data);
        jr_html_page_seconds(html, jr_clock_ns_of(jr_thread_state_silence(evidence)));
        jr_buf_printf(html->out, "<td class=\"n\">%.2f s in %.2f s</td></tr>\n",
                      jr_json_get_real(evidence, "cpu_seconds"),
                      jr_json_get_real(evidence, "interval_seconds"));
        if (count++ < MOST_STACKS)
            jr_thread_state_stacks(stacks, evidence);
        json_decref(evidence);
    }
    return count;
}

void jr_html_page_hang(const struct jr_html_page *html)
{
    JR_BUF_CLEANUP struct jr_buf stacks = JR_BUF_INIT;
    if (html->loaded->report.status != JR_RUN_HUNG)
        return;
    jr_html_page_open(html, "hang", "What the ranks were doing");
    uint32_t count = add_evidence_rows(html, &stacks);
    if (count == 0) {
        jr_buf_str(html->out, "<p>No rank left evidence.</p>\n");
    } else {
        jr_buf_printf(html->out,
                      "</tbody>\n</table></div>\n<details><summary>Threads of "
                      "%s ranks</summary>\n<pre tabindex=\"0\">",
                      count > MOST_STACKS ? "the first of the" : "all");
        jr_html_escape(html->out, stacks.data, stacks.len);
        jr_buf_str(html->out, "</pre>\n</details>\n");
    }
    html->out->failed |= stacks.failed;
    jr_html_page_close(html);
}

/* The page. */

/* One of the facts below the title. */
static void add_fact(const struct jr_html_page *html, const char *name, const char *text)
{
    if (text == NULL || *text == '\0')
        return;
    jr_buf_printf(html->out, "<div><dt>%s</dt>", name);
    jr_html_put(html->out, "<dd>", text, "</dd></div>\n");
}

static void add_facts(const struct jr_html_page *html)
{
    const struct jr_outcome *run = &html->loaded->outcome;
    const struct jr_plan *plan = &html->loaded->plan;
    JR_BUF_CLEANUP struct jr_buf took = JR_BUF_INIT, shape = JR_BUF_INIT;
    char started[32], code[16];
    jr_clock_rfc3339(started, run->started_wall_ns);
    jr_clock_human(&took, run->ended_ns);
    jr_buf_printf(&shape, "%u", plan->world_size);
    const char *before = " = ";
    for (int axis = JR_AXIS_COUNT - 1; axis >= 0; axis--) {
        if (plan->axis_size[axis] < 2)
            continue;
        jr_buf_printf(&shape, "%s%s %u", before, jr_words_axis(axis), plan->axis_size[axis]);
        before = " × ";
    }
    jr_buf_printf(&shape, " on %u node%s", plan->nodes, plan->nodes == 1 ? "" : "s");
    (void)snprintf(code, sizeof code, "%d", html->loaded->report.exit_code);
    jr_buf_str(html->out, "<dl class=\"facts\">\n");
    add_fact(html, "run", plan->run_id);
    add_fact(html, "exit status", code);
    add_fact(html, "ranks", shape.data);
    add_fact(html, "began", started);
    add_fact(html, "took", took.data);
    if (json_object_get(html->loaded->json, "nodes") == NULL)
        add_fact(html, "host", jr_json_get_str(html->run, "host"));
    jr_buf_str(html->out, "</dl>\n");
}

void jr_html_page_head(struct jr_buf *out, const char *title, const char *status)
{
    jr_buf_str(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
                    "<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                    "<meta name=\"color-scheme\" content=\"light dark\">\n"
                    "<meta name=\"generator\" content=\"jobrun\">\n<title>");
    jr_html_text(out, title);
    jr_buf_printf(out, ": %s</title>\n<style>\n%s%s</style>\n</head>\n", status, JR_SHEET_PAGE,
                  JR_SHEET_MARKS);
}

static void add_head(const struct jr_html_page *html)
{
    const char *name = html->loaded->plan.name;
    const char *status = jr_run_status_word(html->loaded->report.status);
    JR_BUF_CLEANUP struct jr_buf verdict = JR_BUF_INIT;
    struct jr_page page = jr_page_of(html->loaded, html->fd, &verdict);
    jr_print_headline(&page);
    jr_html_page_head(html->out, name, status);
    jr_buf_str(html->out, "<body>\n<header>\n<p class=\"kind\">jobrun report</p>\n<h1>");
    jr_html_text(html->out, name == NULL ? "run" : name);
    jr_buf_printf(html->out, "</h1>\n<p class=\"verdict %s\">", status);
    jr_html_escape(html->out, verdict.data, verdict.len);
    jr_buf_str(html->out, "</p>\n");
    add_facts(html);
    jr_buf_str(html->out, "</header>\n");
}

/* What jobrun said at the end, in the same words. */
static void add_account(const struct jr_html_page *html)
{
    bool good = html->loaded->report.status == JR_RUN_SUCCEEDED;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_page page = jr_page_of(html->loaded, html->fd, &text);
    jr_print_account(&page);
    jr_html_page_open(html, "cause", good ? "Outcome" : "Cause");
    jr_buf_str(html->out, "<pre tabindex=\"0\">");
    jr_html_escape(html->out, text.data, text.len);
    jr_buf_str(html->out, "</pre>\n");
    if (html->loaded->report.causes_count > 0) {
        size_t i = html->loaded->report.causes[0];
        const struct jr_plan_rank *rank = &html->loaded->plan.ranks[html->loaded->plan.first + i];
        const char *log = jr_print_log(&page, rank);
        if (log != NULL && *log != '/') {
            jr_buf_str(html->out, "<p>");
            jr_html_link(html->out, html->base, log, log);
            jr_buf_str(html->out, "</p>\n");
        }
    }
    jr_html_page_close(html);
}

static void add_place_number(const struct jr_html_page *html, const json_t *number)
{
    if (json_is_integer(number))
        jr_buf_printf(html->out, ":%lld", (long long)json_integer_value(number));
}

/* "train.yaml:3:12", "--set:7", or where else the value is from. */
static void add_source(const struct jr_html_page *html, const json_t *row)
{
    const char *file = jr_json_get_str(row, "file");
    const char *detail = jr_json_get_str(row, "detail");
    jr_buf_str(html->out, "<td>");
    jr_html_text(html->out, file != NULL ? file : jr_json_get_str(row, "origin"));
    add_place_number(html, json_object_get(row, "line"));
    add_place_number(html, json_object_get(row, "column"));
    if (detail != NULL)
        jr_buf_str(html->out, ": ");
    jr_html_text(html->out, detail);
    jr_buf_str(html->out, "</td>");
}

/* Where each value came from. */
static void add_origin(const struct jr_html_page *html)
{
    const json_t *rows = json_object_get(html->explain, "fields");
    if (json_array_size(rows) == 0)
        return;
    jr_html_page_open(html, "origin", "Where each value came from");
    jr_buf_str(html->out, "<div class=\"wide\"><table>\n<caption>The spec as it was "
                          "resolved</caption>\n<thead><tr><th scope=\"col\">field</th>"
                          "<th scope=\"col\">value</th><th scope=\"col\">from</th>"
                          "<th scope=\"col\">rule</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        jr_html_put(html->out, "<tr><th scope=\"row\">", jr_json_get_str(row, "field"), "</th>");
        jr_html_page_cell(html, jr_json_get_str(row, "value"));
        add_source(html, row);
        jr_html_page_cell(html, jr_json_get_str(row, "rule"));
        jr_buf_str(html->out, "</tr>\n");
    }
    jr_buf_str(html->out, "</tbody>\n</table></div>\n");
    jr_html_page_close(html);
}

static void add_origin_row(const struct jr_html_page *html, const char *name, const char *text)
{
    if (text == NULL)
        return;
    jr_buf_printf(html->out, "<tr><th scope=\"row\">%s</th>", name);
    jr_html_page_cell(html, text);
    jr_buf_str(html->out, "</tr>\n");
}

static void add_key(const struct jr_html_page *html, const char *name, const char *key)
{
    add_origin_row(html, name, jr_json_get_str(html->run, key));
}

/* What ran, where and with what. */
static void add_place(const struct jr_html_page *html)
{
    JR_BUF_CLEANUP struct jr_buf command = JR_BUF_INIT, commit = JR_BUF_INIT, code = JR_BUF_INIT;
    const json_t *argv = json_object_get(html->run, "argv");
    const json_t *git = json_object_get(html->run, "git");
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_record_code recorded;
    if (html->run == NULL)
        return;
    for (size_t i = 0; i < json_array_size(argv); i++) {
        const char *word = json_string_value(json_array_get(argv, i));
        jr_buf_printf(&command, "%s%s", i == 0 ? "" : " ", word == NULL ? "" : word);
    }
    if (jr_json_get_str(git, "commit") != NULL)
        jr_buf_printf(&commit, "%s%s", jr_json_get_str(git, "commit"),
                      jr_json_get_bool(git, "dirty") ? ", with changes that were not committed"
                                                     : "");
    if (jr_record_code_read(&recorded, &arena, html->run))
        jr_record_code_print(&code, &recorded);
    jr_arena_release(&arena);
    jr_html_page_open(html, "place", "Environment");
    jr_buf_str(html->out, "<div class=\"wide\"><table>\n<caption>What ran, "
                          "where and with what</caption>\n<tbody>\n");
    add_origin_row(html, "command", command.data);
    add_key(html, "spec", "spec");
    add_key(html, "repeats", "rerun_of");
    add_key(html, "folder", "cwd");
    add_origin_row(html, "git commit", commit.data);
    add_origin_row(html, "code", code.data);
    add_key(html, "fingerprint", "fingerprint");
    add_key(html, "host", "host");
    add_key(html, "user", "user");
    add_key(html, "system", "os");
    add_key(html, "kernel", "kernel");
    add_key(html, "architecture", "arch");
    add_key(html, "jobrun", "version");
    jr_buf_str(html->out, "</tbody>\n</table></div>\n");
    jr_html_page_close(html);
}

static void add_files(const struct jr_html_page *html)
{
    jr_html_page_open(html, "files", "Files");
    jr_buf_str(html->out, "<ul>\n");
    for (size_t i = 0; i < JR_RUN_FILE_COUNT; i++) {
        const struct jr_run_file *file = &jr_run_files[i];
        if (file->title == NULL || jr_access(html->fd, file->name, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        jr_buf_str(html->out, "<li>");
        jr_html_link(html->out, html->base, file->name, file->name);
        jr_buf_printf(html->out, ": %s</li>\n", file->title);
    }
    size_t i = 0; /* the folders of a run in parts */
    const json_t *node = NULL;
    json_array_foreach(json_object_get(html->loaded->json, "nodes"), i, node) {
        const char *part = jr_json_get_str(node, "part");
        if (part == NULL)
            continue;
        jr_buf_str(html->out, "<li>");
        jr_html_link(html->out, html->base, part, part);
        jr_html_put(html->out, ": the part of this node's jobrun, on ",
                    jr_json_get_str(node, "host"), "</li>\n");
    }
    jr_buf_str(html->out, "</ul>\n");
    jr_html_page_close(html);
}

static void add_document(const struct jr_html_page *html)
{
    add_head(html);
    jr_buf_str(html->out, "<main>\n");
    add_account(html);
    jr_html_page_hang(html);
    jr_html_page_time(html);
    jr_html_page_curves(html);
    jr_html_page_results(html);
    jr_html_page_mesh(html);
    jr_html_page_ranks(html);
    jr_html_page_usage(html);
    add_origin(html);
    add_place(html);
    add_files(html);
    jr_buf_str(html->out, "</main>\n</body>\n</html>\n");
}

int jr_record_report(struct jr_buf *out, const char *log_dir, const char *id,
                     const struct jr_record_report_view *look, struct jr_error *err)
{
    JR_CLOSE int fd = jr_record_folder_open(log_dir, id, err);
    struct jr_loaded_run loaded;
    const char *name = look->name == NULL ? id : look->name;
    json_t *head = fd < 0 ? NULL : jr_record_folder_head(fd, "results.json");
    if (fd < 0)
        return -1;
    JR_BUF_CLEANUP struct jr_buf typed = JR_BUF_INIT;
    jr_record_words(&typed, log_dir, id);
    if (head == NULL && jr_access(fd, "results.json", F_OK, AT_SYMLINK_NOFOLLOW) != 0)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "%s has no results (jobrun show %s shows its state)", name,
                            strcmp(name, id) != 0 || typed.failed ? name : typed.data);
    json_decref(head);
    if (jr_loaded_run_load(&loaded, fd, "results.json", log_dir, id, err) != 0)
        return -1;
    json_t *run = jr_record_folder_json(fd, "run.json", NULL);
    json_t *explain = jr_record_folder_json(fd, "explain.json", NULL);
    struct jr_html_page html = {.out = out,
                                .loaded = &loaded,
                                .run = run,
                                .explain = explain,
                                .fd = fd,
                                .base = look->base};
    if (look->html) {
        if (json_object_get(loaded.json, "nodes") != NULL)
            jr_multinode_timeline(&html.timeline, fd);
        else
            jr_timeline_read(&html.timeline, fd);
        add_document(&html);
        out->failed |= html.timeline.arena.failed;
        jr_timeline_release(&html.timeline);
    } else {
        struct jr_page page = jr_page_of(&loaded, fd, out);
        page.color = look->color;
        jr_print_page(&page);
    }
    json_decref(explain);
    json_decref(run);
    jr_loaded_run_release(&loaded);
    return out->failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory") : 0;
}
