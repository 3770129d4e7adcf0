#include "report/fit_lines.h"

#include <string.h>

#include "base/utf8.h"

#include "base/banned.h"

enum {
    HANGING = 8, /* blanks before what continues a line: as "jobrun: " has */
    GAP = 3,     /* blanks between parts of a line */
    LABEL = 14   /* columns of a label, as "  after it:   " has */
};

#define QUOTED "    | " /* what a rank wrote */

/* Where a line may be broken, as far as it was read. */
struct break_search {
    size_t column, gap, blank; /* bytes before them; 0: there is none */
    bool typed;                /* what is read is to be typed */
    bool begun;                /* no blank before this is a place */
};

/* Note what the byte at `at` is for breaking. Returns the bytes of the character or colour that
 * begins there. */
static size_t note_place(struct break_search *search, const char *line, size_t len, size_t at)
{
    uint32_t point;
    const char *text = line + at, *end = NULL; /* of a colour */
    if (len - at > 1 && text[0] == '\033' && text[1] == '[')
        end = memchr(text, 'm', len - at);
    if (end != NULL)
        return (size_t)(end + 1 - text);
    size_t blanks = strspn(line + at, " ");
    bool before = at > 0 && line[at - 1] != ' ';
    search->typed |= strncmp(line + at, "(jobrun ", 8) == 0;
    if (before && search->begun && blanks >= GAP)
        search->gap = at;
    else if (before && search->begun && blanks > 0 && !search->typed)
        search->blank = at;
    search->typed = search->typed && line[at] != ')';
    search->begun |= line[at] != ' ';
    size_t size = jr_utf8_next(line + at, len - at, &point);
    search->column += jr_utf8_width(point);
    return size;
}

/* How many bytes of a line go onto one of `room` columns; all if it fits, or if it cannot be
 * broken. A label is not left alone. */
static size_t fitting_part(const char *line, size_t len, size_t room)
{
    struct break_search search = {0};
    size_t at = 0;
    while (at < len && search.column <= room)
        at += note_place(&search, line, len, at);
    if (search.column <= room)
        return len;
    if (search.gap >= LABEL || (search.gap > 0 && search.blank == 0))
        return search.gap;
    return search.blank > 0 ? search.blank : len;
}

static void fit_line(struct jr_buf *out, const char *line, size_t len, size_t width)
{
    size_t room = width;
    if (strncmp(line, QUOTED, strlen(QUOTED)) == 0) {
        jr_buf_add(out, line, len);
        return;
    }
    for (;;) {
        size_t part = fitting_part(line, len, room);
        jr_buf_add(out, line, part);
        if (part == len)
            return;
        size_t next = part + strspn(line + part, " ");
        line += next;
        len -= next;
        room = width - HANGING;
        jr_buf_char(out, '\n');
        jr_buf_fill(out, ' ', HANGING);
    }
}

void jr_fit_lines(struct jr_buf *out, const char *text, size_t width)
{
    for (size_t len; *text != '\0'; text += len) {
        len = strcspn(text, "\n");
        if (width > 2 * HANGING)
            fit_line(out, text, len, width);
        else
            jr_buf_add(out, text, len);
        if (text[len] == '\n')
            jr_buf_char(out, text[len++]);
    }
}
