/* The summary for people: the verdict, what became of the run, and where to look. */
#include "report/summary.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/names.h"
#include "base/num.h"
#include "base/rank_set.h"
#include "base/setting_words.h"
#include "judge/hang_report.h"
#include "judge/judge.h"
#include "judge/restart.h"
#include "judge/result_checks.h"
#include "judge/words.h"
#include "record/multinode.h"
#include "report/internal.h"
#include "store/outcome.h"
#include "store/progress.h"

#include "base/banned.h"

enum { EXIT_COLUMN = 66 }; /* where "exit status N" begins, if there is room */

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
                   page->outcome->ended_ns - jr_judgement_began_ns(page->report, page->outcome));
}

/* How many ranks are in the state. */
static size_t count_ranks(const struct jr_page *page, enum jr_rank_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < page->report->count; i++)
        count += page->report->ranks[i].state == state;
    return count;
}

void jr_print_left(const struct jr_page *page)
{
    const struct jr_outcome *run = page->outcome;
    if (run->left == 0) {
        uint32_t i = 0;
        while (i < run->count && run->ranks[i].end != JR_END_LOST)
            i++;
        jr_buf_str(page->out,
                   i < run->count ? "0 processes left, lost nodes aside" : "0 processes left");
        return;
    }
    jr_buf_printf(page->out, "%u process%s could not be ended:", run->left,
                  run->left == 1 ? "" : "es");
    const char *before = " pid";
    size_t most = sizeof run->left_pids / sizeof run->left_pids[0];
    for (size_t n = 0; n < run->left && n < most; n++) {
        if (run->left_pids[n] == 0)
            continue;
        jr_buf_printf(page->out, "%s %d", before, (int)run->left_pids[n]);
        before = ",";
    }
}

static void print_success(const struct jr_page *page)
{
    size_t count = page->report->count, delivered = 0;
    for (size_t i = 0; i < count; i++)
        delivered += page->report->ranks[i].result != NULL;
    add_elapsed(page, " in ");
    jr_buf_printf(page->out, ": %zu of %zu rank%s %s, ", delivered > 0 ? delivered : count, count,
                  count == 1 ? "" : "s", delivered > 0 ? "delivered" : "exited with 0");
    jr_print_left(page);
}

void jr_print_end(const struct jr_page *page)
{
    size_t i = page->report->causes[0];
    const struct jr_rank_outcome *rank = &page->outcome->ranks[i];
    const char *error = page->report->ranks[i].error;
    jr_buf_printf(page->out, "rank %u ", jr_plan_of(page->plan, i)->rank);
    if (rank->end == JR_END_START && error != NULL)
        jr_print_text(page, error);
    else if (page->report->ranks[i].unstarted)
        jr_buf_str(page->out, "could not call its entrypoint");
    else if (rank->stopped_with != 0 && jr_words_cut_short(rank) == 0 &&
             !jr_outcome_failed_mpi(rank))
        jr_buf_str(page->out, "raised an exception and was then stopped");
    else if (jr_judgement_left(&page->report->ranks[i]))
        jr_buf_str(page->out, "ended with 0 but did not deliver");
    else
        jr_words_rank_end(page->out, rank);
}

static void print_failure(const struct jr_page *page)
{
    size_t i = page->report->causes_count > 0 ? page->report->causes[0] : 0;
    const struct jr_rank_outcome *rank = &page->outcome->ranks[i];
    bool unheard = page->report->causes_count == 0 ||
                   (rank->end == JR_END_LOST && rank->pid == 0) ||
                   rank->ended_ns <= rank->started_ns;
    /* How long the first cause lived, where it did: the run may have gone on. */
    if (page->report->error == NULL && unheard) {
        add_elapsed(page, " after ");
    } else if (page->report->error == NULL) {
        jr_buf_str(page->out, " after ");
        jr_clock_human(page->out, rank->ended_ns - rank->started_ns);
    }
    jr_buf_str(page->out, ": ");
    if (page->report->error != NULL) {
        jr_print_text(page, page->report->error);
    } else if (jr_outcome_lost(page->outcome)) {
        jr_words_lost(page->out, page->outcome);
    } else if (page->report->causes_count > 0) {
        jr_print_end(page);
    } else {
        jr_buf_str(page->out, "not every rank could be run");
    }
}

