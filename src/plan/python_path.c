#include "plan/python_path.h"

#include <string.h>

#include "base/banned.h"

static bool has_entry(const char *value, const char *folder)
{
    size_t len = strlen(folder);
    for (const char *at = value; *at != '\0'; at += *at == ':') {
        size_t entry = strcspn(at, ":");
        if (entry == len && memcmp(at, folder, len) == 0)
            return true;
        at += entry;
    }
    return false;
}

const char *jr_python_path_with(struct jr_arena *arena, const char *value,
                                const char *folder)
{
    if (strchr(folder, ':') != NULL)
        return value;
    /* Python takes an empty variable as one that is not set; an empty entry
     * would be the working directory. */
    if (value == NULL || *value == '\0')
        return folder;
    return has_entry(value, folder)
               ? value
               : jr_arena_printf(arena, "%s:%s", value, folder);
}

void jr_python_path_extend(struct jr_strv *env, struct jr_arena *arena,
                           const char *folder)
{
    size_t len = strlen(JR_PYTHON_PATH), at = 0;
    while (at < env->count &&
           (strncmp(env->items[at], JR_PYTHON_PATH, len) != 0 ||
            env->items[at][len] != '='))
        at++;
    const char *old = at < env->count ? env->items[at] + len + 1 : NULL;
    const char *value =
        folder == NULL ? old : jr_python_path_with(arena, old, folder);
    if (value == old)
        return;
    char *item = jr_arena_printf(arena, JR_PYTHON_PATH "=%s", value);
    if (at == env->count)
        jr_strv_push(env, arena, item);
    else if (item != NULL)
        env->items[at] = item;
}
