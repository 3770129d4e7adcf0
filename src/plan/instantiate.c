#include "plan/instantiate.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "plan/argv.h"
#include "resolve/node_resources.h"

#include "base/banned.h"

enum jr_status jr_build_refuse(struct jr_build *build, enum jr_diag_code code, const char *path,
                               const struct jr_error *err)
{
    /* What memory was lacking for may look like a mistake. */
    if (build->scratch->failed || build->arena->failed)
        return JR_STATUS_LAUNCH;
    jr_diags_error(build->diags, code, (struct jr_span){0}, path, "%s", err->text);
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

static int compile_source(const struct source *source, const struct jr_template_space *space,
                          struct jr_error *err)
{
    if (source->several != NULL)
        return jr_compiled_templates_compile(source->several, space, source->texts, source->count,
                                             err);
    const char *text = source->count > 0 ? source->texts[0] : NULL;
    return text == NULL ? 0 : jr_compiled_template_compile(source->one, space, "", text, err);
}

static enum jr_status compile_argv(struct jr_build *build)
{
    struct jr_rank_template *template = &build->template;
    struct jr_error err = {0};
    if (jr_argv_compile(&template->argv, &template->scopes, &err) == 0)
        return JR_STATUS_OK;
    enum jr_diag_code code =
        err.status == JR_STATUS_LAUNCH ? JR_CODE_INTERNAL : JR_CODE_WRONG_TEMPLATE_IN_PLAN;
    return jr_build_refuse(build, code, "entrypoint", &err);
}

/* A line that several ranks wrote has their set in place of %{rank}; without %{rank}, the set
 * follows the whole prefix in brackets. */
static void compile_group_prefix(struct jr_build *build, const char *prefix)
{
    struct jr_rank_template *template = &build->template;
    const struct jr_template_space *space = &template->scopes.space;
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
        jr_compiled_template_compile(&template->around[0], space, "", head, NULL) != 0 ||
        jr_compiled_template_compile(&template->around[1], space, "", tail, NULL) != 0)
        template->around[0].count = template->around[1].count = 0;
}

static enum jr_status compile_templates(struct jr_build *build)
{
    const struct jr_policy *policy = build->job->policy;
    const struct jr_results *results = &policy->results;
    struct jr_rank_template *template = &build->template;
    char *workdir = jr_arena_strdup(build->scratch, build->job->workdir);
    char *prefix = policy->console.prefix, *file = results->file;
    const struct source sources[] = {
        {"workdir", &workdir, 1, NULL, &template->workdir},
        {"console.prefix", &prefix, 1, NULL, &template->prefix},
        {"results.file", &file, 1, NULL, &template->result},
        {"results.artifacts", results->artifacts, results->artifacts_count, &template->artifacts,
         NULL},
    };
    enum jr_status status = compile_argv(build);
    if (policy->console.collapse)
        compile_group_prefix(build, prefix);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        struct jr_error err = {0};
        if (compile_source(&sources[i], &template->scopes.space, &err) < 0)
            status = jr_build_refuse(build, JR_CODE_WRONG_TEMPLATE_IN_PLAN, sources[i].path, &err);
    }
    return status;
}

static enum jr_status parse_ranks(struct jr_build *build, struct jr_set *ret, const char *ranks,
                                  const char *path)
{
    struct jr_error err = {0};
    const char *bad;
    if (jr_set_parse(ret, build->scratch, ranks, &bad))
        return JR_STATUS_OK;
    jr_error_set(&err, JR_STATUS_INVALID, "'%s' is not a set of ranks", ranks);
    return jr_build_refuse(build, JR_CODE_PLAN_INCONSISTENT, path, &err);
}

static enum jr_status make_sinks(struct jr_build *build)
{
    struct jr_rank_template *template = &build->template;
    struct jr_error err = {0};
    template->sinks = jr_sinks_build(build->scratch, build->job,
                                     template->scopes.space.size[JR_DOMAIN_LOCAL], &err);
    if (template->sinks == NULL && err.status != JR_STATUS_OK)
        return jr_build_refuse(build, JR_CODE_PLAN_INCONSISTENT, NULL, &err);
    const struct jr_policy *policy = build->job->policy;
    enum jr_status console =
        parse_ranks(build, &template->console, policy->console.ranks, "console.ranks");
    if (console != JR_STATUS_OK || policy->progress.pattern == NULL)
        return console;
    return parse_ranks(build, &template->progress, policy->progress.ranks, "progress.ranks");
}

enum jr_status jr_build_templates(struct jr_build *build)
{
    struct jr_rank_template *template = &build->template;
    jr_scopes_init(&template->scopes, build->scratch, build->job, &build->options);
    if (build->scratch->failed)
        return JR_STATUS_LAUNCH;
    enum jr_status compiled = compile_templates(build);
    enum jr_status sinks = make_sinks(build);
    enum jr_status env =
        jr_environment_init(&template->env, &template->scopes, build->arena, build->diags);
    enum jr_status additions =
        jr_additions_init(&template->additions, &template->scopes, build->arena, build->diags);
    const enum jr_status all[] = {compiled, sinks, env, additions};
    enum jr_status status = JR_STATUS_OK;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        status = status == JR_STATUS_OK ? all[i] : status;
    return status;
}

