/*
 * One tree laid over another.
 *
 *   mappings    merge entry by entry, deep
 *   others      replace what is there; so does a mapping of another form
 *   null        removes the entry under it, but where null is a value
 *   shorthands  a bare value under a mapping is made long first; over one it
 *               replaces it whole, like any other value
 *
 * Every node keeps the span of the text that it is from, and by `under` what it
 * replaced. A null that there is nothing under stays.
 */
#ifndef JR_MERGE_H
#define JR_MERGE_H

#include "doc/shape.h"

struct jr_merger {
    struct jr_arena *arena; /* of what is new */
    const struct jr_shapes *shapes;
};

/* The tree that comes of laying `over` over `base`, both of one shape. It
 * shares nodes with both, which stay as they are. NULL if memory runs out.
 * Linear in the nodes, except for sorting keys. */
struct jr_node *jr_merge(const struct jr_merger *merger,
                         const struct jr_shape *shape, struct jr_node *base,
                         struct jr_node *over);

/* `over` in the place of `base`. */
struct jr_node *jr_merge_replace(struct jr_arena *arena, struct jr_node *base,
                                 const struct jr_node *over);

#endif
