/* What a rank sees, through the plan. */
#include <jobrun/contract.h>

#include "sample.h"

/* The variables of a rank as "NAME=VALUE ..."; those with a ! must not be there. */
static void check(const struct sample *s, uint32_t rank, const char *expected)
{
    char *text = strdup(expected), *rest = text, *word;
    while ((word = strsep(&rest, " ")) != NULL) {
        bool absent = word[0] == '!';
        char *name = strsep(&word, "=") + absent;
        const char *value = sample_env(s, rank, name);
        if (absent)
            CU_ASSERT_PTR_NULL(value)
        else
            JR_ASSERT_TEXT(value, word);
    }
    free(text);
}

/* No name twice, nothing that is not NAME=VALUE, no template left over. */
static void check_whole(const struct sample *s, uint32_t rank)
{
    char *const *env = s->plan.ranks[rank].env;
    for (size_t i = 0; env[i] != NULL; i++) {
        size_t len = strcspn(env[i], "=");
        CU_ASSERT_EQUAL(env[i][len], '=');
        CU_ASSERT_PTR_NULL(strstr(env[i], "%{"));
        for (size_t j = 0; j < i; j++)
            CU_ASSERT_FALSE(strncmp(env[i], env[j], len + 1) == 0);
    }
}

TEST(refuses_a_missing_variable)
{
    static char root[] = "DATA_ROOT", key[] = "KEY";
    static const char outer[] = "KEYS=1 DATA_ROOT2=1";
    struct jr_env_entry env[] = {{.name = root, .required = true}, {.name = key, .required = true}};
    SAMPLE(s, 1, 1, 2);
    s.job.env = env;
    s.job.env_count = 2;
    sample_environ(&s, outer);
    CU_ASSERT_EQUAL(sample_build(&s), JR_STATUS_UNRESOLVED);
    CU_ASSERT_EQUAL_FATAL(s.diags.errors, 2);
    JR_ASSERT_TEXT(s.diags.items[0].code, "JR0501");
    JR_ASSERT_TEXT(s.diags.items[0].path, "env.DATA_ROOT");
    JR_ASSERT_TEXT(s.diags.items[0].message,
                   "'DATA_ROOT' must be set in the environment, but is not");
    JR_ASSERT_TEXT(s.diags.items[1].path, "env.KEY");
    CU_ASSERT_PTR_NULL(s.plan.ranks);
}

TEST(refuses_a_bad_template)
{
    static char shard[] = "SHARD", value[] = "%{model_members}";
    struct jr_env_entry env[] = {{.name = shard, .value = value}};
    SAMPLE(s, 1, 1, 2);
    s.job.env = env;
    s.job.env_count = 1;
    CU_ASSERT_EQUAL(sample_build(&s), JR_STATUS_INVALID);
    CU_ASSERT_TRUE(sample_found(&s, "JR0502", "no word 'model_members'"));
    JR_ASSERT_TEXT(s.diags.items[0].path, "env.SHARD");
}

