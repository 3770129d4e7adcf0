#include "report/page_ranks.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/syscalls.h"
#include "judge/hang_report.h"
#include "judge/words.h"
#include "record/record_folder.h"
#include "store/outcome.h"
#include "store/progress.h"

#include "base/banned.h"

enum {
    MOST_OPEN = 32, /* ranks that are shown without being asked for */
    MOST_PLACES = 128,
    MOST_LISTED = 50 /* of those that went wrong, where there are more */
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

/* One axis: the place says nothing, the number of a rank is its place. */
static void add_rank_cells(const struct jr_html_page *html)
{
    jr_buf_str(html->out, "<ul class=\"cells\">");
    for (uint32_t i = 0; i < html->loaded->plan.count; i++)
        add_square(html, i, "li");
    jr_buf_str(html->out, "</ul>\n");
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
    if (plan->axis_size[JR_AXIS_MODEL] > 1 || plan->axis_size[JR_AXIS_PIPELINE] > 1)
        add_grid(html);
    else
        add_rank_cells(html);
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

static int64_t find_furthest_step(const struct jr_html_page *html)
{
    const struct jr_progress *progress = html->loaded->outcome.progress;
    int64_t furthest = 0;
    for (uint32_t i = 0; i < html->loaded->plan.count; i++)
        if (progress->ranks[i].any && progress->ranks[i].step > furthest)
            furthest = progress->ranks[i].step;
    return furthest;
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
    jr_html_page_bytes(html, end->max_rss_bytes);
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
    int64_t furthest = has_rank_steps(html) ? find_furthest_step(html) : 0;
    uint32_t listed = 0;
    for (uint32_t i = 0; i < loaded->plan.count; i++)
        if (all || (has_rank_failed(loaded->report.ranks[i].state) && listed++ < MOST_LISTED))
            add_rank_table_row(html, i, furthest);
    jr_buf_str(html->out, "</tbody>\n</table></div>\n");
}

static uint32_t count_wrong_ranks(const struct jr_loaded_run *loaded)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < loaded->plan.count; i++)
        count += has_rank_failed(loaded->report.ranks[i].state);
    return count;
}

void jr_html_page_ranks(const struct jr_html_page *html)
{
    const struct jr_loaded_run *loaded = html->loaded;
    uint32_t wrong = count_wrong_ranks(loaded);
    if (loaded->plan.count == 0)
        return;
    jr_html_page_open(html, "ranks", "Ranks");
    if (loaded->plan.count <= MOST_OPEN) {
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

enum { MOST_STACKS = 64 }; /* ranks whose threads are listed */

static json_t *load_page_evidence(const struct jr_html_page *html, uint32_t i)
{
    const struct jr_plan *plan = &html->loaded->plan;
    const char *dir = plan->ranks[plan->first + i].dir;
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
    jr_buf_printf(&path, "%s/hang.json", dir == NULL ? "." : dir);
    return path.failed ? NULL : jr_record_folder_json(html->fd, path.data, NULL);
}

static void add_evidence_row(const struct jr_html_page *html, uint32_t rank, const json_t *evidence)
{
    JR_BUF_CLEANUP struct jr_buf activity = JR_BUF_INIT;
    double silence = jr_thread_state_silence(evidence);
    jr_thread_state_words(&activity, evidence);
    jr_buf_printf(html->out, "<tr><th scope=\"row\">%u</th>", rank);
    jr_html_page_cell(html, activity.data);
    jr_html_page_seconds(html, jr_clock_ns_of(silence));
    jr_buf_printf(html->out, "<td class=\"n\">%.2f s in %.2f s</td></tr>\n",
                  jr_json_get_real(evidence, "cpu_seconds"),
                  jr_json_get_real(evidence, "interval_seconds"));
}

/* The rows of all ranks that left evidence, and their threads to `stacks`. */
static uint32_t add_evidence_rows(const struct jr_html_page *html, struct jr_buf *stacks)
{
    const struct jr_plan *plan = &html->loaded->plan;
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->count; i++) {
        json_t *evidence = load_page_evidence(html, i);
        if (evidence == NULL)
            continue;
        if (count == 0)
            jr_buf_str(html->out, "<div class=\"wide\"><table>\n<caption>What each rank "
                                  "was doing before it was stopped</caption>\n<thead><tr>"
                                  "<th scope=\"col\">rank</th><th scope=\"col\">doing</th>"
                                  "<th scope=\"col\">silent for</th>"
                                  "<th scope=\"col\">CPU used</th></tr></thead>\n"
                                  "<tbody>\n");
        add_evidence_row(html, plan->ranks[plan->first + i].rank, evidence);
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
