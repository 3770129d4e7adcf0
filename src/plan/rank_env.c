#include "plan/rank_env.h"

#include <search.h>
#include <string.h>

#include <jobrun/contract.h>
#include <jobrun/entrypoint.h>

#include "plan/internal.h"
#include "plan/planner.h"
#include "resolve/node_resources.h"

#include "base/banned.h"

/*
 * The variables that jobrun sets, as tables of name and template: those that are always there, and
 * those of each profile (contract.h).
 */

/* When a row applies. */
enum when {
    JR_ALWAYS,
    JR_UNLESS_SET, /* a default for what the rank would otherwise not have */
    JR_IF_SET,     /* a correction of what the rank would otherwise inherit */
};

struct variable {
    const char *name;
    const char *text; /* a template; NULL: the variable is unset */
    enum when when;
    uint32_t kinds;   /* the kinds of device that it is for, as bits; 0: all */
    const char *with; /* one that JR_IF_SET asks for as well; NULL: none */
};

struct variables {
    const char *name; /* of the profile */
    const struct variable *rows;
    size_t count;
};

#define ROW(name, text, field)      {name, text, JR_ALWAYS, 0, NULL},
#define ROW_FOR(name, text, on)     {name, text, JR_ALWAYS, (on), NULL},
#define ROW_TASK(name, text, with_) {name, text, JR_IF_SET, 0, with_},
#define TABLE(name, rows)                                                                          \
    {                                                                                              \
        name, rows, sizeof(rows) / sizeof *(rows)                                                  \
    }

/* clang-format off */
static const struct variable contract[] = {
    JR_CONTRACT_VARIABLES(ROW)
    {"PYTHONUNBUFFERED", "1", JR_UNLESS_SET, 0, NULL},
    {"PYTHONFAULTHANDLER", "1", JR_UNLESS_SET, 0, NULL},
};
static const struct variable task[] = {JR_CONTRACT_TASKS(ROW_TASK)};
static const struct variable cell[] = {JR_CONTRACT_CELL(ROW)};
static const struct variable torch[] = {JR_CONTRACT_TORCH(ROW)};
static const struct variable paddle[] = {
    JR_CONTRACT_PADDLE(ROW)
    JR_CONTRACT_PADDLE_DEVICES(ROW_FOR)
    JR_CONTRACT_PADDLE_REMOVES(ROW)
};
static const struct variable megengine[] = {JR_CONTRACT_MEGENGINE(ROW)};
static const struct variable mpi[] = {JR_CONTRACT_MPI(ROW)};
static const struct variable pmi1[] = {JR_CONTRACT_PMI1(ROW)};
static const struct variable pmix[] = {JR_CONTRACT_PMIX(ROW)};
/* clang-format on */

static const struct variables always = TABLE("", contract);
static const struct variables tasks = TABLE("", task);
static const struct variables cells = TABLE("", cell);
static const struct variables protocols[] = {[JR_MPI_PROTOCOL_AUTO] = {0},
                                             [JR_MPI_PROTOCOL_NONE] = {0},
                                             [JR_MPI_PROTOCOL_PMI1] = TABLE("pmi1", pmi1),
                                             [JR_MPI_PROTOCOL_PMIX] = TABLE("pmix", pmix)};
static const struct variables profiles[] = {TABLE("torch", torch), TABLE("paddle", paddle),
                                            TABLE("megengine", megengine), TABLE("mpi", mpi)};

/* The environment of one rank, from the rows of all and those of its own. */

/* Whether it is the row of a name of `len` bytes. */
static bool is_row_of(const struct jr_env_row *row, const char *name, size_t len)
{
    return row->len == len && memcmp(row->name, name, len) == 0;
}

/* The row of a rank's own that has the variable's name, or NULL. */
static const struct jr_env_row *find_own_row(const struct jr_env_more *more, const char *name,
                                             size_t len)
{
    for (size_t i = 0; more != NULL && i < more->count; i++)
        if (is_row_of(&more->rows[i], name, len))
            return &more->rows[i];
    return NULL;
}

