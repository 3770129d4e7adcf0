/* The keys of a mapping: what may be one, and finding one among many. */
#ifndef JR_KEY_H
#define JR_KEY_H

#include "doc/doc.h"

/* A key of a large mapping, with what makes it fast to compare. */
struct jr_key {
    uint64_t hash; /* of its text */
    const struct jr_pair *pair;
};

/* Whether a node can be a key: a scalar, and not the merge key. If not, that is a finding. */
bool jr_key_check(struct jr_diags *diags, const struct jr_node *key);

/* Report each key that a mapping has already. `arena` is for scratch memory. */
void jr_keys_check(struct jr_diags *diags, struct jr_arena *arena, const struct jr_node *mapping);

/* The keys of a mapping in an order in which they are found fast, in `arena`; NULL where there are
 * so few that this is not worth it. */
const struct jr_key *jr_keys_sort(struct jr_arena *arena, const struct jr_node *mapping);

/* The pair of a key, by `sorted` of jr_keys_sort; NULL for none. */
const struct jr_pair *jr_keys_find(const struct jr_node *mapping, const struct jr_key *sorted,
                                   const char *key);

#endif
