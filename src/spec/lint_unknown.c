/*
 * A key that is not a field: the name that it has here, where it belongs, or what the keys of its
 * mapping are; and the fix where the name is sure. internal.h has what others use of it.
 */
#include <string.h>
#include <strings.h>

#include "base/did_you_mean.h"
#include "spec/foreign.h"
#include "spec/internal.h"

#include "base/banned.h"

enum {
    MOST_KEYS = 64,  /* With more than this, no key is certain: each is compared with all fields. */
    MOST_NAMES = 64, /* among so many a near one is looked for */
    FEW = 12         /* keys of a mapping that are listed */
};

struct unknown {
    struct jr_lint *lint;
    struct jr_diag *diag;
    const struct jr_spec_field *fields; /* of the mapping */
    const char *const *keys;            /* of them, that may be suggested */
    const char *group;                  /* the path of the mapping; "" for the spec */
    const struct jr_node *mapping, *key, *value;
    const struct jr_node_step *at; /* of the value */
    const char *name;              /* the key's text, or what stands behind the dot in it */
    const char *dotted;            /* NULL; or the mapping that stands before that dot */
};

/* The path of the group that has these fields: "results.fields.*". */
static const char *group_of(const struct jr_spec_field *fields)
{
    size_t count, i = 0;
    const struct jr_spec_group *groups = jr_field_groups(&count);
    while (i + 1 < count && groups[i].fields != fields)
        i++;
    return groups[i].path;
}

static const char *const *keys_of(struct jr_lint *lint, const struct jr_spec_field *fields)
{
    static const char *const none[] = {NULL};
    size_t count = 0, kept = 0;
    while (fields[count].key != NULL)
        count++;
    const char **keys = jr_arena_array(lint->arena, count + 1, sizeof *keys);
    if (keys == NULL)
        return none;
    for (size_t i = 0; i < count; i++)
        if (fields[i].since != NULL)
            keys[kept++] = fields[i].key;
    return keys;
}

/* The one of the keys that is `name` except for case, dashes and underscores, or NULL. */
static const char *find_same_name(const char *name, const char *const *keys)
{
    while (*keys != NULL && !jr_field_is_same_name(name, *keys))
        keys++;
    return *keys;
}

static bool is_scalar_value(const struct unknown *u)
{
    return u->value != NULL && u->value->kind == JR_NODE_SCALAR;
}

static bool is_option(const struct unknown *u)
{
    return u->key->span.source != NULL && u->key->span.source->option;
}

/* The value as it can be written in braces; "..." where that is no word. */
static const char *bare_value(const struct unknown *u)
{
    const char *text = is_scalar_value(u) ? jr_lint_source(u->value) : "...";
    return jr_lint_is_bare(text) && strlen(text) < MOST_NAMES ? text : "...";
}

/* How a value stands in a spec: "limits: {stack: 8MiB}" of the path limits.stack. */
static const char *nested(struct jr_lint *lint, const char *path, const char *value)
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

/* Whether a key of a mapping within the spec is what others call one of its members. */
static bool is_member(const struct unknown *u, const char *key)
{
    bool sure;
    return u->at->up != NULL && jr_foreign_meant(u->group, key, &sure) != NULL;
}

/* The only field of the mapping that a key can be, or NULL. */
static const char *find_meant_field(const struct unknown *u, const char *key)
{
    bool sure, same;
    const char *path = jr_foreign_meant("/", key, &same);
    if (path != NULL && !is_member(u, key)) {
        size_t len = strlen(u->group);
        if (!same)
            return NULL;
        if (len > 0 && (strncmp(path, u->group, len) != 0 || path[len] != '.'))
            return NULL;
        path += len > 0 ? len + 1 : 0;
        return jr_field_get(u->fields, path) == NULL ? NULL : path;
    }
    const char *name = find_same_name(key, u->keys);
    if (name != NULL)
        return name;
    name = jr_foreign_meant(u->group, key, &sure);
    if (name != NULL)
        return sure ? name : NULL;
    return jr_did_you_mean_near(key, u->keys) ? jr_did_you_mean(key, u->keys) : NULL;
}

