#include "spawn/budget.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/backlog.h"
#include "base/io.h"
#include "base/num.h"
#include "spawn/control.h"
#include "spawn/start.h"

#include "base/banned.h"

/* Whether the kernel lets us: by trying, for that root may is not always so. */
static bool may_raise(int resource, const struct rlimit *limit)
{
    struct rlimit found;
    struct rlimit raised = {.rlim_max = limit->rlim_max};
    if (getrlimit((__rlimit_resource_t)resource, &found) != 0)
        return false;
    raised.rlim_cur = found.rlim_cur;
    if (setrlimit((__rlimit_resource_t)resource, &raised) != 0)
        return false;
    return setrlimit((__rlimit_resource_t)resource, &found) == 0;
}

int jr_limits_make(struct jr_limit_list *ret, const struct jr_limits *wanted, struct jr_error *err)
{
    const struct {
        const char *name, *text;
        int resource;
    } rows[] = {
        {"nofile", wanted->nofile, RLIMIT_NOFILE},
        {"core", wanted->core, RLIMIT_CORE},
        {"memlock", wanted->memlock, RLIMIT_MEMLOCK},
        {"stack", wanted->stack, RLIMIT_STACK},
        {"as", wanted->as, RLIMIT_AS},
        {"nproc", wanted->nproc, RLIMIT_NPROC},
    };
    struct jr_limit_list list = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rlimit limit;
        uint64_t value;
        if (rows[i].text == NULL || getrlimit((__rlimit_resource_t)rows[i].resource, &limit) != 0)
            continue;
        rlim_t hard = limit.rlim_max;
        /* The spec has checked the form; what is beyond 64 bits is as good as none. */
        bool bounded = strcmp(rows[i].text, "unlimited") != 0 && jr_num_size(rows[i].text, &value);
        limit.rlim_cur = bounded ? (rlim_t)value : RLIM_INFINITY;
        if (limit.rlim_cur > limit.rlim_max)
            limit.rlim_max = limit.rlim_cur;
        if (limit.rlim_max > hard && !may_raise(rows[i].resource, &limit))
            return jr_error_set(err, JR_STATUS_LAUNCH,
                                "limits.%s: %s is more than the hard limit, %" PRIu64
                                ", which jobrun may not raise (ulimit -H, limits.conf)",
                                rows[i].name, rows[i].text, (uint64_t)hard);
        list.items[list.count++] = (struct jr_limit){rows[i].resource, limit};
    }
    *ret = list;
    return 0;
}

void jr_limits_restore(struct jr_limit_list *list, int resource, const struct rlimit *found)
{
    for (unsigned i = 0; i < list->count; i++)
        if (list->items[i].resource == resource)
            return;
    list->items[list->count++] = (struct jr_limit){resource, *found};
}

#define OWN_FDS   96 /* the runner's, and what it inherited, but for leases */
#define OWN_PROCS 2  /* guard and runner */
/* Log files that are open at once at least, where there are so many; the others take turns, see
 * log_file.h. A file with a limit is two. */
#define FILES_LEAST 64

static int check_descriptors(struct jr_budget *ret, const struct jr_plan *plan,
                             const struct jr_run_options *options, struct jr_error *err)
{
    struct jr_start_cost cost = jr_start_cost(plan, options);
    uint64_t files = cost.files * (plan->policy->log_limit != NULL ? 2 : 1);
    uint64_t least = files < FILES_LEAST ? files : FILES_LEAST;
    uint64_t needed = OWN_FDS + plan->count + cost.pipes;
    if (options->leases_count > 0) /* and the connections of those who wait for the end of one */
        needed += (uint64_t)options->leases_count + JR_BACKLOG_FDS;
    if (jr_control_wanted(plan))
        needed += plan->count;
    if (plan->mpi.protocol == JR_MPI_PROTOCOL_PMI1)
        needed += plan->count;
    if (getrlimit(RLIMIT_NOFILE, &ret->nofile) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "RLIMIT_NOFILE");
    ret->wanted = ret->nofile;
    ret->lines = needed + least + plan->count <= ret->nofile.rlim_max;
    if (ret->lines)
        needed += plan->count;
    if (needed + files > ret->nofile.rlim_cur) {
        ret->raise = true;
        ret->wanted.rlim_cur = ret->nofile.rlim_max;
    }
    uint64_t left = ret->wanted.rlim_cur - needed;
    ret->files = (unsigned)(files < left ? files : left);
    ret->descriptors = needed + ret->files;
    if (needed + least <= ret->wanted.rlim_cur)
        return 0;
    return jr_error_set(
        err, JR_STATUS_LAUNCH,
        "%u ranks need %" PRIu64 " file descriptors, and the hard limit is %ju:"
        " raise it, as root (ulimit -Hn %" PRIu64 "), or redirect more ranks to files only",
        plan->count, needed + least, (uintmax_t)ret->nofile.rlim_max, needed + least);
}

