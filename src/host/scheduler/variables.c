#include "host/scheduler/variables.h"

#include <limits.h>

#include "base/num.h"
#include "host/scheduler/hosts.h"

#include "base/banned.h"

#define ROW(system, name, use, meaning, trap)                                                      \
    {                                                                                              \
        JR_SYSTEM_##system, name, JR_USE_##use, meaning, trap                                      \
    }

#define ONE_EACH "with one task per node this is the node's rank"

static const struct jr_variable rows[] = {
    ROW(TORCHRUN, "TORCHELASTIC_RUN_ID", JOB, "the rendezvous", NULL),
    ROW(TORCHRUN, "GROUP_WORLD_SIZE", NODES, "the agents, one per node", NULL),
    ROW(TORCHRUN, "GROUP_RANK", INDEX, "this agent's node", NULL),
    ROW(TORCHRUN, "LOCAL_WORLD_SIZE", HERE, "processes on this node", NULL),
    ROW(TORCHRUN, "MASTER_ADDR", ADDR, "where rank 0 listens", NULL),
    ROW(TORCHRUN, "RANK", NOTHING, "this process", "no node's rank"),
    ROW(TORCHRUN, "WORLD_SIZE", NOTHING, "all processes",
        "under Kubeflow, Volcano and DLC it counts pods"),

    ROW(OPENMPI, "OMPI_COMM_WORLD_SIZE", SIZE, "all tasks", NULL),
    ROW(OPENMPI, "OMPI_COMM_WORLD_RANK", RANK, "this task", ONE_EACH),
    ROW(OPENMPI, "OMPI_COMM_WORLD_LOCAL_SIZE", HERE, "tasks on this node", NULL),
    ROW(OPENMPI, "OMPI_COMM_WORLD_NODE_RANK", NOTHING, "this task among those of its node",
        "not the rank of the node"),

    ROW(HYDRA, "PMI_SIZE", SIZE, "all tasks", NULL),
    ROW(HYDRA, "PMI_RANK", RANK, "this task", ONE_EACH),
    ROW(HYDRA, "MPI_LOCALNRANKS", HERE, "tasks on this node", NULL),

    ROW(PALS, "PALS_APID", JOB, "the application", NULL),
    ROW(PALS, "PMI_SIZE", SIZE, "all tasks", NULL),
    ROW(PALS, "PALS_NODEID", INDEX, "this node", NULL),
    ROW(PALS, "PMI_LOCAL_SIZE", HERE, "tasks on this node", NULL),
    ROW(PALS, "PALS_RANKID", NOTHING, "this task", ONE_EACH),

    ROW(JSM, "JSM_NAMESPACE_SIZE", SIZE, "all tasks", NULL),
    ROW(JSM, "JSM_NAMESPACE_RANK", RANK, "this task", ONE_EACH),
    ROW(JSM, "JSM_NAMESPACE_LOCAL_SIZE", HERE, "tasks on this node", NULL),

    ROW(FLUX, "FLUX_JOB_ID", JOB, "the job", NULL),
    ROW(FLUX, "FLUX_JOB_NNODES", NODES, "nodes of the job", NULL),
    ROW(FLUX, "FLUX_JOB_SIZE", SIZE, "all tasks", NULL),
    ROW(FLUX, "FLUX_TASK_RANK", RANK, "this task", ONE_EACH),

    ROW(SLURM_STEP, "SLURM_STEP_NUM_NODES", NODES, "nodes of the step", NULL),
    ROW(SLURM_STEP, "SLURM_STEP_NODELIST", LIST, "nodes of the step", NULL),
    ROW(SLURM_STEP, "SLURM_NODEID", INDEX, "this node in the step", "0 in a batch script, too"),
    ROW(SLURM_STEP, "SLURM_STEP_TASKS_PER_NODE", STARTED, "tasks that srun started on each node",
        NULL),
    ROW(SLURM_STEP, "SLURM_STEP_ID", NOTHING, "the step",
        "above 4294967000 it is the batch or interactive shell, not a step"),
    ROW(SLURM_STEP, "SLURM_PROCID", NOTHING, "this task", "0 in a batch script, too"),

    ROW(PBS_TASK, "PBS_NODENUM", INDEX, "this node", "0 in a job script, too"),
    ROW(PBS_TASK, "PBS_TASKNUM", NOTHING, "this task", "1 is the job script"),
    ROW(LSF_TASK, "LSF_PM_TASKID", NOTHING, "this task", "counts slots, not nodes"),
    ROW(SGE_TASK, "PE_TASK_ID", NOTHING, "this task", NULL),

    ROW(KUBEFLOW, "PET_NNODES", NODES, "pods, one per node",
        "MIN:MAX in an elastic job, where it says nothing"),
    ROW(KUBEFLOW, "PET_NODE_RANK", INDEX, "this pod", NULL),
    ROW(KUBEFLOW, "PET_NPROC_PER_NODE", EACH, "processes per pod",
        "a word, as auto or gpu, leaves it to the hardware"),
    ROW(KUBEFLOW, "PET_MASTER_ADDR", ADDR, "where rank 0 listens", NULL),
    ROW(KUBEFLOW, "PET_MASTER_PORT", PORT, "and on which port", NULL),
    ROW(KUBEFLOW, "RANK", NOTHING, "this pod", "counts pods, not processes"),
    ROW(KUBEFLOW, "WORLD_SIZE", NOTHING, "the pods", "counts pods, not processes"),

    ROW(VOLCANO, "VC_TASK_INDEX", NOTHING, "this pod in its task",
        "counts within one task (master, worker), not over the job"),

    ROW(AWS_BATCH, "AWS_BATCH_JOB_ID", JOB, "the job", NULL),
    ROW(AWS_BATCH, "AWS_BATCH_JOB_NUM_NODES", NODES, "nodes of the job", NULL),
    ROW(AWS_BATCH, "AWS_BATCH_JOB_NODE_INDEX", INDEX, "this node",
        "the main node need not be node 0"),
    ROW(AWS_BATCH, "AWS_BATCH_JOB_MAIN_NODE_INDEX", NOTHING, "the main node", NULL),
    ROW(AWS_BATCH, "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS", ADDR, "the main node's address",
        "not set on the main node itself"),

    ROW(SAGEMAKER, "TRAINING_JOB_NAME", JOB, "the job", NULL),
    ROW(SAGEMAKER, "SM_HOSTS", JSON, "all hosts", NULL),
    ROW(SAGEMAKER, "SM_CURRENT_HOST", NOTHING, "this host", NULL),
    ROW(SAGEMAKER, "SM_NUM_GPUS", NOTHING, "GPUs of this host", "the hardware is asked instead"),

    ROW(KUBERNETES, "JOB_COMPLETION_INDEX", INDEX, "this pod",
        "their number is not given: state nodes; in a JobSet it counts within "
        "one replicated job: state node_rank"),

    ROW(SLURM, "SLURM_JOB_ID", JOB, "the job", "a shell that outlives the job keeps it"),
    ROW(SLURM, "SLURM_JOB_NUM_NODES", NODES, "nodes of the job", NULL),
    ROW(SLURM, "SLURM_NNODES", NODES, "nodes of the job", NULL),
    ROW(SLURM, "SLURM_JOB_NODELIST", LIST, "nodes of the job", NULL),
    ROW(SLURM, "SLURM_NODELIST", LIST, "nodes of the job", NULL),
    ROW(SLURM, "SLURM_TASKS_PER_NODE", TASKS, "tasks on each node",
        "always set; meant only where SLURM_NTASKS is"),
    ROW(SLURM, "SLURM_NTASKS", NOTHING, "tasks that were asked for", NULL),
    ROW(SLURM, "SLURM_NTASKS_PER_NODE", NOTHING, "tasks that were asked for", NULL),
    ROW(SLURM, "SLURM_RESTART_COUNT", RESTARTS, "how often the job was started again", NULL),
    ROW(SLURM, "SLURM_JOB_END_TIME", END, "when the job's time is up", NULL),
    ROW(SLURM, "SLURM_CPUS_PER_TASK", NOTHING, "CPUs of a task",
        "the affinity of this process is asked instead"),
    ROW(SLURM, "SLURM_JOB_GPUS", NOTHING, "GPUs of the job on this node",
        "numbers of the node, not of the job's cgroup"),

    ROW(PBS, "PBS_JOBID", JOB, "the job", NULL),
    ROW(PBS, "PBS_NODEFILE", LINES, "the nodes, once per slot", NULL),
    ROW(PBS, "PBS_ENVIRONMENT", NOTHING, "batch or interactive", NULL),

    ROW(LSF, "LSB_JOBID", JOB, "the job", NULL),
    ROW(LSF, "LSB_DJOB_HOSTFILE", LINES, "the hosts, once per slot", NULL),
    ROW(LSF, "LSB_MCPU_HOSTS", PAIRS, "hosts and their slots",
        "where jobs are started by jsrun, the first is the launch node"),
    ROW(LSF, "LSB_HOSTS", WORDS, "the hosts, once per slot",
        "left out by LSF when it would be long"),

    ROW(SGE, "JOB_ID", JOB, "the job", NULL),
    ROW(SGE, "PE_HOSTFILE", TABLE, "hosts and their slots", NULL),
    ROW(SGE, "NHOSTS", NODES, "hosts of the job", NULL),
    ROW(SGE, "NSLOTS", NOTHING, "slots in all", NULL),
    ROW(SGE, "SGE_TASK_ID", NOTHING, "this task of an array job",
        "no rank: each task is a job of its own"),
};

