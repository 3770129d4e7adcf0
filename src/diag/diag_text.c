/* The forms of a report that are text: for people, and for the services that run checks. Declared
 * in internal.h and diag.h. */
#include "diag/internal.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/utf8.h"

#include "base/banned.h"

enum {
    TAB = 4,
    GUTTER = 4,      /* columns of a line number */
    MARGIN = 7,      /* with what stands between it and the line */
    WINDOW = 100,    /* columns of a source line that are shown */
    NARROWEST = 40,  /* of the terminals for which lines are broken */
    LONGEST = 65536, /* bytes of a line that is quoted at all */
    HANGING = 4,     /* blanks before what continues a message */
    MOST_SHOWN = 10  /* annotations of each severity that GitHub shows */
};

#define SGR_RESET  "\033[0m"
#define SGR_BOLD   "\033[1m"
#define SGR_RED    "\033[1;31m"
#define SGR_YELLOW "\033[1;33m"
#define SGR_CYAN   "\033[36m"

void jr_diag_file(struct jr_buf *out, const struct jr_diag_report *report, const char *name)
{
    if (report->root == NULL || report->cwd == NULL) {
        jr_buf_str(out, name);
        return;
    }
    JR_FREE char *path = jr_io_absolute(report->cwd, name);
    if (path == NULL) {
        out->failed = true;
        return;
    }
    size_t len = strlen(report->root);
    while (len > 0 && report->root[len - 1] == '/')
        len--;
    bool inside =
        strncmp(path, report->root, len) == 0 && path[len] == '/' && path[len + 1] != '\0';
    jr_buf_str(out, inside ? path + len + 1 : name);
}

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

static void lay_out_excerpt(struct excerpt *excerpt, const char *line, size_t len,
                            const struct jr_span *span)
{
    uint32_t end = span->end_line > span->line ? UINT32_MAX : span->end_column, first = 1, point;
    size_t at, size, points = 0, window = excerpt->window;
    for (at = 0; at < len && points <= window; points++)
        at += jr_utf8_next(line + at, len - at, &point);
    /* A line too long to be shown whole begins before the marks. */
    if (points > window && span->column > (uint32_t)window / 2)
        first = span->column - (uint32_t)window / 2;
    excerpt->start = excerpt->end = SIZE_MAX;
    if (first > 1) {
        jr_buf_str(&excerpt->text, "...");
        excerpt->column = 3;
    }
    at = 0;
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
    /* Marks lie within the shown text and are never nothing. */
    if (excerpt->start > excerpt->column)
        excerpt->start = excerpt->column;
    if (excerpt->end > excerpt->column)
        excerpt->end = excerpt->column;
    if (excerpt->end <= excerpt->start)
        excerpt->end = excerpt->start + 1;
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
static void add_label(struct jr_buf *out, const char *label, const char *note, size_t column,
                      const char *sgr, bool color)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_buf_safe(&text, note);
    size_t len = strlen(label), width = line_width(out);
    size_t end = column + 1 + len + jr_utf8_columns(text.data, text.len);
    if (width == 0 || end <= width) {
        jr_buf_printf(out, " %s%s", label, text.failed ? "" : text.data);
        out->failed |= text.failed;
        return;
    }
    if (column > GUTTER) {
        jr_buf_str(out, color ? SGR_RESET "\n" : "\n");
        jr_buf_fill(out, ' ', GUTTER);
        jr_buf_str(out, color ? SGR_CYAN " = " SGR_RESET : " = ");
        if (color)
            jr_buf_str(out, sgr);
    } else {
        jr_buf_str(out, "   ");
    }
    jr_buf_str(out, label);
    add_message_lines(out, note, MARGIN + len, MARGIN + len);
}

/* The quoted line and the line of marks, with a note behind them (NULL: none). False when it cannot
 * be quoted. */
static bool add_excerpt(struct jr_buf *out, struct jr_diag_cursor *cursor,
                        const struct jr_span *span, char mark, const char *note, const char *sgr,
                        bool color)
{
    if (!jr_diag_find_line(cursor, span) || cursor->size > LONGEST)
        return false;
    size_t width = line_width(out), room = width - MARGIN - strlen("...");
    struct excerpt excerpt = {.window = width == 0 || room > WINDOW ? WINDOW : room};
    lay_out_excerpt(&excerpt, cursor->source->text + cursor->offset, cursor->size, span);
    add_gutter(out, cursor->source->option ? 0 : span->line, color);
    jr_buf_add(out, excerpt.text.data, excerpt.text.len);
    jr_buf_char(out, '\n');
    out->failed |= excerpt.text.failed;
    jr_buf_release(&excerpt.text);
    add_gutter(out, 0, color);
    jr_buf_fill(out, ' ', excerpt.start);
    if (color)
        jr_buf_str(out, sgr);
    jr_buf_fill(out, mark, excerpt.end - excerpt.start);
    if (note != NULL)
        add_label(out, mark == '^' ? "help: " : "", note, MARGIN + excerpt.end, sgr, color);
    jr_buf_str(out, color ? SGR_RESET "\n" : "\n");
    return true;
}

