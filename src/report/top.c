#include "report/top.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/names.h"
#include "base/utf8.h"
#include "judge/judge.h"
#include "output/sanitize.h"
#include "record/record_folder.h"
#include "store/progress.h"

#include "base/banned.h"

enum { FAMILY = 64, HEADING_LINES = 2, LAST_LINE_MOST = 4096 };

/* A rank as it was seen last. */
struct jr_top_row {
    bool lives;
    char state;
    uint64_t cpu_ns, rss_bytes;
    double load;    /* processors that it used since the look before */
    double silence; /* seconds; -1: it wrote nothing */
};

/* Seconds since the boot, which is what processes' start times count from. */
static uint64_t uptime_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static uint64_t age_ns(const struct jr_proc *proc)
{
    uint64_t tick = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
    uint64_t began = proc->start_ticks * tick, now = uptime_ns();
    return now > began ? now - began : 0;
}

static void measure_rank(struct jr_top_row *row, const struct jr_proc *all, size_t count,
                         const struct jr_live_rank *rank, uint64_t passed_ns)
{
    size_t family[FAMILY];
    size_t found = jr_proc_family(all, count, rank->pid, family, FAMILY);
    uint64_t before = row->cpu_ns, cpu = 0, rss = 0;
    for (size_t i = 0; i < found; i++) {
        cpu += all[family[i]].cpu_ns;
        rss += all[family[i]].rss_bytes;
    }
    if (passed_ns == 0 || before == 0) {
        before = 0;
        passed_ns = age_ns(&all[family[0]]);
    }
    row->state = all[family[0]].state;
    row->cpu_ns = cpu;
    row->rss_bytes = rss;
    row->load = passed_ns == 0 || cpu < before ? 0 : (double)(cpu - before) / (double)passed_ns;
}

/* Another attempt may have another plan. */
static bool fit_rows(struct jr_top *top)
{
    if (top->count == top->live.count && top->rows != NULL)
        return true;
    free(top->rows);
    top->count = top->live.count;
    top->rows = calloc(top->count + 1, sizeof *top->rows);
    top->looked_ns = 0;
    return top->rows != NULL;
}

/* How far the job is, and each rank where several are watched. */
static void look_at_progress(struct jr_top *top)
{
    json_t *object = jr_record_folder_progress(top->live.run_fd);
    const json_t *ranks = json_object_get(object, "ranks");
    jr_progress_free(top->progress);
    top->progress = object == NULL ? NULL : jr_progress_new((uint32_t)top->live.count);
    if (top->progress != NULL)
        jr_progress_get(top->progress, object);
    for (size_t n = 0; top->progress != NULL && n < json_array_size(ranks); n++) {
        const json_t *row = json_array_get(ranks, n);
        const struct jr_live_rank *rank =
            jr_live_ranks_find(&top->live, jr_json_get_int(row, "rank"));
        if (rank != NULL)
            jr_progress_get_rank(&top->progress->ranks[rank - top->live.items], top->progress, row);
    }
    json_decref(object);
}

void jr_top_look(struct jr_top *top)
{
    size_t count = 0;
    jr_live_ranks_update(&top->live);
    if (!fit_rows(top))
        return;
    uint64_t now = jr_clock_ns();
    uint64_t passed = top->looked_ns == 0 ? 0 : now - top->looked_ns;
    JR_FREE struct jr_proc *all = jr_proc_all(&count);
    for (size_t i = 0; i < top->count; i++) {
        const struct jr_live_rank *rank = &top->live.items[i];
        struct jr_top_row *row = &top->rows[i];
        row->lives = all != NULL && jr_live_ranks_lives(&top->live, rank, all, count);
        row->silence = jr_live_ranks_silence(&top->live, rank);
        if (row->lives)
            measure_rank(row, all, count, rank, passed);
    }
    top->looked_ns = now;
    look_at_progress(top);
    uint64_t wall = jr_clock_wall_ns(), began = top->live.started_ns;
    top->elapsed_ns = wall > began && began > 0 ? wall - began : 0;
}

