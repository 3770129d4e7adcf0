/*
 * What a host has of sweeps that are another machine's (own_cells.h): folders of LOG_DIR without a
 * sweep.json, in which there are folders of cells, node_N.TOKEN, or `cells` with the parts of cells
 * of several hosts. Such a folder is a row among the runs there, and can be removed.
 */
#ifndef JR_SWEEP_PART_H
#define JR_SWEEP_PART_H

#include <stdbool.h>

#include "record/prune.h"
#include "record/run_list.h"

/* Whether the folder `name` of LOG_DIR, which is open, is one. */
bool jr_sweep_part_is(int log_fd, const char *name);

/* Fill the row of such a folder, whose strings are in the arena of the list: it is finished if all
 * of its cells are, and nobody holds it. */
void jr_sweep_part_row(struct jr_record *ret, struct jr_records *records, const char *log_dir,
                       int log_fd, const char *name);

/* Remove it, but for what an agent has begun in it meanwhile. 0, or -1 with the errno of the first
 * thing that stays. */
int jr_sweep_part_remove(struct jr_pruned *pruned, int log_fd, const char *name);

#endif