/* Whether it is a variable that the rank has and others have not. */
static bool is_own_variable(const struct jr_environment *env, const struct jr_env_row *row)
{
    for (size_t i = 0; i < env->count; i++)
        if (is_row_of(&env->rows[i], row->name, row->len))
            return false;
    return !row->unset;
}

uint32_t jr_environment_own(const struct jr_environment *env, const struct jr_env_more *more)
{
    size_t count = env->count;
    for (size_t i = 0; more != NULL && i < more->count; i++)
        count += is_own_variable(env, &more->rows[i]);
    for (size_t i = 0; more != NULL && i < env->count; i++) {
        const struct jr_env_row *row = &env->rows[i];
        const struct jr_env_row *own = find_own_row(more, row->name, row->len);
        count -= own != NULL && own->unset;
    }
    return (uint32_t)count;
}

char **jr_environment_expand(const struct jr_environment *env, const struct jr_env_more *more,
                             struct jr_arena *arena, const struct jr_scope *scope,
                             uint32_t *ret_own)
{
    size_t most = env->count + env->inherited.count + 1;
    most += more == NULL ? 0 : more->count;
    struct jr_strv items = {jr_arena_array(arena, most, sizeof *items.items), 0};
    if (items.items == NULL)
        return NULL;
    for (size_t i = 0; i < env->count; i++) {
        const struct jr_env_row *row = &env->rows[i];
        const struct jr_env_row *own = find_own_row(more, row->name, row->len);
        row = own != NULL ? own : row;
        if (!row->unset)
            items.items[items.count++] = jr_compiled_template_expand(&row->template, arena, scope);
    }
    for (size_t i = 0; more != NULL && i < more->count; i++)
        if (is_own_variable(env, &more->rows[i]))
            items.items[items.count++] =
                jr_compiled_template_expand(&more->rows[i].template, arena, scope);
    *ret_own = (uint32_t)items.count;
    for (size_t i = 0; i < env->inherited.count; i++) {
        char *item = env->inherited.items[i];
        if (find_own_row(more, item, strcspn(item, "=")) == NULL)
            items.items[items.count++] = item;
    }
    return items.items;
}

const char *jr_python_path_with(struct jr_arena *arena, const char *value, const char *folder)
{
    if (strchr(folder, ':') != NULL)
        return value;
    /* Python takes an empty variable as one that is not set; an empty entry would be the working
     * directory. */
    if (value == NULL || *value == '\0')
        return folder;
    size_t len = strlen(folder), entry;
    for (const char *at = value; *at != '\0'; at += at[entry] == ':' ? entry + 1 : entry) {
        entry = strcspn(at, ":");
        if (entry == len && memcmp(at, folder, len) == 0)
            return value;
    }
    return jr_arena_printf(arena, "%s:%s", value, folder);
}

void jr_python_path_extend(struct jr_strv *env, struct jr_arena *arena, const char *folder)
{
    size_t len = strlen(JR_PYTHON_PATH), at = 0;
    while (at < env->count &&
           (strncmp(env->items[at], JR_PYTHON_PATH, len) != 0 || env->items[at][len] != '='))
        at++;
    const char *old = at < env->count ? env->items[at] + len + 1 : NULL;
    const char *value = folder == NULL ? old : jr_python_path_with(arena, old, folder);
    if (value == old)
        return;
    char *item = jr_arena_printf(arena, JR_PYTHON_PATH "=%s", value);
    if (at == env->count)
        jr_strv_push(env, arena, item);
    else if (item != NULL)
        env->items[at] = item;
}

/* In which order CUDA counts devices, and the order of everybody else. */
#define DEVICE_ORDER     "CUDA_DEVICE_ORDER"
#define DEVICE_ORDER_BUS "PCI_BUS_ID"

/* HIP would count once more, within what ROCR_VISIBLE_DEVICES has left. */
static const char *const rocm_filters[] = {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
                                           "GPU_DEVICE_ORDINAL", NULL};

static const char *const no_filters[] = {NULL};

