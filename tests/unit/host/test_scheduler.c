/* What the variables of each launcher and scheduler say of the job. */
#include "base/buf.h"
#include "scratch.h"
#include "host/scheduler/scheduler.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { MOST_VARIABLES = 10 };

/* An environment as "A=1|B=2", what is read from it: "NAME; step; nodes 2; rank 1; hosts a b; tasks
 * 2(x2)", each part where there is such a thing, and the machine's name, NULL where it is unknown.
 */
typedef const char *const env_row[3];

static void describe(struct jr_buf *out, struct jr_host_reader *probe)
{
    const struct jr_host_scheduler *it = &probe->hw->scheduler;
    char *tasks = jr_counts_print(&it->tasks, &probe->scratch);
    jr_buf_printf(out, "%s%s", it->name == NULL ? "none" : it->name, it->step ? "; step" : "");
    if (it->job_id != NULL)
        jr_buf_printf(out, "; job %s", it->job_id);
    if (it->nodes != 0)
        jr_buf_printf(out, "; nodes %u", it->nodes);
    if (it->node_rank >= 0)
        jr_buf_printf(out, "; rank %d", it->node_rank);
    for (size_t i = 0; i < it->hosts.count; i++)
        jr_buf_printf(out, "%s%s", i == 0 ? "; hosts " : " ", it->hosts.items[i]);
    if (it->tasks_here != 0)
        jr_buf_printf(out, "; here %u", it->tasks_here);
    if (tasks != NULL)
        jr_buf_printf(out, "; %s %s", it->slots ? "slots" : "tasks", tasks);
    if (it->master_addr != NULL)
        jr_buf_printf(out, "; addr %s", it->master_addr);
    if (it->master_port != 0)
        jr_buf_printf(out, "; port %u", it->master_port);
    if (it->restarts != 0)
        jr_buf_printf(out, "; restarts %u", it->restarts);
    if (it->end != 0)
        jr_buf_printf(out, "; end %llu", (unsigned long long)it->end);
    if (it->kill_wait != 0)
        jr_buf_printf(out, "; kill %u", it->kill_wait);
    if (it->problem != NULL)
        jr_buf_printf(out, "; PROBLEM %s", it->problem);
}

static void check_in(const char *root, const char *const (*row)[3])
{
    struct jr_host hw = {.hostname = (*row)[2], .now = 1000};
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    char *env[MOST_VARIABLES + 1] = {NULL};
    size_t count = 0;
    EACH_PART(item, (*row)[0])
        if (item[0] != '\0')
            env[count++] = jr_arena_strdup(&arena, item);
    struct jr_host_reader probe = {.hw = &hw, .arena = &arena, .root = root, .envp = env};
    jr_host_reader_scheduler(&probe);
    describe(&out, &probe);
    JR_ASSERT_TEXT(out.data, (*row)[1]);
    jr_arena_release(&probe.scratch);
}

#define CHECK_ROWS(rows)                                                                           \
    for (size_t row_ = 0; row_ < LENGTH(rows); row_++)                                             \
    check_in("/nowhere", &(rows)[row_])

TEST(takes_no_leftovers_for_a_job)
{
    static const env_row rows[] = {
        {"", "none"},
        {"RANK=1|WORLD_SIZE=2|LOCAL_RANK=0", "none"},
        {"SLURM_JOB_ID=", "none"},
        {"OMPI_COMM_WORLD_SIZE=4", "none"},
        {"PMI_RANK=0|PMI_SIZE=2", "none"},
        {"TORCHELASTIC_RUN_ID=r|GROUP_RANK=1", "none"},
        {"SLURM_NODEID=1|SLURM_STEP_ID=0", "none"},
        {"JOB_ID=5", "none"},
        {"PET_NNODES=2", "none"},
        {"SM_HOSTS=[\"a\"]", "none"},
        /* inside a rank of jobrun the scheduler speaks of that */
        {"SLURM_JOB_ID=5|SLURM_JOB_NUM_NODES=2|JOBRUN_RANK_DIR=/x", "none"},
    };
    CHECK_ROWS(rows);
}