/* Rank 6 of 8 on two nodes, as a whole. */
TEST(sets_the_contract)
{
    static const char rank6[] =
        "RANK=6 LOCAL_RANK=2 WORLD_SIZE=8 LOCAL_WORLD_SIZE=4 GROUP_RANK=1 GROUP_WORLD_SIZE=2 "
        "NODE_RANK=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 INIT_METHOD=env:// "
        "JOBRUN_RUN_ID=run-1 JOBRUN_RUN_DIR=/home/u/job/runs/run-1 "
        "JOBRUN_RANK_DIR=/home/u/job/runs/run-1/attempt_2/6 "
        "JOBRUN_RESULT_FILE=/home/u/job/runs/run-1/attempt_2/6/result.json "
        "JOBRUN_ERROR_FILE=/home/u/job/runs/run-1/attempt_2/6/error.json "
        "JOBRUN_PROGRESS_FILE=/home/u/job/runs/run-1/attempt_2/progress/6.jsonl JOBRUN_ATTEMPT=2 "
        "MODEL_PARALLEL_SIZE=2 MODEL_PARALLEL_RANK=0 MODEL_PARALLEL_GROUP=3 "
        "MODEL_PARALLEL_MEMBERS=6,7 MODEL_PARALLEL_BACKEND=nccl PIPELINE_PARALLEL_SIZE=2 "
        "PIPELINE_PARALLEL_RANK=1 PIPELINE_PARALLEL_GROUP=2 PIPELINE_PARALLEL_MEMBERS=4,6 "
        "PIPELINE_PARALLEL_BACKEND=gloo DATA_PARALLEL_SIZE=2 DATA_PARALLEL_RANK=1 "
        "DATA_PARALLEL_GROUP=2 DATA_PARALLEL_MEMBERS=2,6 DATA_PARALLEL_BACKEND=gloo ROLE_RANK=6 "
        "ROLE_WORLD_SIZE=8 ROLE_NAME=default TORCHELASTIC_RUN_ID=run-1 "
        "TORCHELASTIC_RESTART_COUNT=2 TORCHELASTIC_MAX_RESTARTS=0 "
        "TORCHELASTIC_ERROR_FILE=/home/u/job/runs/run-1/attempt_2/6/error.json "
        "TORCH_DISTRIBUTED_BACKEND=gloo PYTHONUNBUFFERED=1 PYTHONFAULTHANDLER=1 OMP_NUM_THREADS=3";
    SAMPLE(s, 2, 2, 2);
    sample_nodes(&s, 2);
    s.job.axis_backend[JR_AXIS_MODEL] = "nccl";
    s.options.attempt = 2;
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    check(&s, 6, rank6);
    CU_ASSERT_EQUAL(s.plan.ranks[6].env_own, 43);
    CU_ASSERT_PTR_NULL(s.plan.ranks[6].env[43]);
    check_whole(&s, 6);
}

/* RCCL is "nccl" to frameworks; of a custom backend they know the name. Our own variables keep the
 * words of the spec. */
TEST(calls_backends_as_frameworks_do)
{
    static const char *const calls[][2] = {
        {"rccl", "nccl"}, {"custom:ours", "ours"}, {"hccl", "hccl"}};
    char *names[] = {TEXT("torch"), TEXT("paddle")};
    uint32_t ports[] = {29501};
    for (size_t i = 0; i < LENGTH(calls); i++) {
        SAMPLE(s, 1, 1, 1);
        s.job.env_profiles = names;
        s.job.env_profiles_count = LENGTH(names);
        s.job.rank_ports = ports;
        s.job.backend = s.job.axis_backend[JR_AXIS_DATA] = calls[i][0];
        CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
        JR_ASSERT_TEXT(sample_env(&s, 0, "TORCH_DISTRIBUTED_BACKEND"), calls[i][1]);
        JR_ASSERT_TEXT(sample_env(&s, 0, "PADDLE_DISTRI_BACKEND"), calls[i][1]);
        JR_ASSERT_TEXT(sample_env(&s, 0, "DATA_PARALLEL_BACKEND"), calls[i][0]);
    }
}

/* A profile and the names of its rows. */
struct profile {
    char *name; /* NULL: none is asked for */
    const char *const *names;
    size_t count;
};

/* Every row of contract.h reaches the ranks of its profile, and no others. */
TEST(sets_every_row_of_the_tables)
{
#define NAME(name, text, field) name,
#define PROFILE(name, names)                                                                       \
    {                                                                                              \
        TEXT(name), names, LENGTH(names)                                                           \
    }
    static const char *const always[] = {JR_CONTRACT_VARIABLES(NAME)};
    static const char *const torch[] = {JR_CONTRACT_TORCH(NAME)};
    static const char *const paddle[] = {JR_CONTRACT_PADDLE(NAME)};
    static const char *const megengine[] = {JR_CONTRACT_MEGENGINE(NAME)};
    static const char *const mpi[] = {JR_CONTRACT_MPI(NAME)};
    const struct profile profiles[] = {PROFILE("torch", torch),
                                       PROFILE("paddle", paddle),
                                       PROFILE("megengine", megengine),
                                       PROFILE("mpi", mpi),
                                       {NULL, always, LENGTH(always)}};
    for (size_t chosen = 0; chosen < LENGTH(profiles); chosen++) {
        uint32_t ports[] = {29501};
        char *names[] = {profiles[chosen].name};
        SAMPLE(s, 1, 1, 1);
        s.job.env_profiles = names;
        s.job.env_profiles_count = names[0] != NULL;
        s.job.rank_ports = ports;
        CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
        for (size_t i = 0; i < LENGTH(profiles); i++)
            for (size_t j = 0; j < profiles[i].count; j++)
                CU_ASSERT_EQUAL(sample_env(&s, 0, profiles[i].names[j]) != NULL,
                                i == chosen || profiles[i].name == NULL);
        check_whole(&s, 0);
    }
}

