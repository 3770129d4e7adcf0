/* What YAML calls the properties of a node: its anchor and its tag. */
#ifndef JR_NODE_PROPERTIES_H
#define JR_NODE_PROPERTIES_H

#include "doc/doc.h"

/* Anchors by name, and what expanding an alias would cost. */

/* Zeroed: empty. */
struct jr_anchors {
    void *tree; /* of tsearch */
};

/* Define `name` (copied; NULL adds nothing) as an anchor of the node; a name may be defined again.
 * If memory runs out, the arena fails. */
void jr_anchors_add(struct jr_anchors *anchors, struct jr_arena *arena, const char *name,
                    const struct jr_node *node);

/* The node that has the anchor now, or NULL. */
const struct jr_node *jr_anchors_find(const struct jr_anchors *anchors, const char *name);

/* Free the names; the nodes stay. */
void jr_anchors_release(struct jr_anchors *anchors);

/* The cost of a copy of a node: all nodes in it, the bytes of its scalars, and the collections
 * around its innermost scalar. */
struct jr_weight {
    size_t nodes, bytes, height;
};

/* Weigh a node with all that is below it. Linear in the nodes. */
struct jr_weight jr_node_weigh(const struct jr_node *node);

/* The tags of the YAML core schema; there are no others. */

/* Let `tag` (as libyaml resolves it; NULL for none) say what `node` is: !!str makes any scalar a
 * string, the others state a type that the text must have. An unknown or contradicting tag is a
 * finding at `span`. */
void jr_tag_apply(struct jr_diags *diags, struct jr_node *node, const char *tag,
                  struct jr_span span);

#endif
