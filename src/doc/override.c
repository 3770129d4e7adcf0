#include <stdarg.h>
#include <string.h>

#include "base/did_you_mean.h"
#include "base/shell_words.h"
#include "doc/doc.h"
#include "doc/internal.h"
#include "doc/merge.h"
#include "doc/override.h"

#include "base/banned.h"

/*
 * A ',' or ';' in a value separates two settings only where NAME= follows, and NAME is a path of
 * its own (vars.b, parallelism.data), a field, or an entry beside the one that is set. What has a
 * '=' before that is a text which holds pairs, such as OTEL_RESOURCE_ATTRIBUTES, and so is a value
 * in quotes. Blanks separate settings of `vars` only: other texts have words in them.
 */

#define VARIABLES "vars."

static struct jr_shape child_shape(const struct jr_joined_settings *settings,
                                   const struct jr_shape *shape, const char *path, size_t len)
{
    const char *key = jr_arena_strndup(settings->arena, path, len);
    return key == NULL ? (struct jr_shape){0} : settings->shapes->child(shape, key);
}

/* The shape of what the path leads to, without its last step: of the mapping that the option sets
 * an entry of. */
static struct jr_shape own_mapping(const struct jr_joined_settings *settings)
{
    struct jr_shape shape = settings->shapes->root;
    const char *at = settings->path, *end;
    while ((end = strchr(at, '.')) != NULL) {
        shape = child_shape(settings, &shape, at, (size_t)(end - at));
        at = end + 1;
    }
    return shape;
}

/* Whether the mapping that the option sets an entry of has this one, too. */
static bool is_beside(const struct jr_joined_settings *settings, const char *name, size_t len)
{
    const char *dot = strrchr(settings->path, '.');
    const char *mapping = jr_arena_strndup(settings->arena, settings->path,
                                           dot == NULL ? 0 : (size_t)(dot - settings->path));
    const char *key = jr_arena_strndup(settings->arena, name, len);
    if (mapping == NULL || key == NULL)
        return false;
    const struct jr_node *node =
        *mapping == '\0' ? settings->root : jr_doc_find(settings->root, mapping);
    const struct jr_shape shape = own_mapping(settings);
    return jr_doc_get(node, key) != NULL ||
           (!shape.open && settings->shapes->child(&shape, key).type != NULL);
}

