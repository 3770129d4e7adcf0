#include "session/specs/find_specs.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/did_you_mean.h"
#include "base/io.h"
#include "doc/doc.h"
#include "spec/field.h"
#include "vcs/git.h"

#include "base/banned.h"

/* A folder that is looked through. */
struct search {
    struct jr_finds *finds;
    struct jr_arena *arena;
    bool guess;
    size_t root;            /* bytes of the path of the folder itself */
    struct jr_strv ignored; /* below it */
};

static struct jr_found_specs *add_found_path(struct jr_finds *finds, struct jr_arena *arena,
                                             const char *path, const char *why)
{
    struct jr_found_specs *found =
        jr_arena_push(arena, &finds->items, &finds->count, sizeof *found);
    if (found == NULL)
        return NULL;
    found->path = jr_arena_strdup(arena, path);
    found->why = jr_arena_strdup(arena, why);
    return found;
}

static int compare_fts_names(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static bool ends_with(const char *name, const char *suffix)
{
    size_t len = strlen(name), size = strlen(suffix);
    return len > size && strcmp(name + len - size, suffix) == 0;
}

bool jr_find_is_named(const char *name)
{
    return ends_with(name, ".jobrun.yaml") || ends_with(name, ".jobrun.yml");
}

/* A file that cannot be read, so that it is not known whether it is a spec. */
static bool is_unreadable_entry(const FTSENT *entry)
{
    return entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS;
}

/* The name by which others refer to a file: without the folder that is here. */
static const char *plain_name(const char *path)
{
    return strncmp(path, "./", 2) == 0 && path[2] != '\0' ? path + 2 : path;
}

static bool is_of_run(const FTSENT *entry)
{
    JR_BUF_CLEANUP struct jr_buf record = JR_BUF_INIT;
    jr_buf_printf(&record, "%s/run.json", entry->fts_path);
    return !record.failed && access(record.data, F_OK) == 0;
}

static bool is_ignored(const struct search *search, const FTSENT *entry, bool folder)
{
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
    const char *below = entry->fts_path + search->root;
    jr_buf_printf(&path, "%s%s", below + strspn(below, "/"), folder ? "/" : "");
    return !path.failed && jr_git_is_ignored(&search->ignored, path.data);
}

/* What is left alone where specs are guessed. */
static bool is_left_out(const struct search *search, const FTSENT *entry)
{
    bool folder = entry->fts_info == FTS_D;
    if (!search->guess || entry->fts_level == 0)
        return false;
    return entry->fts_name[0] == '.' || is_ignored(search, entry, folder) ||
           (folder && is_of_run(entry));
}

/* A file that is too large for a spec, or cannot be read, is none. */
static bool reads_like_spec(const char *path)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    return jr_io_read_file(&text, AT_FDCWD, path, JR_DOC_MAX_BYTES, NULL) == 0 &&
           text.data != NULL && !text.failed && jr_find_reads_like_spec(text.data);
}

static void look_at_file(const struct search *search, const FTSENT *entry)
{
    const char *path = plain_name(entry->fts_path);
    if (jr_find_is_named(entry->fts_name)) {
        (void)add_found_path(search->finds, search->arena, path, NULL);
        return;
    }
    if (!search->guess ||
        !(ends_with(entry->fts_name, ".yaml") || ends_with(entry->fts_name, ".yml")))
        return;
    if (!reads_like_spec(entry->fts_path)) {
        search->finds->passed++;
        return;
    }
    struct jr_found_specs *found = add_found_path(search->finds, search->arena, path, NULL);
    if (found != NULL)
        found->guessed = true;
}

