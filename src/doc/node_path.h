/*
 * Where something stands: the path of a node, what stands there, and the scalar that a path names;
 * and positions in a text.
 */
#ifndef JR_NODE_PATH_H
#define JR_NODE_PATH_H

#include <jobrun/error.h>

#include "doc/doc.h"
#include "doc/merge.h"

/* Describing where something is and what is there: paths, text that is safe to show, and positions
 * within a scalar. */

/* One step of the way from the root to a node; steps live on the stack. A NULL key is a position in
 * a list. */
struct jr_node_step {
    const struct jr_node_step *up;
    const char *key;
    size_t index;
};

/* Append the dotted path of a step: "results.fields.loss", "hosts[2]". Safe to show. NULL is the
 * root, which has none. */
void jr_point_path(struct jr_buf *out, const struct jr_node_step *at);

/* Append text of the user's, made safe and short enough to show. */
void jr_point_text(struct jr_buf *out, const char *text, size_t len);

/* The position of bytes [from, to) of a scalar's text; the whole node where the text in the file is
 * not the text itself (folded lines, escapes, values that were put in). */
struct jr_span jr_point_part(const struct jr_node *node, size_t from, size_t to);

/* The position of bytes [from, to) of a source, both within it. */
struct jr_span jr_point_bytes(const struct jr_source *source, size_t from, size_t to);

/* Finding the scalar that a path in ${...} names: for this folder alone. */

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

/* Look for the scalar that `path` names, and say in *ret where it is or how far the path leads. */
enum jr_located jr_locate(struct jr_locator *locator, const char *path, struct jr_location *ret);

/* Free what lookups have remembered. */
void jr_locator_release(struct jr_locator *locator);

/* The shape of a value as written: for a short form, that of the field that it is short for. */
struct jr_shape jr_shape_of(const struct jr_shapes *shapes, const struct jr_shape *shape,
                            const struct jr_node *node);

/* Positions in a text, for the composer. libyaml's marks are code points from 0, its reader's
 * errors are bytes, and neither leads to the text; a place is all of it. Sources are
 * NUL-terminated. */
struct jr_place {
    size_t index, byte;    /* from 0: code points, bytes */
    uint32_t line, column; /* from 0 */
};

/* Walk forward to a code point or a byte; never backward, never past the end. Linear in the
 * distance. */
void jr_place_to_index(struct jr_place *place, const struct jr_source *source, size_t index);

/* The same for a byte. */
void jr_place_to_byte(struct jr_place *place, const struct jr_source *source, size_t byte);

/* The code point at the place; -1 at the end of the text. */
int jr_place_peek(const struct jr_place *place, const struct jr_source *source);

/* The span from `start` to before `end`. */
struct jr_span jr_place_span(const struct jr_source *source, struct jr_place start,
                             struct jr_place end);

#endif
