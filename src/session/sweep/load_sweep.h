/* sweep.json as it stands: read back, with what has happened since. */
#ifndef JR_LOAD_SWEEP_H
#define JR_LOAD_SWEEP_H

#include "base/json.h"
#include <jobrun/error.h>

/* Read the sweep LOG_DIR/ID: sweep.json, and of cells that the journal knows
 * more of what their own records say. Cells that began and have no results are
 * `running`, or, where nobody leads the sweep any more, `lost`. NULL with
 * `err`; the caller's. */
json_t *jr_load_sweep(const char *log_dir, const char *id,
                      struct jr_error *err);

#endif
