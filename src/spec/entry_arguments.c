#include "spec/entry_arguments.h"

#include <errno.h>
#include <string.h>

#include "base/num.h"
#include "spec/internal.h"

#include "base/banned.h"

static bool is_function(const struct jr_node *entry)
{
    const struct jr_node *python = NULL;
    if (entry->kind == JR_NODE_MAPPING)
        python = jr_doc_get(entry, "python");
    return python != NULL && python->kind == JR_NODE_MAPPING &&
           jr_doc_get(python, "function") != NULL;
}

bool jr_call_is_one(const struct jr_node *root)
{
    const struct jr_node *entry = NULL;
    if (root->kind == JR_NODE_MAPPING)
        entry = jr_doc_get(root, "entrypoint");
    return entry == NULL || is_function(entry);
}

bool jr_call_returns(const struct jr_node *entry)
{
    return entry != NULL && entry->kind == JR_NODE_MAPPING &&
           (is_function(entry) || jr_doc_get(entry, "library") != NULL);
}

static json_t *scalar_json(const struct jr_node *node)
{
    const char *digits = node->text + (node->text[0] == '+');
    int64_t whole;
    double real;
    switch (jr_scalar_type(node)) {
    case JR_SCALAR_NULL:
        return json_null();
    case JR_SCALAR_BOOL:
        return json_boolean(node->text[0] == 't' || node->text[0] == 'T');
    case JR_SCALAR_INT:
        return jr_num_i64(digits, &whole) ? json_integer(whole) : NULL;
    case JR_SCALAR_FLOAT:
        return jr_num_double(digits, &real) ? json_real(real) : NULL;
    case JR_SCALAR_STRING:
        break;
    }
    return jr_json_str(node->text);
}

json_t *jr_call_json(const struct jr_node *node)
{
    if (node->kind == JR_NODE_SCALAR)
        return scalar_json(node);
    bool list = node->kind == JR_NODE_SEQUENCE;
    json_t *json = list ? json_array() : json_object();
    for (size_t i = 0; i < node->count; i++) {
        struct jr_buf key JR_BUF_CLEANUP = JR_BUF_INIT;
        json_t *item = jr_call_json(list ? node->items[i] : node->pairs[i].value);
        if (list) {
            jr_json_append(json, item);
            continue;
        }
        jr_buf_replaced(&key, node->pairs[i].key->text, "%{", "%%{"); /* keys are no templates */
        if (key.failed) {
            json_decref(item);
            item = NULL;
        }
        jr_json_set(json, key.data == NULL ? node->pairs[i].key->text : key.data, item);
    }
    return json;
}

static struct jr_node *read_json_number(struct jr_lint *lint, const struct jr_node *node,
                                        const struct jr_node_step *at)
{
    static const struct jr_spec_type value = {.wants = "a value of JSON"};
    errno = 0;
    json_t *json = scalar_json(node);
    if (json == NULL && errno == ENOMEM) {
        lint->arena->failed = true;
        return NULL;
    }
    if (json == NULL) {
        struct jr_diag *diag = jr_lint_wrong(lint, &value, node, at);
        bool whole = jr_scalar_type(node) == JR_SCALAR_INT;
        jr_diag_help(lint->diags, diag,
                     whole ? "it is beyond 64 bits: pass it in quotes, as a string"
                           : "JSON has no infinity and no NaN: pass it in quotes, as a string");
        return NULL;
    }
    json_decref(json);
    return jr_lint_scalar(lint, node, node->text, true);
}

static struct jr_node *read_json_scalar(struct jr_lint *lint, const struct jr_spec_type *type,
                                        const struct jr_node *node, const struct jr_node_step *at)
{
    enum jr_scalar_type is = jr_scalar_type(node);
    if (is == JR_SCALAR_INT || is == JR_SCALAR_FLOAT)
        return read_json_number(lint, node, at);
    if (is == JR_SCALAR_NULL)
        return jr_lint_scalar(lint, node, "null", true);
    if (is == JR_SCALAR_BOOL)
        return jr_read_boolean(lint, type, node, at);
    if (!jr_read_template(lint, node, at))
        return NULL;
    return jr_lint_scalar(lint, node, node->text, node->plain);
}

static struct jr_node *read_collection(struct jr_lint *lint, const struct jr_spec_type *type,
                                       const struct jr_node *node, const struct jr_node_step *up)
{
    bool list = node->kind == JR_NODE_SEQUENCE;
    struct jr_node *out = list ? jr_node_sequence(lint->arena) : jr_node_mapping(lint->arena);
    if (out == NULL)
        return NULL;
    out->span = node->span;
    for (size_t i = 0; i < node->count; i++) {
        const struct jr_node_step at = {
            .up = up,
            .key = list ? NULL : node->pairs[i].key->text,
            .index = i,
        };
        struct jr_node *value =
            jr_lint_value(lint, type, list ? node->items[i] : node->pairs[i].value, &at);
        if (list)
            jr_node_append(lint->arena, out, value);
        else
            jr_node_add(lint->arena, out, node->pairs[i].key, value);
    }
    return out->count == node->count ? out : NULL;
}

struct jr_node *jr_read_value(struct jr_lint *lint, const struct jr_spec_type *type,
                              const struct jr_node *node, const struct jr_node_step *at)
{
    bool scalar = node->kind == JR_NODE_SCALAR;
    if (type->item == NULL || lint->call)
        return scalar ? read_json_scalar(lint, type, node, at)
                      : read_collection(lint, type, node, at);
    if (scalar)
        return jr_lint_reader(type->item->kind)(lint, type->item, node, at);
    jr_diag_help(lint->diags, jr_lint_wrong(lint, type->item, node, at),
                 "only a Python function takes other values than strings");
    return NULL;
}
