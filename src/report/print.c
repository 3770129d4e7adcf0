#include "print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "earlier.h"
#include "hang_report.h"
#include "judge.h"
#include "num.h"
#include "signame.h"
#include "words.h"

#include "banned.h"

enum {
    EXIT_COLUMN = 66, /* where "exit status N" begins, if there is room */
    COMMAND_COLUMN = 62,
    MOST_REASONS = 10
};

#define RED    "\033[1;31m"
#define GREEN  "\033[1;32m"
#define YELLOW "\033[1;33m"
#define PLAIN  "\033[0m"

/* The first word of the page, and what the rest of its line says. */
struct verdict {
    const char *word, *color;
    void (*tell)(const struct jr_page *page);
};

static void add_elapsed(const struct jr_page *page, const char *before)
{
    jr_buf_str(page->out, before);
    jr_clock_human(page->out,
                   page->outcome->ended_ns -
                       jr_report_began_ns(page->report, page->outcome));
}

/* How long the first cause lived, where it did: the run may have gone on. */
static void add_failed_after(const struct jr_page *page)
{
    size_t i = page->report->causes_count > 0 ? page->report->causes[0] : 0;
    const struct jr_rank_outcome *rank = &page->outcome->ranks[i];
    if (page->report->causes_count == 0 || rank->ended_ns <= rank->started_ns) {
        add_elapsed(page, " after ");
        return;
    }
    jr_buf_str(page->out, " after ");
    jr_clock_human(page->out, rank->ended_ns - rank->started_ns);
}

/* How many ranks are in the state. */
static size_t count_of(const struct jr_page *page, enum jr_rank_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < page->report->count; i++)
        count += page->report->ranks[i].state == state;
    return count;
}

static void add_left(const struct jr_page *page)
{
    const struct jr_outcome *run = page->outcome;
    if (run->left == 0) {
        jr_buf_str(page->out, "0 processes left");
        return;
    }
    jr_buf_printf(page->out, "%u process%s could not be ended:", run->left,
                  run->left == 1 ? "" : "es");
    size_t most = sizeof run->left_pids / sizeof run->left_pids[0];
    for (size_t n = 0; n < run->left && n < most; n++)
        if (run->left_pids[n] != 0)
            jr_buf_printf(page->out, "%s %d", n == 0 ? " pid" : ",",
                          (int)run->left_pids[n]);
}

static void tell_success(const struct jr_page *page)
{
    size_t count = page->report->count, delivered = 0;
    for (size_t i = 0; i < count; i++)
        delivered += page->report->ranks[i].result != NULL;
    add_elapsed(page, " in ");
    jr_buf_printf(page->out, ": %zu of %zu rank%s %s, ",
                  delivered > 0 ? delivered : count, count,
                  count == 1 ? "" : "s",
                  delivered > 0 ? "delivered" : "exited with 0");
    add_left(page);
}

/* "rank 3 exited with code 1" */
static void tell_cause(const struct jr_page *page)
{
    size_t i = page->report->causes[0];
    const struct jr_rank_outcome *rank = &page->outcome->ranks[i];
    const char *error = page->report->ranks[i].error;
    jr_buf_printf(page->out, "rank %u ", jr_plan_of(page->plan, i)->rank);
    if (rank->end == JR_END_START && error != NULL)
        jr_print_text(page, error);
    else if (page->report->ranks[i].unstarted)
        jr_buf_str(page->out, "could not call its entrypoint");
    else if (rank->stopped_with != 0)
        jr_buf_str(page->out, "raised an exception and was then stopped");
    else
        jr_words_end(page->out, rank);
}

static void tell_failure(const struct jr_page *page)
{
    char name[JR_SIGNAL_NAME];
    if (page->report->error == NULL)
        add_failed_after(page);
    jr_buf_str(page->out, ": ");
    if (page->report->error != NULL) {
        jr_print_text(page, page->report->error);
    } else if (page->outcome->runner_signal != 0) {
        jr_signal_name(name, page->outcome->runner_signal);
        jr_buf_printf(page->out, "jobrun's runner was killed by %s", name);
    } else if (page->report->causes_count > 0) {
        tell_cause(page);
    } else {
        jr_buf_str(page->out, "not every rank could be run");
    }
}

