#include "host/host.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/num.h"
#include "base/strv.h"
#include "host/accel/nvidia.h"
#include "host/cgroup.h"
#include "host/cpu.h"
#include "host/reader.h"

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

char *jr_host_reader_field(struct jr_host_reader *probe, const char *text,
                           const char *key)
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

void jr_host_reader_problem(struct jr_host_reader *probe, enum jr_device kind,
                            const char *message, const char *help)
{
    struct jr_host *hw = probe->hw;
    size_t count = hw->problems_count;
    struct jr_host_problem *problem = jr_arena_push(
        probe->arena, &hw->problems, &count, sizeof *hw->problems);
    if (problem == NULL)
        return;
    *problem = (struct jr_host_problem){kind, message, help};
    hw->problems_count = (uint32_t)count;
}

/* Nothing else is read: a RANK or WORLD_SIZE that some other launcher left in
 * the shell says nothing about this job. */
static void read_environment(struct jr_host_reader *probe)
{
#define VARIABLE(name, vendor, visibility, backend) visibility,
    static const char *const variables[] = {JR_DEVICE_TRAITS(VARIABLE)};
#undef VARIABLE
    struct jr_host_environment *to = &probe->hw->environment;
    to->backend = jr_arena_strdup(
        probe->arena, jr_env_get(probe->envp, "TORCH_DISTRIBUTED_BACKEND"));
    to->omp_num_threads = jr_arena_strdup(
        probe->arena, jr_env_get(probe->envp, "OMP_NUM_THREADS"));
    for (unsigned kind = 0; kind < JR_DEVICE_COUNT; kind++)
        if (variables[kind] != NULL)
            to->visible[kind] = jr_arena_strdup(
                probe->arena, jr_env_get(probe->envp, variables[kind]));
}

static void read_network(struct jr_host_reader *probe)
{
    struct jr_host *hw = probe->hw;
    hw->hostname = jr_arena_strdup(
        probe->arena, jr_host_reader_text(probe, "/proc/sys/kernel/hostname"));
    hw->port_low = JR_HOST_PORT_LOW;
    hw->port_high = JR_HOST_PORT_HIGH;
    char *range = jr_host_reader_text(probe, "/proc/sys/net/ipv4/"
                                             "ip_local_port_range");
    uint32_t low, high;
    char *first = strsep(&range, " \t");
    if (range == NULL)
        return;
    range += strspn(range, " \t");
    if (jr_num_u32(first, &low) && jr_num_u32(range, &high) && low > 0 &&
        low <= high && high <= UINT16_MAX) {
        hw->port_low = low;
        hw->port_high = high;
    }
}

/* A recorded machine has its own time, or none. */
static void read_machine_clock(struct jr_host_reader *probe)
{
    const char *text =
        probe->hw->real ? NULL : jr_host_reader_text(probe, "/now");
    if (probe->hw->real)
        probe->hw->now = jr_clock_wall_ns() / 1000000000;
    else if (text != NULL)
        (void)jr_num_u64(text, &probe->hw->now);
}

int jr_host_probe(struct jr_host *ret, struct jr_arena *arena, const char *root,
                  char *const *envp, struct jr_error *err)
{
    static void (*const readers[])(struct jr_host_reader *) = {
        jr_host_reader_cpus,         jr_host_reader_memory, read_environment,
        jr_host_reader_accelerators, read_network,          read_machine_clock,
        jr_host_reader_scheduler,
    };
    struct jr_host hw = {.origin = "hardware", .real = root[0] == '\0'};
    struct jr_host_reader probe = {
        .hw = &hw, .arena = arena, .root = root, .envp = envp};
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++)
        readers[i](&probe);
    bool failed = arena->failed || probe.scratch.failed;
    jr_arena_release(&probe.scratch);
    if (failed)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "no memory to read the machine's facts");
    *ret = hw;
    return 0;
}

void jr_host_probe_more(struct jr_host *hw, struct jr_arena *arena,
                        const char *root)
{
    struct jr_host_reader probe = {.hw = hw, .arena = arena, .root = root};
    jr_host_reader_caches(&probe);
    jr_nvidia_complete(&probe);
    arena->failed |= probe.scratch.failed;
    jr_arena_release(&probe.scratch);
}
