#include "report/page.h"

#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "judge/words.h"
#include "record/merge_nodes.h"
#include "record/record_folder.h"
#include "report/failure_text.h"
#include "report/summary.h"
#include "report/verdict_text.h"
#include "sheets.h"

#include "base/banned.h"

void jr_html_page_cell(const struct jr_html_page *web, const char *text)
{
    jr_buf_str(web->out, "<td>");
    jr_html_text(web->out, text);
    jr_buf_str(web->out, "</td>");
}

void jr_html_page_seconds(const struct jr_html_page *web, uint64_t ns)
{
    jr_buf_str(web->out, "<td class=\"n\">");
    if (ns > 0)
        jr_clock_human(web->out, ns);
    jr_buf_str(web->out, "</td>");
}

void jr_html_page_bytes(const struct jr_html_page *web, uint64_t bytes)
{
    jr_buf_str(web->out, "<td class=\"n\">");
    if (bytes > 0)
        jr_buf_printf(web->out, "%.1f MiB", (double)bytes / (1 << 20));
    jr_buf_str(web->out, "</td>");
}

void jr_html_page_open(const struct jr_html_page *web, const char *id,
                       const char *title)
{
    jr_buf_printf(web->out,
                  "<section id=\"%s\" aria-labelledby=\"%s-title\">\n"
                  "<h2 id=\"%s-title\">%s</h2>\n",
                  id, id, id, title);
}

void jr_html_page_close(const struct jr_html_page *web)
{
    jr_buf_str(web->out, "</section>\n");
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
    };
    return words[state];
}

static struct jr_page make_page(const struct jr_html_page *web,
                                struct jr_buf *out)
{
    const struct jr_loaded_run *past = web->past;
    return (struct jr_page){
        .out = out,
        .report = &past->report,
        .plan = &past->plan,
        .outcome = &past->outcome,
        .run_fd = web->fd,
        .run = past->id,
        .nodes = json_object_get(past->json, "nodes"),
    };
}

/* One of the facts below the title. */
static void add_fact(const struct jr_html_page *web, const char *name,
                     const char *text)
{
    if (text == NULL || *text == '\0')
        return;
    jr_buf_printf(web->out, "<div><dt>%s</dt><dd>", name);
    jr_html_text(web->out, text);
    jr_buf_str(web->out, "</dd></div>\n");
}

static void add_world_shape(struct jr_buf *out, const struct jr_plan *plan)
{
    jr_buf_printf(out, "%u", plan->world_size);
    const char *before = " = ";
    for (int axis = JR_AXIS_COUNT - 1; axis >= 0; axis--) {
        if (plan->axis_size[axis] < 2)
            continue;
        jr_buf_printf(out, "%s%s %u", before, jr_words_axis(axis),
                      plan->axis_size[axis]);
        before = " × ";
    }
    jr_buf_printf(out, " on %u node%s", plan->nodes,
                  plan->nodes == 1 ? "" : "s");
}

static void add_facts(const struct jr_html_page *web)
{
    const struct jr_outcome *run = &web->past->outcome;
    const struct jr_plan *plan = &web->past->plan;
    JR_BUF_CLEANUP struct jr_buf took = JR_BUF_INIT, shape = JR_BUF_INIT;
    char started[32], code[16];
    jr_clock_rfc3339(started, run->started_wall_ns);
    jr_clock_human(&took, run->ended_ns);
    add_world_shape(&shape, plan);
    (void)snprintf(code, sizeof code, "%d", web->past->report.exit_code);
    jr_buf_str(web->out, "<dl class=\"facts\">\n");
    add_fact(web, "run", plan->run_id);
    add_fact(web, "exit status", code);
    add_fact(web, "ranks", shape.data);
    add_fact(web, "began", started);
    add_fact(web, "took", took.data);
    if (json_object_get(web->past->json, "nodes") == NULL)
        add_fact(web, "host", jr_json_get_str(web->run, "host"));
    jr_buf_str(web->out, "</dl>\n");
}

