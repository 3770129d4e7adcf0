#include "spec/cyaml_tree.h"

#include <inttypes.h>
#include <string.h>

#include <jobrun/entrypoint.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"
#include "base/num.h"
#include "spec/entry_arguments.h"

#include "base/banned.h"

#define FORM(name, word, help) word,

/* `owner` is the mapping that contains the value. */
static struct jr_node *bound_value(struct jr_lint *lint, const struct jr_spec_type *type,
                                   const struct jr_node *node, const struct jr_node *owner);

static struct jr_node *bound_text(struct jr_lint *lint, const char *text)
{
    return jr_node_scalar(lint->arena, text, false);
}

static void add_bound_pair(struct jr_lint *lint, struct jr_node *mapping, const char *key,
                           struct jr_node *value)
{
    jr_node_add(lint->arena, mapping, bound_text(lint, key), value);
}

static struct jr_node *bound_duration(struct jr_lint *lint, const char *text)
{
    uint64_t ms = 0;
    (void)jr_num_duration(text, &ms);
    const char *digits = jr_arena_printf(lint->arena, "%" PRIu64, ms);
    return digits == NULL ? NULL : jr_node_scalar(lint->arena, digits, true);
}

/* JSON as the text that represents it. */
static struct jr_node *bound_json_text(struct jr_lint *lint, json_t *json)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    if (json != NULL)
        jr_json_print(&out, json, 0);
    json_decref(json);
    if (out.data != NULL && !out.failed)
        return bound_text(lint, out.data);
    lint->arena->failed = true;
    return NULL;
}

/* A value of `enum` as JSON; under type string, unquoted text is text. */
static struct jr_node *bound_json(struct jr_lint *lint, const struct jr_node *node,
                                  const struct jr_node *owner)
{
    const struct jr_node *type = jr_doc_get(owner, "type");
    bool text = type != NULL && strcmp(type->text, "string") == 0;
    int64_t whole;
    double real;
    json_t *json = NULL;
    if (!text && node->plain && jr_num_i64(node->text, &whole))
        json = json_integer(whole);
    else if (!text && node->plain && jr_num_double(node->text, &real))
        json = json_real(real);
    else if (!text && jr_scalar_type(node) == JR_SCALAR_BOOL)
        json = json_boolean(strcasecmp(node->text, "true") == 0);
    else
        json = jr_json_str(node->text);
    return bound_json_text(lint, json);
}

/* An argument: text, except for a function's. */
static struct jr_node *bound_argument(struct jr_lint *lint, const struct jr_node *node)
{
    return lint->call ? bound_json_text(lint, jr_call_json(node)) : bound_text(lint, node->text);
}

static struct jr_node *bound_list(struct jr_lint *lint, const struct jr_spec_type *type,
                                  const struct jr_node *node, const struct jr_node *owner)
{
    struct jr_node *out = jr_node_sequence(lint->arena);
    bool lone = node->kind == JR_NODE_SCALAR;
    for (size_t i = 0; i < (lone ? 1 : node->count); i++)
        jr_node_append(lint->arena, out,
                       bound_value(lint, type->item, lone ? node : node->items[i], owner));
    return out;
}

static struct jr_node *bound_streams(struct jr_lint *lint, const struct jr_node *node)
{
    struct jr_node *out = jr_node_sequence(lint->arena);
    bool lone = node->kind == JR_NODE_SCALAR;
    for (size_t i = 0; i < (lone ? 1 : node->count); i++) {
        const char *ranks = lone ? "all" : node->pairs[i].key->text;
        const char *word = lone ? node->text : node->pairs[i].value->text;
        struct jr_node *rule = jr_node_mapping(lint->arena);
        add_bound_pair(lint, rule, JR_BOUND_RANKS, bound_text(lint, ranks));
        add_bound_pair(lint, rule, JR_BOUND_STREAMS, bound_text(lint, word));
        jr_node_append(lint->arena, out, rule);
    }
    return out;
}

