#include "resolve/fingerprint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/did_you_mean.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/utf8.h"
#include "resolve/internal.h"
#include "resolve/spec_diff.h"
#include "spec/entry_arguments.h"
#include "spec/load.h"

#include "base/banned.h"

/* The field that a key, or an item, of a type leads to. */
static const struct jr_spec_type *step_into_type(const struct jr_spec_type *type, const char *key,
                                                 enum jr_part *part)
{
    const struct jr_spec_field *field;
    if (type->kind != JR_KIND_MAP)
        return type->item;
    field = jr_field_get(type->fields, key);
    if (field == NULL)
        return NULL;
    *part = field->part;
    return field->type;
}

enum jr_part jr_part_of(const char *path)
{
    enum jr_part part = JR_PART_EXPERIMENT;
    const struct jr_spec_type *type = jr_field_root();
    if (strncmp(path, "x-", 2) == 0)
        return JR_PART_LABEL;
    if (strcmp(path, "$schema") == 0)
        return JR_PART_SOURCE;
    for (size_t len; *path != '\0' && type != NULL; path += len) {
        char key[64] = "";
        path += *path == '.' || *path == '[';
        len = strcspn(path, ".[");
        if (len < sizeof key)
            (void)memcpy(key, path, len);
        type = step_into_type(type, key, &part);
    }
    return part;
}

const char *jr_part_word(enum jr_part part)
{
#define WORD(name, word) word,
    static const char *const words[] = {JR_PARTS(WORD)};
#undef WORD
    return words[part];
}

/* How process groups find each other is resolved, but only some of its values are of then. */
bool jr_part_moves(const char *key)
{
    const struct jr_spec_field *field = jr_field_get(jr_field_root()->fields, key);
    return field != NULL && field->need == JR_NEED_RESOLVED && field->part == JR_PART_PLACEMENT &&
           strcmp(key, "init_method") != 0;
}

/* Whether a value is the one that its field has if it is not stated. */
static bool is_default_value(const struct jr_spec_field *field, const struct jr_node *value)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    bool same = field->fallback != NULL;
    if (same && value->kind == JR_NODE_SCALAR)
        return field->type->kind == JR_KIND_BOOLEAN ? strcasecmp(value->text, field->fallback) == 0
                                                    : strcmp(value->text, field->fallback) == 0;
    if (!same || value->kind != JR_NODE_SEQUENCE)
        return false;
    const struct jr_strv items = jr_field_defaults(field, &arena);
    same = items.count == value->count;
    for (size_t i = 0; same && i < items.count; i++)
        same = value->items[i]->kind == JR_NODE_SCALAR &&
               strcmp(value->items[i]->text, items.items[i]) == 0;
    return same;
}

static void keep_fields(struct jr_node *node, const struct jr_spec_type *type);

static bool is_experiment_field(const struct jr_spec_field *field, struct jr_node *value)
{
    if (field == NULL || field->part != JR_PART_EXPERIMENT || is_default_value(field, value))
        return false;
    if (value->kind != JR_NODE_MAPPING)
        return true;
    keep_fields(value, field->type);
    return value->count > 0 || field->type->stated || field->type->kind != JR_KIND_MAP;
}

static void keep_fields(struct jr_node *node, const struct jr_spec_type *type)
{
    size_t kept = 0;
    bool named = type->kind == JR_KIND_NAMES && type->item != NULL;
    for (size_t i = 0; named && i < node->count; i++)
        if (node->pairs[i].value->kind == JR_NODE_MAPPING)
            keep_fields(node->pairs[i].value, type->item);
    if (type->kind != JR_KIND_MAP)
        return;
    for (size_t i = 0; i < node->count; i++) {
        const char *key = node->pairs[i].key->text;
        if (is_experiment_field(jr_field_get(type->fields, key), node->pairs[i].value))
            node->pairs[kept++] = node->pairs[i];
    }
    node->count = kept;
}

static bool is_text_value(const struct jr_node *mapping, const char *key, const char *text)
{
    const struct jr_node *value = mapping == NULL ? NULL : jr_doc_get(mapping, key);
    return value != NULL && text != NULL && value->kind == JR_NODE_SCALAR &&
           strcmp(value->text, text) == 0;
}

/* What the resolver derives: axes of one rank, the data axis, backends of axes that have the
 * default one, and where results come from. */
static void drop_derived(struct jr_node *root)
{
    static const char *const axes[] = {"model", "pipeline", "data"};
    struct jr_node *mesh = jr_doc_get(root, "parallelism");
    struct jr_node *backends = jr_doc_get(root, "backends");
    struct jr_node *results = jr_doc_get(root, "results");
    const struct jr_node *usual = backends == NULL ? NULL : jr_doc_get(backends, "default");
    bool returns = jr_call_returns(jr_doc_get(root, "entrypoint"));
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        if (mesh != NULL && (i == 2 || is_text_value(mesh, axes[i], "1")))
            jr_tree_leave_out(mesh, axes[i]);
        if (usual != NULL && is_text_value(backends, axes[i], usual->text))
            jr_tree_leave_out(backends, axes[i]);
    }
    if (is_text_value(results, "from", returns ? "return" : "file"))
        jr_tree_leave_out(results, "from");
    if (mesh != NULL && mesh->count == 0)
        jr_tree_leave_out(root, "parallelism");
}