/* Write the only name that the key can have, unless another key of this text is that field too, or
 * may be meant so, or the text puts the key's value in somewhere, by its name. */
static void fix_sure_name(const struct unknown *u)
{
    const char *name = find_meant_field(u, u->key->text);
    const char *mark = jr_arena_printf(u->lint->arena, "${%s", u->key->text);
    const char *text = u->key->span.source->text;
    if (name == NULL || u->mapping->count > MOST_KEYS || mark == NULL || text == NULL ||
        strstr(text, mark) != NULL)
        return;
    for (size_t i = 0; i < u->mapping->count; i++) {
        const struct jr_node *other = u->mapping->pairs[i].key;
        if (other == u->key || other->span.source != u->key->span.source)
            continue;
        const char *field = jr_field_get(u->fields, other->text) != NULL
                                ? other->text
                                : find_meant_field(u, other->text);
        if (field != NULL && strcmp(field, name) == 0)
            return;
    }
    jr_lint_fix_text(u->lint, u->diag, u->key, name);
}

/* Whether a value is of the kind that the field wants, where a word of habit may have any. */
static bool takes_kind(const char *field, const struct jr_node *value)
{
    if (strcmp(field, "vars") == 0)
        return value != NULL && value->kind == JR_NODE_MAPPING;
    if (strcmp(field, "description") == 0)
        return value != NULL && value->kind == JR_NODE_SCALAR;
    if (strcmp(field, "extends") != 0 || value == NULL || value->kind != JR_NODE_MAPPING)
        return true;
    /* one of names to files, and no mapping for anchors */
    const struct jr_node *first = value->count > 0 ? value->pairs[0].value : NULL;
    return first != NULL && first->kind == JR_NODE_SCALAR &&
           (strstr(first->text, ".yaml") != NULL || strstr(first->text, ".yml") != NULL);
}

/* The field that another launcher's word is, here: `cmd` within the entrypoint is the command, and
 * a number of GPUs is how many ranks a node has. */
static const char *foreign_name(const struct unknown *u)
{
    bool sure;
    const char *foreign = jr_foreign_meant("/", u->name, &sure);
    if (foreign == NULL || is_member(u, u->name))
        return NULL;
    if (u->at->up != NULL && strcmp(foreign, jr_lint_path(u->lint, u->at->up)) == 0) {
        const struct jr_spec_field *field = jr_field_find(foreign);
        return field->type->shorthand != NULL ? field->type->shorthand : foreign;
    }
    if (!takes_kind(foreign, u->value))
        return NULL;
    bool count = strcmp(foreign, "devices") == 0 && is_scalar_value(u) &&
                 jr_scalar_type(u->value) == JR_SCALAR_INT;
    return count ? "local_world_size" : foreign;
}

/* Say what a field is called here. */
static void help_with_foreign(const struct unknown *u, const char *path)
{
    struct jr_lint *lint = u->lint;
    bool top = u->at->up == NULL;
    bool written =
        is_scalar_value(u) && u->value->plain && jr_lint_is_bare(jr_lint_source(u->value));
    const char *text = written ? jr_lint_said(lint, u->value) : "...";
    const char *meant =
        written && u->value->filled == NULL ? jr_foreign_value(lint->arena, u->name, text) : NULL;
    if (meant != NULL)
        text = meant;
    if (top && written && is_option(u))
        jr_diag_help(lint->diags, u->diag, "jobrun calls it '%s': --set %s=%s", path, path, text);
    else if (top && (strchr(path, '.') != NULL || meant != NULL))
        jr_diag_help(lint->diags, u->diag, "jobrun calls it '%s': %s", path,
                     nested(lint, path, text));
    else
        jr_diag_help(lint->diags, u->diag, "jobrun calls it '%s'%s", path,
                     top || strchr(path, '.') != NULL || jr_field_find(path) == NULL
                         ? ""
                         : ", at the top of the spec");
}

/* Offer a key of the mapping, as it is to be written in the place of this one; `why` may be NULL.
 */
