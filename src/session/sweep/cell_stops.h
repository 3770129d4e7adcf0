/*
 * Single cells that another jobrun tells to stop, by way of the jobrun that leads their sweep: it
 * alone reaches the machines that they run on. The word is a file, LOG_DIR/SWEEP_ID/.stop/0007, and
 * SIGCHLD has the leader look for it: that signal comes to it again and again, and does no harm to
 * anybody.
 */
#ifndef JR_CELL_STOPS_H
#define JR_CELL_STOPS_H

#include <stdbool.h>
#include <stdint.h>

#include <jobrun/error.h>

#include "base/buf.h"

struct jr_sweep_run;

/* In the leader: tell the cells to stop that somebody wants to. */
void jr_cell_stops_take(struct jr_sweep_run *run);

/* The same: forget what nobody has taken, as before the first cell begins. */
void jr_cell_stops_clear(const struct jr_sweep_run *run);

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

/* Append the command line of `verb` for it, to be typed here while it runs; nothing where its files
 * are here, or it does not run. */
void jr_far_cell_command(struct jr_buf *out, const struct jr_far_cell *cell, const char *verb);

#endif