/* "PLACE: WORD: message"; the colour of the word is "" for none, as of the message. */
static void add_heading(struct jr_buf *out, const struct jr_span *span, const char *word,
                        const char *message, const char *sgr, bool color)
{
    size_t start = out->len;
    bool bold = color && sgr[0] != '\0';
    jr_diag_place(out, span);
    size_t column = out->len - start + strlen(word) + strlen(": ");
    jr_buf_printf(out, "%s%s%s: %s", color ? sgr : "", word, bold ? SGR_RESET : "",
                  bold ? SGR_BOLD : "");
    add_message_lines(out, message, column, HANGING);
    jr_buf_str(out, bold ? SGR_RESET "\n" : "\n");
}

void jr_diag_human(struct jr_buf *out, const struct jr_diag *diag, struct jr_diag_cursor *cursor,
                   bool color)
{
    const char *sgr = diag->severity == JR_SEVERITY_ERROR ? SGR_RED : SGR_YELLOW;
    JR_BUF_CLEANUP struct jr_buf word = JR_BUF_INIT;
    jr_buf_printf(&word, "%s[%s]", jr_diag_severity_word(diag->severity), diag->code);
    out->failed |= word.failed;
    add_heading(out, &diag->span, word.failed ? "" : word.data, diag->message, sgr, color);
    if (!add_excerpt(out, cursor, &diag->span, '^', diag->help, sgr, color) && diag->help != NULL) {
        jr_buf_fill(out, ' ', GUTTER);
        add_label(out, "help: ", diag->help, GUTTER, sgr, color);
        jr_buf_char(out, '\n');
    }
    for (const struct jr_related *other = diag->related; other != NULL; other = other->next) {
        /* A copy: the next finding continues where this one stood. */
        struct jr_diag_cursor at = *cursor;
        const char *note = other->message;
        /* Quoted alone when it is in the same text, else with a heading that says where it is. */
        if (other->span.source == diag->span.source &&
            add_excerpt(out, &at, &other->span, '-', note, SGR_CYAN, color))
            continue;
        add_heading(out, &other->span, "note", note, "", color);
        (void)add_excerpt(out, &at, &other->span, '-', NULL, SGR_CYAN, color);
    }
}

bool jr_diag_report_valid(const struct jr_diag_report *report)
{
    const struct jr_diags *diags = report->diags;
    return diags->errors == 0 && (!report->strict || diags->warnings == 0);
}

static void add_counted_noun(struct jr_buf *out, size_t count, const char *what)
{
    jr_buf_printf(out, "%zu %s%s", count, what, count == 1 ? "" : "s");
}

void jr_diags_count(struct jr_buf *out, const struct jr_diags *diags)
{
    if (diags->errors > 0 || diags->warnings == 0)
        add_counted_noun(out, diags->errors, "error");
    if (diags->errors > 0 && diags->warnings > 0)
        jr_buf_str(out, " and ");
    if (diags->warnings > 0)
        add_counted_noun(out, diags->warnings, "warning");
}

/* The closing line: how many files are valid, or how many findings there are in how many files; and
 * how many of these have a fix that lies in the file that was checked. Nothing when the report
 * names no files. */
static void add_summary(struct jr_buf *out, const struct jr_diag_report *report)
{
    const struct jr_diags *diags = report->diags;
    size_t count = report->files_count, all = diags->errors + diags->warnings;
    size_t marked = 0, folded = 0, fixable = 0;
    if (count == 0)
        return;
    for (const struct jr_checked *file = report->files; file < report->files + count; file++) {
        marked += file->errors + file->warnings > 0;
        folded += file->folded;
        for (size_t i = file->first; i < file->first + file->count; i++) {
            const struct jr_fix *fix = diags->items[i].fix;
            fixable += fix != NULL && fix->span.source != NULL &&
                       strcmp(fix->span.source->name, file->name) == 0;
        }
    }
    if (diags->errors == 0)
        jr_buf_printf(out, count == 1 ? "%zu spec is valid" : "%zu specs are valid", count);
    if (diags->errors == 0 && diags->warnings > 0)
        jr_buf_str(out, report->strict ? ", but --strict refuses " : ", with ");
    if (all > 0) {
        jr_diags_count(out, diags);
        jr_buf_str(out, " in ");
        add_counted_noun(out, marked, "file");
        jr_buf_str(out, folded > 0 ? ", each shown once" : "");
    }
    jr_buf_char(out, '\n');
    if (fixable > 0 && fixable == all)
        jr_buf_str(out, all == 1 ? "it" : "all of them");
    else if (fixable > 0)
        jr_buf_printf(out, "%zu of them", fixable);
    if (fixable > 0)
        jr_buf_str(out, " can be fixed with --fix\n");
}