TEST(reads_a_slurm_allocation)
{
    static const env_row rows[] = {
        {"SLURM_JOB_ID=5", "Slurm; job 5"},
        {"SLURM_JOB_ID=5|SLURM_JOB_NUM_NODES=2|SLURM_JOB_NODELIST=n[1-2]",
         "Slurm; job 5; nodes 2; hosts n1 n2"},
        {"SLURM_JOB_ID=5|SLURM_JOB_NODELIST=n[1-3]", "Slurm; job 5; nodes 3; hosts n1 n2 n3"},
        /* the newer name counts before the older one */
        {"SLURM_NNODES=3|SLURM_JOB_ID=5|SLURM_JOB_NUM_NODES=2", "Slurm; job 5; nodes 2"},
        {"SLURM_JOB_ID=5|SLURM_NNODES=3|SLURM_NODELIST=a,b,c",
         "Slurm; job 5; nodes 3; hosts a b c"},
        /* tasks count where somebody asked for them */
        {"SLURM_JOB_ID=5|SLURM_NNODES=2|SLURM_TASKS_PER_NODE=4(x2)", "Slurm; job 5; nodes 2"},
        {"SLURM_JOB_ID=5|SLURM_NNODES=2|SLURM_TASKS_PER_NODE=4(x2)|SLURM_NTASKS=8",
         "Slurm; job 5; nodes 2; tasks 4(x2)"},
        {"SLURM_JOB_ID=5|SLURM_NNODES=3|SLURM_TASKS_PER_NODE=4(x2),1|SLURM_NTASKS_PER_NODE=4",
         "Slurm; job 5; nodes 3; tasks 4(x2),1"},
        {"SLURM_JOB_ID=5|SLURM_NNODES=3|SLURM_TASKS_PER_NODE=4(x2)|SLURM_NTASKS=8",
         "Slurm; job 5; nodes 3"},
        {"SLURM_JOB_ID=5|SLURM_RESTART_COUNT=2|SLURM_JOB_END_TIME=1001",
         "Slurm; job 5; restarts 2; end 1001"},
        /* this script's node is no rank of the job's */
        {"SLURM_JOB_ID=5|SLURM_NNODES=2|SLURM_NODEID=0|SLURM_PROCID=0", "Slurm; job 5; nodes 2"},
        /* the batch step, and shells that stand for the allocation */
        {"SLURM_JOB_ID=5|SLURM_NNODES=2|SLURM_NODEID=0|SLURM_STEP_ID=4294967291|SLURM_STEP_NUM_"
         "NODES=1",
         "Slurm; job 5; nodes 2"},
        {"SLURM_JOB_ID=5|SLURM_NNODES=2|SLURM_NODEID=0|SLURM_STEP_ID=4294967000",
         "Slurm; job 5; nodes 2"},
        {"SLURM_JOB_ID=5|SLURM_NNODES=2|SLURM_NODEID=0|SLURM_STEP_ID=0|SLURM_PTY_PORT=4000",
         "Slurm; job 5; nodes 2"},
    };
    CHECK_ROWS(rows);
}

