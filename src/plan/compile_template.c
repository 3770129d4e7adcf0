#include "plan/builder.h"

#include <string.h>

#include "plan/argv.h"

#include "base/banned.h"

enum jr_status jr_build_refuse(struct jr_build *build, enum jr_diag_code code,
                               const char *path, const struct jr_error *err)
{
    /* What memory was lacking for may look like a mistake. */
    if (build->scratch->failed || build->arena->failed)
        return JR_STATUS_LAUNCH;
    jr_diags_error(build->diags, code, (struct jr_span){0}, path, "%s",
                   err->text);
    return err->status;
}

/* One list of templates of the job, and where it goes: several, or one. */
struct source {
    const char *path;
    char *const *texts;
    size_t count;
    struct jr_compiled_templates *several;
    struct jr_compiled_template *one;
};

static int compile_source(const struct source *source,
                          const struct jr_template_space *space,
                          struct jr_error *err)
{
    if (source->several != NULL)
        return jr_compiled_templates_compile(source->several, space,
                                             source->texts, source->count, err);
    const char *text = source->count > 0 ? source->texts[0] : NULL;
    return text == NULL ? 0
                        : jr_compiled_template_compile(source->one, space, "",
                                                       text, err);
}

static enum jr_status compile_argv(struct jr_build *build)
{
    struct jr_compile_templates *mould = &build->mould;
    struct jr_error err = {0};
    if (jr_argv_compile(&mould->argv, &mould->scopes, &err) == 0)
        return JR_STATUS_OK;
    enum jr_diag_code code = err.status == JR_STATUS_LAUNCH
                                 ? JR_CODE_INTERNAL
                                 : JR_CODE_WRONG_TEMPLATE_IN_PLAN;
    return jr_build_refuse(build, code, "entrypoint", &err);
}

/* A line that several ranks wrote has their set in place of %{rank}; without
 * %{rank}, the set follows the whole prefix in brackets. */
static void compile_group_prefix(struct jr_build *build, const char *prefix)
{
    struct jr_compile_templates *mould = &build->mould;
    const struct jr_template_space *space = &mould->scopes.space;
    const char *word = "%{rank}", *head = prefix, *tail = "] ";
    const char *at = strstr(prefix, word);
    while (at != NULL && at > prefix && at[-1] == '%') /* a literal */
        at = strstr(at + 1, word);
    if (at != NULL) {
        head = jr_arena_strndup(build->scratch, prefix, (size_t)(at - prefix));
        tail = at + strlen(word);
    } else {
        head = jr_arena_printf(build->scratch, "%s[", prefix);
    }
    /* A mistake in the prefix is reported for the whole prefix. */
    if (head == NULL ||
        jr_compiled_template_compile(&mould->around[0], space, "", head,
                                     NULL) != 0 ||
        jr_compiled_template_compile(&mould->around[1], space, "", tail,
                                     NULL) != 0)
        mould->around[0].count = mould->around[1].count = 0;
}

static enum jr_status compile_templates(struct jr_build *build)
{
    const struct jr_policy *policy = build->job->policy;
    const struct jr_results *results = &policy->results;
    struct jr_compile_templates *mould = &build->mould;
    char *workdir = jr_arena_strdup(build->scratch, build->job->workdir);
    char *prefix = policy->console.prefix, *file = results->file;
    const struct source sources[] = {
        {"workdir", &workdir, 1, NULL, &mould->workdir},
        {"console.prefix", &prefix, 1, NULL, &mould->prefix},
        {"results.file", &file, 1, NULL, &mould->result},
        {"results.artifacts", results->artifacts, results->artifacts_count,
         &mould->artifacts, NULL},
    };
    enum jr_status status = compile_argv(build);
    if (policy->console.collapse)
        compile_group_prefix(build, prefix);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        struct jr_error err = {0};
        if (compile_source(&sources[i], &mould->scopes.space, &err) < 0)
            status = jr_build_refuse(build, JR_CODE_WRONG_TEMPLATE_IN_PLAN,
                                     sources[i].path, &err);
    }
    return status;
}

static enum jr_status make_sinks(struct jr_build *build)
{
    struct jr_compile_templates *mould = &build->mould;
    struct jr_error err = {0};
    mould->sinks =
        jr_sinks_build(build->scratch, build->job,
                       mould->scopes.space.size[JR_DOMAIN_LOCAL], &err);
    if (mould->sinks == NULL && err.status != JR_STATUS_OK)
        return jr_build_refuse(build, JR_CODE_PLAN_INCONSISTENT, NULL, &err);
    const char *ranks = build->job->policy->console.ranks;
    const char *bad;
    if (jr_set_parse(&mould->console, build->scratch, ranks, &bad))
        return JR_STATUS_OK;
    jr_error_set(&err, JR_STATUS_INVALID, "'%s' is not a set of ranks", ranks);
    return jr_build_refuse(build, JR_CODE_PLAN_INCONSISTENT, "console.ranks",
                           &err);
}

enum jr_status jr_build_mould(struct jr_build *build)
{
    struct jr_compile_templates *mould = &build->mould;
    jr_scopes_init(&mould->scopes, build->scratch, build->job, &build->options);
    if (build->scratch->failed)
        return JR_STATUS_LAUNCH;
    enum jr_status templates = compile_templates(build);
    enum jr_status sinks = make_sinks(build);
    enum jr_status env = jr_environment_init(&mould->env, &mould->scopes,
                                             build->arena, build->diags);
    enum jr_status additions = jr_additions_init(
        &mould->additions, &mould->scopes, build->arena, build->diags);
    const enum jr_status all[] = {templates, sinks, env, additions};
    enum jr_status status = JR_STATUS_OK;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        status = status == JR_STATUS_OK ? all[i] : status;
    return status;
}
