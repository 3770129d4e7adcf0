/* What helps with a value of `engine.kubernetes` that Kubernetes would refuse:
 * 64GB, 4 cores, Registry/Team/train, gpu. */
#ifndef JR_LINT_KUBERNETES_H
#define JR_LINT_KUBERNETES_H

#include "spec/lint.h"

/* Offer what may be meant by the text of `node`, the value of the field `path`. False where that is
 * no field of Kubernetes, or nothing is known that would do for `type`. */
bool jr_lint_suggest_kubernetes(struct jr_lint *lint, struct jr_diag *diag,
                                const struct jr_spec_type *type, const struct jr_node *node,
                                const char *path);

#endif
