#include "report/page.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "judge/thread_state.h"
#include "record/record_folder.h"

#include "base/banned.h"

enum { MOST_STACKS = 64 }; /* ranks whose threads are listed */

static json_t *load_web_evidence(const struct jr_html_page *web, uint32_t i)
{
    const struct jr_plan *plan = &web->past->plan;
    const char *dir = plan->ranks[plan->first + i].dir;
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
    jr_buf_printf(&path, "%s/hang.json", dir == NULL ? "." : dir);
    return path.failed ? NULL : jr_record_folder_json(web->fd, path.data, NULL);
}

static void add_evidence_row(const struct jr_html_page *web, uint32_t rank,
                             const json_t *evidence)
{
    JR_BUF_CLEANUP struct jr_buf doing = JR_BUF_INIT;
    double silence = jr_thread_state_silence(evidence);
    jr_thread_state_words(&doing, evidence);
    jr_buf_printf(web->out, "<tr><th scope=\"row\">%u</th>", rank);
    jr_html_page_cell(web, doing.data);
    jr_html_page_seconds(web, jr_clock_ns_of(silence));
    jr_buf_printf(web->out, "<td class=\"n\">%.2f s in %.2f s</td></tr>\n",
                  jr_json_get_real(evidence, "cpu_seconds"),
                  jr_json_get_real(evidence, "interval_seconds"));
}

/* The rows of all ranks that left evidence, and their threads to `stacks`. */
static uint32_t add_evidence_rows(const struct jr_html_page *web,
                                  struct jr_buf *stacks)
{
    const struct jr_plan *plan = &web->past->plan;
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->count; i++) {
        json_t *evidence = load_web_evidence(web, i);
        if (evidence == NULL)
            continue;
        if (count == 0)
            jr_buf_str(web->out,
                       "<div class=\"wide\"><table>\n<caption>What each rank "
                       "was doing before it was stopped</caption>\n<thead><tr>"
                       "<th scope=\"col\">rank</th><th scope=\"col\">doing</th>"
                       "<th scope=\"col\">silent for</th>"
                       "<th scope=\"col\">CPU used</th></tr></thead>\n"
                       "<tbody>\n");
        add_evidence_row(web, plan->ranks[plan->first + i].rank, evidence);
        if (count++ < MOST_STACKS)
            jr_thread_state_stacks(stacks, evidence);
        json_decref(evidence);
    }
    return count;
}

void jr_html_page_hang(const struct jr_html_page *web)
{
    JR_BUF_CLEANUP struct jr_buf stacks = JR_BUF_INIT;
    if (web->past->report.status != JR_RUN_HUNG)
        return;
    jr_html_page_open(web, "hang", "What the ranks were doing");
    uint32_t count = add_evidence_rows(web, &stacks);
    if (count == 0) {
        jr_buf_str(web->out, "<p>No rank left evidence.</p>\n");
    } else {
        jr_buf_printf(web->out,
                      "</tbody>\n</table></div>\n<details><summary>Threads of "
                      "%s ranks</summary>\n<pre tabindex=\"0\">",
                      count > MOST_STACKS ? "the first of the" : "all");
        jr_html_escape(web->out, stacks.data, stacks.len);
        jr_buf_str(web->out, "</pre>\n</details>\n");
    }
    web->out->failed |= stacks.failed;
    jr_html_page_close(web);
}
