#include "session/specs/compare_code.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "judge/judge.h"
#include "record/record_folder.h"
#include "vcs/git_output.h"

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

static void sort_changes(struct changes *changes)
{
    if (changes->count > 1)
        qsort(changes->items, changes->count, sizeof *changes->items, compare_changes);
}

static const struct change *find_change(const struct changes *changes, const char *path)
{
    const struct change wanted = {.path = path};
    return changes->count == 0
               ? NULL
               : bsearch(&wanted, changes->items, changes->count, sizeof wanted, compare_changes);
}

/* "a/PATH b/PATH", whose halves are of one length, as nothing is renamed; each in quotes where the
 * path has bytes that need them. */
static const char *path_of_head(struct jr_arena *arena, const char *head, size_t len)
{
    const char *half = head + (len + 1) / 2;
    size_t rest = (size_t)(head + len - half);
    if (rest > 4 && half[0] == '"')
        return jr_arena_strndup(arena, half + 3, rest - 4);
    return rest > 2 ? jr_arena_strndup(arena, half + 2, rest - 2) : NULL;
}

/* "index BEFORE..BEHIND 100644", in the lines before the text. Where there is none only the mode
 * has changed: then the whole says what it is. */
static void read_names(struct jr_arena *arena, struct change *change, const char *text, size_t len)
{
    const char *end = memmem(text, len, "\n@@", 3);
    size_t head = end == NULL ? len : (size_t)(end - text);
    const char *index = memmem(text, head, "\nindex ", 7);
    if (index == NULL) {
        change->behind = jr_arena_strndup(arena, text, head);
        return;
    }
    index += 7;
    size_t before = strspn(index, "0123456789abcdef");
    change->before = jr_arena_strndup(arena, index, before);
    if (strncmp(index + before, "..", 2) == 0)
        change->behind = jr_arena_strndup(arena, index + before + 2,
                                          strspn(index + before + 2, "0123456789abcdef"));
}

static void read_piece(struct changes *to, const char *text, size_t len)
{
    const char *head = text + sizeof HEAD - 1;
    const char *line = memchr(text, '\n', len);
    struct change change = {0};
    if (line == NULL || line < head)
        return;
    change.path = path_of_head(to->arena, head, (size_t)(line - head));
    read_names(to->arena, &change, text, len);
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
    sort_changes(to);
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
    sort_changes(to);
}

/* What the commits have differently, where they are here. */
static void read_commits(struct jr_code_contrast *contrast, struct changes *to, char *const *envp)
{
    const char *const commits[] = {contrast->a.code.commit, contrast->b.code.commit};
    const char *const tops[] = {contrast->b.code.top, contrast->a.code.top};
    JR_BUF_CLEANUP struct jr_buf raw = JR_BUF_INIT;
    const struct jr_git_sink sink = {jr_git_keep, &raw};
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
        const struct jr_git_limit limit = {jr_clock_ns() + LIMIT_MS * UINT64_C(1000000), -1};
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

/* Specs do not make code differ: they are compared as specs. */
static bool is_spec(const struct jr_code_side *side, const char *path)
{
    const char *top = side->code.top;
    size_t len = top == NULL ? 0 : strlen(top);
    char *const *specs = side->code.specs;
    for (; len > 0 && specs != NULL && *specs != NULL; specs++)
        if (strncmp(*specs, top, len) == 0 && (*specs)[len] == '/' &&
            strcmp(*specs + len + 1, path) == 0)
            return true;
    return false;
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
    if (is_spec(&contrast->a, path) || is_spec(&contrast->b, path) ||
        holds_text(&contrast->unsure, path) || holds_text(&contrast->files, path))
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

void jr_code_contrast_names(struct jr_buf *out, const struct jr_code_contrast *contrast)
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

static void add_side_patch(struct jr_buf *out, const char *letter, const struct jr_code_side *side)
{
    jr_buf_printf(out, "\ncode of %s: ", letter);
    jr_record_code_print(out, &side->code);
    jr_buf_char(out, '\n');
    if (side->patch.len > 0)
        add_safe_lines(out, &side->patch);
}

void jr_code_contrast_patches(struct jr_buf *out, const struct jr_code_contrast *contrast)
{
    if (contrast->verdict == JR_CODES_NONE)
        return;
    add_side_patch(out, "A", &contrast->a);
    add_side_patch(out, "B", &contrast->b);
}

static json_t *names_json(const struct jr_strv *names)
{
    json_t *list = json_array();
    for (size_t i = 0; i < names->count; i++)
        jr_json_append(list, jr_json_str(names->items[i]));
    return list;
}

static json_t *code_side_json(const struct jr_code_side *side, bool patches)
{
    json_t *object = json_object();
    jr_json_set_str(object, "commit", side->code.commit);
    jr_json_set_str(object, "tree", side->code.tree);
    if (patches)
        jr_json_set_str(object, "patch", side->patch.len > 0 ? side->patch.data : NULL);
    return object;
}

json_t *jr_code_contrast_json(const struct jr_code_contrast *contrast, bool patches)
{
    static const char *const words[] = {NULL, "same", "different", "unknown"};
    if (contrast->verdict == JR_CODES_NONE)
        return json_null();
    json_t *object = json_object();
    jr_json_set_str(object, "verdict", words[contrast->verdict]);
    jr_json_set(object, "files", names_json(&contrast->files));
    jr_json_set(object, "not_compared", names_json(&contrast->unsure));
    jr_json_set_bool(object, "partial", contrast->partial);
    jr_json_set(object, "a", code_side_json(&contrast->a, patches));
    jr_json_set(object, "b", code_side_json(&contrast->b, patches));
    return object;
}

void jr_code_contrast_release(struct jr_code_contrast *contrast)
{
    json_decref(contrast->a.run);
    json_decref(contrast->b.run);
    jr_buf_release(&contrast->a.patch);
    jr_buf_release(&contrast->b.patch);
    jr_arena_release(&contrast->arena);
}
