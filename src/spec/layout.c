#include "spec/layout.h"

#include <string.h>

#include "diag/fix.h"

#include "base/banned.h"

enum { STEP = 2 };

/* A run of bytes that are all among `set`. */
static bool is_text_all(const char *text, size_t from, size_t to, const char *set)
{
    while (from < to && strchr(set, text[from]) != NULL)
        from++;
    return from >= to;
}

/* Whether there is a colon and blanks between a key and its value: no tag, no anchor, no line
 * break. */
static bool is_colon_between(const char *text, size_t from, size_t to)
{
    while (from < to && text[from] == ' ')
        from++;
    return from < to && text[from] == ':' && is_text_all(text, from + 1, to, " \t");
}

static bool is_node_on_one_line(const struct jr_node *node)
{
    return node->kind == JR_NODE_SCALAR && !node->shared && node->span.line == node->span.end_line;
}

/* The line of a pair in block style: only blanks and a comment beside the pair. */
static bool find_pair_line(struct jr_spot *spot, const struct jr_span *key)
{
    const struct jr_source *source = key->source;
    const char *text = source->text;
    struct jr_span span = *key;
    span.column = span.end_column = 1;
    span.end_line = span.line + 1;
    if (!jr_fix_find(&span, &spot->start, &spot->next)) {
        span.end_line = span.line;
        spot->next = source->len;
        if (!jr_fix_find(&span, &spot->start, &spot->end))
            return false;
    }
    size_t end = spot->next;
    while (end > spot->value_end && strchr("\r\n", text[end - 1]) != NULL)
        end--;
    spot->end = end;
    size_t rest = spot->value_end;
    while (rest < end && strchr(" \t", text[rest]) != NULL)
        rest++;
    return is_text_all(text, spot->start, spot->key, " ") &&
           (rest == end || (text[rest] == '#' && rest > spot->value_end));
}

bool jr_layout_pair(const struct jr_layout *layout, const struct jr_pair *pair, bool flow,
                    struct jr_spot *ret)
{
    const struct jr_node *key = pair->key, *value = pair->value;
    struct jr_spot spot = {0};
    return key->span.source == layout->source && value->span.source == layout->source &&
           is_node_on_one_line(key) && is_node_on_one_line(value) &&
           jr_fix_find(&key->span, &spot.key, &spot.key_end) &&
           jr_fix_find(&value->span, &spot.value, &spot.value_end) && spot.value < spot.value_end &&
           is_colon_between(layout->source->text, spot.key_end, spot.value) &&
           (flow || find_pair_line(&spot, &key->span)) && (*ret = spot, true);
}

static bool is_node_before(const struct jr_node *a, const struct jr_node *b)
{
    const struct jr_span *as = &a->span, *bs = &b->span;
    return as->line != bs->line ? as->line < bs->line : as->column < bs->column;
}

const struct jr_pair *jr_layout_beside(const struct jr_layout *layout, bool behind)
{
    const struct jr_pair *best = NULL;
    for (size_t i = 0; i < layout->root->count; i++) {
        const struct jr_pair *pair = &layout->root->pairs[i];
        if (pair->key == layout->key || pair->key->span.source != layout->source ||
            is_node_before(layout->key, pair->key) != behind)
            continue;
        if (best == NULL || is_node_before(pair->key, best->key) == behind)
            best = pair;
    }
    return best;
}

const struct jr_pair *jr_layout_last(const struct jr_layout *layout, const struct jr_node *mapping)
{
    const struct jr_pair *last = NULL;
    for (size_t i = 0; i < mapping->count; i++) {
        const struct jr_pair *pair = &mapping->pairs[i];
        if (pair->key->span.source == layout->source &&
            (last == NULL || is_node_before(last->key, pair->key)))
            last = pair;
    }
    return last;
}

const char *jr_layout_break(const struct jr_layout *layout)
{
    const char *text = layout->source->text;
    const char *end = memchr(text, '\n', layout->source->len);
    if (end == NULL)
        return strchr(text, '\r') == NULL ? "\n" : "\r";
    return end > text && end[-1] == '\r' ? "\r\n" : "\n";
}

size_t jr_layout_step(const struct jr_layout *layout)
{
    uint32_t column = layout->key->span.column;
    for (size_t i = 0; i < layout->root->count; i++) {
        const struct jr_node *value = layout->root->pairs[i].value;
        if (value->kind == JR_NODE_MAPPING && !value->flow &&
            value->span.source == layout->source && value->count > 0 &&
            value->pairs[0].key->span.source == layout->source &&
            value->pairs[0].key->span.column > column)
            return value->pairs[0].key->span.column - column;
    }
    return STEP;
}

/* The beginning of the line above the one that begins at `start`. */
static size_t find_line_above(const char *text, size_t start)
{
    size_t at = start - 1;
    if (at > 0 && text[at] == '\n' && text[at - 1] == '\r')
        at--;
    while (at > 0 && strchr("\r\n", text[at - 1]) == NULL)
        at--;
    return at;
}

/* The line that the last text of a value ends on: a line within quotes may look like a comment. */
static uint32_t find_last_line(const struct jr_node *node)
{
    uint32_t last = 0;
    if (node->kind == JR_NODE_SCALAR)
        return node->span.end_line;
    for (size_t i = 0; i < node->count; i++) {
        bool pairs = node->kind == JR_NODE_MAPPING;
        uint32_t line = find_last_line(pairs ? node->pairs[i].value : node->items[i]);
        last = line > last ? line : last;
    }
    return last;
}

size_t jr_layout_comments(const struct jr_layout *layout)
{
    const char *text = layout->source->text;
    size_t start = layout->own.start, indent = layout->own.key - start;
    const struct jr_pair *before = jr_layout_beside(layout, false);
    if (before == NULL)
        return start;
    uint32_t last = find_last_line(before->value);
    for (uint32_t line = layout->key->span.line - 1; line > last; line--) {
        size_t above = find_line_above(text, start);
        if (strspn(text + above, " ") != indent || text[above + indent] != '#')
            break;
        start = above;
    }
    return start;
}

/* Whether the file has line breaks that are none to everybody. */
static bool has_odd_breaks(const struct jr_source *source)
{
    static const char *const breaks[] = {"\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};
    size_t i = 0;
    while (i < 3 && strstr(source->text, breaks[i]) == NULL)
        i++;
    return i < 3;
}

bool jr_layout_find(struct jr_layout *ret, const struct jr_node *root, const struct jr_node *key)
{
    const struct jr_pair *pair = jr_doc_pair(root, key->text);
    struct jr_layout layout = {key->span.source, root, key, {0}};
    if (pair == NULL || pair->key != key || root->shared || layout.source->text == NULL ||
        has_odd_breaks(layout.source) || !jr_layout_pair(&layout, pair, root->flow, &layout.own))
        return false;
    *ret = layout;
    return true;
}
