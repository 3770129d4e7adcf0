/* Filling in scalars, in three parts: interpolate.c walks, interpolate_path.h reads what ${...}
 * names, and interpolate_help.h says what may be meant. Private to this folder. */
#ifndef JR_INTERPOLATOR_H
#define JR_INTERPOLATOR_H

#include "doc/interpolate.h"
#include "doc/node_path.h"

struct jr_interpolator {
    const struct jr_interpolate *fill;
    struct jr_locator locator;
    struct jr_arena *arena; /* the document's */
    struct jr_diags *diags;
    struct jr_strv *hidden; /* the secrets that are read */
    struct jr_strv *hidden_names;
    size_t spent; /* bytes that were put in */
    bool stopped; /* at the limit */
};

/* A scalar that is being filled in, and those on whose behalf it is. */
struct jr_filling {
    const struct jr_filling *up; /* NULL: the walk has come to it */
    struct jr_node *node;
    const char *path;              /* by which `up` names it */
    const struct jr_node_step *at; /* where `up` is NULL */
    unsigned depth;
    /* what comes of it */
    struct jr_buf text;
    bool keep; /* secrets stay references */
    bool secret, unknown;
    unsigned parts, mistakes;
    const struct jr_node *from; /* the last reference */
};

/* The reference at hand. */
struct jr_reference {
    struct jr_interpolator *filler;
    struct jr_filling *filling;
    struct jr_interpolation at; /* braces included */
    const char *inside;         /* in the arena; */
    const char *shown;          /* made fit for messages */
};

/* Fill in a scalar of this shape; `filling` has its node and all that is above the result. */
void jr_interpolate_scalar(struct jr_interpolator *filler, struct jr_filling *filling,
                           const struct jr_shape *shape);

/* Add bytes [from, to) of the scalar's source text to the result. */
void jr_interpolate_part(struct jr_interpolator *filler, struct jr_filling *filling, size_t from,
                         size_t to);

/* Add text as it is; the limit holds. */
void jr_interpolate_add(struct jr_interpolator *filler, struct jr_filling *filling,
                        const char *text, size_t len);

/* A mistake at those bytes, which makes the scalar unknown. */
struct jr_diag *jr_interpolate_error(struct jr_interpolator *filler, struct jr_filling *filling,
                                     enum jr_diag_code code, const struct jr_interpolation *at,
                                     const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