/* file:line:col: error: message [JR0203] */
void jr_diag_write_short(struct jr_buf *out, const struct jr_diag_report *report)
{
    for (size_t i = 0; i < report->diags->count; i++) {
        const struct jr_diag *diag = &report->diags->items[i];
        jr_diag_place(out, &diag->span);
        jr_buf_printf(out, "%s: ", jr_diag_severity_word(diag->severity));
        jr_buf_safe(out, diag->message);
        jr_buf_printf(out, " [%s]\n", diag->code);
    }
}

void jr_diag_write_human(struct jr_buf *out, const struct jr_diag_report *report)
{
    struct jr_diag_cursor cursor = {0};
    const struct jr_diags *diags = report->diags;
    size_t more = diags->errors + diags->warnings - diags->count;
    for (size_t i = 0; i < diags->count; i++)
        jr_diag_human(out, &diags->items[i], &cursor, report->color);
    if (more != 0)
        jr_buf_printf(out, "%zu more findings are not shown\n", more);
    add_summary(out, report);
}

/*
 * Workflow commands of GitHub Actions: one line makes one annotation. A step shows ten of each
 * severity, and drops the others without a word, so the worst come first; every message repeats its
 * place, for the log has the message alone.
 */

/* The escapes that the runner undoes: '%' and line breaks in a message, and in a property what
 * would end it too. */
static void add_encoded(struct jr_buf *out, const char *text, const char *special)
{
    while (*text != '\0') {
        size_t plain = strcspn(text, special);
        jr_buf_add(out, text, plain);
        text += plain;
        if (*text != '\0')
            jr_buf_printf(out, "%%%02X", (unsigned char)*text++);
    }
}

static void add_property(struct jr_buf *out, const char *name, const struct jr_buf *text)
{
    JR_BUF_CLEANUP struct jr_buf safe = JR_BUF_INIT;
    jr_buf_escaped(&safe, text->data, text->len);
    jr_buf_str(out, name);
    if (safe.data != NULL)
        add_encoded(out, safe.data, "%\r\n:,");
    out->failed |= text->failed || safe.failed;
}

/* Columns are refused where a finding spans lines. */
static void add_place_properties(struct jr_buf *out, const struct jr_diag_report *report,
                                 const struct jr_span *span)
{
    JR_BUF_CLEANUP struct jr_buf file = JR_BUF_INIT;
    if (span->source == NULL)
        return;
    jr_diag_file(&file, report, span->source->name);
    add_property(out, ",file=", &file);
    if (span->line == 0)
        return;
    jr_buf_printf(out, ",line=%u", span->line);
    if (span->end_line > span->line)
        jr_buf_printf(out, ",endLine=%u", span->end_line);
    else
        jr_buf_printf(out, ",col=%u,endColumn=%u", span->column, span->end_column);
}

static void add_log_line(struct jr_buf *out, const char *label, const char *text)
{
    jr_buf_str(out, label);
    jr_buf_safe(out, text);
}

static void add_annotation(struct jr_buf *out, const struct jr_diag_report *report,
                           const struct jr_diag *diag)
{
    JR_BUF_CLEANUP struct jr_buf title = JR_BUF_INIT, text = JR_BUF_INIT;
    const struct jr_code *code = jr_code_find(diag->code);
    jr_buf_str(&title, diag->code);
    if (code != NULL)
        jr_buf_printf(&title, ": %s", code->title);
    jr_diag_place(&text, &diag->span);
    add_log_line(&text, "", diag->message);
    if (diag->help != NULL)
        add_log_line(&text, "\nhelp: ", diag->help);
    for (const struct jr_related *other = diag->related; other != NULL; other = other->next) {
        jr_buf_char(&text, '\n');
        jr_diag_place(&text, &other->span);
        add_log_line(&text, "note: ", other->message);
    }
    jr_buf_printf(out, "::%s ", jr_diag_severity_word(diag->severity));
    add_property(out, "title=", &title);
    add_place_properties(out, report, &diag->span);
    jr_buf_str(out, "::");
    if (text.data != NULL)
        add_encoded(out, text.data, "%\r\n");
    jr_buf_char(out, '\n');
    out->failed |= text.failed;
}

static void add_annotations(struct jr_buf *out, const struct jr_diag_report *report,
                            enum jr_severity severity)
{
    for (size_t i = 0; i < report->diags->count; i++)
        if (report->diags->items[i].severity == severity)
            add_annotation(out, report, &report->diags->items[i]);
}

