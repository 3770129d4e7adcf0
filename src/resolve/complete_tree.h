/* The tree of a spec in the order of the table of fields, with every default that nothing else has
 * taken the place of. Private to this folder. */
#ifndef JR_COMPLETE_TREE_H
#define JR_COMPLETE_TREE_H

#include "doc/node.h"

/* A copy of `root`, in `arena`, in the order of the table and with its defaults; what the table
 * does not know (x- keys) comes last, and a list or names that are empty are left out. NULL where
 * `root` is, or if memory runs out. */
struct jr_node *jr_complete_tree(struct jr_arena *arena, const struct jr_node *root);

#endif
