/* The resolved spec as a tree: what emit prints and what the fingerprint is taken of. Private to
 * this folder. */
#ifndef JR_RESOLVED_TREE_H
#define JR_RESOLVED_TREE_H

#include "doc/doc.h"
#include "resolve/resolve.h"

/* The spec's tree in the order of the field table, in `arena`, with every field filled that has a
 * value; `???` in place of secrets. `resolution` NULL: as far as it can be told without a machine.
 * The spec has no mistake. NULL if memory runs out. */
struct jr_node *jr_resolved_tree(struct jr_arena *arena, const struct jr_resolution *resolution,
                                 const struct jr_spec_file *file);

#endif
