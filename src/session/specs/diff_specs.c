#include "session/specs/diff_specs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/did_you_mean.h"
#include "base/io.h"
#include "doc/doc.h"
#include "doc/source_reader.h"
#include "record/record_folder.h"
#include "record/run_list.h"
#include "report/compare_runs.h"
#include "resolve/device_profile.h"
#include "session/internal.h"
#include "session/specs/comparison.h"
#include "session/specs/check_specs.h"
#include "session/sweep/show_sweep.h"
#include "vcs/revision.h"

#include "base/banned.h"

/* The path from the top of what lies below it; NULL for anything else. */
static const char *file_path_from_top(const struct jr_revision *revision, const char *path)
{
    const char *top = jr_revision_top(revision);
    size_t len = strlen(top);
    if (strncmp(path, top, len) != 0 || path[len] != '/')
        return NULL;
    return path + len + 1;
}

/* What is known of a file at `path`, absolute. */
static struct jr_file file_at(struct jr_arena *arena, const struct jr_revision *revision,
                              const char *path)
{
    const char *slash = strrchr(path, '/');
    return (struct jr_file){
        .id = jr_arena_strdup(arena, path),
        .name = jr_arena_printf(arena, "%s:%s", jr_revision_name(revision),
                                file_path_from_top(revision, path)),
        .folder = jr_arena_strndup(arena, path, (size_t)(slash - path)),
    };
}

