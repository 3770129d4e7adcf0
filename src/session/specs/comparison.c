#include "session/specs/comparison.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "judge/judge.h"
#include "record/record_folder.h"
#include "resolve/spec_diff.h"
#include "store/run_folder.h"
#include "vcs/git.h"

#include "base/banned.h"

enum { MOST_PATCH = 4 << 20, MOST_SHOWN = 10, LIMIT_MS = 10000, SHORT = 12 };

#define HEAD "diff --git "

/* A file of a patch, or of the difference of two commits. The names of its contents are NULL where
 * they are not known. */
struct change {
    const char *path, *before, *behind;
};

struct changes {
    struct jr_arena *arena;
    struct change *items;
    size_t count;
};

static void add_change(struct changes *to, struct change change)
{
    struct change *slot = jr_arena_push(to->arena, &to->items, &to->count, sizeof *slot);
    if (slot != NULL)
        *slot = change;
}

static int compare_changes(const void *a, const void *b)
{
    return strcmp(((const struct change *)a)->path, ((const struct change *)b)->path);
}

static const struct change *find_change(const struct changes *changes, const char *path)
{
    const struct change wanted = {.path = path};
    return changes->count == 0
               ? NULL
               : bsearch(&wanted, changes->items, changes->count, sizeof wanted, compare_changes);
}

/* A file of a patch. Its head is "a/PATH b/PATH", whose halves are of one length, as nothing is
 * renamed; each in quotes where the path has bytes that need them. "index BEFORE..BEHIND 100644" is
 * in the lines before the text; where there is none only the mode has changed: then the whole says
 * what it is. */
static void read_piece(struct changes *to, const char *text, size_t len)
{
    static const char hex[] = "0123456789abcdef";
    struct jr_arena *arena = to->arena;
    const char *head = text + sizeof HEAD - 1, *line = memchr(text, '\n', len);
    const char *end = memmem(text, len, "\n@@", 3);
    size_t head_len = end == NULL ? len : (size_t)(end - text);
    const char *index = memmem(text, head_len, "\nindex ", 7);
    struct change change = {0};
    if (line == NULL || line < head)
        return;
    const char *half = head + ((size_t)(line - head) + 1) / 2;
    size_t rest = (size_t)(line - half);
    if (rest > 4 && half[0] == '"')
        change.path = jr_arena_strndup(arena, half + 3, rest - 4);
    else if (rest > 2)
        change.path = jr_arena_strndup(arena, half + 2, rest - 2);
    if (index == NULL) {
        change.behind = jr_arena_strndup(arena, text, head_len);
    } else {
        index += 7;
        size_t before = strspn(index, hex);
        change.before = jr_arena_strndup(arena, index, before);
        if (strncmp(index + before, "..", 2) == 0)
            change.behind =
                jr_arena_strndup(arena, index + before + 2, strspn(index + before + 2, hex));
    }
    if (change.path != NULL)
        add_change(to, change);
}

static void read_patch(struct changes *to, const struct jr_buf *patch)
{
    const char *at = patch->data;
    const char *end = patch->len == 0 ? NULL : at + patch->len;
    if (patch->len < sizeof HEAD || strncmp(at, HEAD, sizeof HEAD - 1) != 0)
        return;
    while (at < end) {
        const char *next = memmem(at, (size_t)(end - at), "\n" HEAD, sizeof HEAD);
        size_t len = (size_t)((next == NULL ? end : next + 1) - at);
        read_piece(to, at, len);
        at += len;
    }
    if (to->count > 1)
        qsort(to->items, to->count, sizeof *to->items, compare_changes);
}

static bool is_object(const char *text)
{
    size_t len = text == NULL ? 0 : strspn(text, "0123456789abcdef");
    return (len == 40 || len == 64) && text[len] == '\0';
}

/* ":100644 100644 OBJECT OBJECT M", a NUL, the path, and a NUL. */
static void read_raw(struct changes *to, const struct jr_buf *raw)
{
    for (size_t at = 0; at < raw->len;) {
        char *words = jr_arena_strdup(to->arena, raw->data + at);
        at += strlen(raw->data + at) + 1;
        if (words == NULL || at >= raw->len)
            return;
        const char *path = jr_arena_strdup(to->arena, raw->data + at);
        at += strlen(raw->data + at) + 1;
        char *fields[5] = {words};
        size_t count = 1;
        for (char *blank = strchr(words, ' '); blank != NULL && count < 5;
             blank = strchr(blank + 1, ' ')) {
            *blank = '\0';
            fields[count++] = blank + 1;
        }
        if (count == 5)
            add_change(to, (struct change){path, fields[2], fields[3]});
    }
    if (to->count > 1)
        qsort(to->items, to->count, sizeof *to->items, compare_changes);
}