void jr_part_keep_experiment(struct jr_node *root)
{
    keep_fields(root, jr_field_root());
    /* what only a function may state, and so has no default in the table */
    struct jr_node *python = jr_doc_find(root, "entrypoint.python");
    if (is_text_value(python, "smoke_test", "false"))
        jr_tree_leave_out(python, "smoke_test");
    if (is_text_value(python, "init", "none"))
        jr_tree_leave_out(python, "init");
    drop_derived(root);
}

static void set_path_text(struct jr_node *node, const char *text)
{
    if (text == NULL)
        return;
    node->text = text;
    node->len = (uint32_t)strlen(text);
}

/* A path as it is seen from the top of its git work tree. */
static void relate_path(struct jr_arena *arena, struct jr_node *node)
{
    JR_FREE char *top = node->text[0] == '/' ? jr_io_find_above(node->text, ".git") : NULL;
    if (top == NULL)
        return;
    const char *below = node->text + strlen(top);
    set_path_text(node, jr_arena_printf(arena, ".%s%s", *below == '/' ? "" : "/", below));
}

/* Whether `path` is `folder` or below it; both are absolute and folded. */
static bool is_path_below(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strcmp(folder, "/") == 0 ||
           (strncmp(path, folder, len) == 0 && (path[len] == '\0' || path[len] == '/'));
}

/* A path as it is seen from a folder, if both are below `top`. */
static void relate_path_to(struct jr_arena *arena, struct jr_node *node, const char *folder,
                           const char *top)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    char *above = jr_arena_strdup(arena, folder);
    if (above == NULL || node->text[0] != '/' || !is_path_below(node->text, top))
        return;
    while (!is_path_below(node->text, above)) {
        jr_buf_str(&text, "../");
        *strrchr(above, '/') = '\0';
    }
    const char *below = node->text + strlen(above);
    below += *below == '/';
    if (text.len == 0 && strchr(below, '/') == NULL)
        jr_buf_str(&text, *below == '\0' ? "." : "./");
    jr_buf_str(&text, below);
    if (text.len > 1 && text.data[text.len - 1] == '/')
        text.data[--text.len] = '\0';
    set_path_text(node, jr_buf_keep(&text, arena));
}

/* Paths as they are seen from `folder`, within `top`; NULL: each from the top of its own work tree.
 */
static void relate_paths(struct jr_arena *arena, const char *folder, const char *top,
                         struct jr_node *node, const struct jr_spec_type *type)
{
    for (size_t i = 0; node->kind == JR_NODE_MAPPING && i < node->count; i++) {
        enum jr_part part = JR_PART_EXPERIMENT;
        const struct jr_spec_type *below = step_into_type(type, node->pairs[i].key->text, &part);
        if (below != NULL && part == JR_PART_EXPERIMENT)
            relate_paths(arena, folder, top, node->pairs[i].value, below);
    }
    if (node->kind != JR_NODE_SCALAR || type->kind != JR_KIND_PATH)
        return;
    if (folder == NULL)
        relate_path(arena, node);
    else
        relate_path_to(arena, node, folder, top);
}

void jr_part_relate_paths(struct jr_arena *arena, struct jr_node *root)
{
    relate_paths(arena, NULL, NULL, root, jr_field_root());
}

void jr_part_relate_paths_to(struct jr_arena *arena, struct jr_node *root, const char *folder)
{
    JR_FREE char *top = jr_io_find_above(folder, ".git");
    relate_paths(arena, folder, top != NULL ? top : folder, root, jr_field_root());
}

/*
 * The canonical form: what makes the experiment of the resolved tree, without what is at its
 * default, paths from the git top level, keys sorted, scalars as LENGTH:TEXT however they were
 * quoted, null as `~`; among the arguments of a function, where 1 and "1" are two things, what is
 * not a string as =LENGTH:TEXT. The tree is a copy of the resolver's own: changing it in place is
 * fine.
 */

static int compare_pair_keys(const void *a, const void *b)
{
    const struct jr_pair *left = a, *right = b;
    return strcmp(left->key->text, right->key->text);
}

