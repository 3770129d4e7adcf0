#include "host/scheduler/scheduler.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netdb.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"

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

/* Record what is wrong with the scheduler's word, both texts borrowed; the first problem counts. */
static void report_scheduler_problem(struct jr_host_reader *probe, const char *message,
                                     const char *help)
{
    struct jr_host_scheduler *to = &probe->hw->scheduler;
    if (to->problem == NULL) {
        to->problem = message;
        to->help = help;
    }
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

/* Hosts on the way, in the order in which they came up, with their slots. */
struct listing {
    struct jr_arena *arena;
    json_t *places; /* of the hosts, by name: there may be many */
    struct jr_strv hosts;
    uint32_t *slots;
    size_t slots_count;
};

/* Count `slots` for a host. */
static bool add_host_slots(struct listing *to, const char *host, uint32_t slots)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ._:-";
    const json_t *place = json_object_get(to->places, host);
    if (place != NULL) {
        uint32_t *known = &to->slots[json_integer_value(place)];
        bool fits = slots <= JR_HOSTLIST_MAX - *known;
        *known += fits ? slots : 0;
        return fits;
    }
    /* a name or an address, as far as its characters go */
    if (host[0] == '\0' || host[strspn(host, letters)] != '\0' || slots == 0 ||
        slots > JR_HOSTLIST_MAX || to->hosts.count == JR_HOSTLIST_MAX)
        return false;
    uint32_t *slot = jr_arena_push(to->arena, &to->slots, &to->slots_count, sizeof *slot);
    if (slot == NULL)
        return false;
    *slot = slots;
    if (json_object_set_new(to->places, host, json_integer((json_int_t)to->hosts.count)) != 0)
        to->arena->failed = true;
    jr_strv_push(&to->hosts, to->arena, jr_arena_strdup(to->arena, host));
    return true;
}

/* The next two words of a text, HOST SLOTS; false when that is not what comes.
 */
static bool add_pair(struct listing *to, char **text)
{
    char *host = strsep(text, " \t");
    char *number = strsep(text, " \t");
    uint32_t slots;
    return number != NULL && jr_num_u32(number, &slots) && add_host_slots(to, host, slots);
}

/* The six forms in which hosts are listed: as Slurm does, a host once per slot, hosts with slots,
 * either of them in a file, and JSON with one slot each, which tells nothing. Into the facts, if
 * all of it could be read, and unless they have hosts from a better variable. */
static bool use_hosts(struct jr_host_reader *probe, enum jr_use use, const char *value)
{
    struct jr_host_scheduler *to = &probe->hw->scheduler;
    struct listing listing = {.arena = probe->arena, .places = json_object()};
    char *text = use == JR_USE_LINES || use == JR_USE_TABLE
                     ? jr_host_reader_text(probe, "%s", value)
                     : jr_arena_strdup(&probe->scratch, value);
    const char *bad;
    bool whole = text != NULL;
    if (use == JR_USE_LIST) {
        whole = jr_hostlist_expand(&listing.hosts, probe->arena, value, &bad);
    } else if (use == JR_USE_JSON) {
        json_t *list = jr_json_parse(value, strlen(value), NULL);
        whole = json_is_array(list);
        for (size_t i = 0; whole && i < json_array_size(list); i++) {
            const char *host = json_string_value(json_array_get(list, i));
            whole = host != NULL && add_host_slots(&listing, host, 1);
        }
        json_decref(list);
    } else if (use == JR_USE_PAIRS) {
        while (whole && text != NULL && *text != '\0')
            whole = add_pair(&listing, &text);
    } else {
        const char *separator = use == JR_USE_WORDS ? " " : "\n";
        for (char *word; whole && (word = strsep(&text, separator)) != NULL;) {
            if (use != JR_USE_TABLE)
                word[strcspn(word, " \t\r")] = '\0';
            whole = word[0] == '\0' || (use == JR_USE_TABLE ? add_pair(&listing, &word)
                                                            : add_host_slots(&listing, word, 1));
        }
    }
    json_decref(listing.places);
    if (!whole || listing.hosts.count == 0)
        return false;
    if (to->hosts.count > 0)
        return true;
    to->hosts = listing.hosts;
    if (use != JR_USE_LIST) {
        to->tasks = (struct jr_counts){listing.slots, (uint32_t)listing.slots_count};
        to->slots = true;
    }
    return true;
}

