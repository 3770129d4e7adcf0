/*
 * Two specs side by side: what differs once they are resolved for a machine, or
 * as far as that can be told without one.
 */
#ifndef JR_SPEC_DIFF_H
#define JR_SPEC_DIFF_H

#include "base/diff_table.h"
#include "resolve/field_part.h"
#include "resolve/resolve.h"

struct jr_diff_side {
    const struct jr_spec_file *file; /* a spec without a mistake; NULL: none, to
                                        which all that the other one states is
                                        new */
    const struct jr_resolution *resolution; /* NULL: as it is written */
};

/* Set *ret to the values that differ, in the order of the field table, each
 * with its part and where it comes from. It borrows from the files. Returns 0,
 * or -1 without memory. */
int jr_diff_make(struct jr_diff_table *ret, const struct jr_diff_side *a,
                 const struct jr_diff_side *b, struct jr_error *err);

/* Whether nothing that is the experiment's differs. */
bool jr_diff_is_same(const struct jr_diff_table *diff);

#endif
