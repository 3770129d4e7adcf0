#include "spec/sample.h"

#include <string.h>

#include "doc/doc.h"
#include "spec/entry_arguments.h"
#include "spec/manual.h"

#include "base/banned.h"

/* The node at a path of rows, in which a star means the first name. */
static const struct jr_node *find_sample_node(const struct jr_node *node,
                                              const char *path)
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
        const struct jr_node *node = find_sample_node(doc.root, note->path);
        value = node == NULL ? NULL : jr_call_json(node);
    }
    jr_diags_release(&diags);
    jr_doc_release(&doc);
    return value;
}
