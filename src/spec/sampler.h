/* `sampler` in the place of axes. Private to this folder; what it proposes is
 * read by jr_sweep_axes_propose. */
#ifndef JR_SPEC_SAMPLER_H
#define JR_SPEC_SAMPLER_H

#include "spec/sweep_parts.h"

/* Read the program and its timeout, and make a cell that stands for those that it will propose. */
void jr_sweep_read_sampler(struct jr_sweep_reading *reading, const struct jr_node *sweep);

/* Refuse what is stated beside a sampler. */
void jr_sweep_check_sampler(struct jr_sweep_reading *reading, const struct jr_node *sweep);

#endif
