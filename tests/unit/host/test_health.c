/* What is wrong with machines that are made here, a file or two each. */
#include "unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/strv.h"
#include "host/health.h"

#define LIMITS(locked, files)                                                                      \
    "Limit                     Soft Limit           Hard Limit           "                         \
    "Units     \n"                                                                                 \
    "Max open files            1024                 " files "               files     \n"          \
    "Max locked memory         " locked "              unlimited            "                      \
    "bytes     \n"
#define SHM(options)                                                                               \
    "23 1 0:21 / / rw - ext4 /dev/sda rw\n"                                                        \
    "30 23 0:25 / /dev/shm rw,nosuid - tmpfs shm rw," options "\n"

struct vector {
    const char *limits, *mounts, *fabric, *variable;
    struct jr_host hw;
    const char *expected; /* parts of the messages, in order */
};

static const struct jr_host_device two[] = {
    {.kind = JR_DEVICE_CUDA, .visible = true},
    {.kind = JR_DEVICE_ROCM, .visible = true},
};
static const struct jr_host_problem broken[] = {{JR_DEVICE_CUDA, "no GPU", "see dmesg"}};

#define PORTS .port_low = 32768, .port_high = 60999

static const struct vector vectors[] = {
    {LIMITS("unlimited", "4095"), SHM("size=1g"), NULL, NULL, {PORTS}, "open at most 4095 files"},
    {LIMITS("65536", "4096"),
     SHM("size=1g"),
     "mlx5_0",
     NULL,
     {PORTS},
     "InfiniBand (mlx5_0)|64 KiB"},
    {NULL, SHM("size=65536k"), NULL, NULL, {PORTS}, "0.06 GiB"},
    {NULL, SHM("size=1048575k,mode=777"), NULL, NULL, {PORTS}, "GiB"},
    {NULL, "23 1 0:21 / / rw - ext4 /dev/sda rw\n", NULL, NULL, {PORTS}, "not mounted"},
    {NULL, NULL, NULL, "RANK=3", {PORTS}, "by no launcher|RANK"},
    {NULL, NULL, NULL, "WORLD_SIZE=", {PORTS}, "WORLD_SIZE"},
    {NULL, NULL, NULL, NULL, {.port_low = 1024, .port_high = 65535}, "from 1024 on"},
    {NULL,
     NULL,
     NULL,
     NULL,
     {PORTS, .cpus = {.usable = 8, .quota = 2.5, .quota_from = "cpu.max"}},
     "8 CPUs|only 2.5|cpu.max"},
    {NULL,
     NULL,
     NULL,
     NULL,
     {PORTS, .devices = (struct jr_host_device *)two, .devices_count = 2},
     "more than one vendor"},
    {NULL,
     NULL,
     NULL,
     NULL,
     {PORTS, .problems = (struct jr_host_problem *)broken, .problems_count = 1},
     "no GPU"},
    {NULL,
     NULL,
     NULL,
     NULL,
     {PORTS, .scheduler = {.name = "Slurm", .problem = "torn list"}},
     "torn list"},
    {NULL,
     NULL,
     NULL,
     "RANK=3",
     {PORTS, .scheduler = {.name = "srun", .step = true, .tasks_here = 4}},
     "more than one process"},
    /* nothing is wrong */
    {LIMITS("unlimited", "1048576"), SHM("inode64"), "mlx5_0", NULL, {PORTS}, ""},
    {LIMITS("65536", "4096"),
     SHM("size=8g"),
     NULL,
     NULL,
     {PORTS, .cpus = {.usable = 8, .quota = 8}},
     ""},
    {NULL, NULL, NULL, "JOBRUN_RANK_DIR=/r", {PORTS}, ""},
    {NULL,
     NULL,
     NULL,
     NULL,
     {PORTS, .devices = (struct jr_host_device *)two, .devices_count = 1},
     ""},
};

static char root[] = "/tmp/jr_health_XXXXXX";

static const char *const folders[] = {"/proc", "/proc/self", "/sys", "/sys/class",
                                      "/sys/class/infiniband"};

static void put(const char *name, const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s%s", root, name);
    (void)unlink(path);
    FILE *file = text == NULL ? NULL : fopen(path, "w");
    if (text == NULL)
        return;
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_TRUE(fputs(text, file) >= 0);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

/* Whether the parts stand in the findings, one after the other. */
static bool has_parts(const char *text, const char *parts)
{
    char copy[128];
    (void)snprintf(copy, sizeof copy, "%s", parts);
    char *rest = copy;
    for (char *part; text != NULL && (part = strsep(&rest, "|")) != NULL;)
        text = strstr(text, part);
    return text != NULL;
}

static void check(const struct vector *vector)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_host_finding *findings;
    char *envp[] = {jr_arena_strdup(&arena, vector->variable), NULL};
    put("/proc/self/limits", vector->limits);
    put("/proc/self/mountinfo", vector->mounts);
    put("/sys/class/infiniband/mlx5_0", vector->fabric);
    uint32_t count = jr_host_examine(&findings, &arena, &vector->hw, root, envp);
    for (uint32_t i = 0; i < count; i++)
        jr_buf_printf(&text, "%s\n", findings[i].message);
    const char *got = text.len == 0 ? "" : text.data;
    bool right = has_parts(got, vector->expected) && count == (vector->expected[0] != '\0');
    if (!right)
        printf("\n    got %s    expected %s\n", got, vector->expected);
    CU_ASSERT_TRUE(right);
}

TEST(what_is_wrong_is_told_and_nothing_else)
{
    char path[128];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(root));
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        (void)snprintf(path, sizeof path, "%s%s", root, folders[i]);
        CU_ASSERT_EQUAL_FATAL(mkdir(path, 0700), 0);
    }
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        check(&vectors[i]);
    put("/proc/self/limits", NULL);
    put("/proc/self/mountinfo", NULL);
    put("/sys/class/infiniband/mlx5_0", NULL);
    for (size_t i = sizeof folders / sizeof folders[0]; i > 0; i--) {
        (void)snprintf(path, sizeof path, "%s%s", root, folders[i - 1]);
        CU_ASSERT_EQUAL(rmdir(path), 0);
    }
    CU_ASSERT_EQUAL(rmdir(root), 0);
}

TEST(facts_alone_are_examined_without_files)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_host_finding *findings;
    char rank[] = "RANK=1";
    char *envp[] = {rank, NULL};
    const struct jr_host hw = {.port_low = 32768};
    CU_ASSERT_EQUAL(jr_host_examine(&findings, &arena, &hw, NULL, envp), 0);
}
