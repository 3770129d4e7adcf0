/* What this folder needs of nodes beyond doc.h: the steps of paths through
 * them, and the keys of mappings. Private to this folder. */
#ifndef JR_NODE_H
#define JR_NODE_H

#include "doc/doc.h"

/* Give a scalar another text, copied; NULL is none. If memory runs out, it
 * keeps the one that it has. */
void jr_node_rewrite(struct jr_arena *arena, struct jr_node *node,
                     const char *text, size_t len);

/* One step of a dotted path: a key of a mapping, or an index of a sequence. */
struct jr_path_step {
    const char *key; /* not terminated; NULL: an index */
    size_t len;
    size_t index;
};

/* Take the first step off `path`, of which `whole` is the beginning, with the
 * dot before it; false when it is malformed. */
bool jr_path_next(const char **path, const char *whole,
                  struct jr_path_step *ret);

/* The slot that a step leads to, or NULL. */
struct jr_node **jr_path_follow(const struct jr_node *node,
                                const struct jr_path_step *step);

/* The collection that a step leads on from: `node`, or a new one where that is
 * NULL or null. NULL where it is of the wrong kind, or the index is beyond the
 * next free one. */
struct jr_node *jr_path_enter(struct jr_arena *arena, struct jr_node *node,
                              const struct jr_path_step *step);

/* Put `child` where the step leads. */
void jr_path_attach(struct jr_arena *arena, struct jr_node *node,
                    const struct jr_path_step *step, struct jr_node *child);

/* The keys of a mapping: what may be one, and finding one among many. */

/* Whether a node can be a key: a scalar, and not the merge key. If not, that is
 * a finding. */
bool jr_key_check(struct jr_diags *diags, const struct jr_node *key);

/* Report each key that a mapping has already. `arena` is for scratch memory. */
void jr_keys_check(struct jr_diags *diags, struct jr_arena *arena,
                   const struct jr_node *mapping);

/* A key of a large mapping, with what makes it fast to compare. */
struct jr_key {
    uint64_t hash; /* of its text */
    const struct jr_pair *pair;
};

/* The keys of a mapping in an order in which they are found fast, in `arena`;
 * NULL where there are so few that this is not worth it. */
const struct jr_key *jr_keys_sort(struct jr_arena *arena,
                                  const struct jr_node *mapping);

/* The pair of a key, by `sorted` of jr_keys_sort; NULL for none. */
const struct jr_pair *jr_keys_find(const struct jr_node *mapping,
                                   const struct jr_key *sorted,
                                   const char *key);

#endif
