/* The facts of a machine as people read them, of a machine that is not this one: nothing is looked
 * at besides. */
#include "session/foreground.h"

#include "session/internal.h"
#include "unit.h"

#define GIB (UINT64_C(1) << 30)

static char *none[] = {NULL};

/* What is told of a machine, but for the Python package of this build. */
static void check_told(const struct jr_host *host, const char *expected)
{
    static struct jr_session session;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, told = JR_BUF_INIT;
    session = (struct jr_session){.host = *host, .options.envp = none};
    jr_session_describe_machine(&text, &session);
    CU_ASSERT_FALSE_FATAL(text.failed);
    for (const char *at = text.data; *at != '\0';) {
        size_t len = strcspn(at, "\n") + 1;
        if (strncmp(at, "python   ", 9) != 0)
            jr_buf_add(&told, at, len);
        at += len;
    }
    JR_ASSERT_TEXT(told.data, expected);
}

TEST(tells_nothing_that_is_not_known)
{
    const struct jr_host host = {.port_low = 32768, .port_high = 60999};
    check_told(&host, "host     unknown\n"
                      "cpus     0 usable of 0 online (?), 0 cores; affinity and cpuset\n"
                      "ports    29500 and on; 32768 to 60999 are the kernel's\n"
                      "devices  none\n"
                      "launcher none: this machine alone\n"
                      "problems none\n");
}

TEST(tells_of_processors)
{
    static char *pairs[] = {(char *)"0,4", (char *)"1,5", NULL};
    static char *eight[] = {(char *)"0", (char *)"1", (char *)"2", (char *)"3", (char *)"4",
                            (char *)"5", (char *)"6", (char *)"7", NULL};
    static char *nine[] = {(char *)"0", (char *)"1", (char *)"2", (char *)"3", (char *)"4",
                           (char *)"5", (char *)"6", (char *)"7", (char *)"8", NULL};
    static char *all[] = {(char *)"0-8", NULL};
    struct jr_host_numa numa[] = {{0, "0-3"}, {2, "4-8"}};
    struct jr_host_cache caches[] = {{2, 1 << 19, {.items = pairs, .count = 2}},
                                     {2, (1 << 20) - 1024, {.items = eight, .count = 8}},
                                     {3, 3 << 19, {.items = nine, .count = 9}},
                                     {4, 1 << 20, {.items = all, .count = 1}}};
    struct jr_host host = {
        .hostname = "gpu01",
        .cpus = {.online = 16,
                 .usable = 9,
                 .usable_cores = 7,
                 .set = "0-8",
                 .quota = 20,
                 .quota_from = "/sys/fs/cgroup/a/cpu.max",
                 .numa = numa,
                 .numa_count = 2,
                 .caches = caches,
                 .caches_count = 4},
        .memory = 3 * GIB / 2,
        .port_low = 32768,
        .port_high = 60999,
    };
    check_told(&host, "host     gpu01\n"
                      "cpus     9 usable of 16 online (0-8), 7 cores; affinity and cpuset\n"
                      "numa     node 0: CPUs 0-3\n"
                      "numa     node 2: CPUs 4-8\n"
                      "cache    L2, 512 KiB each, of CPUs  0,4  1,5\n"
                      "cache    L2, 1023 KiB each, of CPUs  0  1  2  3  4  5  6  7\n"
                      "cache    L3, 1.5 MiB each, of CPUs  0  1  2  3  ... (9 of them)\n"
                      "cache    L4, 1 MiB, of CPUs  0-8\n"
                      "quota    20 CPUs, by /sys/fs/cgroup/a/cpu.max\n"
                      "memory   1.5 GiB usable\n"
                      "ports    29500 and on; 32768 to 60999 are the kernel's\n"
                      "devices  none\n"
                      "launcher none: this machine alone\n"
                      "problems none\n");
    host.cpus.numa_count = 1; /* then there is nothing to tell apart */
    host.cpus.caches_count = 0;
    check_told(&host, "host     gpu01\n"
                      "cpus     9 usable of 16 online (0-8), 7 cores; affinity and cpuset\n"
                      "quota    20 CPUs, by /sys/fs/cgroup/a/cpu.max\n"
                      "memory   1.5 GiB usable\n"
                      "ports    29500 and on; 32768 to 60999 are the kernel's\n"
                      "devices  none\n"
                      "launcher none: this machine alone\n"
                      "problems none\n");
}

