#include "resolve/spec_diff.h"

#include <string.h>

#include "doc/doc.h"
#include "resolve/internal.h"
#include "spec/load.h"

#include "base/banned.h"

static void compare_nodes(struct jr_changes *to, const char *path, const struct jr_node *a,
                          const struct jr_node *b);

/* Whether a path leads to what a function is called with, or into it. */
static bool is_argument(const char *path)
{
    static const char *const owners[] = {"entrypoint.", "per_rank."};
    size_t len = strlen(owners[0]);
    if (strncmp(path, owners[1], strlen(owners[1])) == 0)
        len = strlen(owners[1]) + strcspn(path + strlen(owners[1]), ".") + 1;
    else if (strncmp(path, owners[0], len) != 0)
        return false;
    return strlen(path) > len &&
           (strncmp(path + len, "args[", 5) == 0 || strncmp(path + len, "kwargs.", 7) == 0);
}

static bool is_kind_or_none(const struct jr_node *node, enum jr_node_kind kind)
{
    return node == NULL || node->kind == kind;
}

static bool same_scalar(const struct jr_node *a, const struct jr_node *b, bool argument)
{
    if (a->kind != JR_NODE_SCALAR || b->kind != JR_NODE_SCALAR)
        return false;
    enum jr_scalar_type type = jr_scalar_type(a), other = jr_scalar_type(b);
    bool none = type == JR_SCALAR_NULL;
    if (none != (other == JR_SCALAR_NULL) ||
        (argument && (type == JR_SCALAR_STRING) != (other == JR_SCALAR_STRING)))
        return false;
    return none || (a->len == b->len && memcmp(a->text, b->text, a->len) == 0);
}

static void add_change(struct jr_changes *to, const char *path, const struct jr_node *a,
                       const struct jr_node *b)
{
    struct jr_change *change = jr_arena_push(&to->arena, &to->items, &to->count, sizeof *change);
    if (change != NULL)
        *change = (struct jr_change){path, a, b};
}

/* Either can be NULL: then all of the other is new. */
static void compare_mappings(struct jr_changes *to, const char *path, const struct jr_node *a,
                             const struct jr_node *b)
{
    const struct jr_node *sides[] = {a, b};
    const char *dot = path[0] == '\0' ? "" : ".";
    for (unsigned side = 0; side < 2; side++) {
        const struct jr_node *node = sides[side], *other = sides[!side];
        const struct jr_key *sorted = other == NULL ? NULL : jr_keys_sort(&to->arena, other);
        for (size_t i = 0; node != NULL && i < node->count; i++) {
            const char *key = node->pairs[i].key->text;
            const struct jr_pair *pair = other == NULL ? NULL : jr_keys_find(other, sorted, key);
            const struct jr_node *value = node->pairs[i].value;
            if (side == 0)
                compare_nodes(to, jr_arena_printf(&to->arena, "%s%s%s", path, dot, key), value,
                              pair == NULL ? NULL : pair->value);
            else if (pair == NULL)
                compare_nodes(to, jr_arena_printf(&to->arena, "%s%s%s", path, dot, key), NULL,
                              value);
        }
    }
}

static void compare_nodes(struct jr_changes *to, const char *path, const struct jr_node *a,
                          const struct jr_node *b)
{
    if (path == NULL)
        return;
    bool argument = is_argument(path), both = a != NULL && b != NULL;
    if (argument && !both)
        add_change(to, path, a, b);
    else if (is_kind_or_none(a, JR_NODE_MAPPING) && is_kind_or_none(b, JR_NODE_MAPPING))
        compare_mappings(to, path, a, b);
    else if (both && a->kind == JR_NODE_SEQUENCE && b->kind == a->kind && a->count == b->count)
        for (size_t i = 0; i < a->count; i++)
            compare_nodes(to, jr_arena_printf(&to->arena, "%s[%zu]", path, i), a->items[i],
                          b->items[i]);
    else if (!both || !same_scalar(a, b, argument))
        add_change(to, path, a, b);
}

void jr_changes_find(struct jr_changes *ret, const struct jr_node *a, const struct jr_node *b)
{
    *ret = JR_CHANGES_INIT;
    compare_nodes(ret, "", a, b);
}

void jr_changes_release(struct jr_changes *changes)
{
    jr_arena_release(&changes->arena);
    *changes = JR_CHANGES_INIT;
}

static struct jr_node *resolved_tree_of(struct jr_arena *arena, const struct jr_diff_side *side)
{
    if (side->file == NULL)
        return NULL;
    struct jr_node *root = jr_resolved_tree(arena, side->resolution, side->file);
    if (root != NULL)
        jr_part_relate_paths(arena, root);
    return root;
}

/* The provenance of a resolved field, or of the one that an item is in. */
static const struct jr_provenance *find_origin(const struct jr_resolution *resolution,
                                               const char *path)
{
    size_t len = strcspn(path, "[");
    for (size_t i = 0; resolution != NULL && i < resolution->provenance_count; i++) {
        const struct jr_provenance *row = &resolution->provenance[i];
        if (strlen(row->field) == len && memcmp(row->field, path, len) == 0)
            return row;
    }
    return NULL;
}

static struct jr_diff_table_side field_side(struct jr_arena *arena, const char *path,
                                            const struct jr_node *node,
                                            const struct jr_diff_side *side)
{
    JR_BUF_CLEANUP struct jr_buf value = JR_BUF_INIT, from = JR_BUF_INIT;
    struct jr_diff_table_side ret = {0};
    if (node == NULL)
        return ret;
    const struct jr_provenance *origin = find_origin(side->resolution, path);
    jr_doc_emit_line(&value, node);
    ret.value = jr_buf_keep(&value, arena);
    ret.at = origin != NULL ? origin->span : node->span;
    if (origin == NULL && ret.at.line == 0)
        ret.at = jr_spec_where(side->file, path);
    if (ret.at.line != 0)
        return ret;
    if (origin != NULL)
        jr_explain_from(&from, side->resolution, origin);
    ret.from = origin == NULL ? "default" : jr_buf_keep(&from, arena);
    return ret;
}

/* How a spec is put together is not one of its values. The place of the records, if it is not
 * stated, depends on the current folder. Compared with nothing, only stated fields are shown. */
static bool is_row_shown(const struct jr_diff_table_row *row, const struct jr_diff_side *a,
                         const struct jr_diff_side *b)
{
    enum jr_part part = jr_part_of(row->name);
    const struct jr_diff_table_side *sides[] = {&row->a, &row->b};
    bool defaults = true;
    for (unsigned i = 0; i < 2; i++)
        defaults = defaults && sides[i]->at.line == 0 && sides[i]->from != NULL &&
                   strcmp(sides[i]->from, "default") == 0;
    if (part == JR_PART_SOURCE)
        return false;
    if (a->file != NULL && b->file != NULL)
        return part != JR_PART_RECORD || !defaults;
    return sides[a->file == NULL]->at.line != 0;
}

static void add_field_rows(struct jr_diff_table *to, const struct jr_changes *changes,
                           const struct jr_diff_side *a, const struct jr_diff_side *b)
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