/* Whether variables give the ranks the devices that the plan has for them. */
static bool are_devices_chosen(const struct jr_job *job)
{
    return job->visibility_variable != NULL && jr_node_resources_of(job, 0)->devices_count > 0 &&
           job->device_visibility != JR_VISIBLE_INHERIT;
}

/* The variables, NULL-terminated, that would choose once more within what the vendor's own leaves:
 * ranks must not have them. */
static const char *const *device_filters(const struct jr_job *job)
{
    return job->device == JR_DEVICE_ROCM ? rocm_filters : no_filters;
}

/* Whether DEVICE_ORDER must be stated, since devices are chosen by index. */
static bool is_device_order_stated(const struct jr_job *job)
{
    return job->devices_by_index && job->device == JR_DEVICE_CUDA;
}

/* Whether a variable that a spec states gives ranks other devices than those that were chosen, or
 * counts them otherwise. */
static bool are_devices_replaced(const struct jr_job *job, const struct jr_env_entry *entry)
{
    const char *const *filter = device_filters(job);
    if (!are_devices_chosen(job))
        return false;
    if (strcmp(entry->name, job->visibility_variable) == 0)
        return true;
    if (is_device_order_stated(job) && strcmp(entry->name, DEVICE_ORDER) == 0)
        return entry->value == NULL || strcmp(entry->value, DEVICE_ORDER_BUS) != 0;
    while (*filter != NULL && strcmp(entry->name, *filter) != 0)
        filter++;
    return *filter != NULL && (entry->value != NULL || entry->required);
}

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
                   const struct variable *variable, struct jr_error *err)
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
    const struct variable variable = {.name = name, .text = text};
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

static void add_variable_table(struct build *build, const struct variables *table)
{
    char *const *inherited = build->env->inherited.items;
    for (size_t i = 0; i < table->count; i++) {
        const struct variable *row = &table->rows[i];
        bool there = jr_env_get(inherited, row->name) != NULL ||
                     (row->with != NULL && jr_env_get(inherited, row->with) != NULL);
        if ((row->kinds != 0 && (row->kinds & 1u << build->scopes->job->device) == 0) ||
            (row->when != JR_ALWAYS && there != (row->when == JR_IF_SET)))
            continue;
        if (row->text == NULL)
            unset_row(build, row->name);
        else
            set_own_variable(build, row->name, row->text);
    }
}