static void print_timeout(const struct jr_page *page)
{
    add_elapsed(page, " after ");
    jr_buf_str(page->out, ": ");
    if (page->report->earlier_count > 0)
        jr_buf_printf(page->out, "attempt %u%s", page->plan->attempt,
                      page->report->hang == NULL ? " was " : ": ");
    jr_print_text(page, page->report->overrun);
}

static void print_stop(const struct jr_page *page)
{
    char name[JR_SIGNAL_NAME];
    jr_signal_name(name, page->outcome->stop_signal);
    jr_buf_printf(page->out, " by %s", name);
    add_elapsed(page, " after ");
    jr_buf_str(page->out, jr_outcome_lost(page->outcome) ? ", and then " : "");
    jr_words_lost(page->out, page->outcome);
}

static void print_incomplete(const struct jr_page *page)
{
    size_t missing = count_ranks(page, JR_RANK_INCOMPLETE);
    bool wrong = true; /* those that do not count have all delivered something */
    for (size_t i = 0; i < page->report->count; i++) {
        enum jr_result_error error = page->report->ranks[i].result_error;
        wrong = wrong && (page->report->ranks[i].state != JR_RANK_INCOMPLETE ||
                          error == JR_RESULT_FIELD || error == JR_RESULT_UNEQUAL);
    }
    if ((missing == 0 || page->report->singletons) && page->report->error != NULL) {
        jr_buf_str(page->out, ": ");
        jr_print_text(page, page->report->error);
        return;
    }
    if (missing == 0)
        jr_buf_str(page->out, ": every rank succeeded, but logs are incomplete");
    else
        jr_buf_printf(page->out, ": every rank exited with 0, but %zu of %zu %s", missing,
                      page->report->count,
                      wrong ? "delivered what `results` does not allow" : "did not deliver");
}

static void print_yield(const struct jr_page *page)
{
    size_t count = page->report->count;
    size_t yielded = count_ranks(page, JR_RANK_YIELDED);
    bool preempted = page->report->requeue.cause == JR_REQUEUE_PREEMPTED;
    if (page->report->requeue.cause == JR_REQUEUE_LOST_NODE) {
        add_elapsed(page, " after ");
        jr_buf_str(page->out, ": a node was lost; to be continued");
        return;
    }
    if (preempted)
        yielded += count_ranks(page, JR_RANK_STOPPED);
    add_elapsed(page, " after ");
    jr_buf_printf(page->out, ": %zu of %zu rank%s %s", yielded, count, count == 1 ? "" : "s",
                  preempted ? count == 1 ? "was preempted" : "were preempted"
                            : "stopped for the deadline");
    size_t cut = 0; /* " before its checkpoint", or ", 1 of them before its checkpoint" */
    for (size_t i = 0; preempted && i < count; i++)
        cut += page->report->ranks[i].state == JR_RANK_YIELDED &&
               jr_outcome_cut_off(&page->outcome->ranks[i]);
    if (cut > 0 && cut < count)
        jr_buf_printf(page->out, ", %zu of them", cut);
    if (cut > 0)
        jr_buf_str(page->out, cut == 1 ? " before its checkpoint" : " before their checkpoint");
    jr_buf_str(page->out, "; to be continued");
}

static void print_stall(const struct jr_page *page)
{
    add_elapsed(page, " after ");
    jr_buf_str(page->out, ": ");
    jr_words_stall(page->out, &page->report->stall);
}

static const struct verdict verdicts[] = {
    [JR_RUN_SUCCEEDED] = {"succeeded", GREEN, print_success},
    [JR_RUN_FAILED] = {"FAILED", RED, print_failure},
    [JR_RUN_INCOMPLETE] = {"INCOMPLETE", YELLOW, print_incomplete},
    [JR_RUN_TIMED_OUT] = {"TIMED OUT", RED, print_timeout},
    [JR_RUN_HUNG] = {"HUNG", RED, print_timeout},
    [JR_RUN_STOPPED] = {"STOPPED", YELLOW, print_stop},
    [JR_RUN_LAUNCH_FAILED] = {"FAILED", RED, print_failure},
    [JR_RUN_YIELDED] = {"YIELDED", YELLOW, print_yield},
};

static const struct verdict stall_verdict = {"STALLED", RED, print_stall};

static const struct verdict *find_verdict(const struct jr_page *page)
{
    return page->report->stall.attempts > 0 ? &stall_verdict : &verdicts[page->report->status];
}

