#include "report/failure_text.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/names.h"
#include "judge/judge.h"
#include "judge/words.h"
#include "report/summary.h"
#include "store/outcome.h"
#include "store/progress.h"
#include "store/run_folder.h"

#include "base/banned.h"

enum {
    TAIL_LINES = 10,
    TAIL_COLUMNS = 200, /* bytes of one line that are shown */
    WHERE_COLUMN = 62,  /* where an exception's place begins */
    MOST_SET = 60,      /* bytes of a rank set that are shown */
    MOST_FOLLOWERS = 4  /* that are listed one by one */
};

void jr_print_text(const struct jr_page *page, const char *text)
{
    if (text != NULL)
        jr_buf_safe(page->out, text);
}

/* A rank set, cut after a comma when it is long. */
static void add_set(struct jr_buf *out, const uint32_t *ranks, size_t count)
{
    JR_BUF_CLEANUP struct jr_buf set = JR_BUF_INIT;
    jr_words_ranks(&set, ranks, count);
    size_t cut = set.len;
    if (cut > MOST_SET)
        for (cut = MOST_SET; cut > 0 && set.data[cut - 1] != ',';)
            cut--;
    jr_buf_add(out, set.data, cut);
    if (cut < set.len)
        jr_buf_printf(out, "... (%zu ranks)", count);
}

/* Ranks in a state, except for the first cause. */
struct group {
    enum jr_rank_state state;
    /* KILLED: needed SIGKILL; CUT_OFF: jr_outcome_cut_off */
    enum { ALL, EARLY, NOT_EARLY, KILLED, CUT_OFF, NOT_CUT_OFF } which;
};

static bool is_in_group(const struct jr_page *page, size_t i, const struct group *group)
{
    const struct jr_judgement *report = page->report;
    if (report->ranks[i].state != group->state ||
        (report->causes_count > 0 && report->causes[0] == i))
        return false;
    if (group->which == KILLED)
        return page->outcome->ranks[i].killed;
    if (group->which == CUT_OFF || group->which == NOT_CUT_OFF)
        return jr_outcome_cut_off(&page->outcome->ranks[i]) == (group->which == CUT_OFF);
    return group->which == ALL || report->ranks[i].early == (group->which == EARLY);
}

/* Append the ranks of the group. Returns how many they are, and in *ret_first, unless it is NULL,
 * which is the first. */
static size_t add_group(struct jr_buf *out, const struct jr_page *page, const struct group *group,
                        size_t *ret_first)
{
    JR_FREE uint32_t *ranks = calloc(page->report->count + 1, sizeof *ranks);
    size_t count = 0;
    for (size_t i = 0; ranks != NULL && i < page->report->count; i++)
        if (is_in_group(page, i, group)) {
            if (count == 0 && ret_first != NULL)
                *ret_first = i;
            ranks[count++] = jr_plan_of(page->plan, i)->rank;
        }
    if (count > 0)
        add_set(out, ranks, count);
    return count;
}

size_t jr_print_ranks(struct jr_buf *out, const struct jr_page *page, enum jr_rank_state state)
{
    return add_group(out, page, &(struct group){state, ALL}, NULL);
}

/* The axes that are more than 1 long: "   data 1 model 0". */
static void print_coordinates(const struct jr_page *page, const struct jr_plan_rank *rank)
{
    const char *before = "   ";
    for (int axis = JR_AXIS_COUNT - 1; axis >= 0; axis--) {
        if (page->plan->axis_size[axis] < 2)
            continue;
        jr_buf_printf(page->out, "%s%s %u", before, jr_words_axis(axis), rank->at[axis]);
        before = " ";
    }
}

