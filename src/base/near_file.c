#include "base/near_file.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/did_you_mean.h"
#include "base/strv.h"

#include "base/banned.h"

/* In larger folders nothing is looked for; shorter names are all alike. */
enum { MOST_FILES = 1000, LEAST_STEM = 3 };

static const char *const ends[] = {".jobrun.yaml", ".jobrun.yml", ".yaml",
                                   ".yml", NULL};

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

static bool find_longer_name(struct jr_buf *ret, const char *path)
{
    for (size_t i = 0; ends[i] != NULL; i++) {
        jr_buf_clear(ret);
        jr_buf_printf(ret, "%s%s", path, ends[i]);
        if (!ret->failed && access(ret->data, F_OK) == 0)
            return true;
    }
    jr_buf_clear(ret);
    return false;
}

/* The names of the YAML files of a folder, each behind its stem. */
struct yaml_names {
    struct jr_arena arena;
    struct jr_strv stems, names;
};

static void list_yaml_names(struct yaml_names *ret, const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry = NULL;
    while (dir != NULL && ret->names.count < MOST_FILES &&
           (entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;
        if (!jr_near_file_is_yaml(name))
            continue;
        jr_strv_push(
            &ret->stems, &ret->arena,
            jr_arena_strndup(&ret->arena, name, jr_near_file_stem(name)));
        jr_strv_push(&ret->names, &ret->arena,
                     jr_arena_strdup(&ret->arena, name));
    }
    if (dir != NULL)
        (void)closedir(dir);
}

static const char *nearest_name(struct yaml_names *names, const char *wanted)
{
    const char *stem =
        jr_arena_strndup(&names->arena, wanted, jr_near_file_stem(wanted));
    if (names->arena.failed || names->names.count == 0)
        return NULL;
    const char *near =
        jr_did_you_mean(stem, (const char *const *)names->stems.items);
    bool same = near != NULL && strcmp(near, stem) == 0;
    if (near == NULL || (!same && strlen(stem) < LEAST_STEM))
        return NULL;
    size_t i = 0;
    while (names->stems.items[i] != near)
        i++;
    return names->names.items[i];
}

bool jr_near_file_find(struct jr_buf *ret, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    jr_buf_clear(ret);
    if (*name == '\0')
        return false;
    if (find_longer_name(ret, path))
        return true;
    struct yaml_names names = {0};
    jr_buf_add(ret, path, (size_t)(name - path));
    list_yaml_names(&names, slash == NULL || ret->failed ? "." : ret->data);
    const char *near = nearest_name(&names, name);
    if (near != NULL)
        jr_buf_str(ret, near);
    jr_arena_release(&names.arena);
    return near != NULL && !ret->failed;
}
