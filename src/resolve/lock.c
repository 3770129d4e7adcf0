#include "resolve/lock.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/did_you_mean.h"
#include "base/utf8.h"
#include "resolve/fingerprint.h"
#include "resolve/resolved_tree.h"
#include "resolve/spec_diff.h"
#include "spec/load.h"

#include "base/banned.h"

enum { LONGEST_SHOWN = 60 }; /* values are cut here in messages */

#define LOCK_SUFFIX ".lock.yaml"

static struct jr_node *lock_tree(struct jr_arena *arena, const struct jr_resolution *resolution,
                                 const struct jr_spec_file *file)
{
    struct jr_node *kept = jr_resolved_tree(arena, resolution, file);
    struct jr_node *root = jr_node_mapping(arena);
    if (kept == NULL || root == NULL)
        return NULL;
    jr_part_keep_experiment(kept);
    jr_part_relate_paths_to(arena, kept, jr_spec_folder_of(file));
    jr_node_set(arena, root, "version", jr_node_scalar(arena, "1", true));
    for (size_t i = 0; i < kept->count; i++)
        jr_node_add(arena, root, kept->pairs[i].key, kept->pairs[i].value);
    return root;
}

void jr_lock_emit(struct jr_buf *out, const struct jr_resolution *resolution,
                  const struct jr_spec_file *file)
{
    struct jr_arena arena = JR_ARENA_INIT;
    const struct jr_node *root = lock_tree(&arena, resolution, file);
    jr_buf_str(out, "# The experiment that a spec resolves to: made by `jobrun resolve "
                    "--lock`,\n# and held against the spec by --locked.\n");
    if (root != NULL)
        jr_doc_emit(out, root);
    out->failed |= root == NULL || arena.failed;
    jr_arena_release(&arena);
}

/* train.lock.yaml for train.jobrun.yaml or train.yaml; NULL for what is no file. */
static const char *lock_beside(struct jr_arena *arena, const char *name)
{
    size_t len = jr_near_file_stem(name);
    return name[len] == '\0' ? NULL : jr_arena_printf(arena, "%.*s" LOCK_SUFFIX, (int)len, name);
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

static void report_missing_lock(const struct jr_spec_file *file, const char *path, int error,
                                struct jr_diags *diags)
{
    const struct jr_source *source = jr_spec_doc(file)->source;
    struct jr_diag *diag =
        jr_diags_error(diags, JR_CODE_LOCK_UNREADABLE, (struct jr_span){.source = source}, NULL,
                       "the lock '%s' cannot be read: %s", path, strerror(error));
    jr_diag_help(diags, diag, "make it: jobrun resolve %s --lock > %s", source->name, path);
}

/* Compare two texts of locks, whose trees live in `arena` from then on. */
static enum jr_status compare_locks(const struct jr_doc *locked, const struct jr_doc *now,
                                    const struct jr_spec_file *file, struct jr_arena *arena,
                                    struct jr_diags *diags)
{
    struct jr_changes changes = JR_CHANGES_INIT;
    size_t errors = diags->errors;
    jr_changes_find(&changes, locked->root, now->root);
    for (size_t i = 0; i < changes.count; i++)
        report_change(&changes.items[i], file, arena, diags);
    bool failed = changes.arena.failed;
    jr_changes_release(&changes);
    if (failed)
        return JR_STATUS_LAUNCH;
    return diags->errors > errors ? JR_STATUS_INVALID : JR_STATUS_OK;
}

enum jr_status jr_lock_check(const struct jr_resolution *resolution,
                             const struct jr_spec_file *file, const char *path,
                             struct jr_arena *arena, struct jr_diags *diags)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_doc locked = JR_DOC_INIT, now = JR_DOC_INIT;
    enum jr_status status = JR_STATUS_INVALID;
    size_t before = diags->errors;
    if (path[0] == '\0')
        path = lock_beside(arena, jr_spec_doc(file)->source->name);
    if (path == NULL) {
        (void)jr_diags_error(diags, JR_CODE_LOCK_UNREADABLE, (struct jr_span){0}, NULL,
                             "there is no file that the lock could be beside: "
                             "--locked=FILE names it");
        return JR_STATUS_INVALID;
    }
    if (access(path, R_OK) != 0) {
        report_missing_lock(file, path, errno, diags);
        return JR_STATUS_INVALID;
    }
    jr_lock_emit(&text, resolution, file);
    if (!text.failed && jr_doc_load_file(&locked, path, diags) == 0 &&
        jr_doc_load(&now, "the spec", text.data, text.len, diags) == 0)
        status = compare_locks(&locked, &now, file, arena, diags);
    if (status == JR_STATUS_OK && diags->errors > before) /* a key twice */
        status = JR_STATUS_INVALID;
    jr_arena_adopt(arena, &locked.arena);
    jr_arena_adopt(arena, &now.arena);
    return text.failed || arena->failed ? JR_STATUS_LAUNCH : status;
}
