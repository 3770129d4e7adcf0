#include "plan/rank_env.h"

#include <search.h>
#include <string.h>

#include <jobrun/contract.h>

#include "plan/env_row.h"
#include "plan/planner.h"
#include "plan/rank_devices.h"
#include "resolve/job.h"

#include "base/banned.h"

/* Other launchers' words about other ranks, and an outer jobrun's. */
static const char *const foreign[] = {"PMI_*",  "PMIX_*",         "OMPI_*",
                                      "PRTE_*", "TORCHELASTIC_*", "JOBRUN_*"};

/* The work in progress. */
struct build {
    struct jr_environment *env;
    const struct jr_scopes *scopes;
    struct jr_template_space tables; /* what templates of tables may say */
    struct jr_arena *arena;          /* for scratch */
    struct jr_arena *kept;           /* of the plan */
    struct jr_diags *diags;
    void *places;     /* of the rows, by name; of tsearch */
    const char *path; /* of the entries: "env" */
    enum jr_status status;
};

/* Where the row of a name is, for a tree: rows move as their number grows. */
struct place {
    const char *name;
    size_t row;
};

static int compare_row_places(const void *a, const void *b)
{
    const struct place *left = a, *right = b;
    return strcmp(left->name, right->name);
}

/* The places live in the arena, the tree's own nodes do not. */
static void keep_row_place(void *place)
{
    (void)place;
}

/* A new row, and its place. */
static struct jr_env_row *add_env_row(struct build *build, const char *name)
{
    struct jr_environment *env = build->env;
    struct place *place = jr_arena_alloc(build->arena, sizeof *place);
    struct jr_env_row *row = NULL;
    if (place != NULL)
        row = jr_arena_push(build->arena, &env->rows, &env->count, sizeof *row);
    if (row == NULL)
        return NULL;
    *row = (struct jr_env_row){.name = name, .len = strlen(name)};
    *place = (struct place){name, env->count - 1};
    if (tsearch(place, &build->places, compare_row_places) == NULL)
        build->arena->failed = true;
    return row;
}

/* The row of `name`, which is added if there is none. NULL: no memory. */
static struct jr_env_row *get_or_add_row(struct build *build, const char *name)
{
    const struct place key = {.name = name};
    struct place *const *slot = tfind(&key, &build->places, compare_row_places);
    return slot == NULL ? add_env_row(build, name) : &build->env->rows[(*slot)->row];
}

/* `space` tells which words the template may use. */
static int set_row(struct build *build, const struct jr_template_space *space,
                   const struct jr_env_variable *variable, struct jr_error *err)
{
    struct jr_env_row *row = get_or_add_row(build, variable->name);
    const char *prefix = jr_arena_printf(build->arena, "%s=", variable->name);
    if (row == NULL || prefix == NULL)
        return 0;
    row->unset = false;
    return jr_compiled_template_compile(&row->template, space, prefix, variable->text, err);
}

/* One of jobrun's own: its template is right, as a test makes sure. */
static void set_own_variable(struct build *build, const char *name, const char *text)
{
    const struct jr_env_variable variable = {.name = name, .text = text};
    (void)set_row(build, &build->tables, &variable, NULL);
}

static void set_literal(struct build *build, const char *name, const char *value)
{
    struct jr_env_row *row = get_or_add_row(build, name);
    const char *item = jr_arena_printf(build->arena, "%s=%s", name, value);
    if (row == NULL || item == NULL)
        return;
    row->unset = false;
    jr_compiled_template_literal(&row->template, &build->scopes->space, item);
}

static void unset_row(struct build *build, const char *name)
{
    struct jr_env_row *row = get_or_add_row(build, name);
    if (row != NULL)
        row->unset = true;
}

static bool does_row_apply(const struct build *build, const struct jr_env_variable *row)
{
    if (row->kinds != 0 && (row->kinds & 1u << build->scopes->job->device) == 0)
        return false;
    if (row->when == JR_ALWAYS)
        return true;
    char *const *inherited = build->env->inherited.items;
    bool there = jr_env_get(inherited, row->name) != NULL ||
                 (row->with != NULL && jr_env_get(inherited, row->with) != NULL);
    return there == (row->when == JR_IF_SET);
}

