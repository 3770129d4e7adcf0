#include "plan/internal.h"

#include <stdlib.h>

#include "unit.h"

TEST(refuses_a_world_of_no_size)
{
    static const struct jr_grid bad[] = {
        {{0, 1, 1}},
        {{1, 0, 1}},
        {{1, 1, 0}},
        {{65536, 65536, 1}},
        {{UINT32_MAX, UINT32_MAX, UINT32_MAX}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct jr_error err = {0};
        CU_ASSERT_EQUAL(jr_grid_prove(&bad[i], &err), -1);
        CU_ASSERT_EQUAL(err.status, JR_STATUS_INVALID);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "has no valid size"));
    }
}

/* model 2, pipeline 2, data 2: every number by hand. */
TEST(gives_the_groups_of_eight)
{
    static const struct jr_grid grid = {{2, 2, 2}};
    static const uint32_t members[JR_AXIS_COUNT][4][2] = {
        [JR_AXIS_MODEL] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}},
        [JR_AXIS_PIPELINE] = {{0, 2}, {1, 3}, {4, 6}, {5, 7}},
        [JR_AXIS_DATA] = {{0, 4}, {1, 5}, {2, 6}, {3, 7}},
    };
    static const uint32_t group[8][JR_AXIS_COUNT] = {
        {0, 0, 0}, {0, 1, 1}, {1, 0, 2}, {1, 1, 3}, {2, 2, 0}, {2, 3, 1}, {3, 2, 2}, {3, 3, 3},
    };
    static const uint32_t at[8][JR_AXIS_COUNT] = {
        {0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {0, 0, 1}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1},
    };
    CU_ASSERT_EQUAL(jr_grid_world(&grid), 8);
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++) {
        CU_ASSERT_EQUAL(jr_grid_groups(&grid, axis), 4);
        for (uint32_t i = 0; i < 8; i++) {
            CU_ASSERT_EQUAL(jr_grid_member(&grid, axis, i / 2, i % 2), members[axis][i / 2][i % 2]);
            CU_ASSERT_EQUAL(jr_grid_group(&grid, i, axis), group[i][axis]);
            CU_ASSERT_EQUAL(jr_grid_at(&grid, i, axis), at[i][axis]);
        }
    }
    for (uint32_t rank = 0; rank < 8; rank++)
        CU_ASSERT_EQUAL(jr_grid_rank(&grid, at[rank]), rank);
}

/* The indices that a widely copied library uses to pick a rank's groups are wrong for six of these
 * eight ranks, on both axes. */
TEST(is_not_fooled_by_the_common_mistake)
{
    static const struct jr_grid grid = {{2, 2, 2}};
    unsigned wrong_model = 0, wrong_pipeline = 0;
    for (uint32_t rank = 0; rank < 8; rank++) {
        uint32_t model = jr_grid_at(&grid, rank, JR_AXIS_MODEL);
        uint32_t pipeline = jr_grid_at(&grid, rank, JR_AXIS_PIPELINE);
        wrong_model += jr_grid_group(&grid, rank, JR_AXIS_MODEL) != model;
        wrong_pipeline += jr_grid_group(&grid, rank, JR_AXIS_PIPELINE) != pipeline;
    }
    CU_ASSERT_EQUAL(wrong_model, 6);
    CU_ASSERT_EQUAL(wrong_pipeline, 6);
}

/* The contract states the three groups as formulas. */
static void follows_the_formulas(const struct jr_grid *grid)
{
    uint32_t model = grid->size[JR_AXIS_MODEL];
    uint32_t inner = model * grid->size[JR_AXIS_PIPELINE];
    for (uint32_t rank = 0; rank < jr_grid_world(grid); rank++) {
        uint32_t at[JR_AXIS_COUNT] = {rank % model, rank / model % grid->size[JR_AXIS_PIPELINE],
                                      rank / inner};
        if (jr_grid_rank(grid, at) != rank ||
            jr_grid_group(grid, rank, JR_AXIS_MODEL) != rank / model ||
            jr_grid_group(grid, rank, JR_AXIS_PIPELINE) !=
                at[JR_AXIS_DATA] * model + at[JR_AXIS_MODEL] ||
            jr_grid_group(grid, rank, JR_AXIS_DATA) != rank % inner) {
            CU_FAIL("a formula does not hold");
            return;
        }
    }
}

TEST(proves_every_kind_of_grid)
{
    static const struct jr_grid grids[] = {
        {{1, 1, 1}}, {{7, 1, 1}},  {{1, 13, 1}},    {{1, 1, 4096}},
        {{2, 3, 5}}, {{11, 3, 1}}, {{8, 16, 1024}},
    };
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        CU_ASSERT_EQUAL(jr_grid_prove(&grids[i], NULL), 0);
        follows_the_formulas(&grids[i]);
    }
}

TEST(proves_random_grids)
{
    unsigned seed = 7;
    for (int i = 0; i < 300; i++) {
        struct jr_grid grid;
        for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++)
            grid.size[axis] = 1 + (uint32_t)rand_r(&seed) % 17;
        CU_ASSERT_EQUAL(jr_grid_prove(&grid, NULL), 0);
        follows_the_formulas(&grid);
    }
}
