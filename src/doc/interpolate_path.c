#include "doc/interpolate_path.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#include "base/strv.h"
#include "base/utf8.h"
#include "doc/interpolate_help.h"

#include "base/banned.h"

#define ENV     "env:"
#define DEFAULT ":-"

static void report_malformed(const struct jr_reference *r, const char *help)
{
    struct jr_diag *diag = jr_interpolate_error(r->filler, r->filling, JR_CODE_WRONG_REFERENCE,
                                                &r->at, "%s", jr_reference_problem(r));
    if (!jr_reference_help_malformed(r, diag))
        jr_diag_help(r->filler->diags, diag, "%s", help);
}

static bool matches_any_glob(char *const *globs, const char *name)
{
    for (; globs != NULL && *globs != NULL; globs++)
        if (fnmatch(*globs, name, 0) == 0)
            return true;
    return false;
}

static void refuse_unset(const struct jr_reference *r, const char *name, bool readable)
{
    if (r->filler->fill->guess) {
        r->filling->unknown = true;
        return;
    }
    struct jr_diag *diag =
        jr_interpolate_error(r->filler, r->filling, JR_CODE_UNKNOWN_VARIABLE, &r->at,
                             "the variable '%s' is not %s", name, readable ? "set" : "read here");
    if (jr_reference_help_rank_variable(r, name, diag))
        return;
    jr_diag_help(r->filler->diags, diag, "%s it, or give a default: ${env:%s:-...}",
                 readable ? "export" : "pass --allow-env for", name);
}

/* Remember the value of a secret, so that it can be told where it is met. */
static void hide_secret_value(const struct jr_reference *r, const char *name, const char *value)
{
    struct jr_strv *hidden = r->filler->hidden;
    struct jr_arena *arena = r->filler->arena;
    for (size_t i = 0; i < hidden->count; i++)
        if (strcmp(hidden->items[i], value) == 0)
            return;
    if (value[0] == '\0')
        return;
    jr_strv_push(hidden, arena, jr_arena_strdup(arena, value));
    jr_strv_push(r->filler->hidden_names, arena, jr_arena_strdup(arena, name));
}

static void add_env_value(const struct jr_reference *r, const char *name, const char *value)
{
    const struct jr_interpolate *fill = r->filler->fill;
    bool secret = jr_env_matches(fill->secrets, fill->secrets_count, name, strlen(name));
    const char *reference = NULL;
    r->filling->secret = r->filling->secret || secret;
    if (secret)
        hide_secret_value(r, name, value);
    if (secret && r->filling->keep)
        reference = jr_arena_printf(r->filler->arena, "${" ENV "%s}", name);
    if (reference != NULL)
        jr_interpolation_refer(&r->filling->text, reference, strlen(reference));
    else if (jr_utf8_is_text(value))
        jr_interpolate_add(r->filler, r->filling, value, strlen(value));
    else
        (void)jr_interpolate_error(r->filler, r->filling, JR_CODE_UNKNOWN_VARIABLE, &r->at,
                                   "the variable '%s' is not UTF-8", name);
}

/* The end of a variable's name. */
static const char *name_end(const char *name)
{
    if (!isdigit((unsigned char)*name))
        name += strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    return name;
}

/* ${env:NAME} or ${env:NAME:-default} */
static void read_env_reference(const struct jr_reference *r)
{
    const struct jr_interpolate *fill = r->filler->fill;
    const char *start = r->inside + strlen(ENV), *end = name_end(start);
    bool fallback = strncmp(end, DEFAULT, strlen(DEFAULT)) == 0;
    if (end == start || (*end != '\0' && !fallback)) {
        report_malformed(r, "write ${env:NAME}, or ${env:NAME:-default}");
        return;
    }
    const char *name = jr_arena_strndup(r->filler->arena, start, (size_t)(end - start));
    if (name == NULL)
        return;
    bool readable =
        fill->environ != NULL && (fill->allow == NULL || matches_any_glob(fill->allow, name));
    const char *value = readable ? jr_env_get(fill->environ, name) : NULL;
    size_t from = r->at.start + strlen("${") + (size_t)(end - r->inside);
    if (value != NULL) {
        add_env_value(r, name, value);
    } else if (fallback) {
        r->filling->depth++;
        jr_interpolate_part(r->filler, r->filling, from + strlen(DEFAULT), r->at.end - 1);
        r->filling->depth--;
    } else {
        refuse_unset(r, name, readable);
    }
}

static void refuse_unknown(const struct jr_reference *r, const struct jr_location *location)
{
    struct jr_diag *diag = jr_interpolate_error(r->filler, r->filling, JR_CODE_UNKNOWN_REFERENCE,
                                                &r->at, "there is no '%s'", r->shown);
    jr_reference_help_unknown(r, location, diag);
}

/* The names by which the fillings from the first one that is of `node` down to this one were
 * reached, each with an arrow before it. */
static void add_filling_chain(struct jr_buf *out, const struct jr_filling *filling,
                              const struct jr_node *node)
{
    if (filling->node == node)
        return;
    add_filling_chain(out, filling->up, node);
    jr_buf_str(out, " -> ");
    jr_point_text(out, filling->path, strlen(filling->path));
}

/* Whether the scalar is already being filled in: a circle, which is reported.
 */
