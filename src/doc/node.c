/* Nodes, their keys, paths through them and positions in a text: doc.h declares them, and
 * internal.h what ${...} names. */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "doc/doc.h"
#include "doc/internal.h"

#include "base/banned.h"

static struct jr_node *new_node(struct jr_arena *arena, enum jr_node_kind kind)
{
    struct jr_node *node = jr_arena_alloc(arena, sizeof *node);
    if (node != NULL)
        node->kind = kind;
    return node;
}

/* The text is stored after the node. */
struct jr_node *jr_node_scalar_n(struct jr_arena *arena, const char *text, size_t len, bool plain)
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

struct jr_node *jr_node_scalar(struct jr_arena *arena, const char *text, bool plain)
{
    return text == NULL ? NULL : jr_node_scalar_n(arena, text, strlen(text), plain);
}

void jr_node_rewrite(struct jr_arena *arena, struct jr_node *node, const char *text, size_t len)
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

void jr_node_append(struct jr_arena *arena, struct jr_node *sequence, struct jr_node *item)
{
    if (sequence == NULL || item == NULL)
        return;
    struct jr_node **slot = jr_arena_push(arena, &sequence->items, &sequence->count, sizeof *slot);
    if (slot != NULL)
        *slot = item;
}

void jr_node_add(struct jr_arena *arena, struct jr_node *mapping, struct jr_node *key,
                 struct jr_node *value)
{
    if (mapping == NULL || key == NULL || value == NULL)
        return;
    struct jr_pair *pair = jr_arena_push(arena, &mapping->pairs, &mapping->count, sizeof *pair);
    if (pair != NULL)
        *pair = (struct jr_pair){key, value};
}

/* A copy outlives what it is made of, so it forgets what that stood for. Children are added one by
 * one: arrays that grow must have been grown by the arena, which derives their capacity from the
 * count. */
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
    struct jr_filled *filled = node->filled == NULL ? NULL : jr_arena_alloc(arena, sizeof *filled);
    if (filled != NULL) {
        filled->written = jr_arena_strdup(arena, node->filled->written);
        filled->kept = jr_arena_strdup(arena, node->filled->kept);
        filled->unknown = node->filled->unknown;
    }
    copy->filled = filled;
    for (size_t i = 0; node->kind == JR_NODE_SEQUENCE && i < node->count; i++)
        jr_node_append(arena, copy, jr_node_copy(arena, node->items[i]));
    for (size_t i = 0; node->kind == JR_NODE_MAPPING && i < node->count; i++)
        jr_node_add(arena, copy, jr_node_copy(arena, node->pairs[i].key),
                    jr_node_copy(arena, node->pairs[i].value));
    return copy;
}

