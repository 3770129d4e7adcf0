/* What control groups leave of a machine's memory and CPUs: each case is a folder with the files
 * that the kernel would show. */
#include "host/host.h"
#include "scratch.h"

#define GIB   (UINT64_C(1) << 30)
#define TREE  "sys/fs/cgroup/"
#define TOTAL "proc/meminfo MemTotal:       8388608 kB\nMemFree: 1 kB|"
#define V1(what)                                                                                   \
    "proc/self/cgroup 3:" what ":/a|proc/self/mountinfo 32 31 0:29 / /sys/fs/cgroup/" what         \
    " rw - cgroup cgroup rw," what "|"
#define V2                                                                                         \
    "proc/self/cgroup 0::/a/b|proc/self/mountinfo 41 31 0:38 / /sys/fs/cgroup rw - cgroup2 "       \
    "cgroup2 rw|"

/* The facts of a machine with these files. */
static struct jr_host probe(struct jr_arena *arena, const char *files)
{
    static char *no_env[] = {NULL};
    struct jr_host hw;
    SCRATCH(scratch);
    scratch_tree(&scratch, files);
    CU_ASSERT_EQUAL_FATAL(jr_host_probe(&hw, arena, scratch.dir, no_env, NULL), 0);
    return hw;
}

TEST(memory_is_the_least_of_all_groups)
{
    static const struct {
        const char *files;
        uint64_t memory;
    } rows[] = {
        {"proc/meminfo MemFree: 1 kB", 0},
        {"proc/meminfo MemTotal: x kB", 0},
        {"proc/meminfo MemTotal: 4503599627370496 kB", 0},
        {"proc/meminfo MemTotal: 4503599627370495 kB", (UINT64_C(1) << 62) - 1024},
        {TOTAL, 8 * GIB},
        {TOTAL V2 TREE "a/b/memory.max max", 8 * GIB},
        {TOTAL V2 TREE "a/b/memory.max 1073741824", GIB},
        {TOTAL V2 TREE "a/b/memory.max max|" TREE "a/memory.max 2147483648", 2 * GIB},
        {TOTAL V2 TREE "a/b/memory.max 3221225472|" TREE "a/memory.max 2147483648", 2 * GIB},
        {TOTAL V2 TREE "a/b/memory.max 2147483648|" TREE "a/b/memory.high 1073741824", GIB},
        {TOTAL V2 TREE "a/b/memory.max 99999999999", 8 * GIB},
        /* a limit is known where the machine's own memory is not */
        {V2 TREE "a/memory.max 2147483648", 2 * GIB},
        {TOTAL V1("memory") TREE "memory/a/memory.limit_in_bytes 4294967296", 4 * GIB},
        {TOTAL V1("memory") TREE "memory/a/memory.limit_in_bytes 9223372036854771712", 8 * GIB},
        /* files of the other version say nothing */
        {TOTAL V1("memory") TREE "memory/a/memory.max 1", 8 * GIB},
        {TOTAL V2 TREE "a/b/memory.limit_in_bytes 1", 8 * GIB},
    };
    JR_EACH(row, rows) {
        struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
        CU_ASSERT_EQUAL(probe(&arena, row->files).memory, row->memory);
    }
}

