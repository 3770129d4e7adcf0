#include "rules.h"

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "doc.h"
#include "explain.h"

#include "banned.h"

enum seed { SEED_NUMBER, SEED_TEXT, SEED_RULE };

#define CELL_ROW(name, path, kind, member)                                     \
    {path, SEED_##kind, offsetof(struct jr_spec, member)},

struct row {
    const char *path;
    enum seed seed;
    size_t offset; /* of the member in jr_spec */
};

static const struct row rows[] = {JR_CELLS(CELL_ROW)};

bool jr_cell_stated(const struct jr_cell *cell)
{
    return cell->origin == JR_ORIGIN_SPEC || cell->origin == JR_ORIGIN_SET;
}

bool jr_cells_known(const struct jr_resolver *r, uint32_t fields)
{
    for (unsigned i = 0; i < JR_FIELD_COUNT; i++)
        if ((fields & JR_BIT(i)) != 0 && !r->cells[i].known)
            return false;
    return true;
}

bool jr_cells_fact(const struct jr_resolver *r, uint32_t fields)
{
    for (unsigned i = 0; i < JR_FIELD_COUNT; i++)
        if ((fields & JR_BIT(i)) != 0 && r->cells[i].fact)
            return true;
    return false;
}

void jr_cell_state(struct jr_resolver *r, struct jr_cell *out, const char *path)
{
    out->span = jr_spec_where(r->file, path);
    bool set = out->span.source != NULL && out->span.source->name != NULL &&
               strcmp(out->span.source->name, "--set") == 0;
    out->origin = set ? JR_ORIGIN_SET : JR_ORIGIN_SPEC;
    out->rule = NULL;
}

static bool seed_number(struct jr_resolver *r, size_t i, struct jr_cell *cell)
{
    const char *base = (const char *)r->spec;
    const uint32_t *number;
    memcpy(&number, base + rows[i].offset, sizeof number);
    if (number == NULL)
        return false;
    cell->number = *number;
    return true;
}

static bool seed_text(struct jr_resolver *r, size_t i, struct jr_cell *cell)
{
    const char *base = (const char *)r->spec;
    memcpy(&cell->text, base + rows[i].offset, sizeof cell->text);
    return cell->text != NULL;
}

void jr_cells_seed(struct jr_resolver *r)
{
    for (size_t i = 0; i < JR_FIELD_COUNT; i++) {
        struct jr_cell *cell = &r->cells[i];
        if (rows[i].seed == SEED_RULE)
            continue;
        if (rows[i].seed == SEED_NUMBER ? !seed_number(r, i, cell)
                                        : !seed_text(r, i, cell))
            continue;
        jr_cell_state(r, cell, rows[i].path);
        cell->known = cell->number <= JR_RANKS_MAX;
        cell->failed = !cell->known;
        if (cell->failed)
            jr_rules_clash(r, 403, JR_BIT(i), "%s is %u, more than %u",
                           rows[i].path, cell->number, JR_RANKS_MAX);
    }
}

static const char *value_of(struct jr_resolver *r, const struct jr_cell *cell)
{
    if (cell->text != NULL)
        return cell->text;
    return jr_arena_printf(r->arena, "%u", cell->number);
}

const char *jr_cell_say(struct jr_resolver *r, enum jr_field field)
{
    const struct jr_cell *cell = &r->cells[field];
    const char *said =
        jr_arena_printf(r->arena, "%s %s", rows[field].path, value_of(r, cell));
    if (jr_cell_stated(cell))
        return said;
    const char *why = cell->detail != NULL ? cell->detail : cell->rule;
    if (cell->origin == JR_ORIGIN_DERIVED || cell->origin == JR_ORIGIN_DEFAULT)
        return jr_arena_printf(r->arena, "%s (%s)", said, cell->rule);
    const char *word = jr_explain_origin(r->out, cell->origin);
    return jr_arena_printf(r->arena, "%s (%s: %s)", said, word, why);
}

const char *jr_cell_list(struct jr_resolver *r, char *const *items,
                         size_t count)
{
    struct jr_buf JR_BUF_CLEANUP buf = JR_BUF_INIT;
    for (size_t i = 0; i < count; i++)
        jr_buf_printf(&buf, "%s%s", i == 0 ? "" : ",",
                      items[i] != NULL ? items[i] : "?");
    if (buf.failed)
        r->arena->failed = true;
    return count == 0 || buf.failed ? "none"
                                    : jr_arena_strdup(r->arena, buf.data);
}

/* The stated cells that `fields` come from, themselves included. */
static uint32_t roots(const struct jr_resolver *r, uint32_t fields)
{
    uint32_t found = 0;
    for (unsigned i = 0; i < JR_FIELD_COUNT; i++) {
        const struct jr_cell *cell = &r->cells[i];
        if ((fields & JR_BIT(i)) == 0)
            continue;
        found |= jr_cell_stated(cell) && cell->span.line != 0
                     ? JR_BIT(i)
                     : roots(r, cell->needs);
    }
    return found;
}

/* Take the lowest field out of a set of bits; JR_FIELD_COUNT when empty. */
static unsigned take_first(uint32_t *fields)
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
    unsigned code;
    uint32_t fields; /* as bits */
    bool fact;       /* not decided by the spec alone */
};