/* Where the number of nodes is known, a size says how many tasks each has. */
static bool use_size(struct jr_host_scheduler *to, const char *value)
{
    uint32_t size = 0;
    if (!fill_blank_number(&size, value, INT_MAX))
        return false;
    if (to->nodes == 0)
        to->nodes = size;
    else if (to->tasks_here == 0)
        to->tasks_here = (size - 1) / to->nodes + 1;
    return true;
}

static bool use_index(struct jr_host_scheduler *to, const char *value)
{
    uint32_t number;
    if (!jr_num_u32(value, &number) || number > INT_MAX)
        return false;
    to->node_rank = to->node_rank < 0 ? (int)number : to->node_rank;
    return true;
}

static bool use_text(struct jr_host_reader *probe, const char **to, const char *value)
{
    if (*to == NULL && value[0] != '\0')
        *to = jr_arena_strdup(probe->arena, value);
    return true;
}

/* The numbers of tasks that were started, or asked for. */
static bool use_tasks(struct jr_host_reader *probe, enum jr_use use, const char *value)
{
    struct jr_host_scheduler *to = &probe->hw->scheduler;
    struct jr_counts started;
    uint32_t each;
    if (use == JR_USE_TASKS) /* an allocation has some even where nobody asked for any */
        return (jr_env_get(probe->envp, "SLURM_NTASKS") == NULL &&
                jr_env_get(probe->envp, "SLURM_NTASKS_PER_NODE") == NULL) ||
               jr_counts_expand(&to->tasks, probe->arena, value);
    if (use == JR_USE_STARTED) {
        if (!jr_counts_expand(&started, &probe->scratch, value))
            return false;
        if (to->node_rank >= 0 && (uint32_t)to->node_rank < started.count)
            to->tasks_here = started.items[to->node_rank];
        return true;
    }
    /* a word, as `auto`, asks for nothing */
    if (!jr_num_u32(value, &each) || each == 0 || to->nodes == 0)
        return true;
    const char *counts = jr_arena_printf(&probe->scratch, "%u(x%u)", each, to->nodes);
    return counts == NULL || jr_counts_expand(&to->tasks, probe->arena, counts);
}

bool jr_variable_use(struct jr_host_reader *probe, const struct jr_variable *row, const char *value)
{
    struct jr_host_scheduler *to = &probe->hw->scheduler;
    switch ((unsigned)row->use) {
    case JR_USE_JOB:
        return use_text(probe, &to->job_id, value);
    case JR_USE_NODES:
        return fill_blank_number(&to->nodes, value, JR_HOSTLIST_MAX);
    case JR_USE_INDEX:
    case JR_USE_RANK:
        return use_index(to, value);
    case JR_USE_SIZE:
        return use_size(to, value);
    case JR_USE_HERE:
        return fill_blank_number(&to->tasks_here, value, INT_MAX);
    case JR_USE_STARTED:
    case JR_USE_TASKS:
    case JR_USE_EACH:
        return use_tasks(probe, row->use, value);
    case JR_USE_ADDR:
        return use_text(probe, &to->master_addr, value);
    case JR_USE_PORT:
        return fill_blank_number(&to->master_port, value, UINT16_MAX);
    case JR_USE_RESTARTS:
        return jr_num_u32(value, &to->restarts) && to->restarts <= INT_MAX;
    case JR_USE_END:
        return jr_num_u64(value, &to->end);
    default:
        return use_hosts(probe, row->use, value);
    }
}

/* Names are the same in full, or up to the first dot where one ends there. */
static bool is_same_host(const char *a, const char *b, bool any_case)
{
    size_t len = strcspn(a, "."), other = strcspn(b, ".");
    bool cut = a[len] == '\0' || b[other] == '\0';
    size_t most = cut ? len : SIZE_MAX;
    return (!cut || len == other) &&
           (any_case ? strncasecmp(a, b, most) : strncmp(a, b, most)) == 0;
}

/* The position of `name` in the hosts: the only one that is called so, in full or up to the first
 * dot; -1 if there is none, or more. */
static int find_host_named(const struct jr_host_scheduler *scheduler, const char *name)
{
    int found = -1;
    for (size_t i = 0; i < scheduler->hosts.count; i++) {
        if (!is_same_host(scheduler->hosts.items[i], name, false))
            continue;
        if (found >= 0)
            return -1;
        found = (int)i;
    }
    return found;
}

