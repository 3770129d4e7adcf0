/* What the files of sweep_axes.h share. Private to this folder. */
#ifndef JR_SWEEP_PARTS_H
#define JR_SWEEP_PARTS_H

#include "spec/lint.h"
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
struct jr_diag *jr_sweep_refuse(struct jr_sweep_reading *reading,
                                enum jr_diag_code code, struct jr_span span,
                                const char *key, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Add the axis of a key, which has the paths, and of what stands there: a list,
 * a range, or how its values are drawn. Findings otherwise. */
void jr_sweep_add_axis(struct jr_sweep_reading *reading,
                       const struct jr_node *key, struct jr_node *value);

/* Whether a path leads to a field of the table that can vary, or into what is
 * the user's own; else a finding. */
bool jr_sweep_check_field(struct jr_sweep_reading *reading,
                          const struct jr_axis_field *field);

/* Read `exclude` and `include`, once the axes are known. sweep_choices.c */
void jr_sweep_read_choices(struct jr_sweep_reading *reading,
                           const struct jr_node *sweep);

/* Fill in the values of an axis whose fields are known. False after a finding.
 * sweep_values.c */
bool jr_sweep_read_values(struct jr_sweep_reading *reading,
                          struct jr_sweep_axis *axis, struct jr_node *value);

/* Whether a value says how others are drawn: {uniform: [0, 1]}. */
bool jr_sweep_is_draw(const struct jr_node *value);

/* Fill in the draws of all fields that are drawn, and leave out those that are
 * the same as an earlier one, which is a warning. sweep_values.c */
void jr_sweep_draw(struct jr_sweep_reading *reading);

/* Add the axes of --sweep, which take the place of those of the spec that have
 * the same paths. sweep_options.c */
void jr_sweep_read_options(struct jr_sweep_reading *reading,
                           char *const *sweeps, const char *folder);

#endif
