/* Nodes and paths through them: doc.h for all, node.h for this folder. */
#include "doc/node.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#include "base/banned.h"

static struct jr_node *new_node(struct jr_arena *arena, enum jr_node_kind kind)
{
    struct jr_node *node = jr_arena_alloc(arena, sizeof *node);
    if (node != NULL)
        node->kind = kind;
    return node;
}

/* The text is stored after the node. */
struct jr_node *jr_node_scalar_n(struct jr_arena *arena, const char *text,
                                 size_t len, bool plain)
{
    struct jr_node *node = jr_arena_alloc(arena, sizeof *node + len + 1);
    if (node == NULL)
        return NULL;
    node->kind = JR_NODE_SCALAR;
    node->plain = plain;
    node->text = memcpy(node + 1, text, len);
    node->len = (uint32_t)len;
    return node;
}

struct jr_node *jr_node_scalar(struct jr_arena *arena, const char *text,
                               bool plain)
{
    return text == NULL ? NULL
                        : jr_node_scalar_n(arena, text, strlen(text), plain);
}

void jr_node_rewrite(struct jr_arena *arena, struct jr_node *node,
                     const char *text, size_t len)
{
    const char *copy = jr_arena_strndup(arena, text == NULL ? "" : text, len);
    if (copy == NULL)
        return;
    node->text = copy;
    node->len = (uint32_t)len;
}

struct jr_node *jr_node_mapping(struct jr_arena *arena)
{
    return new_node(arena, JR_NODE_MAPPING);
}

struct jr_node *jr_node_sequence(struct jr_arena *arena)
{
    return new_node(arena, JR_NODE_SEQUENCE);
}

void jr_node_append(struct jr_arena *arena, struct jr_node *sequence,
                    struct jr_node *item)
{
    if (sequence == NULL || item == NULL)
        return;
    struct jr_node **slot =
        jr_arena_push(arena, &sequence->items, &sequence->count, sizeof *slot);
    if (slot != NULL)
        *slot = item;
}

void jr_node_add(struct jr_arena *arena, struct jr_node *mapping,
                 struct jr_node *key, struct jr_node *value)
{
    if (mapping == NULL || key == NULL || value == NULL)
        return;
    struct jr_pair *pair =
        jr_arena_push(arena, &mapping->pairs, &mapping->count, sizeof *pair);
    if (pair != NULL)
        *pair = (struct jr_pair){key, value};
}

static const struct jr_filled *copy_filled(struct jr_arena *arena,
                                           const struct jr_filled *filled)
{
    if (filled == NULL)
        return NULL;
    struct jr_filled *copy = jr_arena_alloc(arena, sizeof *copy);
    if (copy == NULL)
        return NULL;
    copy->written = jr_arena_strdup(arena, filled->written);
    copy->kept = jr_arena_strdup(arena, filled->kept);
    copy->unknown = filled->unknown;
    return copy;
}

/* A copy outlives what it is made of, so it forgets what that stood for.
 * Children are added one by one: arrays that grow must have been grown by the
 * arena, which derives their capacity from the count. */
struct jr_node *jr_node_copy(struct jr_arena *arena, const struct jr_node *node)
{
    if (node == NULL)
        return NULL;
    struct jr_node *copy = node->kind == JR_NODE_SCALAR
                               ? jr_node_scalar(arena, node->text, node->plain)
                               : new_node(arena, node->kind);
    if (copy == NULL)
        return NULL;
    copy->flow = node->flow;
    copy->shared = node->shared;
    copy->meant = node->meant;
    copy->span = node->span;
    copy->filled = copy_filled(arena, node->filled);
    for (size_t i = 0; node->kind == JR_NODE_SEQUENCE && i < node->count; i++)
        jr_node_append(arena, copy, jr_node_copy(arena, node->items[i]));
    for (size_t i = 0; node->kind == JR_NODE_MAPPING && i < node->count; i++)
        jr_node_add(arena, copy, jr_node_copy(arena, node->pairs[i].key),
                    jr_node_copy(arena, node->pairs[i].value));
    return copy;
}