/* What the commits have differently, where they are here. */
static void read_commits(struct jr_code_contrast *contrast, struct changes *to, char *const *envp)
{
    const char *const commits[] = {contrast->a.code.commit, contrast->b.code.commit};
    const char *const tops[] = {contrast->b.code.top, contrast->a.code.top};
    JR_BUF_CLEANUP struct jr_buf raw = JR_BUF_INIT;
    const struct jr_task_sink sink = {jr_git_keep, &raw};
    contrast->partial = commits[0] != NULL || commits[1] != NULL;
    if (!is_object(commits[0]) || !is_object(commits[1]))
        return;
    if (strcmp(commits[0], commits[1]) == 0) {
        contrast->partial = false;
        return;
    }
    const char *const words[] = {"diff-tree",    "-r",       "-z",       "--raw", "--no-abbrev",
                                 "--no-renames", commits[0], commits[1], "--",    NULL};
    for (size_t i = 0; i < 2 && contrast->partial; i++) {
        const struct jr_git_command command = {.folder = tops[i], .words = words, .envp = envp};
        const struct jr_task_limit limit = {jr_clock_ns() + LIMIT_MS * UINT64_C(1000000), -1};
        jr_buf_clear(&raw);
        contrast->partial = tops[i] == NULL || tops[i][0] != '/' ||
                            jr_git_run(&command, NULL, &sink, &limit, NULL) != 0;
    }
    if (!contrast->partial)
        read_raw(to, &raw);
}

/* The name of what a run had at the path. */
static const char *name_of(const struct changes *own, const struct changes *other,
                           const char *commit, const char *path)
{
    const struct change *change = find_change(own, path);
    if (change != NULL)
        return change->behind;
    if (commit != NULL)
        return commit;
    change = find_change(other, path);
    return change == NULL ? NULL : change->before;
}

static bool holds_text(const struct jr_strv *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], text) == 0)
            return true;
    return false;
}

static void compare_path(struct jr_code_contrast *contrast, const struct changes changes[static 3],
                         const char *path)
{
    const struct change *commits = find_change(&changes[2], path);
    const char *a =
        name_of(&changes[0], &changes[1], commits == NULL ? NULL : commits->before, path);
    const char *b =
        name_of(&changes[1], &changes[0], commits == NULL ? NULL : commits->behind, path);
    if (a != NULL && b != NULL && strcmp(a, b) == 0)
        return;
    /* Specs do not make code differ: they are compared as specs. */
    const struct jr_code_side *const sides[] = {&contrast->a, &contrast->b};
    for (size_t i = 0; i < 2; i++) {
        const char *top = sides[i]->code.top;
        size_t len = top == NULL ? 0 : strlen(top);
        char *const *specs = sides[i]->code.specs;
        for (; len > 0 && specs != NULL && *specs != NULL; specs++)
            if (strncmp(*specs, top, len) == 0 && (*specs)[len] == '/' &&
                strcmp(*specs + len + 1, path) == 0)
                return;
    }
    if (holds_text(&contrast->unsure, path) || holds_text(&contrast->files, path))
        return;
    jr_strv_push(&contrast->files, &contrast->arena, jr_arena_strdup(&contrast->arena, path));
}

/* What was left out of a patch is not known, but for its secrets. */
static void add_unsure(struct jr_code_contrast *contrast, const struct jr_record_code *code)
{
    for (size_t i = 0; i < code->left_out_count; i++) {
        const struct jr_record_left_out *one = &code->left_out[i];
        if (strcmp(one->why, "redacted") != 0 && strcmp(one->why, "link") != 0 &&
            !holds_text(&contrast->unsure, one->path))
            jr_strv_push(&contrast->unsure, &contrast->arena,
                         jr_arena_strdup(&contrast->arena, one->path));
    }
}

static void find_files(struct jr_code_contrast *contrast, char *const *envp)
{
    struct changes changes[3] = {
        {.arena = &contrast->arena}, {.arena = &contrast->arena}, {.arena = &contrast->arena}};
    add_unsure(contrast, &contrast->a.code);
    add_unsure(contrast, &contrast->b.code);
    read_patch(&changes[0], &contrast->a.patch);
    read_patch(&changes[1], &contrast->b.patch);
    read_commits(contrast, &changes[2], envp);
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < changes[i].count; j++)
            compare_path(contrast, changes, changes[i].items[j].path);
}

