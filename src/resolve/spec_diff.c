#include "resolve/spec_diff.h"

#include <string.h>

#include "resolve/explain.h"
#include "resolve/resolved_tree.h"
#include "resolve/tree_diff.h"
#include "spec/load.h"

#include "base/banned.h"

static struct jr_node *resolved_tree_of(struct jr_arena *arena,
                                        const struct jr_diff_side *side)
{
    if (side->file == NULL)
        return NULL;
    struct jr_node *root =
        jr_resolved_tree(arena, side->resolution, side->file);
    if (root != NULL)
        jr_part_relate_paths(arena, root);
    return root;
}

/* The provenance of a resolved field, or of the one that an item is in. */
static const struct jr_provenance *find_origin(
    const struct jr_resolution *resolution, const char *path)
{
    size_t len = strcspn(path, "[");
    for (size_t i = 0; resolution != NULL && i < resolution->provenance_count;
         i++) {
        const struct jr_provenance *row = &resolution->provenance[i];
        if (strlen(row->field) == len && memcmp(row->field, path, len) == 0)
            return row;
    }
    return NULL;
}

static const char *node_line(struct jr_arena *arena, const struct jr_node *node)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_doc_emit_line(&text, node);
    return jr_buf_keep(&text, arena);
}

static const char *explain_origin(struct jr_arena *arena,
                                  const struct jr_resolution *resolution,
                                  const struct jr_provenance *row)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_explain_from(&text, resolution, row);
    return jr_buf_keep(&text, arena);
}

static struct jr_diff_table_side field_side(struct jr_arena *arena,
                                            const char *path,
                                            const struct jr_node *node,
                                            const struct jr_diff_side *side)
{
    struct jr_diff_table_side ret = {0};
    if (node == NULL)
        return ret;
    const struct jr_provenance *origin = find_origin(side->resolution, path);
    ret.value = node_line(arena, node);
    ret.at = origin != NULL ? origin->span : node->span;
    if (origin == NULL && ret.at.line == 0)
        ret.at = jr_spec_where(side->file, path);
    if (ret.at.line != 0)
        return ret;
    ret.from = origin == NULL ? "default"
                              : explain_origin(arena, side->resolution, origin);
    return ret;
}

static bool is_side_default(const struct jr_diff_table_side *side)
{
    return side->at.line == 0 && side->from != NULL &&
           strcmp(side->from, "default") == 0;
}

/* How a spec is put together is not one of its values. The place of the
 * records, if it is not stated, depends on the current folder. Compared with
 * nothing, only stated fields are shown. */
static bool is_row_shown(const struct jr_diff_table_row *row,
                         const struct jr_diff_side *a,
                         const struct jr_diff_side *b)
{
    enum jr_part part = jr_part_of(row->name);
    if (part == JR_PART_SOURCE)
        return false;
    if (a->file != NULL && b->file != NULL)
        return part != JR_PART_RECORD || !is_side_default(&row->a) ||
               !is_side_default(&row->b);
    return (a->file == NULL ? &row->b : &row->a)->at.line != 0;
}

static void add_field_rows(struct jr_diff_table *to,
                           const struct jr_changes *changes,
                           const struct jr_diff_side *a,
                           const struct jr_diff_side *b)
{
    for (size_t i = 0; i < changes->count; i++) {
        const struct jr_change *change = &changes->items[i];
        struct jr_diff_table_row *row = jr_diff_table_add(to, change->path);
        if (row == NULL || row->name == NULL)
            return;
        row->part = jr_part_word(jr_part_of(change->path));
        row->a = field_side(&to->arena, row->name, change->a, a);
        row->b = field_side(&to->arena, row->name, change->b, b);
        if (!is_row_shown(row, a, b))
            to->count--;
    }
}

int jr_diff_make(struct jr_diff_table *ret, const struct jr_diff_side *a,
                 const struct jr_diff_side *b, struct jr_error *err)
{
    struct jr_diff_table diff = JR_DIFF_TABLE_INIT;
    struct jr_changes changes = JR_CHANGES_INIT;
    const struct jr_node *left = resolved_tree_of(&diff.arena, a);
    const struct jr_node *right = resolved_tree_of(&diff.arena, b);
    if (!diff.arena.failed)
        jr_changes_find(&changes, left, right);
    add_field_rows(&diff, &changes, a, b);
    bool failed = diff.arena.failed || changes.arena.failed;
    jr_changes_release(&changes);
    if (failed) {
        jr_diff_table_release(&diff);
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    }
    *ret = diff;
    return 0;
}

bool jr_diff_is_same(const struct jr_diff_table *diff)
{
    const char *experiment = jr_part_word(JR_PART_EXPERIMENT);
    for (size_t i = 0; i < diff->count; i++)
        if (strcmp(diff->rows[i].part, experiment) == 0)
            return false;
    return true;
}