static void print_identity(const struct jr_page *page, size_t i)
{
    const struct jr_plan_rank *rank = jr_plan_of(page->plan, i);
    struct utsname here;
    (void)uname(&here);
    jr_buf_printf(page->out, "  rank %u   node %u (", rank->rank, rank->node_rank);
    jr_print_text(page, jr_words_host(page->plan, rank->node_rank, &here));
    jr_buf_printf(page->out, ")   local %u", rank->local_rank);
    print_coordinates(page, rank);
    if (page->outcome->ranks[i].pid != 0)
        jr_buf_printf(page->out, "   pid %d", (int)page->outcome->ranks[i].pid);
    jr_buf_printf(page->out, "   attempt %u\n", page->plan->attempt);
}

/* Where the exception was raised, after `width` bytes of its line. */
static void print_place(const struct jr_page *page, size_t i, size_t width)
{
    const char *where = page->report->ranks[i].where;
    if (where != NULL) {
        jr_buf_fill(page->out, ' ', width + 2 < WHERE_COLUMN ? WHERE_COLUMN - width : 2);
        jr_print_text(page, where);
    }
    jr_buf_char(page->out, '\n');
}

static void print_exception(const struct jr_page *page, size_t i)
{
    const struct jr_rank_judgement *rank = &page->report->ranks[i];
    if (rank->error_foreign) {
        jr_buf_str(page->out, "  warning: ");
        jr_print_text(page, jr_plan_of(page->plan, i)->error_path);
        jr_buf_str(page->out, " is incomplete, or not in the form that torch "
                              "and jobrun write; it was ignored\n");
    }
    if (rank->error_strange) {
        jr_buf_str(page->out, "  warning: ");
        jr_print_text(page, jr_plan_of(page->plan, i)->error_path);
        jr_buf_str(page->out, " was written by a process other than the rank, "
                              "and does not count\n");
    }
    if (!rank->error_file)
        return;
    jr_buf_str(page->out, "  ");
    size_t start = page->out->len;
    jr_print_text(page, rank->error);
    print_place(page, i, page->out->len - start);
    if (rank->behind == NULL)
        return;
    jr_buf_str(page->out, "    from ");
    jr_print_text(page, rank->behind);
    jr_buf_char(page->out, '\n');
}

/* How it was lost; of one that left, what it did not deliver. */
static void print_loss(const struct jr_page *page, size_t i)
{
    const struct jr_rank_judgement *rank = &page->report->ranks[i];
    bool left = jr_judgement_left(rank);
    const char *how = left ? rank->reason : rank->error;
    if ((page->outcome->ranks[i].end != JR_END_LOST && !left) || how == NULL)
        return;
    jr_buf_str(page->out, "  ");
    jr_print_text(page, how);
    jr_buf_char(page->out, '\n');
}

/* One line of a log. Of a progress bar, the state that it was left in. */
static void print_log_line(const struct jr_page *page, const char *line, size_t len)
{
    if (len > 0 && line[len - 1] == '\r')
        len--;
    const char *bar = memrchr(line, '\r', len);
    if (bar != NULL) {
        len -= (size_t)(bar + 1 - line);
        line = bar + 1;
    }
    jr_buf_str(page->out, "    | ");
    jr_buf_escaped(page->out, line, len <= TAIL_COLUMNS ? len : TAIL_COLUMNS);
    jr_buf_str(page->out, len <= TAIL_COLUMNS ? "\n" : "...\n");
}

/* The last lines of one log; false when it holds none. */
static bool print_tail(const struct jr_page *page, const char *path, const char *stream)
{
    JR_BUF_CLEANUP struct jr_buf tail = JR_BUF_INIT;
    if (path != NULL)
        jr_run_file_tail(&tail, page->run_fd, path, TAIL_LINES);
    if (tail.len == 0)
        return false;
    jr_buf_printf(page->out, "  last lines of %s:\n", stream);
    const char *line = tail.data, *end = tail.data + tail.len;
    while (line < end) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t len = (size_t)((stop == NULL ? end : stop) - line);
        print_log_line(page, line, len);
        line += len + 1;
    }
    return true;
}

