/* What control groups leave of a machine's memory and CPUs: each case is a folder with the files
 * that the kernel would show. */
#include "host/host.h"
#include "scratch.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define V1(what)      "32 31 0:29 / /sys/fs/cgroup/" what " rw - cgroup cgroup rw," what "\n"
#define V2            "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
#define TREE          "sys/fs/cgroup/"
#define GIB           (UINT64_C(1) << 30)
#define TOTAL         "MemTotal:       8388608 kB\nMemFree: 1 kB\n"

enum { MOST_FILES = 6 };

/* Files below the root, by path and text. */
struct file {
    const char *path, *text;
};

struct machine {
    struct file files[MOST_FILES];
    uint64_t memory;
    double quota;
    const char *quota_from;
    uint32_t online, usable, cores;
    const char *cpus;
};

static void write_file(const struct scratch *scratch, const struct file *file)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s", file->path);
    for (char *at = path; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        (void)mkdirat(scratch->fd, path, 0700);
        *at = '/';
    }
    scratch_write(scratch, file->path, file->text);
}

static void check_machine(const struct machine *machine)
{
    static char *no_env[] = {NULL};
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_host hw;
    SCRATCH(scratch);
    for (size_t i = 0; i < MOST_FILES && machine->files[i].path != NULL; i++)
        write_file(&scratch, &machine->files[i]);
    CU_ASSERT_EQUAL_FATAL(jr_host_probe(&hw, &arena, scratch.dir, no_env, NULL), 0);
    CU_ASSERT_EQUAL(hw.memory, machine->memory);
    CU_ASSERT_DOUBLE_EQUAL(hw.cpus.quota, machine->quota, 1e-9);
    if (machine->quota_from == NULL)
        CU_ASSERT_PTR_NULL(hw.cpus.quota_from)
    else
        JR_ASSERT_TEXT(hw.cpus.quota_from, machine->quota_from);
    CU_ASSERT_EQUAL(hw.cpus.online, machine->online);
    CU_ASSERT_EQUAL(hw.cpus.usable, machine->usable);
    CU_ASSERT_EQUAL(hw.cpus.usable_cores, machine->cores);
    if (machine->cpus == NULL)
        CU_ASSERT_PTR_NULL(hw.cpus.set)
    else
        JR_ASSERT_TEXT(hw.cpus.set, machine->cpus);
}

#define CHECK_MACHINES(rows)                                                                       \
    for (size_t row_ = 0; row_ < LENGTH(rows); row_++)                                             \
    check_machine(&(rows)[row_])

#define GROUP2                                                                                     \
    {"proc/self/cgroup", "0::/a/b\n"},                                                             \
    {                                                                                              \
        "proc/self/mountinfo", V2                                                                  \
    }

