#include "plan.h"

#include <string.h>

#include "argv.h"
#include "cleanup.h"
#include "env.h"
#include "helper.h"
#include "inject.h"
#include "io.h"
#include "job.h"
#include "per_rank.h"
#include "redirect.h"
#include "scope.h"
#include "set.h"
#include "share.h"

#include "banned.h"

/* What the ranks are made from, compiled once. */
struct mould {
    struct jr_scopes scopes;
    struct jr_environment env;
    struct jr_additions additions;
    struct jr_stencils argv, artifacts;
    struct jr_stencil workdir, prefix;
    struct jr_stencil around[2]; /* the prefix before and behind the ranks */
    struct jr_stencil result; /* results.file; no pieces: the default */
    struct jr_sinks *sinks;   /* by local rank */
    struct jr_set console;
};

struct build {
    struct jr_plan *plan;
    struct jr_arena *arena;  /* of the plan */
    struct jr_arena scratch; /* of the mould */
    const struct jr_job *job;
    const struct jr_plan_options *options;
    struct jr_diags *diags;
    struct mould mould;
};

/* A finding about the spec as a whole: its field, but no position. */
static enum jr_status refuse(struct build *build, unsigned code,
                             const char *path, const struct jr_error *err)
{
    jr_diags_error(build->diags, code, (struct jr_span){0}, path, "%s",
                   err->text);
    return err->status;
}

/* The mesh is proved, and the nodes hold exactly its ranks. */
static enum jr_status check_mesh(struct build *build)
{
    const struct jr_job *job = build->job;
    struct jr_error err = {0};
    struct jr_grid grid;
    memcpy(grid.size, job->axis_size, sizeof grid.size);
    if (jr_grid_prove(&grid, &err) < 0)
        return refuse(build, 506, "parallelism", &err);
    uint64_t held = 0;
    for (uint32_t node = 0; node < job->nodes; node++)
        held += job->local_world_sizes[node];
    if (jr_grid_world(&grid) == job->world_size && held == job->world_size)
        return JR_STATUS_OK;
    jr_error_set(&err, JR_STATUS_INVALID,
                 "a world of %u ranks, a mesh of %u and nodes that hold %llu",
                 job->world_size, jr_grid_world(&grid),
                 (unsigned long long)held);
    return refuse(build, 506, "world_size", &err);
}

/* One list of templates of the job, and where it goes: several, or one. */
struct source {
    const char *path;
    char *const *texts;
    size_t count;
    struct jr_stencils *several;
    struct jr_stencil *one;
};

static int compile_source(const struct source *source,
                          const struct jr_template_space *space,
                          struct jr_error *err)
{
    if (source->several != NULL)
        return jr_stencils_compile(source->several, space, source->texts,
                                   source->count, err);
    const char *text = source->count > 0 ? source->texts[0] : NULL;
    return text == NULL ? 0
                        : jr_stencil_compile(source->one, space, "", text, err);
}

static enum jr_status compile_argv(struct build *build)
{
    struct mould *mould = &build->mould;
    struct jr_error err = {0};
    if (jr_argv_compile(&mould->argv, &mould->scopes, &err) == 0)
        return JR_STATUS_OK;
    unsigned code = err.status == JR_STATUS_LAUNCH ? 100 : 502;
    return refuse(build, code, "entrypoint", &err);
}

/* A line that several ranks wrote has their set in the place of %{rank}; where
 * there is no such place, behind the whole prefix in brackets. */
static void compile_around(struct build *build, const char *prefix)
{
    struct mould *mould = &build->mould;
    const struct jr_template_space *space = &mould->scopes.space;
    const char *word = "%{rank}", *head = prefix, *tail = "] ";
    const char *at = strstr(prefix, word);
    while (at != NULL && at > prefix && at[-1] == '%') /* a literal */
        at = strstr(at + 1, word);
    if (at != NULL) {
        head = jr_arena_strndup(&build->scratch, prefix, (size_t)(at - prefix));
        tail = at + strlen(word);
    } else {
        head = jr_arena_printf(&build->scratch, "%s[", prefix);
    }
    /* What is wrong with the prefix is told of the whole. */
    if (head == NULL ||
        jr_stencil_compile(&mould->around[0], space, "", head, NULL) != 0 ||
        jr_stencil_compile(&mould->around[1], space, "", tail, NULL) != 0)
        mould->around[0].count = mould->around[1].count = 0;
}

static enum jr_status compile_templates(struct build *build)
{
    const struct jr_policy *policy = build->job->policy;
    const struct jr_results *results = &policy->results;
    struct mould *mould = &build->mould;
    char *workdir = jr_arena_strdup(&build->scratch, build->job->workdir);
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
        compile_around(build, prefix);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        struct jr_error err = {0};
        if (compile_source(&sources[i], &mould->scopes.space, &err) < 0)
            status = refuse(build, 502, sources[i].path, &err);
    }
    return status;
}