static void offer_name(const struct unknown *u, const char *name, const char *why)
{
    const char *written = u->dotted == NULL ? name
                                            : jr_arena_printf(u->lint->arena, "%s: {%s: %s}",
                                                              u->dotted, name, bare_value(u));
    if (why == NULL)
        jr_diag_help(u->lint->diags, u->diag, "did you mean '%s'?", written);
    else
        jr_diag_help(u->lint->diags, u->diag, "did you mean '%s' (%s)?", written, why);
}

/* A member by another name: where that may be another thing, with what it is. */
static bool help_with_member(const struct unknown *u)
{
    bool sure;
    const char *name = jr_foreign_meant(u->group, u->name, &sure);
    const struct jr_spec_field *field = name == NULL ? NULL : jr_field_get(u->fields, name);
    if (field != NULL)
        offer_name(u, name, sure ? NULL : field->help);
    return field != NULL;
}

/* `sweep: {method: grid}`, which axes are without a word, or a sampler */
static bool help_with_method(const struct unknown *u)
{
    if (strcmp(u->group, "sweep") == 0 && strcmp(u->name, "sampler") == 0) {
        jr_diag_help(u->lint->diags, u->diag,
                     "leave it out: what proposes values is a Python loop over jobrun.run(spec, "
                     "set), see docs/sweeps.md");
        return true;
    }
    if (strcmp(u->group, "sweep") != 0 || !is_scalar_value(u) ||
        (strcmp(u->name, "method") != 0 && strcmp(u->name, "strategy") != 0 &&
         strcmp(u->name, "algorithm") != 0))
        return false;
    bool grid = strncasecmp(u->value->text, "grid", strlen("grid")) == 0;
    bool random = strncasecmp(u->value->text, "random", strlen("random")) == 0;
    if (grid)
        jr_diag_help(u->lint->diags, u->diag,
                     "leave it out: axes stand for every combination of their values");
    if (random)
        jr_diag_help(u->lint->diags, u->diag,
                     "leave it out: axes such as {uniform: [0, 1]} are drawn, as often as samples "
                     "says");
    return grid || random;
}

/* `sweep: {lr: [1, 2]}`, or `sweep: {lr: "1,2"}` */
static bool help_with_axis(const struct unknown *u)
{
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    const char *meant = NULL;
    if (strcmp(u->group, "sweep") != 0 || u->value == NULL ||
        jr_did_you_mean_near(u->name, u->keys))
        return false;
    if (u->value->kind == JR_NODE_SEQUENCE)
        jr_doc_emit_line(&list, u->value);
    else
        meant = jr_sweep_meant_values(u->lint->arena, u->value);
    if (list.failed || (is_scalar_value(u) && meant == NULL))
        return false;
    bool variable = strchr(u->name, '.') == NULL && jr_field_find(u->name) == NULL;
    jr_diag_help(u->lint->diags, u->diag, "put it into axes: {%s%s: %s}", variable ? "vars." : "",
                 u->name,
                 list.len > 0    ? list.data
                 : meant != NULL ? meant
                                 : "[...]");
    return true;
}

/* python: train.py, and command: python train.py, at the top */
static bool help_with_command(const struct unknown *u)
{
    struct jr_diags *diags = u->lint->diags;
    if (u->group[0] != '\0' || !is_scalar_value(u))
        return false;
    if (strcmp(u->name, "python") == 0) {
        jr_diag_help(diags, u->diag, "write " JR_SETTING("entrypoint.python.script", "%s"),
                     bare_value(u));
        return true;
    }
    if (strcmp(u->name, "command") != 0)
        return false;
    const char *words =
        u->value->filled != NULL ? NULL : jr_lint_word_list(u->lint, u->value->text, false);
    if (words != NULL)
        jr_diag_help(diags, u->diag, "write " JR_SETTING("entrypoint", "[%s]"), words);
    else
        jr_diag_help(diags, u->diag, "write " JR_SETTING("entrypoint.shell", "..."));
    return true;
}

/* Whether the value is one of the field's, as it stands. */
static bool fits_field(const struct unknown *u, const struct jr_spec_field *field)
{
    struct jr_diags silent = JR_DIAGS_INIT, *diags = u->lint->diags;
    const struct jr_node_step at = {.key = field->key};
    if (u->value == NULL)
        return true;
    u->lint->diags = &silent;
    (void)jr_lint_value(u->lint, field->type, u->value, &at);
    u->lint->diags = diags;
    bool good = silent.errors == 0;
    jr_diags_release(&silent);
    return good;
}