void jr_diag_write_github(struct jr_buf *out, const struct jr_diag_report *report)
{
    const struct jr_diags *diags = report->diags;
    add_annotations(out, report, JR_SEVERITY_ERROR);
    add_annotations(out, report, JR_SEVERITY_WARNING);
    add_summary(out, report);
    if (diags->errors > MOST_SHOWN || diags->warnings > MOST_SHOWN)
        jr_buf_printf(
            out, "GitHub shows the first %d errors and %d warnings of a step beside the files\n",
            MOST_SHOWN, MOST_SHOWN);
}

/*
 * JUnit XML as Jenkins' junit-10.xsd has it: a suite, a case for each file, and its findings as
 * they look on a terminal. Attributes that not every reader knows are left out.
 */

static const char *xml_entity(char byte)
{
    switch (byte) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    default:
        return NULL;
    }
}

static void add_xml(struct jr_buf *out, const struct jr_buf *text)
{
    size_t size;
    for (size_t at = 0; at < text->len; at += size) {
        uint32_t point;
        const char *here = text->data + at, *entity = xml_entity(*here);
        size = jr_utf8_decode(here, text->len - at, &point);
        if (entity != NULL)
            jr_buf_str(out, entity);
        else if (size != 0 && (point >= 0x20 || point == '\n' || point == '\t') &&
                 point != 0xfffe && point != 0xffff) /* its Char production */
            jr_buf_add(out, here, size);
        else
            jr_buf_str(out, "\xef\xbf\xbd");
        size += size == 0;
    }
    out->failed |= text->failed;
}

static bool is_file_failed(const struct jr_diag_report *report, const struct jr_checked *file)
{
    return file->errors > 0 || (report->strict && file->warnings > 0);
}

/* A file with warnings alone passes, and has them as its output. */
static void add_case(struct jr_buf *out, const struct jr_diag_report *report,
                     const struct jr_checked *file, struct jr_diag_cursor *cursor)
{
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT, name = JR_BUF_INIT, text = JR_BUF_INIT;
    const struct jr_diags own = {.errors = file->errors, .warnings = file->warnings};
    size_t more = own.errors + own.warnings - file->count - file->folded;
    bool failed = is_file_failed(report, file);
    jr_diag_file(&path, report, file->name);
    jr_buf_escaped(&name, path.data, path.len);
    jr_buf_str(out, "    <testcase classname=\"jobrun.validate\" name=\"");
    add_xml(out, &name);
    out->failed |= path.failed;
    if (own.errors + own.warnings == 0) {
        jr_buf_str(out, "\"/>\n");
        return;
    }
    jr_buf_str(out, failed ? "\">\n      <failure type=\"invalid\" message=\""
                           : "\">\n      <system-out>");
    if (failed) {
        jr_diags_count(out, &own);
        jr_buf_str(out, "\">");
    }
    for (size_t i = 0; i < file->count; i++)
        jr_diag_human(&text, &report->diags->items[file->first + i], cursor, false);
    if (file->folded != 0)
        jr_buf_printf(&text, "%zu shown with another file that has the same\n", file->folded);
    if (more != 0)
        jr_buf_printf(&text, "%zu more findings are not shown\n", more);
    add_xml(out, &text);
    jr_buf_str(out, failed ? "</failure>\n" : "</system-out>\n");
    jr_buf_str(out, "    </testcase>\n");
}

void jr_diag_write_junit(struct jr_buf *out, const struct jr_diag_report *report)
{
    struct jr_diag_cursor cursor = {0};
    size_t failures = 0;
    for (size_t i = 0; i < report->files_count; i++)
        failures += is_file_failed(report, &report->files[i]);
    jr_buf_printf(out,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                  "<testsuites>\n  <testsuite name=\"jobrun validate\" tests=\"%zu\" "
                  "failures=\"%zu\" errors=\"0\">\n",
                  report->files_count, failures);
    for (size_t i = 0; i < report->files_count; i++)
        add_case(out, report, &report->files[i], &cursor);
    jr_buf_str(out, "  </testsuite>\n</testsuites>\n");
}

#define ROW(name, word, help) [JR_DIAG_##name] = jr_diag_write_##word,

void jr_diags_report(struct jr_buf *out, const struct jr_diag_report *report,
                     enum jr_diag_format format)
{
    static void (*const writers[])(struct jr_buf *,
                                   const struct jr_diag_report *) = {JR_DIAG_FORMATS(ROW)};
    if (report->diags->arena.failed)
        out->failed = true;
    else
        writers[format](out, report);
}

void jr_diags_render(struct jr_buf *out, const struct jr_diags *diags, enum jr_diag_format format,
                     bool color)
{
    struct jr_diag_report report = {.diags = diags, .color = color};
    jr_diags_report(out, &report, format);
}