/* What a living process does, by the letter of proc(5), the least usual first.
 */
struct state_word {
    const char *letters, *word;
};

static const struct state_word states[] = {
    {"Tt", "stopped"}, {"D", "blocked"}, {"ZXx", "ending"}, {"R", "running"}, {"SI", "waiting"}};

enum { STATES = sizeof states / sizeof *states };

static int state_index(char letter)
{
    for (int i = 0; i < STATES; i++)
        if (letter != '\0' && strchr(states[i].letters, letter) != NULL)
            return i;
    return 2;
}

/* In this order ranks are sorted by state. */
static int state_weight(const struct jr_live_rank *rank, const struct jr_top_row *row)
{
    if (row->lives)
        return state_index(row->state);
    if (rank->ended)
        return rank->signal != 0 ? STATES : rank->exit_code != 0 ? STATES + 1 : STATES + 2;
    return STATES + 3;
}

static void add_state(struct jr_buf *out, const struct jr_live_rank *rank,
                      const struct jr_top_row *row)
{
    char word[JR_SIGNAL_NAME];
    if (row->lives)
        (void)snprintf(word, sizeof word, "%s", states[state_index(row->state)].word);
    else if (rank->ended && rank->signal != 0)
        jr_signal_name(word, rank->signal);
    else if (rank->ended)
        (void)snprintf(word, sizeof word, "exit %d", rank->exit_code);
    else
        (void)snprintf(word, sizeof word, "%s", rank->pid != 0 ? "ended" : "not here");
    jr_buf_printf(out, "%-10s", word);
}

static void add_size(struct jr_buf *out, uint64_t bytes)
{
    static const char units[] = "KMGTP";
    double value = (double)bytes / 1024;
    size_t unit = 0;
    while (value >= 9999.5 && unit + 2 < sizeof units) {
        value /= 1024;
        unit++;
    }
    jr_buf_printf(out, "%4.0f %ciB", value, units[unit]);
}

/* "12.4 s", or nothing, in ten columns. */
static void add_silence_column(struct jr_buf *out, double silence)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (silence >= 0)
        jr_clock_human(&text, jr_clock_ns_of(silence));
    jr_buf_printf(out, "%10s", text.len > 0 ? text.data : "-");
}

/* Where several ranks are watched, the step of each and its rate. */
static void add_step_column(struct jr_buf *out, const struct jr_top *top, size_t i)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (top->progress == NULL || !top->progress->all)
        return;
    const struct jr_steps *steps = i < top->progress->count ? &top->progress->ranks[i] : NULL;
    if (steps != NULL && steps->any)
        jr_buf_printf(&text, "%" PRId64, steps->step);
    if (steps != NULL && steps->any && steps->rate > 0)
        jr_buf_printf(&text, " %.3g/s", steps->rate);
    jr_buf_printf(out, "  %16s", text.len > 0 ? text.data : "-");
}

/* The last line of the log that was written last. */
static void add_last_line(struct jr_buf *out, const struct jr_live_ranks *live,
                          const struct jr_live_rank *rank)
{
    JR_BUF_CLEANUP struct jr_buf tail = JR_BUF_INIT;
    const char *path = jr_live_ranks_latest(live, rank);
    if (path != NULL)
        jr_run_file_tail(&tail, live->run_fd, path, 1);
    if (tail.len == 0)
        return;
    size_t len = tail.len;
    const char *line = jr_sanitize_redrawn(tail.data, &len);
    jr_buf_escaped(out, line, len < LAST_LINE_MOST ? len : LAST_LINE_MOST);
}

/* One line, cut where the columns end; 0: they do not. */
static void add_cut_line(struct jr_buf *out, const struct jr_buf *line, unsigned columns)
{
    size_t len = columns == 0 ? line->len : jr_utf8_fit(line->data, line->len, columns);
    while (len > 0 && line->data[len - 1] == ' ')
        len--;
    jr_buf_add(out, line->data, len);
    jr_buf_char(out, '\n');
}

