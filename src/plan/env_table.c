#include "plan/env_table.h"

#include <jobrun/contract.h>
#include <jobrun/types.h>
#include <string.h>

#include "base/banned.h"

#define ROW(name, text, field)  {name, text, JR_ALWAYS, 0},
#define ROW_FOR(name, text, on) {name, text, JR_ALWAYS, (on)},
#define TABLE(name, rows)                                                      \
    {                                                                          \
        name, rows, sizeof(rows) / sizeof *(rows)                              \
    }

/* clang-format off */
static const struct jr_env_variable contract[] = {
    JR_CONTRACT_VARIABLES(ROW)
    {"PYTHONUNBUFFERED", "1", JR_UNLESS_SET, 0},
    {"PYTHONFAULTHANDLER", "1", JR_UNLESS_SET, 0},
    {"SLURM_PROCID", "%{rank}", JR_IF_SET, 0},
    {"SLURM_LOCALID", "%{local_rank}", JR_IF_SET, 0},
};
static const struct jr_env_variable torch[] = {JR_CONTRACT_TORCH(ROW)};
static const struct jr_env_variable paddle[] = {
    JR_CONTRACT_PADDLE(ROW)
    JR_CONTRACT_PADDLE_DEVICES(ROW_FOR)
    JR_CONTRACT_PADDLE_REMOVES(ROW)
};
static const struct jr_env_variable megengine[] = {JR_CONTRACT_MEGENGINE(ROW)};
static const struct jr_env_variable mpi[] = {JR_CONTRACT_MPI(ROW)};
/* clang-format on */

static const struct jr_variables always = TABLE("", contract);
static const struct jr_variables profiles[] = {
    TABLE("torch", torch), TABLE("paddle", paddle),
    TABLE("megengine", megengine), TABLE("mpi", mpi)};

const struct jr_variables *jr_variables_always(void)
{
    return &always;
}

const struct jr_variables *jr_variables_of(const char *profile)
{
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++)
        if (strcmp(profiles[i].name, profile) == 0)
            return &profiles[i];
    return NULL;
}
