/*
 * A Code Quality report of GitLab: an array of findings, without a byte order
 * mark. GitLab compares the fingerprints of two reports to tell what a merge
 * request adds, so they must not change with the lines above.
 */
#include "diag/diag.h"
#include "diag/diag_text.h"

#include "base/banned.h"

static json_t *place_to_json(const struct jr_diag_report *report,
                             const struct jr_span *span)
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

static json_t *diag_to_gitlab(const struct jr_diag_report *report,
                              const struct jr_diag *diag, json_t *seen)
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
    jr_json_set(object, "fingerprint",
                fingerprint[0] == '\0' ? NULL : jr_json_str(fingerprint));
    jr_json_set_str(object, "severity", error ? "critical" : "minor");
    jr_json_set(object, "location", place_to_json(report, &diag->span));
    return object;
}

void jr_diag_write_gitlab(struct jr_buf *out,
                          const struct jr_diag_report *report)
{
    json_t *list = json_array(), *seen = json_object();
    for (size_t i = 0; i < report->diags->count; i++)
        jr_json_append(list,
                       diag_to_gitlab(report, &report->diags->items[i], seen));
    jr_json_print(out, list, 2);
    jr_buf_char(out, '\n');
    json_decref(list);
    json_decref(seen);
}
