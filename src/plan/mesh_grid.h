/*
 * The mesh as a value: rank <-> coordinates <-> groups. Layout [data][pipeline][model], model
 * fastest. Pure arithmetic.
 */
#ifndef JR_MESH_GRID_H
#define JR_MESH_GRID_H

#include <jobrun/error.h>
#include <jobrun/types.h>

struct jr_grid {
    uint32_t size[JR_AXIS_COUNT];
};

/* The number of ranks: the product of all axes. */
uint32_t jr_grid_world(const struct jr_grid *grid);

/* The coordinate of `rank` on `axis`. */
uint32_t jr_grid_at(const struct jr_grid *grid, uint32_t rank, enum jr_axis axis);

/* The rank at the coordinates `at`. */
uint32_t jr_grid_rank(const struct jr_grid *grid, const uint32_t at[JR_AXIS_COUNT]);

/* The index of the group of `rank` along `axis`. */
uint32_t jr_grid_group(const struct jr_grid *grid, uint32_t rank, enum jr_axis axis);

/* The number of groups along `axis`. */
uint32_t jr_grid_groups(const struct jr_grid *grid, enum jr_axis axis);

/* The rank of member `i` of a group; `i` is below the size of the axis. */
uint32_t jr_grid_member(const struct jr_grid *grid, enum jr_axis axis, uint32_t group, uint32_t i);

/* Prove, by enumeration, that the groups of every axis partition the world and
 * that each rank is a member of its own groups. O(world). Returns 0, or -1 with
 * `err`: what is not so, or JR_STATUS_LAUNCH without memory. */
int jr_grid_prove(const struct jr_grid *grid, struct jr_error *err);

#endif
