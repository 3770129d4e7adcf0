/* Entries of `exclude`, which are about axes, and of `include`, which may state other fields, too.
 * sweep_axes.h declares what they are read into. */
#ifndef JR_SWEEP_CHOICES_H
#define JR_SWEEP_CHOICES_H

#include "spec/sweep_parts.h"

/* Read `exclude` and `include`, once the axes are known. */
void jr_sweep_read_choices(struct jr_sweep_reading *reading, const struct jr_node *sweep);

#endif
