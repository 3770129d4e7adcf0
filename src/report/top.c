#include "report/top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "judge/read_left.h"
#include "output/sanitize.h"

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

static void measure_rank(struct jr_top_row *row, const struct jr_proc *all,
                         size_t count, const struct jr_live_rank *rank,
                         uint64_t passed_ns)
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
    row->load = passed_ns == 0 || cpu < before
                    ? 0
                    : (double)(cpu - before) / (double)passed_ns;
}

/* Another attempt may have another plan. */
static bool fit_rows(struct jr_top *top)
{
    if (top->count == top->crew.count && top->rows != NULL)
        return true;
    free(top->rows);
    top->count = top->crew.count;
    top->rows = calloc(top->count + 1, sizeof *top->rows);
    top->looked_ns = 0;
    return top->rows != NULL;
}

void jr_top_look(struct jr_top *top)
{
    size_t count = 0;
    jr_live_ranks_update(&top->crew);
    if (!fit_rows(top))
        return;
    uint64_t now = jr_clock_ns();
    uint64_t passed = top->looked_ns == 0 ? 0 : now - top->looked_ns;
    JR_FREE struct jr_proc *all = jr_proc_all(&count);
    for (size_t i = 0; i < top->count; i++) {
        const struct jr_live_rank *rank = &top->crew.items[i];
        struct jr_top_row *row = &top->rows[i];
        row->lives =
            all != NULL && jr_live_ranks_lives(&top->crew, rank, all, count);
        row->silence = jr_live_ranks_silence(&top->crew, rank);
        if (row->lives)
            measure_rank(row, all, count, rank, passed);
    }
    top->looked_ns = now;
}

static const char *state_word(const struct jr_live_rank *rank,
                              const struct jr_top_row *row)
{
    if (!row->lives)
        return rank->ended || rank->pid != 0 ? "ended" : "not here";
    switch (row->state) {
    case 'R':
        return "running";
    case 'S':
    case 'I':
        return "waiting";
    case 'D':
        return "blocked";
    case 'T':
    case 't':
        return "stopped";
    default:
        return "ending";
    }
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

/* The last line of the log that was written last. */
static void add_last_line(struct jr_buf *out, const struct jr_live_ranks *crew,
                          const struct jr_live_rank *rank)
{
    JR_BUF_CLEANUP struct jr_buf tail = JR_BUF_INIT;
    const char *path = jr_live_ranks_latest(crew, rank);
    if (path != NULL)
        jr_read_left_tail(&tail, crew->run_fd, path, 1);
    if (tail.len == 0)
        return;
    size_t len = tail.len;
    const char *line = jr_sanitize_redrawn(tail.data, &len);
    jr_buf_escaped(out, line, len < LAST_LINE_MOST ? len : LAST_LINE_MOST);
}

/* One line, cut where the columns end; 0: they do not. */
static void add_cut_line(struct jr_buf *out, const struct jr_buf *line,
                         unsigned columns)
{
    size_t len =
        columns == 0 ? line->len : jr_utf8_fit(line->data, line->len, columns);
    while (len > 0 && line->data[len - 1] == ' ')
        len--;
    jr_buf_add(out, line->data, len);
    jr_buf_char(out, '\n');
}

static void add_rank_row(struct jr_buf *out, const struct jr_top *top, size_t i,
                         unsigned columns)
{
    const struct jr_live_rank *rank = &top->crew.items[i];
    const struct jr_top_row *row = &top->rows[i];
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    jr_buf_printf(&line, "%6u  ", rank->rank);
    if (row->lives) {
        jr_buf_printf(&line, "%8d  %-8s  %4.0f %%  ", (int)rank->pid,
                      state_word(rank, row), row->load * 100);
        add_size(&line, row->rss_bytes);
    } else {
        jr_buf_printf(&line, "%8s  %-8s  %6s  %8s", "-", state_word(rank, row),
                      "-", "-");
    }
    add_silence_column(&line, row->silence);
    jr_buf_str(&line, "  ");
    add_last_line(&line, &top->crew, rank);
    out->failed |= line.failed;
    if (!line.failed)
        add_cut_line(out, &line, columns);
}

/* How long a living rank has been silent; for others this does not matter. */
static double silence_weight(const struct jr_top_row *row)
{
    return row->lives ? row->silence : -2;
}

static int compare_weights(const void *a, const void *b, void *data)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const struct jr_top_row *rows = data;
    double first = silence_weight(&rows[x]), second = silence_weight(&rows[y]);
    if (first > second || first < second)
        return first > second ? -1 : 1;
    return (x > y) - (x < y);
}

static int compare_indexes_of(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static void add_summary(struct jr_buf *out, const struct jr_top *top,
                        unsigned columns)
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
    jr_buf_printf(&line, "%zu of %zu ranks live, %.1f CPUs, ", lives,
                  top->count, load);
    add_size(&line, rss);
    if (!line.failed)
        add_cut_line(out, &line, columns);
}

void jr_top_print(struct jr_buf *out, const struct jr_top *top,
                  const struct jr_top_size *size)
{
    static const char heading[] = "  rank       pid  state        CPU    "
                                  "memory    silent  last line";
    struct jr_buf head = {.data = (char *)(uintptr_t)heading,
                          .len = sizeof heading - 1};
    JR_FREE size_t *order = calloc(top->count + 1, sizeof *order);
    size_t shown = top->count;
    if (order == NULL || top->rows == NULL)
        return;
    for (size_t i = 0; i < top->count; i++)
        order[i] = i;
    if (size->lines > 0 && shown + HEADING_LINES > size->lines) {
        size_t room = HEADING_LINES + 1; /* and the line that counts */
        shown = size->lines > room ? size->lines - room : 1;
        qsort_r(order, top->count, sizeof *order, compare_weights, top->rows);
        qsort(order, shown, sizeof *order, compare_indexes_of);
    }
    add_summary(out, top, size->columns);
    add_cut_line(out, &head, size->columns);
    for (size_t i = 0; i < shown; i++)
        add_rank_row(out, top, order[i], size->columns);
    if (shown < top->count)
        jr_buf_printf(out, "and %zu more, none silent for longer\n",
                      top->count - shown);
}

int jr_top_open(struct jr_top *ret, const char *log_dir, const char *id,
                int32_t guard, struct jr_error *err)
{
    *ret = (struct jr_top){0};
    return jr_live_ranks_open(&ret->crew, log_dir, id, guard, err);
}

void jr_top_close(struct jr_top *top)
{
    jr_live_ranks_close(&top->crew);
    free(top->rows);
    *top = (struct jr_top){0};
}
