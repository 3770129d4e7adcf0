/* The tree as libcyaml binds it. Private to this folder. */
#ifndef JR_CYAML_TREE_H
#define JR_CYAML_TREE_H

#include "spec/internal.h"

/* Keys that no spec has; the others are those of the rows. */
#define JR_BOUND_NAME       "name"
#define JR_BOUND_VALUE      "value"
#define JR_BOUND_REQUIRED   "required"
#define JR_BOUND_FORM       "form"
#define JR_BOUND_ARGV       "argv"
#define JR_BOUND_TARGET     "target"
#define JR_BOUND_STATED     "stated"
#define JR_BOUND_TEE_STATED "tee_stated"
#define JR_BOUND_RANKS      "ranks"
#define JR_BOUND_STREAMS    "streams"

/* Make it of a tree in normal form, in the lint's arena. NULL if memory runs out, or the arena has
 * failed. */
struct jr_node *jr_bound_tree(struct jr_lint *lint, const struct jr_node *tree, const char *stem);

#endif