static void add_head(const struct jr_html_page *web)
{
    const char *name = web->past->plan.name;
    const char *status = jr_run_status_word(web->past->report.status);
    JR_BUF_CLEANUP struct jr_buf verdict = JR_BUF_INIT;
    struct jr_page page = make_page(web, &verdict);
    jr_print_headline(&page);
    jr_buf_str(web->out,
               "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
               "<meta charset=\"utf-8\">\n"
               "<meta name=\"viewport\" content=\"width=device-width, "
               "initial-scale=1\">\n"
               "<meta name=\"color-scheme\" content=\"light dark\">\n"
               "<meta name=\"generator\" content=\"jobrun\">\n<title>");
    jr_html_text(web->out, name);
    jr_buf_printf(web->out, ": %s</title>\n<style>\n%s%s</style>\n</head>\n",
                  status, JR_SHEET_PAGE, JR_SHEET_MARKS);
    jr_buf_str(web->out, "<body>\n<header>\n<p class=\"kind\">jobrun report"
                         "</p>\n<h1>");
    jr_html_text(web->out, name == NULL ? "run" : name);
    jr_buf_printf(web->out, "</h1>\n<p class=\"verdict %s\">", status);
    jr_html_escape(web->out, verdict.data, verdict.len);
    jr_buf_str(web->out, "</p>\n");
    add_facts(web);
    jr_buf_str(web->out, "</header>\n");
}

/* What jobrun said at the end, in the same words. */
static void add_account(const struct jr_html_page *web)
{
    bool good = web->past->report.status == JR_RUN_SUCCEEDED;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_page page = make_page(web, &text);
    jr_print_account(&page);
    jr_html_page_open(web, "cause", good ? "Outcome" : "Cause");
    jr_buf_str(web->out, "<pre tabindex=\"0\">");
    jr_html_escape(web->out, text.data, text.len);
    jr_buf_str(web->out, "</pre>\n");
    if (web->past->report.causes_count > 0) {
        size_t i = web->past->report.causes[0];
        const struct jr_plan_rank *rank =
            &web->past->plan.ranks[web->past->plan.first + i];
        const char *log = jr_print_log(&page, rank);
        if (log != NULL && *log != '/') {
            jr_buf_str(web->out, "<p>");
            jr_html_link(web->out, web->base, log, log);
            jr_buf_str(web->out, "</p>\n");
        }
    }
    jr_html_page_close(web);
}

static void add_document(const struct jr_html_page *web)
{
    add_head(web);
    jr_buf_str(web->out, "<main>\n");
    add_account(web);
    jr_html_page_hang(web);
    jr_html_page_time(web);
    jr_html_page_results(web);
    jr_html_page_mesh(web);
    jr_html_page_ranks(web);
    jr_html_page_usage(web);
    jr_html_page_origin(web);
    jr_html_page_place(web);
    jr_html_page_files(web);
    jr_buf_str(web->out, "</main>\n</body>\n</html>\n");
}

static int load_web_results(struct jr_loaded_run *past, int fd,
                            const char *log_dir, const char *id,
                            struct jr_error *err)
{
    json_t *head = jr_record_folder_head(fd, "results.json");
    bool there = head != NULL ||
                 faccessat(fd, "results.json", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    json_decref(head);
    if (!there)
        return jr_error_set(
            err, JR_STATUS_LAUNCH,
            "%s has no results (jobrun show %s shows its state)", id, id);
    return jr_loaded_run_load(past, fd, "results.json", log_dir, id, err);
}

int jr_record_report(struct jr_buf *out, const char *log_dir, const char *id,
                     const struct jr_record_look *look, struct jr_error *err)
{
    JR_CLOSE int fd = jr_record_folder_open(log_dir, id, err);
    struct jr_loaded_run past;
    if (fd < 0 || load_web_results(&past, fd, log_dir, id, err) != 0)
        return -1;
    json_t *run = jr_record_folder_json(fd, "run.json", NULL);
    json_t *explain = jr_record_folder_json(fd, "explain.json", NULL);
    struct jr_html_page web = {.out = out,
                               .past = &past,
                               .run = run,
                               .explain = explain,
                               .fd = fd,
                               .base = look->base};
    if (look->html) {
        if (json_object_get(past.json, "nodes") != NULL)
            jr_multinode_timeline(&web.timeline, fd);
        else
            jr_timeline_read(&web.timeline, fd);
        add_document(&web);
        out->failed |= web.timeline.arena.failed;
        jr_timeline_release(&web.timeline);
    } else {
        struct jr_page page = make_page(&web, out);
        page.color = look->color;
        jr_print_page(&page);
    }
    json_decref(explain);
    json_decref(run);
    jr_loaded_run_release(&past);
    return out->failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory")
                       : 0;
}