/* Of several machines, the one whose facts took part is named. */
static const char *name_target(struct jr_resolver *r, const struct about *about,
                               const char *message)
{
    const char *target = about->fact ? r->options->target : NULL;
    if (message != NULL && target != NULL)
        message = jr_arena_printf(r->arena, "on %s: %s", target, message);
    return message != NULL ? message : "out of memory";
}

/* The second of the stated sides is what the caret points at, the first is
 * what it is held against: sizes come before what divides them. What is stated
 * nowhere is told at the target, or of the file alone. */
__attribute__((format(printf, 3, 0))) static struct jr_diag *report(
    struct jr_resolver *r, const struct about *about, const char *format,
    va_list args)
{
    uint32_t stated = roots(r, about->fields);
    unsigned first = take_first(&stated), second = take_first(&stated);
    unsigned at = second != JR_FIELD_COUNT ? second : first;
    struct jr_span target = r->options->target_at;
    struct jr_span span = target;
    const char *path = NULL;
    if (at != JR_FIELD_COUNT) {
        span = r->cells[at].span;
        path = rows[at].path;
    } else if (target.line == 0) {
        span = (struct jr_span){.source = jr_spec_doc(r->file)->source};
    }
    const char *message =
        name_target(r, about, jr_arena_vprintf(r->arena, format, args));
    bool warns = about->severity == JR_SEVERITY_WARNING;
    struct jr_diag *diag = (warns ? jr_diags_warning : jr_diags_error)(
        r->diags, about->code, span, path, "%s", message);
    if (second != JR_FIELD_COUNT)
        jr_diag_relate(r->diags, diag, r->cells[first].span, "stated here");
    else if (about->fact && path != NULL && target.line != 0)
        jr_diag_relate(r->diags, diag, target, "this target");
    return diag;
}

struct jr_diag *jr_rules_clash(struct jr_resolver *r, unsigned code,
                               uint32_t fields, const char *format, ...)
{
    bool fact = jr_cells_fact(r, fields);
    r->unresolved = r->unresolved || fact;
    r->invalid = r->invalid || !fact;
    const struct about about = {JR_SEVERITY_ERROR, code, fields, fact};
    va_list args;
    va_start(args, format);
    struct jr_diag *diag = report(r, &about, format, args);
    va_end(args);
    return diag;
}

struct jr_diag *jr_rules_refuse(struct jr_resolver *r, unsigned code,
                                uint32_t fields, const char *format, ...)
{
    r->unresolved = true;
    const struct about about = {JR_SEVERITY_ERROR, code, fields, true};
    va_list args;
    va_start(args, format);
    struct jr_diag *diag = report(r, &about, format, args);
    va_end(args);
    return diag;
}

struct jr_diag *jr_rules_warn(struct jr_resolver *r, unsigned code,
                              uint32_t fields, const char *format, ...)
{
    const struct about about = {JR_SEVERITY_WARNING, code, fields, true};
    va_list args;
    va_start(args, format);
    struct jr_diag *diag = report(r, &about, format, args);
    va_end(args);
    return diag;
}

/* Where a stated value took the place of others. */
static void fill_overridden(struct jr_resolver *r, struct jr_provenance *row)
{
    struct jr_span span;
    for (size_t i = 0;; i++) {
        span = jr_spec_overridden(r->file, row->field, i);
        struct jr_span *slot = NULL;
        if (span.line != 0)
            slot = jr_arena_push(r->arena, &row->overridden,
                                 &row->overridden_count, sizeof *slot);
        if (slot == NULL)
            return;
        *slot = span;
    }
}

void jr_provenance_fill(struct jr_resolver *r)
{
    struct jr_resolution *out = r->out;
    out->provenance =
        jr_arena_array(r->arena, JR_FIELD_COUNT, sizeof *out->provenance);
    for (size_t i = 0; i < JR_FIELD_COUNT && out->provenance != NULL; i++) {
        const struct jr_cell *cell = &r->cells[i];
        if (!cell->known)
            continue;
        out->provenance[out->provenance_count++] = (struct jr_provenance){
            .field = rows[i].path,
            .value = value_of(r, cell),
            .origin = cell->origin,
            .span = cell->span,
            .detail = cell->detail,
            .rule = cell->rule,
        };
        if (jr_cell_stated(cell))
            fill_overridden(r, &out->provenance[out->provenance_count - 1]);
    }
}
