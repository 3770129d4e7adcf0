/*
 * The canonical form: the resolved tree, defaults filled, keys sorted, scalars
 * as LENGTH:TEXT however they were quoted, null as `~`. Left out is every field
 * that part.c has a row for.
 */
#include "fingerprint.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "part.h"
#include "tree.h"

#include "banned.h"

static int by_key(const void *a, const void *b)
{
    const struct jr_pair *left = a, *right = b;
    return strcmp(left->key->text, right->key->text);
}

static void add_node(struct jr_buf *out, const struct jr_node *node);

static void add_pairs(struct jr_buf *out, const struct jr_node *node)
{
    for (size_t i = 0; i < node->count; i++) {
        add_node(out, node->pairs[i].key);
        add_node(out, node->pairs[i].value);
    }
}

static void add_node(struct jr_buf *out, const struct jr_node *node)
{
    if (node->kind == JR_NODE_MAPPING) {
        if (node->count > 0)
            qsort(node->pairs, node->count, sizeof *node->pairs, by_key);
        jr_buf_printf(out, "{%zu", node->count);
        add_pairs(out, node);
    } else if (node->kind == JR_NODE_SEQUENCE) {
        jr_buf_printf(out, "[%zu", node->count);
        for (size_t i = 0; i < node->count; i++)
            add_node(out, node->items[i]);
    } else if (jr_scalar_type(node) == JR_SCALAR_NULL) {
        jr_buf_char(out, '~');
    } else {
        jr_buf_printf(out, "\"%u:", node->len);
        jr_buf_add(out, node->text, node->len);
    }
}

/* The tree is a copy of the resolver's own: sorting it in place is fine. */
static void drop_left_out(struct jr_node *root)
{
    size_t kept = 0;
    for (size_t i = 0; i < root->count; i++)
        if (jr_part_of(root->pairs[i].key->text) == JR_PART_EXPERIMENT)
            root->pairs[kept++] = root->pairs[i];
    root->count = kept;
}

void jr_fingerprint(struct jr_resolution *resolution,
                    const struct jr_spec_file *file)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_buf JR_BUF_CLEANUP text = JR_BUF_INIT;
    struct jr_node *root = jr_resolved_tree(&arena, resolution, file);
    if (root != NULL) {
        drop_left_out(root);
        add_node(&text, root);
    }
    if (root == NULL || text.failed)
        resolution->arena.failed = true;
    else
        jr_hash(resolution->job.fingerprint, text.data, text.len);
    jr_arena_release(&arena);
}
