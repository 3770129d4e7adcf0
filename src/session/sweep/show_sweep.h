/* A sweep by its files alone: finding it and its cells by what a command line says, and the table
 * of them. */
#ifndef JR_SHOW_SWEEP_H
#define JR_SHOW_SWEEP_H

#include <stdint.h>

#include "base/buf.h"
#include <jobrun/error.h>

#include "record/prune.h"
#include "record/run_list.h"
#include "session/sweep/row_table.h"

/* Whether the folder `name` of LOG_DIR, which is open, is a sweep's. */
bool jr_sweep_is_folder(int log_fd, const char *name);

/* Whether SWEEP or SWEEP/CELL means a sweep of LOG_DIR: its id, the only id that begins so, or
 * `latest`. Then *ret_id is its id. */
bool jr_sweep_find(char ret_id[static 256], const char *log_dir, const char *word);

/* Find the cell of SWEEP/CELL, which is a number, or values that only one cell has. *ret_dir,
 * malloc'ed, is the folder that it lies in, as LOG_DIR is that of runs, and ret_id its id there. -1
 * with `err`. */
int jr_sweep_find_cell(char **ret_dir, char ret_id[static 256], const char *log_dir,
                       const char *sweep_id, const char *cell, struct jr_error *err);

/* Whether the cell, which was found by `word`, has begun, and its files are here: 0, or -1 with
 * `err`, which says where `verb` (NULL: none) works for it meanwhile. */
int jr_sweep_check_begun(const char *dir, const char *id, const char *word, const char *verb,
                         struct jr_error *err);

/* Add the sweeps of LOG_DIR to its runs, a row each, in their order: the worst that a cell got, and
 * as its steps the cells that delivered. Slurm, whose commands get `envp`, is asked whether job
 * arrays go on of which cells have not ended. */
void jr_sweeps_add(struct jr_records *records, const char *log_dir, char *const *envp);

/* Add their cells instead, those that have begun, as SWEEP/7, and what the axes say of each to the
 * object `values`, under its id. */
void jr_sweep_cells_add(struct jr_records *records, json_t *values, const char *log_dir);

/* Remove old sweeps, each with all of its cells, as `options` says it of rows of the list of runs;
 * options->keep becomes the number of runs that stay. */
void jr_sweeps_prune(struct jr_pruned *ret, struct jr_buf *out, struct jr_buf *bad,
                     const char *log_dir, struct jr_prune_options *options, char *const *envp);

/* How many cells a sweep has; 0: it cannot be read. */
size_t jr_sweep_count_cells(const char *log_dir, const char *id);

struct jr_sweep_view {
    enum jr_row_format format;
    const char *sort;    /* a column, "-" before it: the largest first; NULL: by
                            `best`, else by number */
    const char *columns; /* with commas; NULL: all that differ */
    uint32_t top;        /* so many lines at most; 0: all */
    const char *word;    /* by which the user calls the sweep */
};

/* Append the page of a sweep: one HTML file that loads nothing from elsewhere, with the table of
 * its cells, a drawing of the best field over each axis, and a link to the folder of each cell,
 * which begins with `base`, the path of the sweep's folder as the page's reader has it. -1 with
 * `err`. sweep_page.c */
int jr_sweep_page(struct jr_buf *out, const char *log_dir, const char *id, const char *base,
                  struct jr_error *err);

/* Append the table of a sweep as it stands: what sweep.json says, and of cells that ended since
 * then what they delivered. */
int jr_sweep_show(struct jr_buf *out, const char *log_dir, const char *id,
                  const struct jr_sweep_view *view, struct jr_error *err);

#endif
