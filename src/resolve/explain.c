#include "resolve/explain.h"

#include "base/diff_table.h"
#include "base/json.h"
#include "base/redact.h"

#include "base/banned.h"

const char *jr_explain_origin(const struct jr_resolution *resolution,
                              enum jr_origin origin)
{
    static const char *const words[] = {JR_ORIGINS(JR_ORIGIN_WORD)};
    if (origin == JR_ORIGIN_HARDWARE && resolution->facts != NULL)
        return resolution->facts;
    return words[origin];
}

static void add_span_place(struct jr_buf *out, const struct jr_span *span,
                           bool column)
{
    jr_buf_str(out, span->source->name);
    if (!span->source->option)
        jr_buf_printf(out, ":%u", span->line);
    if (column || span->source->option)
        jr_buf_printf(out, ":%u", span->column);
}

/* "base.yaml:7, overridden by train.yaml:3"; the column where that is all. */
static void add_places(struct jr_buf *out, const struct jr_provenance *row)
{
    for (size_t i = row->overridden_count; i > 0; i--) {
        add_span_place(out, &row->overridden[i - 1], false);
        jr_buf_str(out, ", overridden by ");
    }
    add_span_place(out, &row->span, row->overridden_count == 0);
}

void jr_explain_from(struct jr_buf *out, const struct jr_resolution *resolution,
                     const struct jr_provenance *row)
{
    const struct jr_span *span = &row->span;
    if (span->source != NULL && span->line != 0)
        add_places(out, row);
    else
        jr_buf_str(out, jr_explain_origin(resolution, row->origin));
    if (row->detail != NULL)
        jr_buf_printf(out, ": %s", row->detail);
}

static void add_provenance_row(struct jr_buf *cells,
                               const struct jr_resolution *resolution,
                               const struct jr_provenance *row)
{
    JR_BUF_CLEANUP struct jr_buf from = JR_BUF_INIT;
    jr_explain_from(&from, resolution, row);
    jr_buf_printf(cells, "%s\t", row->field);
    jr_buf_safe(cells, row->value);
    jr_buf_char(cells, '\t');
    jr_buf_escaped(cells, from.data, from.len);
    cells->failed |= from.failed;
    jr_buf_char(cells, '\t');
    if (row->rule != NULL)
        jr_buf_safe(cells, row->rule);
    jr_buf_char(cells, '\n');
}

static void print_explain_table(struct jr_buf *out,
                                const struct jr_resolution *resolution)
{
    JR_BUF_CLEANUP struct jr_buf cells = JR_BUF_INIT;
    jr_buf_str(&cells, "field\tvalue\tfrom\trule\n");
    for (size_t i = 0; i < resolution->provenance_count; i++)
        add_provenance_row(&cells, resolution, &resolution->provenance[i]);
    jr_redact(&cells, 0, resolution->job.hidden, false);
    jr_table_add(out, &cells, 3);
}

static void set_place(json_t *object, const struct jr_span *span)
{
    bool placed = span->source != NULL && span->line != 0;
    jr_json_set_str(object, "file", placed ? span->source->name : NULL);
    jr_json_set_null(object, "line");
    jr_json_set_null(object, "column");
    if (placed && !span->source->option)
        jr_json_set_int(object, "line", span->line);
    if (placed)
        jr_json_set_int(object, "column", span->column);
}

static json_t *row_json(const struct jr_resolution *resolution,
                        const struct jr_provenance *row)
{
    json_t *object = json_object(), *overridden = json_array();
    jr_json_set_str(object, "field", row->field);
    jr_json_set_str(object, "value", row->value);
    jr_json_set_str(object, "origin",
                    jr_explain_origin(resolution, row->origin));
    set_place(object, &row->span);
    for (size_t i = 0; i < row->overridden_count; i++) {
        json_t *place = json_object();
        set_place(place, &row->overridden[i]);
        jr_json_append(overridden, place);
    }
    jr_json_set(object, "overridden", overridden);
    jr_json_set_str(object, "detail", row->detail);
    jr_json_set_str(object, "rule", row->rule);
    return object;
}

static void print_explain_json(struct jr_buf *out,
                               const struct jr_resolution *resolution)
{
    json_t *root = json_object(), *fields = json_array();
    size_t from = out->len;
    jr_json_set_int(root, "format_version", 1);
    for (size_t i = 0; i < resolution->provenance_count; i++)
        jr_json_append(fields,
                       row_json(resolution, &resolution->provenance[i]));
    jr_json_set(root, "fields", fields);
    jr_json_print(out, root, 2);
    jr_redact(out, from, resolution->job.hidden, true);
    jr_buf_char(out, '\n');
    json_decref(root);
}

void jr_resolution_explain(struct jr_buf *out,
                           const struct jr_resolution *resolution, bool json)
{
    if (json)
        print_explain_json(out, resolution);
    else
        print_explain_table(out, resolution);
}
