#include "plan/planner.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/strv.h"
#include "plan/internal.h"
#include "resolve/node_resources.h"

#include "base/banned.h"

struct jr_build {
    struct jr_plan *plan;
    struct jr_arena *arena; /* of the plan */
    /* Of the templates; for a lazy plan, of the plan too. */
    struct jr_arena *scratch;
    const struct jr_job *job;
    struct jr_plan_options options;
    struct jr_diags *diags;
    /* What the ranks are made from. */
    struct jr_scopes scopes;
    struct jr_environment env;
    struct jr_additions additions;
    struct jr_compiled_templates argv, artifacts;
    struct jr_compiled_template workdir, prefix;
    struct jr_compiled_template around[2]; /* the prefix before and after the ranks */
    struct jr_compiled_template result;    /* results.file; no pieces: the default */
    struct jr_sinks *sinks;                /* by local rank */
    struct jr_set console;
    struct jr_set progress;    /* whose streams tell steps; empty: no pattern */
    uint32_t node, node_first; /* the node that was asked for last, and its
                                  first rank */
};

/* A finding about the spec as a whole: its field, but no position. Returns the status of `err`;
 * without memory, JR_STATUS_LAUNCH and no finding. */
static enum jr_status refuse_plan(struct jr_build *build, enum jr_diag_code code, const char *path,
                                  const struct jr_error *err)
{
    /* What memory was lacking for may look like a mistake. */
    if (build->scratch->failed || build->arena->failed)
        return JR_STATUS_LAUNCH;
    jr_diags_error(build->diags, code, (struct jr_span){0}, path, "%s", err->text);
    return err->status;
}

/* A line that several ranks wrote has their set in place of %{rank}; without %{rank}, the set
 * follows the whole prefix in brackets. */
static void compile_group_prefix(struct jr_build *build, const char *prefix)
{
    const struct jr_template_space *space = &build->scopes.space;
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
        jr_compiled_template_compile(&build->around[0], space, "", head, NULL) != 0 ||
        jr_compiled_template_compile(&build->around[1], space, "", tail, NULL) != 0)
        build->around[0].count = build->around[1].count = 0;
}

static enum jr_status compile_templates(struct jr_build *build)
{
    const struct jr_policy *policy = build->job->policy;
    const struct jr_results *results = &policy->results;
    const struct jr_template_space *space = &build->scopes.space;
    enum jr_status status = JR_STATUS_OK;
    const struct {
        const char *path, *text;
        struct jr_compiled_template *to;
    } texts[] = {
        {"workdir", jr_arena_strdup(build->scratch, build->job->workdir), &build->workdir},
        {"console.prefix", policy->console.prefix, &build->prefix},
        {"results.file", results->file, &build->result},
    };
    struct jr_error err = {0};
    if (jr_argv_compile(&build->argv, &build->scopes, &err) != 0)
        status = refuse_plan(build,
                             err.status == JR_STATUS_LAUNCH ? JR_CODE_INTERNAL
                                                            : JR_CODE_WRONG_TEMPLATE_IN_PLAN,
                             "entrypoint", &err);
    if (policy->console.collapse)
        compile_group_prefix(build, policy->console.prefix);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].text != NULL &&
            jr_compiled_template_compile(texts[i].to, space, "", texts[i].text, &err) < 0)
            status = refuse_plan(build, JR_CODE_WRONG_TEMPLATE_IN_PLAN, texts[i].path, &err);
    if (jr_compiled_templates_compile(&build->artifacts, space, results->artifacts,
                                      results->artifacts_count, &err) < 0)
        status = refuse_plan(build, JR_CODE_WRONG_TEMPLATE_IN_PLAN, "results.artifacts", &err);
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
    return refuse_plan(build, JR_CODE_PLAN_INCONSISTENT, path, &err);
}

