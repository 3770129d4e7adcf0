/*
 * A table whose rows are JSON objects without nesting, each with a value for some of the names:
 * "vars.lr", "results.loss", "status". Which rows and columns there are, in which order, and how a
 * value is written.
 */
#ifndef JR_ROW_TABLE_H
#define JR_ROW_TABLE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include <jobrun/error.h>

#define JR_ROW_RESULTS "results."

enum jr_row_format { JR_ROWS_TEXT, JR_ROWS_JSON, JR_ROWS_CSV, JR_ROWS_MARKDOWN };

/* Another word for a name. */
struct jr_row_alias {
    const char *word, *name;
};

/* What rows of a kind have. */
struct jr_row_kind {
    const char *what;                   /* "cell": for messages */
    const char *const *always;          /* names that are known without any row; the
                                           first is that of the row itself, and of the
                                           first column; NULL at the end */
    const char *const *yielding;        /* names that a field of the results goes
                                           before; NULL at the end; NULL: none */
    const struct jr_row_alias *aliases; /* NULL at the end; NULL: none */
    bool bare; /* a bare name is a field of the results; else it has to have
                  its dot, and headings are whole names */
};

struct jr_row_table {
    struct jr_arena arena;
    const struct jr_row_kind *kind;
    enum jr_row_format format;
    json_t *rows;  /* owned */
    json_t *names; /* the keys: those of all rows, as they are met; owned */
    size_t *order; /* of those that are shown: their places in `rows` */
    size_t count;
    const char **columns; /* the first is the row's own name */
    size_t columns_count;
    const char *sort; /* by which name; NULL: as they were given */
    bool falls;       /* the largest first */
    const char *of;   /* which of several ranks' values counts, a key of
                         jr_cell_result; NULL: their mean */
};

/* Take rows over; `kind` is borrowed. Release it in any case. Without memory the arena has
 * failed. */
void jr_row_table_init(struct jr_row_table *ret, json_t *rows, const struct jr_row_kind *kind,
                       enum jr_row_format format);

/* Free all of it. */
void jr_row_table_release(struct jr_row_table *table);

/* The name that the first `len` bytes of a word mean, in the table's memory; NULL: no row has it.
 * "label.x" is "labels.x". Where there are no rows, any name is good. */
const char *jr_row_table_name(struct jr_row_table *table, const char *word, size_t len);

/* Say that no row has the name: which ones there are, and which was probably meant. Returns -1. */
int jr_row_table_refuse(const struct jr_row_table *table, const char *option, const char *word,
                        size_t len, struct jr_error *err);

/* Add the members of an object to a row, their keys behind a prefix, but those that it has. NULL is
 * none. */
void jr_row_add_members(json_t *row, const json_t *object, const char *prefix);

/* The value of a row; NULL: it has none. */
const json_t *jr_row_value(const json_t *row, const char *name);

/* The number by which a value is ordered; NAN: it is none. */
double jr_row_table_number(const struct jr_row_table *table, const json_t *value);

/* Keep the rows that meet all of the conditions, NULL-terminated, each NAME=VALUE, or with != < <=
 * > >= instead. -1 with `err`. */
int jr_row_table_filter(struct jr_row_table *table, char *const *conditions, struct jr_error *err);

/* Whether a word is the status of a run, as `runs` shows it. */
bool jr_row_status_is(const char *word);

/* Order the rows by a name, "-" before it: the largest first. Rows without a value come last, equal
 * ones as they were given. -1 with `err`. */
int jr_row_table_sort(struct jr_row_table *table, const char *word, struct jr_error *err);

/* Add the columns of a list with commas. -1 with `err`. */
int jr_row_table_choose(struct jr_row_table *table, const char *list, struct jr_error *err);

/* Add a column unless it is there. The name is borrowed. */
void jr_row_table_add_column(struct jr_row_table *table, const char *name);

/* Whether a value differs between rows, or only some have it. */
bool jr_row_table_differs(const struct jr_row_table *table, const char *name);

/* The heading of a column. */
const char *jr_row_table_heading(const struct jr_row_table *table, const char *name);

/* Append a value as the format has it; "-" for people where there is none. */
void jr_row_table_value(struct jr_buf *out, const struct jr_row_table *table, const json_t *row,
                        const char *name);

/* What people are shown beside the columns: before the first one of a row, and behind the last
 * one. */
struct jr_row_margin {
    const char *(*before)(const void *data, const json_t *row);
    void (*behind)(const void *data, struct jr_buf *out, const json_t *row);
    const void *data;
};

/* Append the table in its format; `margin` may be NULL. As JSON it is a list of objects, of which
 * each has the columns. */
void jr_row_table_print(struct jr_buf *out, const struct jr_row_table *table,
                        const struct jr_row_margin *margin);

#endif