static struct jr_pair *find_pair(const struct jr_node *mapping,
                                 const struct jr_path_step *step)
{
    if (mapping == NULL || mapping->kind != JR_NODE_MAPPING)
        return NULL;
    for (size_t i = 0; i < mapping->count; i++) {
        const struct jr_node *key = mapping->pairs[i].key;
        if (key->len == step->len &&
            memcmp(key->text, step->key, key->len) == 0)
            return &mapping->pairs[i];
    }
    return NULL;
}

struct jr_pair *jr_doc_pair(const struct jr_node *mapping, const char *key)
{
    const struct jr_path_step step = {.key = key, .len = strlen(key)};
    return find_pair(mapping, &step);
}

struct jr_node *jr_doc_get(const struct jr_node *mapping, const char *key)
{
    struct jr_pair *pair = jr_doc_pair(mapping, key);
    return pair == NULL ? NULL : pair->value;
}

void jr_node_set(struct jr_arena *arena, struct jr_node *mapping,
                 const char *key, struct jr_node *value)
{
    struct jr_pair *pair = jr_doc_pair(mapping, key);
    if (pair == NULL)
        jr_node_add(arena, mapping, jr_node_scalar(arena, key, false), value);
    else if (value != NULL)
        pair->value = value;
}

/* "[12]": no sign, and too few digits to wrap. */
static bool read_index(const char **path, struct jr_path_step *ret)
{
    const char *digit = *path + 1;
    size_t count = strspn(digit, "0123456789");
    if (count == 0 || count > 9 || digit[count] != ']')
        return false;
    *ret = (struct jr_path_step){0};
    for (size_t i = 0; i < count; i++)
        ret->index = ret->index * 10 + (size_t)(digit[i] - '0');
    *path = digit + count + 1;
    return true;
}

bool jr_path_next(const char **path, const char *whole,
                  struct jr_path_step *ret)
{
    if (**path == '[')
        return read_index(path, ret);
    if (*path != whole && *(*path)++ != '.')
        return false;
    *ret = (struct jr_path_step){.key = *path, .len = strcspn(*path, ".[]")};
    *path += ret->len;
    return ret->len != 0 && **path != ']';
}

struct jr_node **jr_path_follow(const struct jr_node *node,
                                const struct jr_path_step *step)
{
    if (step->key != NULL) {
        struct jr_pair *pair = find_pair(node, step);
        return pair == NULL ? NULL : &pair->value;
    }
    if (node->kind != JR_NODE_SEQUENCE || step->index >= node->count)
        return NULL;
    return &node->items[step->index];
}

struct jr_node *jr_doc_find(const struct jr_node *node, const char *path)
{
    struct jr_path_step step;
    struct jr_node **slot = NULL;
    if (path == NULL)
        return NULL;
    for (const char *at = path; node != NULL && *at != '\0'; node = *slot) {
        if (!jr_path_next(&at, path, &step))
            return NULL;
        slot = jr_path_follow(node, &step);
        if (slot == NULL)
            return NULL;
    }
    return slot == NULL ? NULL : *slot;
}

/* Whether `node`, or nothing, may be made a collection for the step. */
static bool is_free(const struct jr_node *node)
{
    return node == NULL || (node->kind == JR_NODE_SCALAR &&
                            jr_scalar_type(node) == JR_SCALAR_NULL);
}

struct jr_node *jr_path_enter(struct jr_arena *arena, struct jr_node *node,
                              const struct jr_path_step *step)
{
    enum jr_node_kind kind =
        step->key != NULL ? JR_NODE_MAPPING : JR_NODE_SEQUENCE;
    if (is_free(node))
        node = new_node(arena, kind);
    if (node == NULL || node->kind != kind)
        return NULL;
    return step->key == NULL && step->index > node->count ? NULL : node;
}

