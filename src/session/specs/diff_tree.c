#include "session/specs/diff_tree.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "resolve/device_profile.h"
#include "session/specs/comparison.h"
#include "session/specs/diff_side.h"
#include "session/specs/find_specs.h"

#include "base/banned.h"

/* A spec then or now. */
struct entry {
    const char *path; /* from the top */
    const char *now;  /* the file's name; NULL: it is gone */
    bool before;
};

struct tree {
    const struct jr_diff_options *options;
    struct jr_diff *diff;
    struct jr_error *err;
    struct jr_revision *revision;
    struct jr_host on; /* that of the option */
    struct entry *entries;
    size_t count;
    json_t *list; /* JSON: what differs */
    size_t differ, same;
};

/* The path from the top of what a word names; NULL: it lies elsewhere. "" is the top itself. */
static const char *word_path_from_top(struct tree *tree, const char *word)
{
    const char *top = jr_revision_top(tree->revision);
    size_t len = strlen(top);
    JR_FREE char *here = getcwd(NULL, 0);
    JR_FREE char *full = here == NULL ? NULL : jr_io_absolute(here, word);
    if (full == NULL || strncmp(full, top, len) != 0 || (full[len] != '/' && full[len] != '\0'))
        return NULL;
    return jr_arena_strdup(&tree->diff->arena, full[len] == '\0' ? "" : full + len + 1);
}

static struct entry *add_tree_entry(struct tree *tree, const char *path)
{
    struct entry *entry =
        jr_arena_push(&tree->diff->arena, &tree->entries, &tree->count, sizeof *entry);
    if (entry != NULL)
        entry->path = path;
    return entry;
}

/* Whether a path is the word's file, or a spec below its folder. */
static bool is_path_meant(const char *path, const char *word)
{
    size_t len = strlen(word);
    if (strcmp(path, word) == 0)
        return true;
    bool below = len == 0 || (strncmp(path, word, len) == 0 && path[len] == '/');
    const char *slash = strrchr(path, '/');
    return below && jr_find_is_named(slash == NULL ? path : slash + 1);
}

static void find_specs_before(struct tree *tree, const char *word)
{
    for (size_t i = 0; i < jr_revision_count(tree->revision); i++) {
        const char *path = jr_revision_path(tree->revision, i);
        struct entry *entry = is_path_meant(path, word) ? add_tree_entry(tree, path) : NULL;
        if (entry != NULL)
            entry->before = true;
    }
}

static void find_specs_now(struct tree *tree, char *word)
{
    struct jr_finds finds = {0};
    if (access(word, F_OK) == 0)
        jr_find_specs(&finds, &tree->diff->arena, &word, 1, NULL);
    for (size_t i = 0; i < finds.count; i++) {
        if (finds.items[i].why != NULL)
            continue;
        struct entry *entry = add_tree_entry(tree, word_path_from_top(tree, finds.items[i].path));
        if (entry != NULL)
            entry->now = finds.items[i].path;
    }
}