/* What is too long for a variable is nobody's. */
TEST(leaves_out_endpoints_that_do_not_fit)
{
    char *names[] = {TEXT("paddle")};
    char host[220];
    SAMPLE(s, 1, 1, 500);
    uint32_t ports[500] = {0};
    memset(host, 'a', sizeof host - 1);
    host[sizeof host - 1] = '\0';
    s.hosts[0] = host;
    s.job.env_profiles = names;
    s.job.rank_ports = ports;
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    CU_ASSERT_PTR_NULL(sample_env(&s, 0, "PADDLE_TRAINER_ENDPOINTS"));
    CU_ASSERT_PTR_NOT_NULL(sample_env(&s, 0, "PADDLE_CURRENT_ENDPOINT"));
    CU_ASSERT_TRUE(sample_found(&s, "JR0504", "a list of 500 ranks"));
}

TEST(cleans_what_it_inherits)
{
    static const char outer[] =
        "HOME=/home/u EMPTY= PMI_RANK=5 PMIX_RANK=5 OMPI_COMM_WORLD_SIZE=9 PRTE_X=1 "
        "TORCHELASTIC_USE_AGENT_STORE=1 JOBRUN_DEVICE_INDEX=4 RANK=77 WORLD_SIZE=78 "
        "SLURM_PROCID=9 SLURM_LOCALID=9 SLURM_JOB_ID=12 PYTHONUNBUFFERED=0 LC_ALL=C LC_TIME=C "
        "PMIX=stays OMP_NUM_THREADS=64";
    static char lc[] = "LC_*";
    static char *remove[] = {lc};
    static const char rank1[] =
        "HOME=/home/u EMPTY= !PMI_RANK !PMIX_RANK !OMPI_COMM_WORLD_SIZE !PRTE_X "
        "!TORCHELASTIC_USE_AGENT_STORE !JOBRUN_DEVICE_INDEX RANK=1 WORLD_SIZE=2 SLURM_PROCID=1 "
        "SLURM_LOCALID=1 SLURM_JOB_ID=12 PYTHONUNBUFFERED=0 PYTHONFAULTHANDLER=1 !LC_ALL "
        "!LC_TIME PMIX=stays OMP_NUM_THREADS=3";
    SAMPLE(s, 1, 1, 2);
    sample_environ(&s, outer);
    s.job.env_remove = remove;
    s.job.env_remove_count = 1;
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    check(&s, 1, rank1);
    check_whole(&s, 1);
    /* Own first, then inherited. */
    JR_ASSERT_TEXT(s.plan.ranks[1].env[0], "RANK=1");
    JR_ASSERT_TEXT(s.plan.ranks[1].env[s.plan.ranks[1].env_own], "HOME=/home/u");
}

/* What contract.h makes of a variable, for a rank of an outer world of one. */
struct task_variable {
    const char *name, *text;
};

static const struct task_variable tasks[] = {
#define TASK(name, text, with) {name, text},
    JR_CONTRACT_TASKS(TASK)
#undef TASK
};

/* Whatever a scheduler said of its one task, a rank hears of its own world, or nothing; what
 * describes the allocation stays. */
