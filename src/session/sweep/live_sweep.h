/* A sweep that another jobrun runs, or the job array of a scheduler: waiting for it, and stopping
 * it. */
#ifndef JR_LIVE_SWEEP_H
#define JR_LIVE_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include <jobrun/error.h>

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

#endif
