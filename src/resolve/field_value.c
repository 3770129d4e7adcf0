/* What is known of each field, where it comes from, and what is wrong with it, in words. Declared
 * in internal.h and resolve.h. */
#include "resolve/internal.h"

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "base/diff_table.h"
#include "base/json.h"
#include "base/redact.h"
#include "doc/doc.h"

#include "base/banned.h"

#define FIELD_ROW(name, path, stated, member, job, job_member)                                     \
    {path, JR_FIELD_##stated, offsetof(struct jr_spec, member), JR_FIELD_##job,                    \
     offsetof(struct jr_job, job_member)},
const struct jr_field_row jr_field_rows[JR_FIELD_COUNT] = {JR_FIELD_VALUES(FIELD_ROW)};

bool jr_field_value_stated(const struct jr_field_value *cell)
{
    return cell->origin == JR_ORIGIN_SPEC || cell->origin == JR_ORIGIN_SET;
}

bool jr_field_values_known(const struct jr_resolver *r, uint32_t fields)
{
    for (unsigned i = 0; i < JR_FIELD_COUNT; i++)
        if ((fields & JR_BIT(i)) != 0 && !r->cells[i].known)
            return false;
    return true;
}

bool jr_field_values_fact(const struct jr_resolver *r, uint32_t fields)
{
    for (unsigned i = 0; i < JR_FIELD_COUNT; i++)
        if ((fields & JR_BIT(i)) != 0 && r->cells[i].fact)
            return true;
    return false;
}

void jr_field_value_state(struct jr_resolver *r, struct jr_field_value *out, const char *path)
{
    out->span = jr_spec_where(r->file, path);
    bool set = out->span.source != NULL && out->span.source->name != NULL &&
               strcmp(out->span.source->name, "--set") == 0;
    out->origin = set ? JR_ORIGIN_SET : JR_ORIGIN_SPEC;
    out->rule = NULL;
}

void jr_field_values_seed(struct jr_resolver *r)
{
    for (size_t i = 0; i < JR_FIELD_COUNT; i++) {
        const struct jr_field_row *row = &jr_field_rows[i];
        struct jr_field_value *cell = &r->cells[i];
        const void *member = NULL;
        cell->failed = r->options->target != NULL && jr_spec_is_unknown(r->file, row->path);
        r->unknown = r->unknown || cell->failed;
        if (row->stated != JR_FIELD_RULE && !cell->failed)
            memcpy(&member, (const char *)r->spec + row->stated_at, sizeof member);
        if (member == NULL)
            continue;
        if (row->stated == JR_FIELD_NUMBER)
            cell->number = *(const uint32_t *)member;
        else
            cell->text = member;
        jr_field_value_state(r, cell, row->path);
        cell->known = true;
    }
}

static const char *cell_value(struct jr_resolver *r, const struct jr_field_value *cell)
{
    if (cell->text != NULL)
        return cell->text;
    return jr_arena_printf(r->arena, "%u", cell->number);
}

static const char *cell_as_written(struct jr_resolver *r, enum jr_field field)
{
    return jr_field_value_stated(&r->cells[field])
               ? jr_spec_written(r->file, r->arena, jr_field_rows[field].path)
               : NULL;
}

bool jr_field_values_filled(struct jr_resolver *r, uint32_t fields)
{
    for (unsigned i = 0; i < JR_FIELD_COUNT; i++)
        if ((fields & JR_BIT(i)) != 0 && (cell_as_written(r, (enum jr_field)i) != NULL ||
                                          jr_field_values_filled(r, r->cells[i].needs)))
            return true;
    return false;
}

const char *jr_field_value_value(struct jr_resolver *r, enum jr_field field)
{
    const char *source = cell_as_written(r, field);
    return source != NULL ? source : cell_value(r, &r->cells[field]);
}

/* "derived"; for what the hardware said, what it is called: "--on 2x8". */
static const char *name_origin(const struct jr_resolution *resolution, enum jr_origin origin)
{
    static const char *const words[] = {JR_ORIGINS(JR_ORIGIN_WORD)};
    if (origin == JR_ORIGIN_HARDWARE && resolution->facts != NULL)
        return resolution->facts;
    return words[origin];
}

