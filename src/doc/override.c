#include "doc/override.h"

#include <stdarg.h>
#include <string.h>

#include "base/did_you_mean.h"
#include "doc/joined_settings.h"
#include "doc/merge.h"
#include "doc/node.h"
#include "doc/node_path.h"
#include "doc/setting_slip.h"

#include "base/banned.h"

#define NAME "--set"

enum { MOST_NAMES = 256 }; /* among so many a near one is looked for */

struct override {
    struct jr_arena *arena;
    const struct jr_shapes *shapes;
    struct jr_source *source;
    const struct jr_stated_value *stated; /* instead of it; NULL: an option */
    const char *path;                     /* not followed by =VALUE; after the plus, if any */
    bool adds;                            /* there is a plus before the path */
    struct jr_node *value;
    struct jr_diags *diags;
};

static struct jr_span option_span(const struct override *o, const char *from, const char *to)
{
    const struct jr_stated_value *stated = o->stated;
    if (stated != NULL)
        return jr_point_part(stated->key, stated->at + (size_t)(from - o->path),
                             stated->at + (size_t)(to - o->path));
    return jr_point_bytes(o->source, o->adds + (size_t)(from - o->path),
                          o->adds + (size_t)(to - o->path));
}

static struct jr_diag *report_override(const struct override *o, const char *from, const char *to,
                                       const char *message)
{
    struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_escaped(&path, o->path, (size_t)(to - o->path));
    return jr_diags_error(o->diags, JR_CODE_WRONG_OVERRIDE, option_span(o, from, to), path.data,
                          "%s", message == NULL ? "out of memory" : message);
}

__attribute__((format(printf, 4, 5))) static struct jr_node *refuse_override(
    const struct override *o, const char *from, const char *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = jr_arena_vprintf(o->arena, format, args);
    va_end(args);
    (void)report_override(o, from, to, message);
    return NULL;
}

/* Whether the step leads to a form of the mapping that is not the one it has:
 * then it is to be another mapping. */
static bool is_other_form(const struct override *o, const struct jr_shape *shape,
                          const struct jr_node *mapping, const struct jr_path_step *step)
{
    const char *form = jr_shape_form(shape, mapping);
    char *key = jr_arena_strndup(o->arena, step->key, step->len);
    if (form == NULL || key == NULL || strcmp(form, key) == 0)
        return false;
    const char *const *other = shape->forms;
    while (*other != NULL && strcmp(*other, key) != 0)
        other++;
    return *other != NULL;
}

/* The node from which a step continues: expanded from its short form, newly created, or unchanged;
 * NULL if the step leads nowhere. */
static struct jr_node *prepare_step(const struct override *o, const struct jr_shape *shape,
                                    struct jr_node *node, const struct jr_path_step *step)
{
    struct jr_node *mapping = NULL;
    if (node != NULL && step->key != NULL)
        mapping = jr_shape_unfold(o->arena, shape, node);
    if (mapping != NULL)
        node = mapping;
    else if (node != NULL && jr_shape_is_missing(shape, node))
        node = NULL;
    node = jr_path_enter(o->arena, node, step);
    if (node != NULL && step->key != NULL && is_other_form(o, shape, node, step))
        node = jr_node_mapping(o->arena);
    return node;
}

/* Refuse an index that leaves entries out between the last one and itself, or a name where there
 * are none: hosts.0 is meant for hosts[0]. */
static struct jr_node *refuse_entry(const struct override *o, const struct jr_node *node,
                                    const char *before, const char *start, const char *end)
{
    bool named = *start == '.';
    bool list = node != NULL && node->kind == JR_NODE_SEQUENCE;
    size_t len = (size_t)(end - start) - 1, count = list ? node->count : 0;
    struct jr_diag *diag =
        report_override(o, start, end,
                        named ? jr_arena_printf(o->arena, "'%s' has no fields in it", before)
                              : jr_arena_printf(o->arena, "'%s' has %zu entr%s", before, count,
                                                count == 1 ? "y" : "ies"));
    if (!named && count < 2)
        jr_diag_help(o->diags, diag, "%s[%zu] adds the %s", before, count,
                     count == 0 ? "first" : "second");
    else if (!named)
        jr_diag_help(o->diags, diag, "they are %s[0] to %s[%zu], and %s[%zu] adds one", before,
                     before, count - 1, before, count);
    else if (list && len > 0 && strspn(start + 1, "0123456789") >= len)
        jr_diag_help(o->diags, diag, "did you mean %s[%.*s]?", before, (int)len, start + 1);
    return NULL;
}