void jr_print_headline(const struct jr_page *page)
{
    const struct verdict *verdict = find_verdict(page);
    jr_buf_printf(page->out, "%s%s%s", page->color ? verdict->color : "", verdict->word,
                  page->color ? PLAIN : "");
    verdict->tell(page);
}

void jr_print_verdict(const struct jr_page *page)
{
    const struct verdict *verdict = find_verdict(page);
    size_t start = page->out->len;
    jr_buf_str(page->out, "jobrun: ");
    jr_print_headline(page);
    size_t width = page->out->len - start;
    if (page->color)
        width -= strlen(verdict->color) + strlen(PLAIN);
    if (page->report->exit_code != 0) {
        jr_buf_fill(page->out, ' ', width + 3 < EXIT_COLUMN ? EXIT_COLUMN - width : 3);
        jr_buf_printf(page->out, "exit status %d", page->report->exit_code);
    }
    jr_buf_char(page->out, '\n');
}

static bool is_node_status(const json_t *node, const char *status)
{
    const char *word = jr_json_get_str(node, "status");
    return word != NULL && strcmp(word, status) == 0;
}

static void print_node(struct jr_buf *out, const json_t *node)
{
    const char *host = jr_json_get_str(node, "host");
    const char *cause = jr_json_get_str(node, "cause");
    const char *status = jr_json_get_str(node, "status");
    uint32_t code = jr_json_get_u32(node, "exit_code");
    if (host != NULL) {
        jr_buf_str(out, " (");
        jr_buf_safe(out, host);
        jr_buf_char(out, ')');
    }
    jr_buf_str(out, "   ");
    if (is_node_status(node, "absent")) {
        jr_buf_str(out, "not here: it has not started, or it uses another log_dir");
        return;
    }
    jr_buf_str(out, is_node_status(node, "elsewhere") ? "running or lost: run this command "
                                                        "on its host, or in its container"
                                                      : status);
    if (is_node_status(node, "running") || is_node_status(node, "lost"))
        jr_buf_printf(out, ": pid %u", jr_json_get_u32(node, "pid"));
    if (is_node_status(node, "lost"))
        jr_buf_str(out, " is gone and left no results");
    if (code != 0)
        jr_buf_printf(out, " (exit status %u)", code);
    if (cause != NULL) {
        jr_buf_str(out, ": ");
        jr_buf_safe(out, cause);
    }
}

void jr_multinode_print(struct jr_buf *out, const json_t *nodes, const char *before)
{
    enum { MOST = 10 };
    size_t count = json_array_size(nodes), good = 0, listed = 0;
    uint32_t *well = calloc(count + 1, sizeof *well);
    for (size_t i = 0; i < count; i++) {
        const json_t *node = json_array_get(nodes, i);
        if (is_node_status(node, "succeeded") && well != NULL) {
            well[good++] = (uint32_t)i;
        } else if (listed++ < MOST) {
            jr_buf_printf(out, "%snode %zu", before, i);
            print_node(out, node);
            jr_buf_char(out, '\n');
        }
    }
    if (listed > MOST)
        jr_buf_printf(out, "%sand %zu more nodes\n", before, listed - MOST);
    if (good > 0) {
        jr_buf_printf(out, "%snode%s ", before, good == 1 ? "" : "s");
        jr_set_print(out, well, good);
        jr_buf_str(out, "   succeeded\n");
    }
    free(well);
}

enum { MOST_FIELDS = 6 };

/* One field over all ranks that delivered. */
struct field {
    const json_t *first, *min, *max; /* `first` of the lowest rank */
    size_t count;
    bool numbers, equal;
};

/* For people to five digits, to be compared in full. */
static void add_field_number(struct jr_buf *out, const json_t *number, bool exact)
{
    if (json_is_integer(number))
        jr_buf_printf(out, "%lld", (long long)json_integer_value(number));
    else if (exact)
        jr_json_print(out, number, 0);
    else
        jr_buf_printf(out, "%.5g", json_real_value(number));
}

/* One number if all ranks have the same, else the smallest and the largest:
 * with all their digits if five show no difference. */
static void add_number_range(struct jr_buf *out, const struct field *field, bool exact)
{
    JR_BUF_CLEANUP struct jr_buf min = JR_BUF_INIT, max = JR_BUF_INIT;
    add_field_number(&min, field->min, exact);
    add_field_number(&max, field->max, exact);
    out->failed |= min.failed || max.failed;
    if (out->failed)
        return;
    if (!field->equal && !exact && strcmp(min.data, max.data) == 0)
        add_number_range(out, field, true);
    else if (field->equal)
        jr_buf_str(out, min.data);
    else
        jr_buf_printf(out, "%s .. %s", min.data, max.data);
}

