/* Interpolation: its grammar, and filling in the scalars of a tree by it. */
#ifndef JR_INTERPOLATE_H
#define JR_INTERPOLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "doc/merge.h"

/*
 * The grammar of interpolation:
 *
 *   text       := { any text | reference }
 *   reference  := "${" PATH "}" | "${env:" NAME [ ":-" text ] "}"
 *   before {   a run of dollars stands for half as many; with an odd one the
 *              last begins a reference. So "$${" is a literal "${".
 *
 * Elsewhere a dollar is a dollar.
 */

/* A part of a text. What is between the braces of a reference is its inside. */
struct jr_interpolation {
    enum { JR_INTERPOLATION_TEXT, JR_INTERPOLATION_REFERENCE, JR_INTERPOLATION_OPEN } kind;
    size_t start, end; /* bytes, from the start of the text */
};

/* Read the part at *at and move *at past it; false at the end of the text. A
 * reference that is never closed is JR_INTERPOLATION_OPEN, and the last part.
 */
bool jr_interpolation_next(const char *text, size_t len, size_t *at, struct jr_interpolation *ret);

/* Append text so that it means itself, after what such calls appended before; and a reference, as
 * it is written. */
void jr_interpolation_escape(struct jr_buf *out, const char *text, size_t len);

/* Append a reference as it is written. */
void jr_interpolation_refer(struct jr_buf *out, const char *text, size_t len);

/* Append a text with references in it, after the same. */
void jr_interpolation_append(struct jr_buf *out, const char *text, size_t len);

/*
 * Interpolation: ${PATH} and ${env:NAME} in the scalars of a tree, once it is put together.
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
    const char *const *per_rank; /* NULL-terminated: what %{NAME} may name */
    bool guess;                  /* what may not be read, or comes from outside, is unknown, and
                                    no mistake */
};

/* Fill in the tree of `doc`; all mistakes go to `diags`. */
void jr_interpolate_in(struct jr_doc *doc, const struct jr_interpolate *fill,
                       struct jr_diags *diags);

/* Turn the scalars of a tree into what a source has to say for them: "${" that means itself is
 * escaped, and secrets are references again. */
void jr_interpolate_undo(struct jr_arena *arena, const struct jr_shapes *shapes,
                         struct jr_node *root);

#endif
