/* A sweep as its files tell it: what sweep.json says with what has happened since, and that as a
 * table. */
#ifndef JR_SWEEP_TABLE_H
#define JR_SWEEP_TABLE_H

#include <stdbool.h>

#include <jobrun/error.h>

#include "base/json.h"
#include "record/run_list.h"
#include "session/sweep/row_table.h"
#include "session/sweep/show_sweep.h"

/* sweep.json as it stands: read back, with what has happened since. */

/* Open the folder LOG_DIR/ID of a sweep, which is no link; the caller's to close. -1 with errno:
 * there is none. */
int jr_sweep_open(const char *log_dir, const char *id);

/* Read the sweep LOG_DIR/ID: sweep.json, and of cells that the journal knows
 * more of what their own records say. Cells that began and have no results are
 * `running`, or, where nobody leads the sweep any more, `lost`. Of a sweep
 * whose cells are tasks of a job array, which write neither of the two files,
 * each cell is as its own folder says. NULL with `err`; the caller's. */
json_t *jr_load_sweep(const char *log_dir, const char *id, struct jr_error *err);

/* Whether the cells of a loaded sweep were handed to a scheduler, and no jobrun has led it since
 * then. *ret_job is the job, as `sbatch` prints it; NULL: it was never noted. */
bool jr_sweep_is_submitted(const json_t *sweep, const char **ret_job);

/* Whether every cell of a loaded sweep has ended. */
bool jr_sweep_is_over(const json_t *sweep);

/* The cells of a sweep as a table: what its file says, flat, with the columns and the order that
 * were asked for. */

struct jr_sweep_table {
    json_t *sweep; /* jr_load_sweep; owned */
    const char *log_dir, *id;
    struct jr_row_table rows; /* a name is "cell", "status", "seconds",
                                 "results.FIELD", or the path of an axis */
    json_t *fields;           /* the keys: the paths that cells have values of */
    const char *best_field;   /* its name in `rows`; NULL: there is none */
    bool best_is_max;
    json_int_t best; /* the number of the best cell; -1 */
};

/* Read LOG_DIR/ID, both borrowed. -1 with `err`. Close it in any case. */
int jr_sweep_table_open(struct jr_sweep_table *ret, const char *log_dir, const char *id,
                        enum jr_row_format format, struct jr_error *err);

/* Choose columns and order as the view says. -1 with `err`. */
int jr_sweep_table_arrange(struct jr_sweep_table *table, const struct jr_sweep_view *view,
                           struct jr_error *err);

/* Append "23 of 24 delivered, 1 failed". */
void jr_sweep_table_count(struct jr_buf *out, const struct jr_sweep_table *table);

/* Append why a cell failed, by the record in its folder; nothing where it says nothing, or where
 * `dir_fd` is -1. */
void jr_sweep_cell_reason(struct jr_buf *out, int dir_fd);

/* Append why a cell did not deliver, by its own record: "rank 0   RuntimeError:
 * ..." False, and nothing, where it did, or has not ended. */
bool jr_sweep_table_reason(struct jr_buf *out, const struct jr_sweep_table *table,
                           const json_t *row);

/* Free it. */
void jr_sweep_table_close(struct jr_sweep_table *table);

/*
 * What a host has of sweeps that are another machine's (node_cells.h): folders of LOG_DIR without a
 * sweep.json, in which there are folders of cells, node_N.TOKEN, or `cells` with the parts of cells
 * of several hosts. Such a folder is a row among the runs there, and can be removed.
 */

/* Whether the folder `name` of LOG_DIR, which is open, is one. */
bool jr_sweep_part_is(int log_fd, const char *name);

/* Fill the row of such a folder, whose strings are in the arena of the list: it is finished if all
 * of its cells are, and nobody holds it. */
void jr_sweep_part_row(struct jr_record *ret, struct jr_records *records, const char *log_dir,
                       int log_fd, const char *name);

#endif
