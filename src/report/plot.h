/* Parts of a drawing in the HTML report: a frame of SCALE units either way, which is stretched to
 * the width that there is, with round numbers beside and below it. */
#ifndef JR_PLOT_H
#define JR_PLOT_H

#include <stddef.h>

#include "base/buf.h"

enum {
    JR_PLOT_HEIGHT = 140,
    JR_PLOT_LABELS = 14,  /* the height of what is below */
    JR_PLOT_SCALE = 1000, /* of a drawing, either way */
    JR_PLOT_TICKS = 12    /* at most */
};

/* Where a value is between two others, 0 to 1; in the middle where these are the same. */
double jr_plot_part(double value, double low, double high);

/* Round numbers between two others, about four; without any, the two. They are
 * `least` apart at least. Returns how many. */
size_t jr_plot_ticks(double ret[static JR_PLOT_TICKS], double low, double high, double least);

/* How far apart round times are, in seconds, so that at most six are between 0 and `width`: 1, 2 or
 * 5 times a power of ten of seconds, and minutes, hours and days that a clock has. */
double jr_plot_time_step(double width);

/* Append a number as short as it can be told from its neighbours, which are in
 * `range`. */
void jr_plot_number(struct jr_buf *out, double value, double range);

/* Append the values beside a drawing, as an <svg> of their own. */
void jr_plot_value_axis(struct jr_buf *out, double low, double high);

/* Open the <svg> of the drawing, with `label` (our own text, escaped by the caller) for those who
 * do not see it, and draw a rule for each of these values. */
void jr_plot_open(struct jr_buf *out, const char *label, double low, double high);

/* Append a tick below the drawing at `part` of its width, 0 to 1. */
void jr_plot_tick(struct jr_buf *out, double part);

/* Append a label below the drawing at `part` of its width, 0 to 1: text of our own, escaped by the
 * caller. */
void jr_plot_label(struct jr_buf *out, double part, const char *text);

/* Open the part of it in which SCALE units are all there is, for paths. */
void jr_plot_open_frame(struct jr_buf *out);

/* Close both. */
void jr_plot_close(struct jr_buf *out);

#endif
