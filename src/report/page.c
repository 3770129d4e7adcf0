#include "report/page.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/syscalls.h"
#include "generated/sheets.h"
#include "judge/words.h"
#include "record/multinode.h"
#include "record/record_code.h"
#include "record/record_folder.h"
#include "report/failure_text.h"
#include "report/page_curves.h"
#include "report/page_ranks.h"
#include "report/page_result.h"
#include "report/page_time.h"
#include "report/show.h"
#include "report/summary.h"
#include "report/verdict_text.h"

#include "base/banned.h"

void jr_html_page_cell(const struct jr_html_page *html, const char *text)
{
    jr_buf_str(html->out, "<td>");
    jr_html_text(html->out, text);
    jr_buf_str(html->out, "</td>");
}

void jr_html_page_seconds(const struct jr_html_page *html, uint64_t ns)
{
    jr_buf_str(html->out, "<td class=\"n\">");
    if (ns > 0)
        jr_clock_human(html->out, ns);
    jr_buf_str(html->out, "</td>");
}

void jr_html_page_bytes(const struct jr_html_page *html, uint64_t bytes)
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

static struct jr_page make_page(const struct jr_html_page *html, struct jr_buf *out)
{
    const struct jr_loaded_run *loaded = html->loaded;
    return (struct jr_page){
        .out = out,
        .report = &loaded->report,
        .plan = &loaded->plan,
        .outcome = &loaded->outcome,
        .run_fd = html->fd,
        .run = loaded->id,
        .nodes = json_object_get(loaded->json, "nodes"),
    };
}

/* One of the facts below the title. */
static void add_fact(const struct jr_html_page *html, const char *name, const char *text)
{
    if (text == NULL || *text == '\0')
        return;
    jr_buf_printf(html->out, "<div><dt>%s</dt><dd>", name);
    jr_html_text(html->out, text);
    jr_buf_str(html->out, "</dd></div>\n");
}

static void add_world_shape(struct jr_buf *out, const struct jr_plan *plan)
{
    jr_buf_printf(out, "%u", plan->world_size);
    const char *before = " = ";
    for (int axis = JR_AXIS_COUNT - 1; axis >= 0; axis--) {
        if (plan->axis_size[axis] < 2)
            continue;
        jr_buf_printf(out, "%s%s %u", before, jr_words_axis(axis), plan->axis_size[axis]);
        before = " × ";
    }
    jr_buf_printf(out, " on %u node%s", plan->nodes, plan->nodes == 1 ? "" : "s");
}

static void add_facts(const struct jr_html_page *html)
{
    const struct jr_outcome *run = &html->loaded->outcome;
    const struct jr_plan *plan = &html->loaded->plan;
    JR_BUF_CLEANUP struct jr_buf took = JR_BUF_INIT, shape = JR_BUF_INIT;
    char started[32], code[16];
    jr_clock_rfc3339(started, run->started_wall_ns);
    jr_clock_human(&took, run->ended_ns);
    add_world_shape(&shape, plan);
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
    struct jr_page page = make_page(html, &verdict);
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
    struct jr_page page = make_page(html, &text);
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
        jr_buf_str(html->out, "<tr><th scope=\"row\">");
        jr_html_text(html->out, jr_json_get_str(row, "field"));
        jr_buf_str(html->out, "</th>");
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

static void add_commit_row(const struct jr_html_page *html)
{
    const json_t *git = json_object_get(html->run, "git");
    const char *commit = jr_json_get_str(git, "commit");
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (commit == NULL)
        return;
    jr_buf_str(&text, commit);
    if (jr_json_get_bool(git, "dirty"))
        jr_buf_str(&text, ", with changes that were not committed");
    add_origin_row(html, "git commit", text.data);
}

static void add_code_row(const struct jr_html_page *html)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_record_code code;
    if (jr_record_code_read(&code, &arena, html->run)) {
        jr_record_code_print(&text, &code);
        add_origin_row(html, "code", text.data);
    }
    jr_arena_release(&arena);
}

