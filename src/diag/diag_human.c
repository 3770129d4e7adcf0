/*
 * The form for people: position and message, the source line, a caret span.
 * The header of this file is diag_text.h.
 */
#include "diag/diag_text.h"

#include <stdint.h>

#include "base/utf8.h"

#include "base/banned.h"

enum {
    TAB = 4,
    GUTTER = 4,     /* columns of a line number */
    WINDOW = 100,   /* columns of a source line that are shown */
    LONGEST = 65536 /* bytes of a line that is quoted at all */
};

#define SGR_RESET  "\033[0m"
#define SGR_BOLD   "\033[1m"
#define SGR_RED    "\033[1;31m"
#define SGR_YELLOW "\033[1;33m"
#define SGR_CYAN   "\033[36m"

/* One underlined place: the marks, the text after them, and their colour. */
struct note {
    const struct jr_span *span;
    char mark;
    const char *label, *text; /* "help: ", the text; NULL for none */
    const char *sgr;
};

/* A source line as it is shown. */
struct excerpt {
    struct jr_buf text;
    size_t column;     /* the next one, from 0 */
    size_t start, end; /* of the marks */
};

static void add_painted(struct jr_buf *out, bool color, const char *sgr,
                        const char *text)
{
    if (color)
        jr_buf_str(out, sgr);
    jr_buf_safe(out, text);
    if (color)
        jr_buf_str(out, SGR_RESET);
}

/* Show one code point, and count the columns that it takes. */
static void add_point(struct excerpt *excerpt, const char *text, size_t size,
                      uint32_t point)
{
    size_t before = excerpt->text.len;
    if (point == '\t') {
        jr_buf_fill(&excerpt->text, ' ', TAB - excerpt->column % TAB);
    } else {
        jr_buf_escaped(&excerpt->text, text, size);
        if (excerpt->text.len - before == size) {
            excerpt->column += jr_utf8_width(point);
            return;
        }
    }
    excerpt->column += excerpt->text.len - before;
}

/* The first code point to show: 1, or one before the marks in a line too long
 * to be shown whole. */
static uint32_t window_start(const char *line, size_t len, uint32_t column)
{
    size_t points = 0;
    uint32_t point;
    for (size_t at = 0; at < len && points <= WINDOW; points++)
        at += jr_utf8_next(line + at, len - at, &point);
    return points <= WINDOW || column <= WINDOW / 2 ? 1 : column - WINDOW / 2;
}

/* Marks lie within the shown text and are never nothing. */
static void clamp_marks(struct excerpt *excerpt)
{
    if (excerpt->start > excerpt->column)
        excerpt->start = excerpt->column;
    if (excerpt->end > excerpt->column)
        excerpt->end = excerpt->column;
    if (excerpt->end <= excerpt->start)
        excerpt->end = excerpt->start + 1;
}

static void lay_out_excerpt(struct excerpt *excerpt, const char *line,
                            size_t len, const struct jr_span *span)
{
    uint32_t end = span->end_line > span->line ? UINT32_MAX : span->end_column;
    uint32_t first = window_start(line, len, span->column), point;
    size_t at = 0, size;
    excerpt->start = excerpt->end = SIZE_MAX;
    if (first > 1) {
        jr_buf_str(&excerpt->text, "...");
        excerpt->column = 3;
    }
    for (uint32_t i = 1; at < len && excerpt->column < WINDOW; i++) {
        if (i == span->column)
            excerpt->start = excerpt->column;
        if (i == end)
            excerpt->end = excerpt->column;
        size = jr_utf8_next(line + at, len - at, &point);
        if (i >= first)
            add_point(excerpt, line + at, size, point);
        at += size;
    }
    if (at < len)
        jr_buf_str(&excerpt->text, "...");
    clamp_marks(excerpt);
}

/* The left margin: the line's number, or nothing for 0. */
static void add_gutter(struct jr_buf *out, uint32_t line, bool color)
{
    if (color)
        jr_buf_str(out, SGR_CYAN);
    if (line == 0)
        jr_buf_fill(out, ' ', GUTTER);
    else
        jr_buf_printf(out, "%*u", GUTTER, line);
    jr_buf_str(out, color ? " |" SGR_RESET " " : " | ");
}

static void add_label(struct jr_buf *out, const struct note *note)
{
    if (note->text == NULL)
        return;
    jr_buf_printf(out, " %s", note->label);
    jr_buf_safe(out, note->text);
}

/* The quoted line and the line of marks. False when it cannot be quoted. */
static bool add_source_excerpt(struct jr_buf *out, const struct note *note,
                               struct jr_diag_cursor *cursor, bool color)
{
    if (!jr_diag_find_line(cursor, note->span) || cursor->size > LONGEST)
        return false;
    struct excerpt excerpt = {0};
    lay_out_excerpt(&excerpt, cursor->source->text + cursor->offset,
                    cursor->size, note->span);
    add_gutter(out, cursor->source->option ? 0 : note->span->line, color);
    jr_buf_add(out, excerpt.text.data, excerpt.text.len);
    jr_buf_char(out, '\n');
    out->failed |= excerpt.text.failed;
    jr_buf_release(&excerpt.text);
    add_gutter(out, 0, color);
    jr_buf_fill(out, ' ', excerpt.start);
    if (color)
        jr_buf_str(out, note->sgr);
    jr_buf_fill(out, note->mark, excerpt.end - excerpt.start);
    add_label(out, note);
    jr_buf_str(out, color ? SGR_RESET "\n" : "\n");
    return true;
}

/* The other position: quoted alone when it is in the same text, else with a
 * heading that says where it is. The cursor is a copy: the next finding
 * continues where this one stood. */
static void add_related(struct jr_buf *out, const struct jr_diag *diag,
                        const struct jr_related *related,
                        struct jr_diag_cursor cursor, bool color)
{
    struct note note = {.span = &related->span,
                        .mark = '-',
                        .label = "",
                        .text = related->message,
                        .sgr = SGR_CYAN};
    if (related->span.source == diag->span.source &&
        add_source_excerpt(out, &note, &cursor, color))
        return;
    jr_diag_place(out, &related->span);
    jr_buf_str(out, "note: ");
    jr_buf_safe(out, related->message);
    jr_buf_char(out, '\n');
    note.text = NULL;
    (void)add_source_excerpt(out, &note, &cursor, color);
}

void jr_diag_human(struct jr_buf *out, const struct jr_diag *diag,
                   struct jr_diag_cursor *cursor, bool color)
{
    const char *sgr =
        diag->severity == JR_SEVERITY_ERROR ? SGR_RED : SGR_YELLOW;
    struct note note = {.span = &diag->span,
                        .mark = '^',
                        .label = "help: ",
                        .text = diag->help,
                        .sgr = sgr};
    jr_diag_place(out, &diag->span);
    if (color)
        jr_buf_str(out, sgr);
    jr_buf_printf(out, "%s[%s]", jr_diag_severity_word(diag->severity),
                  diag->code);
    jr_buf_str(out, color ? SGR_RESET ": " : ": ");
    add_painted(out, color, SGR_BOLD, diag->message);
    jr_buf_char(out, '\n');
    if (!add_source_excerpt(out, &note, cursor, color) && diag->help != NULL) {
        jr_buf_fill(out, ' ', GUTTER);
        add_label(out, &note);
        jr_buf_char(out, '\n');
    }
    for (const struct jr_related *related = diag->related; related != NULL;
         related = related->next)
        add_related(out, diag, related, *cursor, color);
}
