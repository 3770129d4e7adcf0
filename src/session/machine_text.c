#include "session/machine_text.h"

#include "base/diff_table.h"
#include "base/syscalls.h"
#include "host/health.h"
#include "session/lease_text.h"
#include "session/session.h"
#include "session/support.h"

#include "base/banned.h"

#define GIB (1024.0 * 1024.0 * 1024.0)

enum { SETS_SHOWN = 8 }; /* on a line */

static const char *device_word(enum jr_device kind)
{
#define WORD(name, word, help) word,
    static const char *const words[] = {JR_DEVICES(WORD)};
#undef WORD
    return words[kind];
}

static void print_devices(struct jr_buf *out, const struct jr_host *host)
{
    if (host->devices_count == 0)
        jr_buf_str(out, "devices  none\n");
    for (uint32_t i = 0; i < host->devices_count; i++) {
        const struct jr_host_device *device = &host->devices[i];
        jr_buf_printf(out, "device   %s %u  %s", device_word(device->kind),
                      device->index,
                      device->model != NULL ? device->model : "model unknown");
        if (device->memory > 0)
            jr_buf_printf(out, ", %.0f GiB", (double)device->memory / GIB);
        if (device->bus != NULL)
            jr_buf_printf(out, "  %s", device->bus);
        if (device->numa_node >= 0)
            jr_buf_printf(out, ", NUMA node %d", device->numa_node);
        jr_buf_str(out,
                   device->visible ? "\n" : "  hidden by the environment\n");
        if (host->real)
            jr_lease_text_device(out, device);
    }
    if (host->real)
        jr_lease_text_others(out, host);
}

/* Sets of CPUs; of many, the first ones and how many there are. */
static void print_sets(struct jr_buf *out, const struct jr_strv *sets)
{
    size_t shown = sets->count > SETS_SHOWN ? SETS_SHOWN / 2 : sets->count;
    for (size_t i = 0; i < shown; i++)
        jr_buf_printf(out, "%s%s", i > 0 ? "  " : "", sets->items[i]);
    if (shown < sets->count)
        jr_buf_printf(out, "  ... (%zu of them)", sets->count);
}

static void print_topology(struct jr_buf *out, const struct jr_host_cpus *cpus)
{
    for (uint32_t i = 0; i < cpus->numa_count && cpus->numa_count > 1; i++)
        jr_buf_printf(out, "numa     node %u: CPUs %s\n", cpus->numa[i].index,
                      cpus->numa[i].cpus);
    for (uint32_t i = 0; i < cpus->caches_count; i++) {
        const struct jr_host_cache *row = &cpus->caches[i];
        bool large = row->size >= 1 << 20;
        jr_buf_printf(out, "cache    L%u, %.4g %s%s, of CPUs  ", row->level,
                      (double)row->size / (large ? 1 << 20 : 1 << 10),
                      large ? "MiB" : "KiB",
                      row->cpus.count > 1 ? " each" : "");
        print_sets(out, &row->cpus);
        jr_buf_char(out, '\n');
    }
}

static void print_cpus(struct jr_buf *out, const struct jr_host *host)
{
    const struct jr_host_cpus *cpus = &host->cpus;
    jr_buf_printf(out,
                  "cpus     %u usable of %u online (%s), %u cores; affinity "
                  "and cpuset\n",
                  cpus->usable, cpus->online,
                  cpus->set != NULL ? cpus->set : "?", cpus->usable_cores);
    print_topology(out, cpus);
    if (cpus->quota > 0)
        jr_buf_printf(out, "quota    %g CPUs, by %s\n", cpus->quota,
                      cpus->quota_from);
    if (host->memory > 0)
        jr_buf_printf(out, "memory   %.1f GiB usable\n",
                      (double)host->memory / GIB);
    jr_buf_printf(out, "ports    29500 and on; %u to %u are the kernel's\n",
                  host->port_low, host->port_high);
}

/* What the resolver reads of the environment, and nothing else of it. */
static void print_environment(struct jr_buf *out, const struct jr_host *host)
{
#define VARIABLE(name, vendor, visibility, backend) visibility,
    static const char *const names[] = {JR_DEVICE_TRAITS(VARIABLE)};
#undef VARIABLE
    const struct jr_host_environment *from = &host->environment;
    const char *const rows[][2] = {
        {"TORCH_DISTRIBUTED_BACKEND", from->backend},
        {"OMP_NUM_THREADS", from->omp_num_threads},
    };
    for (size_t i = 0; i < 2 + JR_DEVICE_COUNT; i++) {
        const char *name = i < 2 ? rows[i][0] : names[i - 2];
        const char *value = i < 2 ? rows[i][1] : from->visible[i - 2];
        if (value == NULL)
            continue;
        jr_buf_printf(out, "env      %s=", name);
        jr_buf_safe(out, value);
        jr_buf_char(out, '\n');
    }
}

