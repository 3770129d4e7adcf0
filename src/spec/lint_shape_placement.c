#include "spec/lint_shape_placement.h"

#include <string.h>

#include "spec/lint_finding.h"
#include "spec/lint_suggest.h"

#include "base/banned.h"

/* The list as it is written, on one line, in the place of the %s. */
static void help_with_list(const struct jr_odd_shape *s, const char *before)
{
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT, text = JR_BUF_INIT;
    jr_doc_emit_line(&list, s->node);
    if (!list.failed)
        jr_buf_replaced(&text, before, "%s", list.data);
    if (!text.failed && text.len > 0)
        HELP(s, "%s", text.data);
}

/* nodes: [gpu01, gpu02] */
static bool shape_of_nodes(const struct jr_odd_shape *s)
{
    if (strcmp(s->path, "nodes") != 0 || s->node->kind != JR_NODE_SEQUENCE ||
        !jr_shape_are_words(s->node))
        return false;
    HELP(s, "names belong into hosts: [%s%s]; nodes is their number: %zu", s->node->items[0]->text,
         s->node->count > 1 ? ", ..." : "", s->node->count);
    return true;
}

/* hosts: {gpu01: 4} */
static bool shape_of_hosts(const struct jr_odd_shape *s)
{
    const struct jr_node *node = s->node;
    if (strcmp(s->path, "hosts") != 0 || node->kind != JR_NODE_MAPPING || node->count == 0 ||
        node->pairs[0].value->kind != JR_NODE_SCALAR || !jr_shape_are_words(node->pairs[0].value))
        return false;
    if (jr_scalar_type(node->pairs[0].value) != JR_SCALAR_INT) {
        HELP(s, "no file of hosts is read: write each host: [node1, node2]");
        return true;
    }
    const char *more = node->count > 1 ? ", ..." : "";
    HELP(s, "write hosts: [%s%s] and local_world_size: [%s%s]", node->pairs[0].key->text, more,
         node->pairs[0].value->text, more);
    return true;
}

/* 0: [--x] */
static bool shape_of_rank_entry(const struct jr_odd_shape *s)
{
    bool list = s->node->kind == JR_NODE_SEQUENCE;
    if (strncmp(s->path, "per_rank.", 9) != 0 || s->type->kind != JR_KIND_MAP ||
        (!list && !jr_shape_are_words(s->node)))
        return false;
    if (list)
        help_with_list(s, "write {args: %s}");
    else
        HELP(s, "write {args: [%s]}", s->text);
    return true;
}

/* per_rank: [{args: [a]}, {args: [b]}] */
static bool shape_of_ranks_list(const struct jr_odd_shape *s)
{
    if (strcmp(s->path, "per_rank") != 0 || s->node->kind != JR_NODE_SEQUENCE)
        return false;
    HELP(s, "write each below its rank: {0: {args: [...]}, 1: {env: {...}}}");
    return true;
}

/* device: [0, 1] and backends: [nccl] */
static bool shape_of_word_list(const struct jr_odd_shape *s)
{
    if (s->node->kind != JR_NODE_SEQUENCE || !jr_shape_are_words(s->node))
        return false;
    if (strcmp(s->path, "device") == 0)
        help_with_list(s, "which devices there are is said by devices: %s");
    else if (strcmp(s->path, "backends") == 0 && s->node->count == 1)
        HELP(s, "write backends: %s", s->node->items[0]->text);
    else
        return false;
    return true;
}

/* engine: local, engine: slurm, engine: {ssh: true} */
static bool shape_of_engine(const struct jr_odd_shape *s)
{
    bool engine = strcmp(s->path, "engine") == 0;
    bool below = strncmp(s->path, "engine.", 7) == 0 && strchr(s->path + 7, '.') == NULL;
    if (*s->text == '\0' || !jr_shape_are_words(s->node))
        return false;
    if (engine && (strcmp(s->text, "local") == 0 || strcmp(s->text, "none") == 0))
        HELP(s, "leave it out: ranks start on this machine");
    else if (engine && jr_field_get(s->type->fields, s->text) != NULL)
        HELP(s, "write engine: {%s: {}}", s->text);
    else if (below && strcmp(s->text, "true") == 0)
        HELP(s, "write engine: {%s: {}}", s->at->key);
    else
        return false;
    return true;
}

bool jr_shape_of_placement(const struct jr_odd_shape *s)
{
    return shape_of_nodes(s) || shape_of_hosts(s) || shape_of_rank_entry(s) ||
           shape_of_ranks_list(s) || shape_of_word_list(s) || shape_of_engine(s);
}
