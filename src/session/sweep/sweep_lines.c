#include "session/sweep/sweep_lines.h"

#include <string.h>

#include "base/num.h"
#include "base/utf8.h"
#include "output/progress_bar.h"

#include "base/banned.h"

enum { GAP = 2, LEAST_VALUES = 8 };

#define SECOND UINT64_C(1000000000)

/* Append as much of a text as fits. */
static void add_cut(struct jr_buf *out, const struct jr_buf *text, size_t columns)
{
    if (text->data != NULL)
        jr_buf_add(out, text->data, jr_utf8_fit(text->data, text->len, columns));
    out->failed |= text->failed;
}

static size_t width_of(const struct jr_buf *text)
{
    return text->len == 0 ? 0 : jr_utf8_columns(text->data, text->len);
}

/* "step 410/800  51 %  left 31s", in at most so many columns; where it comes to
 * nothing, in `most`; and else how long the cell has been running.
 */
static void add_cell_progress(struct jr_buf *out, const struct jr_cell_line *line, size_t columns,
                              size_t most)
{
    struct jr_progress_metric metrics[JR_METRICS_MOST];
    struct jr_progress_bar bar;
    if (line->progress != NULL && line->progress->job.any) {
        jr_progress_bar_of(&bar, metrics, "", line->progress);
        jr_progress_bar_add(out, &bar, (unsigned)columns, !line->utf8);
        if (out->len == 0)
            jr_progress_bar_add(out, &bar, (unsigned)most, !line->utf8);
    }
    if (out->len > 0)
        return;
    struct jr_buf time JR_BUF_CLEANUP = JR_BUF_INIT;
    uint64_t seconds = line->elapsed_ns / SECOND;
    if (seconds == 0)
        jr_buf_str(&time, "0s");
    else
        jr_num_add_duration(&time, seconds * 1000);
    if (width_of(&time) <= columns)
        add_cut(out, &time, columns);
}

void jr_cell_line_add(struct jr_buf *out, const struct jr_cell_line *line, unsigned columns)
{
    struct jr_buf number JR_BUF_CLEANUP = JR_BUF_INIT, values JR_BUF_CLEANUP = JR_BUF_INIT,
                         progress JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&number, "%04u", line->number);
    jr_buf_safe(&values, line->values);
    if (width_of(&values) < line->values_width)
        jr_buf_fill(&values, ' ', line->values_width - width_of(&values));
    size_t left = columns - (width_of(&number) < columns ? width_of(&number) : columns);
    add_cut(out, &number, columns);
    size_t devices = strlen(line->devices);
    devices = devices > 0 && devices + GAP < left / 4 ? devices + GAP : 0;
    left -= devices;
    /* The values have what they need, but leave half to the progress. */
    size_t wide = width_of(&values) + GAP;
    if (wide > left / 2 && left / 2 < wide)
        wide = left / 2 > LEAST_VALUES ? left / 2 : 0;
    if (left > wide + GAP)
        add_cell_progress(&progress, line, left - wide - GAP, left - GAP);
    /* What the progress does not need is theirs again. */
    size_t room = left - (progress.len > 0 ? width_of(&progress) + GAP : 0);
    if (values.len > 0 && room > GAP) {
        jr_buf_fill(out, ' ', GAP);
        add_cut(out, &values, room - GAP);
    }
    if (progress.len > 0) {
        jr_buf_fill(out, ' ', GAP);
        add_cut(out, &progress, left);
    }
    if (devices > 0) {
        jr_buf_fill(out, ' ', GAP);
        jr_buf_str(out, line->devices);
    }
    out->failed |= number.failed || values.failed || progress.failed;
}

static void add_count(struct jr_buf *out, size_t count, const char *word)
{
    if (count > 0)
        jr_buf_printf(out, "%s%zu %s", out->data[out->len - 1] == ':' ? " " : ", ", count, word);
}

void jr_sum_line_add(struct jr_buf *out, const struct jr_sum_line *line, unsigned columns)
{
    struct jr_buf counts JR_BUF_CLEANUP = JR_BUF_INIT, time JR_BUF_CLEANUP = JR_BUF_INIT,
                         best JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&counts, "%zu cell%s:", line->cells, line->cells == 1 ? "" : "s");
    if (counts.failed)
        return;
    jr_buf_printf(&counts, " %zu done", line->done);
    add_count(&counts, line->failed, "failed");
    add_count(&counts, line->running, "running");
    add_count(&counts, line->left, "left");
    if (line->stopping) {
        jr_buf_str(&time, "; no other begins");
    } else if (line->timed) {
        uint64_t seconds = (line->left_ns + SECOND / 2) / SECOND;
        if (seconds >= 3600)
            seconds -= seconds % 60;
        jr_buf_str(&time, "; about ");
        jr_num_add_duration(&time, (seconds > 0 ? seconds : 1) * 1000);
        jr_buf_str(&time, " to go");
    }
    if (line->best[0] != '\0') {
        jr_buf_str(&best, "; best so far ");
        jr_buf_safe(&best, line->best);
    }
    size_t width = width_of(&counts);
    add_cut(out, &counts, columns);
    if (width + width_of(&time) <= columns) {
        add_cut(out, &time, columns);
        width += width_of(&time);
    }
    if (width + width_of(&best) <= columns)
        add_cut(out, &best, columns);
    out->failed |= counts.failed || time.failed || best.failed;
}

void jr_lines_erase(struct jr_buf *out, const size_t *widths, size_t count, unsigned columns)
{
    size_t rows = 0;
    for (size_t i = 0; i < count; i++)
        rows += columns == 0 || widths[i] <= columns ? 1 : (widths[i] + columns - 1) / columns;
    jr_buf_char(out, '\r');
    if (rows > 1)
        jr_buf_printf(out, "\033[%zuA", rows - 1);
    jr_buf_str(out, "\033[J");
}
