#include "plan/node_ranks.h"

#include <stdlib.h>

#include "base/banned.h"

uint32_t *jr_node_ranks_first(const struct jr_plan *plan)
{
    uint32_t *first = calloc((size_t)plan->nodes + 1, sizeof *first);
    if (first == NULL)
        return NULL;
    for (uint32_t i = 0; i < plan->world_size; i++)
        first[plan->ranks[i].node_rank + 1]++;
    for (uint32_t node = 0; node < plan->nodes; node++)
        first[node + 1] += first[node];
    return first;
}
