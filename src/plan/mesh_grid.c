/* The mesh as a value: rank <-> coordinates <-> groups. Layout [data][pipeline][model], model
 * fastest. Pure arithmetic. Declared in internal.h. */
#include "plan/internal.h"

#include <stdlib.h>

#include "base/cleanup.h"

#include "base/banned.h"

/* The distance in ranks between neighbours on `axis`: the product of the faster axes. All else
 * follows from it. */
static uint32_t axis_stride(const struct jr_grid *grid, enum jr_axis axis)
{
    uint32_t stride = 1;
    for (enum jr_axis faster = 0; faster < axis; faster++)
        stride *= grid->size[faster];
    return stride;
}

uint32_t jr_grid_world(const struct jr_grid *grid)
{
    return axis_stride(grid, JR_AXIS_COUNT);
}

uint32_t jr_grid_at(const struct jr_grid *grid, uint32_t rank, enum jr_axis axis)
{
    return rank / axis_stride(grid, axis) % grid->size[axis];
}

uint32_t jr_grid_rank(const struct jr_grid *grid, const uint32_t at[JR_AXIS_COUNT])
{
    uint32_t rank = 0;
    for (enum jr_axis axis = JR_AXIS_COUNT; axis-- > 0;)
        rank = rank * grid->size[axis] + at[axis];
    return rank;
}

uint32_t jr_grid_group(const struct jr_grid *grid, uint32_t rank, enum jr_axis axis)
{
    uint32_t stride = axis_stride(grid, axis);
    return rank / (stride * grid->size[axis]) * stride + rank % stride;
}

uint32_t jr_grid_groups(const struct jr_grid *grid, enum jr_axis axis)
{
    return jr_grid_world(grid) / grid->size[axis];
}

uint32_t jr_grid_member(const struct jr_grid *grid, enum jr_axis axis, uint32_t group, uint32_t i)
{
    uint32_t stride = axis_stride(grid, axis);
    return group / stride * (stride * grid->size[axis]) + i * stride + group % stride;
}

static int check_mesh_ranks(const struct jr_grid *grid, struct jr_error *err)
{
    uint32_t world = jr_grid_world(grid);
    for (uint32_t rank = 0; rank < world; rank++) {
        uint32_t at[JR_AXIS_COUNT];
        for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++)
            at[axis] = jr_grid_at(grid, rank, axis);
        if (jr_grid_rank(grid, at) != rank)
            return jr_error_set(err, JR_STATUS_INVALID, "rank %u does not have its coordinates",
                                rank);
    }
    return 0;
}

/* Every member of every group is a rank seen for the first time, and belongs to that group by its
 * own account; groups x size = world does the rest. `seen` is world zeroes. */
static int check_mesh_axis(const struct jr_grid *grid, enum jr_axis axis, bool *seen,
                           struct jr_error *err)
{
    uint32_t world = jr_grid_world(grid);
    uint32_t groups = jr_grid_groups(grid, axis);
    for (uint32_t n = 0; n < world; n++) {
        uint32_t group = n % groups;
        uint32_t rank = jr_grid_member(grid, axis, group, n / groups);
        if (rank >= world || seen[rank] || jr_grid_group(grid, rank, axis) != group ||
            jr_grid_at(grid, rank, axis) != n / groups)
            return jr_error_set(err, JR_STATUS_INVALID,
                                "rank %u is in the wrong group %u of axis %d", rank, group,
                                (int)axis);
        seen[rank] = true;
    }
    return 0;
}

int jr_grid_prove(const struct jr_grid *grid, struct jr_error *err)
{
    uint64_t world = 1;
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++) {
        world *= grid->size[axis];
        if (world == 0 || world > UINT32_MAX)
            return jr_error_set(err, JR_STATUS_INVALID, "a mesh of %u x %u x %u has no valid size",
                                grid->size[JR_AXIS_DATA], grid->size[JR_AXIS_PIPELINE],
                                grid->size[JR_AXIS_MODEL]);
    }
    if (check_mesh_ranks(grid, err) < 0)
        return -1;
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++) {
        JR_FREE bool *seen = calloc(jr_grid_world(grid), sizeof *seen);
        if (seen == NULL)
            return jr_error_sys(err, JR_STATUS_LAUNCH, "proving the mesh");
        if (check_mesh_axis(grid, axis, seen, err) < 0)
            return -1;
    }
    return 0;
}