static enum jr_status make_sinks(struct build *build)
{
    struct mould *mould = &build->mould;
    struct jr_error err = {0};
    mould->sinks =
        jr_sinks_build(&build->scratch, build->job,
                       mould->scopes.space.size[JR_DOMAIN_LOCAL], &err);
    if (mould->sinks == NULL && err.status != JR_STATUS_OK)
        return refuse(build, 506, NULL, &err);
    const char *ranks = build->job->policy->console.ranks;
    const char *bad;
    if (jr_set_parse(&mould->console, &build->scratch, ranks, &bad))
        return JR_STATUS_OK;
    jr_error_set(&err, JR_STATUS_INVALID, "'%s' is no set of ranks", ranks);
    return refuse(build, 506, "console.ranks", &err);
}

/* All that can be wrong is told at once; the first failure is the status. */
static enum jr_status make_mould(struct build *build)
{
    struct mould *mould = &build->mould;
    jr_scopes_init(&mould->scopes, &build->scratch, build->job, build->options);
    if (build->scratch.failed)
        return JR_STATUS_LAUNCH;
    enum jr_status templates = compile_templates(build);
    enum jr_status sinks = make_sinks(build);
    enum jr_status env = jr_environment_init(&mould->env, &mould->scopes,
                                             build->arena, build->diags);
    enum jr_status additions =
        jr_additions_init(&mould->additions, &mould->scopes, build->arena,
                          build->diags);
    const enum jr_status all[] = {templates, sinks, env, additions};
    enum jr_status status = JR_STATUS_OK;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        status = status == JR_STATUS_OK ? all[i] : status;
    return status;
}

/* The CPUs of a rank, as far as they are known: those of this machine, and of
 * nodes with as many ranks, which are taken to be like it. */
static const char *slot_of(const struct build *build,
                           const struct jr_plan_rank *rank)
{
    const struct jr_job *job = build->job;
    uint32_t local = job->local_world_sizes[rank->node_rank];
    if (job->slots_count == job->world_size)
        return job->slots[rank->rank];
    return job->slots_count == local ? job->slots[rank->local_rank] : NULL;
}

/* What the command line says of its streams. */
static void fill_streams(const struct build *build, struct jr_plan_rank *rank)
{
    const uint32_t *debug = build->options->debug_rank;
    const uint32_t *reads = build->options->stdin_rank;
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

static void fill_place(const struct build *build, struct jr_plan_rank *rank)
{
    const struct jr_job *job = build->job;
    const struct jr_grid *grid = &build->mould.scopes.grid;
    const struct jr_sinks *sinks = &build->mould.sinks[rank->local_rank];
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++) {
        rank->at[axis] = jr_grid_at(grid, rank->rank, axis);
        rank->group[axis] = jr_grid_group(grid, rank->rank, axis);
    }
    if (job->devices_count > 0)
        rank->device = job->devices[rank->local_rank % job->devices_count];
    rank->threads = job->threads;
    rank->cpus = slot_of(build, rank);
    rank->out = sinks->out;
    rank->err = sinks->err;
    rank->on_console = jr_set_has(&build->mould.console, rank->rank);
    fill_streams(build, rank);
}

/* results.file is relative to the working directory, and may say
 * %{rank_dir}. */
static const char *stated_result(struct build *build,
                                 const struct jr_plan_rank *rank,
                                 const struct jr_scope *scope)
{
    const char *file =
        jr_stencil_expand(&build->mould.result, &build->scratch, scope);
    if (file == NULL || rank->workdir == NULL)
        return NULL;
    JR_FREE char *path = jr_io_absolute(rank->workdir, file);
    if (path == NULL)
        build->arena->failed = true;
    return jr_arena_strdup(build->arena, path);
}

/* Everything below the run folder, and the words that name it. */
static void fill_paths(struct build *build, struct jr_plan_rank *rank,
                       struct jr_scope *scope)
{
    struct jr_arena *arena = build->arena, *scratch = &build->scratch;
    const char *run_dir = build->plan->run_dir;
    rank->dir = jr_arena_printf(arena, "attempt_%u/%u", build->options->attempt,
                                rank->rank);
    if (rank->out & JR_SINK_FILE)
        rank->out_path = jr_arena_printf(arena, "%s/stdout.log", rank->dir);
    if (rank->err & JR_SINK_FILE)
        rank->err_path = jr_arena_printf(arena, "%s/stderr.log", rank->dir);
    rank->limited = build->job->policy->log_limit != NULL;
    rank->error_path = jr_arena_printf(arena, "%s/error.json", rank->dir);
    scope->text[JR_TEMPLATE_RANK_DIR] =
        jr_arena_printf(scratch, "%s/%s", run_dir, rank->dir);
    scope->text[JR_TEMPLATE_ERROR_FILE] =
        jr_arena_printf(scratch, "%s/%s", run_dir, rank->error_path);
    rank->workdir = jr_stencil_expand(&build->mould.workdir, arena, scope);
    if (build->mould.result.count > 0) {
        rank->result_path = stated_result(build, rank, scope);
        scope->text[JR_TEMPLATE_RESULT_FILE] = rank->result_path;
        return;
    }
    rank->result_path = jr_arena_printf(arena, "%s/result.json", rank->dir);
    scope->text[JR_TEMPLATE_RESULT_FILE] =
        jr_arena_printf(scratch, "%s/%s", run_dir, rank->result_path);
}