/* What was before a rank that has no process: its helper, and the setup. */
static void print_node_logs(const struct jr_page *page, uint32_t node)
{
    static const char *const names[] = {JR_HELPER_LOG, JR_SETUP_LOG};
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
    for (size_t i = 0; i < 4; i++) {
        const char *name = names[i / 2];
        jr_buf_clear(&path);
        if (i % 2 == 1)
            jr_buf_printf(&path, JR_NODE_DIR "/", node);
        jr_buf_printf(&path, "attempt_%u/%s", page->plan->attempt, name);
        if (!path.failed && print_tail(page, path.data, name))
            return;
    }
}

/* Whether it is listed beside the cause because it lost a peer. */
static bool lost_its_peer(const struct jr_page *page, size_t i)
{
    const struct jr_judgement *report = page->report;
    return report->ranks[i].lost_peer && !report->ranks[report->causes[0]].lost_peer;
}

/* "    rank 2   ConnectionResetError: ...          train.py:40 in recv" */
static void print_follower(const struct jr_page *page, size_t i)
{
    size_t start = page->out->len;
    jr_buf_printf(page->out, "    rank %u   ", jr_plan_of(page->plan, i)->rank);
    if (page->report->ranks[i].error != NULL)
        jr_print_text(page, page->report->ranks[i].error);
    else
        jr_words_rank_end(page->out, &page->outcome->ranks[i]);
    print_place(page, i, page->out->len - start);
}

/* The ranks beside the cause, those that lost a peer or the others, as a set;
 * `ret` has room for all. */
static size_t find_failed_together(const struct jr_page *page, bool lost, uint32_t *ret)
{
    const struct jr_judgement *report = page->report;
    size_t count = 0;
    for (size_t i = 0; i < report->count; i++)
        if (report->ranks[i].state == JR_RANK_FAILED && report->causes[0] != i &&
            lost_its_peer(page, i) == lost)
            ret[count++] = (uint32_t)i;
    return count;
}

static void print_followers(const struct jr_page *page, uint32_t *places, size_t count)
{
    if (count == 0)
        return;
    jr_buf_str(page->out, "  together with it (too close to order, and of a "
                          "kind that a dead peer causes):\n");
    size_t shown = count > MOST_FOLLOWERS ? MOST_FOLLOWERS : count;
    for (size_t c = 0; c < shown; c++)
        print_follower(page, places[c]);
    if (shown == count)
        return;
    for (size_t c = shown; c < count; c++)
        places[c] = jr_plan_of(page->plan, places[c])->rank;
    jr_buf_str(page->out, "    and so did ");
    add_set(page->out, places + shown, count - shown);
    jr_buf_char(page->out, '\n');
}

static void print_failed_together(const struct jr_page *page)
{
    JR_BUF_CLEANUP struct jr_buf set = JR_BUF_INIT;
    JR_FREE uint32_t *places = calloc(page->report->count + 1, sizeof *places);
    if (places == NULL)
        return;
    size_t count = find_failed_together(page, false, places);
    for (size_t c = 0; c < count; c++)
        places[c] = jr_plan_of(page->plan, places[c])->rank;
    if (count > 0) {
        add_set(&set, places, count);
        jr_buf_printf(page->out,
                      "  together:   %s failed with it, too close to tell which was first\n",
                      set.data);
    }
    print_followers(page, places, find_failed_together(page, true, places));
}

/* Its last lines are above. The very last one stays, where no exception stands in its place. */
static void print_last_line(const struct jr_page *page, size_t i)
{
    const struct jr_plan_rank *rank = jr_plan_of(page->plan, i);
    JR_BUF_CLEANUP struct jr_buf tail = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf prefix = JR_BUF_INIT;
    jr_buf_str(&prefix, rank->prefix == NULL ? "" : rank->prefix);
    while (prefix.len > 0 && prefix.data[prefix.len - 1] == ' ')
        prefix.data[--prefix.len] = '\0';
    jr_buf_str(page->out, "  last lines of stderr: above");
    jr_buf_str(page->out, prefix.len > 0 ? ", behind " : "");
    if (prefix.len > 0)
        jr_print_text(page, prefix.data);
    jr_buf_char(page->out, '\n');
    if (page->report->ranks[i].error_file || rank->err_path == NULL)
        return;
    jr_run_file_tail(&tail, page->run_fd, rank->err_path, 1);
    while (tail.len > 0 && tail.data[tail.len - 1] == '\n')
        tail.len--;
    if (tail.len > 0)
        print_log_line(page, tail.data, tail.len);
}

