/*
 * The drawings of a sweep's page: a field of the results over each axis. An axis of numbers is
 * drawn to scale, by their logarithms where they are far apart; any other one has its values side
 * by side.
 */
#ifndef JR_SWEEP_PLOTS_H
#define JR_SWEEP_PLOTS_H

#include "session/sweep/sweep_table.h"

/* Append the section with the drawings: of each axis with several values, the
 * field `name` of the cells that delivered. Nothing where there is none, or
 * `name` is NULL. */
void jr_sweep_plots(struct jr_buf *out, const struct jr_sweep_table *table, const char *name);

#endif
