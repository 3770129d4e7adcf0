#include "per_rank.h"

#include <string.h>

#include "argv.h"
#include "job.h"
#include "strv.h"

#include "banned.h"

static int compile_args(struct jr_addition *ret,
                        const struct jr_rank_entry *entry,
                        const struct jr_scopes *scopes, struct jr_error *err)
{
    ret->call = jr_entrypoint_is_function(&scopes->job->entrypoint);
    if (!ret->call)
        return jr_stencils_compile(&ret->args, &scopes->space, entry->args,
                                   entry->args_count, err);
    struct jr_stencil *call =
        jr_arena_array(scopes->space.arena, 1, sizeof *call);
    ret->args = (struct jr_stencils){.items = call, .count = 1};
    return call == NULL ? 0 : jr_argv_call(call, scopes, entry, err);
}

/* The names that an entry unsets. */
static char **unset_names(const struct jr_rank_entry *entry,
                          struct jr_arena *arena)
{
    struct jr_strv names = {0};
    for (uint32_t i = 0; i < entry->env_count; i++)
        if (entry->env[i].value == NULL && !entry->env[i].required)
            jr_strv_push(&names, arena,
                         jr_arena_strdup(arena, entry->env[i].name));
    return names.items;
}

static enum jr_status compile(struct jr_addition *ret,
                              const struct jr_rank_entry *entry,
                              const struct jr_scopes *scopes,
                              struct jr_diags *diags)
{
    struct jr_arena *arena = scopes->space.arena;
    struct jr_error err = {0};
    const char *path = jr_arena_printf(arena, "per_rank.%s", entry->ranks);
    const char *bad;
    if (path == NULL)
        return JR_STATUS_LAUNCH;
    if (!jr_set_parse(&ret->ranks, arena, entry->ranks, &bad)) {
        (void)jr_diags_error(diags, 506, (struct jr_span){0}, path,
                             "'%s' is no set of ranks", entry->ranks);
        return JR_STATUS_INVALID;
    }
    if (compile_args(ret, entry, scopes, &err) < 0) {
        (void)jr_diags_error(diags, 502, (struct jr_span){0}, path, "%s",
                             err.text);
        return JR_STATUS_INVALID;
    }
    return jr_env_more_init(&ret->env, scopes, entry, path, diags);
}

enum jr_status jr_additions_init(struct jr_additions *ret,
                                 const struct jr_scopes *scopes,
                                 struct jr_arena *arena,
                                 struct jr_diags *diags)
{
    const struct jr_job *job = scopes->job;
    enum jr_status status = JR_STATUS_OK;
    *ret = (struct jr_additions){0};
    struct jr_addition *items =
        jr_arena_array(scopes->space.arena, job->per_rank_count, sizeof *items);
    for (uint32_t i = 0; i < job->per_rank_count && items != NULL; i++) {
        enum jr_status one =
            compile(&items[i], &job->per_rank[i], scopes, diags);
        status = status == JR_STATUS_OK ? one : status;
        items[i].drop = unset_names(&job->per_rank[i], arena);
    }
    ret->items = items;
    ret->count = items == NULL ? 0 : job->per_rank_count;
    return status;
}

struct jr_addition *jr_additions_find(const struct jr_additions *additions,
                                      uint32_t rank)
{
    for (size_t i = 0; i < additions->count; i++)
        if (jr_set_has(&additions->items[i].ranks, rank))
            return &additions->items[i];
    return NULL;
}

char **jr_addition_argv(struct jr_addition *addition, struct jr_arena *arena,
                        char *const *argv, const struct jr_scope *scope)
{
    size_t count = 0, more = addition->args.count;
    if (more == 0)
        return (char **)argv;
    while (argv != NULL && argv[count] != NULL)
        count++;
    count -= addition->call && count > 0;
    char **all = jr_arena_array(arena, count + more + 1, sizeof *all);
    char **added = jr_stencils_expand(&addition->args, arena, scope);
    if (all == NULL || added == NULL)
        return NULL;
    if (count > 0)
        memcpy(all, argv, count * sizeof *all);
    if (more > 0)
        memcpy(all + count, added, more * sizeof *all);
    return all;
}