TEST(reads_a_step_of_srun)
{
#define STEP(id, node) "SLURM_JOB_ID=5|SLURM_STEP_ID=" id "|SLURM_NODEID=" node
    static const env_row rows[] = {
        {STEP("0", "1") "|SLURM_STEP_NUM_NODES=2|SLURM_STEP_NODELIST=n[3-4]|SLURM_STEP_TASKS_PER_"
                        "NODE=1(x2)",
         "srun under Slurm; step; job 5; nodes 2; rank 1; hosts n3 n4; here 1"},
        {STEP("4294966999", "0") "|SLURM_STEP_NUM_NODES=1",
         "srun under Slurm; step; job 5; nodes 1; rank 0"},
        {STEP("1", "1") "|SLURM_STEP_NUM_NODES=3|SLURM_STEP_TASKS_PER_NODE=2(x2),1",
         "srun under Slurm; step; job 5; nodes 3; rank 1; here 2"},
        {STEP("1", "2") "|SLURM_STEP_NUM_NODES=3|SLURM_STEP_TASKS_PER_NODE=2(x2),1",
         "srun under Slurm; step; job 5; nodes 3; rank 2; here 1"},
        /* a step of a part of the nodes has not the hosts of all */
        {STEP("0", "0") "|SLURM_STEP_NUM_NODES=1|SLURM_JOB_NODELIST=n[1-2]|SLURM_JOB_NUM_NODES=2",
         "srun under Slurm; step; job 5; nodes 1; rank 0"},
        {STEP("0", "0") "|SLURM_STEP_NUM_NODES=2|SLURM_JOB_NODELIST=n[1-2]|SLURM_JOB_NUM_NODES=2|"
                        "SLURM_JOB_END_TIME=2000|SLURM_RESTART_COUNT=1",
         "srun under Slurm; step; job 5; nodes 2; rank 0; hosts n1 n2; restarts 1; end 2000"},
        /* a host that finds itself elsewhere: another order */
        {STEP("0", "0") "|SLURM_STEP_NUM_NODES=2|SLURM_STEP_NODELIST=n[1-2]",
         "srun under Slurm; step; job 5; nodes 2; rank 0", "n2.example"},
        {STEP("0", "1") "|SLURM_STEP_NUM_NODES=2|SLURM_STEP_NODELIST=n[1-2]",
         "srun under Slurm; step; job 5; nodes 2; rank 1; hosts n1 n2", "n2.example"},
    };
    CHECK_ROWS(rows);
}

TEST(reads_the_launchers_of_mpi)
{
    static const env_row rows[] = {
        {"OMPI_COMM_WORLD_SIZE=4|OMPI_COMM_WORLD_RANK=3|OMPI_COMM_WORLD_LOCAL_SIZE=1|OMPI_COMM_"
         "WORLD_NODE_RANK=0",
         "Open MPI; step; nodes 4; rank 3; here 1"},
        {"MPI_LOCALNRANKS=1|PMI_SIZE=2|PMI_RANK=1", "MPICH; step; nodes 2; rank 1; here 1"},
        {"PALS_APID=a|PALS_RANKID=7|PALS_NODEID=1|PMI_SIZE=2|PMI_LOCAL_SIZE=1",
         "PALS; step; job a; nodes 2; rank 1; here 1"},
        {"JSM_NAMESPACE_RANK=1|JSM_NAMESPACE_SIZE=2|JSM_NAMESPACE_LOCAL_SIZE=1",
         "jsrun; step; nodes 2; rank 1; here 1"},
        /* where the nodes are told, the size says how many each has */
        {"FLUX_JOB_ID=f|FLUX_JOB_NNODES=2|FLUX_JOB_SIZE=2|FLUX_TASK_RANK=1",
         "Flux; step; job f; nodes 2; rank 1; here 1"},
        {"FLUX_JOB_ID=f|FLUX_JOB_NNODES=2|FLUX_JOB_SIZE=5|FLUX_TASK_RANK=1",
         "Flux; step; job f; nodes 2; rank 1; here 3"},
        {"FLUX_JOB_ID=f|FLUX_JOB_NNODES=2|FLUX_JOB_SIZE=4|FLUX_TASK_RANK=0",
         "Flux; step; job f; nodes 2; rank 0; here 2"},
        /* of an allocation around it: the job, and hosts of as many nodes */
        {"OMPI_COMM_WORLD_SIZE=2|OMPI_COMM_WORLD_RANK=0|OMPI_COMM_WORLD_LOCAL_SIZE=1|SLURM_JOB_ID="
         "9|SLURM_JOB_NUM_NODES=2|SLURM_JOB_NODELIST=a,b",
         "Open MPI under Slurm; step; job 9; nodes 2; rank 0; hosts a b; here 1"},
        {"OMPI_COMM_WORLD_SIZE=2|OMPI_COMM_WORLD_RANK=0|SLURM_JOB_ID=9|SLURM_JOB_NODELIST=a,b,c",
         "Open MPI under Slurm; step; job 9; nodes 2; rank 0"},
        /* the first in the table counts: Open MPI inside of srun */
        {"SLURM_JOB_ID=5|SLURM_STEP_ID=0|SLURM_NODEID=0|OMPI_COMM_WORLD_SIZE=2|OMPI_COMM_WORLD_"
         "RANK=1",
         "Open MPI under Slurm; step; job 5; nodes 2; rank 1"},
    };
    CHECK_ROWS(rows);
}