static void find_below(const struct search *search, char *folder)
{
    char *roots[] = {folder, NULL};
    struct jr_finds *finds = search->finds;
    size_t before = finds->count;
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, compare_fts_names);
    if (tree == NULL) {
        (void)add_found_path(finds, search->arena, folder, strerror(errno));
        return;
    }
    for (FTSENT *entry; (entry = fts_read(tree)) != NULL;) {
        if (entry->fts_info != FTS_DP && is_left_out(search, entry))
            (void)fts_set(tree, entry, FTS_SKIP);
        else if (entry->fts_info == FTS_F)
            look_at_file(search, entry);
        else if (is_unreadable_entry(entry))
            (void)add_found_path(finds, search->arena, plain_name(entry->fts_path),
                                 strerror(entry->fts_errno));
    }
    if (errno != 0)
        (void)add_found_path(finds, search->arena, folder, strerror(errno));
    (void)fts_close(tree);
    if (finds->count == before)
        (void)add_found_path(finds, search->arena, folder,
                             search->guess
                                 ? "it has no *.jobrun.yaml below it, nor another YAML file "
                                   "with `version` and another field of a spec"
                                 : "it has no *.jobrun.yaml below it");
}

void jr_find_specs(struct jr_finds *ret, struct jr_arena *arena, char *const *words, int count,
                   char *const *envp)
{
    *ret = (struct jr_finds){0};
    for (int i = 0; i < count && !arena->failed; i++) {
        struct stat st;
        struct search search = {
            .finds = ret, .arena = arena, .guess = envp != NULL, .root = strlen(words[i])};
        if (stat(words[i], &st) != 0 || !S_ISDIR(st.st_mode)) {
            (void)add_found_path(ret, arena, words[i], NULL);
            continue;
        }
        if (envp != NULL)
            search.ignored = jr_git_ignored(arena, words[i], envp);
        find_below(&search, words[i]);
    }
}

/* What a YAML file is, by the keys of its top level. It may be broken, and is to be checked just
 * the same: so it is not parsed. */

enum { LONGEST = 64, FIELDS = 128 };

/* Copy the key that a line begins with; false where it begins with none. Quotes are taken off. */
static bool take_key(char ret[static LONGEST], const char *line)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$-";
    char quote = *line == '"' || *line == '\'' ? *line : '\0';
    const char *key = line + (quote != '\0');
    size_t len = strspn(key, letters);
    const char *end = key + len;
    if (len == 0 || len >= LONGEST || (quote != '\0' && *end++ != quote))
        return false;
    end += strspn(end, " \t");
    (void)memcpy(ret, key, len);
    ret[len] = '\0';
    return *end == ':';
}

/* Whether a key is a field of the spec, or was meant to be one. */
static bool is_field(const char *key)
{
    const char *names[FIELDS + 1];
    size_t count = 0;
    const struct jr_spec_field *field = jr_field_root()->fields;
    for (; field->key != NULL && count < FIELDS; field++)
        if (strcmp(field->key, "version") != 0)
            names[count++] = field->key;
    names[count] = NULL;
    return jr_did_you_mean(key, names) != NULL;
}

/* What the keys so far say. */
struct guess {
    bool version, field;
};

static void look_at_line(struct guess *guess, const char *line)
{
    char key[LONGEST];
    if (!take_key(key, line))
        return;
    if (strcmp(key, "version") == 0)
        guess->version = true;
    else
        guess->field = guess->field || is_field(key);
}

/* The keys of {version: 1, ...}: those after a brace or a comma that is in no other bracket. */
static void look_within_braces(struct guess *guess, const char *text)
{
    int depth = 0;
    for (; *text != '\0'; text++) {
        depth += (*text == '{' || *text == '[') - (*text == '}' || *text == ']');
        if (depth <= 0)
            return;
        if (depth == 1 && (*text == '{' || *text == ','))
            look_at_line(guess, text + 1 + strspn(text + 1, " \t\r\n"));
    }
}

bool jr_find_reads_like_spec(const char *text)
{
    struct guess guess = {0};
    text += strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    for (bool begun = false; *text != '\0'; text += *text == '\n') {
        bool mark = strncmp(text, "---", 3) == 0;
        if (mark && begun)
            break;
        if (*text == '{' && !begun)
            look_within_braces(&guess, text);
        look_at_line(&guess, text);
        begun = begun || (!mark && strchr("#%\r\n", *text) == NULL);
        text += strcspn(text, "\n");
    }
    return guess.version && guess.field;
}
