/* Finding the scalar that a path in ${...} names. Private to this folder. */
#ifndef JR_LOCATE_H
#define JR_LOCATE_H

#include "doc/shape.h"

/* Where one looks: lookups in large mappings are remembered. */
struct jr_locator {
    struct jr_arena *arena;
    const struct jr_shapes *shapes;
    struct jr_node *root;
    void *indexes; /* of tsearch */
};

enum jr_located {
    JR_LOCATED,
    JR_LOCATED_NO_PATH,  /* malformed */
    JR_LOCATED_UNKNOWN,  /* no such name: `near` has those that there are */
    JR_LOCATED_UNSTATED, /* a field that is not stated */
    JR_LOCATED_OWN       /* the user's own, which is never read */
};

struct jr_location {
    struct jr_node *node;       /* when located */
    struct jr_shape shape;      /* of it */
    const struct jr_node *near; /* a mapping; NULL: none */
    const char *name;           /* that it has not; in the arena */
    size_t name_at;             /* where that is in the path */
};

enum jr_located jr_locate(struct jr_locator *locator, const char *path,
                          struct jr_location *ret);

void jr_locator_release(struct jr_locator *locator);

/* The shape of a value as written: for a short form, that of the field that it
 * is short for. */
struct jr_shape jr_shape_of(const struct jr_shapes *shapes,
                            const struct jr_shape *shape,
                            const struct jr_node *node);

#endif