/* The record of a run, and the patch beside it. */
static int load_side(struct jr_code_side *side, struct jr_arena *arena,
                     const struct jr_run_place *place, struct jr_error *err)
{
    JR_CLOSE int fd = jr_record_folder_open(place->log_dir, place->id, err);
    side->run = fd < 0 ? NULL : jr_record_folder_json(fd, "run.json", err);
    if (side->run == NULL)
        return -1;
    (void)jr_record_code_read(&side->code, arena, side->run);
    const char *part = jr_json_get_str(side->run, "part");
    const char *name =
        part == NULL ? JR_PATCH_FILE : jr_arena_printf(arena, "%s/%s", part, JR_PATCH_FILE);
    if (side->code.patch && name != NULL)
        (void)jr_run_file_read(&side->patch, fd, name, MOST_PATCH, NULL);
    return 0;
}

int jr_code_contrast_make(struct jr_code_contrast *ret, const struct jr_run_place places[static 2],
                          char *const *envp, struct jr_error *err)
{
    *ret = JR_CODE_CONTRAST_INIT;
    if (load_side(&ret->a, &ret->arena, &places[0], err) != 0 ||
        load_side(&ret->b, &ret->arena, &places[1], err) != 0)
        return -1;
    const char *a = ret->a.code.tree, *b = ret->b.code.tree;
    ret->verdict = JR_CODES_UNKNOWN;
    if (a != NULL && b != NULL)
        ret->verdict = strcmp(a, b) == 0 ? JR_CODES_SAME : JR_CODES_DIFFERENT;
    if (ret->verdict == JR_CODES_DIFFERENT)
        find_files(ret, envp);
    return ret->arena.failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory") : 0;
}

static void add_names(struct jr_buf *out, const struct jr_strv *names)
{
    size_t shown = 0;
    for (; shown < names->count && shown < MOST_SHOWN; shown++) {
        jr_buf_str(out, shown == 0 ? "" : ", ");
        jr_buf_safe(out, names->items[shown]);
    }
    if (names->count > shown)
        jr_buf_printf(out, " and %zu more", names->count - shown);
}

static void add_contrast_names(struct jr_buf *out, const struct jr_code_contrast *contrast)
{
    add_names(out, &contrast->files);
    if (contrast->unsure.count > 0) {
        jr_buf_str(out, contrast->files.count > 0 ? "; not compared: " : "one or more of ");
        add_names(out, &contrast->unsure);
    }
    if (contrast->partial)
        jr_buf_str(out, contrast->files.count + contrast->unsure.count > 0
                            ? ", and what their commits have differently"
                            : "their commits are not in a repository here");
}

/* A line at a time, so that nothing moves the cursor but the ends of lines. */
static void add_safe_lines(struct jr_buf *out, const struct jr_buf *text)
{
    const char *at = text->data, *end = at + text->len;
    while (text->len > 0 && at < end) {
        const char *stop = at;
        while (stop < end && *stop != '\n' && *stop != '\t')
            stop++;
        jr_buf_escaped(out, at, (size_t)(stop - at));
        if (stop < end)
            jr_buf_char(out, *stop);
        at = stop + 1;
    }
    if (out->len > 0 && out->data[out->len - 1] != '\n')
        jr_buf_char(out, '\n');
}

void jr_code_contrast_patches(struct jr_buf *out, const struct jr_code_contrast *contrast)
{
    const struct jr_code_side *const sides[] = {&contrast->a, &contrast->b};
    for (size_t i = 0; i < 2 && contrast->verdict != JR_CODES_NONE; i++) {
        jr_buf_printf(out, "\ncode of %c: ", "AB"[i]);
        jr_record_code_print(out, &sides[i]->code);
        jr_buf_char(out, '\n');
        if (sides[i]->patch.len > 0)
            add_safe_lines(out, &sides[i]->patch);
    }
}

static json_t *names_json(const struct jr_strv *names)
{
    json_t *list = json_array();
    for (size_t i = 0; i < names->count; i++)
        jr_json_append(list, jr_json_str(names->items[i]));
    return list;
}

static json_t *contrast_json(const struct jr_code_contrast *contrast, bool patches)
{
    static const char *const words[] = {NULL, "same", "different", "unknown"};
    if (contrast->verdict == JR_CODES_NONE)
        return json_null();
    json_t *object = json_object();
    jr_json_set_str(object, "verdict", words[contrast->verdict]);
    jr_json_set(object, "files", names_json(&contrast->files));
    jr_json_set(object, "not_compared", names_json(&contrast->unsure));
    jr_json_set_bool(object, "partial", contrast->partial);
    const struct jr_code_side *const sides[] = {&contrast->a, &contrast->b};
    for (size_t i = 0; i < 2; i++) {
        json_t *side = json_object();
        jr_json_set_str(side, "commit", sides[i]->code.commit);
        jr_json_set_str(side, "tree", sides[i]->code.tree);
        if (patches)
            jr_json_set_str(side, "patch", sides[i]->patch.len > 0 ? sides[i]->patch.data : NULL);
        jr_json_set(object, i == 0 ? "a" : "b", side);
    }
    return object;
}

