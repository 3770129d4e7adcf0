/*
 * CPUs, cores and NUMA nodes by sysfs, affinity and control groups, and by no library: every run
 * needs the number of cores (for `threads`), and hwloc 2.9 takes 5 ms and more to load a topology
 * of 2 CPUs, filters or not, which is more than all of a small run; it knows no quota, and finds a
 * recorded machine by an environment variable only. What it would spare is the 80 lines from
 * read_siblings to read_numa. tests/interop/test_topology.py holds them to it. Declared
 * in internal.h.
 */
#include "host/internal.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "base/num.h"
#include "base/proc.h"
#include "base/rank_set.h"
#include "host/accel/accel.h"

#include "base/banned.h"

/* From the leaf up to the mount point. */
static void list_folders(struct jr_cgroup *ret, struct jr_arena *arena, const char *point,
                         const char *leaf)
{
    size_t top = strlen(point);
    char *folder = jr_arena_printf(arena, "%s%s", point, leaf);
    while (folder != NULL) {
        jr_strv_push(&ret->folders, arena, folder);
        size_t len = strlen(folder);
        while (len > top && folder[len - 1] != '/')
            len--;
        folder = len > top ? jr_arena_strndup(arena, folder, len - 1) : NULL;
    }
}

struct jr_cgroup jr_cgroup_find(struct jr_host_reader *probe, const char *controller)
{
    struct jr_arena *scratch = &probe->scratch;
    if (probe->groups == NULL)
        probe->groups = jr_host_reader_text(probe, "/proc/self/cgroup");
    if (probe->mounts == NULL)
        probe->mounts = jr_host_reader_text(probe, "/proc/self/mountinfo");
    struct jr_cgroup_hierarchy place =
        jr_cgroup_hierarchy_find(jr_arena_strdup(scratch, probe->groups),
                                 jr_arena_strdup(scratch, probe->mounts), controller);
    struct jr_cgroup found = {.v2 = place.v2};
    if (place.point != NULL)
        list_folders(&found, scratch, place.point, place.leaf);
    return found;
}

/* Version 1 says "no limit" by the largest multiple of the page size that fits 63 bits; version 2
 * by a word. Nothing real comes near. */
#define NO_LIMIT (UINT64_C(1) << 62)

static uint64_t limited_bytes(struct jr_host_reader *probe, uint64_t bytes, const char *folder,
                              const char *file)
{
    const char *text = jr_host_reader_text(probe, "%s/%s", folder, file);
    uint64_t limit;
    bool less = text != NULL && jr_num_u64(text, &limit) && limit < bytes;
    return less ? limit : bytes;
}

/* The machine's memory, or less where a group on the way up says so. What is free at the moment is
 * no fact of the machine and is not asked. */
void jr_host_reader_memory(struct jr_host_reader *probe)
{
    struct jr_cgroup group = jr_cgroup_find(probe, "memory");
    const char *text = jr_host_reader_text(probe, "/proc/meminfo");
    char *value = jr_host_reader_field(probe, text, "MemTotal");
    const char *number = strsep(&value, " ");
    uint64_t kib, bytes = NO_LIMIT;
    if (number != NULL && jr_num_u64(number, &kib) && kib < NO_LIMIT >> 10)
        bytes = kib << 10;
    for (size_t i = 0; i < group.folders.count; i++) {
        const char *folder = group.folders.items[i];
        if (group.v2) {
            bytes = limited_bytes(probe, bytes, folder, "memory.max");
            bytes = limited_bytes(probe, bytes, folder, "memory.high");
        } else {
            bytes = limited_bytes(probe, bytes, folder, "memory.limit_in_bytes");
        }
    }
    probe->hw->memory = bytes == NO_LIMIT ? 0 : bytes;
}

/* CPU numbers, ascending. */
struct cpus {
    uint32_t *numbers;
    size_t count;
};

/* A kernel list, "0-3,8". False when it names no CPU. */
static bool read_cpu_list(struct jr_host_reader *probe, struct jr_set *ret, const char *text)
{
    const char *bad;
    uint32_t max;
    struct jr_set set;
    if (text == NULL || !jr_set_parse(&set, &probe->scratch, text, &bad) ||
        !jr_set_max(&set, &max) || max >= JR_HOST_CPUS_MAX)
        return false;
    *ret = set;
    return true;
}