TEST(memory_is_the_least_of_all_groups)
{
    static const struct machine rows[] = {
        {.files = {{"proc/meminfo", "MemFree: 1 kB\n"}}, .memory = 0},
        {.files = {{"proc/meminfo", "MemTotal: x kB\n"}}, .memory = 0},
        {.files = {{"proc/meminfo", "MemTotal: 4503599627370496 kB\n"}}, .memory = 0},
        {.files = {{"proc/meminfo", "MemTotal: 4503599627370495 kB\n"}},
         .memory = (UINT64_C(1) << 62) - 1024},
        {.files = {{"proc/meminfo", TOTAL}}, .memory = 8 * GIB},
        {.files = {{"proc/meminfo", TOTAL}, GROUP2, {TREE "a/b/memory.max", "max\n"}},
         .memory = 8 * GIB},
        {.files = {{"proc/meminfo", TOTAL}, GROUP2, {TREE "a/b/memory.max", "1073741824\n"}},
         .memory = GIB},
        {.files = {{"proc/meminfo", TOTAL},
                   GROUP2,
                   {TREE "a/b/memory.max", "max\n"},
                   {TREE "a/memory.max", "2147483648\n"}},
         .memory = 2 * GIB},
        {.files = {{"proc/meminfo", TOTAL},
                   GROUP2,
                   {TREE "a/b/memory.max", "3221225472\n"},
                   {TREE "a/memory.max", "2147483648\n"}},
         .memory = 2 * GIB},
        {.files = {{"proc/meminfo", TOTAL},
                   GROUP2,
                   {TREE "a/b/memory.max", "2147483648\n"},
                   {TREE "a/b/memory.high", "1073741824\n"}},
         .memory = GIB},
        {.files = {{"proc/meminfo", TOTAL}, GROUP2, {TREE "a/b/memory.max", "99999999999\n"}},
         .memory = 8 * GIB},
        /* a limit is known where the machine's own memory is not */
        {.files = {GROUP2, {TREE "a/memory.max", "2147483648\n"}}, .memory = 2 * GIB},
        {.files = {{"proc/meminfo", TOTAL},
                   {"proc/self/cgroup", "3:memory:/a\n"},
                   {"proc/self/mountinfo", V1("memory")},
                   {TREE "memory/a/memory.limit_in_bytes", "4294967296\n"}},
         .memory = 4 * GIB},
        {.files = {{"proc/meminfo", TOTAL},
                   {"proc/self/cgroup", "3:memory:/a\n"},
                   {"proc/self/mountinfo", V1("memory")},
                   {TREE "memory/a/memory.limit_in_bytes", "9223372036854771712\n"}},
         .memory = 8 * GIB},
        /* files of the other version say nothing */
        {.files = {{"proc/meminfo", TOTAL},
                   {"proc/self/cgroup", "3:memory:/a\n"},
                   {"proc/self/mountinfo", V1("memory")},
                   {TREE "memory/a/memory.max", "1\n"}},
         .memory = 8 * GIB},
        {.files = {{"proc/meminfo", TOTAL}, GROUP2, {TREE "a/b/memory.limit_in_bytes", "1\n"}},
         .memory = 8 * GIB},
    };
    CHECK_MACHINES(rows);
}

TEST(the_tightest_quota_counts)
{
    static const struct machine rows[] = {
        {.files = {GROUP2, {TREE "a/b/cpu.max", "max 100000\n"}}},
        {.files = {GROUP2, {TREE "a/b/cpu.max", "200000\n"}}},
        {.files = {GROUP2, {TREE "a/b/cpu.max", "200000 0\n"}}},
        {.files = {GROUP2, {TREE "a/b/cpu.max", "0 100000\n"}}},
        {.files = {GROUP2, {TREE "a/b/cpu.max", "250000 100000\n"}},
         .quota = 2.5,
         .quota_from = "/sys/fs/cgroup/a/b/cpu.max"},
        {.files = {GROUP2,
                   {TREE "a/b/cpu.max", "400000 100000\n"},
                   {TREE "a/cpu.max", "50000 100000\n"}},
         .quota = 0.5,
         .quota_from = "/sys/fs/cgroup/a/cpu.max"},
        {.files = {GROUP2,
                   {TREE "a/b/cpu.max", "100000 100000\n"},
                   {TREE "a/cpu.max", "200000 100000\n"}},
         .quota = 1,
         .quota_from = "/sys/fs/cgroup/a/b/cpu.max"},
        /* of two that are equal the nearest is told */
        {.files = {GROUP2,
                   {TREE "a/b/cpu.max", "100000 100000\n"},
                   {TREE "a/cpu.max", "10000 10000\n"}},
         .quota = 1,
         .quota_from = "/sys/fs/cgroup/a/b/cpu.max"},
        {.files = {{"proc/self/cgroup", "3:cpu:/a\n"},
                   {"proc/self/mountinfo", V1("cpu")},
                   {TREE "cpu/a/cpu.cfs_quota_us", "150000\n"},
                   {TREE "cpu/a/cpu.cfs_period_us", "100000\n"}},
         .quota = 1.5,
         .quota_from = "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us"},
        {.files = {{"proc/self/cgroup", "3:cpu:/a\n"},
                   {"proc/self/mountinfo", V1("cpu")},
                   {TREE "cpu/a/cpu.cfs_quota_us", "-1\n"},
                   {TREE "cpu/a/cpu.cfs_period_us", "100000\n"}}},
        {.files = {{"proc/self/cgroup", "3:cpu:/a\n"},
                   {"proc/self/mountinfo", V1("cpu")},
                   {TREE "cpu/a/cpu.cfs_quota_us", "150000\n"}}},
    };
    CHECK_MACHINES(rows);
}

