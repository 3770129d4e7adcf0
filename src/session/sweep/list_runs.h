/* The runs of a LOG_DIR as a list: all of them, or those that meet conditions, with the columns and
 * in the order that were asked for. A sweep is one row, or each of its cells is. */
#ifndef JR_LIST_RUNS_H
#define JR_LIST_RUNS_H

#include "base/strv.h"
#include "record/run_list.h"
#include "session/sweep/row_table.h"

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

#endif