void jr_path_attach(struct jr_arena *arena, struct jr_node *node,
                    const struct jr_path_step *step, struct jr_node *child)
{
    struct jr_node **slot = jr_path_follow(node, step);
    if (slot != NULL)
        *slot = child;
    else if (step->key == NULL)
        jr_node_append(arena, node, child);
    else
        jr_node_add(arena, node,
                    jr_node_scalar_n(arena, step->key, step->len, false),
                    child);
}

struct change {
    struct jr_arena *arena;
    const char *path;
    struct jr_node *value;
};

/* Return the replacement for `node` after the value was put where the rest of
 * the path, from `at`, leads; NULL if it cannot be put there. Children are
 * handled first, so that a path that does not fit changes nothing. */
static struct jr_node *put_at_path(const struct change *change,
                                   struct jr_node *node, const char *at,
                                   unsigned depth)
{
    struct jr_path_step step;
    if (*at == '\0')
        return change->value;
    if (depth == JR_DOC_MAX_DEPTH || !jr_path_next(&at, change->path, &step))
        return NULL;
    node = jr_path_enter(change->arena, node, &step);
    if (node == NULL)
        return NULL;
    struct jr_node **slot = jr_path_follow(node, &step);
    struct jr_node *child =
        put_at_path(change, slot == NULL ? NULL : *slot, at, depth + 1);
    if (child == NULL)
        return NULL;
    jr_path_attach(change->arena, node, &step, child);
    return node;
}

bool jr_node_set_path(struct jr_arena *arena, struct jr_node *mapping,
                      const char *path, struct jr_node *value)
{
    const struct change change = {arena, path, value};
    return *path != '\0' && !is_free(mapping) &&
           put_at_path(&change, mapping, path, 0) != NULL;
}

enum { MAX_SHOWN = 60, FEW = 16 };

/* Whether it is what {{ name }} is to YAML: a mapping of one name. */
static bool is_braced(const struct jr_node *key)
{
    return key->count == 1 && key->pairs[0].key->kind == JR_NODE_SCALAR &&
           key->pairs[0].value->kind == JR_NODE_SCALAR &&
           key->pairs[0].value->len == 0;
}

bool jr_key_check(struct jr_diags *diags, const struct jr_node *key)
{
    struct jr_diag *diag;
    if (key->kind != JR_NODE_SCALAR) {
        bool is_mapping = key->kind == JR_NODE_MAPPING;
        diag = jr_diags_error(diags, JR_CODE_KEY_NOT_SCALAR, key->span, NULL,
                              "a key cannot be a %s",
                              is_mapping ? "mapping" : "sequence");
        jr_diag_help(diags, diag, "%s",
                     is_mapping && is_braced(key)
                         ? "where '{{ }}' is a template of Jinja or Helm, "
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

static void report_duplicate(struct jr_diags *diags,
                             const struct jr_pair *first,
                             const struct jr_pair *again)
{
    const struct jr_node *key = again->key;
    int shown = (int)jr_utf8_cut(key->text, key->len, MAX_SHOWN);
    struct jr_diag *diag =
        jr_diags_error(diags, JR_CODE_DUPLICATE_KEY, key->span, NULL,
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

const struct jr_key *jr_keys_sort(struct jr_arena *arena,
                                  const struct jr_node *mapping)
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

const struct jr_pair *jr_keys_find(const struct jr_node *mapping,
                                   const struct jr_key *sorted, const char *key)
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
void jr_keys_check(struct jr_diags *diags, struct jr_arena *arena,
                   const struct jr_node *mapping)
{
    const struct jr_key *sorted = jr_keys_sort(arena, mapping);
    if (sorted == NULL) {
        if (is_small_mapping(mapping))
            check_few(diags, mapping);
        return;
    }
    for (size_t first = 0, i = 1; i < mapping->count; i++) {
        const char *text = sorted[first].pair->key->text;
        if (sorted[i].hash == sorted[first].hash &&
            strcmp(sorted[i].pair->key->text, text) == 0)
            report_duplicate(diags, sorted[first].pair, sorted[i].pair);
        else
            first = i;
    }
}