static enum jr_status make_sinks(struct jr_build *build)
{
    struct jr_error err = {0};
    build->sinks =
        jr_sinks_build(build->scratch, build->job, build->scopes.space.size[JR_DOMAIN_LOCAL], &err);
    if (build->sinks == NULL && err.status != JR_STATUS_OK)
        return refuse_plan(build, JR_CODE_PLAN_INCONSISTENT, NULL, &err);
    const struct jr_policy *policy = build->job->policy;
    enum jr_status console =
        parse_ranks(build, &build->console, policy->console.ranks, "console.ranks");
    if (console != JR_STATUS_OK || policy->progress.pattern == NULL)
        return console;
    return parse_ranks(build, &build->progress, policy->progress.ranks, "progress.ranks");
}

/* Compile the templates that all ranks share. All mistakes are reported at once; the first failure
 * is the status. */
static enum jr_status build_templates(struct jr_build *build)
{
    jr_scopes_init(&build->scopes, build->scratch, build->job, &build->options);
    if (build->scratch->failed)
        return JR_STATUS_LAUNCH;
    enum jr_status compiled = compile_templates(build);
    enum jr_status sinks = make_sinks(build);
    enum jr_status env =
        jr_environment_init(&build->env, &build->scopes, build->arena, build->diags);
    enum jr_status additions =
        jr_additions_init(&build->additions, &build->scopes, build->arena, build->diags);
    const enum jr_status all[] = {compiled, sinks, env, additions};
    enum jr_status status = JR_STATUS_OK;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        status = status == JR_STATUS_OK ? all[i] : status;
    return status;
}

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

static void fill_place(const struct jr_build *build, struct jr_plan_rank *rank)
{
    const struct jr_grid *grid = &build->scopes.grid;
    const struct jr_sinks *sinks = &build->sinks[rank->local_rank];
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++) {
        rank->at[axis] = jr_grid_at(grid, rank->rank, axis);
        rank->group[axis] = jr_grid_group(grid, rank->rank, axis);
    }
    fill_resources(build->job, rank);
    rank->out = sinks->out;
    rank->err = sinks->err;
    rank->on_console = jr_set_has(&build->console, rank->rank);
    /* the command line's options for its streams */
    const uint32_t *debug = build->options.debug_rank, *reads = build->options.stdin_rank;
    bool chosen = debug != NULL && *debug == rank->rank;
    if (reads != NULL && *reads == rank->rank)
        rank->input = JR_INPUT_STDIN;
    if (chosen)
        rank->input = JR_INPUT_TERMINAL;
    if (debug == NULL)
        return;
    rank->out = rank->err = chosen ? JR_SINK_INHERIT : JR_SINK_FILE;
    rank->on_console = false;
}

/* Everything below the run folder, and the words that name it. */
static void fill_paths(struct jr_build *build, const char *own_dir, struct jr_plan_rank *rank,
                       struct jr_scope *scope, struct jr_arena *arena, struct jr_arena *scratch)
{
    rank->dir = jr_arena_printf(arena, "attempt_%u/%u", build->options.attempt, rank->rank);
    if (rank->out & JR_SINK_FILE)
        rank->out_path = jr_arena_printf(arena, "%s/stdout.log", rank->dir);
    if (rank->err & JR_SINK_FILE)
        rank->err_path = jr_arena_printf(arena, "%s/stderr.log", rank->dir);
    rank->limited = build->job->policy->log_limit != NULL;
    rank->watched = jr_set_has(&build->progress, rank->rank);
    rank->error_path = jr_arena_printf(arena, "%s/error.json", rank->dir);
    scope->text[JR_TEMPLATE_RANK_DIR] = jr_arena_printf(scratch, "%s/%s", own_dir, rank->dir);
    scope->text[JR_TEMPLATE_ERROR_FILE] =
        jr_arena_printf(scratch, "%s/%s", own_dir, rank->error_path);
    scope->text[JR_TEMPLATE_PROGRESS_FILE] =
        jr_arena_printf(scratch, "%s/attempt_%u/" JR_PLAN_STEPS "/%u.jsonl", own_dir,
                        build->options.attempt, rank->rank);
    rank->workdir = jr_compiled_template_expand(&build->workdir, arena, scope);
    if (build->result.count > 0) {
        /* relative to the working directory; it may say %{rank_dir} */
        const char *file = jr_compiled_template_expand(&build->result, scratch, scope);
        bool known = file != NULL && rank->workdir != NULL;
        JR_FREE char *path = known ? jr_io_absolute(rank->workdir, file) : NULL;
        arena->failed |= known && path == NULL;
        rank->result_path = jr_arena_strdup(arena, path);
        scope->text[JR_TEMPLATE_RESULT_FILE] = rank->result_path;
        return;
    }
    rank->result_path = jr_arena_printf(arena, "%s/result.json", rank->dir);
    scope->text[JR_TEMPLATE_RESULT_FILE] =
        jr_arena_printf(scratch, "%s/%s", own_dir, rank->result_path);
}

