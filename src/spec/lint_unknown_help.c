#include "spec/lint_unknown_help.h"

#include <string.h>

#include "base/did_you_mean.h"
#include "base/num.h"
#include "base/utf8.h"
#include "spec/foreign_names.h"
#include "spec/lint_finding.h"
#include "spec/lint_shape_parts.h"
#include "spec/lint_suggest.h"
#include "spec/lint_text.h"
#include "spec/lint_unknown.h"
#include "spec/lint_value.h"
#include "spec/sweep_meant_values.h"

#include "base/banned.h"

#define ASCII_BYTES                                                                                \
    "abcdefghijklmnopqrstuvwxyz"                                                                   \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

enum {
    FEW = 12,       /* keys of a mapping that are listed */
    MOST_NAMES = 64 /* among so many a near one is looked for */
};

struct hint {
    struct jr_lint *lint;
    struct jr_diag *diag;
    const struct jr_unknown *unknown;
    const char *key; /* its text; */
    const char *const *keys;
    const char *group; /* and where it stands */
    const struct jr_node *value;
    const char *dotted; /* NULL; or the mapping that stands before a dot in the
                           key: the rest is `key` */
    bool named;         /* a key of the mapping is meant */
};

const struct jr_node *jr_unknown_value(const struct jr_unknown *unknown)
{
    return jr_doc_get(unknown->mapping, unknown->key->text);
}

const char *jr_lint_group(const struct jr_spec_field *fields)
{
    size_t count, i = 0;
    const struct jr_spec_group *groups = jr_field_groups(&count);
    while (i + 1 < count && groups[i].fields != fields)
        i++;
    return groups[i].path;
}

const char *jr_lint_same_name(const char *name, const char *const *keys)
{
    while (*keys != NULL && !jr_field_is_same_name(name, *keys))
        keys++;
    return *keys;
}

static bool is_scalar_value(const struct hint *hint)
{
    return hint->value != NULL && hint->value->kind == JR_NODE_SCALAR;
}

/* The value as it can be written in braces; "..." where that is no word. */
static const char *bare_value(const struct hint *hint)
{
    const char *text = is_scalar_value(hint) ? jr_lint_source(hint->value) : "...";
    bool bare = jr_lint_is_bare(text) && strlen(text) < MOST_NAMES;
    return bare ? text : "...";
}

/* A name that is meant, as it is to be written in the place of the key. */
static const char *written_name(const struct hint *hint, const char *name)
{
    return hint->dotted == NULL ? name
                                : jr_arena_printf(hint->lint->arena, "%s: {%s: %s}", hint->dotted,
                                                  name, bare_value(hint));
}

/* “version”, or a no-break space before it, or a zero-width one in it */
static bool hint_typography(struct hint *hint)
{
    const struct jr_node *key = hint->unknown->key;
    const char *typed = jr_lint_typed_key(hint->lint, key);
    uint32_t point = 0;
    const char *seen = jr_lint_seen(hint->lint, hint->key, &point);
    if (seen != NULL) {
        jr_diag_help(hint->lint->diags, hint->diag,
                     "an invisible character (U+%04X) is in it: write %s", point, seen);
        jr_lint_fix(hint->lint, hint->diag, key, seen);
        return true;
    }
    if (typed == NULL)
        return false;
    if (jr_lint_typed(hint->lint, key) != NULL)
        jr_diag_help(hint->lint->diags, hint->diag, "these quotes are typographic: write %s",
                     typed);
    else
        jr_diag_help(hint->lint->diags, hint->diag,
                     "it begins with a no-break space (U+00A0): type spaces before %s", typed);
    return true;
}

/* {run:5}: a key that a colon is glued to */
static bool hint_glued(struct hint *hint)
{
    const char *colon = strchr(hint->key, ':');
    const char *name =
        colon == NULL ? NULL
                      : jr_arena_strndup(hint->lint->arena, hint->key, (size_t)(colon - hint->key));
    if (name == NULL || jr_field_get(hint->unknown->fields, name) == NULL)
        return false;
    jr_diag_help(hint->lint->diags, hint->diag, "a space is missing after the ':': %s: %s", name,
                 colon + 1);
    return true;
}