static bool is_reference_circle(const struct jr_reference *r, const struct jr_node *node)
{
    const struct jr_filling *filling = r->filling;
    while (filling != NULL && filling->node != node)
        filling = filling->up;
    if (filling == NULL)
        return false;
    struct jr_buf chain JR_BUF_CLEANUP = JR_BUF_INIT;
    add_filling_chain(&chain, r->filling, node);
    (void)jr_interpolate_error(r->filler, r->filling, JR_CODE_CIRCULAR_REFERENCE, &r->at,
                               "${...} goes in a circle: %s%s -> %s", r->shown,
                               chain.data == NULL ? "" : chain.data, r->shown);
    return true;
}

static void refuse_missing_value(const struct jr_reference *r, const struct jr_location *location)
{
    struct jr_diags *diags = r->filler->diags;
    struct jr_diag *diag =
        jr_interpolate_error(r->filler, r->filling, JR_CODE_REFERENCE_NOT_KNOWN_YET, &r->at,
                             "'%s' is not known when the spec is read", r->shown);
    if (location->node != NULL)
        jr_diag_relate(diags, diag, location->node->span, "it is MISSING");
    if (!jr_reference_help_per_rank(r, r->inside, diag) && location->node == NULL)
        jr_diag_help(diags, diag, "the spec does not state it");
}

/* Whether a located scalar has a value that can be put in. */
static bool has_known_value(const struct jr_reference *r, const struct jr_location *location)
{
    const struct jr_node *node = location->node;
    bool outside =
        !location->shape.resolvable && node->filled == NULL && strcmp(node->text, "???") == 0;
    bool missing = jr_shape_is_missing(&location->shape, node);
    bool unknown = node->filled != NULL && node->filled->unknown;
    bool told = location->shape.awaited || r->filler->fill->guess;
    if (unknown || outside)
        r->filling->unknown = true;
    if (missing || (outside && !told))
        refuse_missing_value(r, location);
    return !unknown && !outside && !missing;
}

static void add_scalar(const struct jr_reference *r, const struct jr_location *location)
{
    const struct jr_node *node = location->node;
    const char *kept = node->filled == NULL ? NULL : node->filled->kept;
    r->filling->from = node;
    r->filling->secret = r->filling->secret || kept != NULL;
    if (r->filling->keep && kept != NULL)
        jr_interpolation_append(&r->filling->text, kept, strlen(kept));
    else
        jr_interpolate_add(r->filler, r->filling, node->text, node->len);
}

/* Fill in the scalar that is named, and then put it in. */
static void read_scalar_reference(const struct jr_reference *r, const struct jr_location *location)
{
    struct jr_filling filling = {.up = r->filling,
                                 .node = location->node,
                                 .path = r->inside,
                                 .depth = r->filling->depth + 1};
    if (location->node->kind != JR_NODE_SCALAR) {
        jr_reference_help_entry(r, location->node);
        return;
    }
    location->node->read = true;
    if (is_reference_circle(r, location->node))
        return;
    struct jr_shape shape = jr_shape_of(r->filler->fill->shapes, &location->shape, location->node);
    jr_interpolate_scalar(r->filler, &filling, &shape);
    if (has_known_value(r, location))
        add_scalar(r, location);
}

static void read_path_reference(const struct jr_reference *r)
{
    struct jr_location location;
    enum jr_located located = JR_LOCATED_NO_PATH;
    if (strpbrk(r->inside, " \t\n\"'{}:$") == NULL)
        located = jr_locate(&r->filler->locator, r->inside, &location);
    switch (located) {
    case JR_LOCATED:
        read_scalar_reference(r, &location);
        break;
    case JR_LOCATED_NO_PATH:
        report_malformed(r, "write ${vars.NAME}, ${FIELD} or ${env:NAME}; '$${' is a literal '${'");
        break;
    case JR_LOCATED_UNKNOWN:
        refuse_unknown(r, &location);
        break;
    case JR_LOCATED_UNSTATED:
        location.node = NULL;
        refuse_missing_value(r, &location);
        break;
    case JR_LOCATED_OWN:
        jr_diag_help(r->filler->diags,
                     jr_interpolate_error(r->filler, r->filling, JR_CODE_UNKNOWN_REFERENCE, &r->at,
                                          "'%s' is never read", r->shown),
                     "put values that are read into `vars`");
        break;
    }
}

/* Text in the arena, made fit for messages. */
static const char *printable_text(struct jr_arena *arena, const char *text)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_point_text(&out, text, strlen(text));
    return jr_buf_keep(&out, arena);
}

void jr_interpolate_reference(struct jr_interpolator *filler, struct jr_filling *filling,
                              size_t from, size_t to)
{
    const char *inside =
        jr_arena_strndup(filler->arena, filling->node->text + from + 2, to - from - 3);
    if (inside == NULL)
        return;
    const struct jr_reference r = {
        .filler = filler,
        .filling = filling,
        .at = {JR_INTERPOLATION_REFERENCE, from, to},
        .inside = inside,
        .shown = printable_text(filler->arena, inside),
    };
    if (filling->depth >= JR_FILL_MAX_DEPTH)
        (void)jr_interpolate_error(filler, filling, JR_CODE_REFERENCES_TOO_LARGE, &r.at,
                                   "more than 64 values refer to one another");
    else if (strncmp(inside, ENV, strlen(ENV)) == 0)
        read_env_reference(&r);
    else
        read_path_reference(&r);
}
