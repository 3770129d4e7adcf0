#include "doc/node_path.h"

#include <search.h>
#include <string.h>

#include "base/utf8.h"
#include "doc/key.h"
#include "doc/node.h"

#include "base/banned.h"

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

static enum jr_located follow_index(struct jr_locator *locator, struct jr_location *at,
                                    const struct jr_path_step *step)
{
    struct jr_node **slot = jr_path_follow(at->node, step);
    at->shape = jr_shape_of(locator->shapes, &at->shape, at->node);
    at->shape = locator->shapes->child(&at->shape, NULL);
    if (slot == NULL)
        return JR_LOCATED_UNKNOWN;
    at->node = *slot;
    return JR_LOCATED;
}

static bool is_node_path(const char *path)
{
    struct jr_path_step step;
    const char *at = path;
    while (*at != '\0')
        if (!jr_path_next(&at, path, &step))
            return false;
    return at != path;
}

enum jr_located jr_locate(struct jr_locator *locator, const char *path, struct jr_location *ret)
{
    enum jr_located located = JR_LOCATED;
    *ret = (struct jr_location){.node = locator->root, .shape = locator->shapes->root};
    if (!is_node_path(path))
        return JR_LOCATED_NO_PATH;
    for (const char *at = path; *at != '\0' && located == JR_LOCATED;) {
        struct jr_path_step step;
        const char *key = NULL;
        (void)jr_path_next(&at, path, &step);
        if (step.key != NULL) {
            key = jr_arena_strndup(locator->arena, step.key, step.len);
            ret->name_at = (size_t)(step.key - path);
        }
        located = key != NULL ? follow_key(locator, ret, key) : follow_index(locator, ret, &step);
    }
    return located;
}

/* Whether the code point at `text` ends a line: as libyaml and the excerpts of diagnostics see it,
 * so that both name the same line. */
static bool is_break(const char *text, uint32_t point)
{
    if (point == '\r')
        return text[1] != '\n';
    return point == '\n' || point == 0x85 || point == 0x2028 || point == 0x2029;
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
    if (is_break(text, point)) {
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
