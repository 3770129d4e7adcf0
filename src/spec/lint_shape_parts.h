/* What lint_shape.c and lint_shape_placement.c share. Private to this folder.
 */
#ifndef JR_LINT_SHAPE_PARTS_H
#define JR_LINT_SHAPE_PARTS_H

#include "spec/lint.h"

/* A value on its way to its help. */
struct jr_odd_shape {
    struct jr_lint *lint;
    struct jr_diag *diag;
    const struct jr_spec_type *type;
    const struct jr_node *node;
    const struct jr_node_step *at;
    const char *path;
    const char *text; /* of a scalar; else "" */
};

#define HELP(s, ...) jr_diag_help((s)->lint->diags, (s)->diag, __VA_ARGS__)

/* Whether all of a value are bare words, so that they can be written again. */
bool jr_shape_are_words(const struct jr_node *node);

#endif