#define CPUS                                                                                       \
    "host     unknown\n"                                                                           \
    "cpus     0 usable of 0 online (?), 0 cores; affinity and cpuset\n"                            \
    "ports    29500 and on; 32768 to 60999 are the kernel's\n"

TEST(tells_of_devices_and_variables)
{
    struct jr_host_device devices[] = {{.kind = JR_DEVICE_CUDA,
                                        .index = 3,
                                        .model = "NVIDIA H100",
                                        .bus = "0000:3b:00.0",
                                        .memory = 80 * GIB,
                                        .numa_node = 0,
                                        .visible = true},
                                       {.kind = JR_DEVICE_CUDA, .index = 0, .numa_node = -1}};
    const struct jr_host host = {
        .devices = devices,
        .devices_count = 2,
        .environment = {.backend = "gl\noo",
                        .omp_num_threads = "4",
                        .visible = {[JR_DEVICE_CUDA] = "3", [JR_DEVICE_MLU] = ""}},
        .port_low = 32768,
        .port_high = 60999,
    };
    check_told(&host, CPUS "device   cuda 3  NVIDIA H100, 80 GiB  0000:3b:00.0, NUMA node 0\n"
                           "device   cuda 0  model unknown  hidden by the environment\n"
                           "env      TORCH_DISTRIBUTED_BACKEND=gl\\x0aoo\n"
                           "env      OMP_NUM_THREADS=4\n"
                           "env      CUDA_VISIBLE_DEVICES=3\n"
                           "env      MLU_VISIBLE_DEVICES=\n"
                           "launcher none: this machine alone\n"
                           "problems none\n");
}

static void check_launcher(const struct jr_host_scheduler *scheduler, const char *line)
{
    struct jr_host_variable variables[] = {
        {.name = "SLURM_NNODES", .value = "2", .meaning = "nodes"},
        {.name = "SLURM_JOB_ID", .value = "7\a", .meaning = "the job", .trap = "of the outer one"}};
    const struct jr_host host = {.scheduler = *scheduler,
                                 .variables = variables,
                                 .variables_count = 2,
                                 .port_low = 32768,
                                 .port_high = 60999};
    char expected[1024];
    (void)snprintf(expected, sizeof expected, "%sdevices  none\n%s\n%s%s", CPUS, line,
                   "         SLURM_NNODES=2       nodes\n"
                   "         SLURM_JOB_ID=7\\x07   the job (of the outer one)\n",
                   scheduler->problem == NULL ? "problems none\n" : "problem  odd\n         ask\n");
    check_told(&host, expected);
}

TEST(tells_of_the_launcher)
{
    static const struct {
        struct jr_host_scheduler scheduler;
        const char *line;
    } rows[] = {{{.name = "Slurm", .job_id = "7\n", .step = true, .nodes = 2, .node_rank = 1},
                 "launcher Slurm, job 7\\x0a, 2 nodes, this is node 1"},
                {{.name = "Slurm", .step = true, .nodes = 1, .node_rank = 0},
                 "launcher Slurm, 1 node, this is node 0"},
                {{.name = "Flux", .step = true, .node_rank = -1}, "launcher Flux"},
                {{.name = "LSF", .nodes = 2, .node_rank = 0},
                 "launcher LSF, 2 nodes, and this is the allocation's own shell or script"},
                {{.name = "LSF", .step = true, .node_rank = -1, .problem = "odd", .help = "ask"},
                 "launcher LSF"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_launcher(&rows[i].scheduler, rows[i].line);
}