/* A path that is not stated belongs to the user who runs the job, not to the author of the spec. */
static struct jr_node *path_below_here(struct jr_lint *lint, const char *path)
{
    JR_FREE char *absolute = jr_io_absolute(lint->here, path);
    if (absolute == NULL)
        lint->arena->failed = true;
    return absolute == NULL ? NULL : bound_text(lint, absolute);
}

/* An absent field: its default, if it has one, read like any other value. */
static struct jr_node *bound_default(struct jr_lint *lint, const struct jr_spec_field *field)
{
    struct jr_node *node = NULL;
    if (field->type->kind == JR_KIND_MAP)
        return field->type->stated ? NULL : jr_node_mapping(lint->arena);
    if (field->fallback == NULL)
        return NULL;
    if (field->type->kind != JR_KIND_LIST) {
        node = field->type->here ? path_below_here(lint, field->fallback)
                                 : bound_text(lint, field->fallback);
        if (node != NULL)
            node->plain = true;
        return node == NULL ? NULL : jr_lint_value(lint, field->type, node, NULL);
    }
    const struct jr_strv items = jr_field_defaults(field, lint->arena);
    node = jr_node_sequence(lint->arena);
    for (size_t i = 0; i < items.count; i++)
        jr_node_append(lint->arena, node, bound_text(lint, items.items[i]));
    return node;
}

static void add_bound_fields(struct jr_lint *lint, const struct jr_spec_field *fields,
                             const struct jr_node *node, struct jr_node *out)
{
    for (; fields->key != NULL; fields++) {
        const struct jr_node *value = jr_doc_get(node, fields->key);
        if (value == NULL)
            value = bound_default(lint, fields);
        if (value != NULL)
            add_bound_pair(lint, out, fields->key, bound_value(lint, fields->type, value, node));
    }
}

/* null unsets a variable, ??? wants it set outside. */
static void add_variable(struct jr_lint *lint, const struct jr_node *value, struct jr_node *out)
{
    if (strcmp(value->text, "???") == 0)
        add_bound_pair(lint, out, JR_BOUND_REQUIRED, jr_node_scalar(lint->arena, "true", true));
    else if (jr_scalar_type(value) != JR_SCALAR_NULL)
        add_bound_pair(lint, out, JR_BOUND_VALUE, bound_text(lint, value->text));
}

static struct jr_node *bound_names(struct jr_lint *lint, const struct jr_spec_type *type,
                                   const struct jr_node *node)
{
    struct jr_node *out = jr_node_sequence(lint->arena);
    for (size_t i = 0; i < node->count; i++) {
        const struct jr_pair *pair = &node->pairs[i];
        struct jr_node *entry = jr_node_mapping(lint->arena);
        add_bound_pair(lint, entry, JR_BOUND_NAME, bound_text(lint, pair->key->text));
        if (type->item->kind == JR_KIND_MAP)
            add_bound_fields(lint, type->item->fields, pair->value, entry);
        else if (type->item->kind == JR_KIND_VALUE)
            add_bound_pair(lint, entry, JR_BOUND_VALUE, bound_argument(lint, pair->value));
        else
            add_variable(lint, pair->value, entry);
        jr_node_append(lint->arena, out, entry);
    }
    return out;
}

static struct jr_node *bound_value(struct jr_lint *lint, const struct jr_spec_type *type,
                                   const struct jr_node *node, const struct jr_node *owner)
{
    struct jr_node *out = NULL;
    if (type->kind == JR_KIND_MAP) {
        out = jr_node_mapping(lint->arena);
        add_bound_fields(lint, type->fields, node, out);
        return out;
    }
    if (type->kind == JR_KIND_LIST)
        return bound_list(lint, type, node, owner);
    if (type->kind == JR_KIND_NAMES)
        return bound_names(lint, type, node);
    if (type->kind == JR_KIND_STREAMS)
        return bound_streams(lint, node);
    if (type->kind == JR_KIND_DURATION)
        return bound_duration(lint, node->text);
    if (type->kind == JR_KIND_SCALAR)
        return bound_json(lint, node, owner);
    if (type->kind == JR_KIND_VALUE)
        return bound_argument(lint, node);
    return jr_node_scalar(lint->arena, node->text, node->plain);
}