static void add_field_range(struct jr_buf *out, const struct field *field, bool exact)
{
    if (field->numbers) {
        add_number_range(out, field, exact);
    } else if (exact && field->equal) {
        jr_json_print(out, field->first, 0);
    } else if (field->count > 1) {
        jr_buf_str(out, field->equal ? "equal" : "differs");
    } else {
        JR_BUF_CLEANUP struct jr_buf value = JR_BUF_INIT;
        jr_judge_quote(&value, field->first);
        jr_buf_escaped(out, value.data == NULL ? "" : value.data, value.len);
    }
}

static struct field gather_field(const struct jr_judgement *report, const char *name)
{
    struct field field = {.numbers = true, .equal = true};
    for (size_t i = 0; i < report->count; i++) {
        const json_t *value = json_object_get(report->ranks[i].result, name);
        if (value == NULL)
            continue;
        if (field.count++ == 0)
            field.first = field.min = field.max = value;
        field.numbers = field.numbers && json_is_number(value);
        field.equal = field.equal && jr_judge_equal(field.first, value);
        if (json_number_value(value) < json_number_value(field.min))
            field.min = value;
        if (json_number_value(value) > json_number_value(field.max))
            field.max = value;
    }
    return field;
}

void jr_print_field(struct jr_buf *out, const struct jr_judgement *report, const char *name)
{
    struct field field = gather_field(report, name);
    if (field.count > 0)
        add_field_range(out, &field, true);
}

json_t *jr_print_first_result(const struct jr_judgement *report)
{
    for (size_t i = 0; i < report->count; i++)
        if (json_is_object(report->ranks[i].result))
            return report->ranks[i].result;
    return NULL;
}

void jr_print_fields(const struct jr_page *page)
{
    json_t *first = jr_print_first_result(page->report);
    const char *name = NULL;
    json_t *value = NULL;
    size_t shown = 0;
    json_object_foreach(first, name, value) {
        if (shown == MOST_FIELDS)
            break;
        struct field field = gather_field(page->report, name);
        jr_buf_str(page->out, shown++ == 0 ? "        " : "   ");
        jr_buf_safe(page->out, name);
        jr_buf_char(page->out, ' ');
        add_field_range(page->out, &field, false);
    }
    if (shown == 0)
        return;
    if (json_object_size(first) > shown)
        jr_buf_printf(page->out, "   and %zu more", json_object_size(first) - shown);
    jr_buf_char(page->out, '\n');
}

/* What is below the verdict. */

enum { MOST_REASONS = 10, MOST_ATTEMPTS = 8 };

static void print_reasons(const struct jr_page *page)
{
    const struct jr_judgement *report = page->report;
    size_t shown = 0, all = count_ranks(page, JR_RANK_INCOMPLETE);
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
        page->plan->no_spec ? "-s" : NULL);
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