/* Volcano: a list per task group, VC_<TASK>_HOSTS. Ranks go through the master's first, if there is
 * one, and its workers. */

static void settle_volcano(struct jr_host_reader *probe)
{
    struct jr_host_scheduler *to = &probe->hw->scheduler;
    size_t workers = 0;
    for (int pass = 0; pass < 2; pass++)
        for (char *const *at = probe->envp; *at != NULL; at++) {
            const char *value = strchr(*at, '=');
            if (value == NULL || strncmp(*at, "VC_", 3) != 0 || value - *at < 9 ||
                strncmp(value - 6, "_HOSTS", 6) != 0)
                continue;
            size_t len = (size_t)(value - 6 - *at);
            bool master = len == strlen("VC_MASTER") && strncmp(*at, "VC_MASTER", len) == 0;
            if (master != (pass == 0))
                continue;
            workers += pass == 1;
            char *text = jr_arena_strdup(probe->arena, value + 1);
            for (char *host; (host = strsep(&text, ",")) != NULL;)
                if (host[0] != '\0')
                    jr_strv_push(&to->hosts, probe->arena, host);
        }
    if (workers > 1)
        report_scheduler_problem(probe,
                                 "Volcano has more than one task of workers, and "
                                 "does not say in which order to count them",
                                 "state nodes, node_rank and hosts");
}

/* AWS Batch: rank 0 is the main node's, whatever its index, and the main node is the only one that
 * is not told its address. */
static void settle_aws_batch(struct jr_host_reader *probe)
{
    struct jr_host_scheduler *to = &probe->hw->scheduler;
    const char *text = jr_env_get(probe->envp, "AWS_BATCH_JOB_MAIN_NODE_INDEX");
    uint32_t main_node = 0;
    if (text != NULL &&
        (!jr_num_u32(text, &main_node) || to->nodes == 0 || main_node >= to->nodes)) {
        report_scheduler_problem(probe, "AWS_BATCH_JOB_MAIN_NODE_INDEX is not one of the nodes",
                                 "state node_rank and master_addr");
        return;
    }
    if (to->node_rank >= 0 && to->nodes > 0)
        to->node_rank =
            (int)(((uint32_t)to->node_rank % to->nodes + to->nodes - main_node) % to->nodes);
    if (to->master_addr == NULL && to->node_rank == 0)
        to->master_addr = probe->hw->hostname;
}

/* Slurm waits KillWait seconds between SIGTERM and SIGKILL, 30 unless slurm.conf(5) says
 * otherwise. */
static uint32_t kill_wait(struct jr_host_reader *probe, const char *path)
{
    char *text = path == NULL ? NULL : jr_host_reader_text(probe, "%s", path);
    uint32_t seconds = text == NULL ? 0 : 30;
    for (char *line; (line = strsep(&text, "\n")) != NULL;) {
        line += strspn(line, " \t");
        if (strncasecmp(line, "KillWait=", 9) != 0)
            continue;
        line += 9;
        line[strspn(line, "0123456789")] = '\0';
        (void)jr_num_u32(line, &seconds);
    }
    return seconds;
}

/* Which of several hosts this machine is. */

static bool has_own_address(const struct ifaddrs *own, const unsigned char *address, size_t size)
{
    for (; own != NULL; own = own->ifa_next) {
        const struct sockaddr *at = own->ifa_addr;
        const void *bytes = NULL;
        if (at == NULL || (own->ifa_flags & IFF_LOOPBACK) != 0)
            continue;
        if (at->sa_family == AF_INET && size == 4)
            bytes = &((const struct sockaddr_in *)(const void *)at)->sin_addr;
        if (at->sa_family == AF_INET6 && size == 16)
            bytes = &((const struct sockaddr_in6 *)(const void *)at)->sin6_addr;
        if (bytes != NULL && memcmp(bytes, address, size) == 0)
            return true;
    }
    return false;
}

int jr_host_find_self(const struct jr_host *hw, char *const *hosts, size_t count)
{
    struct ifaddrs *own = NULL;
    unsigned char address[16];
    int found = -1;
    if (getifaddrs(&own) != 0)
        own = NULL;
    for (size_t i = 0; i < count; i++) {
        /* an address in binary, so that it does not matter how it is written */
        size_t size = inet_pton(AF_INET, hosts[i], address) == 1    ? 4
                      : inet_pton(AF_INET6, hosts[i], address) == 1 ? 16
                                                                    : 0;
        bool same = size > 0 ? has_own_address(own, address, size)
                             : hw->hostname != NULL && is_same_host(hosts[i], hw->hostname, true);
        if (same && found >= 0) {
            found = -1;
            break;
        }
        found = same ? (int)i : found;
    }
    freeifaddrs(own);
    return found;
}

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