TEST(the_tightest_quota_counts)
{
    static const struct {
        const char *files;
        double quota;
        const char *from; /* below /sys/fs/cgroup/; NULL: there is none */
    } rows[] = {
        {V2 TREE "a/b/cpu.max max 100000", 0, NULL},
        {V2 TREE "a/b/cpu.max 200000", 0, NULL},
        {V2 TREE "a/b/cpu.max 200000 0", 0, NULL},
        {V2 TREE "a/b/cpu.max 0 100000", 0, NULL},
        {V2 TREE "a/b/cpu.max 250000 100000", 2.5, "a/b/cpu.max"},
        {V2 TREE "a/b/cpu.max 400000 100000|" TREE "a/cpu.max 50000 100000", 0.5, "a/cpu.max"},
        {V2 TREE "a/b/cpu.max 100000 100000|" TREE "a/cpu.max 200000 100000", 1, "a/b/cpu.max"},
        /* of two that are equal the nearest is told */
        {V2 TREE "a/b/cpu.max 100000 100000|" TREE "a/cpu.max 10000 10000", 1, "a/b/cpu.max"},
        {V1("cpu") TREE "cpu/a/cpu.cfs_quota_us 150000|" TREE "cpu/a/cpu.cfs_period_us 100000", 1.5,
         "cpu/a/cpu.cfs_quota_us"},
        {V1("cpu") TREE "cpu/a/cpu.cfs_quota_us -1|" TREE "cpu/a/cpu.cfs_period_us 100000", 0,
         NULL},
        {V1("cpu") TREE "cpu/a/cpu.cfs_quota_us 150000", 0, NULL},
    };
    JR_EACH(row, rows) {
        struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
        const struct jr_host_cpus cpus = probe(&arena, row->files).cpus;
        CU_ASSERT_DOUBLE_EQUAL(cpus.quota, row->quota, 1e-9);
        CU_ASSERT_EQUAL(cpus.quota_from == NULL, row->from == NULL);
        if (row->from != NULL && cpus.quota_from != NULL)
            JR_ASSERT_TEXT(cpus.quota_from + strlen("/sys/fs/cgroup/"), row->from);
    }
}

#define ONLINE          "sys/devices/system/cpu/online "
#define CORE(cpu, list) "|sys/devices/system/cpu/cpu" cpu "/topology/core_cpus_list " list

/* Of all masks; threads of a core count once. */
TEST(usable_cpus_are_counted)
{
    static const struct {
        const char *files;
        uint32_t online, usable, cores;
        const char *cpus; /* NULL: not known */
    } rows[] = {
        {ONLINE "", 0, 0, 0, NULL},
        {ONLINE "0-3", 4, 4, 4, "0-3"},
        {"affinity 1,3", 2, 2, 2, "1,3"},
        {ONLINE "0-7|affinity 2-5,9", 8, 4, 4, "2-5"},
        {ONLINE "0-3|affinity 4-5", 4, 0, 0, NULL},
        {V2 ONLINE "0-7|affinity 0-5|" TREE "a/b/cpuset.cpus.effective 4-7", 8, 2, 2, "4-5"},
        /* the nearest group that says so */
        {V2 ONLINE "0-7|" TREE "a/b/cpuset.cpus.effective |" TREE "a/cpuset.cpus.effective 0-1", 8,
         2, 2, "0-1"},
        {V2 ONLINE "0-3|" TREE "a/b/cpuset.cpus.effective 0|" TREE "a/b/cpuset.cpus 1", 4, 1, 1,
         "0"},
        {V2 ONLINE "0-3|" TREE "a/b/cpuset.cpus 1-2", 4, 2, 2, "1-2"},
        {V1("cpuset") ONLINE "0-3|" TREE "cpuset/a/cpuset.effective_cpus 3", 4, 1, 1, "3"},
        {ONLINE "0-3" CORE("0", "0,2") CORE("1", "1,3"), 4, 4, 2, "0-3"},
        {ONLINE "0-3|affinity 0-2" CORE("0", "0-1") CORE("2", "2-3"), 4, 3, 2, "0-2"},
        /* only the second thread of a core may be used */
        {ONLINE "0-3|affinity 2-3" CORE("2", "0,2") CORE("3", "1,3"), 4, 2, 2, "2-3"},
        /* a list without its own CPU is not believed */
        {ONLINE "0-1" CORE("0", "1") CORE("1", "1"), 2, 2, 2, "0-1"},
        {ONLINE "0-1|sys/devices/system/cpu/cpu0/topology/thread_siblings_list 0-1", 2, 2, 1,
         "0-1"},
    };
    JR_EACH(row, rows) {
        struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
        const struct jr_host_cpus cpus = probe(&arena, row->files).cpus;
        CU_ASSERT_EQUAL(cpus.online, row->online);
        CU_ASSERT_EQUAL(cpus.usable, row->usable);
        CU_ASSERT_EQUAL(cpus.usable_cores, row->cores);
        JR_ASSERT_TEXT(cpus.set == NULL ? "unknown" : cpus.set,
                       row->cpus == NULL ? "unknown" : row->cpus);
    }
}
