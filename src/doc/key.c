#include "key.h"

#include <stdlib.h>
#include <string.h>

#include "banned.h"

enum { MAX_SHOWN = 60, FEW = 16 };

bool jr_key_check(struct jr_diags *diags, const struct jr_node *key)
{
    struct jr_diag *diag;
    if (key->kind != JR_NODE_SCALAR) {
        bool is_mapping = key->kind == JR_NODE_MAPPING;
        diag =
            jr_diags_error(diags, 113, key->span, NULL, "a key cannot be a %s",
                           is_mapping ? "mapping" : "sequence");
        jr_diag_help(diags, diag, "quote it if it is meant as text");
        return false;
    }
    if (!key->plain || strcmp(key->text, "<<") != 0)
        return true;
    diag = jr_diags_error(diags, 114, key->span, NULL,
                          "the merge key '<<' is not supported");
    jr_diag_help(diags, diag, "repeat the entries here");
    return false;
}

/* The bytes of a key that a message shows: not half a character. */
static int shown_size(const struct jr_node *key)
{
    size_t size = key->len < MAX_SHOWN ? key->len : MAX_SHOWN;
    while (size > 0 && ((unsigned char)key->text[size] & 0xc0) == 0x80)
        size--;
    return (int)size;
}

/* By text, then by order in the text. */
static int compare_keys(const void *a, const void *b)
{
    const struct jr_pair *const *left = a, *const *right = b;
    int order = strcmp((*left)->key->text, (*right)->key->text);
    return order != 0 ? order : (*left > *right) - (*left < *right);
}

static void report_duplicate(struct jr_diags *diags,
                             const struct jr_pair *first,
                             const struct jr_pair *again)
{
    struct jr_diag *diag = jr_diags_error(
        diags, 106, again->key->span, NULL, "duplicate key '%.*s'",
        shown_size(again->key), again->key->text);
    jr_diag_relate(diags, diag, first->key->span, "first stated here");
}

static const struct jr_pair **sort(struct jr_arena *arena,
                                   const struct jr_node *mapping)
{
    size_t count = mapping->count;
    const struct jr_pair **sorted =
        jr_arena_array(arena, count, sizeof *sorted);
    for (size_t i = 0; sorted != NULL && i < count; i++)
        sorted[i] = &mapping->pairs[i];
    if (sorted != NULL)
        qsort(sorted, count, sizeof *sorted, compare_keys);
    return sorted;
}

/* Sorted, since a mapping may have 50,000 keys. The first of equal keys is the
 * one that jr_doc_get finds. */
void jr_keys_check(struct jr_diags *diags, struct jr_arena *arena,
                   const struct jr_node *mapping)
{
    size_t count = mapping->count;
    const struct jr_pair **sorted = count < 2 ? NULL : sort(arena, mapping);
    if (sorted == NULL)
        return;
    for (size_t first = 0, i = 1; i < count; i++)
        if (strcmp(sorted[i]->key->text, sorted[first]->key->text) == 0)
            report_duplicate(diags, sorted[first], sorted[i]);
        else
            first = i;
}

const struct jr_pair **jr_keys_sort(struct jr_arena *arena,
                                    const struct jr_node *mapping)
{
    bool few = mapping->kind != JR_NODE_MAPPING || mapping->count <= FEW;
    return few ? NULL : sort(arena, mapping);
}

static int compare_key(const void *key, const void *pair)
{
    const struct jr_pair *const *right = pair;
    return strcmp(key, (*right)->key->text);
}

const struct jr_pair *jr_keys_find(const struct jr_node *mapping,
                                   const struct jr_pair *const *sorted,
                                   const char *key)
{
    if (sorted == NULL)
        return jr_doc_pair(mapping, key);
    const struct jr_pair *const *found = bsearch(
        key, sorted, mapping->count, sizeof(struct jr_pair *), compare_key);
    return found == NULL ? NULL : *found;
}