/* The prefix as a console may have it: a newline in it would tear lines, an
 * escape would move the cursor. Tabs pass. */
static const char *shown_prefix(struct build *build,
                                const struct jr_stencil *prefix,
                                const struct jr_scope *scope)
{
    const char *text =
        prefix->count == 0
            ? NULL
            : jr_stencil_expand(prefix, &build->scratch, scope);
    JR_BUF_CLEANUP struct jr_buf shown = JR_BUF_INIT;
    while (text != NULL && *text != '\0') {
        size_t len = strcspn(text, "\t");
        jr_buf_escaped(&shown, text, len);
        text += len;
        if (*text == '\t')
            jr_buf_char(&shown, *text++);
    }
    if (shown.failed)
        build->arena->failed = true;
    return jr_arena_strdup(build->arena, shown.data == NULL ? "" : shown.data);
}

static void fill_rank(struct build *build, struct jr_plan_rank *rank)
{
    struct mould *mould = &build->mould;
    struct jr_arena *arena = build->arena;
    struct jr_scope scope;
    fill_place(build, rank);
    jr_scopes_pick(&mould->scopes, rank, &scope);
    fill_paths(build, rank, &scope);
    struct jr_addition *addition =
        jr_additions_find(&mould->additions, rank->rank);
    rank->argv = jr_stencils_expand(&mould->argv, arena, &scope);
    if (addition != NULL)
        rank->argv = jr_addition_argv(addition, arena, rank->argv, &scope);
    rank->drop = addition == NULL ? NULL : addition->drop;
    rank->env = jr_environment_expand(&mould->env,
                                      addition == NULL ? NULL : &addition->env,
                                      arena, &scope, &rank->env_own);
    rank->prefix = shown_prefix(build, &mould->prefix, &scope);
    for (int i = 0; i < 2; i++)
        rank->around[i] = shown_prefix(build, &mould->around[i], &scope);
    rank->artifacts = jr_stencils_expand(&mould->artifacts, arena, &scope);
    rank->artifacts_count = (uint32_t)mould->artifacts.count;
}

static void fill_ranks(struct build *build)
{
    const struct jr_job *job = build->job;
    struct jr_plan *plan = build->plan;
    struct jr_plan_rank *rank =
        jr_arena_array(build->arena, job->world_size, sizeof *rank);
    plan->ranks = rank;
    for (uint32_t node = 0; node < job->nodes; node++)
        for (uint32_t local = 0; local < job->local_world_sizes[node];
             local++) {
            if (build->arena->failed || build->scratch.failed)
                return;
            rank->rank = (uint32_t)(rank - plan->ranks);
            rank->local_rank = local;
            rank->node_rank = node;
            fill_rank(build, rank++);
        }
}

static void fill_plan(struct build *build)
{
    const struct jr_job *job = build->job;
    const struct jr_plan_options *options = build->options;
    bool here = options->local;
    *build->plan = (struct jr_plan){
        .name = job->name,
        .run_id = jr_arena_strdup(build->arena, options->run_id),
        .run_dir = jr_arena_printf(build->arena, "%s/%s", job->log_dir,
                                   options->run_id),
        .fingerprint = job->fingerprint,
        .world_size = job->world_size,
        .nodes = job->nodes,
        .node_rank = job->node_rank,
        .backend = job->backend,
        .master_addr = job->master_addr,
        .master_port = job->master_port,
        .rank_ports = job->rank_ports != NULL ? job->world_size : 0,
        .device_name = job->device_name,
        .device_model = job->device_model,
        .form = job->entrypoint.form,
        .start_method = job->start_method,
        .target = jr_argv_target(&job->entrypoint),
        .returns = job->entrypoint.form == JR_FORM_LIBRARY ||
                   jr_entrypoint_is_function(&job->entrypoint),
        .hosts = job->hosts,
        .first = here ? 0 : job->rank_start,
        .count =
            here ? job->world_size : job->local_world_sizes[job->node_rank],
        .policy = job->policy,
        .secrets = job->secrets,
        .secrets_count = job->secrets_count,
        .hidden = job->hidden,
    };
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++) {
        build->plan->axis_size[axis] = job->axis_size[axis];
        build->plan->axis_backend[axis] = job->axis_backend[axis];
    }
}