/* What was wrong with how the job told its progress, and what console.show and its like met. */
static void print_patterns(const struct jr_page *page)
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
    if (report->hang == NULL)
        return;
    jr_buf_printf(page->out,
                  "  evidence:   hang.json in the ranks' folders   (jobrun show %s --stacks",
                  page->run);
    jr_words_log_dir(page->out, page->plan->run_dir);
    jr_buf_str(page->out, ")\n");
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
    for (size_t i = first; i < report->earlier_count; i++) {
        const struct jr_attempt *attempt = &report->earlier[i];
        jr_buf_printf(page->out, "%sattempt %u   ", indent, attempt->number);
        jr_print_text(page, attempt->cause);
        jr_buf_str(page->out, ", after ");
        jr_clock_human(page->out, attempt->ended_ns - attempt->started_ns);
        jr_buf_char(page->out, '\n');
    }
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
    bool stalled = page->report->stall.attempts > 0;
    enum jr_run_status status = page->report->status;
    /* A run that jobrun ended, with the rank that failed before that. */
    if (blamed && (stalled || status == JR_RUN_STOPPED || status == JR_RUN_TIMED_OUT ||
                   status == JR_RUN_HUNG)) {
        jr_buf_str(page->out, stalled ? "  the last:   " : "  before it:  ");
        jr_print_end(page);
        jr_buf_char(page->out, '\n');
    }
    if (blamed)
        jr_print_cause(page);
    if (page->report->overrun != NULL && stalled) {
        jr_buf_str(page->out, "  the last:   ");
        jr_print_text(page, page->report->overrun);
        jr_buf_char(page->out, '\n');
    }
    if (page->report->overrun != NULL)
        print_hang(page);
    if (status == JR_RUN_INCOMPLETE) {
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
    for (size_t i = 0; i < page->report->count; i++)
        if (page->outcome->ranks[i].mpi_spawned)
            jr_buf_printf(page->out,
                          "  warning: rank %u asked MPI for more processes (MPI_Comm_spawn), which "
                          "jobrun does not start\n",
                          jr_plan_of(page->plan, i)->rank);
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

struct jr_page jr_page_of(const struct jr_loaded_run *loaded, int fd, struct jr_buf *out)
{
    return (struct jr_page){
        .out = out,
        .report = &loaded->report,
        .plan = &loaded->plan,
        .outcome = &loaded->outcome,
        .run_fd = fd,
        .run = loaded->id,
        .nodes = json_object_get(loaded->json, "nodes"),
    };
}

void jr_judgement_print(struct jr_buf *out, const struct jr_judgement *report,
                        const struct jr_plan *plan, const struct jr_outcome *outcome, int run_fd,
                        bool color)
{
    /* By which name the run is found: the newest of its folder, unless it is a cell among those of
     * its sweep. */
    const char *slash = strrchr(plan->run_dir, '/');
    bool cell = slash != NULL && strcmp(slash + 1, plan->run_id) != 0;
    struct jr_page page = {
        .out = out,
        .report = report,
        .plan = plan,
        .outcome = outcome,
        .run_fd = run_fd,
        .color = color,
        .run = cell ? slash + 1 : "latest",
    };
    jr_print_page(&page);
}

enum { COMMAND_COLUMN = 62 }; /* where the command begins, if there is room */

/* Whether there is something to read: a stream that is silent for long has an empty file. */
static bool has_log(const struct jr_page *page, const char *path, bool silent)
{
    struct stat st;
    if (path == NULL || silent)
        return false;
    return fstatat(page->run_fd, path, &st, AT_SYMLINK_NOFOLLOW) != 0 || st.st_size > 0;
}

/* The rank whose logs are worth reading if the cause has none: the first that did not deliver, else
 * the first that ran. NULL: there is none. */
static const struct jr_plan_rank *rank_to_look_at(const struct jr_page *page)
{
    const struct jr_plan_rank *found = NULL;
    for (size_t i = page->report->count; i-- > 0;) {
        const struct jr_plan_rank *rank = jr_plan_of(page->plan, i);
        const struct jr_rank_outcome *end = &page->outcome->ranks[i];
        bool captured = has_log(page, rank->out_path, end->silent[0]) ||
                        has_log(page, rank->err_path, end->silent[1]);
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

void jr_print_place(const struct jr_page *page)
{
    const struct jr_judgement *report = page->report;
    /* The rank whose log is looked at first: the first cause, or who differs. */
    const uint32_t *suspect = report->causes_count > 0 ? report->causes
                              : report->odd_count > 0  ? report->odd
                                                       : NULL;
    const char *log = NULL;
    if (suspect != NULL && page->outcome->ranks[*suspect].end != JR_END_START)
        log = jr_print_log(page, jr_plan_of(page->plan, *suspect));
    bool good = page->report->status == JR_RUN_SUCCEEDED;
    jr_buf_str(page->out, good ? "        " : "  ");
    size_t start = page->out->len;
    jr_print_text(page, page->plan->own_dir);
    if (log == NULL) { /* of what went wrong, the lines above are all that `show` has */
        const struct jr_plan_rank *rank = good ? NULL : rank_to_look_at(page);
        jr_buf_str(page->out, "   ");
        offer_command(page, rank == NULL ? "show" : "logs");
        if (rank != NULL && report->status == JR_RUN_INCOMPLETE)
            jr_buf_printf(page->out, " --rank %u", rank->rank);
        jr_buf_str(page->out, ")\n");
        return;
    }
    jr_buf_char(page->out, '/');
    jr_print_text(page, log);
    size_t width = page->out->len - start;
    jr_buf_fill(page->out, ' ', width + 3 < COMMAND_COLUMN ? COMMAND_COLUMN - width : 3);
    offer_command(page, "logs");
    jr_buf_printf(page->out, " --rank %u)\n", jr_plan_of(page->plan, *suspect)->rank);
}
