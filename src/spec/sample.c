#include "sample.h"

#include <stdlib.h>
#include <string.h>

#include "doc.h"
#include "manual.h"
#include "num.h"

#include "banned.h"

static json_t *scalar_value(const struct jr_node *node)
{
    double real;
    switch (jr_scalar_type(node)) {
    case JR_SCALAR_NULL:
        return json_null();
    case JR_SCALAR_BOOL:
        return json_boolean(node->text[0] == 't');
    case JR_SCALAR_INT:
        return json_integer(strtoll(node->text, NULL, 10));
    case JR_SCALAR_FLOAT:
        return jr_num_double(node->text, &real) ? json_real(real) : NULL;
    case JR_SCALAR_STRING:
        break;
    }
    return jr_json_str(node->text);
}

static json_t *value_of(const struct jr_node *node)
{
    if (node->kind == JR_NODE_SCALAR)
        return scalar_value(node);
    bool list = node->kind == JR_NODE_SEQUENCE;
    json_t *value = list ? json_array() : json_object();
    for (size_t i = 0; i < node->count; i++) {
        if (list)
            (void)json_array_append_new(value, value_of(node->items[i]));
        else
            (void)json_object_set_new(value, node->pairs[i].key->text,
                                      value_of(node->pairs[i].value));
    }
    return value;
}

/* The node at a path of rows, in which a star stands for the first name. */
static const struct jr_node *find(const struct jr_node *node, const char *path)
{
    while (node != NULL && *path != '\0') {
        char key[64] = "";
        size_t len = strcspn(path, ".");
        if (node->kind != JR_NODE_MAPPING || node->count == 0 ||
            len >= sizeof key)
            return NULL;
        memcpy(key, path, len);
        node = strcmp(key, "*") == 0 ? node->pairs[0].value
                                     : jr_doc_get(node, key);
        path += len + (path[len] == '.');
    }
    return node;
}

json_t *jr_field_sample(const struct jr_spec_field *field)
{
    const struct jr_field_note *note = jr_field_note(field);
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_doc doc = JR_DOC_INIT;
    json_t *value = NULL;
    if (note == NULL)
        return NULL;
    if (jr_doc_load(&doc, "example", note->example, strlen(note->example),
                    &diags) == 0) {
        const struct jr_node *node = find(doc.root, note->path);
        value = node == NULL ? NULL : value_of(node);
    }
    jr_diags_release(&diags);
    jr_doc_release(&doc);
    return value;
}
