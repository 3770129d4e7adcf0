/* Every spec of a folder that is not what it was at a revision. */
#ifndef JR_DIFF_TREE_H
#define JR_DIFF_TREE_H

#include "session/specs/diff_specs.h"

/* Compare the specs below the folders (of `count` words; 0: the current one) with those at the
 * revision, and tell of those whose values differ: each for the machine `on`, else for the first of
 * its targets, else as it is written. Nothing of this machine or its environment is read. */
enum jr_status jr_diff_tree(struct jr_diff *ret, char *const *words, int count,
                            const struct jr_diff_options *options, struct jr_error *err);

#endif
