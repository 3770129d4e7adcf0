/* Reports on a terminal: their lines are broken where a person would. */
#ifndef JR_FIT_LINES_H
#define JR_FIT_LINES_H

#include "base/buf.h"

/* Append a report, each line that is wider than `width` columns in several: at
 * the gap before what stands at its right, or else between words; never within
 * "(jobrun ...)", which is to be typed, and not at all where it quotes a log.
 * `width` 0: as it is. */
void jr_fit_lines(struct jr_buf *out, const char *text, size_t width);

#endif