/* The same, but cut where a part of it ends: at a comma, a semicolon or a gap.
 */
static void add_cut_parts(struct jr_buf *out, struct jr_buf *line, unsigned columns)
{
    size_t len = columns == 0 ? line->len : jr_utf8_fit(line->data, line->len, columns);
    size_t end = len;
    while (len < line->len && end > 0 && strncmp(line->data + end, ", ", 2) != 0 &&
           strncmp(line->data + end, "; ", 2) != 0 && strncmp(line->data + end, "  ", 2) != 0)
        end--;
    if (end > 0)
        line->len = end;
    add_cut_line(out, line, columns);
}

static void add_rank_row(struct jr_buf *out, const struct jr_top *top, size_t i, unsigned columns)
{
    const struct jr_live_rank *rank = &top->live.items[i];
    const struct jr_top_row *row = &top->rows[i];
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    jr_buf_printf(&line, "%6u  ", rank->rank);
    add_state(&line, rank, row);
    if (row->lives) {
        jr_buf_printf(&line, "%9d  %4.0f %%  ", (int)rank->pid, row->load * 100);
        add_size(&line, row->rss_bytes);
    } else {
        jr_buf_printf(&line, "%9s  %6s  %8s", "-", "-", "-");
    }
    add_silence_column(&line, row->silence);
    add_step_column(&line, top, i);
    jr_buf_str(&line, "  ");
    add_last_line(&line, &top->live, rank);
    out->failed |= line.failed;
    if (!line.failed)
        add_cut_line(out, &line, columns);
}

/* What the order is made of. */
struct order {
    const struct jr_top *top;
    enum jr_top_sort sort;
    bool reversed;
};

/* Ranks with more come first. What they had before they ended does not count.
 */
static double rank_weight(const struct order *order, size_t i)
{
    const struct jr_live_rank *rank = &order->top->live.items[i];
    const struct jr_top_row *row = &order->top->rows[i];
    switch (order->sort) {
    case JR_TOP_BY_STATE:
        return -state_weight(rank, row);
    case JR_TOP_BY_CPU:
        return row->lives ? row->load : -1;
    case JR_TOP_BY_MEMORY:
        return row->lives ? (double)row->rss_bytes : -1;
    case JR_TOP_BY_SILENCE:
        return row->lives ? row->silence : -2;
    case JR_TOP_BY_RANK:
    case JR_TOP_SORT_COUNT:
        break;
    }
    return -(double)rank->rank;
}

static int compare_weights(const void *a, const void *b, void *data)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const struct order *order = data;
    double first = rank_weight(order, x), second = rank_weight(order, y);
    if (first > second || first < second)
        return (first > second) == order->reversed ? 1 : -1;
    return (x > y) - (x < y);
}

/* Hours, minutes and seconds: 1:02:03. */
static void add_elapsed(struct jr_buf *out, uint64_t ns)
{
    uint64_t seconds = ns / 1000000000;
    jr_buf_printf(out, "%" PRIu64 ":%02u:%02u", seconds / 3600, (unsigned)(seconds / 60 % 60),
                  (unsigned)(seconds % 60));
}

static void add_summary(struct jr_buf *out, const struct jr_top *top, unsigned columns)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    size_t lives = 0;
    double load = 0;
    uint64_t rss = 0;
    for (size_t i = 0; i < top->count; i++) {
        if (!top->rows[i].lives)
            continue;
        lives++;
        load += top->rows[i].load;
        rss += top->rows[i].rss_bytes;
    }
    if (top->live.name != NULL)
        jr_buf_escaped(&line, top->live.name, strlen(top->live.name));
    jr_buf_str(&line, line.len > 0 ? "  " : "");
    add_elapsed(&line, top->elapsed_ns);
    jr_buf_printf(&line, "  %zu of %zu ranks live, %.1f CPUs, ", lives, top->count, load);
    add_size(&line, rss);
    if (top->progress != NULL && top->progress->job.any) {
        jr_buf_str(&line, "  ");
        jr_progress_words(&line, top->progress, false, false);
    }
    if (!line.failed)
        add_cut_parts(out, &line, columns);
}

