#include "diag/diag_human.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

#include "base/banned.h"

enum {
    TAB = 4,
    GUTTER = 4,      /* columns of a line number */
    MARGIN = 7,      /* with what stands between it and the line */
    WINDOW = 100,    /* columns of a source line that are shown */
    NARROWEST = 40,  /* of the terminals for which lines are broken */
    LONGEST = 65536, /* bytes of a line that is quoted at all */
    HANGING = 4      /* blanks before what continues a message */
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

/* What stands above a quoted line. */
struct heading {
    const char *word, *message;
    const char *sgr; /* colour of the word; "" for none, as of the message */
};

/* A source line as it is shown. */
struct excerpt {
    struct jr_buf text;
    size_t window;     /* columns that are shown */
    size_t column;     /* the next one, from 0 */
    size_t start, end; /* of the marks */
};

/* How wide the terminal is; 0: no line is broken. */
static size_t line_width(const struct jr_buf *out)
{
    return out->width == 0 || out->width > NARROWEST ? out->width : NARROWEST;
}

/* Append a text that begins in `column`, in lines as wide as the terminal; each but the first
 * begins with `indent` blanks. */
static void add_message_lines(struct jr_buf *out, const char *text, size_t column, size_t indent)
{
    JR_BUF_CLEANUP struct jr_buf safe = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf lines = {.width = line_width(out)};
    jr_buf_safe(&safe, text);
    out->failed |= safe.failed;
    if (safe.failed || lines.width == 0 || column + safe.len <= lines.width) {
        jr_buf_add(out, safe.data, safe.len);
        return;
    }
    jr_buf_fill(&lines, ' ', column);
    jr_buf_wrapped(&lines, safe.data, indent);
    out->failed |= lines.failed;
    if (!lines.failed)
        jr_buf_str(out, lines.data + column);
}

/* Show one code point, and count the columns that it takes. */
static void add_point(struct excerpt *excerpt, const char *text, size_t size, uint32_t point)
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

/* The first code point to show: 1, or one before the marks in a line too long to be shown whole. */
static uint32_t window_start(const char *line, size_t len, uint32_t column, size_t window)
{
    size_t points = 0;
    uint32_t point, half = (uint32_t)window / 2;
    for (size_t at = 0; at < len && points <= window; points++)
        at += jr_utf8_next(line + at, len - at, &point);
    return points <= window || column <= half ? 1 : column - half;
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

static void lay_out_excerpt(struct excerpt *excerpt, const char *line, size_t len,
                            const struct jr_span *span)
{
    uint32_t end = span->end_line > span->line ? UINT32_MAX : span->end_column;
    size_t at = 0, size, window = excerpt->window;
    uint32_t first = window_start(line, len, span->column, window), point;
    excerpt->start = excerpt->end = SIZE_MAX;
    if (first > 1) {
        jr_buf_str(&excerpt->text, "...");
        excerpt->column = 3;
    }
    for (uint32_t i = 1; at < len && excerpt->column < window; i++) {
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

/* The text of a note: behind the marks, which end in `column`, or on a line of its own where it
 * does not fit there. */
static void add_label(struct jr_buf *out, const struct note *note, size_t column, bool color)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (note->text == NULL)
        return;
    jr_buf_safe(&text, note->text);
    size_t label = strlen(note->label), width = line_width(out);
    size_t end = column + 1 + label + jr_utf8_columns(text.data, text.len);
    if (width == 0 || end <= width) {
        jr_buf_printf(out, " %s%s", note->label, text.failed ? "" : text.data);
        out->failed |= text.failed;
        return;
    }
    if (column > GUTTER) {
        jr_buf_str(out, color ? SGR_RESET "\n" : "\n");
        jr_buf_fill(out, ' ', GUTTER);
        jr_buf_str(out, color ? SGR_CYAN " = " SGR_RESET : " = ");
        if (color)
            jr_buf_str(out, note->sgr);
    } else {
        jr_buf_str(out, "   ");
    }
    jr_buf_str(out, note->label);
    add_message_lines(out, note->text, MARGIN + label, MARGIN + label);
}

/* The quoted line and the line of marks. False when it cannot be quoted. */
static bool add_source_excerpt(struct jr_buf *out, const struct note *note,
                               struct jr_diag_cursor *cursor, bool color)
{
    if (!jr_diag_find_line(cursor, note->span) || cursor->size > LONGEST)
        return false;
    size_t width = line_width(out), room = width - MARGIN - strlen("...");
    struct excerpt excerpt = {.window = width == 0 || room > WINDOW ? WINDOW : room};
    lay_out_excerpt(&excerpt, cursor->source->text + cursor->offset, cursor->size, note->span);
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
    add_label(out, note, MARGIN + excerpt.end, color);
    jr_buf_str(out, color ? SGR_RESET "\n" : "\n");
    return true;
}

/* "PLACE: WORD: message" */
static void add_note_heading(struct jr_buf *out, const struct jr_span *span,
                             const struct heading *heading, bool color)
{
    size_t start = out->len;
    jr_diag_place(out, span);
    size_t column = out->len - start + strlen(heading->word) + strlen(": ");
    jr_buf_printf(out, "%s%s%s: ", color ? heading->sgr : "", heading->word,
                  color && heading->sgr[0] != '\0' ? SGR_RESET : "");
    bool bold = color && heading->sgr[0] != '\0';
    jr_buf_str(out, bold ? SGR_BOLD : "");
    add_message_lines(out, heading->message, column, HANGING);
    jr_buf_str(out, bold ? SGR_RESET "\n" : "\n");
}

/* The other position: quoted alone when it is in the same text, else with a heading that says where
 * it is. The cursor is a copy: the next finding continues where this one stood. */
static void add_related(struct jr_buf *out, const struct jr_diag *diag,
                        const struct jr_related *related, struct jr_diag_cursor cursor, bool color)
{
    struct note note = {.span = &related->span,
                        .mark = '-',
                        .label = "",
                        .text = related->message,
                        .sgr = SGR_CYAN};
    const struct heading heading = {.word = "note", .message = related->message, .sgr = ""};
    if (related->span.source == diag->span.source && add_source_excerpt(out, &note, &cursor, color))
        return;
    add_note_heading(out, &related->span, &heading, color);
    note.text = NULL;
    (void)add_source_excerpt(out, &note, &cursor, color);
}

void jr_diag_human(struct jr_buf *out, const struct jr_diag *diag, struct jr_diag_cursor *cursor,
                   bool color)
{
    const char *sgr = diag->severity == JR_SEVERITY_ERROR ? SGR_RED : SGR_YELLOW;
    struct note note = {
        .span = &diag->span, .mark = '^', .label = "help: ", .text = diag->help, .sgr = sgr};
    JR_BUF_CLEANUP struct jr_buf word = JR_BUF_INIT;
    jr_buf_printf(&word, "%s[%s]", jr_diag_severity_word(diag->severity), diag->code);
    const struct heading heading = {
        .word = word.failed ? "" : word.data, .message = diag->message, .sgr = sgr};
    out->failed |= word.failed;
    add_note_heading(out, &diag->span, &heading, color);
    if (!add_source_excerpt(out, &note, cursor, color) && diag->help != NULL) {
        jr_buf_fill(out, ' ', GUTTER);
        add_label(out, &note, GUTTER, color);
        jr_buf_char(out, '\n');
    }
    for (const struct jr_related *related = diag->related; related != NULL; related = related->next)
        add_related(out, diag, related, *cursor, color);
}