static void add_variable_table(struct build *build, const struct jr_variables *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct jr_env_variable *row = &table->rows[i];
        if (!does_row_apply(build, row))
            continue;
        if (row->text == NULL)
            unset_row(build, row->name);
        else
            set_own_variable(build, row->name, row->text);
    }
}

/* Where the names of the nodes are not known, none are told. */
static void add_tasks(struct build *build)
{
    add_variable_table(build, jr_variables_tasks());
    const char *list = "SLURM_STEP_NODELIST";
    if (build->scopes->common.text[JR_TEMPLATE_HOSTS] == NULL &&
        jr_env_get(build->env->inherited.items, list) != NULL)
        unset_row(build, list);
}

/* A list that does not fit into one variable is not set, and an inherited one is removed. */
static void leave_out_list(struct build *build, const char *name, uint32_t ranks)
{
    unset_row(build, name);
    jr_diags_warning(build->diags, JR_CODE_MEMBER_LIST_LEFT_OUT, (struct jr_span){0}, NULL,
                     "%s is left out: a list of %u ranks does not fit into an environment variable",
                     name, ranks);
}

static void drop_long_lists(struct build *build)
{
#define MEMBERS(name, word, help) [JR_AXIS_##name] = #name "_PARALLEL_MEMBERS",
    static const char *const names[JR_AXIS_COUNT] = {JR_AXES(MEMBERS)};
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++) {
        if (build->scopes->members[axis] == NULL)
            leave_out_list(build, names[axis], build->scopes->grid.size[axis]);
    }
}

/* What all ranks of a node get, and of all nodes where they are alike. */
static void set_of_node(struct build *build, const char *name, const char *text, const char *alike)
{
    if (build->scopes->job->resources != NULL)
        set_own_variable(build, name, text);
    else
        set_literal(build, name, alike != NULL ? alike : "");
}

static void add_devices(struct build *build)
{
    const struct jr_job *job = build->scopes->job;
    const char *name = job->visibility_variable;
    if (!jr_rank_devices_chosen(job))
        return;
    for (const char *const *filter = jr_rank_devices_filters(job); *filter != NULL; filter++)
        unset_row(build, *filter);
    if (jr_rank_devices_ordered(job))
        set_own_variable(build, JR_DEVICE_ORDER, JR_DEVICE_ORDER_BUS);
    /* Where local ranks see one device each, its index is 0 for all. */
    if (job->device_visibility == JR_VISIBLE_ONE) {
        set_own_variable(build, "JOBRUN_DEVICE_INDEX", "0");
        set_own_variable(build, name, "%{device}");
        return;
    }
    set_of_node(build, name, "%{visible}", build->scopes->nodes[0].visible);
}

static void add_threads(struct build *build)
{
    set_of_node(build, "OMP_NUM_THREADS", "%{threads}", build->scopes->nodes[0].threads);
}

static void add_profiles(struct build *build)
{
    const struct jr_job *job = build->scopes->job;
    for (uint32_t i = 0; i < job->env_profiles_count; i++) {
        const struct jr_variables *table = jr_variables_of(job->env_profiles[i]);
        if (table != NULL)
            add_variable_table(build, table);
    }
    if (build->scopes->endpoints != NULL &&
        build->scopes->common.text[JR_TEMPLATE_ENDPOINTS] == NULL)
        leave_out_list(build, "PADDLE_TRAINER_ENDPOINTS", job->world_size);
}

/* The folder of the package jobrun; NULL: it is not installed. */
static const char *package_folder(const struct build *build)
{
    const char *support = build->scopes->options->support;
    return support == NULL ? NULL : jr_arena_printf(build->arena, "%s/python", support);
}