/* A limit on processes and how much of it is used (0: not known); `max` 0: no limit. */
struct process_limit {
    uint64_t max, used;
    const char *what;
};

static uint64_t read_limit_number(const char *path)
{
    struct jr_buf text = JR_BUF_INIT;
    uint64_t number = 0;
    if (jr_io_fact(&text, "", path))
        (void)jr_num_u64(text.data, &number);
    jr_buf_release(&text);
    return number;
}

/* The folder of the controller `pids` that we are in, of version 1 or 2. */
static struct process_limit cgroup_limit(void)
{
    struct process_limit limit = {.what = "the cgroup's pids.max"};
    struct jr_buf text = JR_BUF_INIT;
    char path[4200];
    bool found = jr_io_fact(&text, "", "/proc/self/cgroup");
    const char *first = found ? strstr(text.data, ":pids:") : NULL;
    const char *second = found ? strstr(text.data, "0::") : NULL;
    const char *at = first != NULL ? first + 6 : second ? second + 3 : "";
    int len = (int)strcspn(at, "\n");
    const char *root = first != NULL ? "/sys/fs/cgroup/pids" : "/sys/fs/cgroup";
    if (len > 0 && len < 4000) {
        (void)snprintf(path, sizeof path, "%s%.*s/pids.max", root, len, at);
        limit.max = read_limit_number(path);
        (void)snprintf(path, sizeof path, "%s%.*s/pids.current", root, len, at);
        limit.used = read_limit_number(path);
    }
    jr_buf_release(&text);
    return limit;
}

static int check_processes(const struct jr_plan *plan, struct jr_error *err)
{
    struct process_limit limits[] = {
        {.max = read_limit_number("/proc/sys/kernel/pid_max"), .what = "kernel.pid_max"},
        {.what = "RLIMIT_NPROC (ulimit -u)"},
        cgroup_limit()};
    JR_BUF_CLEANUP struct jr_buf load = JR_BUF_INIT;
    struct rlimit found;
    /* The tasks that the whole machine has. */
    if (!jr_io_fact(&load, "", "/proc/loadavg") ||
        sscanf(load.data, "%*s %*s %*s %*d/%" SCNu64, &limits[0].used) != 1)
        limits[0].used = 0;
    /* Root is not counted by RLIMIT_NPROC. */
    if (geteuid() != 0 && getrlimit(RLIMIT_NPROC, &found) == 0 && found.rlim_cur != RLIM_INFINITY)
        limits[1].max = found.rlim_cur;
    uint64_t needed = (uint64_t)plan->count + OWN_PROCS;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        const struct process_limit *limit = &limits[i];
        if (limit->max == 0 || needed + limit->used <= limit->max)
            continue;
        char used[64] = "";
        if (limit->used > 0)
            (void)snprintf(used, sizeof used, ", of which %" PRIu64 " are in use", limit->used);
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "%u ranks need %" PRIu64 " processes, and %s "
                            "allows %" PRIu64 "%s",
                            plan->count, needed, limit->what, limit->max, used);
    }
    return 0;
}

int jr_budget_check(struct jr_budget *ret, const struct jr_plan *plan,
                    const struct jr_run_options *options, struct jr_error *err)
{
    *ret = (struct jr_budget){0};
    if (jr_limits_make(&ret->limits, &plan->policy->limits, err) != 0 ||
        check_descriptors(ret, plan, options, err) != 0)
        return -1;
    if (ret->raise)
        jr_limits_restore(&ret->limits, RLIMIT_NOFILE, &ret->nofile);
    return check_processes(plan, err);
}