TEST(tells_ranks_of_their_own_world)
{
    static const char rank6[] =
        "SLURM_PROCID=6 SLURM_LOCALID=2 SLURM_NODEID=1 SLURM_NTASKS=8 SLURM_NPROCS=8 "
        "SLURM_NTASKS_PER_NODE=4 SLURM_TASKS_PER_NODE=4(x2) SLURM_NNODES=2 SLURM_STEP_NUM_TASKS=8 "
        "SLURM_STEP_NUM_NODES=2 SLURM_STEP_NODELIST=n7,n9 SLURM_STEP_TASKS_PER_NODE=4(x2) "
        "SLURM_LAUNCH_NODE_IPADDR=127.0.0.1 !SLURM_GTIDS !SLURM_TASK_PID JSM_NAMESPACE_RANK=6 "
        "FLUX_TASK_LOCAL_ID=2 HOROVOD_CROSS_SIZE=2 MV2_COMM_WORLD_SIZE=8 !LSF_PM_TASKID "
        "SLURM_JOB_ID=12 SLURM_JOB_NODELIST=n[7-9] SLURM_JOB_NUM_NODES=3";
    char *outer[LENGTH(tasks) + 4] = {TEXT("SLURM_JOB_ID=12"), TEXT("SLURM_JOB_NODELIST=n[7-9]"),
                                      TEXT("SLURM_JOB_NUM_NODES=3")};
    char items[LENGTH(tasks)][64];
    struct sample SAMPLE_CLEANUP s;
    for (size_t i = 0; i < LENGTH(tasks); i++) {
        (void)snprintf(items[i], sizeof items[i], "%s=outer", tasks[i].name);
        outer[3 + i] = items[i];
    }
    sample_init(&s, 2, 2, 2);
    sample_nodes(&s, 2);
    s.job.hosts[0] = TEXT("n7");
    s.job.hosts[1] = TEXT("n9");
    s.options.environ = outer;
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    check(&s, 6, rank6);
    check_whole(&s, 6);
    for (size_t i = 0; i < LENGTH(tasks); i++) {
        const char *value = sample_env(&s, 6, tasks[i].name);
        CU_ASSERT_EQUAL(value == NULL, tasks[i].text == NULL);
        CU_ASSERT_FALSE(value != NULL && strcmp(value, "outer") == 0);
    }
}

/* Nothing is added where nothing was said, but that a size asks for a rank. */
TEST(adds_no_words_of_a_scheduler)
{
    static const char none[] = "SLURM_JOB_ID=12";
    static const char size[] = "SLURM_NTASKS=1 SLURM_STEP_NODELIST=n1";
    static const char rank1[] =
        "SLURM_PROCID=1 SLURM_LOCALID=1 SLURM_NODEID=0 SLURM_NTASKS=2 SLURM_NTASKS_PER_NODE=2 "
        "SLURM_NNODES=1 !SLURM_NPROCS !SLURM_STEP_NODELIST";
    struct sample s;
    sample_init(&s, 1, 1, 2);
    sample_environ(&s, none);
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    for (size_t i = 0; i < LENGTH(tasks); i++)
        if (strncmp(tasks[i].name, "ROLE_", 5) != 0) /* of profile torch */
            CU_ASSERT_PTR_NULL(sample_env(&s, 1, tasks[i].name));
    sample_release(&s);
    sample_init(&s, 1, 1, 2);
    sample_environ(&s, size);
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    check(&s, 1, rank1);
    sample_release(&s);
}

TEST(lets_the_spec_have_the_last_word)
{
    static const char outer[] = "KEEP=1 DROP=1 NEED=a%{rank}=b GONE=1";
    static char gone[] = "GONE";
    static char *remove[] = {gone};
    struct jr_env_entry env[] = {{.name = TEXT("SHARD"), .value = TEXT("%{rank}/%{nodes}")},
                                 {.name = TEXT("OMP_NUM_THREADS"), .value = TEXT("9")},
                                 {.name = TEXT("DROP")},
                                 {.name = TEXT("PYTHONFAULTHANDLER")},
                                 {.name = TEXT("NEED"), .required = true},
                                 {.name = TEXT("GONE"), .value = TEXT("back")},
                                 {.name = TEXT("EMPTY"), .value = TEXT("")},
                                 {.name = TEXT("LITERAL"), .value = TEXT("%%{rank}")}};
    static const char rank1[] = "KEEP=1 !DROP SHARD=1/1 OMP_NUM_THREADS=9 GONE=back "
                                "!PYTHONFAULTHANDLER NEED=a%{rank}=b EMPTY= LITERAL=%{rank}";
    SAMPLE(s, 1, 1, 2);
    sample_environ(&s, outer);
    s.job.env = env;
    s.job.env_count = LENGTH(env);
    s.job.env_remove = remove;
    s.job.env_remove_count = 1;
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    check(&s, 1, rank1);
}