static void add_command_row(const struct jr_html_page *html)
{
    const json_t *argv = json_object_get(html->run, "argv");
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    for (size_t i = 0; i < json_array_size(argv); i++) {
        const char *word = json_string_value(json_array_get(argv, i));
        jr_buf_printf(&text, "%s%s", i == 0 ? "" : " ", word == NULL ? "" : word);
    }
    add_origin_row(html, "command", text.data);
}

/* What ran, where and with what. */
static void add_place(const struct jr_html_page *html)
{
    if (html->run == NULL)
        return;
    jr_html_page_open(html, "place", "Environment");
    jr_buf_str(html->out, "<div class=\"wide\"><table>\n<caption>What ran, "
                          "where and with what</caption>\n<tbody>\n");
    add_command_row(html);
    add_key(html, "spec", "spec");
    add_key(html, "repeats", "rerun_of");
    add_key(html, "folder", "cwd");
    add_commit_row(html);
    add_code_row(html);
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

/* The folders of a run in parts. */
static void add_part_links(const struct jr_html_page *html)
{
    size_t i = 0;
    const json_t *node = NULL;
    json_array_foreach(json_object_get(html->loaded->json, "nodes"), i, node) {
        const char *part = jr_json_get_str(node, "part");
        if (part == NULL)
            continue;
        jr_buf_str(html->out, "<li>");
        jr_html_link(html->out, html->base, part, part);
        jr_buf_str(html->out, ": the part of this node's jobrun, on ");
        jr_html_text(html->out, jr_json_get_str(node, "host"));
        jr_buf_str(html->out, "</li>\n");
    }
}

static void add_files(const struct jr_html_page *html)
{
    static const struct {
        const char *name, *text;
    } files[] = {
        {"spec.yaml", "the spec as it was read"},
        {"resolved.yaml", "the spec as it was run"},
        {"explain.json", "where each of its values came from"},
        {"plan.json", "what jobrun planned to start, with the environment of each rank"},
        {"events.jsonl", "the events of the run, one per line"},
        {"results.json", "the outcome and the result of each rank"},
        {"metrics.jsonl", "the steps and metrics, one line per point"},
        {"run.json", "the record of the run"},
        {"console.log", "the console output of a detached run"},
        {"on_end.log", "the output of on_end"},
    };
    jr_html_page_open(html, "files", "Files");
    jr_buf_str(html->out, "<ul>\n");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (jr_access(html->fd, files[i].name, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        jr_buf_str(html->out, "<li>");
        jr_html_link(html->out, html->base, files[i].name, files[i].name);
        jr_buf_printf(html->out, ": %s</li>\n", files[i].text);
    }
    add_part_links(html);
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

static int load_page_results(struct jr_loaded_run *loaded, int fd, const char *log_dir,
                             const char *id, const char *name, struct jr_error *err)
{
    json_t *head = jr_record_folder_head(fd, "results.json");
    bool there = head != NULL || jr_access(fd, "results.json", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    json_decref(head);
    if (!there)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "%s has no results (jobrun show %s shows its state)", name, name);
    return jr_loaded_run_load(loaded, fd, "results.json", log_dir, id, err);
}

int jr_record_report(struct jr_buf *out, const char *log_dir, const char *id,
                     const struct jr_record_report_view *look, struct jr_error *err)
{
    JR_CLOSE int fd = jr_record_folder_open(log_dir, id, err);
    struct jr_loaded_run loaded;
    const char *name = look->name == NULL ? id : look->name;
    if (fd < 0 || load_page_results(&loaded, fd, log_dir, id, name, err) != 0)
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
        struct jr_page page = make_page(&html, out);
        page.color = look->color;
        jr_print_page(&page);
    }
    json_decref(explain);
    json_decref(run);
    jr_loaded_run_release(&loaded);
    return out->failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory") : 0;
}