static struct jr_pair *find_pair(const struct jr_node *mapping, const struct jr_path_step *step)
{
    if (mapping == NULL || mapping->kind != JR_NODE_MAPPING)
        return NULL;
    for (size_t i = 0; i < mapping->count; i++) {
        const struct jr_node *key = mapping->pairs[i].key;
        if (key->len == step->len && memcmp(key->text, step->key, key->len) == 0)
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

void jr_node_set(struct jr_arena *arena, struct jr_node *mapping, const char *key,
                 struct jr_node *value)
{
    struct jr_pair *pair = jr_doc_pair(mapping, key);
    if (pair == NULL)
        jr_node_add(arena, mapping, jr_node_scalar(arena, key, false), value);
    else if (value != NULL)
        pair->value = value;
}

bool jr_path_next(const char **path, const char *whole, struct jr_path_step *ret)
{
    if (**path == '[') { /* "[12]": no sign, and too few digits to wrap */
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
    if (*path != whole && *(*path)++ != '.')
        return false;
    *ret = (struct jr_path_step){.key = *path, .len = strcspn(*path, ".[]")};
    *path += ret->len;
    return ret->len != 0 && **path != ']';
}

struct jr_node **jr_path_follow(const struct jr_node *node, const struct jr_path_step *step)
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
    return node == NULL || (node->kind == JR_NODE_SCALAR && jr_scalar_type(node) == JR_SCALAR_NULL);
}

struct jr_node *jr_path_enter(struct jr_arena *arena, struct jr_node *node,
                              const struct jr_path_step *step)
{
    enum jr_node_kind kind = step->key != NULL ? JR_NODE_MAPPING : JR_NODE_SEQUENCE;
    if (is_free(node))
        node = new_node(arena, kind);
    if (node == NULL || node->kind != kind)
        return NULL;
    return step->key == NULL && step->index > node->count ? NULL : node;
}

void jr_path_attach(struct jr_arena *arena, struct jr_node *node, const struct jr_path_step *step,
                    struct jr_node *child)
{
    struct jr_node **slot = jr_path_follow(node, step);
    if (slot != NULL)
        *slot = child;
    else if (step->key == NULL)
        jr_node_append(arena, node, child);
    else
        jr_node_add(arena, node, jr_node_scalar_n(arena, step->key, step->len, false), child);
}

/* Return the replacement for `node` after the value was put where the rest of the path, from `at`,
 * leads; NULL if it cannot be put there. Children are handled first, so that a path that does not
 * fit changes nothing. */
static struct jr_node *put_at_path(struct jr_arena *arena, struct jr_node *node, const char *path,
                                   const char *at, struct jr_node *value, unsigned depth)
{
    struct jr_path_step step;
    if (*at == '\0')
        return value;
    if (depth == JR_DOC_MAX_DEPTH || !jr_path_next(&at, path, &step))
        return NULL;
    node = jr_path_enter(arena, node, &step);
    if (node == NULL)
        return NULL;
    struct jr_node **slot = jr_path_follow(node, &step);
    struct jr_node *child =
        put_at_path(arena, slot == NULL ? NULL : *slot, path, at, value, depth + 1);
    if (child == NULL)
        return NULL;
    jr_path_attach(arena, node, &step, child);
    return node;
}

bool jr_node_set_path(struct jr_arena *arena, struct jr_node *mapping, const char *path,
                      struct jr_node *value)
{
    return *path != '\0' && !is_free(mapping) &&
           put_at_path(arena, mapping, path, path, value, 0) != NULL;
}

enum { MAX_SHOWN = 60, FEW = 16 };

bool jr_key_check(struct jr_diags *diags, const struct jr_node *key)
{
    struct jr_diag *diag;
    if (key->kind != JR_NODE_SCALAR) {
        bool is_mapping = key->kind == JR_NODE_MAPPING;
        /* what {{ name }} is to YAML: a mapping of one name */
        bool braced = is_mapping && key->count == 1 && key->pairs[0].key->kind == JR_NODE_SCALAR &&
                      key->pairs[0].value->kind == JR_NODE_SCALAR && key->pairs[0].value->len == 0;
        diag = jr_diags_error(diags, JR_CODE_KEY_NOT_SCALAR, key->span, NULL,
                              "a key cannot be a %s", is_mapping ? "mapping" : "sequence");
        jr_diag_help(diags, diag, "%s",
                     braced ? "where '{{ }}' is a template of Jinja or Helm, "
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

/* Equal ones by their order in the text; one that is only wanted has no pair in it. */
static int compare_keys(const void *a, const void *b)
{
    const struct jr_key *left = a, *right = b;
    if (left->hash != right->hash)
        return left->hash < right->hash ? -1 : 1;
    int order = strcmp(left->pair->key->text, right->pair->key->text);
    bool wanted = left->pair->value == NULL || right->pair->value == NULL;
    return order != 0 || wanted ? order : (left->pair > right->pair) - (left->pair < right->pair);
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
    struct jr_node node = {.kind = JR_NODE_SCALAR, .text = key};
    const struct jr_pair pair = {&node, NULL};
    const struct jr_key wanted = {hash_key(key), &pair};
    const struct jr_key *found =
        bsearch(&wanted, sorted, mapping->count, sizeof *sorted, compare_keys);
    return found == NULL ? NULL : found->pair;
}

void jr_keys_check(struct jr_diags *diags, struct jr_arena *arena, const struct jr_node *mapping)
{
    /* Sorted, since a mapping may have 50,000 keys. */
    const struct jr_key *sorted = jr_keys_sort(arena, mapping);
    if (sorted == NULL && !is_small_mapping(mapping))
        return;
    for (size_t first = 0, i = 1; i < mapping->count; i++) {
        const struct jr_pair *pair = sorted == NULL ? &mapping->pairs[i] : sorted[i].pair;
        /* The first of equal keys is the one that jr_doc_get finds. */
        const struct jr_pair *before =
            sorted == NULL ? jr_doc_pair(mapping, pair->key->text) : sorted[first].pair;
        bool again = sorted == NULL ? before != pair
                                    : sorted[i].hash == sorted[first].hash &&
                                          strcmp(pair->key->text, before->key->text) == 0;
        if (again)
            report_duplicate(diags, before, pair);
        else
            first = i;
    }
}

enum { LONGEST_SHOWN = 48 }; /* text of the user's is cut here in messages */

void jr_point_text(struct jr_buf *out, const char *text, size_t len)
{
    size_t cut = jr_utf8_cut(text, len, LONGEST_SHOWN);
    jr_buf_escaped(out, text, cut);
    if (cut < len)
        jr_buf_str(out, "...");
}

void jr_point_path(struct jr_buf *out, const struct jr_node_step *at)
{
    if (at == NULL)
        return;
    jr_point_path(out, at->up);
    if (at->key == NULL) {
        jr_buf_printf(out, "[%zu]", at->index);
        return;
    }
    if (out->len > 0)
        jr_buf_char(out, '.');
    jr_point_text(out, at->key, strlen(at->key));
}

/* Those of a part of a source, which has no more bytes than a column can count.
 */
static uint32_t count_points(const char *text, size_t len)
{
    return (uint32_t)jr_utf8_points(text, len);
}

/* Line `number` (from 1) of a source; *ret_len excludes its end. */
static const char *source_line(const struct jr_source *source, uint32_t number, size_t *ret_len)
{
    const char *at = source->text, *end = source->text + source->len;
    for (; at != NULL && number > 1; number--) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at == NULL ? NULL : at + 1;
    }
    if (at == NULL)
        return NULL;
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    *ret_len = (size_t)((stop == NULL ? end : stop) - at);
    return at;
}

/* Bytes [from, to) of one line of a literal (|), whose lines are below its header, unchanged except
 * for the indentation. */
static struct jr_span literal_part(const struct jr_node *node, size_t from, size_t to)
{
    struct jr_span span = node->span;
    size_t start = 0, header_len = 0, len = 0;
    const char *header = source_line(span.source, span.line, &header_len);
    span.line++;
    for (size_t i = 0; i < from; i++) {
        if (node->text[i] != '\n')
            continue;
        span.line++;
        start = i + 1;
    }
    size_t own = strcspn(node->text + start, "\n");
    const char *line = source_line(span.source, span.line, &len);
    if (header == NULL || memchr(header, '|', header_len) == NULL || line == NULL || len < own ||
        to > start + own || memcmp(line + len - own, node->text + start, own) != 0)
        return node->span;
    span.column = 1 + count_points(line, len - own + from - start);
    span.end_line = span.line;
    span.end_column = span.column + count_points(node->text + from, to - from);
    return span;
}

struct jr_span jr_point_part(const struct jr_node *node, size_t from, size_t to)
{
    struct jr_span span = node->span;
    uint32_t width = span.end_column - span.column;
    if (span.source == NULL || node->filled != NULL)
        return span;
    if (strchr(node->text, '\n') != NULL && !node->plain)
        return literal_part(node, from, to);
    /* A node in normal form may have lost whether it is quoted in the file:
     * its width tells, for quotes add two to that of the text. */
    uint32_t points = count_points(node->text, node->len);
    uint32_t quotes = width == points ? 0 : 1;
    if (span.line != span.end_line || width != points + 2 * quotes)
        return span;
    span.column += quotes + count_points(node->text, from);
    span.end_column = span.column + count_points(node->text + from, to - from);
    return span;
}

struct jr_span jr_point_bytes(const struct jr_source *source, size_t from, size_t to)
{
    struct jr_place start = {0};
    jr_place_to_byte(&start, source, from);
    struct jr_place end = start;
    jr_place_to_byte(&end, source, to);
    return jr_place_span(source, start, end);
}

/* The sorted keys of a mapping. */
struct index {
    const struct jr_node *mapping;
    const struct jr_key *sorted;
};

static int compare_indexes(const void *a, const void *b)
{
    const struct index *left = a, *right = b;
    return (left->mapping > right->mapping) - (left->mapping < right->mapping);
}

/* The sorted keys, made at the first look; NULL for a small mapping. */
static const struct jr_key *sorted_keys(struct jr_locator *locator, const struct jr_node *mapping)
{
    const struct index key = {.mapping = mapping};
    struct index *const *found = tfind(&key, &locator->indexes, compare_indexes);
    if (found != NULL)
        return (*found)->sorted;
    const struct jr_key *sorted = jr_keys_sort(locator->arena, mapping);
    struct index *index = NULL;
    if (sorted != NULL)
        index = jr_arena_alloc(locator->arena, sizeof *index);
    if (index == NULL)
        return sorted;
    *index = (struct index){mapping, sorted};
    if (tsearch(index, &locator->indexes, compare_indexes) == NULL)
        locator->arena->failed = true;
    return sorted;
}

/* The indexes live in the arena, the nodes of their tree do not. */
static void keep_index(void *index)
{
    (void)index;
}

void jr_locator_release(struct jr_locator *locator)
{
    tdestroy(locator->indexes, keep_index);
    locator->indexes = NULL;
}

struct jr_shape jr_shape_of(const struct jr_shapes *shapes, const struct jr_shape *shape,
                            const struct jr_node *node)
{
    bool bare = node->kind != JR_NODE_MAPPING && shape->shorthand != NULL;
    return bare ? shapes->child(shape, shape->shorthand) : *shape;
}

/* Follow a key. A value that is short for a mapping with that key is the value of the key. */
static enum jr_located follow_key(struct jr_locator *locator, struct jr_location *at,
                                  const char *key)
{
    const struct jr_shape shape = at->shape;
    const struct jr_pair *pair = NULL;
    bool bare = shape.shorthand != NULL && strcmp(shape.shorthand, key) == 0 &&
                at->node->kind != JR_NODE_MAPPING && !jr_shape_is_missing(&shape, at->node);
    at->shape = locator->shapes->child(&shape, key);
    if (at->shape.own)
        return JR_LOCATED_OWN;
    if (bare)
        return JR_LOCATED;
    if (at->node->kind == JR_NODE_MAPPING)
        pair = jr_keys_find(at->node, sorted_keys(locator, at->node), key);
    if (pair != NULL) {
        at->node = pair->value;
        return JR_LOCATED;
    }
    at->near = at->node->kind == JR_NODE_MAPPING ? at->node : NULL;
    at->name = key;
    bool field = at->shape.type != NULL && !shape.open && !at->shape.open;
    return field ? JR_LOCATED_UNSTATED : JR_LOCATED_UNKNOWN;
}

enum jr_located jr_locate(struct jr_locator *locator, const char *path, struct jr_location *ret)
{
    enum jr_located located = JR_LOCATED;
    struct jr_path_step step;
    const char *at = path;
    *ret = (struct jr_location){.node = locator->root, .shape = locator->shapes->root};
    do
        if (!jr_path_next(&at, path, &step))
            return JR_LOCATED_NO_PATH;
    while (*at != '\0');
    for (at = path; *at != '\0' && located == JR_LOCATED;) {
        const char *key = NULL;
        (void)jr_path_next(&at, path, &step);
        if (step.key != NULL) {
            key = jr_arena_strndup(locator->arena, step.key, step.len);
            ret->name_at = (size_t)(step.key - path);
        }
        if (key != NULL) {
            located = follow_key(locator, ret, key);
            continue;
        }
        struct jr_node **slot = jr_path_follow(ret->node, &step);
        ret->shape = jr_shape_of(locator->shapes, &ret->shape, ret->node);
        ret->shape = locator->shapes->child(&ret->shape, NULL);
        located = slot == NULL ? JR_LOCATED_UNKNOWN : JR_LOCATED;
        ret->node = slot == NULL ? ret->node : *slot;
    }
    return located;
}

/* Step over a code point that is not printable ASCII. */
static void step_other(struct jr_place *place, const struct jr_source *source)
{
    uint32_t point = 0;
    const char *text = source->text + place->byte;
    size_t size = jr_utf8_decode(text, source->len - place->byte, &point);
    place->byte += size == 0 ? 1 : size;
    place->index++;
    place->column++;
    /* What ends a line as libyaml and the excerpts of diagnostics see it, so that both name the
     * same line. */
    if (point == '\r' ? text[1] != '\n'
                      : point == '\n' || point == 0x85 || point == 0x2028 || point == 0x2029) {
        place->line++;
        place->column = 0;
    }
}

/* Step over at most `most` code points, and at least one, where a byte is left:
 * all printable ASCII from here on, or one other code point. */
static void step_printable(struct jr_place *place, const struct jr_source *source, size_t most)
{
    const char *text = source->text + place->byte;
    size_t left = source->len - place->byte, len = 0;
    if (most > left)
        most = left;
    while (len < most && text[len] >= ' ' && text[len] <= '~')
        len++;
    if (len == 0) {
        step_other(place, source);
        return;
    }
    place->byte += len;
    place->index += len;
    place->column += (uint32_t)len;
}

void jr_place_to_index(struct jr_place *place, const struct jr_source *source, size_t index)
{
    while (place->index < index && place->byte < source->len)
        step_printable(place, source, index - place->index);
}

void jr_place_to_byte(struct jr_place *place, const struct jr_source *source, size_t byte)
{
    while (place->byte < byte && place->byte < source->len)
        step_printable(place, source, byte - place->byte);
}

int jr_place_peek(const struct jr_place *place, const struct jr_source *source)
{
    if (place->byte >= source->len)
        return -1;
    return (unsigned char)source->text[place->byte];
}

struct jr_span jr_place_span(const struct jr_source *source, struct jr_place start,
                             struct jr_place end)
{
    return (struct jr_span){
        .source = source,
        .line = start.line + 1,
        .column = start.column + 1,
        .end_line = end.line + 1,
        .end_column = end.column + 1,
    };
}