static void warn_crossing(struct build *build)
{
    const struct jr_plan_rank *ranks = build->plan->ranks;
    uint32_t size = build->plan->axis_size[JR_AXIS_MODEL];
    uint32_t crossing = 0, example = 0;
    for (uint32_t first = 0; first < build->plan->world_size; first += size) {
        if (ranks[first].node_rank == ranks[first + size - 1].node_rank)
            continue;
        if (crossing++ == 0)
            example = first;
    }
    if (crossing == 0)
        return;
    struct jr_diag *diag = jr_diags_warning(
        build->diags, 503, (struct jr_span){0}, "parallelism.model",
        "%u of %u model groups cross nodes: ranks %u-%u are on nodes %u to %u",
        crossing, build->plan->world_size / size, example, example + size - 1,
        ranks[example].node_rank, ranks[example + size - 1].node_rank);
    jr_diag_help(build->diags, diag,
                 "make local_world_size a multiple of %u: the model axis is "
                 "the one that talks most",
                 size);
}

static void warn_of_fork(struct build *build)
{
    const struct jr_job *job = build->job;
    if (job->start_method != JR_START_FORK ||
        job->device == JR_DEVICE_CPU || job->entrypoint.form != JR_FORM_PYTHON)
        return;
    struct jr_diag *diag = jr_diags_warning(
        build->diags, 509, (struct jr_span){0}, "start_method",
        "what the entry module imports must not touch the device (%s) before "
        "the ranks are forked",
        job->device_name);
    jr_diag_help(build->diags, diag,
                 "start_method: forkserver imports only what `preload` names");
}

static void warn(struct build *build)
{
    const struct jr_job *job = build->job;
    warn_crossing(build);
    warn_of_fork(build);
    if (job->device_visibility == JR_VISIBLE_ONE && job->devices_count > 0)
        jr_diags_warning(build->diags, 505, (struct jr_span){0},
                         "device_visibility",
                         "LOCAL_RANK is not a device index: each rank sees "
                         "one device, number JOBRUN_DEVICE_INDEX");
}

static void fill_setup(struct build *build)
{
    const struct jr_environment *env = &build->mould.env;
    if (build->job->setup == NULL)
        return;
    build->plan->setup = (struct jr_plan_setup){
        .text = build->job->setup,
        .env = env->base.items,
        .drop = env->drop.items,
    };
}

/* The arguments of a function are one word of its argv. */
static enum jr_status check_calls(struct build *build)
{
    const struct jr_plan *plan = build->plan;
    bool function = jr_entrypoint_is_function(&build->job->entrypoint);
    size_t last = build->mould.argv.count - 1;
    for (uint32_t i = 0; function && i < plan->world_size; i++) {
        size_t len = strlen(plan->ranks[i].argv[last]);
        if (len <= JR_CALL_MAX)
            continue;
        struct jr_diag *diag = jr_diags_error(
            build->diags, 508, (struct jr_span){0}, "entrypoint",
            "the arguments of rank %u are %zu bytes of JSON, and at most %u "
            "can be passed",
            i, len, JR_CALL_MAX);
        jr_diag_help(build->diags, diag,
                     "pass the path of a file that the function reads");
        return JR_STATUS_INVALID;
    }
    return JR_STATUS_OK;
}

static enum jr_status build_plan(struct build *build)
{
    enum jr_status status = check_mesh(build);
    if (status == JR_STATUS_OK)
        status = make_mould(build);
    if (status != JR_STATUS_OK)
        return status;
    fill_plan(build);
    fill_ranks(build);
    fill_setup(build);
    jr_helper_fill(build->plan, &build->mould.scopes, build->arena);
    if (build->arena->failed || build->scratch.failed)
        return JR_STATUS_LAUNCH;
    warn(build);
    status = check_calls(build);
    if (status != JR_STATUS_OK)
        return status;
    if (build->options->inject != NULL)
        status = jr_inject_parse(build->plan, build->arena,
                                 build->options->inject,
                                 build->options->attempt, build->diags);
    if (status != JR_STATUS_OK)
        return status;
    return jr_share_check(build->plan, &build->scratch, build->diags);
}

enum jr_status jr_plan_build(struct jr_plan *ret, struct jr_arena *arena,
                             const struct jr_job *job,
                             const struct jr_plan_options *options,
                             struct jr_diags *diags)
{
    struct jr_plan plan = {0};
    struct build build = {
        .plan = &plan,
        .arena = arena,
        .job = job,
        .options = options,
        .diags = diags,
    };
    enum jr_status status = build_plan(&build);
    jr_arena_release(&build.scratch);
    if (status == JR_STATUS_OK)
        *ret = plan;
    return status;
}
