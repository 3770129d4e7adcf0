/*
 * Workflow commands of GitHub Actions: one line makes one annotation. A step
 * shows ten of each severity, and drops the others without a word, so the worst
 * come first; every message repeats its place, for the log has the message
 * alone.
 */
#include <string.h>

#include "diag/diag.h"
#include "diag/diag_text.h"

#include "base/banned.h"

enum { MOST_SHOWN = 10 };

/* The escapes that the runner undoes: '%' and line breaks in a message, and in
 * a property what would end it too. */
static void add_encoded(struct jr_buf *out, const char *text,
                        const char *special)
{
    while (*text != '\0') {
        size_t plain = strcspn(text, special);
        jr_buf_add(out, text, plain);
        text += plain;
        if (*text != '\0')
            jr_buf_printf(out, "%%%02X", (unsigned char)*text++);
    }
}

static void add_property(struct jr_buf *out, const char *name,
                         const struct jr_buf *text)
{
    JR_BUF_CLEANUP struct jr_buf safe = JR_BUF_INIT;
    jr_buf_escaped(&safe, text->data, text->len);
    jr_buf_str(out, name);
    if (safe.data != NULL)
        add_encoded(out, safe.data, "%\r\n:,");
    out->failed |= text->failed || safe.failed;
}

/* Columns are refused where a finding spans lines. */
static void add_place_properties(struct jr_buf *out,
                                 const struct jr_diag_report *report,
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
        jr_buf_printf(out, ",col=%u,endColumn=%u", span->column,
                      span->end_column);
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

static void add_log_line(struct jr_buf *out, const char *label,
                         const char *text)
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

static void add_workflow_command(struct jr_buf *out,
                                 const struct jr_diag_report *report,
                                 const struct jr_diag *diag)
{
    jr_buf_printf(out, "::%s ", jr_diag_severity_word(diag->severity));
    add_title(out, diag);
    add_place_properties(out, report, &diag->span);
    jr_buf_str(out, "::");
    add_message(out, diag);
    jr_buf_char(out, '\n');
}

static void add_severity(struct jr_buf *out,
                         const struct jr_diag_report *report,
                         enum jr_severity severity)
{
    for (size_t i = 0; i < report->diags->count; i++)
        if (report->diags->items[i].severity == severity)
            add_workflow_command(out, report, &report->diags->items[i]);
}

void jr_diag_write_github(struct jr_buf *out,
                          const struct jr_diag_report *report)
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
