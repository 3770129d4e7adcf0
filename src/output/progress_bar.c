#include "output/progress_bar.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"

#include "base/banned.h"

enum { BAR_LEAST = 4, BAR_MOST = 22, MOST_METRICS = 3 };

/* The parts of the line, as they follow one another. */
enum part {
    PART_NAME,
    PART_STEP,
    PART_PERCENT,
    PART_BAR,
    PART_RATE,
    PART_LEFT,
    PART_METRICS,
    PART_BEHIND = PART_METRICS + MOST_METRICS,
    PARTS
};

/* The parts that are left out where there is too little room, in this order; the step is not among
 * them. */
static const enum part least_first[] = {PART_METRICS + 2, PART_METRICS + 1, PART_BEHIND,
                                        PART_NAME,        PART_METRICS,     PART_RATE,
                                        PART_BAR,         PART_PERCENT,     PART_LEFT};

struct bar_line {
    const struct jr_progress_bar *bar;
    struct jr_buf texts[PARTS]; /* empty: it is left out */
    unsigned width;             /* columns of the bar; 0: there is none */
};

static unsigned gap_before(enum part part)
{
    return part > PART_BAR ? 3 : 2;
}

/* Columns of the line as it is. */
static size_t bar_line_width(const struct bar_line *line)
{
    size_t width = 0;
    for (enum part part = 0; part < PARTS; part++) {
        const struct jr_buf *text = &line->texts[part];
        size_t own = part == PART_BAR ? line->width
                     : text->len == 0 ? 0
                                      : jr_utf8_columns(text->data, text->len);
        if (own > 0)
            width += own + (width > 0 ? gap_before(part) : 0);
    }
    return width;
}

/* Leave out parts until the line fits, then give the bar what room is left. */
static void fit_line(struct bar_line *line, unsigned columns)
{
    for (size_t i = 0;
         i < sizeof least_first / sizeof *least_first && bar_line_width(line) > columns; i++) {
        if (least_first[i] == PART_BAR)
            line->width = 0;
        else
            jr_buf_clear(&line->texts[least_first[i]]);
    }
    if (bar_line_width(line) > columns)
        jr_buf_clear(&line->texts[PART_STEP]);
    while (line->width > 0 && line->width < BAR_MOST && bar_line_width(line) < columns)
        line->width++;
}

/* What is done of all steps, 0 to 1. */
static double part_done(const struct jr_progress_bar *bar)
{
    double part = (double)bar->step / (double)bar->of;
    return part < 0 ? 0 : part > 1 ? 1 : part;
}

static void add_bar(struct jr_buf *out, const struct bar_line *line, bool plain)
{
    double part = part_done(line->bar);
    unsigned halves = (unsigned)(part * 2 * line->width);
    for (unsigned i = 0; i < line->width; i++) {
        bool full = 2 * i + 1 < halves, half = 2 * i + 1 == halves;
        if (plain)
            jr_buf_char(out, full ? '#' : '.');
        else
            jr_buf_str(out, full ? "━" : half ? "╸" : " ");
    }
}

/* "12.4 steps/s"; where they are slow "8s/step". */
static void add_rate(struct jr_buf *out, double rate)
{
    if (!(rate > 0) || !isfinite(1 / rate))
        return;
    if (rate >= 1)
        jr_buf_printf(out, rate >= 99.95 ? "%.0f steps/s" : "%.1f steps/s", rate);
    else if (1 / rate < 10)
        jr_buf_printf(out, "%.1f s/step", 1 / rate);
    else if (1 / rate < 1e9) {
        jr_num_add_duration(out, (uint64_t)(1 / rate) * 1000);
        jr_buf_str(out, "/step");
    }
}

/* "left 2m54s": to the second, from an hour on to the minute. */
static void add_left(struct jr_buf *out, const struct jr_progress_bar *bar)
{
    const uint64_t second = UINT64_C(1000000000);
    if (!bar->timed)
        return;
    uint64_t seconds = bar->left_ns / second + (bar->left_ns % second >= second / 2);
    if (seconds >= 3600)
        seconds -= seconds % 60;
    jr_buf_str(out, "left ");
    if (seconds == 0)
        jr_buf_str(out, "0s");
    else
        jr_num_add_duration(out, seconds * 1000);
}