TEST(reads_torchrun)
{
    static const env_row rows[] = {
        {"TORCHELASTIC_RUN_ID=r|GROUP_WORLD_SIZE=2|GROUP_RANK=1|LOCAL_WORLD_SIZE=1|MASTER_ADDR=h|"
         "RANK=1|WORLD_SIZE=2",
         "torchrun; step; job r; nodes 2; rank 1; here 1; addr h"},
        /* its run id is none of the scheduler's */
        {"TORCHELASTIC_RUN_ID=none|GROUP_WORLD_SIZE=1|GROUP_RANK=0|SLURM_JOB_ID=7|SLURM_NNODES=1",
         "torchrun under Slurm; step; job 7; nodes 1; rank 0"},
    };
    CHECK_ROWS(rows);
}

TEST(reads_systems_that_start_every_node)
{
    static const env_row rows[] = {
        {"PET_NNODES=2|PET_NODE_RANK=1|PET_NPROC_PER_NODE=8|PET_MASTER_ADDR=m|PET_MASTER_PORT="
         "23456|WORLD_SIZE=2",
         "Kubeflow; step; nodes 2; rank 1; tasks 8(x2); addr m; port 23456"},
        {"PET_NNODES=2|PET_NODE_RANK=0|PET_NPROC_PER_NODE=auto", "Kubeflow; step; nodes 2; rank 0"},
        {"PET_NNODES=2|PET_NODE_RANK=0|PET_NPROC_PER_NODE=0", "Kubeflow; step; nodes 2; rank 0"},
        {"PET_NNODES=1:2|PET_NODE_RANK=0",
         "Kubeflow; step; rank 0; PROBLEM PET_NNODES cannot be read (pods, one per node): '1:2'"},
        {"JOB_COMPLETION_INDEX=3", "Kubernetes; step; rank 3"},
        {"TRAINING_JOB_NAME=t|SM_HOSTS=[\"algo-1\",\"algo-2\"]|SM_CURRENT_HOST=algo-2",
         "SageMaker; step; job t; nodes 2; rank 1; hosts algo-1 algo-2", "algo-2"},
        {"SM_HOSTS=[\"algo-1\"]|SM_CURRENT_HOST=algo-3",
         "SageMaker; step; nodes 1; hosts algo-1; PROBLEM SM_CURRENT_HOST is not one of SM_HOSTS"},
        {"SM_HOSTS=[1]|SM_CURRENT_HOST=algo-3",
         "SageMaker; step; PROBLEM SM_HOSTS cannot be read (all hosts): '[1]'"},
    };
    CHECK_ROWS(rows);
}

/* Ranks of AWS Batch are counted from the main node on, around the end. */
TEST(reads_aws_batch)
{
#define BATCH(nodes, index)                                                                        \
    "AWS_BATCH_JOB_ID=b|AWS_BATCH_JOB_NUM_NODES=" nodes "|AWS_BATCH_JOB_NODE_INDEX=" index
#define MAIN(index) "AWS_BATCH_JOB_MAIN_NODE_INDEX=" index
    static const env_row rows[] = {
        {BATCH("4", "0") "|" MAIN("0"), "AWS Batch; step; job b; nodes 4; rank 0; addr ip-1",
         "ip-1"},
        {BATCH("4", "3") "|" MAIN("0") "|AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS=10.0.0.1",
         "AWS Batch; step; job b; nodes 4; rank 3; addr 10.0.0.1", "ip-1"},
        {BATCH("4", "2") "|" MAIN("2"), "AWS Batch; step; job b; nodes 4; rank 0; addr ip-1",
         "ip-1"},
        {BATCH("4", "3") "|" MAIN("2"), "AWS Batch; step; job b; nodes 4; rank 1"},
        {BATCH("4", "0") "|" MAIN("2"), "AWS Batch; step; job b; nodes 4; rank 2"},
        {BATCH("4", "1") "|" MAIN("2"), "AWS Batch; step; job b; nodes 4; rank 3"},
        {BATCH("4", "1") "|" MAIN("4"), "AWS Batch; step; job b; nodes 4; rank 1; PROBLEM "
                                        "AWS_BATCH_JOB_MAIN_NODE_INDEX is not one of the nodes"},
        {BATCH("4", "1") "|" MAIN("x"), "AWS Batch; step; job b; nodes 4; rank 1; PROBLEM "
                                        "AWS_BATCH_JOB_MAIN_NODE_INDEX is not one of the nodes"},
        {BATCH("4", "1"), "AWS Batch; step; job b; nodes 4; rank 1"},
    };
    CHECK_ROWS(rows);
}

