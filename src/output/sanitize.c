/*
 * Escape sequences by ECMA-48: CSI is ESC [, parameters 0x30-0x3f, intermediates 0x20-0x2f, one
 * final byte; OSC, DCS, SOS, PM and APC run to ST (ESC \) or, as xterm has it, BEL; any other ESC
 * takes intermediates and one byte.
 */
#include "output/sanitize.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

#include "base/banned.h"

#define ESC '\033'
#define BEL '\a'

const char *jr_sanitize_redrawn(const char *line, size_t *len)
{
    size_t end = *len;
    while (end > 0 && line[end - 1] == '\r')
        end--;
    const char *last = end == 0 ? NULL : memrchr(line, '\r', end);
    size_t start = last == NULL ? 0 : (size_t)(last - line) + 1;
    *len = end - start;
    return line + start;
}

static size_t skip_bytes_within(const char *text, size_t len, size_t at, char low, char high)
{
    while (at < len && text[at] >= low && text[at] <= high)
        at++;
    return at;
}

/* The length of the escape sequence at `text`, which may be cut off; *ret_color is set for SGR. */
static size_t sequence_length(const char *text, size_t len, bool *ret_color)
{
    *ret_color = false;
    if (len < 2)
        return len;
    if (memchr("]PX^_", text[1], 5) != NULL) { /* a string, which ST or BEL ends */
        size_t end = 2;
        while (end < len && text[end] != BEL && (text[end] != '\\' || text[end - 1] != ESC))
            end++;
        return end < len ? end + 1 : len;
    }
    bool control = text[1] == '[';
    size_t args = control ? skip_bytes_within(text, len, 2, '0', '?') : 1;
    size_t at = skip_bytes_within(text, len, args, ' ', '/');
    bool plain = skip_bytes_within(text, args, 2, '0', ';') == args;
    *ret_color = control && at == args && plain && at < len && text[at] == 'm';
    return at < len ? at + 1 : len;
}

void jr_sanitize_line(struct jr_buf *out, const char *line, size_t len, bool color)
{
    bool colored = false;
    size_t at = 0;
    while (at < len) {
        uint32_t point = 0;
        size_t size = jr_utf8_decode(line + at, len - at, &point);
        bool sgr;
        if (line[at] != ESC) {
            if (size > 0 && (point == '\t' || jr_utf8_is_shown(point)))
                jr_buf_add(out, line + at, size);
            else
                jr_buf_escaped(out, line + at, size == 0 ? 1 : size);
            at += size == 0 ? 1 : size;
            continue;
        }
        size = sequence_length(line + at, len - at, &sgr);
        if (sgr && color) {
            jr_buf_add(out, line + at, size);
            colored = true;
        }
        at += size;
    }
    if (colored)
        jr_buf_str(out, "\033[0m");
}
