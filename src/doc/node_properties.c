#include <search.h>
#include <string.h>

#include "doc/node_properties.h"

#include "base/banned.h"

struct anchor {
    const char *name;
    const struct jr_node *node;
};

static int compare_names(const void *a, const void *b)
{
    const struct anchor *left = a, *right = b;
    return strcmp(left->name, right->name);
}

void jr_anchors_add(struct jr_anchors *anchors, struct jr_arena *arena, const char *name,
                    const struct jr_node *node)
{
    if (name == NULL)
        return;
    struct anchor *anchor = jr_arena_alloc(arena, sizeof *anchor);
    char *copy = jr_arena_strdup(arena, name);
    if (anchor == NULL || copy == NULL)
        return;
    anchor->name = copy;
    struct anchor **slot = tsearch(anchor, &anchors->tree, compare_names);
    if (slot == NULL)
        arena->failed = true;
    else
        (*slot)->node = node;
}

const struct jr_node *jr_anchors_find(const struct jr_anchors *anchors, const char *name)
{
    const struct anchor key = {.name = name};
    struct anchor *const *slot = tfind(&key, &anchors->tree, compare_names);
    return slot == NULL ? NULL : (*slot)->node;
}

/* The anchors live in the arena, the tree's own nodes do not. */
static void keep_anchor(void *anchor)
{
    (void)anchor;
}

void jr_anchors_release(struct jr_anchors *anchors)
{
    tdestroy(anchors->tree, keep_anchor);
    anchors->tree = NULL;
}

static void add_weight(struct jr_weight *sum, const struct jr_node *child)
{
    struct jr_weight part = jr_node_weigh(child);
    sum->nodes += part.nodes;
    sum->bytes += part.bytes;
    if (part.height >= sum->height)
        sum->height = part.height + 1;
}

struct jr_weight jr_node_weigh(const struct jr_node *node)
{
    struct jr_weight sum = {.nodes = 1};
    if (node->kind == JR_NODE_SCALAR) {
        sum.bytes = node->len;
        return sum;
    }
    sum.height = 1;
    for (size_t i = 0; i < node->count; i++) {
        if (node->kind == JR_NODE_SEQUENCE) {
            add_weight(&sum, node->items[i]);
        } else {
            add_weight(&sum, node->pairs[i].key);
            add_weight(&sum, node->pairs[i].value);
        }
    }
    return sum;
}

#define CORE "tag:yaml.org,2002:"

struct tag {
    const char *name;
    enum jr_node_kind kind;
    enum jr_scalar_type type; /* of a scalar */
};

static const struct tag tags[] = {
    {"str", JR_NODE_SCALAR, JR_SCALAR_STRING},  {"int", JR_NODE_SCALAR, JR_SCALAR_INT},
    {"float", JR_NODE_SCALAR, JR_SCALAR_FLOAT}, {"bool", JR_NODE_SCALAR, JR_SCALAR_BOOL},
    {"null", JR_NODE_SCALAR, JR_SCALAR_NULL},   {"seq", JR_NODE_SEQUENCE, JR_SCALAR_STRING},
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
    return type == wanted || (wanted == JR_SCALAR_FLOAT && type == JR_SCALAR_INT);
}

/* Tags of other readers of YAML, and what is written here instead. A row holds for all tags that
 * begin so. */
struct foreign_tag {
    const char *tag, *help;
};

static const struct foreign_tag foreign_tags[] = {
    {"!include", "write `extends: FILE` at the top of the spec"},
    {"!inc", "write `extends: FILE` at the top of the spec"},
    {"!import", "write `extends: FILE` at the top of the spec"},
    {"!ENV", "write ${env:NAME}"},
    {"!env", "write ${env:NAME}"},
    {"!vault", "write ???, and set the variable where jobrun is started"},
    {"!secret", "write ???, and set the variable where jobrun is started"},
    {"!Ref", "write ${vars.NAME}"},
    {"!ref", "write ${vars.NAME}"},
    {"!reference", "write ${vars.NAME}"},
    {"!Sub", "leave it out: ${vars.NAME} needs no tag"},
    {"!join", "write the parts side by side: ${vars.a}/${vars.b}"},
    {CORE "python/tuple", "write a list: [a, b]"},
    {CORE "python/name", "write the name as text: package.module:function"},
    {CORE "python/", "leave it out: a spec makes no objects of Python"},
    {CORE "timestamp", "leave it out: a date is text here"},
    {CORE "binary", "write text: a spec holds no bytes"},
    {CORE "set", "write a list: [a, b]"},
    {CORE "omap", "leave it out: mappings keep their order"},
};

static const char *help_with_tag(const char *tag)
{
    for (size_t i = 0; i < sizeof foreign_tags / sizeof *foreign_tags; i++)
        if (strncmp(foreign_tags[i].tag, tag, strlen(foreign_tags[i].tag)) == 0)
            return foreign_tags[i].help;
    return "leave it out";
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
    node->meant = strcmp(tag, CORE "str") == 0;
    const struct tag *found = find_tag(tag);
    if (found == NULL) {
        struct jr_diag *diag =
            jr_diags_error(diags, JR_CODE_UNKNOWN_TAG, span, NULL, "unknown tag '%.60s'", tag);
        jr_diag_help(diags, diag, "%s", help_with_tag(tag));
    } else if (found->kind != node->kind ||
               (node->kind == JR_NODE_SCALAR && !has_tagged_type(node, found->type))) {
        jr_diags_error(diags, JR_CODE_UNKNOWN_TAG, span, NULL,
                       "this value does not have the type !!%s", found->name);
    }
}