static int compare_tree_paths(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

/* One entry for what there was and what there is. */
static void join_entry_versions(struct tree *tree)
{
    size_t kept = 0;
    if (tree->count == 0 || tree->diff->arena.failed)
        return;
    qsort(tree->entries, tree->count, sizeof *tree->entries, compare_tree_paths);
    for (size_t i = 0; i < tree->count; i++) {
        struct entry *last = kept == 0 ? NULL : &tree->entries[kept - 1];
        if (last == NULL || strcmp(last->path, tree->entries[i].path) != 0) {
            tree->entries[kept++] = tree->entries[i];
            continue;
        }
        last->before |= tree->entries[i].before;
        if (last->now == NULL)
            last->now = tree->entries[i].now;
    }
    tree->count = kept;
}

static enum jr_status refuse_tree(struct tree *tree, enum jr_status status, const char *why)
{
    (void)jr_error_set(tree->err, status, "%s", why);
    return status;
}

static enum jr_status find_changed_specs(struct tree *tree, char *const *words, int count)
{
    for (int i = 0; i < count; i++) {
        const char *path = word_path_from_top(tree, words[i]);
        if (path == NULL) {
            (void)jr_error_set(tree->err, JR_STATUS_USAGE, "'%s' is not in the repository at %s",
                               words[i], jr_revision_top(tree->revision));
            return JR_STATUS_USAGE;
        }
        find_specs_before(tree, path);
        find_specs_now(tree, words[i]);
    }
    join_entry_versions(tree);
    if (tree->diff->arena.failed)
        return refuse_tree(tree, JR_STATUS_LAUNCH, "out of memory");
    return JR_STATUS_OK;
}

/* The machine to resolve for, or NULL: --on, or the first target of now, else of then. */
static const struct jr_host *choose_facts(const struct tree *tree,
                                          const struct jr_comparison *comparison,
                                          struct jr_arena *arena, struct jr_host *room)
{
    const struct jr_spec_file *files[] = {comparison->b.file, comparison->a.file};
    struct jr_diags diags = JR_DIAGS_INIT;
    bool found = false;
    if (tree->options->on != NULL)
        return &tree->on;
    for (size_t i = 0; i < 2 && !found; i++) {
        const struct jr_spec *spec = files[i] == NULL ? NULL : jr_spec_get(files[i]);
        found = spec != NULL && spec->targets_count > 0 &&
                jr_profile_load(room, arena, spec->targets[0], &diags) == 0;
    }
    jr_diags_release(&diags);
    return found ? room : NULL;
}

/* A template is no job: it counts through what extends it. */
static void drop_template(struct jr_side *side)
{
    if (!jr_side_is_template(side))
        return;
    jr_spec_free(side->file);
    side->file = NULL;
    side->name = NULL;
}

static const char *entry_state(const struct jr_comparison *comparison, const char *wrong)
{
    if (wrong != NULL)
        return "invalid";
    if (comparison->a.name == NULL)
        return "added";
    return comparison->b.name == NULL ? "removed" : "changed";
}

static void add_entry_text(struct tree *tree, const struct entry *entry,
                           const struct jr_comparison *comparison, const char *wrong)
{
    struct jr_buf *out = &tree->diff->text;
    jr_buf_printf(out, "%s%s: ", out->len == 0 ? "" : "\n", entry_state(comparison, wrong));
    jr_buf_escaped(out, entry->path, strlen(entry->path));
    jr_buf_char(out, '\n');
    if (wrong != NULL)
        jr_buf_printf(out, "%s\n", wrong);
    else
        jr_comparison_text(out, comparison);
}

static void add_markdown(struct tree *tree, const struct entry *entry,
                         const struct jr_comparison *comparison, const char *wrong)
{
    struct jr_buf *out = &tree->diff->text;
    jr_buf_str(out, out->len == 0 ? "### " : "\n### ");
    jr_diff_table_code(out, entry->path);
    jr_buf_printf(out, " %s\n\n", entry_state(comparison, wrong));
    if (wrong != NULL)
        jr_buf_printf(out, "%s\n", wrong);
    else
        jr_comparison_markdown(out, comparison);
}

static void add_entry_json(struct tree *tree, const struct entry *entry,
                           const struct jr_comparison *comparison, const char *wrong)
{
    json_t *object = json_object();
    jr_json_set_str(object, "file", entry->path);
    jr_json_set_str(object, "state", entry_state(comparison, wrong));
    jr_json_set_str(object, "message", wrong);
    if (wrong == NULL) {
        json_t *body = jr_comparison_json(comparison, false);
        (void)json_object_update(object, body);
        json_decref(body);
    }
    jr_json_append(tree->list, object);
}

static void add_diff_entry(struct tree *tree, const struct entry *entry,
                           const struct jr_comparison *comparison, const char *wrong)
{
    static void (*const writers[])(struct tree *, const struct entry *,
                                   const struct jr_comparison *, const char *) = {
        [JR_DIFF_TEXT] = add_entry_text,
        [JR_DIFF_JSON] = add_entry_json,
        [JR_DIFF_MARKDOWN] = add_markdown,
    };
    tree->differ++;
    writers[tree->options->format](tree, entry, comparison, wrong);
}

/* Load both sides. Returns what is wrong with one, in a sentence, or NULL. */
static const char *load_entry_sides(struct tree *tree, const struct entry *entry,
                                    struct jr_comparison *comparison, struct jr_diags *diags)
{
    struct jr_side *a = &comparison->a, *b = &comparison->b;
    const char *rev = jr_revision_name(tree->revision);
    bool now = true, before = true;
    if (entry->now != NULL)
        now = jr_side_load_file(b, entry->now, NULL, diags) == 0;
    if (entry->before) {
        a->name = jr_arena_printf(&tree->diff->arena, "%s:%s", rev, entry->path);
        before = jr_rev_load(&a->file, tree->revision, entry->path, NULL, diags) == 0;
    }
    drop_template(b);
    if (before)
        drop_template(a);
    tree->diff->invalid |= !now;
    if (!now)
        return "It has mistakes: `jobrun validate` shows them.";
    return before ? NULL : "It had mistakes before, so nothing can be compared.";
}

static enum jr_status visit_entry(struct tree *tree, const struct entry *entry)
{
    struct jr_comparison comparison = JR_COMPARISON_INIT;
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_host room = {0};
    const char *wrong = load_entry_sides(tree, entry, &comparison, &diags);
    int status = 0;
    if (wrong == NULL) {
        const struct jr_host *host = choose_facts(tree, &comparison, &arena, &room);
        status = jr_comparison_make(&comparison, host, &diags, tree->err);
    }
    if (status == JR_STATUS_INVALID) {
        wrong = "It contradicts itself: `jobrun validate` shows where.";
        tree->diff->invalid = true;
        status = 0;
    }
    bool any = comparison.a.name != NULL || comparison.b.name != NULL;
    if (status == 0 && (wrong != NULL || (any && jr_comparison_differs(&comparison))))
        add_diff_entry(tree, entry, &comparison, wrong);
    else if (status == 0)
        tree->same += any;
    jr_diags_release(&diags);
    jr_comparison_release(&comparison);
    jr_arena_release(&arena);
    return (enum jr_status)status;
}

/* What is said of all of them. */
static void conclude_tree(struct tree *tree)
{
    struct jr_buf *out = &tree->diff->text;
    if (tree->options->format == JR_DIFF_JSON) {
        json_t *top = json_object();
        jr_json_set_int(top, "format_version", 1);
        jr_json_set_str(top, "rev", jr_revision_name(tree->revision));
        jr_json_set_int(top, "same", (json_int_t)tree->same);
        (void)json_object_set(top, "specs", tree->list);
        jr_json_print(out, top, 2);
        jr_buf_char(out, '\n');
        json_decref(top);
        return;
    }
    bool marked = tree->options->format == JR_DIFF_MARKDOWN;
    jr_buf_printf(out, "%s%zu of %zu spec%s differ%s from ", tree->differ == 0 ? "" : "\n",
                  tree->differ, tree->differ + tree->same,
                  tree->differ + tree->same == 1 ? "" : "s", tree->differ == 1 ? "s" : "");
    if (marked)
        jr_diff_table_code(out, jr_revision_name(tree->revision));
    else
        jr_buf_escaped(out, jr_revision_name(tree->revision),
                       strlen(jr_revision_name(tree->revision)));
    jr_buf_char(out, '\n');
}

/* Open the revision of the repository around what the first word names. */
static enum jr_status open_revision(struct tree *tree, const char *word)
{
    JR_FREE char *here = getcwd(NULL, 0);
    JR_FREE char *folder = here == NULL ? NULL : jr_io_absolute(here, word);
    struct jr_error why = {0};
    if (folder == NULL)
        return refuse_tree(tree, JR_STATUS_LAUNCH, "out of memory");
    if (jr_revision_open(&tree->revision, folder, tree->options->rev, tree->options->environ,
                         &why) != 0)
        return refuse_tree(tree, why.status, why.text);
    return JR_STATUS_OK;
}

static enum jr_status visit_tree(struct tree *tree, char *const *words, int count)
{
    const char *on = tree->options->on;
    struct jr_diags *diags = &tree->diff->diags;
    if (on != NULL && jr_profile_load(&tree->on, &tree->diff->arena, on, diags) != 0)
        return jr_profile_status(diags, 0);
    enum jr_status status = open_revision(tree, words[0]);
    if (status == JR_STATUS_OK)
        status = find_changed_specs(tree, words, count);
    for (size_t i = 0; status == JR_STATUS_OK && i < tree->count; i++)
        status = visit_entry(tree, &tree->entries[i]);
    return status;
}

enum jr_status jr_diff_tree(struct jr_diff *ret, char *const *words, int count,
                            const struct jr_diff_options *options, struct jr_error *err)
{
    char here[] = ".";
    char *const current[] = {here, NULL};
    *ret = (struct jr_diff){.text = {.width = options->width}};
    struct tree tree = {.options = options, .diff = ret, .err = err, .list = json_array()};
    enum jr_status status =
        count > 0 ? visit_tree(&tree, words, count) : visit_tree(&tree, current, 1);
    if (status == JR_STATUS_OK)
        conclude_tree(&tree);
    ret->differs = tree.differ > 0;
    json_decref(tree.list);
    jr_revision_close(tree.revision);
    return status;
}