/* Say why nothing can be put at the step from `start` to `end`. */
static struct jr_node *refuse_step(const struct override *o, const struct jr_node *node,
                                   const char *start, const char *end)
{
    const char *before = jr_arena_strndup(o->arena, o->path, (size_t)(start - o->path));
    if (before == NULL || before[0] == '\0')
        return refuse_override(o, start, end, "the spec is not a mapping of fields");
    if (*start == '.')
        return refuse_entry(o, node, before, start, end);
    if (node == NULL || node->kind != JR_NODE_SEQUENCE)
        return refuse_override(o, start, end, "'%s' is not a list", before);
    return refuse_entry(o, node, before, start, end);
}

/* Give what was made on the way the position of the step. Without memory for its first pair it has
 * none. */
static void place_made_node(const struct override *o, struct jr_node *node, const char *start,
                            const char *end)
{
    struct jr_span span = option_span(o, start + (*start == '.'), end);
    if (node->span.line == 0)
        node->span = span;
    if (node->kind == JR_NODE_MAPPING && node->count > 0 &&
        node->pairs[node->count - 1].key->span.line == 0)
        node->pairs[node->count - 1].key->span = span;
}

/* The name in a mapping that a name from the command line may be meant for. */
static const char *near_declared_name(const struct jr_node *mapping, const char *name)
{
    const char *names[MOST_NAMES + 1];
    size_t count = 0;
    if (mapping == NULL || mapping->kind != JR_NODE_MAPPING || mapping->count > MOST_NAMES)
        return NULL;
    for (size_t i = 0; i < mapping->count; i++)
        names[count++] = mapping->pairs[i].key->text;
    names[count] = NULL;
    return jr_did_you_mean(name, names);
}

/* How an entry comes to be declared. */
static void help_with_declaring(const struct override *o, struct jr_diag *diag, const char *in,
                                const char *name, const char *near)
{
    if (near != NULL && o->stated != NULL)
        jr_diag_help(o->diags, diag, "did you mean '%s.%s'?", in, near);
    else if (near != NULL)
        jr_diag_help(o->diags, diag, "did you mean '%s.%s'? --set +%s.%s=VALUE adds a new one", in,
                     near, in, name);
    else if (o->stated != NULL)
        jr_diag_help(o->diags, diag, "declare it: " JR_SETTING("%s.%s", "VALUE"), in, name);
    else
        jr_diag_help(o->diags, diag, "--set +%s.%s=VALUE adds it", in, name);
}

/* Refuse an entry, at `span`, of the mapping at `in` (as "vars"), which has none of that name. */
static void refuse_undeclared(const struct override *o, struct jr_span span, const char *in,
                              const struct jr_node *mapping, const char *name)
{
    struct jr_buf shown JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_point_text(&shown, name, strlen(name));
    jr_buf_printf(&path, "%s.%s", in, shown.failed ? "" : shown.data);
    const char *whole = path.failed ? in : path.data;
    struct jr_diag *diag = jr_diags_error(o->diags, JR_CODE_UNDECLARED_ENTRY, span, whole,
                                          "'%s' is not declared in the spec", whole);
    help_with_declaring(o, diag, in, shown.failed ? "" : shown.data,
                        near_declared_name(mapping, name));
}

static bool has_entry(const struct jr_node *mapping, const char *key)
{
    return mapping != NULL && mapping->kind == JR_NODE_MAPPING && jr_doc_pair(mapping, key) != NULL;
}

/* Refuse the entry that the step from `start` to `end` leads to. */
static struct jr_node *refuse_step_entry(const struct override *o, const struct jr_node *mapping,
                                         const char *start, const char *end, const char *key)
{
    const char *in = jr_arena_strndup(o->arena, o->path, (size_t)(start - o->path));
    if (in != NULL)
        refuse_undeclared(o, option_span(o, start + (*start == '.'), end), in, mapping, key);
    return NULL;
}

/* Whether a mapping has all entries of one that is set in its place, or takes new ones. */
static bool are_entries_declared(const struct override *o, const struct jr_shape *shape,
                                 const struct jr_node *mapping)
{
    bool good = true;
    if (!shape->declared || o->adds || o->value->kind != JR_NODE_MAPPING)
        return true;
    for (size_t i = 0; i < o->value->count; i++) {
        const struct jr_node *key = o->value->pairs[i].key;
        if (has_entry(mapping, key->text))
            continue;
        refuse_undeclared(o, key->span, o->path, mapping, key->text);
        good = false;
    }
    return good;
}

/* Refuse what is neither .NAME nor [N]. */
static struct jr_node *refuse_rest(const struct override *o, const char *start)
{
    struct jr_diag *diag =
        report_override(o, start, start + strlen(start),
                        jr_arena_printf(o->arena, "a path cannot continue with '%s'", start));
    jr_diag_help(o->diags, diag,
                 "an entry of a list is [0], [1] and so on, and a name follows a single '.'");
    return NULL;
}