/* The members of a mask as a set. */
static bool mask_to_set(struct jr_host_reader *probe, struct jr_set *ret, const cpu_set_t *mask,
                        uint32_t room)
{
    size_t size = CPU_ALLOC_SIZE(room);
    size_t count = (size_t)CPU_COUNT_S(size, mask), found = 0;
    uint32_t *numbers = jr_arena_array(&probe->scratch, count, sizeof *numbers);
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (numbers == NULL)
        return false;
    for (uint32_t cpu = 0; found < count; cpu++)
        if (CPU_ISSET_S(cpu, size, mask))
            numbers[found++] = cpu;
    jr_set_print(&text, numbers, count);
    return read_cpu_list(probe, ret, text.data);
}

/* sched_getaffinity(2) refuses a mask smaller than the kernel's own with EINVAL, so it grows until
 * it fits. */
static bool own_affinity(struct jr_host_reader *probe, struct jr_set *ret)
{
    for (uint32_t room = CPU_SETSIZE; room <= JR_HOST_CPUS_MAX; room *= 2) {
        cpu_set_t *mask = CPU_ALLOC(room);
        if (mask == NULL)
            return false;
        int got = sched_getaffinity(0, CPU_ALLOC_SIZE(room), mask);
        bool grow = got < 0 && errno == EINVAL;
        bool done = got == 0 && mask_to_set(probe, ret, mask, room);
        CPU_FREE(mask);
        if (!grow)
            return done;
    }
    return false;
}

/* The nearest group that states the CPUs in effect includes the limits of all above it. */
static bool read_cpuset(struct jr_host_reader *probe, struct jr_set *ret)
{
    struct jr_cgroup group = jr_cgroup_find(probe, "cpuset");
    static const char *const files[][2] = {
        {"cpuset.effective_cpus", "cpuset.cpus"}, /* version 1 */
        {"cpuset.cpus.effective", "cpuset.cpus"}, /* version 2 */
    };
    for (size_t i = 0; i < 2 * group.folders.count; i++) {
        const char *text =
            jr_host_reader_text(probe, "%s/%s", group.folders.items[i / 2], files[group.v2][i % 2]);
        if (read_cpu_list(probe, ret, text))
            return true;
    }
    return false;
}

static struct cpus intersect_cpus(struct jr_host_reader *probe, const struct jr_set *sets,
                                  size_t sets_count)
{
    struct cpus cpus = {0};
    uint32_t max = 0;
    if (!jr_set_max(&sets[0], &max))
        return cpus;
    cpus.numbers = jr_arena_array(&probe->scratch, max + 1, sizeof *cpus.numbers);
    for (uint32_t cpu = 0; cpus.numbers != NULL && cpu <= max; cpu++) {
        size_t in = 0;
        while (in < sets_count && jr_set_has(&sets[in], cpu))
            in++;
        if (in == sets_count)
            cpus.numbers[cpus.count++] = cpu;
    }
    return cpus;
}

/* Print those of the CPUs that are in a set, and return how many they are. */
static size_t print_members(struct jr_host_reader *probe, struct jr_buf *out,
                            const struct cpus *cpus, const struct jr_set *set)
{
    size_t count = 0;
    uint32_t *members = jr_arena_array(&probe->scratch, cpus->count, sizeof *members);
    for (size_t i = 0; members != NULL && i < cpus->count; i++)
        if (jr_set_has(set, cpus->numbers[i]))
            members[count++] = cpus->numbers[i];
    if (members != NULL)
        jr_set_print(out, members, count);
    return count;
}

/* The usable CPUs that share a core with this one, itself among them; a CPU without a known
 * topology is a core of its own. */
