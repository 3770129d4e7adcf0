#include "report/verdict_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/names.h"
#include "base/rank_set.h"
#include "judge/judge.h"
#include "judge/result_checks.h"
#include "judge/words.h"
#include "report/failure_text.h"
#include "report/summary.h"
#include "store/outcome.h"

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

/* How long the first cause lived, where it did: the run may have gone on. */
static void add_failed_after(const struct jr_page *page)
{
    size_t i = page->report->causes_count > 0 ? page->report->causes[0] : 0;
    const struct jr_rank_outcome *rank = &page->outcome->ranks[i];
    bool unheard = rank->end == JR_END_LOST && rank->pid == 0;
    if (page->report->causes_count == 0 || unheard || rank->ended_ns <= rank->started_ns) {
        add_elapsed(page, " after ");
        return;
    }
    jr_buf_str(page->out, " after ");
    jr_clock_human(page->out, rank->ended_ns - rank->started_ns);
}

size_t jr_print_count(const struct jr_page *page, enum jr_rank_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < page->report->count; i++)
        count += page->report->ranks[i].state == state;
    return count;
}

static bool lost_a_node(const struct jr_outcome *run)
{
    for (uint32_t i = 0; i < run->count; i++)
        if (run->ranks[i].end == JR_END_LOST)
            return true;
    return false;
}

void jr_print_left(const struct jr_page *page)
{
    const struct jr_outcome *run = page->outcome;
    if (run->left == 0) {
        jr_buf_str(page->out,
                   lost_a_node(run) ? "0 processes left, lost nodes aside" : "0 processes left");
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
    if (page->report->error == NULL)
        add_failed_after(page);
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

/* Whether those that do not count have all delivered something. */
static bool delivered_wrongly(const struct jr_page *page)
{
    for (size_t i = 0; i < page->report->count; i++) {
        enum jr_result_error error = page->report->ranks[i].result_error;
        if (page->report->ranks[i].state == JR_RANK_INCOMPLETE && error != JR_RESULT_FIELD &&
            error != JR_RESULT_UNEQUAL)
            return false;
    }
    return true;
}

static void print_incomplete(const struct jr_page *page)
{
    size_t missing = jr_print_count(page, JR_RANK_INCOMPLETE);
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
                      delivered_wrongly(page) ? "delivered what `results` does not allow"
                                              : "did not deliver");
}

/* " before its checkpoint", or ", 1 of them before its checkpoint" */
static void add_cut_off(const struct jr_page *page)
{
    size_t cut = 0, count = page->report->count;
    for (size_t i = 0; i < count; i++)
        cut += page->report->ranks[i].state == JR_RANK_YIELDED &&
               jr_outcome_cut_off(&page->outcome->ranks[i]);
    if (cut > 0 && cut < count)
        jr_buf_printf(page->out, ", %zu of them", cut);
    if (cut > 0)
        jr_buf_str(page->out, cut == 1 ? " before its checkpoint" : " before their checkpoint");
}

static void print_yield(const struct jr_page *page)
{
    size_t count = page->report->count;
    size_t yielded = jr_print_count(page, JR_RANK_YIELDED);
    bool preempted = page->report->requeue.cause == JR_REQUEUE_PREEMPTED;
    if (page->report->requeue.cause == JR_REQUEUE_LOST_NODE) {
        add_elapsed(page, " after ");
        jr_buf_str(page->out, ": a node was lost; to be continued");
        return;
    }
    if (preempted)
        yielded += jr_print_count(page, JR_RANK_STOPPED);
    add_elapsed(page, " after ");
    jr_buf_printf(page->out, ": %zu of %zu rank%s %s", yielded, count, count == 1 ? "" : "s",
                  preempted ? count == 1 ? "was preempted" : "were preempted"
                            : "stopped for the deadline");
    if (preempted)
        add_cut_off(page);
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

static const struct verdict stalled = {"STALLED", RED, print_stall};

static const struct verdict *find_verdict(const struct jr_page *page)
{
    return page->report->stall.attempts > 0 ? &stalled : &verdicts[page->report->status];
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
    const char *name;
    const json_t *first, *min, *max; /* `first` of the lowest rank */
    size_t count;
    bool numbers, equal;
};

static void add_field_value(struct field *field, const json_t *value)
{
    if (field->count++ == 0)
        *field = (struct field){field->name, value, value, value, 1, json_is_number(value), true};
    field->numbers = field->numbers && json_is_number(value);
    field->equal = field->equal && jr_judge_equal(field->first, value);
    if (json_number_value(value) < json_number_value(field->min))
        field->min = value;
    if (json_number_value(value) > json_number_value(field->max))
        field->max = value;
}

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
    struct field field = {.name = name};
    for (size_t i = 0; i < report->count; i++) {
        const json_t *value = json_object_get(report->ranks[i].result, name);
        if (value != NULL)
            add_field_value(&field, value);
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
