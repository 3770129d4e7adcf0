/* What is wrong with machines that are made here, a file or two each. */
#include "scratch.h"

#include "base/buf.h"
#include "base/strv.h"
#include "host/host.h"

#define LIMITS(locked, files)                                                                      \
    "proc/self/limits "                                                                            \
    "Limit                     Soft Limit           Hard Limit           Units     \n"             \
    "Max open files            1024                 " files "               files     \n"          \
    "Max locked memory         " locked "              unlimited            bytes     |"
#define MOUNTS       "proc/self/mountinfo 23 1 0:21 / / rw - ext4 /dev/sda rw\n"
#define SHM(options) MOUNTS "30 23 0:25 / /dev/shm rw,nosuid - tmpfs shm rw," options

static struct jr_host_device two[] = {
    {.kind = JR_DEVICE_CUDA, .visible = true},
    {.kind = JR_DEVICE_ROCM, .visible = true},
};
static struct jr_host_problem broken[] = {{JR_DEVICE_CUDA, "no GPU", "see dmesg"}};

#define FABRIC    "|sys/class/infiniband/mlx5_0 "
#define PORTS     .port_low = 32768, .port_high = 60999
#define HOST(...) BRACED(PORTS, __VA_ARGS__)

/* Files, a variable, parts of the messages in order, and the facts. */
static const struct {
    const char *files, *variable, *expected;
    struct jr_host hw;
} vectors[] = {
    {LIMITS("unlimited", "4095") SHM("size=1g"), NULL, "open at most 4095 files", {PORTS}},
    {LIMITS("65536", "4096") SHM("size=1g") FABRIC, NULL, "InfiniBand (mlx5_0)|64 KiB", {PORTS}},
    {SHM("size=65536k"), NULL, "0.06 GiB", {PORTS}},
    {SHM("size=1048575k,mode=777"), NULL, "GiB", {PORTS}},
    {MOUNTS, NULL, "not mounted", {PORTS}},
    {"", "RANK=3", "by no launcher|RANK", {PORTS}},
    {"", "WORLD_SIZE=", "WORLD_SIZE", {PORTS}},
    {"", NULL, "from 1024 on", {.port_low = 1024, .port_high = 65535}},
    {"", NULL, "8 CPUs|only 2.5|cpu.max",
     HOST(.cpus = {.usable = 8, .quota = 2.5, .quota_from = "cpu.max"})},
    {"", NULL, "more than one vendor", HOST(.devices = two, .devices_count = 2)},
    {"", NULL, "no GPU", HOST(.problems = broken, .problems_count = 1)},
    {"", NULL, "torn list", HOST(.scheduler = {.name = "Slurm", .problem = "torn list"})},
    {"", "RANK=3", "more than one process",
     HOST(.scheduler = {.name = "srun", .step = true, .tasks_here = 4})},
    /* nothing is wrong */
    {LIMITS("unlimited", "1048576") SHM("inode64") FABRIC, NULL, "", {PORTS}},
    {LIMITS("65536", "4096") SHM("size=8g"), NULL, "", HOST(.cpus = {.usable = 8, .quota = 8})},
    {"", "JOBRUN_RANK_DIR=/r", "", {PORTS}},
    {"", NULL, "", HOST(.devices = two, .devices_count = 1)},
};

TEST(what_is_wrong_is_told_and_nothing_else)
{
    JR_EACH(row, vectors) {
        struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
        JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
        struct jr_host_finding *findings;
        char *envp[] = {jr_arena_strdup(&arena, row->variable), NULL};
        SCRATCH(scratch);
        scratch_tree(&scratch, row->files);
        uint32_t count = jr_host_examine(&findings, &arena, &row->hw, scratch.dir, envp);
        for (uint32_t i = 0; i < count; i++)
            jr_buf_printf(&text, "%s\n", findings[i].message);
        const char *at = text.len == 0 ? "" : text.data;
        CU_ASSERT_EQUAL(count, row->expected[0] != '\0');
        EACH_PART(part, row->expected)
            at = at == NULL ? NULL : strstr(at, part);
        if (at == NULL)
            JR_ASSERT_TEXT(text.data, row->expected);
    }
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
