/*
 * Two trees, or two specs, side by side: what differs between them as they stand; and what differs
 * once both specs are resolved for a machine, or as far as that can be told without one.
 */
#ifndef JR_SPEC_DIFF_H
#define JR_SPEC_DIFF_H

#include "base/diff_table.h"
#include "doc/doc.h"
#include "resolve/fingerprint.h"
#include "resolve/resolve.h"

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

/* Compare two trees (NULL: an empty one), which must outlive *ret. The order of keys and the quotes
 * around a scalar do not count, and an empty mapping is none, but among the arguments of a
 * function; null differs from the string "null". Mappings, and sequences of one length, are
 * compared entry by entry, so that each change is as small as it can be told. If memory runs out,
 * the arena fails. */
void jr_changes_find(struct jr_changes *ret, const struct jr_node *a, const struct jr_node *b);

/* Free the changes and their paths. */
void jr_changes_release(struct jr_changes *changes);

struct jr_diff_side {
    const struct jr_spec_file *file;        /* a spec without a mistake; NULL: none, to
                                               which all that the other one states is
                                               new */
    const struct jr_resolution *resolution; /* NULL: as it is written */
};

/* Set *ret to the values that differ, in the order of the field table, each with its part and where
 * it comes from. It borrows from the files. Returns 0, or -1 without memory. */
int jr_diff_make(struct jr_diff_table *ret, const struct jr_diff_side *a,
                 const struct jr_diff_side *b, struct jr_error *err);

/* Whether nothing that is the experiment's differs. */
bool jr_diff_is_same(const struct jr_diff_table *diff);

#endif
