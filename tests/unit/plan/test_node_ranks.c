/* Which ranks each node has. */
#include "plan/node_ranks.h"

#include "unit.h"

enum { MOST = 8 };

static void check_first(uint32_t nodes, const uint32_t *node_ranks, uint32_t world_size,
                        const uint32_t *expected)
{
    struct jr_plan_rank ranks[MOST] = {{0}};
    const struct jr_plan plan = {.nodes = nodes, .world_size = world_size, .ranks = ranks};
    for (uint32_t i = 0; i < world_size; i++)
        ranks[i].node_rank = node_ranks[i];
    uint32_t *first = jr_node_ranks_first(&plan);
    CU_ASSERT_PTR_NOT_NULL_FATAL(first);
    for (uint32_t node = 0; node <= nodes; node++)
        CU_ASSERT_EQUAL(first[node], expected[node]);
    free(first);
}

TEST(begins_where_the_node_before_ends)
{
    check_first(1, (const uint32_t[]){0, 0, 0}, 3, (const uint32_t[]){0, 3});
    check_first(3, (const uint32_t[]){0, 0, 1, 2, 2, 2}, 6, (const uint32_t[]){0, 2, 3, 6});
}

TEST(knows_nodes_without_ranks)
{
    check_first(4, (const uint32_t[]){1, 1, 3}, 3, (const uint32_t[]){0, 0, 2, 2, 3});
    check_first(2, NULL, 0, (const uint32_t[]){0, 0, 0});
}
