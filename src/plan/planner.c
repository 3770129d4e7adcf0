#include "plan/planner.h"

#include <stdlib.h>
#include <string.h>

#include "base/strv.h"
#include "plan/argv.h"
#include "plan/builder.h"
#include "plan/injection_plan.h"
#include "plan/instantiate.h"

#include "base/banned.h"

/* The mesh is proved, and the nodes hold exactly its ranks. */
static enum jr_status check_plan_mesh(struct jr_build *build)
{
    const struct jr_job *job = build->job;
    struct jr_error err = {0};
    struct jr_grid grid;
    memcpy(grid.size, job->axis_size, sizeof grid.size);
    if (jr_grid_prove(&grid, &err) < 0)
        return jr_build_refuse(build, JR_CODE_PLAN_INCONSISTENT, "parallelism", &err);
    uint64_t held = 0;
    for (uint32_t node = 0; node < job->nodes; node++)
        held += job->local_world_sizes[node];
    if (jr_grid_world(&grid) == job->world_size && held == job->world_size)
        return JR_STATUS_OK;
    jr_error_set(&err, JR_STATUS_INVALID,
                 "a world of %u ranks, a mesh of %u and nodes that hold %llu", job->world_size,
                 jr_grid_world(&grid), (unsigned long long)held);
    return jr_build_refuse(build, JR_CODE_PLAN_INCONSISTENT, "world_size", &err);
}

const char *jr_plan_folder(const struct jr_plan_options *options)
{
    return options->folder != NULL ? options->folder : options->run_id;
}

static void fill_plan(struct jr_build *build)
{
    const struct jr_job *job = build->job;
    const struct jr_plan_options *options = &build->options;
    bool here = options->local || options->whole;
    *build->plan = (struct jr_plan){
        .name = job->name,
        .unbound = job->unbound,
        .run_id = jr_arena_strdup(build->arena, options->run_id),
        .run_dir = jr_arena_printf(build->arena, "%s/%s", job->log_dir, jr_plan_folder(options)),
        .attempt = options->attempt,
        .fingerprint = job->fingerprint,
        .world_size = job->world_size,
        .nodes = job->nodes,
        .spare_nodes = job->spare_nodes,
        .node_rank = job->node_rank,
        .backend = job->backend,
        .master_addr = job->master_addr,
        .master_port = job->master_port,
        .device_name = job->device_name,
        .form = job->entrypoint.form,
        .start_method = job->start_method,
        .mpi = options->mpi,
        .target = jr_argv_target(&job->entrypoint),
        .returns =
            job->entrypoint.form == JR_FORM_LIBRARY || jr_entrypoint_is_function(&job->entrypoint),
        .hosts = job->hosts,
        .first = here ? 0 : job->rank_start,
        .count = here ? job->world_size : job->local_world_sizes[job->node_rank],
        .policy = job->policy,
        .secrets = job->secrets,
        .secrets_count = job->secrets_count,
        .hidden = job->hidden,
    };
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++) {
        build->plan->axis_size[axis] = job->axis_size[axis];
        build->plan->axis_backend[axis] = job->axis_backend[axis];
    }
    build->plan->own_dir =
        options->own == NULL
            ? build->plan->run_dir
            : jr_arena_printf(build->arena, "%s/%s", build->plan->run_dir, options->own);
}

static uint32_t find_rank_node(const struct jr_job *job, uint32_t rank)
{
    uint32_t node = 0;
    while (rank >= job->local_world_sizes[node])
        rank -= job->local_world_sizes[node++];
    return node;
}

/* A group crosses where a node begins within it. */
static void warn_crossing(struct jr_build *build)
{
    const struct jr_job *job = build->job;
    uint32_t size = job->axis_size[JR_AXIS_MODEL];
    uint32_t crossing = 0, example = 0, last = 0, begins = 0;
    for (uint32_t node = 0; node < job->nodes; node++) {
        uint32_t group = begins / size;
        if (begins % size != 0 && (crossing == 0 || group != last)) {
            example = crossing++ == 0 ? group * size : example;
            last = group;
        }
        begins += job->local_world_sizes[node];
    }
    if (crossing == 0)
        return;
    struct jr_diag *diag = jr_diags_warning(
        build->diags, JR_CODE_MODEL_GROUP_CROSSES_NODES, (struct jr_span){0}, "parallelism.model",
        "%u of %u model groups cross nodes: ranks %u-%u are on nodes %u to %u", crossing,
        job->world_size / size, example, example + size - 1, find_rank_node(job, example),
        find_rank_node(job, example + size - 1));
    jr_diag_help(build->diags, diag,
                 "make local_world_size a multiple of %u: the model axis communicates the most",
                 size);
}

static void warn_of_fork(struct jr_build *build)
{
    const struct jr_job *job = build->job;
    if (job->start_method != JR_START_FORK || job->device == JR_DEVICE_CPU ||
        job->entrypoint.form != JR_FORM_PYTHON)
        return;
    struct jr_diag *diag = jr_diags_warning(build->diags, JR_CODE_FORK_WITH_ACCELERATOR,
                                            (struct jr_span){0}, "start_method",
                                            "the imports of the entry module must not touch the "
                                            "device (%s) before the ranks are forked",
                                            job->device_name);
    jr_diag_help(build->diags, diag, "start_method: forkserver imports only what `preload` names");
}

