/* Facts that cannot all be true: each is reported at the position of the second one. */
#ifndef JR_FACTS_CHECK_H
#define JR_FACTS_CHECK_H

#include "resolve/facts.h"

/* Whether facts that were read from `root` can all be true (JR0486 where two cannot): 0, or -1
 * after complaints. */
int jr_facts_check(const struct jr_host *hw, const struct jr_node *root, struct jr_diags *diags);

#endif
