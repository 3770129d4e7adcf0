#include "doc/node_path.h"

#include <string.h>

#include "base/utf8.h"
#include "doc/place.h"

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
static const char *source_line(const struct jr_source *source, uint32_t number,
                               size_t *ret_len)
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

/* Bytes [from, to) of one line of a literal (|), whose lines are below its
 * header, unchanged except for the indentation. */
static struct jr_span literal_part(const struct jr_node *node, size_t from,
                                   size_t to)
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
    if (header == NULL || memchr(header, '|', header_len) == NULL ||
        line == NULL || len < own || to > start + own ||
        memcmp(line + len - own, node->text + start, own) != 0)
        return node->span;
    span.column = 1 + count_points(line, len - own + from - start);
    span.end_line = span.line;
    span.end_column = span.column + count_points(node->text + from, to - from);
    return span;
}

struct jr_span jr_point_part(const struct jr_node *node, size_t from, size_t to)
{
    struct jr_span span = node->span;
    uint32_t quotes = node->plain ? 0 : 1;
    uint32_t width = span.end_column - span.column;
    if (span.source == NULL || node->filled != NULL)
        return span;
    if (strchr(node->text, '\n') != NULL && !node->plain)
        return literal_part(node, from, to);
    if (span.line != span.end_line ||
        width != count_points(node->text, node->len) + 2 * quotes)
        return span;
    span.column += quotes + count_points(node->text, from);
    span.end_column = span.column + count_points(node->text + from, to - from);
    return span;
}

struct jr_span jr_point_bytes(const struct jr_source *source, size_t from,
                              size_t to)
{
    struct jr_place start = {0};
    jr_place_to_byte(&start, source, from);
    struct jr_place end = start;
    jr_place_to_byte(&end, source, to);
    return jr_place_span(source, start, end);
}
