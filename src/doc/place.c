#include "doc/place.h"

#include "base/utf8.h"

#include "base/banned.h"

/* Whether the code point at `text` ends a line: as libyaml and the excerpts of
 * diagnostics see it, so that both name the same line. */
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
static void step_printable(struct jr_place *place,
                           const struct jr_source *source, size_t most)
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

void jr_place_to_index(struct jr_place *place, const struct jr_source *source,
                       size_t index)
{
    while (place->index < index && place->byte < source->len)
        step_printable(place, source, index - place->index);
}

void jr_place_to_byte(struct jr_place *place, const struct jr_source *source,
                      size_t byte)
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

struct jr_span jr_place_span(const struct jr_source *source,
                             struct jr_place start, struct jr_place end)
{
    return (struct jr_span){
        .source = source,
        .line = start.line + 1,
        .column = start.column + 1,
        .end_line = end.line + 1,
        .end_column = end.column + 1,
    };
}