static void print_output(const struct jr_page *page, size_t i)
{
    const struct jr_plan_rank *rank = jr_plan_of(page->plan, i);
    const bool *silent = page->outcome->ranks[i].silent;
    if (page->report->ranks[i].log_secret) {
        jr_buf_str(page->out, "  the last lines of its logs contain the value "
                              "of a secret, and are not shown\n");
        return;
    }
    if (page->outcome->ranks[i].on_screen) {
        print_last_line(page, i);
        return;
    }
    if (!print_tail(page, rank->err_path, "stderr") &&
        !print_tail(page, rank->out_path, "stdout") && (rank->err_path != NULL || silent[1]) &&
        (rank->out_path != NULL || silent[0]))
        jr_buf_str(page->out, "  it wrote nothing to stdout and stderr\n");
}

void jr_print_rank(const struct jr_page *page, size_t i)
{
    const struct jr_plan_rank *rank = jr_plan_of(page->plan, i);
    print_identity(page, i);
    print_exception(page, i);
    print_loss(page, i);
    if (page->outcome->ranks[i].pid == 0)
        print_node_logs(page, rank->node_rank);
    else if (!page->report->ranks[i].unstarted) /* else it has said no more */
        print_output(page, i);
}

void jr_print_cause(const struct jr_page *page)
{
    jr_print_rank(page, page->report->causes[0]);
    print_failed_together(page);
}

static bool holds_something(const struct jr_page *page, const char *path)
{
    JR_BUF_CLEANUP struct jr_buf tail = JR_BUF_INIT;
    if (path != NULL)
        jr_run_file_tail(&tail, page->run_fd, path, 1);
    return tail.len > 0;
}

const char *jr_print_log(const struct jr_page *page, const struct jr_plan_rank *rank)
{
    if (holds_something(page, rank->err_path))
        return rank->err_path;
    return holds_something(page, rank->out_path) ? rank->out_path : NULL;
}

/* The first rank that was stopped and died by something else; the count of all if there is none. */
static size_t find_crashed(const struct jr_page *page)
{
    size_t i = 0;
    while (i < page->report->count && (page->report->ranks[i].state != JR_RANK_STOPPED ||
                                       !jr_words_crashed(&page->outcome->ranks[i])))
        i++;
    return i;
}

/* " (SIGTERM; rank 6 needed SIGKILL; rank 2 died by SIGSEGV)" */
static void add_stopped_ranks(struct jr_buf *out, const struct jr_page *page, size_t first,
                              size_t count)
{
    (void)first;
    (void)count;
    JR_BUF_CLEANUP struct jr_buf killed = JR_BUF_INIT;
    int signal = 0;
    char name[JR_SIGNAL_NAME];
    for (size_t i = 0; signal == 0 && i < page->report->count; i++)
        if (page->report->ranks[i].state == JR_RANK_STOPPED)
            signal = page->outcome->ranks[i].stopped_with;
    size_t needed = add_group(&killed, page, &(struct group){JR_RANK_STOPPED, KILLED}, NULL);
    size_t crashed = find_crashed(page);
    if (signal == 0 && needed == 0)
        return;
    jr_signal_name(name, signal == 0 ? SIGKILL : signal);
    jr_buf_printf(out, " (%s", name);
    if (signal != 0 && signal != SIGKILL && needed > 0)
        jr_buf_printf(out, "; %s needed SIGKILL", killed.data);
    if (crashed < page->report->count) {
        jr_buf_printf(out, "; rank %u ", jr_plan_of(page->plan, crashed)->rank);
        jr_words_rank_end(out, &page->outcome->ranks[crashed]);
    }
    jr_buf_char(out, ')');
}

