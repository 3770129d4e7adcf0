/*
 * What printing the plan for people and for programs have in common, and the tables of the former:
 * the mesh with its groups, and the ranks. Private to this folder.
 */
#ifndef JR_PRINT_PARTS_H
#define JR_PRINT_PARTS_H

#include <jobrun/plan.h>

#include "base/buf.h"

struct jr_drain;

/* A plan that is being told, and how much of it stays in `out`. */
struct jr_telling {
    struct jr_buf *out;
    const struct jr_plan *plan;
    const struct jr_drain *drain; /* NULL: all of it */
    size_t from;                  /* where it begins in `out` */
    bool json;
    bool ended; /* the rest is not needed */
};

/* Hide the values of secrets in what was told, and let the drain have it. With
 * `more` to come only once it is worth while. */
void jr_telling_pass(struct jr_telling *telling, bool more);

/* The word of every axis. */
extern const char *const jr_show_axis[JR_AXIS_COUNT];

/* Whether the name of NAME=VALUE is a secret's, by the plan's globs. Case does not count: a
 * lower-case token is one too. */
bool jr_show_secret(const struct jr_plan *plan, const char *item);

/* Append the mesh as a table, and the groups of every axis with their proof. */
void jr_show_mesh(struct jr_buf *out, const struct jr_plan *plan);

/* Append a row per rank; in a large world, per run of like ranks. `hint` says how to see the
 * environment. */
void jr_show_ranks(struct jr_buf *out, const struct jr_plan *plan, bool hint);

#endif