/* World_Size, worldSize, world-size */
static bool hint_same_name(struct hint *hint)
{
    const char *name = jr_lint_same_name(hint->key, hint->keys);
    if (name == NULL)
        return false;
    hint->named = true;
    jr_diag_help(hint->lint->diags, hint->diag, "did you mean '%s'?", written_name(hint, name));
    return true;
}

/* What the member is called here, and where that may be another thing, what it is. */
static bool hint_member(struct hint *hint)
{
    bool sure;
    const char *name = jr_member_meant(hint->group, hint->key, &sure);
    const struct jr_spec_field *field =
        name == NULL ? NULL : jr_field_get(hint->unknown->fields, name);
    if (field == NULL)
        return false;
    hint->named = true;
    if (sure)
        jr_diag_help(hint->lint->diags, hint->diag, "did you mean '%s'?", written_name(hint, name));
    else
        jr_diag_help(hint->lint->diags, hint->diag, "did you mean '%s' (%s)?",
                     written_name(hint, name), field->help);
    return true;
}

/* Whether a value is one of the field's, as it stands. */
static bool fits_field(const struct hint *hint, const struct jr_spec_field *field)
{
    struct jr_diags silent = JR_DIAGS_INIT, *diags = hint->lint->diags;
    const struct jr_node_step at = {.key = field->key};
    if (hint->value == NULL)
        return true;
    hint->lint->diags = &silent;
    (void)jr_lint_value(hint->lint, field->type, hint->value, &at);
    hint->lint->diags = diags;
    bool good = silent.errors == 0;
    jr_diags_release(&silent);
    return good;
}

/* Whether a group is that of a mapping above or below the key's own. */
static bool is_near_group(const struct hint *hint, const char *path)
{
    size_t own = strlen(hint->group), other = strlen(path);
    const char *longer = own > other ? hint->group : path;
    size_t common = own > other ? other : own;
    return common > 0 && strncmp(hint->group, path, common) == 0 && longer[common] == '.';
}

/* The group to which the key belongs, or NULL. A key at the top may belong to any whose field takes
 * its value. */
static const struct jr_spec_group *find_group(const struct hint *hint)
{
    size_t count;
    const struct jr_spec_group *groups = jr_field_groups(&count), *first = NULL;
    for (size_t i = 0; i < count; i++) {
        const char *path = groups[i].path;
        const struct jr_spec_field *field = jr_field_get(groups[i].fields, hint->key);
        if (field == NULL)
            continue;
        if (path[0] == '\0' || is_near_group(hint, path))
            return &groups[i];
        if (first == NULL && hint->group[0] == '\0' && strchr(path, '*') == NULL &&
            strcmp(path, "sweep") != 0 && fits_field(hint, field))
            first = &groups[i];
    }
    return first;
}

/* Where the key belongs, as it is written there. */
static void add_other_place(struct hint *hint, const char *path)
{
    const struct jr_source *source = hint->unknown->key->span.source;
    struct jr_diags *diags = hint->lint->diags;
    if (strchr(path, '*') != NULL)
        jr_diag_help(diags, hint->diag, "it belongs elsewhere: '%s'", path);
    else if (source != NULL && source->option)
        jr_diag_help(diags, hint->diag, "write --set %s=%s", path, bare_value(hint));
    else
        jr_diag_help(diags, hint->diag, "it belongs elsewhere: %s",
                     jr_lint_nested(hint->lint, path, bare_value(hint)));
}

static bool hint_other_place(struct hint *hint)
{
    const struct jr_spec_group *group = find_group(hint);
    if (group == NULL)
        return false;
    const char *path = jr_arena_printf(hint->lint->arena, "%s.%s", group->path, hint->key);
    if (group->path[0] == '\0')
        jr_diag_help(hint->lint->diags, hint->diag, "'%s' belongs at the top of the spec",
                     hint->key);
    else if (path != NULL)
        add_other_place(hint, path);
    return true;
}

