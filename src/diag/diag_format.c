/* The formats that are read by people, and the way to all of them. */
#include <string.h>

#include "diag/diag.h"
#include "diag/diag_text.h"

#include "base/banned.h"

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
static size_t count_fixable(const struct jr_diag_report *report,
                            const struct jr_checked *file)
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
        jr_buf_printf(out,
                      count == 1 ? "%zu spec is valid" : "%zu specs are valid",
                      count);
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
void jr_diag_write_short(struct jr_buf *out,
                         const struct jr_diag_report *report)
{
    for (size_t i = 0; i < report->diags->count; i++) {
        const struct jr_diag *diag = &report->diags->items[i];
        jr_diag_place(out, &diag->span);
        jr_buf_printf(out, "%s: ", jr_diag_severity_word(diag->severity));
        jr_buf_safe(out, diag->message);
        jr_buf_printf(out, " [%s]\n", diag->code);
    }
}

void jr_diag_write_human(struct jr_buf *out,
                         const struct jr_diag_report *report)
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
                                   const struct jr_diag_report *) = {
        JR_DIAG_FORMATS(ROW)};
    if (report->diags->arena.failed)
        out->failed = true;
    else
        writers[format](out, report);
}

void jr_diags_render(struct jr_buf *out, const struct jr_diags *diags,
                     enum jr_diag_format format, bool color)
{
    struct jr_diag_report report = {.diags = diags, .color = color};
    jr_diags_report(out, &report, format);
}
