/* From the tree in normal form to the struct, by libcyaml. Private to this folder. */
#ifndef JR_CYAML_BIND_H
#define JR_CYAML_BIND_H

#include <jobrun/spec.h>

#include "spec/internal.h"

/* Bind a tree without mistakes; `stem` is the name of a spec that states none. A failure is
 * jobrun's own fault and goes to the lint's diags. */
int jr_bind_spec(struct jr_spec **ret, struct jr_lint *lint, const struct jr_node *tree,
                 const char *stem);

/* NULL is allowed. */
void jr_bind_free(struct jr_spec *spec);

#endif
