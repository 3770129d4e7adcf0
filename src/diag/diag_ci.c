/*
 * Writers of diag_text.h for the services that run checks: annotations of GitHub, reports of
 * GitLab, and JUnit XML.
 */
#include "diag/diag_text.h"

#include <string.h>

#include "base/utf8.h"
#include "diag/diag.h"
#include "diag/diag_human.h"

#include "base/banned.h"

/*
 * Workflow commands of GitHub Actions: one line makes one annotation. A step shows ten of each
 * severity, and drops the others without a word, so the worst come first; every message repeats its
 * place, for the log has the message alone.
 */

enum { MOST_SHOWN = 10 };

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

static void add_title(struct jr_buf *out, const struct jr_diag *diag)
{
    JR_BUF_CLEANUP struct jr_buf title = JR_BUF_INIT;
    const struct jr_code *code = jr_code_find(diag->code);
    jr_buf_str(&title, diag->code);
    if (code != NULL)
        jr_buf_printf(&title, ": %s", code->title);
    add_property(out, "title=", &title);
}

static void add_log_line(struct jr_buf *out, const char *label, const char *text)
{
    jr_buf_str(out, label);
    jr_buf_safe(out, text);
}

static void add_message(struct jr_buf *out, const struct jr_diag *diag)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_diag_place(&text, &diag->span);
    add_log_line(&text, "", diag->message);
    if (diag->help != NULL)
        add_log_line(&text, "\nhelp: ", diag->help);
    for (const struct jr_related *related = diag->related; related != NULL;
         related = related->next) {
        jr_buf_char(&text, '\n');
        jr_diag_place(&text, &related->span);
        add_log_line(&text, "note: ", related->message);
    }
    if (text.data != NULL)
        add_encoded(out, text.data, "%\r\n");
    out->failed |= text.failed;
}

static void add_workflow_command(struct jr_buf *out, const struct jr_diag_report *report,
                                 const struct jr_diag *diag)
{
    jr_buf_printf(out, "::%s ", jr_diag_severity_word(diag->severity));
    add_title(out, diag);
    add_place_properties(out, report, &diag->span);
    jr_buf_str(out, "::");
    add_message(out, diag);
    jr_buf_char(out, '\n');
}

static void add_severity(struct jr_buf *out, const struct jr_diag_report *report,
                         enum jr_severity severity)
{
    for (size_t i = 0; i < report->diags->count; i++)
        if (report->diags->items[i].severity == severity)
            add_workflow_command(out, report, &report->diags->items[i]);
}

void jr_diag_write_github(struct jr_buf *out, const struct jr_diag_report *report)
{
    const struct jr_diags *diags = report->diags;
    add_severity(out, report, JR_SEVERITY_ERROR);
    add_severity(out, report, JR_SEVERITY_WARNING);
    jr_diag_summary(out, report);
    if (diags->errors > MOST_SHOWN || diags->warnings > MOST_SHOWN)
        jr_buf_printf(out,
                      "GitHub shows the first %d errors and %d warnings of a "
                      "step beside the files\n",
                      MOST_SHOWN, MOST_SHOWN);
}

/*
 * A Code Quality report of GitLab: an array of findings, without a byte order mark. GitLab compares
 * the fingerprints of two reports to tell what a merge request adds, so they must not change with
 * the lines above.
 */

static json_t *place_to_json(const struct jr_diag_report *report, const struct jr_span *span)
{
    JR_BUF_CLEANUP struct jr_buf file = JR_BUF_INIT;
    json_t *place = json_object(), *lines = json_object();
    if (span->source != NULL)
        jr_diag_file(&file, report, span->source->name);
    else
        jr_buf_char(&file, '.');
    jr_json_set(place, "path", jr_json_buf(&file));
    jr_json_set_int(lines, "begin", span->line == 0 ? 1 : span->line);
    if (span->end_line > span->line)
        jr_json_set_int(lines, "end", span->end_line);
    jr_json_set(place, "lines", lines);
    return place;
}

static json_t *diag_to_gitlab(const struct jr_diag_report *report, const struct jr_diag *diag,
                              json_t *seen)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    char fingerprint[JR_HASH_SIZE];
    bool error = diag->severity == JR_SEVERITY_ERROR;
    json_t *object = json_object();
    jr_buf_str(&text, diag->message);
    if (diag->help != NULL)
        jr_buf_printf(&text, " (help: %s)", diag->help);
    jr_diag_fingerprint(fingerprint, seen, report, diag);
    jr_json_set(object, "description", jr_json_buf(&text));
    jr_json_set_str(object, "check_name", diag->code);
    jr_json_set(object, "fingerprint", fingerprint[0] == '\0' ? NULL : jr_json_str(fingerprint));
    jr_json_set_str(object, "severity", error ? "critical" : "minor");
    jr_json_set(object, "location", place_to_json(report, &diag->span));
    return object;
}

void jr_diag_write_gitlab(struct jr_buf *out, const struct jr_diag_report *report)
{
    json_t *list = json_array(), *seen = json_object();
    for (size_t i = 0; i < report->diags->count; i++)
        jr_json_append(list, diag_to_gitlab(report, &report->diags->items[i], seen));
    jr_json_print(out, list, 2);
    jr_buf_char(out, '\n');
    json_decref(list);
    json_decref(seen);
}

/*
 * JUnit XML as Jenkins' junit-10.xsd has it: a suite, a case for each file, and its findings as
 * they look on a terminal. Attributes that not every reader knows are left out.
 */

/* What XML 1.0 cannot hold even as a reference (its Char production). */
static bool is_xml_char(uint32_t point)
{
    return point >= 0x20 ? point != 0xfffe && point != 0xffff : point == '\n' || point == '\t';
}

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
        else if (size != 0 && is_xml_char(point))
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

static void add_case_name(struct jr_buf *out, const struct jr_diag_report *report, const char *name)
{
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT, safe = JR_BUF_INIT;
    jr_diag_file(&path, report, name);
    jr_buf_escaped(&safe, path.data, path.len);
    add_xml(out, &safe);
    out->failed |= path.failed;
}

static void add_findings(struct jr_buf *out, const struct jr_diag_report *report,
                         const struct jr_checked *file, struct jr_diag_cursor *cursor)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    size_t more = file->errors + file->warnings - file->count - file->folded;
    for (size_t i = 0; i < file->count; i++)
        jr_diag_human(&text, &report->diags->items[file->first + i], cursor, false);
    if (file->folded != 0)
        jr_buf_printf(&text, "%zu shown with another file that has the same\n", file->folded);
    if (more != 0)
        jr_buf_printf(&text, "%zu more findings are not shown\n", more);
    add_xml(out, &text);
}

/* A file with warnings alone passes, and has them as its output. */
static void add_case(struct jr_buf *out, const struct jr_diag_report *report,
                     const struct jr_checked *file, struct jr_diag_cursor *cursor)
{
    const struct jr_diags own = {.errors = file->errors, .warnings = file->warnings};
    bool failed = is_file_failed(report, file);
    jr_buf_str(out, "    <testcase classname=\"jobrun.validate\" name=\"");
    add_case_name(out, report, file->name);
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
    add_findings(out, report, file, cursor);
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
                  "<testsuites>\n"
                  "  <testsuite name=\"jobrun validate\" tests=\"%zu\" "
                  "failures=\"%zu\" errors=\"0\">\n",
                  report->files_count, failures);
    for (size_t i = 0; i < report->files_count; i++)
        add_case(out, report, &report->files[i], &cursor);
    jr_buf_str(out, "  </testsuite>\n</testsuites>\n");
}