static void warn_of_plan(struct jr_build *build)
{
    const struct jr_job *job = build->job;
    warn_crossing(build);
    warn_of_fork(build);
    if (job->device_visibility == JR_VISIBLE_ONE && job->own.devices_count > 0)
        jr_diags_warning(build->diags, JR_CODE_LOCAL_RANK_NOT_DEVICE, (struct jr_span){0},
                         "device_visibility",
                         "LOCAL_RANK is not a device index: each rank sees one "
                         "device, whose index is JOBRUN_DEVICE_INDEX");
}

static void fill_setup(struct jr_build *build)
{
    const struct jr_environment *env = &build->template.env;
    if (build->job->setup == NULL)
        return;
    build->plan->setup = (struct jr_plan_setup){
        .text = build->job->setup,
        .env = env->base.items,
        .drop = env->drop.items,
        .package = env->package,
    };
}

static enum jr_status refuse_call(struct jr_build *build, uint32_t rank, size_t len)
{
    struct jr_diag *diag =
        jr_diags_error(build->diags, JR_CODE_ARGUMENTS_TOO_LONG, (struct jr_span){0}, "entrypoint",
                       "the arguments of rank %u are %zu bytes of JSON, and at most %u "
                       "can be passed",
                       rank, len, JR_CALL_MAX);
    jr_diag_help(build->diags, diag, "pass the path of a file that the function reads");
    return JR_STATUS_INVALID;
}

/* The arguments of a function are one word of its argv. */
static enum jr_status check_calls(struct jr_build *build)
{
    const struct jr_plan *plan = build->plan;
    uint32_t count = plan->same_argv ? 1 : plan->world_size;
    size_t last = build->template.argv.count - 1, len = 0;
    if (!jr_entrypoint_is_function(&build->job->entrypoint))
        return JR_STATUS_OK;
    for (uint32_t i = 0; i < count && len <= JR_CALL_MAX; i++) {
        struct jr_arena arena = JR_ARENA_INIT;
        struct jr_plan_rank rank = jr_plan_rank_at(plan, i, &arena);
        bool failed = arena.failed;
        len = failed ? 0 : strlen(rank.argv[last]);
        jr_arena_release(&arena);
        if (failed)
            return JR_STATUS_LAUNCH;
        if (len > JR_CALL_MAX)
            return refuse_call(build, i, len);
    }
    return JR_STATUS_OK;
}

/* Whether a rank has that very variable; `hint` is where it is likely to be. */
static bool has_variable(const struct jr_plan_rank *rank, const char *item, size_t hint,
                         size_t count)
{
    if (hint < count && rank->env[hint] == item)
        return true;
    for (char *const *env = rank->env; *env != NULL; env++)
        if (*env == item || strcmp(*env, item) == 0)
            return true;
    return false;
}

/* Ranks `first` on, `count` of them, all have the variable. */
static bool is_variable_common(const struct jr_plan *plan, const size_t *counts, const char *item,
                               size_t hint)
{
    for (uint32_t i = 1; i < plan->count; i++)
        if (!has_variable(&plan->ranks[plan->first + i], item, hint, counts[i]))
            return false;
    return true;
}

static size_t *count_rank_variables(const struct jr_plan *plan, struct jr_arena *arena)
{
    size_t *counts = jr_arena_array(arena, plan->count, sizeof *counts);
    for (uint32_t i = 0; counts != NULL && i < plan->count; i++)
        while (plan->ranks[plan->first + i].env[counts[i]] != NULL)
            counts[i]++;
    return counts;
}

/* The helper that ranks are forked from: its environment is what those that start here have in
 * common. The ranks are there. Memory failure is the arena's. */
static void fill_plan_helper(struct jr_plan *plan, const struct jr_scopes *scopes,
                             struct jr_arena *arena)
{
    const struct jr_plan_rank *model = &plan->ranks[plan->first];
    struct jr_plan_helper *helper = &plan->helper;
    struct jr_strv env = {0};
    if (arena->failed || scopes->space.arena->failed)
        return;
    helper->argv = jr_argv_helper(scopes, arena);
    size_t *counts = NULL;
    if (helper->argv != NULL)
        counts = count_rank_variables(plan, scopes->space.arena);
    for (size_t i = 0; counts != NULL && i < counts[0]; i++) {
        if (!is_variable_common(plan, counts, model->env[i], i))
            continue;
        jr_strv_push(&env, arena, model->env[i]);
        helper->env_own += i < model->env_own;
    }
    helper->env = env.items;
}

static bool is_lazy_plan(const struct jr_build *build)
{
    return build->options.lazy && build->job->start_method == JR_START_SPAWN;
}

