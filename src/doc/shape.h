/*
 * What putting documents together has to know of their values, and cannot know
 * by itself: a layer above has the table of fields, and tells.
 */
#ifndef JR_SHAPE_H
#define JR_SHAPE_H

#include "doc/doc.h"

/* What is known of a value at some place of the tree. */
struct jr_shape {
    const void *type;         /* the teller's own; NULL: nothing is known */
    const char *shorthand;    /* mapping: the key that a short form sets */
    const char *const *forms; /* mapping: NULL-terminated keys of which it has
                                 one; another one makes it another mapping */
    bool open;                /* mapping: its keys are the user's own */
    bool keeps_null;          /* mapping: null is a value of its entries */
    bool resolvable;          /* null, auto and ??? say that it is MISSING */
    bool awaited;             /* the reader of the field reports a ??? there */
    bool literal;             /* "${" means itself */
    bool early;               /* read before documents are put together */
    bool own;                 /* the user's: never read */
};

/* The shape of the root, and of what a key leads to, or where that is NULL an
 * index; of an unknown shape too. */
struct jr_shapes {
    struct jr_shape root;
    struct jr_shape (*child)(const struct jr_shape *shape, const char *key);
};

/* Whether the value states nothing. */
bool jr_shape_is_missing(const struct jr_shape *shape,
                         const struct jr_node *node);

/* The mapping that a bare value is short for, at the same position; NULL where
 * it is short for none. */
struct jr_node *jr_shape_unfold(struct jr_arena *arena,
                                const struct jr_shape *shape,
                                struct jr_node *node);

/* The one of the shape's forms that a mapping has, or NULL. */
const char *jr_shape_form(const struct jr_shape *shape,
                          const struct jr_node *mapping);

#endif