/* The master's hosts come first, wherever they stand. */
TEST(reads_volcano)
{
    static const env_row rows[] = {
        {"VC_TASK_INDEX=0|VC_WORKER_HOSTS=w0,w1|VC_MASTER_HOSTS=m0",
         "Volcano; step; nodes 3; rank 0; hosts m0 w0 w1", "m0"},
        {"VC_TASK_INDEX=0|VC_WORKER_HOSTS=w0,w1|VC_MASTER_HOSTS=m0",
         "Volcano; step; nodes 3; rank 1; hosts m0 w0 w1", "w0.svc"},
        {"VC_TASK_INDEX=1|VC_WORKER_HOSTS=w0,,w1,|VC_WORKER_NUM=2",
         "Volcano; step; nodes 2; rank 1; hosts w0 w1", "w1"},
        {"VC_TASK_INDEX=0|VC_A_HOSTS=a|VC_B_HOSTS=b",
         "Volcano; step; nodes 2; rank 0; hosts a b; PROBLEM Volcano has more than one task of "
         "workers, and does not say in which order to count them",
         "a"},
        {"VC_TASK_INDEX=0|VC_HOSTS=x|XVC_A_HOSTS=y|VC_A_HOSTSX=z", "Volcano; step", "a"},
    };
    CHECK_ROWS(rows);
}

TEST(tells_what_cannot_be_believed)
{
    static const env_row rows[] = {
        {"SLURM_JOB_ID=5|SLURM_NNODES=x",
         "Slurm; job 5; PROBLEM SLURM_NNODES cannot be read (nodes of the job): 'x'"},
        {"SLURM_JOB_ID=5|SLURM_NNODES=0",
         "Slurm; job 5; PROBLEM SLURM_NNODES cannot be read (nodes of the job): '0'"},
        {"SLURM_JOB_ID=5|SLURM_NNODES=65536", "Slurm; job 5; nodes 65536"},
        {"SLURM_JOB_ID=5|SLURM_NNODES=65537",
         "Slurm; job 5; PROBLEM SLURM_NNODES cannot be read (nodes of the job): '65537'"},
        {"SLURM_JOB_ID=5|SLURM_JOB_NODELIST=n[1-|SLURM_NNODES=-1",
         "Slurm; job 5; PROBLEM SLURM_NNODES cannot be read (nodes of the job): '-1'"},
        {"SLURM_JOB_ID=5|SLURM_NNODES=2|SLURM_JOB_NODELIST=n[1-3]",
         "Slurm; job 5; nodes 2; hosts n1 n2 n3; PROBLEM Slurm names 3 hosts for 2 nodes"},
        {"SLURM_JOB_ID=5|SLURM_JOB_END_TIME=1000",
         "Slurm; job 5; end 1000; PROBLEM the time of Slurm job 5 is over"},
        {"SLURM_JOB_ID=5|SLURM_RESTART_COUNT=2147483648",
         "Slurm; job 5; restarts 2147483648; PROBLEM SLURM_RESTART_COUNT "
         "cannot be read (how often the job was started again): '2147483648'"},
        {"PET_NNODES=1|PET_NODE_RANK=2147483648",
         "Kubeflow; step; nodes 1; PROBLEM PET_NODE_RANK cannot be read (this pod): '2147483648'"},
        {"PET_NNODES=1|PET_NODE_RANK=0|PET_MASTER_PORT=65536",
         "Kubeflow; step; nodes 1; rank 0; PROBLEM PET_MASTER_PORT cannot be "
         "read (and on which port): '65536'"},
        {"PET_NNODES=1|PET_NODE_RANK=0|PET_MASTER_PORT=65535",
         "Kubeflow; step; nodes 1; rank 0; port 65535"},
    };
    CHECK_ROWS(rows);
}

