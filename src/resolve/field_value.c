#include "resolve/rules.h"

#include <stddef.h>
#include <string.h>

#include "resolve/explain.h"

#include "base/banned.h"

enum seed { SEED_NUMBER, SEED_TEXT, SEED_RULE };

#define CELL_ROW(name, path, kind, member)                                     \
    {path, SEED_##kind, offsetof(struct jr_spec, member)},

struct row {
    const char *path;
    enum seed seed;
    size_t offset; /* of the member in jr_spec */
};

static const struct row rows[] = {JR_FIELD_VALUES(CELL_ROW)};

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

void jr_field_value_state(struct jr_resolver *r, struct jr_field_value *out,
                          const char *path)
{
    out->span = jr_spec_where(r->file, path);
    bool set = out->span.source != NULL && out->span.source->name != NULL &&
               strcmp(out->span.source->name, "--set") == 0;
    out->origin = set ? JR_ORIGIN_SET : JR_ORIGIN_SPEC;
    out->rule = NULL;
}

static bool seed_number(struct jr_resolver *r, size_t i,
                        struct jr_field_value *cell)
{
    const char *base = (const char *)r->spec;
    const uint32_t *number;
    memcpy(&number, base + rows[i].offset, sizeof number);
    if (number == NULL)
        return false;
    cell->number = *number;
    return true;
}

static bool seed_text(struct jr_resolver *r, size_t i,
                      struct jr_field_value *cell)
{
    const char *base = (const char *)r->spec;
    memcpy(&cell->text, base + rows[i].offset, sizeof cell->text);
    return cell->text != NULL;
}

void jr_field_values_seed(struct jr_resolver *r)
{
    for (size_t i = 0; i < JR_FIELD_COUNT; i++) {
        struct jr_field_value *cell = &r->cells[i];
        cell->failed = r->options->target != NULL &&
                       jr_spec_is_unknown(r->file, rows[i].path);
        r->unknown = r->unknown || cell->failed;
        if (rows[i].seed == SEED_RULE || cell->failed)
            continue;
        if (rows[i].seed == SEED_NUMBER ? !seed_number(r, i, cell)
                                        : !seed_text(r, i, cell))
            continue;
        jr_field_value_state(r, cell, rows[i].path);
        cell->known = cell->number <= JR_RANKS_MAX;
        cell->failed = !cell->known;
        if (cell->failed)
            jr_rules_clash(r, JR_CODE_WORLD_TOO_LARGE, JR_BIT(i),
                           "%s is %s, more than %u", rows[i].path,
                           jr_field_value_value(r, (enum jr_field)i),
                           JR_RANKS_MAX);
    }
}

static const char *cell_value(struct jr_resolver *r,
                              const struct jr_field_value *cell)
{
    if (cell->text != NULL)
        return cell->text;
    return jr_arena_printf(r->arena, "%u", cell->number);
}

const char *jr_field_value_path(enum jr_field field)
{
    return rows[field].path;
}

static const char *cell_as_written(struct jr_resolver *r, enum jr_field field)
{
    return jr_field_value_stated(&r->cells[field])
               ? jr_spec_written(r->file, r->arena, rows[field].path)
               : NULL;
}

bool jr_field_values_filled(struct jr_resolver *r, uint32_t fields)
{
    for (unsigned i = 0; i < JR_FIELD_COUNT; i++)
        if ((fields & JR_BIT(i)) != 0 &&
            (cell_as_written(r, (enum jr_field)i) != NULL ||
             jr_field_values_filled(r, r->cells[i].needs)))
            return true;
    return false;
}

const char *jr_field_value_value(struct jr_resolver *r, enum jr_field field)
{
    const char *source = cell_as_written(r, field);
    return source != NULL ? source : cell_value(r, &r->cells[field]);
}

/* Where a value comes from that the spec does not state. */
static const char *describe_origin(struct jr_resolver *r,
                                   const struct jr_field_value *cell)
{
    const char *why = cell->detail != NULL ? cell->detail : cell->rule;
    if (cell->origin == JR_ORIGIN_DERIVED || cell->origin == JR_ORIGIN_DEFAULT)
        return cell->rule;
    return jr_arena_printf(r->arena, "%s: %s",
                           jr_explain_origin(r->out, cell->origin), why);
}

const char *jr_field_value_say(struct jr_resolver *r, enum jr_field field)
{
    const struct jr_field_value *cell = &r->cells[field];
    const char *path = rows[field].path;
    if (jr_field_value_stated(cell))
        return jr_arena_printf(r->arena, "%s %s", path,
                               jr_field_value_value(r, field));
    if (jr_field_values_filled(r, cell->needs))
        return jr_arena_printf(r->arena, "%s (%s)", path,
                               describe_origin(r, cell));
    return jr_arena_printf(r->arena, "%s %s (%s)", path, cell_value(r, cell),
                           describe_origin(r, cell));
}

const char *jr_field_value_list(struct jr_resolver *r, char *const *items,
                                size_t count)
{
    struct jr_buf JR_BUF_CLEANUP buf = JR_BUF_INIT;
    for (size_t i = 0; i < count; i++)
        jr_buf_printf(&buf, "%s%s", i == 0 ? "" : ",",
                      items[i] != NULL ? items[i] : "?");
    const char *text = count == 0 ? NULL : jr_buf_keep(&buf, r->arena);
    return text == NULL ? "none" : text;
}

/* A value as it may be written down: a secret is a reference. */
static const char *cell_without_secret(struct jr_resolver *r,
                                       const struct jr_field_value *cell,
                                       const char *path)
{
    const char *text = NULL;
    if (jr_field_value_stated(cell))
        text = jr_spec_kept(r->file, r->arena, path);
    return text != NULL ? text : cell_value(r, cell);
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
        const struct jr_field_value *cell = &r->cells[i];
        if (!cell->known)
            continue;
        out->provenance[out->provenance_count++] = (struct jr_provenance){
            .field = rows[i].path,
            .value = cell_without_secret(r, cell, rows[i].path),
            .origin = cell->origin,
            .span = cell->span,
            .detail = cell->detail,
            .rule = cell->rule,
        };
        if (jr_field_value_stated(cell))
            fill_overridden(r, &out->provenance[out->provenance_count - 1]);
    }
}