#define ONLINE(list)                                                                               \
    {                                                                                              \
        "sys/devices/system/cpu/online", list "\n"                                                 \
    }
#define AFFINITY(list)                                                                             \
    {                                                                                              \
        "affinity", list "\n"                                                                      \
    }
#define CORE(cpu, list)                                                                            \
    {                                                                                              \
        "sys/devices/system/cpu/cpu" cpu "/topology/core_cpus_list", list "\n"                     \
    }

TEST(usable_cpus_are_those_of_all_masks)
{
    static const struct machine rows[] = {
        {.files = {ONLINE("")}},
        {.files = {ONLINE("0-3")}, .online = 4, .usable = 4, .cores = 4, .cpus = "0-3"},
        {.files = {AFFINITY("1,3")}, .online = 2, .usable = 2, .cores = 2, .cpus = "1,3"},
        {.files = {ONLINE("0-7"), AFFINITY("2-5,9")},
         .online = 8,
         .usable = 4,
         .cores = 4,
         .cpus = "2-5"},
        {.files = {ONLINE("0-3"), AFFINITY("4-5")}, .online = 4},
        {.files =
             {ONLINE("0-7"), AFFINITY("0-5"), GROUP2, {TREE "a/b/cpuset.cpus.effective", "4-7\n"}},
         .online = 8,
         .usable = 2,
         .cores = 2,
         .cpus = "4-5"},
        /* the nearest group that says so */
        {.files = {ONLINE("0-7"),
                   GROUP2,
                   {TREE "a/b/cpuset.cpus.effective", "\n"},
                   {TREE "a/cpuset.cpus.effective", "0-1\n"}},
         .online = 8,
         .usable = 2,
         .cores = 2,
         .cpus = "0-1"},
        {.files = {ONLINE("0-3"),
                   GROUP2,
                   {TREE "a/b/cpuset.cpus.effective", "0\n"},
                   {TREE "a/b/cpuset.cpus", "1\n"}},
         .online = 4,
         .usable = 1,
         .cores = 1,
         .cpus = "0"},
        {.files = {ONLINE("0-3"), GROUP2, {TREE "a/b/cpuset.cpus", "1-2\n"}},
         .online = 4,
         .usable = 2,
         .cores = 2,
         .cpus = "1-2"},
        {.files = {ONLINE("0-3"),
                   {"proc/self/cgroup", "3:cpuset:/a\n"},
                   {"proc/self/mountinfo", V1("cpuset")},
                   {TREE "cpuset/a/cpuset.effective_cpus", "3\n"}},
         .online = 4,
         .usable = 1,
         .cores = 1,
         .cpus = "3"},
    };
    CHECK_MACHINES(rows);
}

TEST(threads_of_a_core_count_once)
{
    static const struct machine rows[] = {
        {.files = {ONLINE("0-3"), CORE("0", "0,2"), CORE("1", "1,3")},
         .online = 4,
         .usable = 4,
         .cores = 2,
         .cpus = "0-3"},
        {.files = {ONLINE("0-3"), AFFINITY("0-2"), CORE("0", "0-1"), CORE("2", "2-3")},
         .online = 4,
         .usable = 3,
         .cores = 2,
         .cpus = "0-2"},
        /* only the second thread of a core may be used */
        {.files = {ONLINE("0-3"), AFFINITY("2-3"), CORE("2", "0,2"), CORE("3", "1,3")},
         .online = 4,
         .usable = 2,
         .cores = 2,
         .cpus = "2-3"},
        /* a list without its own CPU is not believed */
        {.files = {ONLINE("0-1"), CORE("0", "1"), CORE("1", "1")},
         .online = 2,
         .usable = 2,
         .cores = 2,
         .cpus = "0-1"},
        {.files = {ONLINE("0-1"),
                   {"sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1\n"}},
         .online = 2,
         .usable = 2,
         .cores = 1,
         .cpus = "0-1"},
    };
    CHECK_MACHINES(rows);
}
