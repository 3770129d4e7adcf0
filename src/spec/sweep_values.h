/*
 * The values of an axis: a list as it is written, a range, or draws.
 *
 * A range includes its end where a step hits it; value i is from + i * step, written in 15 digits,
 * so that 0.1 to 0.3 by 0.1 are three values.
 *
 * Draw i of a field is made of the seed, the field's path and i alone: the first 53 bits of
 * SHA-256("SEED:PATH:I") are a number from 0 to below 1, which is moved to the interval. So it is
 * the same on every machine and for every combination of the other axes, and more draws change none
 * of the earlier.
 */
#ifndef JR_SWEEP_VALUES_H
#define JR_SWEEP_VALUES_H

#include "spec/sweep_parts.h"

/* Fill in the values of an axis whose fields are known. False after a finding.
 */
bool jr_sweep_read_values(struct jr_sweep_reading *reading, struct jr_sweep_axis *axis,
                          struct jr_node *value);

/* Whether a value says how others are drawn: {uniform: [0, 1]}. */
bool jr_sweep_is_draw(const struct jr_node *value);

/* Fill in the draws of all fields that are drawn, and leave out those that are the same as an
 * earlier one, which is a warning. */
void jr_sweep_draw(struct jr_sweep_reading *reading);

#endif