static bool hint_near_name(struct hint *hint)
{
    const char *near = jr_did_you_mean(hint->key, hint->keys);
    if (near == NULL)
        return false;
    hint->named = true;
    size_t at = strspn(hint->key, ASCII_BYTES);
    uint32_t point = 0;
    if (hint->key[at] == '\0') {
        jr_diag_help(hint->lint->diags, hint->diag, "did you mean '%s'?", written_name(hint, near));
        return true;
    }
    /* a letter that looks like another cannot be told by looking */
    size_t size = jr_utf8_next(hint->key + at, strlen(hint->key + at), &point);
    jr_diag_help(hint->lint->diags, hint->diag,
                 "did you mean '%s'? the '%.*s' is U+%04X, a letter of another alphabet", near,
                 (int)size, hint->key + at, point);
    return true;
}

/* What type a value says that a field of the results has, or NULL. */
static const char *result_type(const struct hint *hint)
{
    const struct jr_node *node = hint->value;
    const struct jr_spec_field *type = jr_field_find("results.fields.x.type");
    bool sure;
    if (node != NULL && node->kind == JR_NODE_MAPPING)
        node = jr_doc_get(node, "type");
    if (node == NULL || node->kind != JR_NODE_SCALAR)
        return NULL;
    return jr_lint_near_word(node->text, jr_did_you_mean_list(hint->lint, type->type->words),
                             &sure);
}

/* `results: {loss: {type: number}}`, or `results: {accuracy: ">0.9"}` */
static bool hint_result_field(struct hint *hint)
{
    const char *type = strcmp(hint->group, "results") != 0 ? NULL : result_type(hint);
    const char *text = is_scalar_value(hint) ? hint->value->text : "";
    const char *bound = text + strspn(text, "<>= ");
    double value;
    if (type != NULL)
        jr_diag_help(hint->lint->diags, hint->diag, "put it into fields: {%s: {type: %s%s}}",
                     hint->key, type,
                     is_scalar_value(hint) || hint->value->count == 1 ? "" : ", ...");
    else if (strcmp(hint->group, "results") == 0 && bound > text && hint->value->filled == NULL &&
             jr_num_double(bound, &value))
        jr_diag_help(hint->lint->diags, hint->diag,
                     "put it into fields: {%s: {type: number, %s: %s}}", hint->key,
                     *text == '<' ? "max" : "min", bound);
    else
        return false;
    return true;
}

/* `sweep: {lr: [1, 2]}`, or `sweep: {lr: "1,2"}` */
static bool hint_axis(struct hint *hint)
{
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    const struct jr_node *value = hint->value;
    if (strcmp(hint->group, "sweep") != 0 || value == NULL ||
        jr_did_you_mean_near(hint->key, hint->keys))
        return false;
    const char *meant = jr_sweep_meant_values(hint->lint->arena, value);
    if (is_scalar_value(hint) && meant == NULL)
        return false;
    if (value->kind == JR_NODE_SEQUENCE && jr_shape_are_words(value))
        jr_doc_emit_line(&list, value);
    bool variable = strchr(hint->key, '.') == NULL && jr_field_find(hint->key) == NULL;
    jr_diag_help(hint->lint->diags, hint->diag, "put it into axes: {%s%s: %s}",
                 variable ? "vars." : "", hint->key,
                 list.len > 0 && !list.failed ? list.data
                 : meant != NULL              ? meant
                                              : "[...]");
    return true;
}

/* nodeSelector, resources: what a pod has, and is not told here */
static bool hint_pod(struct hint *hint)
{
    const char *instead =
        strcmp(hint->group, "engine.kubernetes") == 0 ? jr_field_pod_otherwise(hint->key) : NULL;
    if (instead != NULL)
        jr_diag_help(hint->lint->diags, hint->diag, "%s", instead);
    return instead != NULL;
}

