/*
 * Tables for people, and two of a kind side by side: rows of a name and two values, for people, for
 * a comment in Markdown, for programs. Values are one line of text each.
 */
#ifndef JR_DIFF_TABLE_H
#define JR_DIFF_TABLE_H

#include <stddef.h>

#include <jobrun/error.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"

/* One side of a row. */
struct jr_diff_table_side {
    const char *value; /* NULL: there is none */
    struct jr_span at; /* where it is stated; line 0: nowhere */
    const char *from;  /* where else it comes from; NULL: nothing to say */
};

struct jr_diff_table_row {
    const char *name;
    struct jr_diff_table_side a, b;
    const char *part; /* what the row is about, a word for programs; or NULL */
};

struct jr_diff_table {
    struct jr_arena arena; /* for what the rows point at */
    struct jr_diff_table_row *rows;
    size_t count;
};

#define JR_DIFF_TABLE_INIT ((struct jr_diff_table){0})

/* Free the rows and what they point at, and leave an empty table. */
void jr_diff_table_release(struct jr_diff_table *contrast);

/* Add a row, all of it zero except for the name, which is copied. NULL if memory runs out. */
struct jr_diff_table_row *jr_diff_table_add(struct jr_diff_table *contrast, const char *name);

/* Whether a row's values differ. */
bool jr_diff_table_differs(const struct jr_diff_table_row *row);

/* Append a table under `title`, which is the head of the names' column. Long values are cut around
 * the place where they begin to differ. Where it is wider than the lines of `out`, the sides stand
 * below each name. Nothing where there are no rows. */
void jr_diff_table_text(struct jr_buf *out, const struct jr_diff_table *contrast,
                        const char *title);

/* The same as a table of GitHub and GitLab Markdown, in which nothing of a value or a name is
 * markup. */
void jr_diff_table_markdown(struct jr_buf *out, const struct jr_diff_table *contrast,
                            const char *title);

/* Append text to Markdown, as code, whatever it holds. */
void jr_diff_table_code(struct jr_buf *out, const char *text);

/* The rows as an array of objects: field, part, and a and b, which are null or have value, from,
 * file, line and column. */
json_t *jr_diff_table_json(const struct jr_diff_table *contrast);

enum { JR_TABLE_COLUMNS = 16 };

/* Append lines of cells, which tabs separate (at most JR_TABLE_COLUMNS in a line), every column as
 * wide as its widest cell, with `gap` blanks between the columns. A column without text is left
 * out, and no line ends with blanks. Text from outside goes into a cell by jr_buf_escaped, which
 * leaves no tab and no newline in it. Widths are terminal columns. The failure of `cells` is passed
 * on. */
void jr_table_add(struct jr_buf *out, const struct jr_buf *cells, size_t gap);

#endif
