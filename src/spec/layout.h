/*
 * How a file is laid out around a pair of its top: which bytes the pair has, what is beside it,
 * which comments are about it, how the file indents and ends its lines. Only what the file itself
 * has is looked at, not what it extends.
 */
#ifndef JR_LAYOUT_H
#define JR_LAYOUT_H

#include "doc/doc.h"

/* The bytes of a pair whose value is a scalar on the line of its key. */
struct jr_spot {
    size_t key, key_end;
    size_t value, value_end;
    /* In block style: the line, its end without the line break, and the position after that. */
    size_t start, end, next;
};

struct jr_layout {
    const struct jr_source *source;
    const struct jr_node *root, *key; /* the key is one of the root's */
    struct jr_spot own;               /* of the key's pair */
};

/* Look around a key of `root`. False if the effect of an edit is not certain:
 * for a value with an anchor or a tag, for one of several lines, and if YAML
 * readers differ about the line breaks. */
bool jr_layout_find(struct jr_layout *ret, const struct jr_node *root, const struct jr_node *key);

/* Find a pair of the file, in a mapping in flow style or in block style, where it must have its
 * line for itself. False for the same reasons. */
bool jr_layout_pair(const struct jr_layout *layout, const struct jr_pair *pair, bool flow,
                    struct jr_spot *ret);

/* The pair of the root right before or right after the key; NULL if there is none. */
const struct jr_pair *jr_layout_beside(const struct jr_layout *layout, bool behind);

/* The last pair of a mapping, or NULL. */
const struct jr_pair *jr_layout_last(const struct jr_layout *layout, const struct jr_node *mapping);

/* How the file ends its lines. */
const char *jr_layout_break(const struct jr_layout *layout);

/* How far the file indents: as its first mapping within the top does. */
size_t jr_layout_step(const struct jr_layout *layout);

/* The start of the comments right above the key's line, in its column. Comments above the first
 * pair are about the file. */
size_t jr_layout_comments(const struct jr_layout *layout);

#endif