/* python: train.py, and command: python train.py, at the top */
static bool hint_python(struct hint *hint)
{
    struct jr_diags *diags = hint->lint->diags;
    if (hint->group[0] != '\0' || !is_scalar_value(hint))
        return false;
    const char *words = hint->value->filled != NULL
                            ? NULL
                            : jr_lint_word_list(hint->lint, hint->value->text, false);
    if (strcmp(hint->key, "python") == 0)
        jr_diag_help(diags, hint->diag, "write entrypoint: {python: {script: %s}}",
                     bare_value(hint));
    else if (strcmp(hint->key, "command") != 0)
        return false;
    else if (words != NULL)
        jr_diag_help(diags, hint->diag, "write entrypoint: [%s]", words);
    else
        jr_diag_help(diags, hint->diag, "write entrypoint: {shell: ...}");
    return true;
}

static void run_hints(struct hint *hint);

/* A dotted key whose last part is not a field: what helps with that. */
static void hint_dotted_member(struct hint *hint, const struct jr_spec_field *field,
                               const char *member)
{
    const struct jr_unknown unknown = {field->type->fields, hint->unknown->mapping,
                                       hint->unknown->key, hint->unknown->at};
    struct hint inner = *hint;
    inner.unknown = &unknown;
    inner.key = member;
    inner.keys = jr_lint_keys(hint->lint, unknown.fields);
    inner.group = jr_lint_group(unknown.fields);
    inner.dotted = field->key;
    run_hints(&inner);
}

const char *jr_lint_nested(struct jr_lint *lint, const char *path, const char *value)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    size_t depth = 0;
    for (; *path != '\0'; path++) {
        depth += *path == '.';
        if (*path == '.')
            jr_buf_str(&text, ": {");
        else
            jr_buf_char(&text, *path);
    }
    jr_buf_printf(&text, ": %s", value);
    jr_buf_fill(&text, '}', depth);
    return jr_buf_keep(&text, lint->arena);
}

/* `limits.stack: 8MiB`, at the top */
static bool hint_dotted(struct hint *hint)
{
    const char *dot = strchr(hint->key, '.');
    if (hint->group[0] != '\0' || dot == NULL)
        return false;
    const char *first = jr_arena_strndup(hint->lint->arena, hint->key, (size_t)(dot - hint->key));
    const struct jr_spec_field *field =
        first == NULL ? NULL : jr_field_get(hint->unknown->fields, first);
    hint->named = jr_field_find(hint->key) != NULL;
    if (hint->named)
        jr_diag_help(hint->lint->diags, hint->diag, "write %s",
                     jr_lint_nested(hint->lint, hint->key, bare_value(hint)));
    else if (field != NULL && field->type->kind == JR_KIND_MAP && strchr(dot + 1, '.') == NULL)
        hint_dotted_member(hint, field, dot + 1);
    else
        return false;
    return true;
}

const char *jr_lint_near_variable(const struct jr_node *spec, const char *name)
{
    const struct jr_node *vars = jr_doc_get(spec, "vars");
    const char *names[MOST_NAMES + 1];
    if (vars == NULL || vars->kind != JR_NODE_MAPPING || vars->count > MOST_NAMES)
        return NULL;
    for (size_t i = 0; i < vars->count; i++)
        names[i] = vars->pairs[i].key->text;
    names[vars->count] = NULL;
    return jr_did_you_mean(name, names);
}

