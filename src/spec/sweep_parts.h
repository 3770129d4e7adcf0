/* What the readers of sweep_axes.h share. Private to this folder. */
#ifndef JR_SWEEP_PARTS_H
#define JR_SWEEP_PARTS_H

#include "spec/internal.h"
#include "spec/sweep_axes.h"

/* The reading of a sweep. */
struct jr_sweep_reading {
    struct jr_sweep_axes *axes;
    struct jr_doc *doc;
    struct jr_arena *arena; /* the document's */
    struct jr_diags *diags;
    struct jr_sweep_axis *draws; /* the fields that are drawn; NULL: none yet */
};

/* A finding at a node of an axis, which is called by its key. */
struct jr_diag *jr_sweep_refuse(struct jr_sweep_reading *reading, enum jr_diag_code code,
                                struct jr_span span, const char *key, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Add the axis of a key, which has the paths, and of what stands there: a list, a range, or how its
 * values are drawn. Findings otherwise. */
void jr_sweep_add_axis(struct jr_sweep_reading *reading, const struct jr_node *key,
                       struct jr_node *value);

/* Whether a path leads to a field of the table that can vary, or into what is the user's own; else
 * a finding. */
bool jr_sweep_check_field(struct jr_sweep_reading *reading, const struct jr_axis_field *field);

#endif