/* A list that does not fit into one variable is not set, and an inherited one is removed. */
static void leave_out_list(struct build *build, const char *name, uint32_t ranks)
{
    unset_row(build, name);
    jr_diags_warning(build->diags, JR_CODE_MEMBER_LIST_LEFT_OUT, (struct jr_span){0}, NULL,
                     "%s is left out: a list of %u ranks does not fit into an environment variable",
                     name, ranks);
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
    if (!are_devices_chosen(job))
        return;
    for (const char *const *filter = device_filters(job); *filter != NULL; filter++)
        unset_row(build, *filter);
    if (is_device_order_stated(job))
        set_own_variable(build, DEVICE_ORDER, DEVICE_ORDER_BUS);
    /* Where local ranks see one device each, its index is 0 for all. */
    if (job->device_visibility == JR_VISIBLE_ONE) {
        set_own_variable(build, "JOBRUN_DEVICE_INDEX", "0");
        set_own_variable(build, name, "%{device}");
        return;
    }
    set_of_node(build, name, "%{visible}", build->scopes->nodes[0].visible);
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
    if (!are_devices_replaced(build->scopes->job, entry))
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
    struct variable variable = {.name = entry->name};
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

static void inherit_environment(struct build *build)
{
    const struct jr_job *job = build->scopes->job;
    struct jr_strv *inherited = &build->env->inherited;
    jr_strv_copy(inherited, build->arena, build->scopes->options->environ);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        jr_env_unset(inherited, foreign[i]);
    if (job->setup != NULL)
        copy_items(&build->env->base, build->kept, inherited->items, inherited->count);
    /* what its text refers to as ${vars.NAME}, which is in `env`: the other entries are not there
     * yet */
    for (uint32_t i = 0; job->setup != NULL && i < job->env_count; i++) {
        const struct jr_env_entry *entry = &job->env[i];
        if (entry->value == NULL ||
            strncmp(entry->name, JR_SHELL_VARIABLE, strlen(JR_SHELL_VARIABLE)) != 0)
            continue;
        jr_env_unset(&build->env->base, entry->name);
        jr_strv_push(&build->env->base, build->kept,
                     jr_arena_printf(build->kept, "%s=%s", entry->name, entry->value));
    }
    for (uint32_t i = 0; i < job->env_remove_count; i++)
        jr_env_unset(inherited, job->env_remove[i]);
    jr_python_path_extend(inherited, build->arena, package_folder(build));
}

static void add_profiles(struct build *build)
{
    const struct jr_job *job = build->scopes->job;
    for (uint32_t i = 0; i < job->env_profiles_count; i++)
        for (size_t k = 0; k < sizeof profiles / sizeof *profiles; k++)
            if (strcmp(profiles[k].name, job->env_profiles[i]) == 0)
                add_variable_table(build, &profiles[k]);
    if (build->scopes->endpoints != NULL &&
        build->scopes->common.text[JR_TEMPLATE_ENDPOINTS] == NULL)
        leave_out_list(build, "PADDLE_TRAINER_ENDPOINTS", job->world_size);
}

/* Drop of what is inherited that which the rows replace, and keep copies of the rest; drop the rows
 * that unset, which `setup` may not export either. */
static void finalize_rows(struct build *build)
{
    const struct jr_job *job = build->scopes->job;
    struct jr_environment *env = build->env;
    size_t kept = 0;
    for (size_t i = 0; i < env->inherited.count; i++) {
        const char *item = env->inherited.items[i];
        size_t len = strcspn(item, "="), row = 0;
        while (row < env->count && !is_row_of(&env->rows[row], item, len))
            row++;
        if (row == env->count)
            env->inherited.items[kept++] = jr_arena_strdup(build->kept, item);
    }
    env->inherited.count = kept;
    /* what `setup` exports gets the entry, too, unless `env` unsets the variable */
    const char *folder = job->setup != NULL ? package_folder(build) : NULL;
    if (job->setup != NULL)
        copy_items(&env->drop, build->kept, job->env_remove, job->env_remove_count);
    kept = 0;
    for (size_t i = 0; i < env->count; i++) {
        const char *name = env->rows[i].name;
        if (!env->rows[i].unset) {
            env->rows[kept++] = env->rows[i];
            continue;
        }
        if (job->setup != NULL)
            jr_strv_push(&env->drop, build->kept, jr_arena_strdup(build->kept, name));
        folder = strcmp(name, JR_PYTHON_PATH) == 0 ? NULL : folder;
    }
    env->count = kept;
    if (folder != NULL)
        env->package = jr_arena_strdup(build->kept, folder);
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
    add_variable_table(&build, &always);
    add_variable_table(&build, &tasks);
    /* where the names of the nodes are not known, none are told */
    static const char list[] = "SLURM_STEP_NODELIST";
    if (scopes->common.text[JR_TEMPLATE_HOSTS] == NULL &&
        jr_env_get(ret->inherited.items, list) != NULL)
        unset_row(&build, list);
    if (scopes->options->cell != NULL)
        add_variable_table(&build, &cells);
#define MEMBERS(name, word, help) [JR_AXIS_##name] = #name "_PARALLEL_MEMBERS",
    static const char *const names[JR_AXIS_COUNT] = {JR_AXES(MEMBERS)};
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++)
        if (scopes->members[axis] == NULL)
            leave_out_list(&build, names[axis], scopes->grid.size[axis]);
    add_devices(&build);
    set_of_node(&build, "OMP_NUM_THREADS", "%{threads}", scopes->nodes[0].threads);
    add_profiles(&build);
    add_variable_table(&build, &protocols[scopes->options->mpi.protocol]);
    for (uint32_t i = 0; i < scopes->job->env_count; i++)
        add_spec_entry(&build, &scopes->job->env[i]);
    tdestroy(build.places, keep_row_place);
    finalize_rows(&build);
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