/* Where a value comes from that the spec does not state. */
static const char *describe_origin(struct jr_resolver *r, const struct jr_field_value *cell)
{
    const char *why = cell->detail != NULL ? cell->detail : cell->rule;
    if (cell->origin == JR_ORIGIN_DERIVED || cell->origin == JR_ORIGIN_DEFAULT)
        return cell->rule;
    return jr_arena_printf(r->arena, "%s: %s", name_origin(r->out, cell->origin), why);
}

const char *jr_field_value_say(struct jr_resolver *r, enum jr_field field)
{
    const struct jr_field_value *cell = &r->cells[field];
    const char *path = jr_field_rows[field].path;
    if (jr_field_value_stated(cell))
        return jr_arena_printf(r->arena, "%s %s", path, jr_field_value_value(r, field));
    if (jr_field_values_filled(r, cell->needs))
        return jr_arena_printf(r->arena, "%s (%s)", path, describe_origin(r, cell));
    return jr_arena_printf(r->arena, "%s %s (%s)", path, cell_value(r, cell),
                           describe_origin(r, cell));
}

const char *jr_field_value_list(struct jr_resolver *r, char *const *items, size_t count)
{
    struct jr_buf JR_BUF_CLEANUP buf = JR_BUF_INIT;
    for (size_t i = 0; i < count; i++)
        jr_buf_printf(&buf, "%s%s", i == 0 ? "" : ",", items[i] != NULL ? items[i] : "?");
    const char *text = count == 0 ? NULL : jr_buf_keep(&buf, r->arena);
    return text == NULL ? "none" : text;
}

void jr_provenance_fill(struct jr_resolver *r)
{
    struct jr_resolution *out = r->out;
    out->provenance = jr_arena_array(r->arena, JR_FIELD_COUNT, sizeof *out->provenance);
    for (size_t i = 0; i < JR_FIELD_COUNT && out->provenance != NULL; i++) {
        const struct jr_field_value *cell = &r->cells[i];
        const char *path = jr_field_rows[i].path, *kept = NULL;
        if (!cell->known)
            continue;
        bool stated = jr_field_value_stated(cell);
        if (stated) /* a secret is written down as a reference */
            kept = jr_spec_kept(r->file, r->arena, path);
        struct jr_provenance *row = &out->provenance[out->provenance_count++];
        *row = (struct jr_provenance){
            .field = path,
            .value = kept != NULL ? kept : cell_value(r, cell),
            .origin = cell->origin,
            .span = cell->span,
            .detail = cell->detail,
            .rule = cell->rule,
        };
        for (size_t before = 0; stated; before++) {
            struct jr_span span = jr_spec_overridden(r->file, path, before);
            struct jr_span *slot = NULL;
            if (span.line != 0)
                slot =
                    jr_arena_push(r->arena, &row->overridden, &row->overridden_count, sizeof *slot);
            if (slot == NULL)
                break;
            *slot = span;
        }
    }
}

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

enum finding { CLASH, REFUSAL, WARNING };

/* With several machines, the one whose facts were used is named. */
static const char *name_place(struct jr_resolver *r, enum finding finding, bool fact,
                              const char *message)
{
    const char *place = fact ? r->options->target : NULL;
    if (place == NULL && finding != CLASH)
        place = r->hw->name;
    if (message != NULL && place != NULL)
        message = jr_arena_printf(r->arena, "on %s: %s", place, message);
    return message != NULL ? message : "out of memory";
}

/* The caret points at the second of the stated sides; the others are what it is compared with.
 * Sizes come before their divisors, but rank_start must follow from all others. A contradiction
 * that has no position is reported at the target, or for the file as a whole. */
