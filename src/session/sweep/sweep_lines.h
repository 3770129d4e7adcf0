/* What a sweep shows on a terminal while it runs: a line for a running cell, and one for the sum.
 * Each fits into the columns that it gets; what does not fit is left out, the least important
 * first. */
#ifndef JR_SWEEP_LINES_H
#define JR_SWEEP_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "store/progress.h"

struct jr_cell_line {
    uint32_t number;
    const char *values;                 /* "lr 0.03  seed 1"; may be anybody's text */
    size_t values_width;                /* to which they are filled with blanks */
    const char *devices;                /* "GPU 0"; "": none of its own */
    const struct jr_progress *progress; /* NULL: it has told no step */
    uint64_t elapsed_ns;
    bool utf8;
};

/* Append "0004  lr 0.03  seed 1  step 410/800  51 %  left 31s   GPU 0". */
void jr_cell_line_add(struct jr_buf *out, const struct jr_cell_line *line, unsigned columns);

struct jr_sum_line {
    size_t cells, done, failed, running, left;
    bool stopping; /* no other cell begins */
    bool timed;    /* it can be told how long it still takes */
    uint64_t left_ns;
    const char *best; /* "0002 (accuracy 0.962)"; "": none is */
};

/* Append "24 cells: 5 done, 1 failed, 4 running, 14 left; about 4m12s to go; best so far 0002
 * (accuracy 0.962)". */
void jr_sum_line_add(struct jr_buf *out, const struct jr_sum_line *line, unsigned columns);

/* Append how to erase `count` lines of the given widths, of which the last has the cursor in it, on
 * a terminal of so many columns: one that was made narrower has wrapped them. */
void jr_lines_erase(struct jr_buf *out, const size_t *widths, size_t count, unsigned columns);

#endif