/* The value that a spec states, or for PYTHONPATH that and the package. */
static const char *stated_value(const struct build *build, const char *name, const char *value,
                                bool template)
{
    const char *folder = strcmp(name, JR_PYTHON_PATH) == 0 ? package_folder(build) : NULL;
    struct jr_buf JR_BUF_CLEANUP text = JR_BUF_INIT;
    if (folder == NULL)
        return value;
    jr_buf_replaced(&text, folder, "%{", template ? "%%{" : "%{");
    const char *entry = jr_buf_keep(&text, build->arena);
    return entry == NULL ? value : jr_python_path_with(build->arena, value, entry);
}

static void add_required(struct build *build, const char *name)
{
    const char *value = jr_env_get(build->scopes->options->environ, name);
    if (value != NULL) {
        set_literal(build, name, stated_value(build, name, value, false));
        return;
    }
    struct jr_diag *diag =
        jr_diags_error(build->diags, JR_CODE_VARIABLE_REQUIRED, (struct jr_span){0},
                       jr_arena_printf(build->arena, "%s.%s", build->path, name),
                       "'%s' must be set in the environment, but is not", name);
    jr_diag_help(build->diags, diag, "export %s before you call jobrun", name);
    build->status = JR_STATUS_UNRESOLVED;
}

static void warn_of_devices(struct build *build, const struct jr_env_entry *entry)
{
    if (!jr_rank_devices_replaced(build->scopes->job, entry))
        return;
    struct jr_diag *diag =
        jr_diags_warning(build->diags, JR_CODE_DEVICES_REPLACED, (struct jr_span){0},
                         jr_arena_printf(build->arena, "%s.%s", build->path, entry->name),
                         "'%s' replaces what jobrun sets: ranks will not see the devices that "
                         "the plan gives them",
                         entry->name);
    jr_diag_help(build->diags, diag,
                 "remove it, and state the devices as `" JR_SETTING(
                     "devices", "[0, 1]") "`; or set `" JR_SETTING("device_visibility",
                                                                   "inherit") "`, which leaves it "
                                                                              "to you");
}

static void add_spec_entry(struct build *build, const struct jr_env_entry *entry)
{
    const struct jr_template_space *space = &build->scopes->space;
    struct jr_env_variable variable = {.name = entry->name};
    struct jr_error err = {0};
    warn_of_devices(build, entry);
    if (entry->value != NULL)
        variable.text = stated_value(build, entry->name, entry->value, true);
    if (entry->required) {
        add_required(build, entry->name);
    } else if (entry->value == NULL) {
        unset_row(build, entry->name);
    } else if (set_row(build, space, &variable, &err) < 0) {
        jr_diags_error(build->diags, JR_CODE_WRONG_TEMPLATE_IN_PLAN, (struct jr_span){0},
                       jr_arena_printf(build->arena, "%s.%s", build->path, entry->name), "%s",
                       err.text);
        build->status = JR_STATUS_INVALID;
    }
}

static void copy_items(struct jr_strv *to, struct jr_arena *arena, char *const *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        jr_strv_push(to, arena, jr_arena_strdup(arena, items[i]));
}

/* What the text of `setup` refers to as ${vars.NAME}, which is in `env`: the other entries are not
 * there yet. */
static void add_shell_variables(struct jr_strv *base, struct jr_arena *arena,
                                const struct jr_job *job)
{
    for (uint32_t i = 0; i < job->env_count; i++) {
        const struct jr_env_entry *entry = &job->env[i];
        if (entry->value == NULL ||
            strncmp(entry->name, JR_SHELL_VARIABLE, strlen(JR_SHELL_VARIABLE)) != 0)
            continue;
        jr_env_unset(base, entry->name);
        jr_strv_push(base, arena, jr_arena_printf(arena, "%s=%s", entry->name, entry->value));
    }
}

static void inherit_environment(struct build *build)
{
    const struct jr_job *job = build->scopes->job;
    struct jr_strv *inherited = &build->env->inherited;
    jr_strv_copy(inherited, build->arena, build->scopes->options->environ);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        jr_env_unset(inherited, foreign[i]);
    if (job->setup != NULL)
        copy_items(&build->env->base, build->kept, inherited->items, inherited->count);
    if (job->setup != NULL)
        add_shell_variables(&build->env->base, build->kept, job);
    for (uint32_t i = 0; i < job->env_remove_count; i++)
        jr_env_unset(inherited, job->env_remove[i]);
    jr_python_path_extend(inherited, build->arena, package_folder(build));
}