/* Whether a group is that of a mapping above or below the key's own. */
static bool is_near_group(const struct unknown *u, const char *path)
{
    size_t own = strlen(u->group), other = strlen(path);
    const char *longer = own > other ? u->group : path;
    size_t common = own > other ? other : own;
    return common > 0 && strncmp(u->group, path, common) == 0 && longer[common] == '.';
}

/* The key of another mapping: of one above or below this one or, at the top, of any whose field
 * takes the value. */
static bool help_with_place(const struct unknown *u)
{
    size_t count;
    const struct jr_spec_group *groups = jr_field_groups(&count), *found = NULL;
    for (size_t i = 0; i < count; i++) {
        const char *path = groups[i].path;
        const struct jr_spec_field *field = jr_field_get(groups[i].fields, u->name);
        if (field == NULL)
            continue;
        if (path[0] == '\0' || is_near_group(u, path)) {
            found = &groups[i];
            break;
        }
        if (found == NULL && u->group[0] == '\0' && strchr(path, '*') == NULL &&
            strcmp(path, "sweep") != 0 && fits_field(u, field))
            found = &groups[i];
    }
    if (found == NULL)
        return false;
    struct jr_diags *diags = u->lint->diags;
    const char *path = jr_arena_printf(u->lint->arena, "%s.%s", found->path, u->name);
    if (found->path[0] == '\0')
        jr_diag_help(diags, u->diag, "'%s' belongs at the top of the spec", u->name);
    else if (path != NULL && strchr(path, '*') != NULL)
        jr_diag_help(diags, u->diag, "it belongs elsewhere: '%s'", path);
    else if (path != NULL && is_option(u))
        jr_diag_help(diags, u->diag, "write --set %s=%s", path, bare_value(u));
    else if (path != NULL)
        jr_diag_help(diags, u->diag, "it belongs elsewhere: %s",
                     nested(u->lint, path, bare_value(u)));
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
static bool help_with_variable(const struct unknown *u)
{
    struct jr_diags *diags = u->lint->diags;
    if (u->group[0] != '\0' || !is_option(u))
        return false;
    const char *near = jr_lint_near_variable(u->mapping, u->name);
    if (u->name[0] == '/')
        jr_diag_help(diags, u->diag, "a path begins with the name of a field");
    else if (strcmp(u->name, "args") == 0)
        jr_diag_help(diags, u->diag, "write --set 'entrypoint.args=[%s]', or the words behind `--`",
                     bare_value(u));
    else if (near != NULL)
        jr_diag_help(diags, u->diag, "did you mean --set vars.%s=%s?", near, bare_value(u));
    else
        jr_diag_help(diags, u->diag, "for a value that ${vars.%s} reads: --set +vars.%s=%s",
                     u->name, u->name, bare_value(u));
    return true;
}

/* What there is, in a small mapping; at the top, where a value of the user's own goes. */
static void help_with_known(const struct unknown *u)
{
    struct jr_diags *diags = u->lint->diags;
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    size_t count = 0;
    while (u->keys[count] != NULL)
        count++;
    bool top = u->group[0] == '\0';
    if (top && (!jr_lint_is_bare(u->name) || strchr(u->name, '.') != NULL))
        return;
    if (top && is_scalar_value(u))
        jr_diag_help(diags, u->diag,
                     "put a value of your own into vars: {%s: %s}, or name a note 'x-%s'", u->name,
                     bare_value(u), u->name);
    else if (top)
        jr_diag_help(diags, u->diag, "name it 'x-%s' if it is a note, which jobrun never reads",
                     u->name);
    if (top || count == 0 || count > FEW)
        return;
    for (size_t i = 0; i < count; i++)
        jr_buf_printf(&list, "%s%s", i == 0 ? "" : i + 1 == count ? " and " : ", ", u->keys[i]);
    if (!list.failed)
        jr_diag_help(diags, u->diag, "the keys here are %s", list.data);
}

/* The best help there is for a key. Returns whether one of the mapping may be meant. */
static bool help_with_key(const struct unknown *u)
{
    struct jr_diags *diags = u->lint->diags;
    const char *colon = strchr(u->name, ':'), *dot = strchr(u->name, '.');
    const char *glued =
        colon == NULL ? NULL : jr_arena_strndup(u->lint->arena, u->name, (size_t)(colon - u->name));
    if (glued != NULL && jr_field_get(u->fields, glued) != NULL) { /* {run:5} */
        jr_diag_help(diags, u->diag, "a space is missing after the ':': %s: %s", glued, colon + 1);
        return false;
    }
    const char *same = find_same_name(u->name, u->keys); /* World_Size, worldSize, world-size */
    if (same != NULL) {
        offer_name(u, same, NULL);
        return true;
    }
    if (u->group[0] == '\0' && dot != NULL) { /* limits.stack: 8MiB */
        const char *first = jr_arena_strndup(u->lint->arena, u->name, (size_t)(dot - u->name));
        const struct jr_spec_field *field = first == NULL ? NULL : jr_field_get(u->fields, first);
        if (jr_field_find(u->name) != NULL) {
            jr_diag_help(diags, u->diag, "write %s", nested(u->lint, u->name, bare_value(u)));
            return true;
        }
        if (field != NULL && field->type->kind == JR_KIND_MAP && strchr(dot + 1, '.') == NULL) {
            struct unknown inner = *u;
            inner.name = dot + 1;
            inner.dotted = field->key;
            inner.fields = field->type->fields;
            inner.keys = keys_of(u->lint, inner.fields);
            inner.group = group_of(inner.fields);
            (void)help_with_key(&inner);
            return false;
        }
    }
    if (help_with_method(u))
        return false;
    if (help_with_member(u))
        return true;
    const char *pod = jr_foreign_instead(u->group, u->name);
    if (pod != NULL)
        jr_diag_help_text(diags, u->diag, pod);
    if (pod != NULL || help_with_axis(u) || help_with_command(u) || help_with_place(u))
        return false;
    const char *near = jr_did_you_mean(u->name, u->keys);
    if (near != NULL)
        offer_name(u, near, NULL);
    else if (!help_with_variable(u))
        help_with_known(u);
    return near != NULL;
}

void jr_lint_unknown(struct jr_lint *lint, const struct jr_spec_field *fields,
                     const struct jr_node *mapping, const struct jr_pair *pair,
                     const struct jr_node_step *at)
{
    struct unknown u = {.lint = lint,
                        .fields = fields,
                        .keys = keys_of(lint, fields),
                        .group = group_of(fields),
                        .mapping = mapping,
                        .key = pair->key,
                        .value = pair->value,
                        .at = at,
                        .name = pair->key->text};
    const char *path = jr_lint_path(lint, at);
    const char *foreign = foreign_name(&u);
    bool top = at->up == NULL;
    const char *needless = jr_foreign_instead(top ? "-" : "*", u.name);
    const char *otherwise =
        top && u.value->kind != JR_NODE_SCALAR ? jr_foreign_instead("{", u.name) : NULL;
    if (foreign != NULL || needless != NULL || otherwise != NULL)
        u.diag = jr_lint_error(lint, JR_CODE_FOREIGN_FIELD, u.key->span, at,
                               "'%s' is a field of another launcher", path);
    else
        u.diag =
            jr_lint_error(lint, JR_CODE_UNKNOWN_FIELD, u.key->span, at, "unknown field '%s'", path);
    if (u.diag == &lint->diags->scratch)
        return;
    if (needless != NULL) {
        jr_diag_help_text(lint->diags, u.diag,
                          jr_arena_printf(lint->arena, "leave it out: %s", needless));
    } else if (otherwise != NULL) {
        jr_diag_help_text(lint->diags, u.diag, otherwise);
    } else if (foreign != NULL) {
        help_with_foreign(&u, foreign);
        fix_sure_name(&u);
    } else if (help_with_key(&u)) {
        fix_sure_name(&u);
    }
}
