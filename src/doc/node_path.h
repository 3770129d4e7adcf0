/* Describing where something is and what is there: paths, text that is safe to
 * show, and positions within a scalar. */
#ifndef JR_NODE_PATH_H
#define JR_NODE_PATH_H

#include "doc/doc.h"

/* One step of the way from the root to a node; steps live on the stack. A NULL
 * key is a position in a list. */
struct jr_node_step {
    const struct jr_node_step *up;
    const char *key;
    size_t index;
};

/* Append the dotted path of a step: "results.fields.loss", "hosts[2]". Safe to
 * show. NULL is the root, which has none. */
void jr_point_path(struct jr_buf *out, const struct jr_node_step *at);

/* Append text of the user's, made safe and short enough to show. */
void jr_point_text(struct jr_buf *out, const char *text, size_t len);

/* The position of bytes [from, to) of a scalar's text; the whole node where the
 * text in the file is not the text itself (folded lines, escapes, values that
 * were put in). */
struct jr_span jr_point_part(const struct jr_node *node, size_t from,
                             size_t to);

/* The position of bytes [from, to) of a source, both within it. */
struct jr_span jr_point_bytes(const struct jr_source *source, size_t from,
                              size_t to);

#endif
