#include "base/did_you_mean.h"

#include <dirent.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/strv.h"

#include "base/banned.h"

/* In larger folders nothing is looked for; shorter names are all alike. */
enum { MOST_FILES = 1000, MOST_PROGRAMS = 10000, LEAST_STEM = 3 };

static const char *const ends[] = {".jobrun.yaml", ".jobrun.yml", ".yaml", ".yml", NULL};

size_t jr_near_file_stem(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; ends[i] != NULL; i++) {
        size_t end = strlen(ends[i]);
        if (len > end && strcmp(name + len - end, ends[i]) == 0)
            return len - end;
    }
    return len;
}

bool jr_near_file_is_yaml(const char *name)
{
    return jr_near_file_stem(name) < strlen(name);
}

/* Add the names of the YAML files of a folder. */
static void list_yaml_names(struct jr_strv *names, struct jr_arena *arena, const char *folder)
{
    JR_CLOSEDIR DIR *dir = opendir(folder);
    struct dirent *entry = NULL;
    while (dir != NULL && names->count < MOST_FILES && (entry = readdir(dir)) != NULL)
        if (jr_near_file_is_yaml(entry->d_name))
            jr_strv_push(names, arena, jr_arena_strdup(arena, entry->d_name));
}

/* The name whose stem is nearest; NULL: none. */
static const char *nearest_name(const struct jr_strv *names, struct jr_arena *arena,
                                const char *wanted)
{
    struct jr_strv stems = {0};
    const char *stem = jr_arena_strndup(arena, wanted, jr_near_file_stem(wanted));
    for (size_t i = 0; i < names->count; i++)
        jr_strv_push(&stems, arena,
                     jr_arena_strndup(arena, names->items[i], jr_near_file_stem(names->items[i])));
    if (arena->failed || names->count == 0)
        return NULL;
    const char *near = jr_did_you_mean(stem, (const char *const *)stems.items);
    bool same = near != NULL && strcmp(near, stem) == 0;
    if (near == NULL || (!same && strlen(stem) < LEAST_STEM))
        return NULL;
    size_t i = 0;
    while (stems.items[i] != near)
        i++;
    return names->items[i];
}

bool jr_near_file_find(struct jr_buf *ret, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    jr_buf_clear(ret);
    if (*name == '\0')
        return false;
    for (size_t i = 0; ends[i] != NULL; i++) {
        jr_buf_clear(ret);
        jr_buf_printf(ret, "%s%s", path, ends[i]);
        if (!ret->failed && access(ret->data, F_OK) == 0)
            return true;
    }
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_strv names = {0};
    jr_buf_clear(ret);
    jr_buf_add(ret, path, (size_t)(name - path));
    list_yaml_names(&names, &arena, slash == NULL || ret->failed ? "." : ret->data);
    const char *near = nearest_name(&names, &arena, name);
    if (near != NULL)
        jr_buf_str(ret, near);
    return near != NULL && !ret->failed;
}

bool jr_near_file_only(struct jr_buf *ret, const char *folder)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_strv names = {0};
    const char *only = NULL;
    size_t count = 0;
    list_yaml_names(&names, &arena, folder);
    for (size_t i = 0; i < names.count && !arena.failed; i++) {
        const char *name = names.items[i];
        if (strncmp(name + jr_near_file_stem(name), ".jobrun.", strlen(".jobrun.")) != 0)
            continue;
        only = name;
        count++;
    }
    jr_buf_clear(ret);
    if (count == 1 && strcmp(folder, ".") == 0)
        jr_buf_str(ret, only);
    else if (count == 1)
        jr_buf_printf(ret, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", only);
    return count == 1 && !ret->failed;
}

/* Words longer than this are not compared: names of fields and values are short, and the table
 * below stays on the stack. */
enum { LONGEST = 63 };

