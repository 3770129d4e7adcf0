/* What is wrong with a machine. Declared in host.h. */
#include "host/host.h"

#include <string.h>
#include <sys/timex.h>

#include "base/num.h"
#include "host/accel/accel.h"

#include "base/banned.h"

#define GIB (1024.0 * 1024.0 * 1024.0)

struct exam {
    struct jr_host_reader *probe; /* root NULL: no files */
    const struct jr_host *hw;
    struct jr_host_finding *findings;
    size_t count;
};

static void add_health_finding(struct exam *to, const char *message, const char *help)
{
    struct jr_host_finding *slot =
        jr_arena_push(to->probe->arena, &to->findings, &to->count, sizeof *slot);
    if (slot != NULL)
        *slot = (struct jr_host_finding){message, help};
}

static void check_quota(struct exam *to)
{
    const struct jr_host_cpus *cpus = &to->hw->cpus;
    if (cpus->quota <= 0 || cpus->quota >= (double)cpus->usable)
        return;
    add_health_finding(
        to,
        jr_arena_printf(to->probe->arena,
                        "%u CPUs may be used, but only %g at a time: processes that exceed "
                        "the quota of %s are paused, and all that wait for them",
                        cpus->usable, cpus->quota, cpus->quota_from ? cpus->quota_from : "a group"),
        "jobrun goes by the quota; programs that count CPUs themselves start "
        "too many threads unless they obey OMP_NUM_THREADS");
}

/* A limit by /proc/self/limits, whose columns are `name  soft  hard  unit`;
 * UINT64_MAX: unlimited, or unknown. */
static uint64_t process_limit_of(struct jr_host_reader *probe, const char *name, bool hard)
{
    char *text = jr_host_reader_text(probe, "/proc/self/limits");
    size_t len = strlen(name);
    uint64_t value;
    for (char *line; (line = strsep(&text, "\n")) != NULL;) {
        if (strncmp(line, name, len) != 0)
            continue;
        line += len;
        line += strspn(line, " ");
        char *soft = strsep(&line, " ");
        if (line == NULL)
            break;
        line += strspn(line, " ");
        char *most = strsep(&line, " ");
        return jr_num_u64(hard ? most : soft, &value) ? value : UINT64_MAX;
    }
    return UINT64_MAX;
}

static void check_limits(struct exam *to)
{
    struct jr_arena *arena = to->probe->arena;
    uint64_t files = process_limit_of(to->probe, "Max open files", true);
    uint64_t locked = process_limit_of(to->probe, "Max locked memory", false);
    struct jr_strv fabric = jr_names_list(to->probe, "/sys/class/infiniband", "_");
    if (files < JR_NOFILE_LEAST)
        add_health_finding(to,
                           jr_arena_printf(arena, "a process may open at most %llu files",
                                           (unsigned long long)files),
                           jr_arena_printf(arena,
                                           "raise the hard limit of nofile, as root: ulimit -Hn "
                                           "%u, or LimitNOFILE of the service that started this",
                                           JR_NOFILE_LEAST));
    if (fabric.count > 0 && locked != UINT64_MAX)
        add_health_finding(to,
                           jr_arena_printf(arena,
                                           "there is InfiniBand (%s), but a process may lock "
                                           "only %llu KiB of memory; RDMA needs more",
                                           fabric.items[0], (unsigned long long)locked / 1024),
                           "ulimit -l unlimited; under Slurm, LimitMEMLOCK of slurmd, and "
                           "PropagateResourceLimitsExcept=MEMLOCK");
}

/* The size of /dev/shm by /proc/self/mountinfo: half of the memory, unless the mount says otherwise
 * (tmpfs(5)), by bytes as mount(8) writes them, `65536k`. */
