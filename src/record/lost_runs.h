/*
 * What runs left whose two processes died at one instant: the record names
 * their control group, and the next jobrun of the same user, on the same host
 * and boot, ends what is in it.
 */
#ifndef JR_LOST_RUNS_H
#define JR_LOST_RUNS_H

#include "base/buf.h"

/* Sweep the group of the run `id`, if the run is lost and ours. Returns how
 * many processes there were; then `out` gets a line that says so, without its
 * newline. */
unsigned jr_lost_sweep(struct jr_buf *out, const char *log_dir, const char *id);

/* The same for all runs of LOG_DIR, whose lines go to `note`. Costs a look at
 * each folder, and the reading of those of ours without results. What others
 * put there is bounded: beyond 65,536 entries nothing is looked at. */
void jr_lost_sweep_all(const char *log_dir,
                       void (*note)(void *data, const char *line), void *data);

#endif
