#include "host/host.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/num.h"
#include "base/rank_set.h"
#include "base/strv.h"
#include "host/accel/accel.h"
#include "host/internal.h"

#include "base/banned.h"

char *jr_host_reader_text(struct jr_host_reader *probe, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *path = jr_arena_vprintf(&probe->scratch, format, args);
    va_end(args);
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (path == NULL || !jr_io_fact(&text, probe->root, path))
        return NULL;
    return jr_buf_keep(&text, &probe->scratch);
}

char *jr_host_reader_field(struct jr_host_reader *probe, const char *text, const char *key)
{
    size_t len = strlen(key);
    for (const char *line = text; line != NULL;) {
        if (strncmp(line, key, len) == 0 && line[len] == ':') {
            const char *value = line + len + 1;
            value += strspn(value, " \t");
            size_t end = strcspn(value, "\n");
            while (end > 0 && strchr(" \t\r", value[end - 1]) != NULL)
                end--;
            return jr_arena_strndup(&probe->scratch, value, end);
        }
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    return NULL;
}

void jr_host_reader_problem(struct jr_host_reader *probe, enum jr_device kind, const char *message,
                            const char *help)
{
    struct jr_host *hw = probe->hw;
    size_t count = hw->problems_count;
    struct jr_host_problem *problem =
        jr_arena_push(probe->arena, &hw->problems, &count, sizeof *hw->problems);
    if (problem == NULL)
        return;
    *problem = (struct jr_host_problem){kind, message, help};
    hw->problems_count = (uint32_t)count;
}

/* Nothing else is read: a RANK or WORLD_SIZE that some other launcher left in the shell says
 * nothing about this job. */
static void read_environment(struct jr_host_reader *probe)
{
#define VARIABLE(name, vendor, visibility, backend) visibility,
    static const char *const variables[] = {JR_DEVICE_TRAITS(VARIABLE)};
#undef VARIABLE
    struct jr_host_environment *to = &probe->hw->environment;
    to->backend =
        jr_arena_strdup(probe->arena, jr_env_get(probe->envp, "TORCH_DISTRIBUTED_BACKEND"));
    to->omp_num_threads = jr_arena_strdup(probe->arena, jr_env_get(probe->envp, "OMP_NUM_THREADS"));
    for (unsigned kind = 0; kind < JR_DEVICE_COUNT; kind++)
        if (variables[kind] != NULL)
            to->visible[kind] =
                jr_arena_strdup(probe->arena, jr_env_get(probe->envp, variables[kind]));
}

static void read_network(struct jr_host_reader *probe)
{
    struct jr_host *hw = probe->hw;
    hw->hostname =
        jr_arena_strdup(probe->arena, jr_host_reader_text(probe, "/proc/sys/kernel/hostname"));
    hw->port_low = JR_HOST_PORT_LOW;
    hw->port_high = JR_HOST_PORT_HIGH;
    char *range = jr_host_reader_text(probe, "/proc/sys/net/ipv4/ip_local_port_range");
    uint32_t low, high;
    char *first = strsep(&range, " \t");
    if (range == NULL)
        return;
    range += strspn(range, " \t");
    if (jr_num_u32(first, &low) && jr_num_u32(range, &high) && low > 0 && low <= high &&
        high <= UINT16_MAX) {
        hw->port_low = low;
        hw->port_high = high;
    }
}

int jr_host_probe(struct jr_host *ret, struct jr_arena *arena, const char *root, char *const *envp,
                  struct jr_error *err)
{
    struct jr_host hw = {.origin = "hardware", .real = root[0] == '\0'};
    struct jr_host_reader probe = {.hw = &hw, .arena = arena, .root = root, .envp = envp};
    jr_host_reader_cpus(&probe);
    jr_host_reader_memory(&probe);
    read_environment(&probe);
    jr_host_reader_accelerators(&probe);
    read_network(&probe);
    /* a recorded machine has its own time, or none */
    const char *now = hw.real ? NULL : jr_host_reader_text(&probe, "/now");
    if (hw.real)
        hw.now = jr_clock_wall_ns() / 1000000000;
    else if (now != NULL)
        (void)jr_num_u64(now, &hw.now);
    jr_host_reader_scheduler(&probe);
    bool failed = arena->failed || probe.scratch.failed;
    jr_arena_release(&probe.scratch);
    if (failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "no memory to read the machine's facts");
    *ret = hw;
    return 0;
}

void jr_host_probe_more(struct jr_host *hw, struct jr_arena *arena, const char *root)
{
    struct jr_host_reader probe = {.hw = hw, .arena = arena, .root = root};
    jr_host_reader_caches(&probe);
    jr_nvidia_complete(&probe);
    arena->failed |= probe.scratch.failed;
    jr_arena_release(&probe.scratch);
}

/* A part of a machine: the facts as they are for a process that may use only some of its cores and
 * devices. */

/* The CPUs of a list as a set; an empty one for what is none. */
static struct jr_set cpus_of(struct jr_arena *arena, const char *text)
{
    struct jr_set set = {0};
    const char *bad;
    if (text == NULL || !jr_set_parse(&set, arena, text, &bad) || set.all)
        return (struct jr_set){0};
    return set;
}

uint32_t jr_host_core_count(const struct jr_host *host)
{
    if (host->cpus.cores.count > 0)
        return (uint32_t)host->cpus.cores.count;
    return host->cpus.set == NULL ? 0 : host->cpus.usable;
}

/* The kept ones of a list of CPUs, as text; NULL: there are none. */
static const char *kept_part(struct jr_arena *arena, const bool *kept, uint32_t kept_count,
                             const char *text, uint32_t *ret_count)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    const struct jr_set set = cpus_of(arena, text);
    uint32_t *cpus = jr_arena_array(arena, kept_count + 1, sizeof *cpus);
    uint32_t count = 0;
    for (uint32_t cpu = 0; cpus != NULL && cpu < kept_count; cpu++)
        if (kept[cpu] && jr_set_has(&set, cpu))
            cpus[count++] = cpu;
    *ret_count = count;
    if (count == 0)
        return NULL;
    jr_set_print(&out, cpus, count);
    return jr_buf_keep(&out, arena);
}

