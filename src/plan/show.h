/*
 * What printing the plan for people and for programs have in common. Private to
 * this folder.
 */
#ifndef JR_SHOW_H
#define JR_SHOW_H

#include <jobrun/plan.h>

#include "buf.h"

#define JR_SHOW_REDACTED "<redacted>"

/* The word of every axis. */
extern const char *const jr_show_axis[JR_AXIS_COUNT];

/* Whether the name of NAME=VALUE is a secret's, by the plan's globs. Case does
 * not count: a lower-case token is one too. */
bool jr_show_secret(const struct jr_plan *plan, const char *item);

/* Put JR_SHOW_REDACTED in the place of every secret of plan->hidden that was
 * appended from byte `from` on, as JSON has it or as people are shown it.
 * Values of less than four bytes are too common to be told apart. */
void jr_show_hide(struct jr_buf *out, size_t from, const struct jr_plan *plan,
                  bool json);

/* Append the mesh as a table, and the groups of every axis with their proof. */
void jr_show_mesh(struct jr_buf *out, const struct jr_plan *plan);

/* Append a row per rank; in a large world, per run of like ranks. `hint` says
 * how to see the environment. */
void jr_show_ranks(struct jr_buf *out, const struct jr_plan *plan, bool hint);

#endif