static void list_core(struct jr_host_reader *probe, const struct cpus *cpus, uint32_t cpu,
                      bool *counted)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_range alone = {cpu, cpu, 1};
    struct jr_set siblings = {.ranges = &alone, .count = 1};
    /* core_cpus_list replaced thread_siblings_list in Linux 5.1 */
    static const char *const files[] = {"core_cpus_list", "thread_siblings_list"};
    bool known = false;
    for (size_t i = 0; i < 2 && !known; i++)
        known = read_cpu_list(
            probe, &siblings,
            jr_host_reader_text(probe, "/sys/devices/system/cpu/cpu%u/topology/%s", cpu, files[i]));
    if (!known || !jr_set_has(&siblings, cpu))
        siblings = (struct jr_set){.ranges = &alone, .count = 1};
    for (size_t i = 0; i < cpus->count; i++)
        if (jr_set_has(&siblings, cpus->numbers[i]))
            counted[cpus->numbers[i]] = true;
    (void)print_members(probe, &text, cpus, &siblings);
    jr_strv_push(&probe->hw->cpus.cores, probe->arena, jr_buf_keep(&text, probe->arena));
}

/* Nodes by sysfs, less those without a CPU for this process. */
static void read_numa(struct jr_host_reader *probe, const struct cpus *cpus)
{
    struct jr_host_cpus *facts = &probe->hw->cpus;
    struct jr_strv names = jr_names_list(probe, "/sys/devices/system/node", "node");
    size_t count = 0;
    for (size_t i = 0; i < names.count; i++) {
        JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
        struct jr_set set;
        uint32_t index;
        if (!jr_name_number(&index, names.items[i], "node") ||
            !read_cpu_list(probe, &set,
                           jr_host_reader_text(probe, "/sys/devices/system/node/%s/cpulist",
                                               names.items[i])) ||
            print_members(probe, &text, cpus, &set) == 0)
            continue;
        struct jr_host_numa *node = jr_arena_push(probe->arena, &facts->numa, &count, sizeof *node);
        if (node != NULL)
            *node = (struct jr_host_numa){index, jr_buf_keep(&text, probe->arena)};
    }
    facts->numa_count = (uint32_t)count;
}

static void read_cpu_set(struct jr_host_reader *probe)
{
    struct jr_host_cpus *facts = &probe->hw->cpus;
    struct jr_set sets[3]; /* the CPUs that are online come first */
    bool has_affinity =
        probe->hw->real ? own_affinity(probe, &sets[1])
                        : read_cpu_list(probe, &sets[1], jr_host_reader_text(probe, "/affinity"));
    bool has_online = read_cpu_list(probe, &sets[0],
                                    jr_host_reader_text(probe, "/sys/devices/system/cpu/online"));
    if (!has_online && !has_affinity)
        return;
    if (!has_online)
        sets[0] = sets[1];
    if (!has_affinity)
        sets[1] = sets[0];
    size_t sets_count = read_cpuset(probe, &sets[2]) ? 3 : 2;
    struct cpus online = intersect_cpus(probe, sets, 1);
    struct cpus usable = intersect_cpus(probe, sets, sets_count);
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_set_print(&text, usable.numbers, usable.count);
    facts->online = (uint32_t)online.count;
    facts->usable = (uint32_t)usable.count;
    /* a core counts once, for the first of its CPUs that is usable */
    bool *counted = jr_arena_array(&probe->scratch, JR_HOST_CPUS_MAX, sizeof *counted);
    for (size_t i = 0; counted != NULL && i < usable.count; i++)
        if (!counted[usable.numbers[i]])
            list_core(probe, &usable, usable.numbers[i], counted);
    facts->usable_cores = (uint32_t)facts->cores.count;
    if (facts->cores.count == usable.count)
        facts->cores = (struct jr_strv){0};
    read_numa(probe, &usable);
    if (usable.count > 0)
        facts->set = jr_buf_keep(&text, probe->arena);
}

/* Every group up to the root binds; the tightest counts. */
static void read_quotas(struct jr_host_reader *probe)
{
    struct jr_host_cpus *facts = &probe->hw->cpus;
    struct jr_cgroup group = jr_cgroup_find(probe, "cpu");
    bool v2 = group.v2;
    for (size_t i = 0; i < group.folders.count; i++) {
        const char *folder = group.folders.items[i];
        /* "QUOTA PERIOD" in cpu.max, or a file for each, in microseconds */
        char *period =
            jr_host_reader_text(probe, v2 ? "%s/cpu.max" : "%s/cpu.cfs_period_us", folder);
        const char *quota =
            v2 ? strsep(&period, " ") : jr_host_reader_text(probe, "%s/cpu.cfs_quota_us", folder);
        uint64_t used, length;
        if (quota == NULL || period == NULL || !jr_num_u64(quota, &used) ||
            !jr_num_u64(period, &length) || used == 0 || length == 0)
            continue;
        double cpus = (double)used / (double)length;
        if (facts->quota > 0 && facts->quota <= cpus)
            continue;
        facts->quota = cpus;
        facts->quota_from =
            jr_arena_printf(probe->arena, "%s/%s", folder, v2 ? "cpu.max" : "cpu.cfs_quota_us");
    }
}

