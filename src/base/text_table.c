#include "base/text_table.h"

#include <string.h>

#include "base/utf8.h"

#include "base/banned.h"

static void measure_columns(size_t widths[static JR_TABLE_COLUMNS],
                            const struct jr_buf *cells)
{
    size_t column = 0, len;
    for (const char *at = cells->data; *at != '\0'; at += len + 1) {
        len = strcspn(at, "\t\n");
        size_t width = jr_utf8_columns(at, len);
        if (width > widths[column])
            widths[column] = width;
        column = at[len] == '\n' ? 0 : column + 1;
    }
}

void jr_table_add(struct jr_buf *out, const struct jr_buf *cells, size_t gap)
{
    size_t widths[JR_TABLE_COLUMNS] = {0};
    size_t column = 0, blanks = 0, len;
    out->failed |= cells->failed;
    if (out->failed || cells->len == 0)
        return;
    measure_columns(widths, cells);
    for (const char *at = cells->data; *at != '\0'; at += len + 1) {
        len = strcspn(at, "\t\n");
        if (len > 0) {
            jr_buf_fill(out, ' ', blanks);
            jr_buf_add(out, at, len);
            blanks = 0;
        }
        if (widths[column] > 0)
            blanks += widths[column] + gap - jr_utf8_columns(at, len);
        column++;
        if (at[len] == '\n') {
            jr_buf_char(out, '\n');
            column = blanks = 0;
        }
    }
}
