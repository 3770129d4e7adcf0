#include "report/summary.h"

#include <string.h>

#include "judge/judge.h"
#include "judge/words.h"

#include "base/banned.h"

enum { COMMAND_COLUMN = 62 }; /* where the command begins, if there is room */

/* The rank whose log is looked at first: the first cause, or who differs. */
static const uint32_t *find_suspect_rank(const struct jr_page *page)
{
    if (page->report->causes_count > 0)
        return page->report->causes;
    return page->report->odd_count > 0 ? page->report->odd : NULL;
}

/* Its log; NULL where there is no such rank, or nothing in it. */
static const char *find_suspect_log(const struct jr_page *page,
                                    const uint32_t *suspect)
{
    if (suspect == NULL || page->outcome->ranks[*suspect].end == JR_END_START)
        return NULL;
    return jr_print_log(page, jr_plan_of(page->plan, *suspect));
}

/* The rank whose logs are worth a look where no cause has any: the first that
 * did not deliver, else the first that ran. NULL: nobody's. */
static const struct jr_plan_rank *worth_a_look(const struct jr_page *page)
{
    const struct jr_plan_rank *found = NULL;
    for (size_t i = page->report->count; i-- > 0;) {
        const struct jr_plan_rank *rank = jr_plan_of(page->plan, i);
        bool captured = rank->out_path != NULL || rank->err_path != NULL;
        bool missed = page->report->ranks[i].state == JR_RANK_INCOMPLETE;
        if (captured && page->outcome->ranks[i].pid != 0 &&
            (missed || page->report->status != JR_RUN_INCOMPLETE))
            found = rank;
    }
    return found;
}

/* "(jobrun show latest)" */
static void offer_command(const struct jr_page *page, const char *verb)
{
    jr_buf_printf(page->out, "(jobrun %s %s", verb, page->run);
    if (page->attempt != NULL)
        jr_buf_printf(page->out, " --attempt %u", *page->attempt);
    jr_words_log_dir(page->out, page->plan->run_dir);
}

/* What to do next where no log is to be named: of what went wrong, the lines
 * above are all that `show` has. */
static void offer_more_commands(const struct jr_page *page)
{
    bool good = page->report->status == JR_RUN_SUCCEEDED;
    const struct jr_plan_rank *rank = good ? NULL : worth_a_look(page);
    offer_command(page, rank == NULL ? "show" : "logs");
    if (rank != NULL && page->report->status == JR_RUN_INCOMPLETE)
        jr_buf_printf(page->out, " --rank %u", rank->rank);
    jr_buf_str(page->out, ")\n");
}

void jr_print_place(const struct jr_page *page)
{
    const uint32_t *suspect = find_suspect_rank(page);
    const char *log = find_suspect_log(page, suspect);
    bool good = page->report->status == JR_RUN_SUCCEEDED;
    jr_buf_str(page->out, good ? "        " : "  ");
    size_t start = page->out->len;
    jr_print_text(page, page->plan->own_dir);
    if (log == NULL) {
        jr_buf_str(page->out, "   ");
        offer_more_commands(page);
        return;
    }
    jr_buf_char(page->out, '/');
    jr_print_text(page, log);
    size_t width = page->out->len - start;
    jr_buf_fill(page->out, ' ',
                width + 3 < COMMAND_COLUMN ? COMMAND_COLUMN - width : 3);
    offer_command(page, "logs");
    jr_buf_printf(page->out, " --rank %u)\n",
                  jr_plan_of(page->plan, *suspect)->rank);
}