/* `typed`: among arguments. */
static void add_node(struct jr_buf *out, const struct jr_node *node, bool typed)
{
    enum jr_scalar_type type = JR_SCALAR_STRING;
    if (node->kind == JR_NODE_SCALAR)
        type = jr_scalar_type(node);
    if (node->kind == JR_NODE_MAPPING) {
        if (node->count > 0)
            qsort(node->pairs, node->count, sizeof *node->pairs, compare_pair_keys);
        jr_buf_printf(out, "{%zu", node->count);
        for (size_t i = 0; i < node->count; i++) {
            const char *key = node->pairs[i].key->text;
            bool arguments = strcmp(key, "args") == 0 || strcmp(key, "kwargs") == 0;
            add_node(out, node->pairs[i].key, false);
            add_node(out, node->pairs[i].value, typed || arguments);
        }
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

void jr_fingerprint(struct jr_resolution *resolution, const struct jr_spec_file *file)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
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
}

enum { LONGEST_SHOWN = 60 }; /* values are cut here in messages */

#define LOCK_SUFFIX ".lock.yaml"

void jr_lock_emit(struct jr_buf *out, const struct jr_resolution *resolution,
                  const struct jr_spec_file *file)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_node *kept = jr_resolved_tree(&arena, resolution, file);
    struct jr_node *root = jr_node_mapping(&arena);
    if (kept != NULL && root != NULL) {
        jr_part_keep_experiment(kept);
        jr_part_relate_paths_to(&arena, kept, jr_spec_folder_of(file));
        jr_node_set(&arena, root, "version", jr_node_scalar(&arena, "1", true));
        for (size_t i = 0; i < kept->count; i++)
            jr_node_add(&arena, root, kept->pairs[i].key, kept->pairs[i].value);
    }
    jr_buf_str(out, "# The experiment that a spec resolves to: made by `jobrun resolve "
                    "--lock`,\n# and held against the spec by --locked.\n");
    if (kept != NULL && root != NULL)
        jr_doc_emit(out, root);
    out->failed |= kept == NULL || root == NULL || arena.failed;
}

/* A value on one line, short enough to show. */
static const char *shown_value(struct jr_arena *arena, const struct jr_node *node)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    if (node == NULL)
        return "nothing";
    jr_doc_emit_line(&line, node);
    if (line.data == NULL)
        return "";
    size_t cut = jr_utf8_cut(line.data, line.len, LONGEST_SHOWN);
    jr_buf_escaped(&out, line.data, cut);
    jr_buf_str(&out, cut < line.len ? "..." : "");
    const char *text = jr_buf_keep(&out, arena);
    return text == NULL ? "" : text;
}

static void report_change(const struct jr_change *change, const struct jr_spec_file *file,
                          struct jr_arena *arena, struct jr_diags *diags)
{
    struct jr_span span = jr_spec_where_within(file, change->path);
    if (span.line == 0 && change->a != NULL)
        span = change->a->span;
    struct jr_diag *diag = jr_diags_error(
        diags, JR_CODE_LOCK_DIFFERS, span, change->path, "'%s' resolves to %s, but the lock has %s",
        change->path, shown_value(arena, change->b), shown_value(arena, change->a));
    if (change->a != NULL && change->a->span.source != span.source)
        jr_diag_relate(diags, diag, change->a->span, "locked here");
}

enum jr_status jr_lock_check(const struct jr_resolution *resolution,
                             const struct jr_spec_file *file, const char *path,
                             struct jr_arena *arena, struct jr_diags *diags)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_doc locked = JR_DOC_INIT, now = JR_DOC_INIT;
    enum jr_status status = JR_STATUS_INVALID;
    size_t before = diags->errors;
    const struct jr_source *source = jr_spec_doc(file)->source;
    if (path[0] == '\0') {
        /* train.lock.yaml for train.jobrun.yaml or train.yaml */
        size_t stem = jr_near_file_stem(source->name);
        path = source->name[stem] == '\0'
                   ? NULL
                   : jr_arena_printf(arena, "%.*s" LOCK_SUFFIX, (int)stem, source->name);
    }
    if (path == NULL) {
        (void)jr_diags_error(diags, JR_CODE_LOCK_UNREADABLE, (struct jr_span){0}, NULL,
                             "there is no file that the lock could be beside: "
                             "--locked=FILE names it");
        return JR_STATUS_INVALID;
    }
    if (access(path, R_OK) != 0) {
        struct jr_diag *diag =
            jr_diags_error(diags, JR_CODE_LOCK_UNREADABLE, (struct jr_span){.source = source}, NULL,
                           "the lock '%s' cannot be read: %s", path, strerror(errno));
        jr_diag_help(diags, diag, "make it: jobrun resolve %s --lock > %s", source->name, path);
        return JR_STATUS_INVALID;
    }
    jr_lock_emit(&text, resolution, file);
    if (!text.failed && jr_doc_load_file(&locked, path, diags) == 0 &&
        jr_doc_load(&now, "the spec", text.data, text.len, diags) == 0)
        status = JR_STATUS_OK;
    struct jr_changes changes = JR_CHANGES_INIT;
    if (status == JR_STATUS_OK)
        jr_changes_find(&changes, locked.root, now.root);
    for (size_t i = 0; i < changes.count; i++)
        report_change(&changes.items[i], file, arena, diags);
    bool failed = text.failed || changes.arena.failed;
    jr_changes_release(&changes);
    if (diags->errors > before) /* a key may stand twice */
        status = JR_STATUS_INVALID;
    jr_arena_adopt(arena, &locked.arena);
    jr_arena_adopt(arena, &now.arena);
    return failed || arena->failed ? JR_STATUS_LAUNCH : status;
}