/* One rank in the making, and where: what it gets, and texts on the way. */
struct instantiation {
    struct jr_build *build;
    const char *own_dir; /* see jr_plan */
    struct jr_arena *arena, *scratch;
};

/* What a rank has of its node, as far as that is known. CPUs are known of nodes that have told
 * theirs, of this machine, and of nodes with as many ranks, which are taken to be like it. */
static void fill_resources(const struct jr_job *job, struct jr_plan_rank *rank)
{
    const struct jr_node_resources *resources = jr_node_resources_of(job, rank->node_rank);
    uint32_t local = job->local_world_sizes[rank->node_rank];
    if (resources->devices_count > 0)
        rank->device = resources->devices[rank->local_rank % resources->devices_count];
    if (rank->device != NULL)
        rank->device_model = resources->device_model;
    rank->threads = resources->threads;
    if (resources->slots_count == job->world_size)
        rank->cpus = resources->slots[rank->rank];
    else if (resources->slots_count == local)
        rank->cpus = resources->slots[rank->local_rank];
}

/* Apply the command line's options for its streams. */
static void fill_streams(const struct jr_build *build, struct jr_plan_rank *rank)
{
    const uint32_t *debug = build->options.debug_rank;
    const uint32_t *reads = build->options.stdin_rank;
    if (reads != NULL && *reads == rank->rank)
        rank->input = JR_INPUT_STDIN;
    if (debug == NULL)
        return;
    bool chosen = *debug == rank->rank;
    rank->out = rank->err = chosen ? JR_SINK_INHERIT : JR_SINK_FILE;
    rank->on_console = false;
    if (chosen)
        rank->input = JR_INPUT_TERMINAL;
}

static void fill_place(const struct jr_build *build, struct jr_plan_rank *rank)
{
    const struct jr_grid *grid = &build->template.scopes.grid;
    const struct jr_sinks *sinks = &build->template.sinks[rank->local_rank];
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++) {
        rank->at[axis] = jr_grid_at(grid, rank->rank, axis);
        rank->group[axis] = jr_grid_group(grid, rank->rank, axis);
    }
    fill_resources(build->job, rank);
    rank->out = sinks->out;
    rank->err = sinks->err;
    rank->on_console = jr_set_has(&build->template.console, rank->rank);
    fill_streams(build, rank);
}

/* results.file is relative to the working directory, and may say %{rank_dir}. */
static const char *stated_result(const struct instantiation *inst, const struct jr_plan_rank *rank,
                                 const struct jr_scope *scope)
{
    const char *file =
        jr_compiled_template_expand(&inst->build->template.result, inst->scratch, scope);
    if (file == NULL || rank->workdir == NULL)
        return NULL;
    JR_FREE char *path = jr_io_absolute(rank->workdir, file);
    if (path == NULL)
        inst->arena->failed = true;
    return jr_arena_strdup(inst->arena, path);
}

/* Everything below the run folder, and the words that name it. */
static void fill_paths(const struct instantiation *inst, struct jr_plan_rank *rank,
                       struct jr_scope *scope)
{
    struct jr_build *build = inst->build;
    struct jr_arena *arena = inst->arena, *scratch = inst->scratch;
    const char *own_dir = inst->own_dir;
    rank->dir = jr_arena_printf(arena, "attempt_%u/%u", build->options.attempt, rank->rank);
    if (rank->out & JR_SINK_FILE)
        rank->out_path = jr_arena_printf(arena, "%s/stdout.log", rank->dir);
    if (rank->err & JR_SINK_FILE)
        rank->err_path = jr_arena_printf(arena, "%s/stderr.log", rank->dir);
    rank->limited = build->job->policy->log_limit != NULL;
    rank->watched = jr_set_has(&build->template.progress, rank->rank);
    rank->error_path = jr_arena_printf(arena, "%s/error.json", rank->dir);
    scope->text[JR_TEMPLATE_RANK_DIR] = jr_arena_printf(scratch, "%s/%s", own_dir, rank->dir);
    scope->text[JR_TEMPLATE_ERROR_FILE] =
        jr_arena_printf(scratch, "%s/%s", own_dir, rank->error_path);
    scope->text[JR_TEMPLATE_PROGRESS_FILE] =
        jr_arena_printf(scratch, "%s/attempt_%u/" JR_PLAN_STEPS "/%u.jsonl", own_dir,
                        build->options.attempt, rank->rank);
    rank->workdir = jr_compiled_template_expand(&build->template.workdir, arena, scope);
    if (build->template.result.count > 0) {
        rank->result_path = stated_result(inst, rank, scope);
        scope->text[JR_TEMPLATE_RESULT_FILE] = rank->result_path;
        return;
    }
    rank->result_path = jr_arena_printf(arena, "%s/result.json", rank->dir);
    scope->text[JR_TEMPLATE_RESULT_FILE] =
        jr_arena_printf(scratch, "%s/%s", own_dir, rank->result_path);
}