/* The pair of a mapping that has one of these keys; of a checked tree there is one. */
static const struct jr_pair *stated_form(const struct jr_node *mapping, const char *const *forms)
{
    const struct jr_pair *pair = NULL;
    for (; pair == NULL && *forms != NULL; forms++)
        pair = jr_doc_pair(mapping, *forms);
    return pair;
}

/* What is bound besides the rows: the form's word, and its own words followed by `args`. */
static void add_bound_entry(struct jr_lint *lint, const struct jr_node *entry, struct jr_node *out)
{
    static const char *const forms[] = {JR_FORMS(FORM) NULL};
    static const char *const pythons[] = {JR_PYTHON_FORMS(FORM) NULL};
    const struct jr_pair *form = stated_form(entry, forms), *python = NULL;
    const struct jr_node *args = jr_doc_get(entry, "args");
    struct jr_node *argv = jr_node_sequence(lint->arena);
    if (form == NULL)
        return;
    if (form->value->kind == JR_NODE_SCALAR)
        jr_node_append(lint->arena, argv, bound_text(lint, form->value->text));
    for (size_t i = 0; form->value->kind == JR_NODE_SEQUENCE && i < form->value->count; i++)
        jr_node_append(lint->arena, argv, form->value->items[i]);
    for (size_t i = 0; args != NULL && i < args->count; i++)
        jr_node_append(lint->arena, argv, bound_argument(lint, args->items[i]));
    add_bound_pair(lint, out, JR_BOUND_FORM, bound_text(lint, form->key->text));
    add_bound_pair(lint, out, JR_BOUND_ARGV, argv);
    if (strcmp(form->key->text, "python") == 0)
        python = stated_form(form->value, pythons);
    if (python == NULL)
        return;
    struct jr_node *map = jr_doc_get(out, "python");
    add_bound_pair(lint, map, JR_BOUND_FORM, bound_text(lint, python->key->text));
    add_bound_pair(lint, map, JR_BOUND_TARGET, bound_text(lint, python->value->text));
}

/* What a function or a library returns is its result, and it has to return. */
static void add_results(struct jr_lint *lint, const struct jr_node *tree, struct jr_node *results)
{
    const struct jr_node *stated = jr_doc_get(tree, "results");
    const struct jr_node *entry = jr_doc_get(tree, "entrypoint");
    bool returns = jr_call_returns(entry);
    if (stated != NULL || returns)
        add_bound_pair(lint, results, JR_BOUND_STATED, jr_node_scalar(lint->arena, "true", true));
    if (stated == NULL || jr_doc_get(stated, "from") == NULL)
        add_bound_pair(lint, results, "from", bound_text(lint, returns ? "return" : "file"));
}

struct jr_node *jr_bound_tree(struct jr_lint *lint, const struct jr_node *tree, const char *stem)
{
    struct jr_arena *arena = lint->arena;
    const struct jr_node *entry = jr_doc_get(tree, "entrypoint");
    lint->call = jr_call_is_one(tree);
    struct jr_node *out = bound_value(lint, jr_field_root(), tree, NULL);
    if (arena->failed || entry == NULL)
        return NULL;
    add_bound_entry(lint, entry, jr_doc_get(out, "entrypoint"));
    if (jr_doc_get(tree, "name") == NULL)
        add_bound_pair(lint, out, "name", bound_text(lint, stem));
    if (jr_doc_get(tree, "tee") != NULL)
        add_bound_pair(lint, out, JR_BOUND_TEE_STATED, jr_node_scalar(arena, "true", true));
    add_results(lint, tree, jr_doc_get(out, "results"));
    if (jr_doc_get(tree, "exit_barrier") == NULL)
        add_bound_pair(lint, out, "exit_barrier",
                       bound_text(lint, jr_call_returns(entry) ? "true" : "false"));
    if (jr_doc_get(tree, "stop_target") == NULL && jr_doc_get(entry, "shell") != NULL)
        add_bound_pair(lint, out, "stop_target", bound_text(lint, "group"));
    return arena->failed ? NULL : out;
}