/* Three devices for four ranks. */
TEST(sets_what_devices_are_seen)
{
    char *devices[] = {TEXT("4"), TEXT("5"), TEXT("7")};
    static const char outer[] = "CUDA_VISIBLE_DEVICES=4,5,7";
    static const struct {
        enum jr_visibility visibility;
        bool by_index;
        enum jr_device device;
        const char *rank2, *rank3;
        size_t warnings;
    } rows[] = {
#define SEES(devices, order, index) "CUDA_VISIBLE_DEVICES=" devices " " order " " index
#define BY_BUS                      "CUDA_DEVICE_ORDER=PCI_BUS_ID"
#define FIRST                       "JOBRUN_DEVICE_INDEX=0"
        {JR_VISIBLE_ALL, true, JR_DEVICE_CUDA, SEES("4,5,7", BY_BUS, "!JOBRUN_DEVICE_INDEX"),
         SEES("4,5,7", BY_BUS, "!JOBRUN_DEVICE_INDEX"), 0},
        {JR_VISIBLE_ONE, true, JR_DEVICE_CUDA, SEES("7", BY_BUS, FIRST), SEES("4", BY_BUS, FIRST),
         1},
        {JR_VISIBLE_ONE, false, JR_DEVICE_ROCM, SEES("7", "!CUDA_DEVICE_ORDER", FIRST),
         SEES("4", "!CUDA_DEVICE_ORDER", FIRST), 1},
        {JR_VISIBLE_INHERIT, true, JR_DEVICE_CUDA,
         SEES("4,5,7", "!CUDA_DEVICE_ORDER", "!JOBRUN_DEVICE_INDEX"),
         SEES("4,5,7", "!CUDA_DEVICE_ORDER", "!JOBRUN_DEVICE_INDEX"), 0}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        SAMPLE(s, 1, 1, 4);
        sample_environ(&s, outer);
        s.job.device = rows[i].device;
        s.job.own.devices = devices;
        s.job.own.devices_count = 3;
        s.job.devices_by_index = rows[i].by_index;
        s.job.device_visibility = rows[i].visibility;
        s.job.visibility_variable = "CUDA_VISIBLE_DEVICES";
        CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
        check(&s, 2, rows[i].rank2);
        check(&s, 3, rows[i].rank3);
        JR_ASSERT_TEXT(s.plan.ranks[2].device, "7");
        JR_ASSERT_TEXT(s.plan.ranks[3].device, "4");
        CU_ASSERT_EQUAL(s.diags.warnings, rows[i].warnings);
        if (rows[i].warnings > 0)
            CU_ASSERT_TRUE(sample_found(&s, "JR0505", "LOCAL_RANK is not a device index"));
    }
}

/* A variable of the spec that gives ranks other devices than the plan does is told of, whether it
 * is stated for all ranks or for some. */
TEST(warns_of_replaced_devices)
{
    static char cuda[] = "CUDA_VISIBLE_DEVICES", zero[] = "0", order[] = "CUDA_DEVICE_ORDER",
                bus[] = "PCI_BUS_ID", fast[] = "FASTEST_FIRST", hip[] = "HIP_VISIBLE_DEVICES",
                rocr[] = "ROCR_VISIBLE_DEVICES", other[] = "CUDA_CACHE_PATH";
    char *devices[] = {TEXT("0"), TEXT("1")};
    static const struct {
        enum jr_device device;
        enum jr_visibility visibility;
        uint32_t devices;
        struct jr_env_entry entry;
        bool found;
    } rows[] = {{JR_DEVICE_CUDA, JR_VISIBLE_ALL, 2, {.name = cuda, .value = zero}, true},
                {JR_DEVICE_CUDA, JR_VISIBLE_ALL, 2, {.name = cuda}, true},
                {JR_DEVICE_CUDA, JR_VISIBLE_ALL, 2, {.name = cuda, .required = 1}, true},
                {JR_DEVICE_CUDA, JR_VISIBLE_INHERIT, 2, {cuda, zero, false}, false},
                {JR_DEVICE_CUDA, JR_VISIBLE_ALL, 0, {cuda, zero, false}, false},
                {JR_DEVICE_CUDA, JR_VISIBLE_ALL, 2, {other, zero, false}, false},
                {JR_DEVICE_CUDA, JR_VISIBLE_ALL, 2, {order, fast, false}, true},
                {JR_DEVICE_CUDA, JR_VISIBLE_ALL, 2, {order, NULL, false}, true},
                {JR_DEVICE_CUDA, JR_VISIBLE_ALL, 2, {order, bus, false}, false},
                {JR_DEVICE_CUDA, JR_VISIBLE_ALL, 2, {hip, zero, false}, false},
                {JR_DEVICE_ROCM, JR_VISIBLE_ALL, 2, {rocr, zero, false}, true},
                {JR_DEVICE_ROCM, JR_VISIBLE_ALL, 2, {hip, zero, false}, true},
                {JR_DEVICE_ROCM, JR_VISIBLE_ALL, 2, {hip, NULL, true}, true},
                {JR_DEVICE_ROCM, JR_VISIBLE_ALL, 2, {cuda, zero, false}, true},
                {JR_DEVICE_ROCM, JR_VISIBLE_ALL, 2, {cuda, NULL, false}, false},
                {JR_DEVICE_ROCM, JR_VISIBLE_ALL, 2, {order, fast, false}, false}};
    static const char outer[] = "CUDA_VISIBLE_DEVICES=0,1 HIP_VISIBLE_DEVICES=0,1";
    for (size_t i = 0; i < 2 * LENGTH(rows); i++) {
        size_t row = i / 2;
        struct jr_env_entry entry = rows[row].entry;
        struct jr_rank_entry some = {.ranks = TEXT("1"), .env = &entry, .env_count = 1};
        SAMPLE(s, 1, 1, 2);
        sample_environ(&s, outer);
        s.job.device = rows[row].device;
        s.job.own.devices = devices;
        s.job.own.devices_count = rows[row].devices;
        s.job.devices_by_index = true;
        s.job.device_visibility = rows[row].visibility;
        s.job.visibility_variable = rows[row].device == JR_DEVICE_CUDA ? cuda : rocr;
        if (i % 2 == 0)
            s.job.env = &entry, s.job.env_count = 1;
        else
            s.job.per_rank = &some, s.job.per_rank_count = 1;
        CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
        CU_ASSERT_EQUAL(sample_found(&s, "JR0517", entry.name), rows[row].found);
        CU_ASSERT_EQUAL(s.diags.warnings, rows[row].found);
        if (rows[row].found) {
            char path[64];
            (void)snprintf(path, sizeof path, "%s.%s", i % 2 == 0 ? "env" : "per_rank.1.env",
                           entry.name);
            JR_ASSERT_TEXT(s.diags.items[0].path, path);
        }
    }
}