__attribute__((format(printf, 5, 0))) static struct jr_diag *report_at_roots(
    struct jr_resolver *r, enum finding finding, enum jr_diag_code code, uint32_t fields,
    const char *format, va_list args)
{
    bool fact = finding != CLASH || jr_field_values_fact(r, fields);
    r->unresolved |= fact && finding != WARNING;
    r->invalid |= !fact;
    /* What memory was lacking for may look like a mistake. */
    if (r->arena->failed)
        return &r->diags->scratch;
    uint32_t stated = find_stated_roots(r, fields), rest = stated;
    unsigned first = take_first_field(&rest), second = take_first_field(&rest);
    unsigned at = second != JR_FIELD_COUNT ? second : first;
    if ((stated & JR_BIT(JR_RANK_START)) != 0)
        at = JR_RANK_START;
    struct jr_span target = r->options->target_at;
    struct jr_span span = target;
    const char *path = NULL;
    if (at != JR_FIELD_COUNT) {
        span = r->cells[at].span;
        path = jr_field_rows[at].path;
    } else if (target.line == 0) {
        span = (struct jr_span){.source = jr_spec_doc(r->file)->source};
    }
    const char *message = jr_arena_vprintf(r->arena, format, args);
    message = name_place(r, finding, fact, message);
    struct jr_diag *diag = (finding == WARNING ? jr_diags_warning : jr_diags_error)(
        r->diags, code, span, path, "%s", message);
    if (second == JR_FIELD_COUNT && fact && path != NULL && target.line != 0)
        jr_diag_relate(r->diags, diag, target, "this target");
    for (unsigned other; (other = take_first_field(&stated)) != JR_FIELD_COUNT;)
        if (other != at)
            jr_diag_relate(r->diags, diag, r->cells[other].span, "stated here");
    return diag;
}

struct jr_diag *jr_rules_clash(struct jr_resolver *r, enum jr_diag_code code, uint32_t fields,
                               const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct jr_diag *diag = report_at_roots(r, CLASH, code, fields, format, args);
    va_end(args);
    return diag;
}

struct jr_diag *jr_rules_refuse(struct jr_resolver *r, enum jr_diag_code code, uint32_t fields,
                                const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct jr_diag *diag = report_at_roots(r, REFUSAL, code, fields, format, args);
    va_end(args);
    return diag;
}

struct jr_diag *jr_rules_warn(struct jr_resolver *r, enum jr_diag_code code, uint32_t fields,
                              const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct jr_diag *diag = report_at_roots(r, WARNING, code, fields, format, args);
    va_end(args);
    return diag;
}

static void add_span_place(struct jr_buf *out, const struct jr_span *span, bool column)
{
    jr_buf_str(out, span->source->name);
    if (!span->source->option)
        jr_buf_printf(out, ":%u", span->line);
    if (column || span->source->option)
        jr_buf_printf(out, ":%u", span->column);
}

void jr_explain_from(struct jr_buf *out, const struct jr_resolution *resolution,
                     const struct jr_provenance *row)
{
    if (row->span.source != NULL && row->span.line != 0) {
        /* "base.yaml:7, overridden by train.yaml:3"; the column where that is all */
        for (size_t i = row->overridden_count; i > 0; i--) {
            add_span_place(out, &row->overridden[i - 1], false);
            jr_buf_str(out, ", overridden by ");
        }
        add_span_place(out, &row->span, row->overridden_count == 0);
    } else {
        jr_buf_str(out, name_origin(resolution, row->origin));
    }
    if (row->detail != NULL)
        jr_buf_printf(out, ": %s", row->detail);
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
    jr_json_set_str(object, "origin", name_origin(resolution, row->origin));
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
    JR_BUF_CLEANUP struct jr_buf cells = JR_BUF_INIT, from = JR_BUF_INIT;
    if (json) {
        print_explain_json(out, resolution);
        return;
    }
    jr_buf_str(&cells, "field\tvalue\tfrom\trule\n");
    for (size_t i = 0; i < resolution->provenance_count; i++) {
        const struct jr_provenance *row = &resolution->provenance[i];
        jr_buf_clear(&from);
        jr_explain_from(&from, resolution, row);
        jr_buf_printf(&cells, "%s\t", row->field);
        jr_buf_safe(&cells, row->value);
        jr_buf_char(&cells, '\t');
        jr_buf_escaped(&cells, from.data, from.len);
        cells.failed |= from.failed; /* which the next row forgets */
        jr_buf_char(&cells, '\t');
        if (row->rule != NULL)
            jr_buf_safe(&cells, row->rule);
        jr_buf_char(&cells, '\n');
    }
    jr_redact(&cells, 0, resolution->job.hidden, false);
    jr_table_add(out, &cells, 3);
}
