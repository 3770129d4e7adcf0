#include "plan/internal.h"

#include "unit.h"

TEST(refuses_a_world_of_no_size)
{
    static const struct jr_grid bad[] = {{{0, 1, 1}},
                                         {{1, 0, 1}},
                                         {{1, 1, 0}},
                                         {{65536, 65536, 1}},
                                         {{UINT32_MAX, UINT32_MAX, UINT32_MAX}}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct jr_error err = {0};
        CU_ASSERT_EQUAL(jr_grid_prove(&bad[i], &err), -1);
        CU_ASSERT_EQUAL(err.status, JR_STATUS_INVALID);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "has no valid size"));
    }
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
    static const struct jr_grid grids[] = {{{1, 1, 1}},    {{7, 1, 1}}, {{1, 13, 1}},
                                           {{1, 1, 4096}}, {{2, 3, 5}}, {{11, 3, 1}},
                                           {{8, 16, 1024}}};
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
