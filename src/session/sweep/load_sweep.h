/* sweep.json as it stands: read back, with what has happened since. */
#ifndef JR_LOAD_SWEEP_H
#define JR_LOAD_SWEEP_H

#include "base/json.h"
#include <jobrun/error.h>

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

#endif
