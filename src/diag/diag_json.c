/* The report as JSON, in the words of the contract: one object, or one per line. diag_text.h
 * declares it. */
#include "diag/diag_text.h"

#include "diag/diag.h"
#include "diag/diag_human.h"

#include "base/banned.h"

/* A position of which nothing is known is null. */
static void set_position(json_t *object, const char *key, uint32_t value)
{
    if (value == 0)
        jr_json_set_null(object, key);
    else
        jr_json_set_int(object, key, value);
}

static void set_span_start(json_t *object, const struct jr_span *span)
{
    const struct jr_source *source = span->source;
    jr_json_set_str(object, "file", source == NULL ? NULL : source->name);
    set_position(object, "line", span->line);
    set_position(object, "column", span->column);
}

static void set_span_end(json_t *object, const struct jr_span *span)
{
    set_position(object, "end_line", span->end_line);
    set_position(object, "end_column", span->end_column);
}

static json_t *fixes_to_json(const struct jr_fix *fix)
{
    json_t *fixes = json_array();
    if (fix == NULL)
        return fixes;
    json_t *object = json_object();
    set_span_start(object, &fix->span);
    set_span_end(object, &fix->span);
    jr_json_set_str(object, "text", fix->text);
    jr_json_append(fixes, object);
    return fixes;
}

static json_t *related_to_json(const struct jr_related *related)
{
    json_t *list = json_array();
    for (; related != NULL; related = related->next) {
        json_t *object = json_object();
        jr_json_set_str(object, "message", related->message);
        set_span_start(object, &related->span);
        jr_json_append(list, object);
    }
    return list;
}

static json_t *diag_to_object(const struct jr_diag *diag, struct jr_diag_cursor *cursor)
{
    JR_BUF_CLEANUP struct jr_buf rendered = JR_BUF_INIT;
    json_t *object = json_object();
    jr_json_set_str(object, "severity", jr_diag_severity_word(diag->severity));
    jr_json_set_str(object, "code", diag->code);
    jr_json_set_str(object, "message", diag->message);
    set_span_start(object, &diag->span);
    set_span_end(object, &diag->span);
    jr_json_set_str(object, "path", diag->path);
    jr_json_set_str(object, "help", diag->help);
    jr_json_set(object, "fixes", fixes_to_json(diag->fix));
    jr_json_set(object, "related", related_to_json(diag->related));
    jr_diag_human(&rendered, diag, cursor, false);
    jr_json_set(object, "rendered", jr_json_buf(&rendered));
    return object;
}

void jr_diag_write_json(struct jr_buf *out, const struct jr_diag_report *report)
{
    const struct jr_diags *diags = report->diags;
    struct jr_diag_cursor cursor = {0};
    json_t *list = json_array();
    for (size_t i = 0; i < diags->count; i++)
        jr_json_append(list, diag_to_object(&diags->items[i], &cursor));
    json_t *top = json_object();
    jr_json_set_int(top, "format_version", 1);
    jr_json_set_bool(top, "valid", jr_diag_report_valid(report));
    jr_json_set_int(top, "error_count", (json_int_t)diags->errors);
    jr_json_set_int(top, "warning_count", (json_int_t)diags->warnings);
    jr_json_set(top, "diagnostics", list);
    jr_json_print(out, top, 2);
    jr_buf_char(out, '\n');
    json_decref(top);
}

void jr_diag_write_jsonl(struct jr_buf *out, const struct jr_diag_report *report)
{
    struct jr_diag_cursor cursor = {0};
    for (size_t i = 0; i < report->diags->count; i++) {
        json_t *line = diag_to_object(&report->diags->items[i], &cursor);
        jr_json_print(out, line, 0);
        jr_buf_char(out, '\n');
        json_decref(line);
    }
}