static void make_parts(struct bar_line *line)
{
    const struct jr_progress_bar *bar = line->bar;
    jr_buf_safe(&line->texts[PART_NAME], bar->name);
    jr_buf_printf(&line->texts[PART_STEP], "step %" PRId64, bar->step);
    if (bar->of > 0) {
        jr_buf_printf(&line->texts[PART_STEP], "/%" PRId64, bar->of);
        jr_buf_printf(&line->texts[PART_PERCENT], "%u %%", (unsigned)(100 * part_done(bar)));
        line->width = BAR_LEAST;
    }
    add_rate(&line->texts[PART_RATE], bar->rate);
    add_left(&line->texts[PART_LEFT], bar);
    for (size_t i = 0; i < bar->metrics_count && i < MOST_METRICS; i++) {
        struct jr_buf *out = &line->texts[PART_METRICS + i];
        jr_buf_safe(out, bar->metrics[i].name);
        jr_buf_printf(out, " %.4g", bar->metrics[i].value);
    }
    if (bar->behind > 0)
        jr_buf_printf(&line->texts[PART_BEHIND], "rank %" PRIu32 " is %" PRId64 " step%s behind",
                      bar->slowest, bar->behind, bar->behind == 1 ? "" : "s");
}

static void join_parts(struct jr_buf *out, const struct bar_line *line, bool plain)
{
    size_t begin = out->len;
    for (enum part part = 0; part < PARTS; part++) {
        const struct jr_buf *text = &line->texts[part];
        bool bar = part == PART_BAR && line->width > 0;
        if (!bar && text->len == 0)
            continue;
        for (unsigned i = 0; out->len > begin && i < gap_before(part); i++)
            jr_buf_char(out, ' ');
        if (bar)
            add_bar(out, line, plain);
        else
            jr_buf_add(out, text->data, text->len);
    }
}

void jr_progress_bar_add(struct jr_buf *out, const struct jr_progress_bar *bar, unsigned columns,
                         bool plain)
{
    struct bar_line line = {.bar = bar};
    make_parts(&line);
    fit_line(&line, columns);
    join_parts(out, &line, plain);
    for (enum part part = 0; part < PARTS; part++) {
        out->failed = out->failed || line.texts[part].failed;
        jr_buf_release(&line.texts[part]);
    }
}

void jr_progress_bar_of(struct jr_progress_bar *ret,
                        struct jr_progress_metric metrics[static JR_METRICS_MOST], const char *name,
                        const struct jr_progress *progress)
{
    const struct jr_steps *job = &progress->job;
    size_t count = 0;
    for (uint32_t i = 0; i < progress->names_count; i++)
        if ((job->metrics & UINT32_C(1) << i) != 0) /* it has a value */
            metrics[count++] = (struct jr_progress_metric){progress->names[i], job->values[i]};
    *ret = (struct jr_progress_bar){.name = name,
                                    .step = job->step,
                                    .of = job->of,
                                    .rate = job->rate,
                                    .metrics = metrics,
                                    .metrics_count = count,
                                    .slowest = progress->slowest,
                                    .behind = progress->all ? progress->behind : 0};
    ret->timed = ret->step < ret->of && jr_steps_left(job, &ret->left_ns);
}

bool jr_progress_bar_stand(struct jr_console_writer *console, const char *name,
                           const struct jr_progress *progress, bool utf8)
{
    struct jr_progress_metric metrics[JR_METRICS_MOST];
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (progress == NULL || !progress->job.any)
        return false;
    struct jr_progress_bar bar;
    jr_progress_bar_of(&bar, metrics, name, progress);
    jr_progress_bar_add(&text, &bar, jr_console_writer_columns(console), !utf8);
    if (!text.failed && text.len > 0)
        jr_console_writer_stand(console, text.data);
    return true;
}