static bool is_system_there(const struct jr_host_reader *probe, enum jr_system system)
{
    const struct system *row = &systems[system];
    for (size_t i = 0; i < sizeof row->markers / sizeof *row->markers; i++)
        if (row->markers[i] != NULL && variable_value(probe, row->markers[i]) == NULL)
            return false;
    /* Not every step is one that srun started with a command: batch, external and interactive steps
     * have ids of their own from 4294967290 on, and a shell by `srun --pty` stands for the whole
     * allocation as one by `salloc` does. */
    if (system == JR_SYSTEM_SLURM_STEP)
        return variable_number(probe, "SLURM_STEP_ID") < 4294967000u &&
               variable_value(probe, "SLURM_PTY_PORT") == NULL;
    uint64_t task = variable_number(probe, "PBS_TASKNUM");
    /* the job script itself is task 1 */
    return system != JR_SYSTEM_PBS_TASK || (task > 1 && task != UINT64_MAX);
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

#define FACT(use, fact) [JR_USE_##use] = fact,
static const char *const facts[] = {JR_USES(FACT)};

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
        .fact = facts[row->use],
        .trap = row->trap,
    };
    hw->variables_count = (uint32_t)count;
}

/* Use the variables of a system. */
static void read_system(struct jr_host_reader *probe, enum jr_system system)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *value = variable_value(probe, rows[i].name);
        if (rows[i].system != system || value == NULL)
            continue;
        remember_variable(probe, &rows[i], value);
        if (rows[i].use != JR_USE_NOTHING && !jr_variable_use(probe, &rows[i], value))
            report_scheduler_problem(
                probe,
                jr_arena_printf(probe->arena, "%s cannot be read (%s): '%s'", rows[i].name,
                                rows[i].meaning, value),
                "unset it if another job left it behind, or state nodes, node_rank "
                "and hosts");
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
        report_scheduler_problem(probe,
                                 jr_arena_printf(probe->arena, "%s names %zu hosts for %u nodes",
                                                 to->name, to->hosts.count, to->nodes),
                                 "some of its variables are another job's: unset those, or state "
                                 "nodes, node_rank and hosts");
    if (to->tasks.count > 0 && to->tasks.count != to->nodes)
        to->tasks.count = 0;
    if (to->end > 0 && probe->hw->now >= to->end)
        report_scheduler_problem(
            probe,
            jr_arena_printf(probe->arena, "the time of %s job %s is over", to->name, to->job_id),
            "its variables are left over: unset them, or open another shell");
    int here = probe->hw->hostname == NULL ? -1 : find_host_named(to, probe->hw->hostname);
    if (to->step && to->node_rank < 0)
        to->node_rank = here;
    /* a launcher that counts the nodes in another order than the allocation */
    if (to->step && here >= 0 && here != to->node_rank)
        to->hosts.count = 0;
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
    if (system == JR_SYSTEM_VOLCANO)
        settle_volcano(probe);
    else if (system == JR_SYSTEM_AWS_BATCH)
        settle_aws_batch(probe);
    if (system == JR_SYSTEM_SAGEMAKER) {
        to->tasks.count = 0;
        to->slots = false;
        to->node_rank = find_host_named(to, jr_env_get(probe->envp, "SM_CURRENT_HOST"));
        if (to->node_rank < 0)
            report_scheduler_problem(probe, "SM_CURRENT_HOST is not one of SM_HOSTS",
                                     "state nodes, node_rank and hosts");
    }
    const char *const paths[] = {jr_env_get(probe->envp, "SLURM_CONF"),
                                 "/run/slurm/conf/slurm.conf", "/etc/slurm/slurm.conf",
                                 "/etc/slurm-llnl/slurm.conf"};
    bool slurm = variable_value(probe, "SLURM_JOB_ID") != NULL;
    for (size_t i = 0; slurm && i < 4 && to->kill_wait == 0; i++)
        to->kill_wait = kill_wait(probe, paths[i]);
    finalize_nodes(probe);
}