TEST(reads_hosts_and_slots)
{
    static const env_row rows[] = {
        {"LSB_JOBID=l|LSB_HOSTS=a a b", "LSF; job l; nodes 2; hosts a b; slots 2,1"},
        {"LSB_JOBID=l|LSB_HOSTS=x|LSB_MCPU_HOSTS=a 4 b 2 a 1",
         "LSF; job l; nodes 2; hosts a b; slots 5,2"},
        {"LSB_JOBID=l|LSB_MCPU_HOSTS=a 4 b",
         "LSF; job l; PROBLEM LSB_MCPU_HOSTS cannot be read (hosts and their slots): 'a 4 b'"},
        {"LSB_JOBID=l|LSB_MCPU_HOSTS=a 0",
         "LSF; job l; PROBLEM LSB_MCPU_HOSTS cannot be read (hosts and their slots): 'a 0'"},
        {"LSB_JOBID=l|LSB_MCPU_HOSTS=a 65536 a 1", "LSF; job l; PROBLEM LSB_MCPU_HOSTS cannot be "
                                                   "read (hosts and their slots): 'a 65536 a 1'"},
        {"LSB_JOBID=l|LSB_MCPU_HOSTS=a 65535 a 1", "LSF; job l; nodes 1; hosts a; slots 65536"},
        {"LSB_JOBID=l|LSB_HOSTS=a/b",
         "LSF; job l; PROBLEM LSB_HOSTS cannot be read (the hosts, once per slot): 'a/b'"},
        {"JOB_ID=3|SGE_TASK_ID=undefined|NHOSTS=2", "Grid Engine; job 3; nodes 2"},
    };
    CHECK_ROWS(rows);
}

TEST(reads_files_of_hosts)
{
    static const struct {
        const char *name, *text;
    } files[] = {
        {"pbs", "n1.x\nn1.x\nn2.x\n\n"},
        {"sge", "n1 4 all.q@n1 <NULL>\nn2 2 all.q@n2 <NULL>\n"},
        {"bad", "n1\n"},
        {"dos", "n1\r\nn2 \r\n"},
    };
    static const env_row rows[] = {
        {"PBS_JOBID=p|PBS_NODEFILE=/pbs", "PBS; job p; nodes 2; hosts n1.x n2.x; slots 2,1"},
        {"PBS_JOBID=p|PBS_NODEFILE=/dos", "PBS; job p; nodes 2; hosts n1 n2; slots 1(x2)"},
        {"PBS_JOBID=p|PBS_NODEFILE=/none",
         "PBS; job p; PROBLEM PBS_NODEFILE cannot be read (the nodes, once per slot): '/none'"},
        {"PBS_JOBID=p|PBS_NODEFILE=/pbs|PBS_TASKNUM=2|PBS_NODENUM=1",
         "pbsdsh under PBS; step; job p; nodes 2; rank 1; hosts n1.x n2.x"},
        {"PBS_JOBID=p|PBS_NODEFILE=/pbs|PBS_TASKNUM=1|PBS_NODENUM=0",
         "PBS; job p; nodes 2; hosts n1.x n2.x; slots 2,1"},
        {"JOB_ID=3|SGE_TASK_ID=1|PE_HOSTFILE=/sge|NHOSTS=2",
         "Grid Engine; job 3; nodes 2; hosts n1 n2; slots 4,2"},
        {"JOB_ID=3|SGE_TASK_ID=1|PE_HOSTFILE=/bad",
         "Grid Engine; job 3; PROBLEM PE_HOSTFILE cannot be read (hosts and their slots): '/bad'"},
        {"LSB_JOBID=l|LSB_DJOB_HOSTFILE=/pbs|LSB_HOSTS=z",
         "LSF; job l; nodes 2; hosts n1.x n2.x; slots 2,1"},
    };
    SCRATCH(scratch);
    for (size_t i = 0; i < LENGTH(files); i++)
        scratch_write(&scratch, files[i].name, files[i].text);
    for (size_t i = 0; i < LENGTH(rows); i++)
        check_in(scratch.dir, &rows[i]);
}

