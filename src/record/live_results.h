/*
 * A run without results, told with the keys of results.json: what its record,
 * its plan and its events say so far, and null for what is not known yet.
 */
#ifndef JR_LIVE_RESULTS_H
#define JR_LIVE_RESULTS_H

#include "base/json.h"
#include <jobrun/error.h>

/* `status` is the state of the run: "running", "lost", "elsewhere"; the state
 * of a rank is "not_started", "running" or "ended". If the jobrun of a run is
 * gone, no rank is running. `run` is its run.json. NULL with `err`; else the
 * caller's. */
json_t *jr_live_results(const char *log_dir, const char *id, const json_t *run,
                        const char *standing, struct jr_error *err);

#endif
