#include "plan/per_rank.h"

#include <string.h>

#include "base/rank_set.h"
#include "base/strv.h"
#include "plan/argv.h"
#include "resolve/job.h"

#include "base/banned.h"

static int compile_args(struct jr_addition *ret, const struct jr_rank_entry *entry,
                        const struct jr_scopes *scopes, struct jr_error *err)
{
    ret->call = jr_entrypoint_is_function(&scopes->job->entrypoint);
    if (!ret->call)
        return jr_compiled_templates_compile(&ret->args, &scopes->space, entry->args,
                                             entry->args_count, err);
    struct jr_compiled_template *call = jr_arena_array(scopes->space.arena, 1, sizeof *call);
    ret->args = (struct jr_compiled_templates){.items = call, .count = 1};
    return call == NULL ? 0 : jr_argv_call(call, scopes, entry, err);
}

/* The names that an entry unsets. */
static char **unset_names(const struct jr_rank_entry *entry, struct jr_arena *arena)
{
    struct jr_strv names = {0};
    for (uint32_t i = 0; i < entry->env_count; i++)
        if (entry->env[i].value == NULL && !entry->env[i].required)
            jr_strv_push(&names, arena, jr_arena_strdup(arena, entry->env[i].name));
    return names.items;
}

static enum jr_status compile_addition(struct jr_addition *ret, const struct jr_rank_entry *entry,
                                       const struct jr_scopes *scopes, struct jr_diags *diags)
{
    struct jr_arena *arena = scopes->space.arena;
    struct jr_error err = {0};
    const char *path = jr_arena_printf(arena, "per_rank.%s", entry->ranks);
    const char *bad;
    if (path == NULL)
        return JR_STATUS_LAUNCH;
    if (!jr_set_parse(&ret->ranks, arena, entry->ranks, &bad)) {
        if (arena->failed)
            return JR_STATUS_LAUNCH;
        (void)jr_diags_error(diags, JR_CODE_PLAN_INCONSISTENT, (struct jr_span){0}, path,
                             "'%s' is not a set of ranks", entry->ranks);
        return JR_STATUS_INVALID;
    }
    if (compile_args(ret, entry, scopes, &err) < 0) {
        (void)jr_diags_error(diags, JR_CODE_WRONG_TEMPLATE_IN_PLAN, (struct jr_span){0}, path, "%s",
                             err.text);
        return JR_STATUS_INVALID;
    }
    return jr_env_more_init(&ret->env, scopes, entry, path, diags);
}

enum jr_status jr_additions_init(struct jr_additions *ret, const struct jr_scopes *scopes,
                                 struct jr_arena *arena, struct jr_diags *diags)
{
    const struct jr_job *job = scopes->job;
    enum jr_status status = JR_STATUS_OK;
    *ret = (struct jr_additions){0};
    uint32_t count = job->per_rank_count;
    if (count == 0)
        return status;
    ret->items = jr_arena_array(scopes->space.arena, count, sizeof *ret->items);
    ret->of = jr_arena_array(scopes->space.arena, job->world_size, sizeof *ret->of);
    if (ret->items == NULL || ret->of == NULL)
        return JR_STATUS_LAUNCH;
    for (; ret->count < count; ret->count++) {
        struct jr_addition *item = &ret->items[ret->count];
        const struct jr_rank_entry *entry = &job->per_rank[ret->count];
        enum jr_status one = compile_addition(item, entry, scopes, diags);
        status = status == JR_STATUS_OK ? one : status;
        item->drop = unset_names(entry, arena);
        jr_set_fill(&item->ranks, ret->of, job->world_size, (unsigned)ret->count + 1);
    }
    return status;
}

struct jr_addition *jr_additions_find(const struct jr_additions *additions, uint32_t rank)
{
    unsigned which = additions->of == NULL ? 0 : additions->of[rank];
    return which == 0 ? NULL : &additions->items[which - 1];
}

char **jr_addition_argv(struct jr_addition *addition, struct jr_arena *arena, char *const *argv,
                        const struct jr_scope *scope)
{
    size_t count = 0, more = addition->args.count;
    if (more == 0)
        return (char **)argv;
    while (argv != NULL && argv[count] != NULL)
        count++;
    count -= addition->call && count > 0;
    char **all = jr_arena_array(arena, count + more + 1, sizeof *all);
    char **added = jr_compiled_templates_expand(&addition->args, arena, scope);
    if (all == NULL || added == NULL)
        return NULL;
    if (count > 0)
        memcpy(all, argv, count * sizeof *all);
    if (more > 0)
        memcpy(all + count, added, more * sizeof *all);
    return all;
}

/* The streams of each local rank by a list of rules, no two of which have a rank in common: a bit
 * set of enum jr_streams. */
struct streams {
    struct jr_arena *arena;
    uint32_t count;
    unsigned *of; /* `count` of them */
};

static int apply_stream_rule(const struct streams *streams, const struct jr_stream_rule *rule,
                             const char *field, struct jr_error *err)
{
    struct jr_set set;
    const char *bad;
    if (!jr_set_parse(&set, streams->arena, rule->ranks, &bad))
        return jr_error_set(err, JR_STATUS_INVALID, "%s: '%s' is not a set of local ranks", field,
                            rule->ranks);
    jr_set_fill(&set, streams->of, streams->count, (unsigned)rule->streams);
    return 0;
}

static enum jr_sink stream_sink(unsigned redirected, unsigned teed, enum jr_streams stream)
{
    if (teed & (unsigned)stream)
        return JR_SINK_FILE | JR_SINK_CONSOLE;
    return redirected & (unsigned)stream ? JR_SINK_FILE : JR_SINK_INHERIT;
}

struct jr_sinks *jr_sinks_build(struct jr_arena *arena, const struct jr_job *job, uint32_t count,
                                struct jr_error *err)
{
    struct jr_sinks *sinks = jr_arena_array(arena, count, sizeof *sinks);
    struct streams files = {arena, count, NULL}, tees = files;
    files.of = jr_arena_array(arena, count, sizeof *files.of);
    tees.of = jr_arena_array(arena, count, sizeof *tees.of);
    if (sinks == NULL || files.of == NULL || tees.of == NULL)
        return NULL;
    for (uint32_t i = 0; i < job->redirects_count; i++)
        if (apply_stream_rule(&files, &job->redirects[i], "redirects", err) < 0)
            return NULL;
    for (uint32_t i = 0; i < job->tee_count; i++)
        if (apply_stream_rule(&tees, &job->tee[i], "tee", err) < 0)
            return NULL;
    for (uint32_t rank = 0; rank < count; rank++) {
        unsigned teed = job->tee_stated ? tees.of[rank] : (unsigned)JR_STREAM_ALL & ~files.of[rank];
        sinks[rank].out = stream_sink(files.of[rank], teed, JR_STREAM_OUT);
        sinks[rank].err = stream_sink(files.of[rank], teed, JR_STREAM_ERR);
    }
    return sinks;
}