/* KillWait of slurm.conf, 30 seconds where it says nothing. */
TEST(reads_how_long_slurm_waits)
{
    SCRATCH(scratch);
    EACH_PAIR(given, wanted,
              " => ; kill 30|ClusterName=c\n => ; kill 30|KillWait=60\n => ; kill 60|"
              "a=1\n \tkillwait=45 # seconds\nb=2 => ; kill 45|#KillWait=60\n => ; kill 30|"
              "UnkillWait=60\n => ; kill 30|KillWait=\n => ; kill 30|"
              "KillWait=1\nKillWait=2\n => ; kill 2") {
        char expected[64];
        (void)snprintf(expected, sizeof expected, "Slurm; job 5%s", wanted);
        scratch_write(&scratch, "conf", given);
        check_in(scratch.dir, &(env_row){"SLURM_JOB_ID=5|SLURM_CONF=/conf", expected});
    }
}

TEST(finds_a_host_by_its_name)
{
    static const struct {
        const char *hosts[2], *name;
        int place;
    } rows[] = {
        {{"a", "b"}, "c", -1},       {{"a", "b"}, "b", 1},       {{"a", "b"}, "b.example", 1},
        {{"a.x", "b.x"}, "b", 1},    {{"a.x", "b.x"}, "b.x", 1}, {{"a.x", "b.x"}, "b.y", -1},
        {{"a.x", "a.y"}, "a", -1},   {{"a.x", "a.y"}, "a.y", 1}, {{"ab", "a"}, "a", 1},
        {{"n1", "n10"}, "n10.x", 1},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
        struct jr_host hw = {0};
        char *env[] = {jr_arena_printf(&arena, "SM_CURRENT_HOST=%s", rows[i].name),
                       jr_arena_printf(&arena, "SM_HOSTS=[\"%s\", \"%s\"]", rows[i].hosts[0],
                                       rows[i].hosts[1]),
                       NULL};
        struct jr_host_reader probe = {.hw = &hw, .arena = &arena, .root = "/nowhere", .envp = env};
        jr_host_reader_scheduler(&probe);
        CU_ASSERT_EQUAL(hw.scheduler.node_rank, rows[i].place);
        jr_arena_release(&probe.scratch);
    }
}

/* Each variable that is set is told, with the fact that it fills. */
TEST(remembers_what_it_read)
{
    static const char *const rows[][4] = {
        {"srun", "SLURM_NODEID", "0", "node_rank"}, {"srun", "SLURM_STEP_ID", "0", NULL},
        {"Slurm", "SLURM_JOB_ID", "5", "job"},      {"Slurm", "SLURM_NNODES", "1", "nodes"},
        {"Slurm", "SLURM_NODELIST", "a", "hosts"},  {"Slurm", "SLURM_JOB_END_TIME", "2000", "end"},
    };
    char words[][32] = {"SLURM_JOB_ID=5", "SLURM_STEP_ID=0",  "SLURM_NODEID=0",
                        "SLURM_NNODES=1", "SLURM_NODELIST=a", "SLURM_JOB_END_TIME=2000"};
    char *env[LENGTH(words) + 1] = {NULL};
    for (size_t i = 0; i < LENGTH(words); i++)
        env[i] = words[i];
    struct jr_host hw = {0};
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_host_reader probe = {.hw = &hw, .arena = &arena, .root = "/nowhere", .envp = env};
    jr_host_reader_scheduler(&probe);
    CU_ASSERT_EQUAL_FATAL(hw.variables_count, LENGTH(rows));
    for (size_t i = 0; i < LENGTH(rows); i++) {
        JR_ASSERT_TEXT(hw.variables[i].system, rows[i][0]);
        JR_ASSERT_TEXT(hw.variables[i].name, rows[i][1]);
        JR_ASSERT_TEXT(hw.variables[i].value, rows[i][2]);
        if (rows[i][3] == NULL)
            CU_ASSERT_PTR_NULL(hw.variables[i].fact)
        else
            JR_ASSERT_TEXT(hw.variables[i].fact, rows[i][3]);
    }
    jr_arena_release(&probe.scratch);
}
