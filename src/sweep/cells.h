/*
 * The cells of a sweep: each is a mapping of fields to values, and its number.
 *
 * They are the product of the axes in their order, the last one fastest, without what `exclude`
 * names; and after these the entries of `include`. A cell is kept as one number, so that 100,000 of
 * them take 400 kB: its values are those of the axes, and are found when they are asked for.
 */
#ifndef JR_CELLS_H
#define JR_CELLS_H

#include "base/json.h"
#include "spec/sweep_axes.h"

struct jr_cells {
    struct jr_arena arena;
    const struct jr_sweep_axes *axes;
    uint32_t *places; /* of each cell: its place in the product, or behind that
                         the number of its entry in `include` */
    size_t count;
    size_t most_values; /* that a cell has */
};

/* Make the cells of axes that were read; they are borrowed. 0, or -1 with findings: a cell that is
 * there twice, or too many of them. What excludes nothing is a warning. */
int jr_cells_expand(struct jr_cells *ret, const struct jr_sweep_axes *axes, struct jr_diags *diags);

/* Free what was expanded. */
void jr_cells_release(struct jr_cells *cells);

/* Write the values of cell `i` to `ret`, which has room for most_values, in the order of the axes
 * or of the entry; returns how many they are. */
size_t jr_cells_values(const struct jr_cells *cells, size_t i, struct jr_stated_value *ret);

/* Which value of axis `axis` cell `i` has; -1: it is none of the product. */
long jr_cells_value_index(const struct jr_cells *cells, size_t i, size_t axis);

/* The values of a cell as an object; NULL if memory runs out. The caller's. */
json_t *jr_cells_json(const struct jr_cells *cells, size_t i);

/* A value as JSON; NULL if memory runs out. Numbers that JSON cannot hold are strings. */
json_t *jr_cell_value_json(const struct jr_node *value);

/* Append the values as a command line takes them: "vars.lr=0.1,vars.seed=2". */
void jr_cells_text(struct jr_buf *out, const struct jr_cells *cells, size_t i);

/* Append a value as --sweep takes it, without a line break. */
void jr_cell_value_text(struct jr_buf *out, const struct jr_node *value);

/* The cell that a text means: its number, or values that only one cell has,
 * "vars.lr=0.1,vars.seed=2". 0 and *ret, or -1 with `err`. */
int jr_cells_choose(size_t *ret, const struct jr_cells *cells, const char *text,
                    struct jr_error *err);

/* The columns that a table of cells has for their values: the fields of the axes, and those that
 * only entries of `include` state. */

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
