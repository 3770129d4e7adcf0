/* Tables for people: every column as wide as its widest cell. */
#ifndef JR_TEXT_TABLE_H
#define JR_TEXT_TABLE_H

#include <stddef.h>

#include "base/buf.h"

enum { JR_TABLE_COLUMNS = 16 };

/* Append lines of cells, which tabs separate (at most JR_TABLE_COLUMNS in a
 * line), with `gap` blanks between the columns. A column without text is left
 * out, and no line ends with blanks. Text from outside goes into a cell by
 * jr_buf_escaped, which leaves no tab and no newline in it. Widths are terminal
 * columns. The failure of `cells` is passed on. */
void jr_table_add(struct jr_buf *out, const struct jr_buf *cells, size_t gap);

#endif
