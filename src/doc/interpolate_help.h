/* What may have been meant by a ${...} that names nothing, or is none: the third part of
 * interpolator.h. */
#ifndef JR_INTERPOLATE_HELP_H
#define JR_INTERPOLATE_HELP_H

#include "doc/interpolator.h"

/* Help for a name that is not there. */
void jr_reference_help_unknown(const struct jr_reference *r, const struct jr_location *location,
                               struct jr_diag *diag);

/* Refuse a reference to a node that is no scalar, with one to a scalar in it.
 */
void jr_reference_help_entry(const struct jr_reference *r, const struct jr_node *node);

/* What is wrong with a reference that is none. Static text. */
const char *jr_reference_problem(const struct jr_reference *r);

/* Help for what is between the braces and is no reference. Returns whether it is known what was
 * meant. */
bool jr_reference_help_malformed(const struct jr_reference *r, struct jr_diag *diag);

/* Help for a name that each rank fills in for itself, as %{rank}. Returns whether it is one. */
bool jr_reference_help_per_rank(const struct jr_reference *r, const char *name,
                                struct jr_diag *diag);

/* The same for a variable that each rank gets and jobrun itself has not: RANK, WORLD_SIZE,
 * MASTER_ADDR. */
bool jr_reference_help_rank_variable(const struct jr_reference *r, const char *name,
                                     struct jr_diag *diag);

/* Help for a "${" at `text` that nothing closes. */
void jr_reference_help_open(struct jr_interpolator *filler, struct jr_diag *diag, const char *text);

#endif
