/* The machine as people read it. foreground.h declares it. */
#include "session/foreground.h"

#include <string.h>

#include "base/diff_table.h"
#include "base/syscalls.h"
#include "host/host.h"
#include "resolve/device_lease.h"
#include "session/internal.h"
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

static void make_key(char ret[static JR_DEVICE_KEY_SIZE], const struct jr_host_device *device)
{
    jr_device_key(ret, device, device_word(device->kind), "");
}

/* All about one device: a line for each lease, "         held by run x (pid 7)", and one for those
 * who wait for it. */
static void print_claims(struct jr_buf *out, const struct jr_device_claims *claims, const char *key)
{
    size_t waiting = 0;
    for (size_t i = 0; i < claims->held_count; i++) {
        if (strcmp(claims->held[i].key, key) != 0)
            continue;
        const struct jr_device_user user = jr_device_user_of(claims, &claims->held[i]);
        jr_buf_str(out, "         held by ");
        jr_device_user_print(out, &user);
        jr_buf_char(out, '\n');
    }
    for (size_t i = 0; i < claims->awaited_count; i++)
        waiting += strcmp(claims->awaited[i].key, key) == 0;
    if (waiting > 0)
        jr_buf_printf(out, "         waited for by %zu jobrun%s\n", waiting,
                      waiting == 1 ? "" : "s");
}

/* A line for each device of the claims, the first of several for a device, which is none of the
 * machine's that jobrun knows: of a kind of the user's own, or one that this process does not see.
 * `besides`: those that are not held. */
static void print_others(struct jr_buf *out, const struct jr_host *host,
                         const struct jr_device_claims *claims, bool besides)
{
    const struct jr_device_claim *list = besides ? claims->awaited : claims->held;
    size_t count = besides ? claims->awaited_count : claims->held_count;
    char own[JR_DEVICE_KEY_SIZE];
    for (size_t i = 0; i < count; i++) {
        const char *key = list[i].key;
        bool known = besides && jr_device_is_held(claims, key);
        for (size_t j = 0; j < i && !known; j++)
            known = strcmp(list[j].key, key) == 0;
        for (uint32_t j = 0; j < host->devices_count && !known; j++) {
            make_key(own, &host->devices[j]);
            known = strcmp(own, key) == 0;
        }
        if (known)
            continue;
        jr_buf_str(out, "leased   ");
        jr_buf_safe(out, key);
        jr_buf_char(out, '\n');
        print_claims(out, claims, key);
    }
}

static void print_devices(struct jr_buf *out, const struct jr_host *host)
{
    struct jr_device_claims claims;
    char key[JR_DEVICE_KEY_SIZE];
    if (host->real)
        jr_device_claims_read(&claims);
    if (host->devices_count == 0)
        jr_buf_str(out, "devices  none\n");
    for (uint32_t i = 0; i < host->devices_count; i++) {
        const struct jr_host_device *device = &host->devices[i];
        jr_buf_printf(out, "device   %s %u  %s", device_word(device->kind), device->index,
                      device->model != NULL ? device->model : "model unknown");
        if (device->memory > 0)
            jr_buf_printf(out, ", %.0f GiB", (double)device->memory / GIB);
        if (device->bus != NULL)
            jr_buf_printf(out, "  %s", device->bus);
        if (device->numa_node >= 0)
            jr_buf_printf(out, ", NUMA node %d", device->numa_node);
        jr_buf_str(out, device->visible ? "\n" : "  hidden by the environment\n");
        make_key(key, device);
        if (host->real)
            print_claims(out, &claims, key);
    }
    if (!host->real)
        return;
    print_others(out, host, &claims, false);
    print_others(out, host, &claims, true);
    jr_device_claims_release(&claims);
}

static void print_topology(struct jr_buf *out, const struct jr_host_cpus *cpus)
{
    for (uint32_t i = 0; i < cpus->numa_count && cpus->numa_count > 1; i++)
        jr_buf_printf(out, "numa     node %u: CPUs %s\n", cpus->numa[i].index, cpus->numa[i].cpus);
    for (uint32_t i = 0; i < cpus->caches_count; i++) {
        const struct jr_host_cache *row = &cpus->caches[i];
        bool large = row->size >= 1 << 20;
        jr_buf_printf(out, "cache    L%u, %.4g %s%s, of CPUs  ", row->level,
                      (double)row->size / (large ? 1 << 20 : 1 << 10), large ? "MiB" : "KiB",
                      row->cpus.count > 1 ? " each" : "");
        /* of many sets, the first ones and how many there are */
        const struct jr_strv *sets = &row->cpus;
        size_t shown = sets->count > SETS_SHOWN ? SETS_SHOWN / 2 : sets->count;
        for (size_t k = 0; k < shown; k++)
            jr_buf_printf(out, "%s%s", k > 0 ? "  " : "", sets->items[k]);
        if (shown < sets->count)
            jr_buf_printf(out, "  ... (%zu of them)", sets->count);
        jr_buf_char(out, '\n');
    }
}