size_t jr_joined_settings_name(const struct jr_joined_settings *settings, const char *text)
{
    static const char bytes[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.[]-";
    size_t plus = *text == '+', len = strspn(text + plus, bytes);
    size_t first = strcspn(text + plus, ".[=");
    const struct jr_shape own = own_mapping(settings);
    bool bare = first == len;
    if (first == 0 || len == 0 || text[plus + len] != '=')
        return 0;
    bool field = child_shape(settings, &settings->shapes->root, text + plus, first).type != NULL;
    /* what `env` and `labels` hold are texts of others */
    if (bare && own.open && !own.declared)
        field = false;
    if (field || (bare && is_beside(settings, text + plus, len)))
        return plus + len;
    return 0;
}

/* Where the next setting begins in the rest of a value, and in *ret_end where what is before it
 * ends. NULL: there is none. */
static const char *next_setting(const struct jr_joined_settings *settings, const char *text,
                                const char **ret_end)
{
    const char *equals = strchr(text, '='), *at = equals, *end;
    while (at != NULL && at > text && strchr(",; ", at[-1]) == NULL)
        at--;
    size_t len = at == NULL ? 0 : jr_joined_settings_name(settings, at);
    if (at == text || len == 0 || at + len != equals)
        return NULL;
    for (end = at; end > text && end[-1] == ' ';)
        end--;
    bool mark = end > text && strchr(",;", end[-1]) != NULL;
    *ret_end = end - mark;
    return mark || strncmp(settings->path, VARIABLES, strlen(VARIABLES)) == 0 ? at : NULL;
}

void jr_joined_settings_add(struct jr_buf *out, const struct jr_joined_settings *settings,
                            const char *text, size_t len)
{
    JR_BUF_CLEANUP struct jr_buf word = JR_BUF_INIT;
    const char *dot = strrchr(settings->path, '.');
    size_t name = strcspn(text, "=");
    if (dot != NULL && memchr(text, '.', name) == NULL && is_beside(settings, text, name))
        jr_buf_add(&word, settings->path, (size_t)(dot - settings->path) + 1);
    jr_buf_add(&word, text, len);
    jr_buf_printf(out, "%s%s ", out->len == 0 ? "" : " ", settings->name);
    if (!word.failed)
        jr_shell_quote(out, word.data);
    out->failed |= word.failed;
}

/* The option as several, and where it can be one, with its value as the text that it is. */
static void help_with_settings(const struct jr_joined_settings *settings, struct jr_diag *diag,
                               const char *text, struct jr_diags *diags)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT, whole = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf quoted = JR_BUF_INIT;
    const char *option = jr_arena_printf(settings->arena, "%s%s=%s", settings->adds ? "+" : "",
                                         settings->path, text);
    for (const char *end, *next; option != NULL; option = next) {
        next = next_setting(settings, strchr(option, '=') + 1, &end);
        jr_joined_settings_add(&line, settings, option,
                               next == NULL ? strlen(option) : (size_t)(end - option));
    }
    const char *dot = strrchr(settings->path, '.');
    const struct jr_shape mapping = own_mapping(settings);
    if (!settings->shapes->child(&mapping, dot == NULL ? settings->path : dot + 1).text) {
        if (!line.failed)
            jr_diag_help(diags, diag, "write %s", line.data);
        return;
    }
    jr_buf_printf(&whole, "%s%s=", settings->adds ? "+" : "", settings->path);
    jr_quote_double(&whole, text, strlen(text));
    if (!whole.failed)
        jr_shell_quote(&quoted, whole.data);
    if (!line.failed && !quoted.failed)
        jr_diag_help(diags, diag, "write %s; for one text: %s %s", line.data, settings->name,
                     quoted.data);
}

bool jr_joined_settings_refuse(const struct jr_joined_settings *settings,
                               const struct jr_node *value, struct jr_diags *diags)
{
    JR_BUF_CLEANUP struct jr_buf shown = JR_BUF_INIT;
    const char *end;
    if (value->kind != JR_NODE_SCALAR || !value->plain)
        return false;
    const char *next = next_setting(settings, value->text, &end);
    if (next == NULL)
        return false;
    jr_point_text(&shown, next, strcspn(next, "="));
    size_t at = (size_t)(next - value->text);
    struct jr_diag *diag =
        jr_diags_error(diags, JR_CODE_WRONG_OVERRIDE, jr_point_part(value, at, value->len),
                       settings->path, "'%s' is a setting of its own: each has its %s",
                       shown.failed ? "" : shown.data, settings->name);
    help_with_settings(settings, diag, value->text, diags);
    return true;
}

/* A path with dots where others have something else, and '=' behind it. Names that are the user's
 * own may have any byte: behind a dot only those of `vars` are taken for slips. */
static bool add_dotted_path(struct jr_buf *out, const char *path)
{
    static const char variables[] = "vars.";
    bool named = false; /* in [NAME] */
    path += strspn(path, "- ");
    bool own = strncmp(path, variables, sizeof variables - 1) != 0;
    size_t len = strlen(path), first = strcspn(path, ".");
    while (len > 0 && strchr(" :", path[len - 1]) != NULL)
        len--; /* "world_size =2", world_size:=2 */
    for (size_t i = 0; i < len; i++) {
        bool slip = (path[i] == '/' || path[i] == ':') && (i < first || !own);
        bool name = path[i] == '[' && strchr("0123456789-", path[i + 1]) == NULL;
        if (slip || name)
            jr_buf_char(out, '.');
        else if (!named || path[i] != ']')
            jr_buf_char(out, path[i]);
        named = name || (named && path[i] != ']');
    }
    jr_buf_char(out, '=');
    return !out->failed;
}

