/*
 * What other programs write for the values of an axis: choice(1,2), 1..4,
 * {values: [1, 2]}, {min: 0, max: 1, distribution: log_uniform}.
 */
#ifndef JR_SWEEP_MEANT_VALUES_H
#define JR_SWEEP_MEANT_VALUES_H

#include "doc/doc.h"

/* The values of the node as an axis has them here, in the arena or constant;
 * NULL: it is not known what was meant. */
const char *jr_sweep_meant_values(struct jr_arena *arena,
                                  const struct jr_node *node);

#endif