const struct jr_variable *jr_variables(size_t *ret_count)
{
    *ret_count = sizeof rows / sizeof rows[0];
    return rows;
}

/* A number that fills what is blank. */
static bool fill_blank_number(uint32_t *to, const char *value, uint32_t most)
{
    uint32_t number;
    if (!jr_num_u32(value, &number) || number == 0 || number > most)
        return false;
    if (*to == 0)
        *to = number;
    return true;
}

static bool use_nothing(struct jr_host_reader *probe, const char *value)
{
    (void)probe;
    (void)value;
    return true;
}

static bool fill_text(struct jr_host_reader *probe, const char **to, const char *value)
{
    if (*to == NULL && value[0] != '\0')
        *to = jr_arena_strdup(probe->arena, value);
    return true;
}

static bool use_job(struct jr_host_reader *probe, const char *value)
{
    return fill_text(probe, &probe->hw->scheduler.job_id, value);
}

static bool use_nodes(struct jr_host_reader *probe, const char *value)
{
    return fill_blank_number(&probe->hw->scheduler.nodes, value, JR_HOSTLIST_MAX);
}

static bool use_restarts(struct jr_host_reader *probe, const char *value)
{
    uint32_t *to = &probe->hw->scheduler.restarts;
    return jr_num_u32(value, to) && *to <= INT_MAX;
}

