/* What differs between two trees. */
#ifndef JR_TREE_DIFF_H
#define JR_TREE_DIFF_H

#include "doc/doc.h"

/* A value that is not the same in both; NULL where a tree has none. */
struct jr_change {
    const char *path; /* dotted, [i] for items; "" is the root */
    const struct jr_node *a, *b;
};

struct jr_changes {
    struct jr_arena arena; /* of the paths */
    struct jr_change *items;
    size_t count;
};

#define JR_CHANGES_INIT ((struct jr_changes){0})

/* Compare two trees (NULL: an empty one), which must outlive *ret. The order of
 * keys and the quotes around a scalar do not count, and an empty mapping is
 * none, but among the arguments of a function; null differs from the string
 * "null". Mappings, and sequences of one length, are compared entry by entry,
 * so that each change is as small as it can be told. If memory runs out, the
 * arena fails. */
void jr_changes_find(struct jr_changes *ret, const struct jr_node *a,
                     const struct jr_node *b);
void jr_changes_release(struct jr_changes *changes);

#endif
