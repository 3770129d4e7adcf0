#include "doc/tag.h"

#include <string.h>

#include "base/banned.h"

#define CORE "tag:yaml.org,2002:"

struct tag {
    const char *name;
    enum jr_node_kind kind;
    enum jr_scalar_type type; /* of a scalar */
};

static const struct tag tags[] = {
    {"str", JR_NODE_SCALAR, JR_SCALAR_STRING},
    {"int", JR_NODE_SCALAR, JR_SCALAR_INT},
    {"float", JR_NODE_SCALAR, JR_SCALAR_FLOAT},
    {"bool", JR_NODE_SCALAR, JR_SCALAR_BOOL},
    {"null", JR_NODE_SCALAR, JR_SCALAR_NULL},
    {"seq", JR_NODE_SEQUENCE, JR_SCALAR_STRING},
    {"map", JR_NODE_MAPPING, JR_SCALAR_STRING},
};

static const struct tag *find_tag(const char *name)
{
    if (strncmp(name, CORE, strlen(CORE)) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        if (strcmp(tags[i].name, name + strlen(CORE)) == 0)
            return &tags[i];
    return NULL;
}

/* Whether the text is of the type, however it is quoted: `!!int "3"` is 3. */
static bool has_tagged_type(struct jr_node *node, enum jr_scalar_type wanted)
{
    node->plain = wanted != JR_SCALAR_STRING;
    enum jr_scalar_type type = jr_scalar_type(node);
    return type == wanted ||
           (wanted == JR_SCALAR_FLOAT && type == JR_SCALAR_INT);
}

void jr_tag_apply(struct jr_diags *diags, struct jr_node *node, const char *tag,
                  struct jr_span span)
{
    if (tag == NULL)
        return;
    if (strcmp(tag, "!") == 0) {
        node->plain = false;
        return;
    }
    const struct tag *found = find_tag(tag);
    if (found == NULL) {
        struct jr_diag *diag = jr_diags_error(diags, JR_CODE_UNKNOWN_TAG, span,
                                              NULL, "unknown tag '%.60s'", tag);
        jr_diag_help(diags, diag, "leave it out");
    } else if (found->kind != node->kind ||
               (node->kind == JR_NODE_SCALAR &&
                !has_tagged_type(node, found->type))) {
        jr_diags_error(diags, JR_CODE_UNKNOWN_TAG, span, NULL,
                       "this value does not have the type !!%s", found->name);
    }
}
