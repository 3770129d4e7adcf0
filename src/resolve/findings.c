/* What the rules find wrong, told at the stated values that it comes from. */
#include "resolve/rules.h"

#include <stdarg.h>

#include "doc/doc.h"

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
static const char *name_place(struct jr_resolver *r, const struct about *about,
                              const char *message)
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

/* The caret points at the second of the stated sides; the others are what it is
 * compared with. Sizes come before their divisors, but rank_start must follow
 * from all others. A contradiction that has no position is reported at the
 * target, or for the file as a whole. */
__attribute__((format(printf, 3, 0))) static struct jr_diag *report_at_roots(
    struct jr_resolver *r, const struct about *about, const char *format,
    va_list args)
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
    const char *message =
        name_place(r, about, jr_arena_vprintf(r->arena, format, args));
    bool warns = about->severity == JR_SEVERITY_WARNING;
    struct jr_diag *diag = (warns ? jr_diags_warning : jr_diags_error)(
        r->diags, about->code, span, path, "%s", message);
    if (second == JR_FIELD_COUNT && about->fact && path != NULL &&
        target.line != 0)
        jr_diag_relate(r->diags, diag, target, "this target");
    for (unsigned other; (other = take_first_field(&stated)) != JR_FIELD_COUNT;)
        if (other != at)
            jr_diag_relate(r->diags, diag, r->cells[other].span, "stated here");
    return diag;
}

struct jr_diag *jr_rules_clash(struct jr_resolver *r, enum jr_diag_code code,
                               uint32_t fields, const char *format, ...)
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

struct jr_diag *jr_rules_refuse(struct jr_resolver *r, enum jr_diag_code code,
                                uint32_t fields, const char *format, ...)
{
    r->unresolved = true;
    const struct about about = {JR_SEVERITY_ERROR, code, fields, true,
                                own_place(r)};
    va_list args;
    va_start(args, format);
    struct jr_diag *diag = report_at_roots(r, &about, format, args);
    va_end(args);
    return diag;
}

struct jr_diag *jr_rules_warn(struct jr_resolver *r, enum jr_diag_code code,
                              uint32_t fields, const char *format, ...)
{
    const struct about about = {JR_SEVERITY_WARNING, code, fields, true,
                                own_place(r)};
    va_list args;
    va_start(args, format);
    struct jr_diag *diag = report_at_roots(r, &about, format, args);
    va_end(args);
    return diag;
}