/* The prefix as a console may have it: a newline in it would tear lines, an escape would move the
 * cursor. Tabs pass. */
static const char *shown_prefix(const struct jr_compiled_template *prefix,
                                const struct jr_scope *scope, struct jr_arena *arena,
                                struct jr_arena *scratch)
{
    const char *text =
        prefix->count == 0 ? NULL : jr_compiled_template_expand(prefix, scratch, scope);
    JR_BUF_CLEANUP struct jr_buf shown = JR_BUF_INIT;
    while (text != NULL && *text != '\0') {
        size_t len = strcspn(text, "\t");
        jr_buf_escaped(&shown, text, len);
        text += len;
        if (*text == '\t')
            jr_buf_char(&shown, *text++);
    }
    return jr_buf_keep(&shown, arena);
}

/* Fill all of a rank, in `arena`, its environment only if `env`; texts on the way are in `scratch`.
 */
static void fill_rank(struct jr_build *build, const char *own_dir, struct jr_plan_rank *rank,
                      bool env, struct jr_arena *arena, struct jr_arena *scratch)
{
    struct jr_scope scope;
    fill_place(build, rank);
    jr_scopes_pick(&build->scopes, rank, &scope);
    scope.lasting = build->arena;
    fill_paths(build, own_dir, rank, &scope, arena, scratch);
    struct jr_addition *addition = jr_additions_find(&build->additions, rank->rank);
    const struct jr_env_more *more = addition == NULL ? NULL : &addition->env;
    rank->argv = jr_compiled_templates_expand(&build->argv, arena, &scope);
    if (addition != NULL)
        rank->argv = jr_addition_argv(addition, arena, rank->argv, &scope);
    rank->drop = addition == NULL ? NULL : addition->drop;
    if (env)
        rank->env = jr_environment_expand(&build->env, more, arena, &scope, &rank->env_own);
    else
        rank->env_own = jr_environment_own(&build->env, more);
    rank->prefix = shown_prefix(&build->prefix, &scope, arena, scratch);
    for (int i = 0; i < 2; i++)
        rank->around[i] = shown_prefix(&build->around[i], &scope, arena, scratch);
    rank->artifacts = jr_compiled_templates_expand(&build->artifacts, arena, &scope);
    rank->artifacts_count = (uint32_t)build->artifacts.count;
    arena->failed |= build->arena->failed; /* where what ranks share is made */
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

/* Fill plan->ranks, all of the world; the rest of the plan is there. Memory failure is that of one
 * of the arenas. */
static void build_ranks(struct jr_build *build)
{
    struct jr_plan *plan = build->plan;
    plan->ranks = jr_arena_array(build->arena, plan->world_size, sizeof *plan->ranks);
    for (uint32_t i = 0; i < plan->world_size; i++) {
        struct jr_arena scratch = JR_ARENA_INIT;
        if (build->arena->failed || build->scratch->failed)
            return;
        plan->ranks[i].rank = i;
        find_node_from_last(build, &plan->ranks[i]);
        fill_rank(build, plan->own_dir, &plan->ranks[i], plan->build == NULL, build->arena,
                  &scratch);
        build->scratch->failed |= scratch.failed;
        jr_arena_release(&scratch);
    }
}

void jr_plan_place(const struct jr_plan *plan, uint32_t rank, struct jr_plan_rank *ret)
{
    if (plan->ranks != NULL) {
        *ret = plan->ranks[rank];
        return;
    }
    struct jr_build *build = plan->build;
    const struct jr_addition *addition = jr_additions_find(&build->additions, rank);
    *ret = (struct jr_plan_rank){.rank = rank};
    find_node_from_last(plan->build, ret);
    fill_place(plan->build, ret);
    ret->env_own = jr_environment_own(&build->env, addition == NULL ? NULL : &addition->env);
}

struct jr_plan_rank jr_plan_rank_at(const struct jr_plan *plan, uint32_t rank,
                                    struct jr_arena *arena)
{
    struct jr_plan_rank made = {.rank = rank};
    if (plan->build == NULL)
        return plan->ranks[rank];
    find_node_from_last(plan->build, &made);
    fill_rank(plan->build, plan->own_dir, &made, true, arena, arena);
    return made;
}

/* The mesh is proved, and the nodes hold exactly its ranks. */
static enum jr_status check_plan_mesh(struct jr_build *build)
{
    const struct jr_job *job = build->job;
    struct jr_error err = {0};
    struct jr_grid grid;
    memcpy(grid.size, job->axis_size, sizeof grid.size);
    if (jr_grid_prove(&grid, &err) < 0)
        return refuse_plan(build, JR_CODE_PLAN_INCONSISTENT, "parallelism", &err);
    uint64_t held = 0;
    for (uint32_t node = 0; node < job->nodes; node++)
        held += job->local_world_sizes[node];
    if (jr_grid_world(&grid) == job->world_size && held == job->world_size)
        return JR_STATUS_OK;
    jr_error_set(&err, JR_STATUS_INVALID,
                 "a world of %u ranks, a mesh of %u and nodes that hold %llu", job->world_size,
                 jr_grid_world(&grid), (unsigned long long)held);
    return refuse_plan(build, JR_CODE_PLAN_INCONSISTENT, "world_size", &err);
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
                 "give each node a multiple of %u ranks: the model axis communicates the most",
                 size);
}