static void print_variables(struct jr_buf *out, const struct jr_host *host)
{
    JR_BUF_CLEANUP struct jr_buf cells = JR_BUF_INIT;
    for (uint32_t i = 0; i < host->variables_count; i++) {
        const struct jr_host_variable *row = &host->variables[i];
        jr_buf_printf(&cells, "         %s=", row->name);
        jr_buf_safe(&cells, row->value);
        jr_buf_printf(
            &cells, "\t%s%s%s%s\n", row->meaning, row->trap != NULL ? " (" : "",
            row->trap != NULL ? row->trap : "", row->trap != NULL ? ")" : "");
    }
    jr_table_add(out, &cells, 3);
}

static void print_scheduler(struct jr_buf *out, const struct jr_host *host)
{
    const struct jr_host_scheduler *from = &host->scheduler;
    if (from->name == NULL) {
        jr_buf_str(out, "launcher none: this machine alone\n");
        return;
    }
    jr_buf_printf(out, "launcher %s%s", from->name,
                  from->job_id != NULL ? ", job " : "");
    jr_buf_safe(out, from->job_id != NULL ? from->job_id : "");
    if (from->nodes > 0)
        jr_buf_printf(out, ", %u node%s", from->nodes,
                      from->nodes == 1 ? "" : "s");
    if (from->step && from->node_rank >= 0)
        jr_buf_printf(out, ", this is node %d", from->node_rank);
    if (!from->step)
        jr_buf_str(out, ", and this is the allocation's own shell or script");
    jr_buf_char(out, '\n');
    print_variables(out, host);
}

/* Those that this kernel lacks, or that a sandbox refuses. */
static void print_system_calls(struct jr_buf *out)
{
    size_t count, missing = 0;
    const struct jr_syscall *rows = jr_syscalls(&count);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].works())
            continue;
        jr_buf_printf(out,
                      "%s %s (Linux %s) is missing or refused; instead: "
                      "%s\n",
                      missing++ == 0 ? "kernel  " : "        ", rows[i].name,
                      rows[i].since, rows[i].otherwise);
    }
    if (missing == 0)
        jr_buf_str(out, "kernel   has every system call that jobrun uses\n");
}

static void print_findings(struct jr_buf *out, const struct jr_host *host,
                           char *const *envp)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_host_finding *findings;
    uint32_t count =
        jr_host_examine(&findings, &arena, host, host->real ? "" : NULL, envp);
    for (uint32_t i = 0; i < count; i++) {
        jr_buf_str(out, "problem  ");
        jr_buf_safe(out, findings[i].message);
        jr_buf_str(out, "\n         ");
        jr_buf_safe(out, findings[i].help != NULL ? findings[i].help : "");
        jr_buf_char(out, '\n');
    }
    if (count == 0)
        jr_buf_str(out, "problems none\n");
    out->failed = out->failed || arena.failed;
    jr_arena_release(&arena);
}

/* Where Python finds `import jobrun` outside of ranks. */
static void print_package(struct jr_buf *out)
{
    struct jr_arena arena = JR_ARENA_INIT;
    const char *support = jr_support_find(&arena);
    if (support != NULL) {
        jr_buf_str(out, "python   ");
        jr_buf_safe(out, support);
        jr_buf_str(out, "/python, for PYTHONPATH: has jobrun.launch()\n");
    }
    out->failed = out->failed || arena.failed;
    jr_arena_release(&arena);
}

void jr_session_more_facts(struct jr_session *session)
{
    if (session->facts && session->host.real)
        jr_host_probe_more(&session->host, &session->arena, "");
}

void jr_session_describe_machine(struct jr_buf *out,
                                 const struct jr_session *session)
{
    const struct jr_host *host = &session->host;
    jr_buf_printf(out, "host     %s\n",
                  host->hostname != NULL ? host->hostname : "unknown");
    print_cpus(out, host);
    print_devices(out, host);
    print_environment(out, host);
    print_scheduler(out, host);
    print_package(out);
    if (host->real)
        print_system_calls(out);
    print_findings(out, host, session->options.envp);
}
