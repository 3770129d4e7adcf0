/* What the rules find wrong, told at the stated values that it comes from; and where a value comes
 * from, in words. */
#include "resolve/findings.h"

#include <stdarg.h>

#include "base/diff_table.h"
#include "base/json.h"
#include "base/redact.h"
#include "doc/doc.h"
#include "resolve/rules.h"

#include "base/banned.h"

/* The stated cells that `fields` come from, themselves included. */
static uint32_t find_stated_roots(const struct jr_resolver *r, uint32_t fields)
{
    uint32_t found = 0;
    for (unsigned i = 0; i < JR_FIELD_COUNT; i++) {
        const struct jr_field_value *cell = &r->cells[i];
        if ((fields & JR_BIT(i)) == 0)
            continue;
        found |= jr_field_value_stated(cell) && cell->span.line != 0
                     ? JR_BIT(i)
                     : find_stated_roots(r, cell->needs);
    }
    return found;
}

/* Take the lowest field out of a set of bits; JR_FIELD_COUNT when empty. */
static unsigned take_first_field(uint32_t *fields)
{
    if (*fields == 0)
        return JR_FIELD_COUNT;
    unsigned first = (unsigned)__builtin_ctz(*fields);
    *fields &= *fields - 1;
    return first;
}

/* What a finding is about. */
struct about {
    enum jr_severity severity;
    enum jr_diag_code code;
    uint32_t fields;   /* as bits */
    bool fact;         /* not decided by the spec alone */
    const char *place; /* the machine that took part; NULL: the only one */
};

/* With several machines, the one whose facts were used is named. */
static const char *name_place(struct jr_resolver *r, const struct about *about, const char *message)
{
    if (message != NULL && about->place != NULL)
        message = jr_arena_printf(r->arena, "on %s: %s", about->place, message);
    return message != NULL ? message : "out of memory";
}

/* The machine that refuses, or is doubtful. */
static const char *own_place(const struct jr_resolver *r)
{
    const char *target = r->options->target;
    return target != NULL ? target : r->hw->name;
}

/* The caret points at the second of the stated sides; the others are what it is compared with.
 * Sizes come before their divisors, but rank_start must follow from all others. A contradiction
 * that has no position is reported at the target, or for the file as a whole. */
__attribute__((format(printf, 3, 0))) static struct jr_diag *report_at_roots(
    struct jr_resolver *r, const struct about *about, const char *format, va_list args)
{
    /* What memory was lacking for may look like a mistake. */
    if (r->arena->failed)
        return &r->diags->scratch;
    uint32_t stated = find_stated_roots(r, about->fields), rest = stated;
    unsigned first = take_first_field(&rest), second = take_first_field(&rest);
    unsigned at = second != JR_FIELD_COUNT ? second : first;
    if ((stated & JR_BIT(JR_RANK_START)) != 0)
        at = JR_RANK_START;
    struct jr_span target = r->options->target_at;
    struct jr_span span = target;
    const char *path = NULL;
    if (at != JR_FIELD_COUNT) {
        span = r->cells[at].span;
        path = jr_field_value_path((enum jr_field)at);
    } else if (target.line == 0) {
        span = (struct jr_span){.source = jr_spec_doc(r->file)->source};
    }
    const char *message = name_place(r, about, jr_arena_vprintf(r->arena, format, args));
    bool warns = about->severity == JR_SEVERITY_WARNING;
    struct jr_diag *diag = (warns ? jr_diags_warning : jr_diags_error)(r->diags, about->code, span,
                                                                       path, "%s", message);
    if (second == JR_FIELD_COUNT && about->fact && path != NULL && target.line != 0)
        jr_diag_relate(r->diags, diag, target, "this target");
    for (unsigned other; (other = take_first_field(&stated)) != JR_FIELD_COUNT;)
        if (other != at)
            jr_diag_relate(r->diags, diag, r->cells[other].span, "stated here");
    return diag;
}

struct jr_diag *jr_rules_clash(struct jr_resolver *r, enum jr_diag_code code, uint32_t fields,
                               const char *format, ...)
{
    bool fact = jr_field_values_fact(r, fields);
    r->unresolved = r->unresolved || fact;
    r->invalid = r->invalid || !fact;
    const struct about about = {JR_SEVERITY_ERROR, code, fields, fact,
                                fact ? r->options->target : NULL};
    va_list args;
    va_start(args, format);
    struct jr_diag *diag = report_at_roots(r, &about, format, args);
    va_end(args);
    return diag;
}

struct jr_diag *jr_rules_refuse(struct jr_resolver *r, enum jr_diag_code code, uint32_t fields,
                                const char *format, ...)
{
    r->unresolved = true;
    const struct about about = {JR_SEVERITY_ERROR, code, fields, true, own_place(r)};
    va_list args;
    va_start(args, format);
    struct jr_diag *diag = report_at_roots(r, &about, format, args);
    va_end(args);
    return diag;
}

struct jr_diag *jr_rules_warn(struct jr_resolver *r, enum jr_diag_code code, uint32_t fields,
                              const char *format, ...)
{
    const struct about about = {JR_SEVERITY_WARNING, code, fields, true, own_place(r)};
    va_list args;
    va_start(args, format);
    struct jr_diag *diag = report_at_roots(r, &about, format, args);
    va_end(args);
    return diag;
}

const char *jr_explain_origin(const struct jr_resolution *resolution, enum jr_origin origin)
{
    static const char *const words[] = {JR_ORIGINS(JR_ORIGIN_WORD)};
    if (origin == JR_ORIGIN_HARDWARE && resolution->facts != NULL)
        return resolution->facts;
    return words[origin];
}

static void add_span_place(struct jr_buf *out, const struct jr_span *span, bool column)
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

static void add_provenance_row(struct jr_buf *cells, const struct jr_resolution *resolution,
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

static void print_explain_table(struct jr_buf *out, const struct jr_resolution *resolution)
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

static json_t *row_json(const struct jr_resolution *resolution, const struct jr_provenance *row)
{
    json_t *object = json_object(), *overridden = json_array();
    jr_json_set_str(object, "field", row->field);
    jr_json_set_str(object, "value", row->value);
    jr_json_set_str(object, "origin", jr_explain_origin(resolution, row->origin));
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

static void print_explain_json(struct jr_buf *out, const struct jr_resolution *resolution)
{
    json_t *root = json_object(), *fields = json_array();
    size_t from = out->len;
    jr_json_set_int(root, "format_version", 1);
    for (size_t i = 0; i < resolution->provenance_count; i++)
        jr_json_append(fields, row_json(resolution, &resolution->provenance[i]));
    jr_json_set(root, "fields", fields);
    jr_json_print(out, root, 2);
    jr_redact(out, from, resolution->job.hidden, true);
    jr_buf_char(out, '\n');
    json_decref(root);
}

void jr_resolution_explain(struct jr_buf *out, const struct jr_resolution *resolution, bool json)
{
    if (json)
        print_explain_json(out, resolution);
    else
        print_explain_table(out, resolution);
}
