#include "doc/override.h"

#include <stdarg.h>
#include <string.h>

#include "doc/merge.h"
#include "doc/node_path.h"
#include "doc/tree.h"

#include "base/banned.h"

#define NAME "--set"

struct override {
    struct jr_arena *arena;
    const struct jr_shapes *shapes;
    const struct jr_source *source;
    const char *path; /* not followed by =VALUE */
    struct jr_node *value;
    struct jr_diags *diags;
};

static struct jr_span option_span(const struct override *o, const char *from,
                                  const char *to)
{
    return jr_point_bytes(o->source, (size_t)(from - o->path),
                          (size_t)(to - o->path));
}

__attribute__((format(printf, 4, 5))) static struct jr_node *refuse_override(
    const struct override *o, const char *from, const char *to,
    const char *format, ...)
{
    struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT;
    va_list args;
    va_start(args, format);
    const char *message = jr_arena_vprintf(o->arena, format, args);
    va_end(args);
    jr_buf_escaped(&path, o->path, (size_t)(to - o->path));
    jr_diags_error(o->diags, JR_CODE_WRONG_OVERRIDE, option_span(o, from, to),
                   path.data, "%s",
                   message == NULL ? "out of memory" : message);
    return NULL;
}

/* Whether the step leads to a form of the mapping that is not the one it has:
 * then it is to be another mapping. */
static bool is_other_form(const struct override *o,
                          const struct jr_shape *shape,
                          const struct jr_node *mapping,
                          const struct jr_path_step *step)
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

/* The node from which a step continues: expanded from its short form, newly
 * created, or unchanged; NULL if the step leads nowhere. */
static struct jr_node *prepare_step(const struct override *o,
                                    const struct jr_shape *shape,
                                    struct jr_node *node,
                                    const struct jr_path_step *step)
{
    struct jr_node *mapping = NULL;
    if (node != NULL && step->key != NULL)
        mapping = jr_shape_unfold(o->arena, shape, node);
    if (mapping != NULL)
        node = mapping;
    else if (node != NULL && jr_shape_is_missing(shape, node))
        node = NULL;
    node = jr_path_enter(o->arena, node, step);
    if (node != NULL && step->key != NULL &&
        is_other_form(o, shape, node, step))
        node = jr_node_mapping(o->arena);
    return node;
}

/* Say why nothing can be put at the step from `start` to `end`. */
static struct jr_node *refuse_step(const struct override *o,
                                   const struct jr_node *node,
                                   const char *start, const char *end)
{
    const char *before =
        jr_arena_strndup(o->arena, o->path, (size_t)(start - o->path));
    if (before == NULL || before[0] == '\0')
        return refuse_override(o, start, end,
                               "the spec is not a mapping of fields");
    if (*start == '.')
        return refuse_override(o, start, end, "'%s' has no fields in it",
                               before);
    if (node == NULL || node->kind != JR_NODE_SEQUENCE)
        return refuse_override(o, start, end, "'%s' is not a list", before);
    return refuse_override(o, start, end, "the next index of '%s' is %zu",
                           before, node->count);
}

/* Give what was made on the way the position of the step. */
static void place_made_node(const struct override *o, struct jr_node *node,
                            const char *start, const char *end)
{
    struct jr_span span = option_span(o, start + (*start == '.'), end);
    if (node->span.line == 0)
        node->span = span;
    if (node->kind == JR_NODE_MAPPING &&
        node->pairs[node->count - 1].key->span.line == 0)
        node->pairs[node->count - 1].key->span = span;
}

/* Return the replacement for `node` after the value was put where the rest of
 * the path, from `at`, leads; NULL after a finding. Children are handled first,
 * so that a path that does not fit changes nothing. */
static struct jr_node *put_override(const struct override *o,
                                    const struct jr_shape *shape,
                                    struct jr_node *node, const char *at)
{
    struct jr_path_step step;
    const char *start = at;
    if (*at == '\0')
        return jr_merge_replace(o->arena, node, o->value);
    if (!jr_path_next(&at, o->path, &step))
        return refuse_override(o, start, start + strlen(start),
                               "a path cannot continue with '%s'", start);
    struct jr_node *in = prepare_step(o, shape, node, &step);
    if (in == NULL)
        return refuse_step(o, node, start, at);
    const char *key = NULL;
    if (step.key != NULL)
        key = jr_arena_strndup(o->arena, step.key, step.len);
    struct jr_shape child = o->shapes->child(shape, key);
    if (child.early)
        return refuse_override(o, start, at, "'%s' is read before --set", key);
    struct jr_node **slot = jr_path_follow(in, &step);
    struct jr_node *under =
        put_override(o, &child, slot == NULL ? NULL : *slot, at);
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

void jr_override(struct jr_doc *doc, const struct jr_shapes *shapes,
                 const char *option, const char *folder, struct jr_diags *diags)
{
    struct jr_arena *arena = &doc->arena;
    size_t len = strcspn(option, "="), from = len + (option[len] != '\0');
    bool comment = option[from + strspn(option + from, " \t")] == '#';
    size_t errors = diags->errors;
    struct jr_doc value;
    (void)jr_doc_load_value(&value, NAME, option,
                            comment ? strlen(option) : from, diags);
    if (value.source != NULL)
        value.source->folder = jr_arena_strdup(arena, folder);
    const struct override o = {
        .arena = arena,
        .shapes = shapes,
        .source = value.source,
        .path = jr_arena_strndup(arena, option, len),
        .value = value.root,
        .diags = diags,
    };
    doc->dollars |= value.dollars;
    jr_arena_adopt(arena, &value.arena);
    if (o.path == NULL || o.value == NULL || diags->errors > errors)
        return;
    struct jr_node *root = NULL;
    if (option[len] == '\0' || len == 0)
        (void)refuse_override(&o, o.path, o.path + len,
                              "--set wants PATH=VALUE");
    else if (comment)
        (void)refuse_override(&o, o.path, o.path + len,
                              "the value after '=' is a comment: quote a value "
                              "that contains '#'");
    else if (is_too_deep(o.path))
        (void)refuse_override(&o, o.path, o.path + len, "the path is too long");
    else
        root = put_override(&o, &shapes->root, doc->root, o.path);
    if (root != NULL)
        doc->root = root;
}