/* What there is of each rank. */
static enum jr_status add_plan_ranks(struct jr_build *build)
{
    const struct jr_additions *additions = &build->template.additions;
    struct jr_plan *plan = build->plan;
    plan->same_argv = !jr_compiled_templates_vary(&build->template.argv);
    for (size_t i = 0; i < additions->count; i++)
        plan->same_argv &= additions->items[i].args.count == 0;
    if (is_lazy_plan(build))
        plan->build = build;
    else
        jr_build_ranks(build);
    fill_setup(build);
    if (plan->ranks != NULL)
        fill_plan_helper(plan, &build->template.scopes, build->arena);
    if (build->arena->failed || build->scratch->failed)
        return JR_STATUS_LAUNCH;
    warn_of_plan(build);
    return check_calls(build);
}

/* Where a rank's result goes. */
struct place {
    const char *path;
    uint32_t rank;
};

/* By path, then by rank. */
static int compare_result_paths(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int order = strcmp(x->path, y->path);
    return order != 0 ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static enum jr_status refuse_shared_result(struct jr_diags *diags, const struct place *x,
                                           const struct place *y)
{
    struct jr_diag *diag = jr_diags_error(
        diags, JR_CODE_RESULT_FILE_SHARED_IN_PLAN, (struct jr_span){0}, "results.file",
        "ranks %u and %u would write the same result file, %s", x->rank, y->rank, x->path);
    jr_diag_help(diags, diag,
                 "put %%{rank} into results.file; or, if one rank delivers for "
                 "all, name that rank: " JR_SETTING("results.required", "\"%u\""),
                 x->rank);
    return JR_STATUS_INVALID;
}

/* Ranks `first` to before `end`, whose files are on one machine. */
static enum jr_status check_result_paths(struct jr_build *build, const struct jr_set *required,
                                         uint32_t first, uint32_t end)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct place *places = jr_arena_array(&arena, end - first, sizeof *places);
    enum jr_status status = JR_STATUS_OK;
    size_t count = 0;
    for (uint32_t i = first; i < end && !arena.failed; i++) {
        struct jr_arena texts = JR_ARENA_INIT;
        if (!jr_set_has(required, i))
            continue;
        struct jr_plan_rank rank = jr_plan_rank_at(build->plan, i, &texts);
        places[count++] = (struct place){jr_arena_strdup(&arena, rank.result_path), i};
        arena.failed |= texts.failed;
        jr_arena_release(&texts);
    }
    if (arena.failed)
        status = JR_STATUS_LAUNCH;
    else if (count > 1)
        qsort(places, count, sizeof *places, compare_result_paths);
    for (size_t i = 1; i < count && status == JR_STATUS_OK; i++)
        if (strcmp(places[i - 1].path, places[i].path) == 0)
            status = refuse_shared_result(build->diags, &places[i - 1], &places[i]);
    jr_arena_release(&arena);
    return status;
}

/* Refuse a plan in which two ranks of one node must deliver to the same file:
 * the result of one would count for both. */
static enum jr_status check_shared_results(struct jr_build *build)
{
    const struct jr_job *job = build->job;
    const struct jr_results *results = &job->policy->results;
    struct jr_set required;
    const char *bad;
    if (!results->stated || results->file == NULL || jr_build_results_differ(build) ||
        !jr_set_parse(&required, build->scratch, results->required, &bad))
        return JR_STATUS_OK;
    /* The same path on two nodes is two files, unless all ranks run here. */
    if (build->plan->count == job->world_size)
        return check_result_paths(build, &required, 0, job->world_size);
    enum jr_status status = JR_STATUS_OK;
    uint32_t first = 0;
    for (uint32_t i = 0; i < job->nodes && status == JR_STATUS_OK; i++) {
        status = check_result_paths(build, &required, first, first + job->local_world_sizes[i]);
        first += job->local_world_sizes[i];
    }
    return status;
}

static enum jr_status build_plan(struct jr_build *build)
{
    enum jr_status status = check_plan_mesh(build);
    if (status == JR_STATUS_OK)
        status = jr_build_templates(build);
    if (status != JR_STATUS_OK)
        return status;
    fill_plan(build);
    status = add_plan_ranks(build);
    if (status == JR_STATUS_OK && build->options.inject != NULL)
        status = jr_inject_parse(build->plan, build->arena, build->options.inject,
                                 build->job->local_world_sizes, build->diags);
    return status == JR_STATUS_OK ? check_shared_results(build) : status;
}

enum jr_status jr_plan_build(struct jr_plan *ret, struct jr_arena *arena, const struct jr_job *job,
                             const struct jr_plan_options *options, struct jr_diags *diags)
{
    struct jr_plan plan = {0};
    struct jr_arena scratch = JR_ARENA_INIT;
    struct jr_build *build = jr_arena_alloc(arena, sizeof *build);
    if (build == NULL)
        return JR_STATUS_LAUNCH;
    *build = (struct jr_build){
        .plan = &plan,
        .arena = arena,
        .scratch = &scratch,
        .job = job,
        .options = *options,
        .diags = diags,
    };
    if (is_lazy_plan(build))
        build->scratch = arena;
    enum jr_status status = build_plan(build);
    jr_arena_release(&scratch);
    build->plan = NULL;
    if (status == JR_STATUS_OK)
        *ret = plan;
    return status;
}
