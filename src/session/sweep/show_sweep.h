/* A sweep by its files alone: finding it and its cells by what a command line says, the table of
 * them, the list of runs, and what is told to one that goes on. */
#ifndef JR_SHOW_SWEEP_H
#define JR_SHOW_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include <jobrun/error.h>

#include "base/buf.h"
#include "base/strv.h"
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

/* The runs of a LOG_DIR as a list: all of them, or those that meet conditions, with the columns and
 * in the order that were asked for. A sweep is one row, or each of its cells is. */

struct jr_runs_view {
    enum jr_row_format format;
    const char *columns;  /* with commas; NULL: the usual ones */
    const char *sort;     /* a name, "-" before it: the largest first; NULL: the
                             newest run first */
    struct jr_strv where; /* see jr_row_table_filter */
    uint32_t top;         /* so many at most; 0: all */
    bool cells;           /* of sweeps, the cells that have begun */
    char *const *environ; /* with which Slurm is asked about job arrays */
};

/* Append the list; as text, without chosen columns, nothing where there are no runs at all. -1 with
 * `err`. */
int jr_runs_list(struct jr_buf *out, const char *log_dir, const struct jr_runs_view *view,
                 struct jr_error *err);

/* Append the usual table of runs, in their order. */
void jr_runs_print(struct jr_buf *out, const struct jr_records *records);

/* A sweep that another jobrun runs, or the job array of a scheduler: waiting for it, and stopping
 * it. */

struct jr_sweep_wait {
    bool stop;         /* tell its jobrun to stop first, or cancel the job */
    uint64_t until_ns; /* CLOCK_MONOTONIC; 0: no limit */
    char *const *envp; /* of the scheduler's commands */
};

/* Wait until nobody runs the sweep LOG_DIR/ID, which is stopped only if it is ours. Slurm, which
 * runs the cells that were submitted, is asked every few seconds, as `sbatch --wait` does. Returns
 * 0, with the exit status of its cells in *ret_code; 1 where the time was over; -1 with `err`. */
int jr_sweep_await(const char *log_dir, const char *id, const struct jr_sweep_wait *wait,
                   int *ret_code, struct jr_error *err);

/* Whether somebody leads the sweep LOG_DIR/ID, or it was submitted, and cells of it have not
 * ended. */
bool jr_sweep_goes_on(const char *log_dir, const char *id);

/* Where the leader of a sweep is that cannot be seen from here. */
#define JR_SWEEP_UNSEEN                                                                            \
    "by a process that is not seen from here, in another container or on "                         \
    "another machine"

/* The exit status that LOG_DIR/ID ended with, or, where nobody led it, that of its cells as they
 * are now: 0 if all have delivered, else the lowest class that one has. 0, or -1 with `err`. */
int jr_sweep_exit_status(const char *log_dir, const char *id, int *ret_code, struct jr_error *err);

/*
 * Single cells that another jobrun tells to stop, by way of the jobrun that leads their sweep: it
 * alone reaches the machines that they run on. The word is a file, LOG_DIR/SWEEP_ID/.stop/0007, and
 * SIGCHLD has the leader look for it: that signal comes to it again and again, and does no harm to
 * anybody.
 */

/* A cell, by the folder that it lies in (LOG_DIR/SWEEP_ID/cells) and its own there. */
struct jr_far_cell {
    const char *dir, *id; /* borrowed */
};

/* Whether it runs, as far as the journal says, on another machine than this one, and so can be told
 * to stop only by the leader of the sweep. */
bool jr_far_cell_runs(const struct jr_far_cell *cell);

/* Have the leader of its sweep, which is a process of ours here, tell it to stop. -1 with `err`:
 * nobody that can be told leads the sweep. */
int jr_far_cell_stop(const struct jr_far_cell *cell, struct jr_error *err);

/* Wait until it runs no more, and what comes back of it is here, or will not come. False where the
 * moment `until_ns` was first (CLOCK_MONOTONIC; 0: no limit). */
bool jr_far_cell_await(const struct jr_far_cell *cell, uint64_t until_ns);

#endif
