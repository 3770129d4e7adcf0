/* What helps where a field has a value of another kind than it wants, and it is known what people
 * mean by that: `parallelism: 2x2x2`, `results: [loss]`. */
#ifndef JR_LINT_SHAPE_H
#define JR_LINT_SHAPE_H

#include "spec/lint.h"

/* Help for a value of another kind than is wanted, where more is known of the field than its type.
 * Returns whether there was something to say. */
bool jr_lint_suggest_shape(struct jr_lint *lint, struct jr_diag *diag,
                           const struct jr_spec_type *type, const struct jr_node *node,
                           const struct jr_node_step *at);

#endif
