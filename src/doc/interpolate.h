/*
 * Interpolation: ${PATH} and ${env:NAME} in the scalars of a tree, once it is
 * put together (interpolation.h has the grammar).
 *
 *   ${vars.lr}              the scalar at that path, itself filled in first
 *   ${env:NAME}             a variable of the environment
 *   ${env:NAME:-default}    the same where it is set, else the default
 *
 * A plain scalar is typed by what it becomes; a quoted one stays a string. What
 * is put in is not looked at again. Keys, and values whose dollars are their
 * own, stay as they are. A scalar that cannot be filled in is marked `unknown`:
 * it was reported, or its value is not expected to be known.
 */
#ifndef JR_INTERPOLATE_H
#define JR_INTERPOLATE_H

#include "doc/shape.h"

/* Bytes that are put in, in all, and scalars that read one another. */
#define JR_FILL_MAX_BYTES (1u << 20)
#define JR_FILL_MAX_DEPTH 64u

struct jr_interpolate {
    const struct jr_shapes *shapes;
    char *const *environ; /* what env: reads; NULL: nothing may be read */
    char *const *allow;   /* globs of names that may be; NULL: all */
    char *const *secrets; /* globs of names whose values are not to be written
                             down, as jr_env_matches reads them */
    size_t secrets_count;
    bool guess; /* what may not be read, or comes from outside, is unknown, and
                   no mistake */
};

/* Fill in the tree of `doc`; all mistakes go to `diags`. */
void jr_interpolate_in(struct jr_doc *doc, const struct jr_interpolate *fill,
                       struct jr_diags *diags);

/* Turn the scalars of a tree into what a source has to say for them: "${" that
 * means itself is escaped, and secrets are references again. */
void jr_interpolate_undo(struct jr_arena *arena, const struct jr_shapes *shapes,
                         struct jr_node *root);

#endif
