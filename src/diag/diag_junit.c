/*
 * JUnit XML as Jenkins' junit-10.xsd has it: a suite, a case for each file, and
 * its findings as they look on a terminal. Attributes that not every reader
 * knows are left out.
 */
#include "base/utf8.h"
#include "diag/diag.h"
#include "diag/diag_text.h"

#include "base/banned.h"

/* What XML 1.0 cannot hold even as a reference (its Char production). */
static bool is_xml_char(uint32_t point)
{
    return point >= 0x20 ? point != 0xfffe && point != 0xffff
                         : point == '\n' || point == '\t';
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

static bool is_file_failed(const struct jr_diag_report *report,
                           const struct jr_checked *file)
{
    return file->errors > 0 || (report->strict && file->warnings > 0);
}

static void add_case_name(struct jr_buf *out,
                          const struct jr_diag_report *report, const char *name)
{
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT, safe = JR_BUF_INIT;
    jr_diag_file(&path, report, name);
    jr_buf_escaped(&safe, path.data, path.len);
    add_xml(out, &safe);
    out->failed |= path.failed;
}

static void add_findings(struct jr_buf *out,
                         const struct jr_diag_report *report,
                         const struct jr_checked *file,
                         struct jr_diag_cursor *cursor)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    size_t more = file->errors + file->warnings - file->count - file->folded;
    for (size_t i = 0; i < file->count; i++)
        jr_diag_human(&text, &report->diags->items[file->first + i], cursor,
                      false);
    if (file->folded != 0)
        jr_buf_printf(&text, "%zu shown with another file that has the same\n",
                      file->folded);
    if (more != 0)
        jr_buf_printf(&text, "%zu more findings are not shown\n", more);
    add_xml(out, &text);
}

/* A file with warnings alone passes, and has them as its output. */
static void add_case(struct jr_buf *out, const struct jr_diag_report *report,
                     const struct jr_checked *file,
                     struct jr_diag_cursor *cursor)
{
    const struct jr_diags own = {.errors = file->errors,
                                 .warnings = file->warnings};
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

void jr_diag_write_junit(struct jr_buf *out,
                         const struct jr_diag_report *report)
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