static void check_shm(struct exam *to)
{
    static const char units[] = "kmg";
    char *text = jr_host_reader_text(to->probe, "/proc/self/mountinfo");
    uint64_t size = text == NULL ? UINT64_MAX : 0; /* 0: it is not there, or no such size */
    for (char *line; (line = strsep(&text, "\n")) != NULL;) {
        const char *options = strstr(line, " - tmpfs ");
        if (strstr(line, " /dev/shm ") == NULL || options == NULL)
            continue;
        const char *stated = strstr(options, "size=");
        size = UINT64_MAX;
        if (stated == NULL)
            continue;
        stated += strlen("size=");
        if (!jr_num_digits(&stated, &size))
            size = 0;
        const char *unit = *stated == '\0' || *stated == ',' ? NULL : strchr(units, *stated);
        size = unit == NULL ? size : size << (10 * (unit - units + 1));
    }
    if (size >= JR_SHM_LEAST)
        return;
    add_health_finding(to,
                       size == 0 ? "/dev/shm is not mounted; processes of a node exchange "
                                   "data through it"
                                 : jr_arena_printf(to->probe->arena,
                                                   "/dev/shm holds %.2f GiB, which is little "
                                                   "for NCCL and for data loaders",
                                                   (double)size / GIB),
                       "docker run --shm-size=8g, or --ipc=host; in Kubernetes an emptyDir "
                       "of medium Memory at /dev/shm");
}

/* Set, and by no launcher that jobrun knows. */
static void check_stale(struct exam *to)
{
    static const char *const names[] = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR"};
    const char *set = NULL;
    struct jr_host_reader *probe = to->probe;
    if (to->hw->scheduler.name != NULL || jr_env_get(probe->envp, "JOBRUN_RANK_DIR") != NULL)
        return;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (jr_env_get(probe->envp, names[i]) != NULL)
            set = jr_arena_printf(&probe->scratch, "%s%s%s", set != NULL ? set : "",
                                  set != NULL ? " " : "", names[i]);
    if (set != NULL)
        add_health_finding(
            to, jr_arena_printf(probe->arena, "set, but by no launcher that is there: %s", set),
            "jobrun ignores them: whether they count processes or pods is not "
            "known. Unset them, or state nodes and node_rank");
}

uint32_t jr_host_examine(struct jr_host_finding **ret, struct jr_arena *arena,
                         const struct jr_host *hw, const char *root, char *const *envp)
{
    struct jr_host_reader probe = {.arena = arena, .root = root, .envp = envp};
    struct exam exam = {.probe = &probe, .hw = hw};
    struct timex clock = {.modes = 0};
    unsigned kinds = 0;
    for (uint32_t i = 0; i < hw->problems_count; i++)
        add_health_finding(&exam, hw->problems[i].message, hw->problems[i].help);
    if (hw->scheduler.problem != NULL)
        add_health_finding(&exam, hw->scheduler.problem, hw->scheduler.help);
    if (hw->scheduler.step && hw->scheduler.tasks_here > 1)
        add_health_finding(&exam, "the launcher has started more than one process on this node",
                           "start jobrun once per node; it starts the ranks itself");
    for (uint32_t i = 0; i < hw->devices_count; i++)
        if (hw->devices[i].visible)
            kinds |= 1u << hw->devices[i].kind;
    if ((kinds & (kinds - 1)) != 0) /* each is usable, and so the spec has to choose */
        add_health_finding(&exam, "devices of more than one vendor are here",
                           "state device in the spec, or hide one kind with its variable");
    check_quota(&exam);
    if (hw->port_low <= 29500)
        add_health_finding(&exam,
                           jr_arena_printf(arena,
                                           "the kernel uses ports from %u on for outgoing "
                                           "connections, including 29500",
                                           hw->port_low),
                           "set net.ipv4.ip_local_port_range to begin at 32768, or reserve the "
                           "port with net.ipv4.ip_local_reserved_ports");
    if (root != NULL) {
        check_limits(&exam);
        check_shm(&exam);
        check_stale(&exam);
        /* what several nodes write has no order without it */
        if (hw->real && adjtimex(&clock) >= 0 && (clock.status & STA_UNSYNC) != 0)
            add_health_finding(&exam, "the clock is not synchronised, as far as the kernel knows",
                               "on several nodes, run chrony or ntpd; on one node it does not "
                               "matter");
    }
    arena->failed = arena->failed || probe.scratch.failed;
    jr_arena_release(&probe.scratch);
    *ret = exam.findings;
    return (uint32_t)exam.count;
}