static void release_contrast(struct jr_code_contrast *contrast)
{
    json_decref(contrast->a.run);
    json_decref(contrast->b.run);
    jr_buf_release(&contrast->a.patch);
    jr_buf_release(&contrast->b.patch);
    jr_arena_release(&contrast->arena);
}

/* Resolve a side, unless it is a run, which was. */
static enum jr_status resolve_side(struct jr_side *side, const struct jr_host *host,
                                   struct jr_diags *diags)
{
    const struct jr_resolve_options options = {.local = false};
    if (side->file == NULL || side->run[0] != '\0')
        return JR_STATUS_OK;
    enum jr_status status = jr_resolve(&side->resolution, side->file, host, &options, diags);
    side->resolved = status == JR_STATUS_OK;
    if (side->resolved)
        (void)snprintf(side->fingerprint, sizeof side->fingerprint, "%s",
                       side->resolution.job.fingerprint);
    return status;
}

static struct jr_diff_side diff_side_of(const struct jr_side *side)
{
    return (struct jr_diff_side){
        .file = side->file,
        .resolution = side->resolved ? &side->resolution : NULL,
    };
}

/* Whether it is a run whose nodes ran several experiments: it has no fingerprint of its own, and
 * what is compared is what one of them ran. */
static bool is_mixed(const struct jr_side *side)
{
    return side->run[0] != '\0' && side->fingerprint[0] == '\0';
}

int jr_comparison_make(struct jr_comparison *comparison, const struct jr_host *host,
                       struct jr_diags *diags, struct jr_error *err)
{
    struct jr_side *a = &comparison->a, *b = &comparison->b;
    enum jr_status left = JR_STATUS_OK, right = JR_STATUS_OK;
    if (host != NULL) {
        left = resolve_side(a, host, diags);
        right = resolve_side(b, host, diags);
    }
    if (left == JR_STATUS_INVALID || right == JR_STATUS_INVALID)
        return JR_STATUS_INVALID;
    if (left != JR_STATUS_OK || right != JR_STATUS_OK)
        a->resolved = b->resolved = false;
    const struct jr_diff_side one = diff_side_of(a), other = diff_side_of(b);
    if (jr_diff_make(&comparison->specs, &one, &other, err) != 0)
        return (int)err->status;
    /* The position of a value in a run's own file is not shown. */
    const struct jr_diff_table_side place = {0};
    for (size_t i = 0; i < comparison->specs.count; i++) {
        struct jr_diff_table_row *row = &comparison->specs.rows[i];
        if (a->run[0] != '\0') {
            row->a.at = place.at;
            row->a.from = NULL;
        }
        if (b->run[0] != '\0') {
            row->b.at = place.at;
            row->b.from = NULL;
        }
    }
    comparison->same = a->name != NULL && b->name != NULL && !is_mixed(a) && !is_mixed(b) &&
                       jr_diff_is_same(&comparison->specs);
    return 0;
}

bool jr_comparison_differs(const struct jr_comparison *comparison)
{
    const struct jr_diff_table *runs = &comparison->runs;
    for (size_t i = 0; i < runs->count; i++)
        if (jr_diff_table_differs(&runs->rows[i]) && (strcmp(runs->rows[i].part, "outcome") == 0 ||
                                                      strcmp(runs->rows[i].part, "result") == 0))
            return true;
    return comparison->specs.count > 0 || comparison->a.name == NULL ||
           comparison->b.name == NULL || is_mixed(&comparison->a) || is_mixed(&comparison->b) ||
           comparison->code.verdict == JR_CODES_DIFFERENT;
}