/* Return the replacement for `node` after the value was put where the rest of the path, from `at`,
 * leads; NULL after a finding. Children are handled first, so that a path that does not fit changes
 * nothing. */
static struct jr_node *put_override(const struct override *o, const struct jr_shape *shape,
                                    struct jr_node *node, const char *at)
{
    struct jr_path_step step;
    const char *start = at;
    if (*at == '\0')
        return are_entries_declared(o, shape, node) ? jr_merge_replace(o->arena, node, o->value)
                                                    : NULL;
    if (!jr_path_next(&at, o->path, &step))
        return refuse_rest(o, start);
    struct jr_node *in = prepare_step(o, shape, node, &step);
    if (in == NULL)
        return refuse_step(o, node, start, at);
    const char *key = NULL;
    if (step.key != NULL)
        key = jr_arena_strndup(o->arena, step.key, step.len);
    struct jr_shape child = o->shapes->child(shape, key);
    if (shape->declared && !o->adds && key != NULL && !has_entry(node, key))
        return refuse_step_entry(o, node, start, at, key);
    if (child.early)
        return refuse_override(o, start, at,
                               "'%s' is read before --set; %s.NAME=PATH chooses a named parent",
                               key, key);
    struct jr_node **slot = jr_path_follow(in, &step);
    struct jr_node *under = put_override(o, &child, slot == NULL ? NULL : *slot, at);
    if (under == NULL)
        return NULL;
    jr_path_attach(o->arena, in, &step, under);
    place_made_node(o, in, start, at);
    return in;
}

/* The depth of a tree is bounded, so that walks through it are. */
static bool is_too_deep(const char *path)
{
    size_t steps = 1;
    for (; *path != '\0'; path++)
        steps += *path == '.' || *path == '[';
    return steps > JR_DOC_MAX_DEPTH;
}

/* Whether the path leads into a mapping whose keys are the user's own, to which entries can be
 * added. */
static bool leads_into_open(const struct override *o)
{
    struct jr_shape shape = o->shapes->root;
    struct jr_path_step step;
    for (const char *at = o->path; *at != '\0';) {
        if (!jr_path_next(&at, o->path, &step))
            return true; /* malformed, which is reported as such */
        const char *key = NULL;
        if (step.key != NULL)
            key = jr_arena_strndup(o->arena, step.key, step.len);
        shape = o->shapes->child(&shape, key);
        if (shape.open)
            return true;
    }
    return false;
}

/* PATH: VALUE, --PATH=VALUE or PATH alone: what may have been meant. */
static void refuse_unvalued(const struct override *o, const char *end)
{
    struct jr_diag *diag = report_override(o, o->path, end, "--set wants PATH=VALUE");
    const char *path = o->path + strspn(o->path, "-");
    size_t len = strcspn(path, ": ");
    const char *value = path + len + strspn(path + len, ": ");
    if (len > 0)
        jr_diag_help(o->diags, diag, "write --set %.*s=%s", (int)len, path,
                     *value == '\0' ? "VALUE" : value);
}

static void refuse_comment(const struct override *o, const char *end)
{
    struct jr_diag *diag =
        report_override(o, o->path, end, "the value after '=' is a comment of YAML");
    const char *value = strchr(o->source->text, '#');
    if (value != NULL && strpbrk(value, "'\"") == NULL)
        jr_diag_help(o->diags, diag, "quote it: --set '%s=\"%s\"'", o->path, value);
}

/* ++vars.x of Hydra, which here is +vars.x */
static void refuse_plus(const struct override *o, const char *end)
{
    const char *path = o->path + strspn(o->path, "+");
    struct jr_diag *diag = report_override(
        o, o->path, end, "'+' adds an entry of `vars`, `env`, `labels` or `kwargs`");
    const char *key = jr_arena_strndup(o->arena, path, strcspn(path, ".["));
    bool own = key != NULL && strpbrk(path, ".[+") == NULL &&
               o->shapes->child(&o->shapes->root, key).type == NULL;
    jr_diag_help(o->diags, diag, "write --set %s%s%s=...", own || path != o->path ? "+" : "",
                 own ? "vars." : "", path);
}

/* Whether the option is one, wherever its path leads; else that is reported.
 * `comment`: its value begins with '#'. */