/* Refuse an option whose path is that of a field or an entry, written in another way (vars/lr=1,
 * --vars.lr=1, vars[lr]=1, "vars.lr = 1"), or whose value begins with a second '='. Returns whether
 * it is. */
static bool refuse_setting_slip(const struct jr_joined_settings *settings,
                                const struct jr_node *value, struct jr_diags *diags)
{
    JR_BUF_CLEANUP struct jr_buf meant = JR_BUF_INIT, quoted = JR_BUF_INIT;
    const char *path = settings->path, *plus = settings->adds ? "+" : "";
    size_t len = strlen(path);
    bool word = value->kind == JR_NODE_SCALAR && value->plain;
    if (add_dotted_path(&meant, path) && value->span.source != NULL &&
        (meant.len != len + 1 || memcmp(meant.data, path, len) != 0) &&
        jr_doc_find(settings->root, path) == NULL &&
        jr_joined_settings_name(settings, meant.data) == meant.len - 1) {
        struct jr_diag *diag =
            jr_diags_error(diags, JR_CODE_WRONG_OVERRIDE,
                           jr_point_bytes(value->span.source, settings->adds, settings->adds + len),
                           NULL, "this is not how a path is written");
        jr_buf_str(&meant, word ? value->text : "...");
        if (!meant.failed)
            jr_shell_quote(&quoted, meant.data);
        if (!quoted.failed)
            jr_diag_help(diags, diag, "write %s %s%s", settings->name, plus, quoted.data);
        return true;
    }
    if (!word || value->text[0] != '=')
        return false;
    const char *text = value->text + strspn(value->text, "= ");
    struct jr_diag *diag = jr_diags_error(diags, JR_CODE_WRONG_OVERRIDE,
                                          jr_point_part(value, 0, (size_t)(text - value->text)),
                                          path, "a setting has one '='");
    jr_diag_help(diags, diag, "write %s %s%s=%s; a text that begins with '=' is quoted",
                 settings->name, plus, path, text);
    return true;
}

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

/* The node from which a step continues: expanded from its short form, newly created, or unchanged;
 * NULL if the step leads nowhere. Where the step leads to a form of the mapping that is not the one
 * it has, it is to be another mapping. */
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
    if (node == NULL || step->key == NULL)
        return node;
    const char *form = jr_shape_form(shape, node);
    const char *key = jr_arena_strndup(o->arena, step->key, step->len);
    for (const char *const *other = shape->forms;
         form != NULL && key != NULL && strcmp(form, key) != 0 && *other != NULL; other++)
        if (strcmp(*other, key) == 0)
            return jr_node_mapping(o->arena);
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
    struct jr_buf shown JR_BUF_CLEANUP = JR_BUF_INIT, path JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *names[MOST_NAMES + 1] = {NULL};
    size_t count = mapping == NULL || mapping->kind != JR_NODE_MAPPING ? 0 : mapping->count;
    for (size_t i = 0; count <= MOST_NAMES && i < count; i++)
        names[i] = mapping->pairs[i].key->text;
    jr_point_text(&shown, name, strlen(name));
    jr_buf_printf(&path, "%s.%s", in, shown.failed ? "" : shown.data);
    const char *whole = path.failed ? in : path.data;
    struct jr_diag *diag = jr_diags_error(o->diags, JR_CODE_UNDECLARED_ENTRY, span, whole,
                                          "'%s' is not declared in the spec", whole);
    help_with_declaring(o, diag, in, shown.failed ? "" : shown.data, jr_did_you_mean(name, names));
}