/* The conclusion, in a line of its own; there is none about one side. */
static void add_conclusion(struct jr_buf *out, const struct jr_comparison *comparison)
{
    size_t count = comparison->specs.count;
    if (comparison->a.name == NULL || comparison->b.name == NULL)
        return;
    if (comparison->specs.count > 0 || comparison->runs.count > 0)
        jr_buf_char(out, '\n');
    if (count > 0 || comparison->code.verdict != JR_CODES_DIFFERENT)
        jr_buf_printf(out,
                      count == 0   ? "no field differs"
                      : count == 1 ? "%zu field differs"
                                   : "%zu fields differ",
                      count);
    if (is_mixed(&comparison->a) || is_mixed(&comparison->b)) {
        jr_buf_char(out, '\n');
        return;
    }
    if (!comparison->same) {
        jr_buf_str(out, ": another experiment\n");
        return;
    }
    if (count > 0)
        jr_buf_str(out, ", none of them part of the experiment: ");
    else if (comparison->code.verdict != JR_CODES_DIFFERENT)
        jr_buf_str(out, ": ");
    /* What the fields and the code of two runs, or the fields of specs, come to. */
    if (comparison->code.verdict == JR_CODES_UNKNOWN) {
        jr_buf_str(out, "the same spec; code not recorded\n");
    } else if (comparison->code.verdict == JR_CODES_DIFFERENT) {
        jr_buf_str(out, "same spec, different code: ");
        add_contrast_names(out, &comparison->code);
        jr_buf_char(out, '\n');
    } else if (comparison->code.verdict == JR_CODES_NONE) {
        jr_buf_str(out, "the same experiment if the code is the same\n");
    } else {
        jr_buf_str(out, "the same experiment\n");
    }
}

static void add_side_name(struct jr_buf *out, const char *letter, const struct jr_side *side)
{
    if (side->name == NULL)
        return;
    jr_buf_printf(out, "%s  %s", letter, side->run[0] != '\0' ? "run " : "");
    jr_buf_escaped(out, side->name, strlen(side->name));
    if (side->fingerprint[0] != '\0')
        jr_buf_printf(out, "  (fingerprint %.12s)", side->fingerprint);
    if (is_mixed(side))
        jr_buf_str(out, "  (its nodes ran different experiments; below is what one of them ran)");
    jr_buf_char(out, '\n');
}

void jr_comparison_text(struct jr_buf *out, const struct jr_comparison *comparison)
{
    add_side_name(out, "A", &comparison->a);
    add_side_name(out, "B", &comparison->b);
    if (comparison->specs.count > 0)
        jr_buf_char(out, '\n');
    jr_diff_table_text(out, &comparison->specs, "field");
    if (comparison->runs.count > 0)
        jr_buf_char(out, '\n');
    jr_diff_table_text(out, &comparison->runs, "outcome");
    add_conclusion(out, comparison);
}

void jr_comparison_markdown(struct jr_buf *out, const struct jr_comparison *comparison)
{
    jr_diff_table_markdown(out, &comparison->specs, "field");
    if (comparison->runs.count > 0 && comparison->specs.count > 0)
        jr_buf_char(out, '\n');
    jr_diff_table_markdown(out, &comparison->runs, "outcome");
    add_conclusion(out, comparison);
}

static json_t *compared_side_json(const struct jr_side *side)
{
    if (side->name == NULL)
        return json_null();
    json_t *object = json_object();
    jr_json_set_str(object, "name", side->name);
    jr_json_set_str(object, "kind", side->run[0] != '\0' ? "run" : "spec");
    jr_json_set_str(object, "fingerprint", side->fingerprint[0] != '\0' ? side->fingerprint : NULL);
    return object;
}

json_t *jr_comparison_json(const struct jr_comparison *comparison, bool patches)
{
    enum jr_code_verdict verdict = comparison->code.verdict;
    json_t *object = json_object();
    bool runs = comparison->a.run[0] != '\0' && comparison->b.run[0] != '\0';
    jr_json_set(object, "a", compared_side_json(&comparison->a));
    jr_json_set(object, "b", compared_side_json(&comparison->b));
    jr_json_set_bool(object, "same_experiment",
                     comparison->same && (verdict == JR_CODES_NONE || verdict == JR_CODES_SAME));
    jr_json_set_bool(object, "differ", jr_comparison_differs(comparison));
    jr_json_set(object, "fields", jr_diff_table_json(&comparison->specs));
    jr_json_set(object, "outcome", runs ? jr_diff_table_json(&comparison->runs) : json_null());
    jr_json_set(object, "code", contrast_json(&comparison->code, patches));
    return object;
}

static void release_side(struct jr_side *side)
{
    free(side->cells);
    jr_resolution_release(&side->resolution);
    jr_spec_free(side->file);
    *side = (struct jr_side)JR_SIDE_INIT;
}

void jr_comparison_release(struct jr_comparison *comparison)
{
    jr_diff_table_release(&comparison->specs);
    jr_diff_table_release(&comparison->runs);
    release_contrast(&comparison->code);
    release_side(&comparison->a);
    release_side(&comparison->b);
}
