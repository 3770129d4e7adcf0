/*
 * Two sides, their differences, and how these are printed.
 */
#ifndef JR_COMPARISON_H
#define JR_COMPARISON_H

#include "base/diff_table.h"
#include "session/specs/compare_code.h"
#include "session/specs/diff_side.h"

struct jr_comparison {
    struct jr_side a, b;
    struct jr_diff_table specs;
    struct jr_diff_table runs;    /* empty unless both are runs */
    struct jr_code_contrast code; /* the same */
    bool same;                    /* the experiment, as far as can be told */
};

#define JR_COMPARISON_INIT                                                                         \
    {                                                                                              \
        .a = JR_SIDE_INIT, .b = JR_SIDE_INIT                                                       \
    }

/* Resolve both sides for a machine (NULL: none, as they are written), and find
 * what differs. Where a spec cannot be resolved there, both are compared as
 * they are written, and `diags` has the reasons. Returns the exit status:
 * JR_STATUS_INVALID where a spec contradicts itself. */
int jr_comparison_make(struct jr_comparison *comparison, const struct jr_host *host,
                       struct jr_diags *diags, struct jr_error *err);

/* Whether there is more than times and places that is not the same. */
bool jr_comparison_differs(const struct jr_comparison *comparison);

/* Append it for people: names, tables, and the conclusion. */
void jr_comparison_text(struct jr_buf *out, const struct jr_comparison *comparison);

/* Append it for a comment: tables, and the conclusion. */
void jr_comparison_markdown(struct jr_buf *out, const struct jr_comparison *comparison);

/* An object of both sides, and of what differs; `patches`: with those of the code of runs. */
json_t *jr_comparison_json(const struct jr_comparison *comparison, bool patches);

/* Free both sides, and what differs. */
void jr_comparison_release(struct jr_comparison *comparison);

#endif
