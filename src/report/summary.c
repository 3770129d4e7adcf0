#include "report/summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/num.h"
#include "judge/hang_report.h"
#include "judge/judge.h"
#include "judge/restart.h"
#include "judge/words.h"
#include "record/multinode.h"
#include "report/failure_text.h"
#include "report/next_step.h"
#include "report/verdict_text.h"
#include "store/progress.h"

#include "base/setting_words.h"

#include "base/banned.h"

enum { MOST_REASONS = 10, MOST_ATTEMPTS = 8 };

static void print_reasons(const struct jr_page *page)
{
    const struct jr_judgement *report = page->report;
    size_t shown = 0, all = jr_print_count(page, JR_RANK_INCOMPLETE);
    for (size_t i = 0; i < report->count && shown < MOST_REASONS; i++) {
        if (report->ranks[i].state != JR_RANK_INCOMPLETE)
            continue;
        jr_buf_printf(page->out, "  rank %-4u ", jr_plan_of(page->plan, i)->rank);
        jr_print_text(page, report->ranks[i].reason);
        jr_buf_char(page->out, '\n');
        shown++;
    }
    JR_BUF_CLEANUP struct jr_buf set = JR_BUF_INIT;
    if (shown < all && jr_print_ranks(&set, page, JR_RANK_INCOMPLETE) > 0)
        jr_buf_printf(page->out, "  and %zu more; in all %s\n", all - shown, set.data);
}

static void add_errno(const struct jr_page *page, const char *what, int error)
{
    jr_buf_printf(page->out, "%s%s\n", what, strerror(error));
}

/* Which logs are incomplete, and why. */
static void print_log_errors(const struct jr_page *page)
{
    const struct jr_outcome *run = page->outcome;
    size_t count = 0, first = 0;
    for (size_t i = run->count; i-- > 0;) {
        if (run->ranks[i].log_errno == 0)
            continue;
        first = i;
        count++;
    }
    if (count == 0)
        return;
    jr_buf_printf(page->out, "  the logs of rank %u", jr_plan_of(page->plan, first)->rank);
    if (count > 1)
        jr_buf_printf(page->out, " and %zu more", count - 1);
    add_errno(page, " are incomplete: ", run->ranks[first].log_errno);
}

/* "  2 processes that rank 0 left running were ended" */
static void print_ended(const struct jr_page *page, const char *before)
{
    const struct jr_outcome *run = page->outcome;
    JR_BUF_CLEANUP struct jr_buf set = JR_BUF_INIT;
    JR_FREE uint32_t *ranks = calloc((size_t)run->count + 1, sizeof *ranks);
    uint64_t processes = 0;
    size_t count = 0;
    for (uint32_t i = 0; i < run->count && ranks != NULL; i++) {
        if (run->ranks[i].left_running == 0)
            continue;
        processes += run->ranks[i].left_running;
        ranks[count++] = jr_plan_of(page->plan, i)->rank;
    }
    if (count == 0)
        return;
    jr_words_ranks(&set, ranks, count);
    jr_buf_printf(page->out, "%s%" PRIu64 " process%s that %s left running %s ended\n", before,
                  processes, processes == 1 ? "" : "es", set.failed ? "ranks" : set.data,
                  processes == 1 ? "was" : "were");
}

/* A run that jobrun ended, with the rank that failed before that. */
static void print_earlier(const struct jr_page *page)
{
    bool stalled = page->report->stall.attempts > 0;
    if (!stalled && page->report->status != JR_RUN_STOPPED &&
        page->report->status != JR_RUN_TIMED_OUT && page->report->status != JR_RUN_HUNG)
        return;
    jr_buf_str(page->out, stalled ? "  the last:   " : "  before it:  ");
    jr_print_end(page);
    jr_buf_char(page->out, '\n');
}

/* Ranks that delivered, and did not end by themselves. */
static void print_killed_after_return(const struct jr_page *page)
{
    JR_BUF_CLEANUP struct jr_buf limit = JR_BUF_INIT;
    jr_num_add_duration(&limit, page->plan->policy->timeouts.exit_ms);
    for (size_t i = 0; i < page->report->count; i++) {
        const struct jr_rank_outcome *rank = &page->outcome->ranks[i];
        if (rank->lingered && rank->returned)
            jr_buf_printf(page->out,
                          "  warning: rank %u delivered, but did not end "
                          "within %s (timeouts.exit), and was killed: does it "
                          "have threads that are not daemons?\n",
                          jr_plan_of(page->plan, i)->rank, limit.data);
    }
}