static void add_heading(struct jr_buf *out, const struct jr_top *top, unsigned columns)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    bool steps = top->progress != NULL && top->progress->all;
    jr_buf_str(&line, "  rank  state            pid     CPU    memory    silent  ");
    jr_buf_str(&line, steps ? "      step, rate  last line" : "last line");
    if (!line.failed)
        add_cut_line(out, &line, columns);
}

/* Which ranks are shown, and what may be typed. */
static void add_footer(struct jr_buf *out, const struct jr_top *top, const struct jr_top_view *view,
                       enum jr_top_sort sort)
{
    static const struct {
        char key;
        const char *word;
    } sorts[] = {
#define ROW(name, key, word) {key, word},
        JR_TOP_SORTS(ROW)
#undef ROW
    };
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    size_t first = view->page == 0 ? 0 : view->first + 1;
    jr_buf_printf(&line, "%zu-%zu of %zu, by %s", first, view->first + view->page, top->count,
                  sorts[sort].word);
    if (view->keys) {
        jr_buf_str(&line, view->page < top->count ? "  q quit  arrows " : "  q quit ");
        for (size_t i = 0; i < JR_TOP_SORT_COUNT; i++)
            jr_buf_printf(&line, " %c %s", sorts[i].key, sorts[i].word);
    }
    if (!line.failed)
        add_cut_line(out, &line, view->columns);
}

/* How the lines of a view are used. */
struct layout {
    bool heading, footer;
    size_t rows;
};

static struct layout lay_out(const struct jr_top_view *view, size_t count)
{
    struct layout layout = {.heading = true, .rows = count};
    if (view->lines == 0)
        return layout;
    layout.heading = view->lines >= 4;
    layout.footer = view->lines >= 3 && (view->keys || count + HEADING_LINES > view->lines);
    size_t room = view->lines - 1 - layout.heading - layout.footer;
    layout.rows = count < room ? count : room;
    return layout;
}

/* The ranks in their order; NULL without memory. The caller frees them. */
static size_t *order_ranks(const struct jr_top *top, enum jr_top_sort sort, bool reversed)
{
    struct order order = {top, sort, reversed};
    size_t *ranks = calloc(top->count + 1, sizeof *ranks);
    for (size_t i = 0; ranks != NULL && i < top->count; i++)
        ranks[i] = i;
    if (ranks != NULL && top->count > 0)
        qsort_r(ranks, top->count, sizeof *ranks, compare_weights, &order);
    return ranks;
}

void jr_top_print(struct jr_buf *out, const struct jr_top *top, struct jr_top_view *view)
{
    if (top->rows == NULL)
        return;
    struct layout layout = lay_out(view, top->count);
    enum jr_top_sort sort = view->chosen                ? view->sort
                            : layout.rows == top->count ? JR_TOP_BY_RANK
                                                        : JR_TOP_BY_SILENCE;
    JR_FREE size_t *ranks = order_ranks(top, sort, view->reversed);
    if (ranks == NULL)
        return;
    view->page = layout.rows;
    if (view->first > top->count - layout.rows)
        view->first = top->count - layout.rows;
    add_summary(out, top, view->columns);
    if (layout.heading)
        add_heading(out, top, view->columns);
    for (size_t i = 0; i < layout.rows; i++)
        add_rank_row(out, top, ranks[view->first + i], view->columns);
    if (layout.footer)
        add_footer(out, top, view, sort);
}

int jr_top_open(struct jr_top *ret, const char *log_dir, const char *id, int32_t guard,
                struct jr_error *err)
{
    *ret = (struct jr_top){0};
    return jr_live_ranks_open(&ret->live, log_dir, id, guard, err);
}

void jr_top_close(struct jr_top *top)
{
    jr_live_ranks_close(&top->live);
    jr_progress_free(top->progress);
    free(top->rows);
    *top = (struct jr_top){0};
}