/* Paddle asks for the index of the device among those that the rank sees. */
TEST(counts_the_devices_that_are_seen)
{
    char *devices[] = {TEXT("4"), TEXT("5"), TEXT("7")};
    static char paddle[] = "paddle";
    char *profiles[] = {paddle};
    static const struct {
        enum jr_visibility visibility;
        uint32_t count;
        const char *index[4];
    } rows[] = {
        {JR_VISIBLE_ALL, 3, {"0", "1", "2", "0"}},     {JR_VISIBLE_ALL, 2, {"0", "1", "0", "1"}},
        {JR_VISIBLE_INHERIT, 3, {"0", "1", "2", "0"}}, {JR_VISIBLE_ONE, 3, {"0", "0", "0", "0"}},
        {JR_VISIBLE_ONE, 0, {"0", "1", "2", "3"}},     {JR_VISIBLE_ALL, 0, {"0", "1", "2", "3"}}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        SAMPLE(s, 1, 1, 4);
        s.job.env_profiles = profiles;
        s.job.device = JR_DEVICE_CUDA;
        s.job.own.devices = devices;
        s.job.own.devices_count = rows[i].count;
        s.job.device_visibility = rows[i].visibility;
        s.job.visibility_variable = "CUDA_VISIBLE_DEVICES";
        CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
        for (uint32_t rank = 0; rank < 4; rank++)
            JR_ASSERT_TEXT(sample_env(&s, rank, "FLAGS_selected_gpus"), rows[i].index[rank]);
    }
}

TEST(leaves_devices_alone_where_there_are_none)
{
    SAMPLE(s, 1, 1, 2);
    s.job.device_visibility = JR_VISIBLE_ONE;
    s.job.visibility_variable = "CUDA_VISIBLE_DEVICES";
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    CU_ASSERT_PTR_NULL(sample_env(&s, 0, "CUDA_VISIBLE_DEVICES"));
    CU_ASSERT_PTR_NULL(s.plan.ranks[0].device);
    CU_ASSERT_EQUAL(s.diags.count, 0);
}

/* One string a group, not one a rank. */
TEST(shares_the_lists_of_members)
{
    SAMPLE(s, 4, 1, 2);
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    const char *first = sample_env(&s, 0, "MODEL_PARALLEL_MEMBERS");
    JR_ASSERT_TEXT(first, "0,1,2,3");
    CU_ASSERT_PTR_EQUAL(sample_env(&s, 3, "MODEL_PARALLEL_MEMBERS"), first);
    CU_ASSERT_PTR_NOT_EQUAL(sample_env(&s, 4, "MODEL_PARALLEL_MEMBERS"), first);
    CU_ASSERT_PTR_EQUAL(sample_env(&s, 7, "WORLD_SIZE"), sample_env(&s, 0, "WORLD_SIZE"));
    CU_ASSERT_PTR_EQUAL(s.plan.ranks[7].argv, s.plan.ranks[0].argv);
}

