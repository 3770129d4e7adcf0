#include "build.h"

#include <string.h>

#include "argv.h"
#include "helper.h"
#include "inject.h"
#include "share.h"

#include "banned.h"

/* The mesh is proved, and the nodes hold exactly its ranks. */
static enum jr_status check_mesh(struct jr_build *build)
{
    const struct jr_job *job = build->job;
    struct jr_error err = {0};
    struct jr_grid grid;
    memcpy(grid.size, job->axis_size, sizeof grid.size);
    if (jr_grid_prove(&grid, &err) < 0)
        return jr_build_refuse(build, 506, "parallelism", &err);
    uint64_t held = 0;
    for (uint32_t node = 0; node < job->nodes; node++)
        held += job->local_world_sizes[node];
    if (jr_grid_world(&grid) == job->world_size && held == job->world_size)
        return JR_STATUS_OK;
    jr_error_set(&err, JR_STATUS_INVALID,
                 "a world of %u ranks, a mesh of %u and nodes that hold %llu",
                 job->world_size, jr_grid_world(&grid),
                 (unsigned long long)held);
    return jr_build_refuse(build, 506, "world_size", &err);
}

static void fill_plan(struct jr_build *build)
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

static void warn_crossing(struct jr_build *build)
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

static void warn_of_fork(struct jr_build *build)
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

static void warn(struct jr_build *build)
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

static void fill_setup(struct jr_build *build)
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
static enum jr_status check_calls(struct jr_build *build)
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

static enum jr_status build_plan(struct jr_build *build)
{
    enum jr_status status = check_mesh(build);
    if (status == JR_STATUS_OK)
        status = jr_build_mould(build);
    if (status != JR_STATUS_OK)
        return status;
    fill_plan(build);
    jr_build_ranks(build);
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
    struct jr_build build = {
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