/* Ranks of a program that needs MPI, none of which initialized it. */
static void print_uninitialized(const struct jr_page *page)
{
    size_t count = page->report->count;
    if (page->report->status != JR_RUN_SUCCEEDED || count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        if (page->outcome->ranks[i].mpi != JR_MPI_PART_ABSENT)
            return;
    jr_buf_printf(page->out,
                  "  warning: the program needs an MPI library, but no rank called MPI_Init "
                  "through jobrun: if it computed anything, it did so %zu times over. ",
                  count);
    jr_setting_words(
        page->out,
        "`" JR_SETTING("mpi", "pmi1") "` or `" JR_SETTING(
            "mpi", "pmix") "` makes this an "
                           "error; set `" JR_SETTING("mpi", "none") "` if it is intended\n",
        page->plan->no_spec);
}

/* Ranks that wanted more processes. */
static void print_spawns(const struct jr_page *page)
{
    for (size_t i = 0; i < page->report->count; i++)
        if (page->outcome->ranks[i].mpi_spawned)
            jr_buf_printf(page->out,
                          "  warning: rank %u asked MPI for more processes "
                          "(MPI_Comm_spawn), which jobrun does not start\n",
                          jr_plan_of(page->plan, i)->rank);
}

/* What log_limit left out, by the streams of all ranks. */
static void print_dropped(const struct jr_page *page)
{
    uint64_t bytes = 0;
    unsigned streams = 0;
    for (size_t i = 0; i < 2 * (size_t)page->outcome->count; i++) {
        uint64_t dropped = page->outcome->ranks[i / 2].dropped[i % 2];
        bytes += dropped;
        streams += dropped > 0;
    }
    if (streams > 0)
        jr_buf_printf(page->out,
                      "  log_limit: %" PRIu64 " bytes left out of the middle of %u log%s; the "
                      "beginning and the end are kept\n",
                      bytes, streams, streams == 1 ? "" : "s");
}

/* What results.pattern met besides its result. */
static void print_matches(const struct jr_page *page)
{
    const struct jr_judgement *report = page->report;
    size_t late = 0, limited = 0, last = 0;
    uint64_t lines = 0;
    for (size_t i = report->count; i-- > 0;) {
        lines += report->ranks[i].pattern_limits;
        limited += report->ranks[i].pattern_limits > 0;
        late += report->ranks[i].late_match;
        last = report->ranks[i].late_match ? i : last;
    }
    if (limited > 0)
        jr_buf_printf(page->out,
                      "  warning: results.pattern took too many steps for "
                      "%" PRIu64 " lines of %zu rank%s, which did not count as matches\n",
                      lines, limited, limited == 1 ? "" : "s");
    if (late > 0)
        jr_buf_printf(page->out,
                      "  warning: more that matches results.pattern came after the end of rank "
                      "%u%s, from a process that it had started: it does not count\n",
                      jr_plan_of(page->plan, last)->rank, late == 1 ? "" : " and of others");
}

/* How far the job came. */
static void print_progress(const struct jr_page *page)
{
    const struct jr_progress *progress = page->outcome->progress;
    if (progress == NULL || !progress->job.any)
        return;
    bool good = page->report->status == JR_RUN_SUCCEEDED;
    jr_buf_str(page->out, good ? "        " : "  ");
    jr_progress_words(page->out, progress, true, true);
    jr_buf_char(page->out, '\n');
}

/* What was wrong with how the job told its progress. */
static void print_step_warnings(const struct jr_page *page)
{
    const struct jr_progress *progress = page->outcome->progress;
    for (uint32_t i = 0; progress != NULL && i < progress->warnings_count; i++) {
        const struct jr_step_warning *warning = &progress->warnings[i];
        jr_buf_str(page->out, "  warning: progress: ");
        jr_print_text(page, warning->text);
        if (warning->count > 1)
            jr_buf_printf(page->out, " (%u times)", warning->count);
        jr_buf_char(page->out, '\n');
    }
}

static void print_patterns(const struct jr_page *page)
{
    print_step_warnings(page);
    if (page->outcome->pattern_limits > 0)
        jr_buf_printf(page->out,
                      "  warning: console.show or console.hide took too many steps for %u lines, "
                      "which did not count as matches; the files have all lines\n",
                      page->outcome->pattern_limits);
}

/* What hung ranks were doing. */
static void print_hang(const struct jr_page *page)
{
    enum { MOST_GROUPS = 6 };
    const struct jr_judgement *report = page->report;
    const char *label = "doing:";
    size_t left = 0;
    if (report->odd_count > 0)
        jr_print_rank(page, report->odd[0]);
    if (report->odd_silent)
        jr_buf_printf(page->out, "  it fell silent before the others\n");
    for (const struct jr_hang_group *group = report->hang; group != NULL; group = group->next) {
        if (left++ >= MOST_GROUPS)
            continue;
        jr_buf_printf(page->out, "  %-12s", label);
        jr_hang_group_text(page->out, page->plan, group);
        jr_buf_char(page->out, '\n');
        label = "";
    }
    if (left > MOST_GROUPS)
        jr_buf_printf(page->out, "              and %zu more kinds\n", left - MOST_GROUPS);
    if (report->hang != NULL)
        jr_buf_printf(page->out,
                      "  evidence:   hang.json in the ranks' folders   (jobrun show %s --stacks)\n",
                      page->run);
}

/* The machines in whose places there are spares, or that were some. */
static void print_left_out(const struct jr_page *page, const char *indent)
{
    const struct jr_judgement *report = page->report;
    size_t first =
        report->left_out_count > MOST_ATTEMPTS ? report->left_out_count - MOST_ATTEMPTS : 0;
    if (first > 0)
        jr_buf_printf(page->out, "%s%zu machines left out, of which the last %d:\n", indent,
                      report->left_out_count, MOST_ATTEMPTS);
    for (size_t i = first; i < report->left_out_count; i++) {
        jr_buf_printf(page->out, "%sleft out: ", indent);
        jr_print_text(page, report->left_out[i].host);
        jr_buf_str(page->out, ": ");
        jr_print_text(page, report->left_out[i].reason);
        jr_buf_char(page->out, '\n');
    }
}

static void print_attempt(const struct jr_page *page, const char *indent,
                          const struct jr_attempt *attempt)
{
    jr_buf_printf(page->out, "%sattempt %u   ", indent, attempt->number);
    jr_print_text(page, attempt->cause);
    jr_buf_str(page->out, ", after ");
    jr_clock_human(page->out, attempt->ended_ns - attempt->started_ns);
    jr_buf_char(page->out, '\n');
}

/* A line for each earlier attempt, whether there was progress, which failures were injected, and
 * why there was no further attempt. */
static void print_attempts(const struct jr_page *page, const char *indent)
{
    const struct jr_judgement *report = page->report;
    size_t first =
        report->earlier_count > MOST_ATTEMPTS ? report->earlier_count - MOST_ATTEMPTS : 0;
    if (first > 0)
        jr_buf_printf(page->out, "%s%zu earlier attempts, of which the last %d:\n", indent,
                      report->earlier_count, MOST_ATTEMPTS);
    for (size_t i = first; i < report->earlier_count; i++)
        print_attempt(page, indent, &report->earlier[i]);
    print_left_out(page, indent);
    if (report->idle > 1)
        jr_buf_printf(page->out,
                      "%sno progress: the last %zu attempts failed the same way, at once\n", indent,
                      report->idle);
    if (page->plan->inject != NULL) {
        jr_buf_printf(page->out, "%srehearsed with --inject '", indent);
        jr_print_text(page, page->plan->inject);
        jr_buf_str(page->out, "'\n");
    }
    if (report->requeue.queued)
        jr_buf_printf(page->out, "%squeued again: requeue %u of %u\n", indent,
                      report->requeue.done + 1, report->requeue.max);
    if (report->not_again == NULL || report->stall.attempts > 0)
        return;
    jr_buf_printf(page->out, "%snot started again: ", indent);
    jr_print_text(page, report->not_again);
    jr_buf_char(page->out, '\n');
}

static void print_body(const struct jr_page *page)
{
    bool blamed = page->report->causes_count > 0;
    if (blamed) {
        print_earlier(page);
        jr_print_cause(page);
    }
    if (page->report->overrun != NULL && page->report->stall.attempts > 0) {
        jr_buf_str(page->out, "  the last:   ");
        jr_print_text(page, page->report->overrun);
        jr_buf_char(page->out, '\n');
    }
    if (page->report->overrun != NULL)
        print_hang(page);
    if (page->report->status == JR_RUN_INCOMPLETE) {
        print_reasons(page);
        jr_print_result_step(page);
    } else {
        jr_print_early(page);
        jr_print_others(page, blamed ? "after it:" : NULL);
    }
    if (blamed)
        jr_print_next_step(page, page->report->causes[0]);
    print_progress(page);
    print_attempts(page, "  ");
    print_log_errors(page);
    if (page->outcome->console_errno != 0)
        add_errno(page, "  the console output is incomplete: ", page->outcome->console_errno);
    print_ended(page, "  ");
    jr_buf_str(page->out, "  ");
    jr_print_left(page);
    jr_buf_char(page->out, '\n');
}

void jr_print_account(const struct jr_page *page)
{
    print_killed_after_return(page);
    print_uninitialized(page);
    print_spawns(page);
    print_patterns(page);
    print_matches(page);
    print_dropped(page);
    bool good = page->report->status == JR_RUN_SUCCEEDED;
    const char *before = good ? "        " : "  ";
    if (good) {
        print_attempts(page, "        ");
        print_progress(page);
        jr_print_fields(page);
        print_ended(page, before);
    } else {
        print_body(page);
        if (page->nodes != NULL)
            jr_multinode_print(page->out, page->nodes, before);
    }
    if (page->nodes != NULL)
        jr_node_mismatch_print(page->out, page->nodes, before, page->run, page->plan->run_dir,
                               page->report->status == JR_RUN_INCOMPLETE ? page->report->error
                                                                         : NULL);
    jr_print_place(page);
}

void jr_print_page(const struct jr_page *page)
{
    jr_print_verdict(page);
    jr_print_account(page);
}

/* By which name the run is found: the newest of its folder, unless it is a cell among those of its
 * sweep. */
static const char *name_to_type(const struct jr_plan *plan)
{
    const char *slash = strrchr(plan->run_dir, '/');
    bool cell = slash != NULL && strcmp(slash + 1, plan->run_id) != 0;
    return cell ? slash + 1 : "latest";
}

void jr_judgement_print(struct jr_buf *out, const struct jr_judgement *report,
                        const struct jr_plan *plan, const struct jr_outcome *outcome, int run_fd,
                        bool color)
{
    struct jr_page page = {
        .out = out,
        .report = report,
        .plan = plan,
        .outcome = outcome,
        .run_fd = run_fd,
        .color = color,
        .run = name_to_type(plan),
    };
    jr_print_page(&page);
}

enum { COMMAND_COLUMN = 62 }; /* where the command begins, if there is room */

/* The rank whose log is looked at first: the first cause, or who differs. */
static const uint32_t *find_suspect_rank(const struct jr_page *page)
{
    if (page->report->causes_count > 0)
        return page->report->causes;
    return page->report->odd_count > 0 ? page->report->odd : NULL;
}

/* Its log; NULL where there is no such rank, or nothing in it. */
static const char *find_suspect_log(const struct jr_page *page, const uint32_t *suspect)
{
    if (suspect == NULL || page->outcome->ranks[*suspect].end == JR_END_START)
        return NULL;
    return jr_print_log(page, jr_plan_of(page->plan, *suspect));
}

/* The rank whose logs are worth reading if the cause has none: the first that did not deliver, else
 * the first that ran. NULL: there is none. */
static const struct jr_plan_rank *rank_to_look_at(const struct jr_page *page)
{
    const struct jr_plan_rank *found = NULL;
    for (size_t i = page->report->count; i-- > 0;) {
        const struct jr_plan_rank *rank = jr_plan_of(page->plan, i);
        const struct jr_rank_outcome *end = &page->outcome->ranks[i];
        bool captured = (rank->out_path != NULL && !end->silent[0]) ||
                        (rank->err_path != NULL && !end->silent[1]);
        bool missed = page->report->ranks[i].state == JR_RANK_INCOMPLETE;
        if (captured && end->pid != 0 && (missed || page->report->status != JR_RUN_INCOMPLETE))
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

/* What to do next where no log is to be named: of what went wrong, the lines above are all that
 * `show` has. */
static void offer_more_commands(const struct jr_page *page)
{
    bool good = page->report->status == JR_RUN_SUCCEEDED;
    const struct jr_plan_rank *rank = good ? NULL : rank_to_look_at(page);
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
    jr_buf_fill(page->out, ' ', width + 3 < COMMAND_COLUMN ? COMMAND_COLUMN - width : 3);
    offer_command(page, "logs");
    jr_buf_printf(page->out, " --rank %u)\n", jr_plan_of(page->plan, *suspect)->rank);
}