static void tell_timeout(const struct jr_page *page)
{
    add_elapsed(page, " after ");
    jr_buf_str(page->out, ": ");
    if (page->report->earlier_count > 0)
        jr_buf_printf(page->out, "attempt %u%s",
                      jr_words_attempt(page->plan),
                      page->report->hang == NULL ? " was " : ": ");
    jr_print_text(page, page->report->overrun);
}

static void tell_stop(const struct jr_page *page)
{
    char name[JR_SIGNAL_NAME];
    jr_signal_name(name, page->outcome->stop_signal);
    jr_buf_printf(page->out, " by %s", name);
    add_elapsed(page, " after ");
}

/* Whether those that do not count have all delivered something. */
static bool delivered_wrongly(const struct jr_page *page)
{
    for (size_t i = 0; i < page->report->count; i++) {
        enum jr_result_error error = page->report->ranks[i].result_error;
        if (page->report->ranks[i].state == JR_RANK_INCOMPLETE &&
            error != JR_RESULT_FIELD && error != JR_RESULT_UNEQUAL)
            return false;
    }
    return true;
}

static void tell_incomplete(const struct jr_page *page)
{
    size_t missing = count_of(page, JR_RANK_INCOMPLETE);
    if (missing == 0)
        jr_buf_str(page->out, ": every rank did well, but logs are not whole");
    else
        jr_buf_printf(page->out, ": every rank exited with 0, but %zu of %zu %s",
                      missing, page->report->count,
                      delivered_wrongly(page)
                          ? "delivered what `results` does not allow"
                          : "did not deliver");
}

static const struct verdict verdicts[] = {
    [JR_RUN_SUCCEEDED] = {"succeeded", GREEN, tell_success},
    [JR_RUN_FAILED] = {"FAILED", RED, tell_failure},
    [JR_RUN_INCOMPLETE] = {"INCOMPLETE", YELLOW, tell_incomplete},
    [JR_RUN_TIMED_OUT] = {"TIMED OUT", RED, tell_timeout},
    [JR_RUN_HUNG] = {"HUNG", RED, tell_timeout},
    [JR_RUN_STOPPED] = {"STOPPED", YELLOW, tell_stop},
    [JR_RUN_LAUNCH_FAILED] = {"FAILED", RED, tell_failure},
};

void jr_print_headline(const struct jr_page *page)
{
    const struct verdict *verdict = &verdicts[page->report->status];
    jr_buf_printf(page->out, "%s%s%s", page->color ? verdict->color : "",
                  verdict->word, page->color ? PLAIN : "");
    verdict->tell(page);
}

/* The first line; what went wrong ends with the exit status at the right. */
static void print_verdict(const struct jr_page *page)
{
    const struct verdict *verdict = &verdicts[page->report->status];
    size_t start = page->out->len;
    jr_buf_str(page->out, "jobrun: ");
    jr_print_headline(page);
    size_t width = page->out->len - start;
    if (page->color)
        width -= strlen(verdict->color) + strlen(PLAIN);
    if (page->report->exit_code != 0) {
        jr_buf_fill(page->out, ' ',
                    width + 3 < EXIT_COLUMN ? EXIT_COLUMN - width : 3);
        jr_buf_printf(page->out, "exit status %d", page->report->exit_code);
    }
    jr_buf_char(page->out, '\n');
}

