/* What this folder needs of nodes beyond doc.h: the steps of paths through them. Private to this
 * folder. */
#ifndef JR_NODE_H
#define JR_NODE_H

#include "doc/doc.h"

/* Give a scalar another text, copied; NULL is none. If memory runs out, it keeps the one that it
 * has. */
void jr_node_rewrite(struct jr_arena *arena, struct jr_node *node, const char *text, size_t len);

/* One step of a dotted path: a key of a mapping, or an index of a sequence. */
struct jr_path_step {
    const char *key; /* not terminated; NULL: an index */
    size_t len;
    size_t index;
};

/* Take the first step off `path`, of which `whole` is the beginning, with the dot before it; false
 * when it is malformed. */
bool jr_path_next(const char **path, const char *whole, struct jr_path_step *ret);

/* The slot that a step leads to, or NULL. */
struct jr_node **jr_path_follow(const struct jr_node *node, const struct jr_path_step *step);

/* The collection that a step leads on from: `node`, or a new one where that is NULL or null. NULL
 * where it is of the wrong kind, or the index is beyond the next free one. */
struct jr_node *jr_path_enter(struct jr_arena *arena, struct jr_node *node,
                              const struct jr_path_step *step);

/* Put `child` where the step leads. */
void jr_path_attach(struct jr_arena *arena, struct jr_node *node, const struct jr_path_step *step,
                    struct jr_node *child);

#endif