static bool use_index(struct jr_host_reader *probe, const char *value)
{
    struct jr_host_scheduler *to = &probe->hw->scheduler;
    uint32_t number;
    if (!jr_num_u32(value, &number) || number > INT_MAX)
        return false;
    if (to->node_rank < 0)
        to->node_rank = (int)number;
    return true;
}

/* Where the number of nodes is known, it says how many tasks each has. */
static bool use_size(struct jr_host_reader *probe, const char *value)
{
    struct jr_host_scheduler *to = &probe->hw->scheduler;
    uint32_t size = 0;
    if (!fill_blank_number(&size, value, INT_MAX))
        return false;
    if (to->nodes == 0)
        to->nodes = size;
    else if (to->tasks_here == 0)
        to->tasks_here = (size - 1) / to->nodes + 1;
    return true;
}

static bool use_tasks_here(struct jr_host_reader *probe, const char *value)
{
    return fill_blank_number(&probe->hw->scheduler.tasks_here, value, INT_MAX);
}

static bool use_started(struct jr_host_reader *probe, const char *value)
{
    struct jr_host_scheduler *to = &probe->hw->scheduler;
    struct jr_counts started;
    if (!jr_counts_expand(&started, &probe->scratch, value))
        return false;
    if (to->node_rank >= 0 && (uint32_t)to->node_rank < started.count)
        to->tasks_here = started.items[to->node_rank];
    return true;
}

/* An allocation has tasks per node even where nobody asked for any. */
static bool use_tasks(struct jr_host_reader *probe, const char *value)
{
    if (jr_env_get(probe->envp, "SLURM_NTASKS") == NULL &&
        jr_env_get(probe->envp, "SLURM_NTASKS_PER_NODE") == NULL)
        return true;
    return jr_counts_expand(&probe->hw->scheduler.tasks, probe->arena, value);
}

/* A word, as `auto`, asks for nothing. */
static bool use_tasks_per_node(struct jr_host_reader *probe, const char *value)
{
    struct jr_host_scheduler *to = &probe->hw->scheduler;
    uint32_t each;
    if (!jr_num_u32(value, &each) || each == 0 || to->nodes == 0)
        return true;
    const char *counts = jr_arena_printf(&probe->scratch, "%u(x%u)", each, to->nodes);
    return counts == NULL || jr_counts_expand(&to->tasks, probe->arena, counts);
}

static bool use_addr(struct jr_host_reader *probe, const char *value)
{
    return fill_text(probe, &probe->hw->scheduler.master_addr, value);
}

static bool use_port(struct jr_host_reader *probe, const char *value)
{
    return fill_blank_number(&probe->hw->scheduler.master_port, value, UINT16_MAX);
}

static bool use_end(struct jr_host_reader *probe, const char *value)
{
    return jr_num_u64(value, &probe->hw->scheduler.end);
}

bool jr_variable_use(struct jr_host_reader *probe, const struct jr_variable *row, const char *value)
{
    static bool (*const uses[])(struct jr_host_reader *, const char *) = {
        [JR_USE_NOTHING] = use_nothing,   [JR_USE_JOB] = use_job,
        [JR_USE_NODES] = use_nodes,       [JR_USE_INDEX] = use_index,
        [JR_USE_RANK] = use_index,        [JR_USE_SIZE] = use_size,
        [JR_USE_HERE] = use_tasks_here,   [JR_USE_STARTED] = use_started,
        [JR_USE_TASKS] = use_tasks,       [JR_USE_EACH] = use_tasks_per_node,
        [JR_USE_ADDR] = use_addr,         [JR_USE_PORT] = use_port,
        [JR_USE_RESTARTS] = use_restarts, [JR_USE_END] = use_end,
        [JR_USE_LIST] = jr_hosts_list,    [JR_USE_WORDS] = jr_hosts_words,
        [JR_USE_PAIRS] = jr_hosts_pairs,  [JR_USE_LINES] = jr_hosts_lines,
        [JR_USE_TABLE] = jr_hosts_table,  [JR_USE_JSON] = jr_hosts_json,
    };
    return uses[row->use](probe, value);
}
