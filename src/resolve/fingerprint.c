/*
 * The canonical form: what makes the experiment of the resolved tree, without
 * what is at its default, paths from the git top level, keys sorted, scalars as
 * LENGTH:TEXT however they were quoted, null as `~`; among the arguments of a
 * function, where 1 and "1" are two things, what is not a string as
 * =LENGTH:TEXT. The tree is a copy of the resolver's own: changing it in place
 * is fine.
 */
#include "resolve/fingerprint.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "resolve/field_part.h"
#include "resolve/resolved_tree.h"

#include "base/banned.h"

static int compare_pair_keys(const void *a, const void *b)
{
    const struct jr_pair *left = a, *right = b;
    return strcmp(left->key->text, right->key->text);
}

/* `typed`: among arguments. */
static void add_node(struct jr_buf *out, const struct jr_node *node,
                     bool typed);

static void add_pairs(struct jr_buf *out, const struct jr_node *node,
                      bool typed)
{
    for (size_t i = 0; i < node->count; i++) {
        const char *key = node->pairs[i].key->text;
        bool arguments = strcmp(key, "args") == 0 || strcmp(key, "kwargs") == 0;
        add_node(out, node->pairs[i].key, false);
        add_node(out, node->pairs[i].value, typed || arguments);
    }
}

static void add_node(struct jr_buf *out, const struct jr_node *node, bool typed)
{
    enum jr_scalar_type type = JR_SCALAR_STRING;
    if (node->kind == JR_NODE_SCALAR)
        type = jr_scalar_type(node);
    if (node->kind == JR_NODE_MAPPING) {
        if (node->count > 0)
            qsort(node->pairs, node->count, sizeof *node->pairs,
                  compare_pair_keys);
        jr_buf_printf(out, "{%zu", node->count);
        add_pairs(out, node, typed);
    } else if (node->kind == JR_NODE_SEQUENCE) {
        jr_buf_printf(out, "[%zu", node->count);
        for (size_t i = 0; i < node->count; i++)
            add_node(out, node->items[i], typed);
    } else if (type == JR_SCALAR_NULL) {
        jr_buf_char(out, '~');
    } else {
        char mark = typed && type != JR_SCALAR_STRING ? '=' : '"';
        jr_buf_printf(out, "%c%u:", mark, node->len);
        jr_buf_add(out, node->text, node->len);
    }
}

void jr_fingerprint(struct jr_resolution *resolution,
                    const struct jr_spec_file *file)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_buf JR_BUF_CLEANUP text = JR_BUF_INIT;
    struct jr_node *root = jr_resolved_tree(&arena, resolution, file);
    if (root != NULL) {
        jr_part_keep_experiment(root);
        jr_part_relate_paths(&arena, root);
        add_node(&text, root, false);
    }
    if (root == NULL || text.failed)
        resolution->arena.failed = true;
    else
        jr_hash(resolution->job.fingerprint, text.data, text.len);
    jr_arena_release(&arena);
}