/* `--set lr=3`, where `vars` has it or could have it */
static bool hint_set_variable(struct hint *hint)
{
    const struct jr_source *source = hint->unknown->key->span.source;
    struct jr_diags *diags = hint->lint->diags;
    if (hint->group[0] != '\0' || source == NULL || !source->option)
        return false;
    const char *near = jr_lint_near_variable(hint->unknown->mapping, hint->key);
    if (hint->key[0] == '/') {
        jr_diag_help(diags, hint->diag, "a path begins with the name of a field");
        return true;
    }
    if (strcmp(hint->key, "args") == 0)
        jr_diag_help(diags, hint->diag,
                     "write --set 'entrypoint.args=[%s]', or the words behind `--`",
                     bare_value(hint));
    else if (near != NULL)
        jr_diag_help(diags, hint->diag, "did you mean --set vars.%s=%s?", near, bare_value(hint));
    else
        jr_diag_help(diags, hint->diag, "for a value that ${vars.%s} reads: --set +vars.%s=%s",
                     hint->key, hint->key, bare_value(hint));
    return true;
}

/* Whether an unknown key has fields of the top below it. */
static bool hint_whole_job(struct hint *hint)
{
    const struct jr_node *value = hint->value;
    size_t i = 0;
    if (hint->group[0] != '\0' || value == NULL || value->kind != JR_NODE_MAPPING)
        return false;
    while (i < value->count &&
           jr_field_get(hint->unknown->fields, value->pairs[i].key->text) == NULL)
        i++;
    if (i == value->count)
        return false;
    jr_diag_help(hint->lint->diags, hint->diag,
                 "the fields of a job belong at the top of the spec");
    return true;
}

/* A name of the user's own, at the top. */
static bool hint_own_name(struct hint *hint)
{
    struct jr_diags *diags = hint->lint->diags;
    if (hint->group[0] != '\0' || !jr_lint_is_bare(hint->key) || strchr(hint->key, '.') != NULL)
        return false;
    if (is_scalar_value(hint))
        jr_diag_help(diags, hint->diag,
                     "put a value of your own into vars: {%s: %s}, or name a note 'x-%s'",
                     hint->key, bare_value(hint), hint->key);
    else
        jr_diag_help(diags, hint->diag, "name it 'x-%s' if it is a note, which jobrun never reads",
                     hint->key);
    return true;
}

/* What there is, in a small mapping. The `1` of `--set entrypoint.1=x` is none of it. */
static bool hint_known_keys(struct hint *hint)
{
    const struct jr_source *source = hint->unknown->key->span.source;
    if (source != NULL && source->option && hint->group[0] != '\0' &&
        hint->key[strspn(hint->key, "0123456789")] == '\0') {
        jr_diag_help(hint->lint->diags, hint->diag, "an entry of a list is written %s[%s]",
                     hint->group, hint->key);
        return true;
    }
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    size_t count = 0;
    while (hint->keys[count] != NULL)
        count++;
    if (hint->group[0] == '\0' || count == 0 || count > FEW)
        return false;
    for (size_t i = 0; i < count; i++)
        jr_buf_printf(&list, "%s%s", i == 0 ? "" : i + 1 == count ? " and " : ", ", hint->keys[i]);
    if (!list.failed)
        jr_diag_help(hint->lint->diags, hint->diag, "the keys here are %s", list.data);
    return true;
}

static void run_hints(struct hint *hint)
{
    static bool (*const hints[])(struct hint *) = {
        hint_typography, hint_glued,     hint_same_name,    hint_dotted,       hint_member,
        hint_pod,        hint_axis,      hint_python,       hint_result_field, hint_other_place,
        hint_near_name,  hint_whole_job, hint_set_variable, hint_known_keys,   hint_own_name,
    };
    size_t i = 0, count = sizeof hints / sizeof *hints;
    while (i < count && !hints[i](hint))
        i++;
}

bool jr_lint_unknown_help(struct jr_lint *lint, struct jr_diag *diag,
                          const struct jr_unknown *unknown, const char *const *keys)
{
    struct hint hint = {
        .lint = lint,
        .diag = diag,
        .unknown = unknown,
        .key = unknown->key->text,
        .keys = keys,
        .group = jr_lint_group(unknown->fields),
        .value = jr_unknown_value(unknown),
    };
    run_hints(&hint);
    return hint.named;
}