static void print_reasons(const struct jr_page *page)
{
    const struct jr_report *report = page->report;
    size_t shown = 0, all = count_of(page, JR_RANK_INCOMPLETE);
    for (size_t i = 0; i < report->count && shown < MOST_REASONS; i++) {
        if (report->ranks[i].state != JR_RANK_INCOMPLETE)
            continue;
        jr_buf_printf(page->out, "  rank %-4u ",
                      jr_plan_of(page->plan, i)->rank);
        jr_print_text(page, report->ranks[i].reason);
        jr_buf_char(page->out, '\n');
        shown++;
    }
    JR_BUF_CLEANUP struct jr_buf set = JR_BUF_INIT;
    if (shown < all && jr_print_ranks(&set, page, JR_RANK_INCOMPLETE) > 0)
        jr_buf_printf(page->out, "  and %zu more; in all %s\n", all - shown,
                      set.data);
}

static void add_errno(const struct jr_page *page, const char *what, int error)
{
    const char *cause = strerrordesc_np(error);
    jr_buf_printf(page->out, "%s%s\n", what,
                  cause == NULL ? "it could not be written" : cause);
}

/* Which logs are not whole, and why. */
static void print_log_errors(const struct jr_page *page)
{
    const struct jr_outcome *run = page->outcome;
    size_t count = 0, first = 0;
    for (size_t i = run->count; i-- > 0;) {
        if (!run->ranks[i].log_failed)
            continue;
        first = i;
        count++;
    }
    if (count == 0)
        return;
    jr_buf_printf(page->out, "  the logs of rank %u",
                  jr_plan_of(page->plan, first)->rank);
    if (count > 1)
        jr_buf_printf(page->out, " and %zu more", count - 1);
    add_errno(page, " are not whole: ", run->ranks[first].log_errno);
}

/* The rank whose log is looked at first: the first cause, or who differs. */
static const uint32_t *suspect_of(const struct jr_page *page)
{
    if (page->report->causes_count > 0)
        return page->report->causes;
    return page->report->odd_count > 0 ? page->report->odd : NULL;
}

/* Its log; NULL where there is no such rank, or nothing in it. */
static const char *log_of_cause(const struct jr_page *page)
{
    const uint32_t *suspect = suspect_of(page);
    if (suspect == NULL)
        return NULL;
    size_t i = *suspect;
    const struct jr_plan_rank *rank = jr_plan_of(page->plan, i);
    if (page->outcome->ranks[i].end == JR_END_START)
        return NULL;
    return jr_print_log(page, rank);
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

/* The option that a command needs to find the run, where the run is not where
 * commands look by themselves. */
static void add_log_dir(const struct jr_page *page)
{
    const char *dir = page->plan->run_dir, *slash = strrchr(dir, '/');
    size_t len = slash == NULL ? 0 : (size_t)(slash - dir);
    if (len == 0 || (len == 4 && memcmp(dir, "runs", len) == 0))
        return;
    jr_buf_str(page->out, " --log-dir '");
    jr_buf_escaped(page->out, dir, len);
    jr_buf_char(page->out, '\'');
}

/* "(jobrun show latest)" */
static void offer(const struct jr_page *page, const char *verb)
{
    jr_buf_printf(page->out, "(jobrun %s %s", verb, page->run);
    if (page->attempt != NULL)
        jr_buf_printf(page->out, " --attempt %u", *page->attempt);
    add_log_dir(page);
}

/* What to do next where no log is to be named: of what went wrong, the lines
 * above are all that `show` has. */
static void offer_more(const struct jr_page *page)
{
    bool good = page->report->status == JR_RUN_SUCCEEDED;
    const struct jr_plan_rank *rank = good ? NULL : worth_a_look(page);
    offer(page, rank == NULL ? "show" : "logs");
    if (rank != NULL && page->report->status == JR_RUN_INCOMPLETE)
        jr_buf_printf(page->out, " --rank %u", rank->rank);
    jr_buf_str(page->out, ")\n");
}

/* Where to look, and the command that looks there. */
static void print_place(const struct jr_page *page)
{
    const char *log = log_of_cause(page);
    bool good = page->report->status == JR_RUN_SUCCEEDED;
    jr_buf_str(page->out, good ? "        " : "  ");
    size_t start = page->out->len;
    jr_print_text(page, page->plan->run_dir);
    if (log == NULL) {
        jr_buf_str(page->out, "   ");
        offer_more(page);
        return;
    }
    jr_buf_char(page->out, '/');
    jr_print_text(page, log);
    size_t width = page->out->len - start;
    jr_buf_fill(page->out, ' ',
                width + 3 < COMMAND_COLUMN ? COMMAND_COLUMN - width : 3);
    offer(page, "logs");
    jr_buf_printf(page->out, " --rank %u)\n",
                  jr_plan_of(page->plan, *suspect_of(page))->rank);
}

/* A run that jobrun ended, with the rank that failed before that. */
static void print_earlier(const struct jr_page *page)
{
    if (page->report->status != JR_RUN_STOPPED &&
        page->report->status != JR_RUN_TIMED_OUT &&
        page->report->status != JR_RUN_HUNG)
        return;
    jr_buf_str(page->out, "  before it:  ");
    tell_cause(page);
    jr_buf_char(page->out, '\n');
}

/* Ranks that delivered, and did not end by themselves. */
static void print_lingering(const struct jr_page *page)
{
    JR_BUF_CLEANUP struct jr_buf limit = JR_BUF_INIT;
    jr_num_add_duration(&limit, page->plan->policy->timeouts.exit_ms);
    for (size_t i = 0; i < page->report->count; i++) {
        const struct jr_rank_outcome *rank = &page->outcome->ranks[i];
        if (rank->lingered && rank->returned)
            jr_buf_printf(page->out,
                          "  warning: rank %u delivered, but did not end within "
                          "%s (timeouts.exit), and was killed: has it threads "
                          "that are no daemons?\n",
                          jr_plan_of(page->plan, i)->rank, limit.data);
    }
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
                      "  log_limit: %" PRIu64 " bytes left out of the middle "
                      "of %u log%s; beginning and end are there\n",
                      bytes, streams, streams == 1 ? "" : "s");
}

