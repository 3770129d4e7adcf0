#include "host/scheduler/scheduler.h"

#include <string.h>

#include "base/num.h"
#include "host/scheduler/hosts.h"
#include "host/scheduler/variables.h"

#include "base/banned.h"

struct system {
    const char *name;
    enum jr_system_kind kind;
    const char *markers[3];
};

#define SYSTEM(id, name, kind, first, second, third)                                               \
    [JR_SYSTEM_##id] = {name, JR_SYSTEM_##kind, {first, second, third}},
static const struct system systems[] = {JR_SYSTEMS(SYSTEM)};

/* One that is set to nothing is not set. */
static const char *variable_value(const struct jr_host_reader *probe, const char *name)
{
    const char *value = jr_env_get(probe->envp, name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static uint64_t variable_number(const struct jr_host_reader *probe, const char *name)
{
    uint64_t number = 0;
    const char *value = variable_value(probe, name);
    return value != NULL && jr_num_u64(value, &number) ? number : UINT64_MAX;
}

/* Not every step is one that srun started with a command: batch, external and
 * interactive steps have ids of their own from 4294967290 on, and a shell by
 * `srun --pty` stands for the whole allocation as one by `salloc` does. */
static bool is_slurm_step(const struct jr_host_reader *probe)
{
    return variable_number(probe, "SLURM_STEP_ID") < 4294967000u &&
           variable_value(probe, "SLURM_PTY_PORT") == NULL;
}

/* The job script itself is task 1. */
static bool is_pbs_task(const struct jr_host_reader *probe)
{
    uint64_t task = variable_number(probe, "PBS_TASKNUM");
    return task > 1 && task != UINT64_MAX;
}

static bool is_system_there(const struct jr_host_reader *probe, enum jr_system system)
{
    const struct system *row = &systems[system];
    for (size_t i = 0; i < sizeof row->markers / sizeof *row->markers; i++)
        if (row->markers[i] != NULL && variable_value(probe, row->markers[i]) == NULL)
            return false;
    if (system == JR_SYSTEM_SLURM_STEP)
        return is_slurm_step(probe);
    return system != JR_SYSTEM_PBS_TASK || is_pbs_task(probe);
}

/* The first system of these kinds, from one to the other. */
static enum jr_system find_system(const struct jr_host_reader *probe, enum jr_system_kind from,
                                  enum jr_system_kind to)
{
    unsigned i = 0;
    while (i < JR_SYSTEM_COUNT && (systems[i].kind < from || systems[i].kind > to ||
                                   !is_system_there(probe, (enum jr_system)i)))
        i++;
    return (enum jr_system)i;
}

void jr_scheduler_problem(struct jr_host_reader *probe, const char *message, const char *help)
{
    struct jr_host_scheduler *to = &probe->hw->scheduler;
    if (to->problem == NULL) {
        to->problem = message;
        to->help = help;
    }
}

static void report_unreadable_variable(struct jr_host_reader *probe, const struct jr_variable *row,
                                       const char *value)
{
    jr_scheduler_problem(probe,
                         jr_arena_printf(probe->arena, "%s cannot be read (%s): '%s'", row->name,
                                         row->meaning, value),
                         "unset it if another job left it behind, or state nodes, node_rank "
                         "and hosts");
}

/* What a use fills, as facts files call it. */
static const char *fact_name(enum jr_use use)
{
    static const char *const words[] = {
        [JR_USE_JOB] = "job",
        [JR_USE_NODES] = "nodes",
        [JR_USE_SIZE] = "nodes",
        [JR_USE_INDEX] = "node_rank",
        [JR_USE_RANK] = "node_rank",
        [JR_USE_HERE] = "tasks_here",
        [JR_USE_STARTED] = "tasks_here",
        [JR_USE_TASKS] = "tasks",
        [JR_USE_EACH] = "tasks",
        [JR_USE_ADDR] = "master_addr",
        [JR_USE_PORT] = "master_port",
        [JR_USE_END] = "end",
        [JR_USE_LIST] = "hosts",
        [JR_USE_WORDS] = "hosts",
        [JR_USE_PAIRS] = "hosts",
        [JR_USE_LINES] = "hosts",
        [JR_USE_TABLE] = "hosts",
        [JR_USE_JSON] = "hosts",
    };
    return words[use];
}

static void remember_variable(struct jr_host_reader *probe, const struct jr_variable *row,
                              const char *value)
{
    struct jr_host *hw = probe->hw;
    size_t count = hw->variables_count;
    struct jr_host_variable *slot =
        jr_arena_push(probe->arena, &hw->variables, &count, sizeof *slot);
    if (slot == NULL)
        return;
    *slot = (struct jr_host_variable){
        .system = systems[row->system].name,
        .name = row->name,
        .value = jr_arena_strdup(probe->arena, value),
        .meaning = row->meaning,
        .fact = fact_name(row->use),
        .trap = row->trap,
    };
    hw->variables_count = (uint32_t)count;
}

/* Use the variables of a system. */
static void read_system(struct jr_host_reader *probe, enum jr_system system)
{
    size_t count;
    const struct jr_variable *rows = jr_variables(&count);
    for (size_t i = 0; i < count; i++) {
        const char *value = variable_value(probe, rows[i].name);
        if (rows[i].system != system || value == NULL)
            continue;
        remember_variable(probe, &rows[i], value);
        if (!jr_variable_use(probe, &rows[i], value))
            report_unreadable_variable(probe, &rows[i], value);
    }
}

/* What the launcher did not say, the allocation around it does. It speaks of all its nodes, though,
 * where the launcher may have taken a part of them. */
static void read_outer_system(struct jr_host_reader *probe, enum jr_system launcher)
{
    struct jr_host_scheduler *to = &probe->hw->scheduler;
    struct jr_host_scheduler inner = *to;
    enum jr_system outer = find_system(probe, JR_SYSTEM_SELF, JR_SYSTEM_ALLOCATION);
    if (outer == JR_SYSTEM_COUNT)
        return;
    *to = (struct jr_host_scheduler){.node_rank = -1};
    read_system(probe, outer);
    struct jr_host_scheduler around = *to;
    *to = inner;
    to->name =
        jr_arena_printf(probe->arena, "%s under %s", systems[launcher].name, systems[outer].name);
    if (to->job_id == NULL || launcher == JR_SYSTEM_TORCHRUN)
        to->job_id = around.job_id;
    to->end = around.end;
    to->restarts = around.restarts;
    if (to->nodes == 0 && to->hosts.count == 0)
        to->nodes = around.nodes;
    if (to->hosts.count == 0 && (to->nodes == 0 || to->nodes == around.hosts.count))
        to->hosts = around.hosts;
}

/* Counts that the hosts tell, and hosts that contradict a count. */
static void finalize_nodes(struct jr_host_reader *probe)
{
    struct jr_host_scheduler *to = &probe->hw->scheduler;
    if (to->nodes == 0)
        to->nodes = (uint32_t)to->hosts.count;
    if (to->hosts.count > 0 && to->hosts.count != to->nodes && to->tasks_here <= 1)
        jr_scheduler_problem(probe,
                             jr_arena_printf(probe->arena, "%s names %zu hosts for %u nodes",
                                             to->name, to->hosts.count, to->nodes),
                             "some of its variables are another job's: unset those, or state "
                             "nodes, node_rank and hosts");
    if (to->tasks.count > 0 && to->tasks.count != to->nodes)
        to->tasks.count = 0;
    if (to->end > 0 && probe->hw->now >= to->end)
        jr_scheduler_problem(
            probe,
            jr_arena_printf(probe->arena, "the time of %s job %s is over", to->name, to->job_id),
            "its variables are left over: unset them, or open another shell");
    int here = probe->hw->hostname == NULL ? -1 : jr_hosts_find(to, probe->hw->hostname);
    if (to->step && to->node_rank < 0)
        to->node_rank = here;
    /* a launcher that counts the nodes in another order than the allocation */
    if (to->step && here >= 0 && here != to->node_rank)
        to->hosts.count = 0;
}

static void finalize_own_place(struct jr_host_reader *probe, enum jr_system system)
{
    if (system == JR_SYSTEM_VOLCANO)
        jr_volcano_settle(probe);
    else if (system == JR_SYSTEM_AWS_BATCH)
        jr_aws_batch_settle(probe);
    else if (system == JR_SYSTEM_SAGEMAKER)
        jr_sagemaker_settle(probe);
    if (variable_value(probe, "SLURM_JOB_ID") != NULL)
        jr_slurm_settle(probe);
}

void jr_host_reader_scheduler(struct jr_host_reader *probe)
{
    struct jr_host_scheduler *to = &probe->hw->scheduler;
    *to = (struct jr_host_scheduler){.node_rank = -1};
    /* A rank of another jobrun: the scheduler's words were meant for that. */
    if (variable_value(probe, "JOBRUN_RANK_DIR") != NULL)
        return;
    enum jr_system system = find_system(probe, JR_SYSTEM_LAUNCHER, JR_SYSTEM_ALLOCATION);
    if (system == JR_SYSTEM_COUNT)
        return;
    to->name = systems[system].name;
    to->step = systems[system].kind != JR_SYSTEM_ALLOCATION;
    read_system(probe, system);
    if (systems[system].kind == JR_SYSTEM_LAUNCHER)
        read_outer_system(probe, system);
    finalize_own_place(probe, system);
    finalize_nodes(probe);
}
