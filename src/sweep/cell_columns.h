/* The columns that a table of cells has for their values: the fields of the axes, and those that
 * only entries of `include` state. */
#ifndef JR_CELL_COLUMNS_H
#define JR_CELL_COLUMNS_H

#include "sweep/cells.h"

struct jr_cell_column {
    const char *path; /* of the field */
    size_t width;     /* of the widest value or the heading */
};

struct jr_cell_columns {
    struct jr_arena arena;
    const struct jr_cells *cells;
    struct jr_cell_column *items;
    size_t count;
    struct jr_stated_value *values; /* room for those of a cell */
};

/* Find the columns of all cells. Without memory the arena has failed. */
void jr_cell_columns_init(struct jr_cell_columns *ret, const struct jr_cells *cells);

/* Free them. */
void jr_cell_columns_release(struct jr_cell_columns *columns);

/* Append the headings, with two blanks behind each: a name of `vars` without that, others as they
 * are. Where the arena has failed, so has `out` then, and by the rows. */
void jr_cell_columns_head(struct jr_buf *out, const struct jr_cell_columns *columns);

/* Append the values of cell `i` below them; "-" where it states none. */
void jr_cell_columns_row(struct jr_buf *out, const struct jr_cell_columns *columns, size_t i);

/* The heading of a field. */
const char *jr_cell_column_name(const char *path);

#endif