static unsigned smaller_of(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned jr_edit_distance(const char *a, const char *b, unsigned limit)
{
    /* rows[i % 3][j]: edits from the first i of `a` to the first j of `b`. */
    unsigned rows[3][LONGEST + 1];
    size_t a_len = strlen(a), b_len = strlen(b);
    if (a_len > LONGEST || b_len > LONGEST)
        return limit + 1;
    for (unsigned j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= a_len; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i - 1) % 3];
        row[0] = i;
        for (unsigned j = 1; j <= b_len; j++) {
            row[j] = smaller_of(above[j - 1] + (a[i - 1] != b[j - 1]),
                                smaller_of(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller_of(row[j], rows[(i - 2) % 3][j - 2] + 1);
        }
    }
    return smaller_of(rows[a_len % 3][b_len], limit + 1);
}

/* More edits than this are another word. */
static unsigned most_edits(const char *word)
{
    size_t len = strlen(word);
    return len <= 4 ? 1 : len <= 8 ? 2 : 3;
}

const char *jr_did_you_mean(const char *word, const char *const *candidates)
{
    unsigned best_edits = most_edits(word) + 1;
    const char *best = NULL;
    for (; *candidates != NULL; candidates++) {
        unsigned edits = jr_edit_distance(word, *candidates, best_edits);
        /* Something is left of both words: 'r' is no misspelt 'lr', of which it has one letter and
         * lacks the other. And two slips are no likely beginning of a word. */
        bool near = edits == 0 || (edits < strlen(word) && edits < strlen(*candidates));
        if (near && edits < best_edits && (edits < 2 || **candidates == *word)) {
            best_edits = edits;
            best = *candidates;
        }
    }
    return best;
}

const char *jr_did_you_mean_longer(const char *word, const char *const *candidates)
{
    const char *near = jr_did_you_mean(word, candidates);
    size_t len = strlen(word);
    if (near != NULL || len < LEAST_STEM)
        return near;
    while (*candidates != NULL && strncmp(*candidates, word, len) != 0)
        candidates++;
    return *candidates;
}

bool jr_did_you_mean_near(const char *word, const char *const *candidates)
{
    const char *best = jr_did_you_mean(word, candidates);
    if (best == NULL)
        return false;
    unsigned most = most_edits(word);
    unsigned limit = smaller_of(jr_edit_distance(word, best, most) + 1, most);
    for (; *candidates != NULL; candidates++)
        if (strcmp(*candidates, best) != 0 && jr_edit_distance(word, *candidates, limit) <= limit)
            return false;
    return true;
}

/* The name in a folder that is nearest to one that is not there; NULL: none. */
static const char *nearest_in_folder(struct jr_arena *arena, const char *folder, const char *wanted)
{
    struct jr_strv names = {0};
    struct dirent *entry;
    JR_CLOSEDIR DIR *dir = strlen(wanted) < LEAST_STEM ? NULL : opendir(folder);
    while (dir != NULL && names.count < MOST_PROGRAMS && (entry = readdir(dir)) != NULL)
        if (entry->d_type != DT_DIR && strcmp(entry->d_name, wanted) != 0)
            jr_strv_push(&names, arena, jr_arena_strdup(arena, entry->d_name));
    return names.count == 0 || arena->failed
               ? NULL
               : jr_did_you_mean(wanted, (const char *const *)names.items);
}

/* The first `len` bytes of `path`, below `base` where it is relative. */
static const char *folder_below(struct jr_arena *arena, const char *base, const char *path,
                                size_t len)
{
    return jr_arena_printf(arena, "%s/%.*s", path[0] == '/' ? "" : base, (int)len, path);
}

bool jr_near_file_any(struct jr_buf *ret, const char *base, const char *path)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    const char *slash = strrchr(path, '/');
    size_t upto = slash == NULL ? 0 : (size_t)(slash + 1 - path);
    const char *folder = folder_below(&arena, base, path, upto);
    const char *near = folder == NULL ? NULL : nearest_in_folder(&arena, folder, path + upto);
    jr_buf_clear(ret);
    if (near != NULL)
        jr_buf_printf(ret, "%.*s%s", (int)upto, path, near);
    return near != NULL && !ret->failed;
}

bool jr_near_program(struct jr_buf *ret, const char *base, const char *search, const char *name)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    unsigned best = UINT_MAX;
    const char *nearest = NULL;
    for (size_t len; search != NULL && *search != '\0'; search += len + (search[len] == ':')) {
        len = strcspn(search, ":");
        const char *folder = folder_below(&arena, base, search, len);
        const char *near = folder == NULL ? NULL : nearest_in_folder(&arena, folder, name);
        unsigned edits = near == NULL ? UINT_MAX : jr_edit_distance(name, near, LONGEST);
        if (edits < best)
            nearest = near;
        best = smaller_of(best, edits);
    }
    jr_buf_clear(ret);
    if (nearest != NULL)
        jr_buf_str(ret, nearest);
    return nearest != NULL && !ret->failed;
}
