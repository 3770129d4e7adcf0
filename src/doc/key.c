#include "doc/key.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#include "base/banned.h"

enum { MAX_SHOWN = 60, FEW = 16 };

/* Whether it is what {{ name }} is to YAML: a mapping of one name. */
static bool is_braced(const struct jr_node *key)
{
    return key->count == 1 && key->pairs[0].key->kind == JR_NODE_SCALAR &&
           key->pairs[0].value->kind == JR_NODE_SCALAR && key->pairs[0].value->len == 0;
}

bool jr_key_check(struct jr_diags *diags, const struct jr_node *key)
{
    struct jr_diag *diag;
    if (key->kind != JR_NODE_SCALAR) {
        bool is_mapping = key->kind == JR_NODE_MAPPING;
        diag = jr_diags_error(diags, JR_CODE_KEY_NOT_SCALAR, key->span, NULL,
                              "a key cannot be a %s", is_mapping ? "mapping" : "sequence");
        jr_diag_help(diags, diag, "%s",
                     is_mapping && is_braced(key) ? "where '{{ }}' is a template of Jinja or Helm, "
                                                    "write ${vars.NAME}"
                                                  : "quote it if it is meant as text");
        return false;
    }
    if (!key->plain || strcmp(key->text, "<<") != 0)
        return true;
    diag = jr_diags_error(diags, JR_CODE_MERGE_KEY, key->span, NULL,
                          "the merge key '<<' is not supported");
    jr_diag_help(diags, diag,
                 "repeat the entries here; where there are no others, "
                 "write the alias itself: env: *NAME");
    return false;
}

static void report_duplicate(struct jr_diags *diags, const struct jr_pair *first,
                             const struct jr_pair *again)
{
    const struct jr_node *key = again->key;
    int shown = (int)jr_utf8_cut(key->text, key->len, MAX_SHOWN);
    struct jr_diag *diag = jr_diags_error(diags, JR_CODE_DUPLICATE_KEY, key->span, NULL,
                                          "duplicate key '%.*s'", shown, key->text);
    jr_diag_relate(diags, diag, first->key->span, "first stated here");
}

/* FNV-1a. Equal hashes are distinguished by the texts, so the hash may be weak.
 */
static uint64_t hash_key(const char *text)
{
    uint64_t sum = 0xcbf29ce484222325u;
    for (; *text != '\0'; text++)
        sum = (sum ^ (unsigned char)*text) * 0x100000001b3u;
    return sum;
}

struct wanted {
    uint64_t hash;
    const char *text;
};

static int compare_key(const void *key, const void *item)
{
    const struct wanted *wanted = key;
    const struct jr_key *found = item;
    if (wanted->hash != found->hash)
        return wanted->hash < found->hash ? -1 : 1;
    return strcmp(wanted->text, found->pair->key->text);
}

/* Equal ones by their order in the text. */
static int compare_keys(const void *a, const void *b)
{
    const struct jr_key *left = a, *right = b;
    const struct wanted wanted = {left->hash, left->pair->key->text};
    int order = compare_key(&wanted, right);
    if (order != 0)
        return order;
    return (left->pair > right->pair) - (left->pair < right->pair);
}

static bool is_small_mapping(const struct jr_node *mapping)
{
    return mapping->kind != JR_NODE_MAPPING || mapping->count <= FEW;
}

const struct jr_key *jr_keys_sort(struct jr_arena *arena, const struct jr_node *mapping)
{
    if (is_small_mapping(mapping))
        return NULL;
    struct jr_key *keys = jr_arena_array(arena, mapping->count, sizeof *keys);
    if (keys == NULL)
        return NULL;
    for (size_t i = 0; i < mapping->count; i++) {
        const struct jr_pair *pair = &mapping->pairs[i];
        keys[i] = (struct jr_key){hash_key(pair->key->text), pair};
    }
    qsort(keys, mapping->count, sizeof *keys, compare_keys);
    return keys;
}

const struct jr_pair *jr_keys_find(const struct jr_node *mapping, const struct jr_key *sorted,
                                   const char *key)
{
    if (sorted == NULL)
        return jr_doc_pair(mapping, key);
    const struct wanted wanted = {hash_key(key), key};
    const struct jr_key *found =
        bsearch(&wanted, sorted, mapping->count, sizeof *sorted, compare_key);
    return found == NULL ? NULL : found->pair;
}

/* The first of equal keys is the one that jr_doc_get finds. */
static void check_few(struct jr_diags *diags, const struct jr_node *mapping)
{
    for (size_t i = 1; i < mapping->count; i++) {
        const struct jr_pair *pair = &mapping->pairs[i];
        const struct jr_pair *first = jr_doc_pair(mapping, pair->key->text);
        if (first != pair)
            report_duplicate(diags, first, pair);
    }
}

/* Sorted, since a mapping may have 50,000 keys. */
void jr_keys_check(struct jr_diags *diags, struct jr_arena *arena, const struct jr_node *mapping)
{
    const struct jr_key *sorted = jr_keys_sort(arena, mapping);
    if (sorted == NULL) {
        if (is_small_mapping(mapping))
            check_few(diags, mapping);
        return;
    }
    for (size_t first = 0, i = 1; i < mapping->count; i++) {
        const char *text = sorted[first].pair->key->text;
        if (sorted[i].hash == sorted[first].hash && strcmp(sorted[i].pair->key->text, text) == 0)
            report_duplicate(diags, sorted[first].pair, sorted[i].pair);
        else
            first = i;
    }
}
