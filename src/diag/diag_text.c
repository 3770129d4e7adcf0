/* What the writers of reports share. */
#include "diag/diag_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "diag/diag.h"
#include "diag/diag_human.h"

#include "base/banned.h"

/* The size of a line break as YAML 1.1 knows them (CRLF, CR, LF, NEL, LS, PS), for so libyaml
 * counts; 0 if there is none. */
static size_t break_size(const char *text, size_t len)
{
    if (*text == '\r')
        return len > 1 && text[1] == '\n' ? 2 : 1;
    if (*text == '\n')
        return 1;
    if (len > 1 && memcmp(text, "\xc2\x85", 2) == 0)
        return 2;
    bool separator =
        len > 2 && memcmp(text, "\xe2\x80", 2) == 0 && ((unsigned char)text[2] & 0xfe) == 0xa8;
    return separator ? 3 : 0;
}

static size_t line_size(const char *text, size_t len)
{
    size_t size = 0;
    while (size < len && break_size(text + size, len - size) == 0)
        size++;
    return size;
}

/* The bytes of a byte order mark at the start: columns do not count it. */
static size_t mark_size(const struct jr_source *source)
{
    bool marked = source->len >= 3 && memcmp(source->text, "\xef\xbb\xbf", 3) == 0;
    return marked ? 3 : 0;
}

bool jr_diag_find_line(struct jr_diag_cursor *cursor, const struct jr_span *span)
{
    const struct jr_source *source = span->source;
    if (source == NULL || source->text == NULL || span->line == 0)
        return false;
    struct jr_diag_cursor at = *cursor;
    if (at.source != source || at.line > span->line) {
        at.source = source;
        at.line = 1;
        at.offset = mark_size(source);
        at.size = line_size(source->text + at.offset, source->len - at.offset);
    }
    while (at.line < span->line && at.offset + at.size < source->len) {
        at.offset += at.size;
        at.offset += break_size(source->text + at.offset, source->len - at.offset);
        at.size = line_size(source->text + at.offset, source->len - at.offset);
        at.line++;
    }
    *cursor = at;
    return at.line == span->line;
}

const char *jr_diag_severity_word(enum jr_severity severity)
{
    return severity == JR_SEVERITY_ERROR ? "error" : "warning";
}

void jr_diag_place(struct jr_buf *out, const struct jr_span *span)
{
    if (span->source == NULL)
        return;
    jr_buf_safe(out, span->source->name);
    if (span->line != 0 && !span->source->option)
        jr_buf_printf(out, ":%u", span->line);
    if (span->line != 0)
        jr_buf_printf(out, ":%u", span->column);
    jr_buf_str(out, ": ");
}

size_t jr_diag_left_out(const struct jr_diags *diags)
{
    return diags->errors + diags->warnings - diags->count;
}

/* What is left of `path` below `root`, or NULL. */
static const char *path_below_root(const char *path, const char *root)
{
    size_t len = strlen(root);
    while (len > 0 && root[len - 1] == '/')
        len--;
    bool inside = strncmp(path, root, len) == 0 && path[len] == '/';
    return inside && path[len + 1] != '\0' ? path + len + 1 : NULL;
}

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
    const char *inside = path_below_root(path, report->root);
    jr_buf_str(out, inside == NULL ? name : inside);
}

static void add_digest_part(struct jr_buf *out, const char *text)
{
    if (text != NULL)
        jr_buf_str(out, text);
    jr_buf_char(out, '\0');
}

void jr_diag_fingerprint(char ret[static JR_HASH_SIZE], json_t *seen,
                         const struct jr_diag_report *report, const struct jr_diag *diag)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    const struct jr_source *source = diag->span.source;
    if (source != NULL)
        jr_diag_file(&text, report, source->name);
    jr_buf_char(&text, '\0');
    add_digest_part(&text, diag->code);
    add_digest_part(&text, diag->path);
    ret[0] = '\0';
    if (text.failed)
        return;
    jr_hash(ret, text.data, text.len);
    json_int_t before = jr_json_get_int(seen, ret);
    jr_json_set_int(seen, ret, before + 1);
    if (before == 0)
        return;
    jr_buf_printf(&text, "%lld", (long long)before);
    jr_hash(ret, text.data, text.len);
}

/* The formats that are read by people, and the way to all of them. */

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

/* Files with a finding. */
static size_t marked_files(const struct jr_diag_report *report)
{
    size_t marked = 0;
    for (size_t i = 0; i < report->files_count; i++)
        marked += report->files[i].errors + report->files[i].warnings > 0;
    return marked;
}

static bool any_folded(const struct jr_diag_report *report)
{
    size_t i = 0;
    while (i < report->files_count && report->files[i].folded == 0)
        i++;
    return i < report->files_count;
}

/* Findings whose fix lies in the file that was checked. */
static size_t count_fixable(const struct jr_diag_report *report, const struct jr_checked *file)
{
    size_t count = 0;
    for (size_t i = file->first; i < file->first + file->count; i++) {
        const struct jr_fix *fix = report->diags->items[i].fix;
        count += fix != NULL && fix->span.source != NULL &&
                 strcmp(fix->span.source->name, file->name) == 0;
    }
    return count;
}

static void add_fixable(struct jr_buf *out, const struct jr_diag_report *report)
{
    const struct jr_diags *diags = report->diags;
    size_t count = 0, all = diags->errors + diags->warnings;
    for (size_t i = 0; i < report->files_count; i++)
        count += count_fixable(report, &report->files[i]);
    if (count > 0 && count == all)
        jr_buf_str(out, all == 1 ? "it" : "all of them");
    else if (count > 0)
        jr_buf_printf(out, "%zu of them", count);
    if (count > 0)
        jr_buf_str(out, " can be fixed with --fix\n");
}

void jr_diag_summary(struct jr_buf *out, const struct jr_diag_report *report)
{
    const struct jr_diags *diags = report->diags;
    size_t count = report->files_count;
    if (count == 0)
        return;
    if (diags->errors == 0)
        jr_buf_printf(out, count == 1 ? "%zu spec is valid" : "%zu specs are valid", count);
    if (diags->errors == 0 && diags->warnings > 0)
        jr_buf_str(out, report->strict ? ", but --strict refuses " : ", with ");
    if (diags->errors + diags->warnings > 0) {
        jr_diags_count(out, diags);
        jr_buf_str(out, " in ");
        add_counted_noun(out, marked_files(report), "file");
        if (any_folded(report))
            jr_buf_str(out, ", each shown once");
    }
    jr_buf_char(out, '\n');
    add_fixable(out, report);
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
    size_t more = jr_diag_left_out(report->diags);
    for (size_t i = 0; i < report->diags->count; i++)
        jr_diag_human(out, &report->diags->items[i], &cursor, report->color);
    if (more != 0)
        jr_buf_printf(out, "%zu more findings are not shown\n", more);
    jr_diag_summary(out, report);
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