/* The arguments of a function are one word of its argv. */
static enum jr_status check_calls(struct jr_build *build)
{
    const struct jr_plan *plan = build->plan;
    uint32_t count = plan->same_argv ? 1 : plan->world_size;
    size_t last = build->argv.count - 1, len = 0;
    if (!jr_entrypoint_is_function(&build->job->entrypoint))
        return JR_STATUS_OK;
    for (uint32_t i = 0; i < count; i++) {
        struct jr_arena arena = JR_ARENA_INIT;
        struct jr_plan_rank rank = jr_plan_rank_at(plan, i, &arena);
        bool failed = arena.failed;
        len = failed ? 0 : strlen(rank.argv[last]);
        jr_arena_release(&arena);
        if (failed)
            return JR_STATUS_LAUNCH;
        if (len <= JR_CALL_MAX)
            continue;
        struct jr_diag *diag = jr_diags_error(
            build->diags, JR_CODE_ARGUMENTS_TOO_LONG, (struct jr_span){0}, "entrypoint",
            "the arguments of rank %u are %zu bytes of JSON, and at most %u "
            "can be passed",
            i, len, JR_CALL_MAX);
        jr_diag_help(build->diags, diag, "pass the path of a file that the function reads");
        return JR_STATUS_INVALID;
    }
    return JR_STATUS_OK;
}

static void warn_of_plan(struct jr_build *build)
{
    const struct jr_job *job = build->job;
    warn_crossing(build);
    if (job->start_method == JR_START_FORK && job->device != JR_DEVICE_CPU &&
        job->entrypoint.form == JR_FORM_PYTHON) {
        struct jr_diag *diag = jr_diags_warning(build->diags, JR_CODE_FORK_WITH_ACCELERATOR,
                                                (struct jr_span){0}, "start_method",
                                                "the imports of the entry module must not touch "
                                                "the device (%s) before the ranks are forked",
                                                job->device_name);
        jr_diag_help(build->diags, diag,
                     "start_method: forkserver imports only what `preload` names");
    }
    if (job->device_visibility == JR_VISIBLE_ONE && job->own.devices_count > 0)
        jr_diags_warning(build->diags, JR_CODE_LOCAL_RANK_NOT_DEVICE, (struct jr_span){0},
                         "device_visibility",
                         "LOCAL_RANK is not a device index: each rank sees one "
                         "device, whose index is JOBRUN_DEVICE_INDEX");
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
    size_t *counts = NULL; /* of the variables of each */
    if (helper->argv != NULL)
        counts = jr_arena_array(scopes->space.arena, plan->count, sizeof *counts);
    for (uint32_t rank = 0; counts != NULL && rank < plan->count; rank++)
        while (model[rank].env[counts[rank]] != NULL)
            counts[rank]++;
    for (size_t i = 0; counts != NULL && i < counts[0]; i++) {
        uint32_t rank = 1;
        while (rank < plan->count && has_variable(&model[rank], model->env[i], i, counts[rank]))
            rank++;
        if (rank < plan->count)
            continue;
        jr_strv_push(&env, arena, model->env[i]);
        helper->env_own += i < model->env_own;
    }
    helper->env = env.items;
}