static int read_parent(const struct jr_reader *reader, struct jr_reading *reading,
                       struct jr_error *err)
{
    struct jr_revision *revision = (struct jr_revision *)reader->context;
    JR_FREE char *path = jr_io_absolute(reading->from->folder, reading->path);
    if (path == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    const char *rest = file_path_from_top(revision, path);
    reading->outside = rest == NULL;
    if (rest == NULL)
        return jr_error_set(err, JR_STATUS_INVALID, "it is not below %s",
                            jr_revision_top(revision));
    reading->file = file_at(reading->arena, revision, path);
    if (reading->arena->failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    return jr_revision_read(revision, rest, JR_DOC_MAX_BYTES, &reading->text, err);
}

/* Load the spec at `path`, which is from the top, as it was at the revision; `envp` is what
 * ${env:NAME} reads. What is not known is no mistake; what keeps it from being read is a finding
 * too. */
static int load_past_spec(struct jr_spec_file **ret, struct jr_revision *revision, const char *path,
                          char *const *envp, struct jr_diags *diags)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_error err = {0};
    int failed = -1;
    *ret = NULL;
    const char *full = jr_arena_printf(&arena, "%s/%s", jr_revision_top(revision), path);
    if (full == NULL)
        return -1;
    const struct jr_file file = file_at(&arena, revision, full);
    const struct jr_reader reader = {.read = read_parent, .context = revision};
    const struct jr_spec_options options = {
        .root = jr_revision_top(revision), .reader = &reader, .environ = envp, .validate = true};
    if (jr_revision_read(revision, path, JR_DOC_MAX_BYTES, &text, &err) != 0) {
        (void)jr_diags_error(diags, JR_CODE_FILE_UNREADABLE, (struct jr_span){0}, NULL, "%s",
                             err.text);
    } else if (!arena.failed) {
        const struct jr_spec_source source = {.name = file.name,
                                              .folder = file.folder,
                                              .text = text.len > 0 ? text.data : "",
                                              .len = text.len};
        failed = jr_spec_load(ret, &source, &options, diags);
    }
    return failed;
}

static const char *side_log_dir(const struct jr_side *side, const struct jr_diff_options *options)
{
    return side->cells != NULL ? side->cells : options->log_dir;
}

static bool is_template(const struct jr_side *side)
{
    return side->file != NULL && jr_spec_get(side->file) == NULL;
}

static int load_side_file(struct jr_side *ret, const char *path, char *const *envp,
                          struct jr_diags *diags)
{
    const struct jr_spec_source source = {.path = path};
    const struct jr_spec_options options = {.validate = true, .environ = envp};
    ret->name = path;
    return jr_spec_load(&ret->file, &source, &options, diags);
}

/* What a run was: its resolved.yaml. Whose it is that is not ours is said. */
static enum jr_status load_run(struct jr_side *side, const struct jr_diff_options *options,
                               const char *word, struct jr_diags *diags, struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    const char *log_dir = side_log_dir(side, options);
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_record_origin origin;
    enum jr_status status = JR_STATUS_OK;
    jr_buf_str(&line, "note: ");
    if (options->note != NULL && jr_record_folder_doubt(&line, log_dir, side->run) && !line.failed)
        options->note(options->data, line.data);
    if (jr_record_origin(&origin, &arena, log_dir, side->run, err) != 0) {
        status = JR_STATUS_USAGE;
    } else {
        const char *path = jr_arena_printf(&arena, "%s/resolved.yaml", origin.run_dir);
        if (path == NULL || load_side_file(side, path, NULL, diags) != 0)
            status = JR_STATUS_INVALID;
        else if (origin.fingerprint != NULL)
            (void)snprintf(side->fingerprint, sizeof side->fingerprint, "%s", origin.fingerprint);
    }
    side->name = side->cells != NULL ? word : side->run;
    return status;
}

/* "REV:FILE": from the top, or, with a dot in front, from the current folder, as git has it. */
static enum jr_status load_revision(struct jr_side *side, const struct jr_diff_options *options,
                                    const char *word, struct jr_diags *diags, struct jr_error *err)
{
    struct jr_revision *revision = NULL;
    const char *path = strchr(word, ':') + 1;
    JR_FREE char *here = getcwd(NULL, 0);
    JR_FREE char *rev = strndup(word, (size_t)(path - 1 - word));
    struct jr_error why = {0};
    side->name = word;
    if (here == NULL || rev == NULL) {
        (void)jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
        return JR_STATUS_LAUNCH;
    }
    if (jr_revision_open(&revision, here, rev, options->environ, &why) != 0)
        return jr_session_fail(err, &why);
    bool dotted = strncmp(path, "./", 2) == 0 || strncmp(path, "../", 3) == 0;
    JR_FREE char *full = jr_io_absolute(dotted ? here : jr_revision_top(revision), path);
    const char *below = full == NULL ? NULL : file_path_from_top(revision, full);
    enum jr_status status = JR_STATUS_OK;
    if (below == NULL)
        below = full;
    if (full == NULL) {
        (void)jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
        status = JR_STATUS_LAUNCH;
    } else if (!jr_revision_has(revision, below)) {
        (void)jr_error_set(err, JR_STATUS_INVALID,
                           "there is no file '%s' at %s (paths start at the "
                           "top of the checkout; ./FILE starts here)",
                           below, jr_revision_name(revision));
        status = JR_STATUS_INVALID;
    } else if (load_past_spec(&side->file, revision, below, options->environ, diags) != 0)
        status = JR_STATUS_INVALID;
    jr_revision_close(revision);
    return status;
}

/* The run that is meant; where it is a sweep, its cell. */
static enum jr_status find_side_run(struct jr_side *side, const char *log_dir, const char *word,
                                    struct jr_error *err)
{
    struct jr_error why = {0};
    char sweep[256];
    const char *cell = strchr(word, '/');
    struct jr_buf typed JR_BUF_CLEANUP = JR_BUF_INIT;
    if (jr_sweep_find(sweep, log_dir, word)) {
        jr_record_words(&typed, log_dir, sweep);
        if (cell == NULL)
            (void)jr_error_set(&why, JR_STATUS_USAGE,
                               "%s is a sweep of %zu cells: name one of them, for "
                               "example %s/0; `jobrun show %s` lists them",
                               sweep, jr_sweep_count_cells(log_dir, sweep), word,
                               typed.failed ? word : typed.data);
        else if (jr_sweep_find_cell(&side->cells, side->run, log_dir, sweep, cell + 1, &why) == 0 &&
                 jr_sweep_check_begun(side->cells, side->run, word, NULL, &why) == 0)
            return JR_STATUS_OK;
        return jr_session_fail(err, &why);
    }
    bool run = cell == NULL || strstr(word, "/node_") != NULL;
    if (run && jr_record_find(side->run, log_dir, word, &why) == 0)
        return JR_STATUS_OK;
    JR_BUF_CLEANUP struct jr_buf near = JR_BUF_INIT;
    if (jr_near_file_find(&near, word))
        (void)jr_error_set(err, JR_STATUS_USAGE, "there is no file '%s'; did you mean '%s'?", word,
                           near.data);
    else
        (void)jr_error_set(err, JR_STATUS_USAGE,
                           "'%s' is not a file, a REV:FILE, or a run in %s%s%s", word, log_dir,
                           why.text[0] != '\0' ? ": " : "", why.text);
    return JR_STATUS_USAGE;
}

/* Load what `word` names: a file that is there, REV:FILE, a run, or a cell of a sweep. What is
 * wrong with a spec goes to `diags`, anything else to `err`. */
static enum jr_status load_side(struct jr_side *ret, const struct jr_diff_options *options,
                                const char *word, struct jr_diags *diags, struct jr_error *err)
{
    enum jr_status status = JR_STATUS_OK;
    if (strcmp(word, "-") == 0 || access(word, F_OK) == 0) {
        if (load_side_file(ret, word, options->environ, diags) != 0)
            status = JR_STATUS_INVALID;
    } else if (strchr(word, ':') != NULL) {
        status = load_revision(ret, options, word, diags, err);
    } else {
        status = find_side_run(ret, options->log_dir, word, err);
        if (status == JR_STATUS_OK)
            status = load_run(ret, options, word, diags, err);
    }
    if (status != JR_STATUS_OK || !is_template(ret))
        return status;
    (void)jr_error_set(err, JR_STATUS_INVALID, "%s is a template: there is nothing to resolve",
                       word);
    return JR_STATUS_INVALID;
}

static void note_unresolved(const struct jr_comparison *comparison,
                            const struct jr_diff_options *options)
{
    const struct jr_side *sides[] = {&comparison->a, &comparison->b};
    const char *line = options->on != NULL
                           ? "compared as they are written: one of them cannot be resolved "
                             "there (--on PROFILE: for another machine)"
                           : "compared as they are written: one of them cannot be resolved "
                             "on this machine (--on PROFILE: for another machine)";
    bool unresolved = false;
    for (size_t i = 0; i < 2; i++)
        unresolved |= !sides[i]->resolved && sides[i]->run[0] == '\0';
    if (unresolved && options->note != NULL)
        options->note(options->data, line);
}

enum jr_status jr_diff_two(struct jr_diff *ret, const struct jr_session *session,
                           char *const words[static 2], const struct jr_diff_options *options,
                           struct jr_error *err)
{
    struct jr_diags *diags = &ret->diags;
    struct jr_buf *out = &ret->text;
    struct jr_host host = session->host;
    *ret = (struct jr_diff){.text = {.width = options->width}, .sides = malloc(sizeof *ret->sides)};
    struct jr_comparison *sides = ret->sides;
    if (sides == NULL) {
        (void)jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
        return JR_STATUS_LAUNCH;
    }
    *sides = (struct jr_comparison)JR_COMPARISON_INIT;
    enum jr_status status = load_side(&sides->a, options, words[0], diags, err);
    if (status == JR_STATUS_OK)
        status = load_side(&sides->b, options, words[1], diags, err);
    if (status != JR_STATUS_OK)
        return status;
    /* The facts need not be those of this moment: no port is tried. Findings of sides that could be
     * loaded tell nothing of what differs. */
    host.real = false;
    jr_diags_release(diags);
    status = (enum jr_status)jr_comparison_make(sides, &host, diags, err);
    if (status != JR_STATUS_OK)
        return status;
    jr_diags_release(diags);
    if (sides->a.run[0] != '\0' && sides->b.run[0] != '\0') { /* runs have outcomes too */
        const struct jr_run_place places[] = {{side_log_dir(&sides->a, options), sides->a.run},
                                              {side_log_dir(&sides->b, options), sides->b.run}};
        if (jr_record_compare(&sides->runs, places, err) != 0 ||
            jr_code_contrast_make(&sides->code, places, options->environ, err) != 0)
            return JR_STATUS_LAUNCH;
    }
    note_unresolved(sides, options);
    if (options->format == JR_DIFF_JSON) {
        json_t *top = json_object(), *body = jr_comparison_json(sides, options->code);
        jr_json_set_int(top, "format_version", 1);
        (void)json_object_update(top, body);
        json_decref(body);
        jr_json_print(out, top, 2);
        jr_buf_char(out, '\n');
        json_decref(top);
    } else {
        (options->format == JR_DIFF_MARKDOWN ? jr_comparison_markdown : jr_comparison_text)(out,
                                                                                            sides);
        if (options->code)
            jr_code_contrast_patches(out, &sides->code);
    }
    ret->differs = jr_comparison_differs(sides);
    return JR_STATUS_OK;
}

void jr_diff_release(struct jr_diff *diff)
{
    jr_diags_release(&diff->diags);
    if (diff->sides != NULL)
        jr_comparison_release(diff->sides);
    free(diff->sides);
    jr_buf_release(&diff->text);
    jr_arena_release(&diff->arena);
}

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

/* The word's file, or specs below its folder. */
static void find_specs_before(struct tree *tree, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i < jr_revision_count(tree->revision); i++) {
        const char *path = jr_revision_path(tree->revision, i);
        const char *slash = strrchr(path, '/');
        bool below = len == 0 || (strncmp(path, word, len) == 0 && path[len] == '/');
        if (strcmp(path, word) != 0 &&
            !(below && jr_find_is_named(slash == NULL ? path : slash + 1)))
            continue;
        struct entry *entry = add_tree_entry(tree, path);
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
    if (!tree->diff->arena.failed)
        return JR_STATUS_OK;
    (void)jr_error_set(tree->err, JR_STATUS_LAUNCH, "out of memory");
    return JR_STATUS_LAUNCH;
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

static const char *entry_state(const struct jr_comparison *comparison, const char *wrong)
{
    if (wrong != NULL)
        return "invalid";
    if (comparison->a.name == NULL)
        return "added";
    return comparison->b.name == NULL ? "removed" : "changed";
}

static void add_diff_entry(struct tree *tree, const struct entry *entry,
                           const struct jr_comparison *comparison, const char *wrong)
{
    struct jr_buf *out = &tree->diff->text;
    const char *state = entry_state(comparison, wrong);
    bool marked = tree->options->format == JR_DIFF_MARKDOWN;
    tree->differ++;
    if (tree->options->format == JR_DIFF_JSON) {
        json_t *object = json_object();
        jr_json_set_str(object, "file", entry->path);
        jr_json_set_str(object, "state", state);
        jr_json_set_str(object, "message", wrong);
        if (wrong == NULL) {
            json_t *body = jr_comparison_json(comparison, false);
            (void)json_object_update(object, body);
            json_decref(body);
        }
        jr_json_append(tree->list, object);
        return;
    }
    jr_buf_str(out, out->len == 0 ? "" : "\n");
    if (marked) {
        jr_buf_str(out, "### ");
        jr_diff_table_code(out, entry->path);
        jr_buf_printf(out, " %s\n\n", state);
    } else {
        jr_buf_printf(out, "%s: ", state);
        jr_buf_escaped(out, entry->path, strlen(entry->path));
        jr_buf_char(out, '\n');
    }
    if (wrong != NULL)
        jr_buf_printf(out, "%s\n", wrong);
    else
        (marked ? jr_comparison_markdown : jr_comparison_text)(out, comparison);
}

/* Load both sides. Returns what is wrong with one, in a sentence, or NULL. */
static const char *load_entry_sides(struct tree *tree, const struct entry *entry,
                                    struct jr_comparison *comparison, struct jr_diags *diags)
{
    struct jr_side *a = &comparison->a, *b = &comparison->b;
    const char *rev = jr_revision_name(tree->revision);
    bool now = true, before = true;
    if (entry->now != NULL)
        now = load_side_file(b, entry->now, NULL, diags) == 0;
    if (entry->before) {
        a->name = jr_arena_printf(&tree->diff->arena, "%s:%s", rev, entry->path);
        before = load_past_spec(&a->file, tree->revision, entry->path, NULL, diags) == 0;
    }
    /* A template is no job: it counts through what extends it. */
    struct jr_side *const sides[] = {b, before ? a : b};
    for (size_t i = 0; i < 2; i++)
        if (is_template(sides[i])) {
            jr_spec_free(sides[i]->file);
            sides[i]->file = NULL;
            sides[i]->name = NULL;
        }
    tree->diff->invalid |= !now;
    if (!now)
        return "It has mistakes: `jobrun validate` shows them.";
    return before ? NULL : "It had mistakes before, so nothing can be compared.";
}

static enum jr_status visit_entry(struct tree *tree, const struct entry *entry)
{
    struct jr_comparison comparison = JR_COMPARISON_INIT;
    struct jr_diags diags = JR_DIAGS_INIT;
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
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

enum jr_status jr_diff_tree(struct jr_diff *ret, char *const *words, int count,
                            const struct jr_diff_options *options, struct jr_error *err)
{
    char dot[] = ".";
    char *const current[] = {dot, NULL};
    *ret = (struct jr_diff){.text = {.width = options->width}};
    struct tree tree = {.options = options, .diff = ret, .err = err, .list = json_array()};
    enum jr_status status = JR_STATUS_OK;
    struct jr_error why = {0};
    if (count == 0) {
        words = current;
        count = 1;
    }
    if (options->on != NULL &&
        jr_profile_load(&tree.on, &ret->arena, options->on, &ret->diags) != 0)
        status = jr_profile_status(&ret->diags, 0);
    /* The revision of the repository around what the first word names. */
    JR_FREE char *here = getcwd(NULL, 0);
    JR_FREE char *folder = here == NULL ? NULL : jr_io_absolute(here, words[0]);
    if (status == JR_STATUS_OK && folder == NULL)
        (void)jr_error_set(&why, JR_STATUS_LAUNCH, "out of memory");
    if (status == JR_STATUS_OK &&
        (folder == NULL ||
         jr_revision_open(&tree.revision, folder, options->rev, options->environ, &why) != 0))
        status = jr_session_fail(err, &why);
    if (status == JR_STATUS_OK)
        status = find_changed_specs(&tree, words, count);
    for (size_t i = 0; status == JR_STATUS_OK && i < tree.count; i++)
        status = visit_entry(&tree, &tree.entries[i]);
    if (status == JR_STATUS_OK)
        conclude_tree(&tree);
    ret->differs = tree.differ > 0;
    json_decref(tree.list);
    jr_revision_close(tree.revision);
    return status;
}
