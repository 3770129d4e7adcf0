/* A sweep that another jobrun runs: waiting for it, and stopping it. */
#ifndef JR_LIVE_SWEEP_H
#define JR_LIVE_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include <jobrun/error.h>

/* Wait until nobody runs the sweep LOG_DIR/ID, or until `until_ns`
 * (CLOCK_MONOTONIC; 0: no limit). With `stop` its jobrun is told to stop first,
 * if the sweep is ours. Returns 0, with the exit status of its cells in
 * *ret_code; 1 where the time was over; -1 with `err`. */
int jr_sweep_await(const char *log_dir, const char *id, bool stop,
                   uint64_t until_ns, int *ret_code, struct jr_error *err);

#endif
