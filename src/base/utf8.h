/* UTF-8, independent of the locale: which code point a text has, whether it may be shown, and how
 * wide it is. */
#ifndef JR_UTF8_H
#define JR_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The code point at `text`, of which `len` bytes may be read. Returns its size in bytes; 0 where no
 * well-formed sequence (Unicode 15, table 3-7) begins, and then *ret is untouched. */
size_t jr_utf8_decode(const char *text, size_t len, uint32_t *ret);

/* The same in a text that may be broken: a byte that begins no sequence is a code point of its own.
 * `len` is not 0. */
size_t jr_utf8_next(const char *text, size_t len, uint32_t *ret);

/* How many code points a text has; broken bytes are one each. */
size_t jr_utf8_points(const char *text, size_t len);

/* Whether all of a string is well-formed. */
bool jr_utf8_is_text(const char *text);

/* The length of the longest beginning of a text that has at most `most` bytes and ends between code
 * points. A text that is broken may be cut shorter. */
size_t jr_utf8_cut(const char *text, size_t len, size_t most);

/* Whether a code point may reach a terminal as it is: not the C0 and C1 controls, the line
 * separators, or the bidirectional overrides. */
bool jr_utf8_is_shown(uint32_t point);

/* Whether a code point is text that nobody sees, although it separates nothing:
 * zero-width spaces and joiners, byte order marks, soft hyphens. */
bool jr_utf8_is_unseen(uint32_t point);

/* Terminal columns of a code point that is shown: 0 for combining marks, 2 for the wide blocks of
 * East Asian scripts and emoji, else 1. */
unsigned jr_utf8_width(uint32_t point);

/* Terminal columns of a text that is safe to show. */
size_t jr_utf8_columns(const char *text, size_t len);

/* The length of the longest beginning of such a text that has at most so many columns. */
size_t jr_utf8_fit(const char *text, size_t len, size_t columns);

#endif