static void print_patterns(const struct jr_page *page)
{
    if (page->outcome->pattern_limits > 0)
        jr_buf_printf(page->out,
                      "  warning: console.show or console.hide took too many "
                      "steps for %u lines, which did not count as matches; the "
                      "files have all\n",
                      page->outcome->pattern_limits);
}

static void print_body(const struct jr_page *page)
{
    bool blamed = page->report->causes_count > 0;
    if (blamed) {
        print_earlier(page);
        jr_print_cause(page);
    }
    if (page->report->overrun != NULL)
        jr_hang_print(page);
    if (page->report->status == JR_RUN_INCOMPLETE)
        print_reasons(page);
    else
        jr_print_others(page, blamed ? "after it:" : NULL);
    jr_print_earlier(page, "  ");
    print_log_errors(page);
    if (page->outcome->console_errno != 0)
        add_errno(page,
                  "  the console is not whole: ", page->outcome->console_errno);
    jr_buf_str(page->out, "  ");
    add_left(page);
    jr_buf_char(page->out, '\n');
}

void jr_print_account(const struct jr_page *page)
{
    print_lingering(page);
    print_patterns(page);
    print_dropped(page);
    if (page->report->status == JR_RUN_SUCCEEDED) {
        jr_print_earlier(page, "        ");
        jr_print_fields(page);
    } else {
        print_body(page);
    }
    print_place(page);
}

void jr_print_page(const struct jr_page *page)
{
    print_verdict(page);
    jr_print_account(page);
}

void jr_report_print(struct jr_buf *out, const struct jr_report *report,
                     const struct jr_plan *plan,
                     const struct jr_outcome *outcome, int run_fd, bool color)
{
    struct jr_page page = {
        .out = out,
        .report = report,
        .plan = plan,
        .outcome = outcome,
        .run_fd = run_fd,
        .color = color,
        .run = "latest",
    };
    jr_print_page(&page);
}
