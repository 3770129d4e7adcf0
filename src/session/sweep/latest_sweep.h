/*
 * Which sweep of a spec is the latest. The link `latest` of the log_dir says which run or sweep
 * began, or was gone on with, last, whatever the clock; but it may be another spec's, and those
 * that were submitted do not get it. The journal of a sweep tells when it was written to last, by
 * the clock, which may have been put back since.
 */
#ifndef JR_LATEST_SWEEP_H
#define JR_LATEST_SWEEP_H

#include <stdbool.h>

#include "base/json.h"

struct jr_sweep_run;

/* sweep.json of an open folder, the caller's; NULL: it is not there, or none.
 */
json_t *jr_read_sweep_file(int dir_fd);

/* The id of the latest sweep of the spec; false: there is none. Where only the clock says which of
 * several it is, that is noted. */
bool jr_find_latest_sweep(const struct jr_sweep_run *run, char ret[static 128]);

#endif
