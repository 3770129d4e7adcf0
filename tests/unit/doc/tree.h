/* Loading in one call, and trees compared by value. */
#ifndef JR_TEST_TREE_H
#define JR_TEST_TREE_H

#include <string.h>

#include "base/buf.h"
#include "diag/diag.h"
#include "doc/doc.h"

struct loaded {
    struct jr_doc doc;
    struct jr_diags diags;
    int result;
};

/* Load under the name `t`. */
static inline struct loaded load(const char *text, size_t len)
{
    struct loaded loaded = {.result = -1};
    loaded.result = jr_doc_load(&loaded.doc, "t", text, len, &loaded.diags);
    return loaded;
}

static inline void unload(struct loaded *loaded)
{
    jr_diags_release(&loaded->diags);
    jr_doc_release(&loaded->doc);
}

static inline bool same_text(const struct jr_node *a, const struct jr_node *b)
{
    return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

/* The same kinds, values and order. How a null is spelled does not count, nor do quotes, but where
 * they make another type; keys are text. */
static inline bool same_tree(const struct jr_node *a, const struct jr_node *b)
{
    if (a->kind != b->kind || a->count != b->count)
        return false;
    if (a->kind == JR_NODE_SCALAR)
        return jr_scalar_type(a) == jr_scalar_type(b) &&
               (jr_scalar_type(a) == JR_SCALAR_NULL || same_text(a, b));
    for (size_t i = 0; i < a->count; i++) {
        bool same = a->kind == JR_NODE_SEQUENCE
                        ? same_tree(a->items[i], b->items[i])
                        : same_text(a->pairs[i].key, b->pairs[i].key) &&
                              same_tree(a->pairs[i].value, b->pairs[i].value);
        if (!same)
            return false;
    }
    return true;
}

#endif