/* Whether ranks are made from the templates when they are asked for. The helper that ranks are
 * forked from is planned from what they share. */
static bool is_lazy_plan(const struct jr_build *build)
{
    return build->options.keeps != JR_PLAN_KEEPS_ALL && build->job->start_method == JR_START_SPAWN;
}

/* What there is of each rank. */
static enum jr_status add_plan_ranks(struct jr_build *build)
{
    const struct jr_additions *additions = &build->additions;
    struct jr_plan *plan = build->plan;
    plan->same_argv = !jr_compiled_templates_vary(&build->argv);
    for (size_t i = 0; i < additions->count; i++)
        plan->same_argv &= additions->items[i].args.count == 0;
    if (is_lazy_plan(build))
        plan->build = build;
    if (plan->build == NULL || build->options.keeps == JR_PLAN_KEEPS_NO_ENV)
        build_ranks(build);
    const struct jr_environment *env = &build->env;
    if (build->job->setup != NULL)
        plan->setup = (struct jr_plan_setup){
            .text = build->job->setup,
            .env = env->base.items,
            .drop = env->drop.items,
            .package = env->package,
        };
    if (plan->build == NULL)
        fill_plan_helper(plan, &build->scopes, build->arena);
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

/* Ranks `first` to before `end`, whose files are on one machine. */
static enum jr_status check_result_paths(struct jr_build *build, const struct jr_set *required,
                                         uint32_t first, uint32_t end)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
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
    for (size_t i = 1; i < count && status == JR_STATUS_OK; i++) {
        const struct place *x = &places[i - 1], *y = &places[i];
        if (strcmp(x->path, y->path) != 0)
            continue;
        struct jr_diag *diag = jr_diags_error(
            build->diags, JR_CODE_RESULT_FILE_SHARED_IN_PLAN, (struct jr_span){0}, "results.file",
            "ranks %u and %u would write the same result file, %s", x->rank, y->rank, x->path);
        jr_diag_help(build->diags, diag,
                     "put %%{rank} into results.file; or, if one rank delivers for "
                     "all, name that rank: " JR_SETTING("results.required", "\"%u\""),
                     x->rank);
        status = JR_STATUS_INVALID;
    }
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
    if (!results->stated || results->file == NULL)
        return JR_STATUS_OK;
    /* no two ranks can have the same, whatever the ranks */
    bool differ = strstr(results->file, "..") == NULL && build->workdir.domain == JR_DOMAIN_JOB &&
                  jr_compiled_template_is_distinct(&build->result);
    if (differ || !jr_set_parse(&required, build->scratch, results->required, &bad))
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
    enum jr_status status = check_plan_mesh(build);
    if (status == JR_STATUS_OK)
        status = build_templates(build);
    if (status == JR_STATUS_OK) {
        fill_plan(build);
        status = add_plan_ranks(build);
    }
    if (status == JR_STATUS_OK && options->inject != NULL)
        status = jr_inject_parse(&plan, arena, options->inject, job->local_world_sizes, diags);
    if (status == JR_STATUS_OK)
        status = check_shared_results(build);
    jr_arena_release(&scratch);
    build->plan = NULL;
    if (status == JR_STATUS_OK)
        *ret = plan;
    return status;
}