/* What `setup` exports gets the entry, too, unless `env` unsets the variable.
 */
static void finalize_package(struct build *build)
{
    struct jr_environment *env = build->env;
    const char *folder = package_folder(build);
    for (size_t i = 0; i < env->count; i++)
        if (env->rows[i].unset && strcmp(env->rows[i].name, JR_PYTHON_PATH) == 0)
            folder = NULL;
    if (folder != NULL)
        env->package = jr_arena_strdup(build->kept, folder);
}

static bool has_row(const struct jr_environment *env, const char *item)
{
    size_t len = strcspn(item, "=");
    for (size_t i = 0; i < env->count; i++)
        if (jr_env_row_is(&env->rows[i], item, len))
            return true;
    return false;
}

/* Drop what the rows replace and keep copies of the rest. */
static void finalize_inherited(struct jr_environment *env, struct jr_arena *arena)
{
    size_t kept = 0;
    for (size_t i = 0; i < env->inherited.count; i++) {
        const char *item = env->inherited.items[i];
        if (!has_row(env, item))
            env->inherited.items[kept++] = jr_arena_strdup(arena, item);
    }
    env->inherited.count = kept;
}

static void finalize_drop(struct build *build)
{
    const struct jr_job *job = build->scopes->job;
    struct jr_environment *env = build->env;
    copy_items(&env->drop, build->kept, job->env_remove, job->env_remove_count);
    for (size_t i = 0; i < env->count; i++)
        if (env->rows[i].unset)
            jr_strv_push(&env->drop, build->kept, jr_arena_strdup(build->kept, env->rows[i].name));
}

static void finalize_rows(struct jr_environment *env)
{
    size_t kept = 0;
    for (size_t i = 0; i < env->count; i++)
        if (!env->rows[i].unset)
            env->rows[kept++] = env->rows[i];
    env->count = kept;
}

enum jr_status jr_environment_init(struct jr_environment *ret, const struct jr_scopes *scopes,
                                   struct jr_arena *arena, struct jr_diags *diags)
{
    struct build build = {
        .env = ret,
        .scopes = scopes,
        .tables = scopes->space,
        .arena = scopes->space.arena,
        .kept = arena,
        .diags = diags,
        .path = "env",
    };
    *ret = (struct jr_environment){0};
    build.tables.internals = true;
    inherit_environment(&build);
    add_variable_table(&build, jr_variables_always());
    add_tasks(&build);
    if (scopes->options->cell != NULL)
        add_variable_table(&build, jr_variables_cell());
    drop_long_lists(&build);
    add_devices(&build);
    add_threads(&build);
    add_profiles(&build);
    add_variable_table(&build, jr_variables_mpi(scopes->options->mpi.protocol));
    for (uint32_t i = 0; i < scopes->job->env_count; i++)
        add_spec_entry(&build, &scopes->job->env[i]);
    tdestroy(build.places, keep_row_place);
    finalize_inherited(ret, arena);
    if (scopes->job->setup != NULL) {
        finalize_drop(&build);
        finalize_package(&build);
    }
    finalize_rows(ret);
    return build.status;
}

enum jr_status jr_env_more_init(struct jr_env_more *ret, const struct jr_scopes *scopes,
                                const struct jr_rank_entry *entry, const char *path,
                                struct jr_diags *diags)
{
    struct jr_environment env = {0};
    struct build build = {
        .env = &env,
        .scopes = scopes,
        .arena = scopes->space.arena,
        .diags = diags,
        .path = jr_arena_printf(scopes->space.arena, "%s.env", path),
    };
    for (uint32_t i = 0; i < entry->env_count && build.path != NULL; i++)
        add_spec_entry(&build, &entry->env[i]);
    tdestroy(build.places, keep_row_place);
    *ret = (struct jr_env_more){env.rows, env.count};
    return build.status;
}