static bool is_well_formed(const struct override *o, bool valued, bool comment)
{
    const char *end = o->path + strlen(o->path);
    if (!valued || end == o->path)
        refuse_unvalued(o, end);
    else if (comment)
        refuse_comment(o, end);
    else if (is_too_deep(o->path))
        (void)refuse_override(o, o->path, end, "the path is too long");
    else if (o->adds && !leads_into_open(o))
        refuse_plus(o, end);
    else
        return true;
    return false;
}

/* Whether the value of an option begins with '#', which makes it a comment. */
static bool is_comment_option(const char *option)
{
    const char *value = strchrnul(option, '=');
    value += *value == '=';
    return value[strspn(value, " \t")] == '#';
}

/* Read an option: its path, and the value as a tree, whose source lives in the arena of `doc`. A
 * value that begins with '#' is read together with what is before it, for its position. */
static struct override read_override(struct jr_doc *doc, const char *option, bool comment,
                                     struct jr_diags *diags)
{
    struct jr_arena *arena = &doc->arena;
    size_t len = strcspn(option, "="), from = len + (option[len] != '\0');
    bool adds = option[0] == '+';
    struct jr_doc value;
    (void)jr_doc_load_value(&value, NAME, option, comment ? strlen(option) : from, diags);
    const struct override o = {
        .arena = arena,
        .source = value.source,
        .path = jr_arena_strndup(arena, option + adds, len - adds),
        .adds = adds,
        .value = value.root,
        .diags = diags,
    };
    doc->dollars |= value.dollars;
    jr_arena_adopt(arena, &value.arena);
    return o;
}

void jr_override(struct jr_doc *doc, const struct jr_shapes *shapes, const char *option,
                 const char *folder, struct jr_diags *diags)
{
    bool comment = is_comment_option(option);
    size_t errors = diags->errors;
    struct override o = read_override(doc, option, comment, diags);
    o.shapes = shapes;
    if (o.source != NULL)
        o.source->folder = jr_arena_strdup(&doc->arena, folder);
    if (o.path == NULL || o.value == NULL || diags->errors > errors)
        return;
    struct jr_node *root = NULL;
    const struct jr_joined_settings joined = {&doc->arena, shapes, doc->root, NAME, o.path, o.adds};
    if (is_well_formed(&o, strchr(option, '=') != NULL, comment) &&
        !jr_setting_slip_refuse(&joined, o.value, diags) &&
        !jr_joined_settings_refuse(&joined, o.value, diags))
        root = put_override(&o, &shapes->root, doc->root, o.path);
    if (root != NULL)
        doc->root = root;
}

void jr_override_stated(struct jr_doc *doc, const struct jr_shapes *shapes,
                        const struct jr_stated_value *stated, struct jr_diags *diags)
{
    const struct override o = {
        .arena = &doc->arena,
        .shapes = shapes,
        .stated = stated,
        .path = stated->path,
        .value = stated->value,
        .diags = diags,
    };
    struct jr_node *root = NULL;
    if (is_well_formed(&o, true, false))
        root = put_override(&o, &shapes->root, doc->root, o.path);
    if (root != NULL)
        doc->root = root;
}

#define PARENT "extends."

bool jr_stated_value_is_parent(const struct jr_stated_value *stated)
{
    return strncmp(stated->path, PARENT, strlen(PARENT)) == 0;
}

struct jr_parent_choice jr_override_stated_parent(struct jr_doc *doc,
                                                  const struct jr_stated_value *stated)
{
    const struct jr_source *source = stated->key->span.source;
    struct jr_file *from = jr_arena_alloc(&doc->arena, sizeof *from);
    const char *name = stated->path + strlen(PARENT);
    size_t at = stated->at + strlen(PARENT);
    if (from != NULL && source != NULL && source->folder != NULL)
        *from =
            (struct jr_file){.name = source->option ? "" : source->name, .folder = source->folder};
    return (struct jr_parent_choice){.name = name,
                                     .at = jr_point_part(stated->key, at, at + strlen(name)),
                                     .path = stated->value,
                                     .from = from != NULL && from->folder != NULL ? from : NULL};
}

bool jr_override_is_parent(const char *option)
{
    return strncmp(option, PARENT, strlen(PARENT)) == 0 && strchr(option, '=') != NULL;
}

bool jr_override_parent(struct jr_doc *doc, const char *option, struct jr_parent_choice *ret,
                        struct jr_diags *diags)
{
    size_t errors = diags->errors;
    bool comment = is_comment_option(option);
    const struct override o = read_override(doc, option, comment, diags);
    if (o.path == NULL || o.value == NULL || diags->errors > errors ||
        !is_well_formed(&o, true, comment))
        return false;
    const char *name = o.path + strlen(PARENT);
    *ret = (struct jr_parent_choice){
        .name = name, .at = option_span(&o, name, name + strlen(name)), .path = o.value};
    return true;
}