static bool has_entry(const struct jr_node *mapping, const char *key)
{
    return mapping != NULL && mapping->kind == JR_NODE_MAPPING && jr_doc_pair(mapping, key) != NULL;
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
    if (!jr_path_next(&at, o->path, &step)) {
        struct jr_diag *diag =
            report_override(o, start, start + strlen(start),
                            jr_arena_printf(o->arena, "a path cannot continue with '%s'", start));
        jr_diag_help(o->diags, diag,
                     "an entry of a list is [0], [1] and so on, and a name follows a single '.'");
        return NULL;
    }
    const char *before = jr_arena_strndup(o->arena, o->path, (size_t)(start - o->path));
    struct jr_node *in = prepare_step(o, shape, node, &step);
    if (in == NULL) {
        if (before == NULL || before[0] == '\0')
            return refuse_override(o, start, at, "the spec is not a mapping of fields");
        if (*start != '.' && (node == NULL || node->kind != JR_NODE_SEQUENCE))
            return refuse_override(o, start, at, "'%s' is not a list", before);
        return refuse_entry(o, node, before, start, at);
    }
    struct jr_span span = option_span(o, start + (*start == '.'), at);
    const char *key = NULL;
    if (step.key != NULL)
        key = jr_arena_strndup(o->arena, step.key, step.len);
    struct jr_shape child = o->shapes->child(shape, key);
    if (shape->declared && !o->adds && key != NULL && !has_entry(node, key)) {
        if (before != NULL)
            refuse_undeclared(o, span, before, node, key);
        return NULL;
    }
    if (child.early)
        return refuse_override(o, start, at,
                               "'%s' is read before --set; %s.NAME=PATH chooses a named parent",
                               key, key);
    struct jr_node **slot = jr_path_follow(in, &step);
    struct jr_node *under = put_override(o, &child, slot == NULL ? NULL : *slot, at);
    if (under == NULL)
        return NULL;
    jr_path_attach(o->arena, in, &step, under);
    /* What was made on the way has the position of the step. Without memory for its first pair it
     * has none. */
    if (in->span.line == 0)
        in->span = span;
    if (in->kind == JR_NODE_MAPPING && in->count > 0 &&
        in->pairs[in->count - 1].key->span.line == 0)
        in->pairs[in->count - 1].key->span = span;
    return in;
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

/* Whether the option is one, wherever its path leads; else that is reported, with what may have
 * been meant. `comment`: its value begins with '#'. */
static bool is_well_formed(const struct override *o, bool valued, bool comment)
{
    const char *path = o->path, *end = path + strlen(path);
    size_t steps = 1; /* the depth of a tree is bounded, so that walks through it are */
    for (const char *at = path; *at != '\0'; at++)
        steps += *at == '.' || *at == '[';
    if (!valued || end == path) { /* PATH: VALUE, --PATH=VALUE or PATH alone */
        struct jr_diag *diag = report_override(o, path, end, "--set wants PATH=VALUE");
        path += strspn(path, "-");
        size_t len = strcspn(path, ": ");
        const char *value = path + len + strspn(path + len, ": ");
        if (len > 0)
            jr_diag_help(o->diags, diag, "write --set %.*s=%s", (int)len, path,
                         *value == '\0' ? "VALUE" : value);
    } else if (comment) {
        struct jr_diag *diag =
            report_override(o, path, end, "the value after '=' is a comment of YAML");
        const char *value = strchr(o->source->text, '#');
        if (value != NULL && strpbrk(value, "'\"") == NULL)
            jr_diag_help(o->diags, diag, "quote it: --set '%s=\"%s\"'", path, value);
    } else if (steps > JR_DOC_MAX_DEPTH) {
        (void)refuse_override(o, path, end, "the path is too long");
    } else if (o->adds && !leads_into_open(o)) { /* ++vars.x of Hydra, which here is +vars.x */
        struct jr_diag *diag = report_override(
            o, path, end, "'+' adds an entry of `vars`, `env`, `labels` or `kwargs`");
        path += strspn(path, "+");
        const char *key = jr_arena_strndup(o->arena, path, strcspn(path, ".["));
        bool own = key != NULL && strpbrk(path, ".[+") == NULL &&
                   o->shapes->child(&o->shapes->root, key).type == NULL;
        jr_diag_help(o->diags, diag, "write --set %s%s%s=...", own || path != o->path ? "+" : "",
                     own ? "vars." : "", path);
    } else {
        return true;
    }
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
        !refuse_setting_slip(&joined, o.value, diags) &&
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
