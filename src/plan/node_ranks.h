/* Which ranks each node of a plan has. */
#ifndef JR_NODE_RANKS_H
#define JR_NODE_RANKS_H

#include <jobrun/plan.h>

/* The first rank of each of plan->nodes nodes, in their order, and one more:
 * the ranks of node 2 are those from [2] up to [3]. To be freed; NULL with
 * ENOMEM. */
uint32_t *jr_node_ranks_first(const struct jr_plan *plan);

#endif
