/* Values of another shape than is wanted, which say where ranks run. */
#ifndef JR_LINT_SHAPE_PLACEMENT_H
#define JR_LINT_SHAPE_PLACEMENT_H

#include "spec/lint_shape_parts.h"

/* Say how a value is written that is about hosts, nodes, ranks, devices or engines. Returns whether
 * that is known. */
bool jr_shape_of_placement(const struct jr_odd_shape *s);

#endif
