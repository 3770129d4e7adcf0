#include "find.h"

#include <errno.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>

#include "banned.h"

#define SUFFIX ".jobrun.yaml"

static void add(struct jr_finds *finds, struct jr_arena *arena,
                const char *path, const char *why)
{
    struct jr_found *found =
        jr_arena_push(arena, &finds->items, &finds->count, sizeof *found);
    if (found == NULL)
        return;
    found->path = jr_arena_strdup(arena, path);
    found->why = jr_arena_strdup(arena, why);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static bool is_spec(const FTSENT *entry)
{
    size_t len = entry->fts_namelen, suffix = strlen(SUFFIX);
    return entry->fts_info == FTS_F && len > suffix &&
           strcmp(entry->fts_name + len - suffix, SUFFIX) == 0;
}

/* What cannot be looked at, of which nobody knows whether it is a spec. */
static bool is_lost(const FTSENT *entry)
{
    return entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR ||
           entry->fts_info == FTS_NS;
}

/* The name by which others refer to a file: without the folder that is here. */
static const char *plain_name(const char *path)
{
    return strncmp(path, "./", 2) == 0 && path[2] != '\0' ? path + 2 : path;
}

static void find_below(struct jr_finds *finds, struct jr_arena *arena,
                       char *folder)
{
    char *roots[] = {folder, NULL};
    size_t before = finds->count;
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    if (tree == NULL) {
        add(finds, arena, folder, strerror(errno));
        return;
    }
    for (FTSENT *entry; (entry = fts_read(tree)) != NULL;) {
        const char *path = plain_name(entry->fts_path);
        if (is_spec(entry))
            add(finds, arena, path, NULL);
        else if (is_lost(entry))
            add(finds, arena, path, strerror(entry->fts_errno));
    }
    if (errno != 0)
        add(finds, arena, folder, strerror(errno));
    (void)fts_close(tree);
    if (finds->count == before)
        add(finds, arena, folder, "there is no *" SUFFIX " below it");
}

void jr_find_specs(struct jr_finds *ret, struct jr_arena *arena,
                   char *const *words, int count)
{
    *ret = (struct jr_finds){0};
    for (int i = 0; i < count && !arena->failed; i++) {
        struct stat st;
        if (stat(words[i], &st) == 0 && S_ISDIR(st.st_mode))
            find_below(ret, arena, words[i]);
        else
            add(ret, arena, words[i], NULL);
    }
}
