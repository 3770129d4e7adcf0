#include "spec/entry_arguments.h"

#include <string.h>

#include "base/num.h"

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
