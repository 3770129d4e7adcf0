/*
 * What other programs write for the values of an axis: choice(1,2), 1..4, {values: [1, 2]}, {min:
 * 0, max: 1, distribution: log_uniform}.
 */
#ifndef JR_SWEEP_MEANT_VALUES_H
#define JR_SWEEP_MEANT_VALUES_H

#include "doc/doc.h"

/* The values of the node as an axis has them here, in the arena or constant; NULL: it is not known
 * what was meant. */
const char *jr_sweep_meant_values(struct jr_arena *arena, const struct jr_node *node);

/* Whether a text is a range as others write it, range(3), 1..10..3, 0.1..0.5; and, where it is
 * `alone`, 1:4 and 1-4. *ret_meant is how it is written here, as an option or in a spec; one of
 * several values is written as its own values; NULL: it has none, or too many to be listed. */
bool jr_sweep_is_meant_range(struct jr_arena *arena, const char *text, bool alone, bool option,
                             const char **ret_meant);

#endif