void jr_host_reader_cpus(struct jr_host_reader *probe)
{
    read_cpu_set(probe);
    read_quotas(probe);
}

/* Caches by sysfs. Nothing is resolved from them: ranks of a node are bound to cores side by side,
 * and those share caches. So they are read for people only, apart from the facts that every run
 * needs: of each CPU it takes a dozen files. */

#define FOLDER "/sys/devices/system/cpu/cpu%u/cache/index%u/"

/* The first levels are each core's own. */
enum { LEAST_LEVEL = 2, INDEXES_MAX = 16 };

/* Into a row for each level and size. Not if there is no such cache, where it is for instructions,
 * and where another CPU has shown it before. */
static void read_cache(struct jr_host_reader *probe, const struct jr_set *usable, uint32_t cpu,
                       uint32_t index)
{
    struct jr_host_cpus *facts = &probe->hw->cpus;
    uint32_t level, count = 0, last, most;
    const char *number = jr_host_reader_text(probe, FOLDER "level", cpu, index);
    const char *type = jr_host_reader_text(probe, FOLDER "type", cpu, index);
    const char *text = jr_host_reader_text(probe, FOLDER "shared_cpu_list", cpu, index);
    const char *bad;
    struct jr_set shared;
    if (number == NULL || !jr_num_u32(number, &level) || text == NULL || level < LEAST_LEVEL ||
        (type != NULL && strcmp(type, "Instruction") == 0) ||
        !jr_set_parse(&shared, &probe->scratch, text, &bad) || !jr_set_max(&shared, &last) ||
        !jr_set_max(usable, &most))
        return;
    last = last < most ? last : most;
    uint32_t *members =
        last < cpu ? NULL : jr_arena_array(&probe->scratch, last - cpu + 1, sizeof *members);
    for (uint32_t at = 0; members != NULL && at <= last; at++) {
        if (!jr_set_has(&shared, at) || !jr_set_has(usable, at))
            continue;
        if (at < cpu)
            return;
        members[count++] = at;
    }
    if (count == 0)
        return;
    JR_BUF_CLEANUP struct jr_buf cpus = JR_BUF_INIT;
    jr_set_print(&cpus, members, count);
    /* the kernel writes "2048K" */
    const char *unit = jr_host_reader_text(probe, FOLDER "size", cpu, index);
    uint64_t size = 0;
    if (unit != NULL && jr_num_digits(&unit, &size))
        size <<= *unit == 'K' ? 10 : *unit == 'M' ? 20 : 0;
    size_t row = 0, rows = facts->caches_count;
    while (row < rows && (facts->caches[row].level != level || facts->caches[row].size != size))
        row++;
    if (row == rows) {
        struct jr_host_cache *slot =
            jr_arena_push(probe->arena, &facts->caches, &rows, sizeof *slot);
        if (slot == NULL)
            return;
        *slot = (struct jr_host_cache){level, size, {0}};
        facts->caches_count = (uint32_t)rows;
    }
    jr_strv_push(&facts->caches[row].cpus, probe->arena, jr_buf_keep(&cpus, probe->arena));
}

void jr_host_reader_caches(struct jr_host_reader *probe)
{
    const char *text = probe->hw->cpus.set, *bad;
    struct jr_set usable;
    uint32_t last;
    if (text == NULL || !jr_set_parse(&usable, &probe->scratch, text, &bad) ||
        !jr_set_max(&usable, &last))
        return;
    for (uint32_t cpu = 0; cpu <= last; cpu++)
        for (uint32_t i = 0; i < INDEXES_MAX && jr_set_has(&usable, cpu); i++)
            read_cache(probe, &usable, cpu, i);
}