/* The prefix as a console may have it: a newline in it would tear lines, an escape would move the
 * cursor. Tabs pass. */
static const char *shown_prefix(const struct instantiation *inst,
                                const struct jr_compiled_template *prefix,
                                const struct jr_scope *scope)
{
    const char *text =
        prefix->count == 0 ? NULL : jr_compiled_template_expand(prefix, inst->scratch, scope);
    JR_BUF_CLEANUP struct jr_buf shown = JR_BUF_INIT;
    while (text != NULL && *text != '\0') {
        size_t len = strcspn(text, "\t");
        jr_buf_escaped(&shown, text, len);
        text += len;
        if (*text == '\t')
            jr_buf_char(&shown, *text++);
    }
    return jr_buf_keep(&shown, inst->arena);
}

static void fill_rank(const struct instantiation *inst, struct jr_plan_rank *rank)
{
    struct jr_rank_template *template = &inst->build->template;
    struct jr_arena *arena = inst->arena;
    struct jr_scope scope;
    fill_place(inst->build, rank);
    jr_scopes_pick(&template->scopes, rank, &scope);
    scope.lasting = inst->build->arena;
    fill_paths(inst, rank, &scope);
    struct jr_addition *addition = jr_additions_find(&template->additions, rank->rank);
    rank->argv = jr_compiled_templates_expand(&template->argv, arena, &scope);
    if (addition != NULL)
        rank->argv = jr_addition_argv(addition, arena, rank->argv, &scope);
    rank->drop = addition == NULL ? NULL : addition->drop;
    rank->env = jr_environment_expand(&template->env, addition == NULL ? NULL : &addition->env,
                                      arena, &scope, &rank->env_own);
    rank->prefix = shown_prefix(inst, &template->prefix, &scope);
    for (int i = 0; i < 2; i++)
        rank->around[i] = shown_prefix(inst, &template->around[i], &scope);
    rank->artifacts = jr_compiled_templates_expand(&template->artifacts, arena, &scope);
    rank->artifacts_count = (uint32_t) template->artifacts.count;
}

/* Find the node of a rank, from the one that was asked for last on. */
static void find_node_from_last(struct jr_build *build, struct jr_plan_rank *rank)
{
    const uint32_t *sizes = build->job->local_world_sizes;
    if (rank->rank < build->node_first)
        build->node = build->node_first = 0;
    while (rank->rank - build->node_first >= sizes[build->node])
        build->node_first += sizes[build->node++];
    rank->node_rank = build->node;
    rank->local_rank = rank->rank - build->node_first;
}

void jr_build_ranks(struct jr_build *build)
{
    struct jr_plan *plan = build->plan;
    const struct instantiation inst = {build, plan->own_dir, build->arena, build->scratch};
    plan->ranks = jr_arena_array(build->arena, plan->world_size, sizeof *plan->ranks);
    for (uint32_t i = 0; i < plan->world_size; i++) {
        if (build->arena->failed || build->scratch->failed)
            return;
        plan->ranks[i].rank = i;
        find_node_from_last(build, &plan->ranks[i]);
        fill_rank(&inst, &plan->ranks[i]);
    }
}

bool jr_build_results_differ(const struct jr_build *build)
{
    const char *file = build->job->policy->results.file;
    return strstr(file, "..") == NULL && build->template.workdir.domain == JR_DOMAIN_JOB &&
           jr_compiled_template_is_distinct(&build->template.result);
}

void jr_plan_place(const struct jr_plan *plan, uint32_t rank, struct jr_plan_rank *ret)
{
    if (plan->ranks != NULL) {
        *ret = plan->ranks[rank];
        return;
    }
    struct jr_rank_template *template = &plan->build->template;
    const struct jr_addition *addition = jr_additions_find(&template->additions, rank);
    *ret = (struct jr_plan_rank){.rank = rank};
    find_node_from_last(plan->build, ret);
    fill_place(plan->build, ret);
    ret->env_own = jr_environment_own(&template->env, addition == NULL ? NULL : &addition->env);
}

struct jr_plan_rank jr_plan_rank_at(const struct jr_plan *plan, uint32_t rank,
                                    struct jr_arena *arena)
{
    struct jr_plan_rank made = {.rank = rank};
    const struct instantiation inst = {plan->build, plan->own_dir, arena, arena};
    if (plan->ranks != NULL)
        return plan->ranks[rank];
    find_node_from_last(plan->build, &made);
    fill_rank(&inst, &made);
    return made;
}