static uint32_t number(const struct sample *s, uint32_t rank, const char *axis, const char *what)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%s_PARALLEL_%s", axis, what);
    const char *value = sample_env(s, rank, name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(value);
    return (uint32_t)strtoul(value, NULL, 10);
}

/* What a rank is told of one axis is true, by the lists alone: it stands in its own list where its
 * coordinate says, and the list is as long as said. */
static bool is_consistent(const struct sample *s, uint32_t rank, const char *axis)
{
    char name[64];
    uint32_t at = number(s, rank, axis, "RANK"), i = 0;
    bool found = false;
    (void)snprintf(name, sizeof name, "%s_PARALLEL_MEMBERS", axis);
    const char *list = sample_env(s, rank, name);
    for (char *end; *list != '\0'; list = *end == ',' ? end + 1 : end, i++) {
        uint32_t member = (uint32_t)strtoul(list, &end, 10);
        found = found || (i == at && member == rank);
        if (number(s, member, axis, "GROUP") != number(s, rank, axis, "GROUP"))
            return false;
    }
    return found && i == number(s, rank, axis, "SIZE");
}

TEST(tells_every_rank_of_its_groups)
{
    static const uint32_t sizes[][JR_AXIS_COUNT] = {
        {1, 1, 1}, {2, 2, 2}, {1, 5, 3}, {7, 1, 2}, {4, 3, 5}};
    static const char *const axes[] = {"MODEL", "PIPELINE", "DATA"};
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        SAMPLE(s, sizes[i][0], sizes[i][1], sizes[i][2]);
        CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
        for (uint32_t rank = 0; rank < s.plan.world_size; rank++)
            for (size_t axis = 0; axis < LENGTH(axes); axis++)
                CU_ASSERT_TRUE(is_consistent(&s, rank, axes[axis]));
    }
}

/* Every rank has the same names, in the same order: what reads one rank's environment knows where
 * to look in another's. */
TEST(sets_the_same_names_for_all)
{
    char *devices[] = {TEXT("0"), TEXT("1")};
    SAMPLE(s, 2, 1, 2);
    sample_nodes(&s, 2);
    s.job.device = JR_DEVICE_CUDA;
    s.job.own.devices = devices;
    s.job.own.devices_count = 2;
    s.job.device_visibility = JR_VISIBLE_ONE;
    s.job.visibility_variable = "CUDA_VISIBLE_DEVICES";
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    const struct jr_plan_rank *first = &s.plan.ranks[0];
    for (uint32_t rank = 1; rank < 4; rank++) {
        const struct jr_plan_rank *other = &s.plan.ranks[rank];
        CU_ASSERT_EQUAL_FATAL(other->env_own, first->env_own);
        for (uint32_t i = 0; i < first->env_own; i++)
            CU_ASSERT_EQUAL(strncmp(first->env[i], other->env[i], strcspn(first->env[i], "=") + 1),
                            0);
    }
}

/* 20,000 ranks make a list of more than 100 KiB; 18,000 do not. A stale list in the environment is
 * not passed on either. */
TEST(leaves_out_a_list_that_is_too_long)
{
    static const char outer[] = "DATA_PARALLEL_MEMBERS=0,1";
    static const uint32_t worlds[] = {20000, 18000};
    for (size_t i = 0; i < LENGTH(worlds); i++) {
        SAMPLE(s, 1, 1, worlds[i]);
        sample_environ(&s, outer);
        CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
        const char *list = sample_env(&s, 5, "DATA_PARALLEL_MEMBERS");
        CU_ASSERT_EQUAL(list != NULL && strlen(list) > 90000, i == 1);
        CU_ASSERT_EQUAL(s.diags.warnings, i == 0 ? 1 : 0);
        if (i == 0)
            CU_ASSERT_TRUE(sample_found(&s, "JR0504", "DATA_PARALLEL_MEMBERS is left out"));
        JR_ASSERT_TEXT(sample_env(&s, 5, "MODEL_PARALLEL_MEMBERS"), "5");
    }
}