static void print_cpus(struct jr_buf *out, const struct jr_host *host)
{
    const struct jr_host_cpus *cpus = &host->cpus;
    jr_buf_printf(out, "cpus     %u usable of %u online (%s), %u cores; affinity and cpuset\n",
                  cpus->usable, cpus->online, cpus->set != NULL ? cpus->set : "?",
                  cpus->usable_cores);
    print_topology(out, cpus);
    if (cpus->quota > 0)
        jr_buf_printf(out, "quota    %g CPUs, by %s\n", cpus->quota, cpus->quota_from);
    if (host->memory > 0)
        jr_buf_printf(out, "memory   %.1f GiB usable\n", (double)host->memory / GIB);
    jr_buf_printf(out, "ports    29500 and on; %u to %u are the kernel's\n", host->port_low,
                  host->port_high);
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

static void print_scheduler(struct jr_buf *out, const struct jr_host *host)
{
    const struct jr_host_scheduler *from = &host->scheduler;
    if (from->name == NULL) {
        jr_buf_str(out, "launcher none: this machine alone\n");
        return;
    }
    jr_buf_printf(out, "launcher %s%s", from->name, from->job_id != NULL ? ", job " : "");
    jr_buf_safe(out, from->job_id != NULL ? from->job_id : "");
    if (from->nodes > 0)
        jr_buf_printf(out, ", %u node%s", from->nodes, from->nodes == 1 ? "" : "s");
    if (from->step && from->node_rank >= 0)
        jr_buf_printf(out, ", this is node %d", from->node_rank);
    if (!from->step)
        jr_buf_str(out, ", and this is the allocation's own shell or script");
    jr_buf_char(out, '\n');
    JR_BUF_CLEANUP struct jr_buf cells = JR_BUF_INIT;
    for (uint32_t i = 0; i < host->variables_count; i++) {
        const struct jr_host_variable *row = &host->variables[i];
        jr_buf_printf(&cells, "         %s=", row->name);
        jr_buf_safe(&cells, row->value);
        jr_buf_printf(&cells, "\t%s%s%s%s\n", row->meaning, row->trap != NULL ? " (" : "",
                      row->trap != NULL ? row->trap : "", row->trap != NULL ? ")" : "");
    }
    jr_table_add(out, &cells, 3);
}

/* Those that this kernel lacks, or that a sandbox refuses. */
static void print_system_calls(struct jr_buf *out)
{
    size_t count, missing = 0;
    const struct jr_syscall *rows = jr_syscalls(&count);
    for (size_t i = 0; i < count; i++) {
        if (jr_syscall_works(&rows[i]))
            continue;
        jr_buf_printf(out, "%s %s (Linux %s) is missing or refused; instead: %s\n",
                      missing++ == 0 ? "kernel  " : "        ", rows[i].name, rows[i].since,
                      rows[i].otherwise);
    }
    if (missing == 0)
        jr_buf_str(out, "kernel   has every system call that jobrun uses\n");
}

static void print_findings(struct jr_buf *out, const struct jr_host *host, char *const *envp)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_host_finding *findings;
    uint32_t count = jr_host_examine(&findings, &arena, host, host->real ? "" : NULL, envp);
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
}

void jr_session_more_facts(struct jr_session *session)
{
    if (session->facts && session->host.real)
        jr_host_probe_more(&session->host, &session->arena, "");
}

void jr_session_describe_machine(struct jr_buf *out, const struct jr_session *session)
{
    const struct jr_host *host = &session->host;
    jr_buf_printf(out, "host     %s\n", host->hostname != NULL ? host->hostname : "unknown");
    print_cpus(out, host);
    print_devices(out, host);
    print_environment(out, host);
    print_scheduler(out, host);
    /* Where Python finds `import jobrun` outside of ranks. */
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    const char *support = jr_support_find(&arena);
    if (support != NULL) {
        jr_buf_str(out, "python   ");
        jr_buf_safe(out, support);
        jr_buf_str(out, "/python, for PYTHONPATH: has jobrun.launch()\n");
    }
    out->failed = out->failed || arena.failed;
    if (host->real)
        print_system_calls(out);
    print_findings(out, host, session->options.envp);
}
