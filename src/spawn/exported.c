#include "spawn/exported.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "plan/rank_env.h"

#include "base/banned.h"

#define EXPORTED_MOST (16U << 20) /* more than execve takes */

static const char *const shells_own[] = {"PWD", "OLDPWD", "SHLVL", "_"};

int jr_exported_read(struct jr_exported *ret, int fd, const struct jr_plan_setup *setup,
                     struct jr_error *err)
{
    struct jr_exported exported = {.there = true};
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (lseek(fd, 0, SEEK_SET) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "what it exported could not be read");
    if (jr_io_read_fd(&text, fd, EXPORTED_MOST, err) != 0)
        return -1;
    if (text.len == 0)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "it ended before its last line, so its exports are "
                            "not known: do not use exit or exec in it");
    for (size_t at = 0; at < text.len; at += strlen(text.data + at) + 1)
        jr_strv_push(&exported.base, &exported.arena,
                     jr_arena_strdup(&exported.arena, text.data + at));
    for (size_t i = 0; i < sizeof shells_own / sizeof *shells_own; i++) {
        const char *value = jr_env_get(setup->env, shells_own[i]);
        jr_env_unset(&exported.base, shells_own[i]);
        if (value != NULL)
            jr_strv_push(&exported.base, &exported.arena,
                         jr_arena_printf(&exported.arena, "%s=%s", shells_own[i], value));
    }
    for (char *const *glob = setup->drop; glob != NULL && *glob != NULL; glob++)
        jr_env_unset(&exported.base, *glob);
    jr_python_path_extend(&exported.base, &exported.arena, setup->package);
    if (exported.arena.failed) {
        jr_exported_release(&exported);
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    }
    *ret = exported;
    return 0;
}

char **jr_exported_join(struct jr_exported *exported, char **env, uint32_t own, char *const *drop)
{
    size_t count = own;
    if (!exported->there)
        return env;
    char **joined = reallocarray(exported->joined, own + exported->base.count + 1, sizeof *joined);
    if (joined == NULL)
        return NULL;
    exported->joined = joined;
    for (size_t i = 0; i < own; i++)
        joined[i] = env[i];
    for (size_t i = 0; i < exported->base.count; i++) {
        char *item = exported->base.items[i];
        size_t len = strcspn(item, "=");
        bool wanted = true;
        for (size_t j = 0; j < own && wanted; j++)
            wanted = strncmp(env[j], item, len) != 0 || env[j][len] != '=';
        for (char *const *name = drop; name != NULL && *name != NULL && wanted; name++)
            wanted = strncmp(*name, item, len) != 0 || (*name)[len] != '\0';
        if (wanted)
            joined[count++] = item;
    }
    joined[count] = NULL;
    return joined;
}

char **jr_exported_extend(struct jr_exported *exported, char **env, char *const *more)
{
    size_t count = 0, extra = 0;
    if (more == NULL || env == NULL)
        return env;
    while (env[count] != NULL)
        count++;
    while (more[extra] != NULL)
        extra++;
    char **extended = reallocarray(exported->extended, count + extra + 1, sizeof *extended);
    if (extended == NULL)
        return NULL;
    exported->extended = extended;
    for (size_t i = 0; i < count; i++)
        extended[i] = env[i];
    for (size_t i = 0; i < extra; i++)
        extended[count + i] = (char *)more[i];
    extended[count + extra] = NULL;
    return extended;
}

void jr_exported_release(struct jr_exported *exported)
{
    jr_arena_release(&exported->arena);
    free(exported->joined);
    free(exported->extended);
    *exported = (struct jr_exported){0};
}
