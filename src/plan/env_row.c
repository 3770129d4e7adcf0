#include "plan/env_row.h"

#include <jobrun/contract.h>
#include <jobrun/entrypoint.h>
#include <string.h>

#include "plan/rank_env.h"

#include "base/banned.h"

#define ROW(name, text, field)      {name, text, JR_ALWAYS, 0, NULL},
#define ROW_FOR(name, text, on)     {name, text, JR_ALWAYS, (on), NULL},
#define ROW_TASK(name, text, with_) {name, text, JR_IF_SET, 0, with_},
#define TABLE(name, rows)                                                                          \
    {                                                                                              \
        name, rows, sizeof(rows) / sizeof *(rows)                                                  \
    }

/* clang-format off */
static const struct jr_env_variable contract[] = {
    JR_CONTRACT_VARIABLES(ROW)
    {"PYTHONUNBUFFERED", "1", JR_UNLESS_SET, 0, NULL},
    {"PYTHONFAULTHANDLER", "1", JR_UNLESS_SET, 0, NULL},
};
static const struct jr_env_variable task[] = {JR_CONTRACT_TASKS(ROW_TASK)};
static const struct jr_env_variable cell[] = {JR_CONTRACT_CELL(ROW)};
static const struct jr_env_variable torch[] = {JR_CONTRACT_TORCH(ROW)};
static const struct jr_env_variable paddle[] = {
    JR_CONTRACT_PADDLE(ROW)
    JR_CONTRACT_PADDLE_DEVICES(ROW_FOR)
    JR_CONTRACT_PADDLE_REMOVES(ROW)
};
static const struct jr_env_variable megengine[] = {JR_CONTRACT_MEGENGINE(ROW)};
static const struct jr_env_variable mpi[] = {JR_CONTRACT_MPI(ROW)};
static const struct jr_env_variable pmi1[] = {JR_CONTRACT_PMI1(ROW)};
static const struct jr_env_variable pmix[] = {JR_CONTRACT_PMIX(ROW)};
/* clang-format on */

static const struct jr_variables always = TABLE("", contract);
static const struct jr_variables tasks = TABLE("", task);
static const struct jr_variables cells = TABLE("", cell);
static const struct jr_variables protocols[] = {[JR_MPI_PROTOCOL_AUTO] = {0},
                                                [JR_MPI_PROTOCOL_NONE] = {0},
                                                [JR_MPI_PROTOCOL_PMI1] = TABLE("pmi1", pmi1),
                                                [JR_MPI_PROTOCOL_PMIX] = TABLE("pmix", pmix)};
static const struct jr_variables profiles[] = {TABLE("torch", torch), TABLE("paddle", paddle),
                                               TABLE("megengine", megengine), TABLE("mpi", mpi)};

const struct jr_variables *jr_variables_always(void)
{
    return &always;
}

const struct jr_variables *jr_variables_tasks(void)
{
    return &tasks;
}

const struct jr_variables *jr_variables_cell(void)
{
    return &cells;
}

const struct jr_variables *jr_variables_mpi(enum jr_mpi_protocol protocol)
{
    return &protocols[protocol];
}

const struct jr_variables *jr_variables_of(const char *profile)
{
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++)
        if (strcmp(profiles[i].name, profile) == 0)
            return &profiles[i];
    return NULL;
}

/* The environment of one rank, from the rows of all and those of its own. */

bool jr_env_row_is(const struct jr_env_row *row, const char *name, size_t len)
{
    return row->len == len && memcmp(row->name, name, len) == 0;
}

/* The row of a rank's own that has the variable's name, or NULL. */
static const struct jr_env_row *find_own_row(const struct jr_env_more *more, const char *name,
                                             size_t len)
{
    for (size_t i = 0; more != NULL && i < more->count; i++)
        if (jr_env_row_is(&more->rows[i], name, len))
            return &more->rows[i];
    return NULL;
}

/* Whether it is a variable that the rank has and others have not. */
static bool is_own_variable(const struct jr_environment *env, const struct jr_env_row *row)
{
    for (size_t i = 0; i < env->count; i++)
        if (jr_env_row_is(&env->rows[i], row->name, row->len))
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

/* The variables that the rank has and others have not. */
static void add_own_variables(const struct jr_environment *env, const struct jr_env_more *more,
                              struct jr_strv *items, struct jr_arena *arena,
                              const struct jr_scope *scope)
{
    for (size_t i = 0; more != NULL && i < more->count; i++) {
        const struct jr_env_row *row = &more->rows[i];
        if (is_own_variable(env, row))
            items->items[items->count++] =
                jr_compiled_template_expand(&row->template, arena, scope);
    }
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
    add_own_variables(env, more, &items, arena, scope);
    *ret_own = (uint32_t)items.count;
    for (size_t i = 0; i < env->inherited.count; i++) {
        char *item = env->inherited.items[i];
        if (find_own_row(more, item, strcspn(item, "=")) == NULL)
            items.items[items.count++] = item;
    }
    return items.items;
}

static bool has_entry(const char *value, const char *folder)
{
    size_t len = strlen(folder);
    for (const char *at = value; *at != '\0'; at += *at == ':') {
        size_t entry = strcspn(at, ":");
        if (entry == len && memcmp(at, folder, len) == 0)
            return true;
        at += entry;
    }
    return false;
}

const char *jr_python_path_with(struct jr_arena *arena, const char *value, const char *folder)
{
    if (strchr(folder, ':') != NULL)
        return value;
    /* Python takes an empty variable as one that is not set; an empty entry would be the working
     * directory. */
    if (value == NULL || *value == '\0')
        return folder;
    return has_entry(value, folder) ? value : jr_arena_printf(arena, "%s:%s", value, folder);
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