/* Keep only the cores of the part. */
static void narrow_cpus(struct jr_host *ret, const struct jr_host *host,
                        const struct jr_host_part *part, struct jr_arena *arena)
{
    const struct jr_host_cpus *from = &host->cpus;
    const struct jr_set all = cpus_of(arena, from->set);
    uint32_t last = 0, numa_count = 0, ignored;
    uint32_t end = jr_set_max(&all, &last) ? last + 1 : 0;
    struct jr_strv cores = {0};
    bool *kept = jr_arena_array(arena, end + 1, sizeof *kept); /* by number */
    struct jr_host_numa *numa = jr_arena_array(arena, from->numa_count + 1, sizeof *numa);
    for (uint32_t i = 0; kept != NULL && i < part->cores_count; i++) {
        uint32_t before = part->cores[i], cpu = 0;
        if (from->cores.count == 0) { /* every CPU of the set is a core */
            while (cpu < end && (!jr_set_has(&all, cpu) || before-- > 0))
                cpu++;
            if (cpu < end)
                kept[cpu] = true;
            continue;
        }
        const char *core = from->cores.items[part->cores[i]];
        const struct jr_set set = cpus_of(arena, core);
        for (; cpu < end; cpu++)
            kept[cpu] |= jr_set_has(&set, cpu);
        jr_strv_push(&cores, arena, jr_arena_strdup(arena, core));
    }
    if (arena->failed)
        return;
    ret->cpus.cores = cores;
    ret->cpus.usable_cores = part->cores_count;
    ret->cpus.set = kept_part(arena, kept, end, from->set, &ret->cpus.usable);
    ret->cpus.quota = 0; /* the whole of it is shared out by cores */
    ret->cpus.caches_count = 0;
    for (uint32_t i = 0; i < from->numa_count; i++) {
        const char *text = kept_part(arena, kept, end, from->numa[i].cpus, &ignored);
        if (text != NULL)
            numa[numa_count++] = (struct jr_host_numa){from->numa[i].index, text};
    }
    ret->cpus.numa = numa;
    ret->cpus.numa_count = numa_count;
}

/* Devices that are not of the part are not visible any more. */
static void narrow_devices(struct jr_host *ret, const struct jr_host *host,
                           const struct jr_host_part *part, struct jr_arena *arena)
{
    struct jr_host_device *devices =
        jr_arena_array(arena, host->devices_count + 1, sizeof *devices);
    bool *ours = jr_arena_array(arena, host->devices_count + 1, sizeof *ours);
    uint32_t count = 0;
    if (devices == NULL || ours == NULL)
        return;
    for (uint32_t i = 0; i < part->devices_count; i++) {
        ours[part->devices[i]] = true;
        devices[count++] = host->devices[part->devices[i]];
    }
    for (uint32_t i = 0; i < host->devices_count; i++)
        if (!ours[i]) {
            devices[count] = host->devices[i];
            devices[count++].visible = false;
        }
    ret->devices = devices;
}

void jr_host_narrow(struct jr_host *ret, const struct jr_host *host,
                    const struct jr_host_part *part, struct jr_arena *arena)
{
    *ret = *host;
    if (part->cores_count > 0)
        narrow_cpus(ret, host, part, arena);
    if (part->devices_count > 0)
        narrow_devices(ret, host, part, arena);
}