/* ": exited with code 1", for several with the number of the first. */
static void add_first_end(struct jr_buf *out, const struct jr_page *page, size_t i, size_t count)
{
    const char *error = page->report->ranks[i].error;
    jr_buf_str(out, ": ");
    if (count > 1)
        jr_buf_printf(out, "rank %u ", jr_plan_of(page->plan, i)->rank);
    if (page->outcome->ranks[i].end == JR_END_START && error != NULL)
        jr_buf_safe(out, error);
    else
        jr_words_rank_end(out, &page->outcome->ranks[i]);
}

static void add_reason(struct jr_buf *out, const struct jr_page *page, size_t i, size_t count)
{
    const char *reason = page->report->ranks[i].reason;
    if (reason == NULL)
        return;
    jr_buf_str(out, ": ");
    if (count > 1)
        jr_buf_printf(out, "rank %u: ", jr_plan_of(page->plan, i)->rank);
    jr_buf_safe(out, reason);
}

/* " its checkpoint: its steps of this attempt, up to step 57, are lost" */
static void add_lost_steps(struct jr_buf *out, const struct jr_page *page, size_t first,
                           size_t count)
{
    const struct jr_progress *progress = page->outcome->progress;
    const char *whose = count == 1 ? "its" : "their";
    (void)first;
    jr_buf_printf(out, " %s checkpoint", whose);
    if (progress == NULL || !progress->job.any)
        return;
    jr_buf_printf(out, ": %s steps of this attempt, up to step %" PRId64 ", are lost", whose,
                  progress->job.best);
}

struct kind {
    struct group group;
    const char *text;
    void (*detail)(struct jr_buf *out, const struct jr_page *page, size_t first, size_t count);
};

/* How those had ended that had by the first failure. */
static const struct kind early_kinds[] = {
    {{JR_RANK_INCOMPLETE, EARLY}, "had ended with 0 without delivering", add_reason},
    {{JR_RANK_SUCCEEDED, EARLY}, "had ended with 0", NULL},
};

/* The ends in the order in which they are printed. */
static const struct kind kinds[] = {
    {{JR_RANK_STOPPED, ALL}, "stopped by jobrun", add_stopped_ranks},
    {{JR_RANK_AFTER_FIRST_FAILURE, ALL}, "failed after the first failure", add_first_end},
    {{JR_RANK_INCOMPLETE, NOT_EARLY}, "ended with 0 but did not deliver", add_reason},
    {{JR_RANK_NOT_STARTED, ALL}, "not started", NULL},
    {{JR_RANK_YIELDED, CUT_OFF}, "preempted before", add_lost_steps},
    {{JR_RANK_YIELDED, NOT_CUT_OFF}, "stopped for the deadline", NULL},
    {{JR_RANK_SUCCEEDED, NOT_EARLY}, "succeeded", NULL},
};

/* Print a line for each kind that there is, with the label before the first. */
static void print_kinds(const struct jr_page *page, const char *label, const struct kind *list,
                        size_t count)
{
    for (const struct kind *kind = list; kind < list + count; kind++) {
        JR_BUF_CLEANUP struct jr_buf set = JR_BUF_INIT;
        size_t first = 0, ranks = add_group(&set, page, &kind->group, &first);
        if (ranks == 0)
            continue;
        jr_buf_printf(page->out, "  %-*s%s %s", label == NULL ? 0 : 12, label == NULL ? "" : label,
                      set.data, kind->text);
        if (kind->detail != NULL)
            kind->detail(page->out, page, first, ranks);
        jr_buf_char(page->out, '\n');
        label = label == NULL ? NULL : "";
    }
}

void jr_print_early(const struct jr_page *page)
{
    print_kinds(page, "by then:", early_kinds, sizeof early_kinds / sizeof *early_kinds);
}

void jr_print_others(const struct jr_page *page, const char *label)
{
    print_kinds(page, label, kinds, sizeof kinds / sizeof *kinds);
}
