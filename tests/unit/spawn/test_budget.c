/* What a run costs, counted before it starts: limits that ranks get, and descriptors that jobrun
 * needs. */
#include "spawn/budget.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elsewhere.h"
#include "scratch.h"

static const struct jr_limit *find_limit(const struct jr_limit_list *list, int resource)
{
    for (unsigned i = 0; i < list->count; i++)
        if (list->items[i].resource == resource)
            return &list->items[i];
    return NULL;
}

/* Without a stated one nothing is set. */
TEST(sets_what_is_stated)
{
    static const int resources[] = {RLIMIT_NOFILE, RLIMIT_CORE, RLIMIT_MEMLOCK,
                                    RLIMIT_STACK,  RLIMIT_AS,   RLIMIT_NPROC};
    struct jr_limits none = {0};
    struct jr_limit_list list = {.count = 9};
    struct jr_error err = {0};
    CU_ASSERT_EQUAL(jr_limits_make(&list, &none, &err), 0);
    CU_ASSERT_EQUAL(list.count, 0);
    for (int i = 0; i < 6; i++) {
        char *texts[6] = {NULL};
        texts[i] = (char *)"0";
        const struct jr_limits limits = {.nofile = texts[0],
                                         .core = texts[1],
                                         .memlock = texts[2],
                                         .stack = texts[3],
                                         .as = texts[4],
                                         .nproc = texts[5]};
        struct rlimit found;
        CU_ASSERT_EQUAL(jr_limits_make(&list, &limits, &err), 0);
        CU_ASSERT_EQUAL_FATAL(list.count, 1);
        CU_ASSERT_EQUAL(list.items[0].resource, resources[i]);
        CU_ASSERT_EQUAL(list.items[0].limit.rlim_cur, 0);
        (void)getrlimit((__rlimit_resource_t)resources[i], &found);
        CU_ASSERT_EQUAL(list.items[0].limit.rlim_max, found.rlim_max);
    }
}

/* The soft limit is what is stated, in its unit; "unlimited" is no limit. */
TEST(reads_sizes)
{
    static const struct {
        const char *text;
        rlim_t value;
    } vectors[] = {
        {"0", 0},
        {"1", 1},
        {"64", 64},
        {"64KiB", 64 << 10},
        {"1MiB", 1 << 20},
        {"unlimited", RLIM_INFINITY},
        {"99999999999999999999", RLIM_INFINITY},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const struct jr_limits limits = {.core = (char *)vectors[i].text};
        struct jr_limit_list list;
        struct jr_error err = {0};
        struct rlimit found;
        (void)getrlimit(RLIMIT_CORE, &found);
        int result = jr_limits_make(&list, &limits, &err);
        if (result != 0) { /* this user may not raise it */
            CU_ASSERT_TRUE(vectors[i].value > found.rlim_max);
            continue;
        }
        CU_ASSERT_EQUAL(list.items[0].limit.rlim_cur, vectors[i].value);
        CU_ASSERT_EQUAL(list.items[0].limit.rlim_max,
                        vectors[i].value > found.rlim_max ? vectors[i].value : found.rlim_max);
    }
}

/* More than this user may have is refused, with the name, the value and the limit; what was made is
 * left as it was. */
static bool refuse_more(void)
{
    const struct rlimit low = {50, 100};
    const struct jr_limits limits = {.core = (char *)"1", .nofile = (char *)"101"};
    struct jr_limit_list list = {.count = 77};
    struct jr_error err = {0};
    struct rlimit after;
    if (setrlimit(RLIMIT_NOFILE, &low) != 0 ||
        (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0))
        return false;
    bool refused = jr_limits_make(&list, &limits, &err) != 0;
    return refused && list.count == 77 && err.status == JR_STATUS_LAUNCH &&
           strcmp(err.text, "limits.nofile: 101 is more than the hard limit, 100, which "
                            "jobrun may not raise (ulimit -H, limits.conf)") == 0 &&
           getrlimit(RLIMIT_NOFILE, &after) == 0 && after.rlim_cur == 50 && after.rlim_max == 100;
}

static bool allow_as_much(void)
{
    const struct rlimit low = {50, 100};
    const struct jr_limits limits = {.nofile = (char *)"100"};
    struct jr_limit_list list;
    struct jr_error err = {0};
    if (setrlimit(RLIMIT_NOFILE, &low) != 0 ||
        (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0))
        return false;
    return jr_limits_make(&list, &limits, &err) == 0 && list.items[0].limit.rlim_cur == 100 &&
           list.items[0].limit.rlim_max == 100;
}

TEST(no_more_than_is_allowed)
{
    ELSEWHERE(refuse_more());
    ELSEWHERE(allow_as_much());
}

/* What jobrun raised for itself the ranks get back, unless they have their own. */
TEST(restores_what_was_raised)
{
    const struct rlimit found = {7, 8};
    struct jr_limit_list list = {1, {{RLIMIT_CORE, {0, 0}}}};
    jr_limits_restore(&list, RLIMIT_NOFILE, &found);
    CU_ASSERT_EQUAL(list.count, 2);
    CU_ASSERT_EQUAL(find_limit(&list, RLIMIT_NOFILE)->limit.rlim_cur, 7);
    CU_ASSERT_EQUAL(find_limit(&list, RLIMIT_NOFILE)->limit.rlim_max, 8);
    jr_limits_restore(&list, RLIMIT_NOFILE, &(struct rlimit){1, 1});
    jr_limits_restore(&list, RLIMIT_CORE, &(struct rlimit){1, 1});
    CU_ASSERT_EQUAL(list.count, 2);
    CU_ASSERT_EQUAL(find_limit(&list, RLIMIT_CORE)->limit.rlim_cur, 0);
    CU_ASSERT_EQUAL(find_limit(&list, RLIMIT_NOFILE)->limit.rlim_cur, 7);
}

enum { RANKS = 10 };

/* A job of ten ranks, whose streams go through jobrun. */
struct job {
    struct jr_policy policy;
    struct jr_plan_rank ranks[RANKS];
    struct jr_plan plan;
    struct jr_run_options options;
    struct jr_budget budget;
    struct jr_error err;
};

static int check(struct job *job, rlim_t soft, rlim_t hard)
{
    const struct rlimit limit = {soft, hard};
    job->plan.policy = &job->policy;
    job->plan.ranks = job->ranks;
    job->plan.count = RANKS;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return -2;
    return jr_budget_check(&job->budget, &job->plan, &job->options, &job->err);
}

static struct job make_job(enum jr_sink out, enum jr_sink err)
{
    struct job job = {.options = {.out_fd = 1, .err_fd = 2}};
    for (int i = 0; i < RANKS; i++)
        job.ranks[i] = (struct jr_plan_rank){.on_console = true, .out = out, .err = err};
    return job;
}

/* 96 of jobrun's own, one a rank, one for each stream through it, one for each lease, and with
 * leases those of 16 callers and of who serves them. */
static bool needs_no_more_than_it_says(void)
{
    static const struct {
        enum jr_sink out, err;
        bool returns;
        uint32_t leases;
        rlim_t least; /* descriptors */
        unsigned files;
    } vectors[] = {
        {JR_SINK_FILE, JR_SINK_FILE, false, 0, 116, 0},
        {JR_SINK_CONSOLE, JR_SINK_FILE, false, 0, 126, 0},
        {JR_SINK_CONSOLE, JR_SINK_CONSOLE, false, 0, 136, 0},
        {JR_SINK_CONSOLE, JR_SINK_CONSOLE, true, 0, 146, 0},
        {JR_SINK_CONSOLE, JR_SINK_CONSOLE, false, 1, 155, 0},
        {JR_SINK_CONSOLE, JR_SINK_CONSOLE, false, 5, 159, 0},
        {JR_SINK_FILE | JR_SINK_CONSOLE, JR_SINK_FILE, false, 0, 136, 10},
        {JR_SINK_FILE | JR_SINK_CONSOLE, JR_SINK_CONSOLE, false, 0, 146, 10},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct job job = make_job(vectors[i].out, vectors[i].err);
        job.plan.returns = vectors[i].returns;
        job.options.leases_count = vectors[i].leases;
        rlim_t least = vectors[i].least;
        if (check(&job, least, 4096) != 0 || job.budget.raise ||
            job.budget.files != vectors[i].files || !job.budget.lines ||
            job.budget.limits.count != 0)
            return false;
        if (check(&job, least - 1, 4096) != 0 || !job.budget.raise ||
            job.budget.wanted.rlim_cur != 4096 || job.budget.nofile.rlim_cur != least - 1)
            return false;
        const struct jr_limit *back = find_limit(&job.budget.limits, RLIMIT_NOFILE);
        if (back == NULL || back->limit.rlim_cur != least - 1)
            return false;
    }
    return true;
}

/* More than the hard limit is refused, with both numbers. */
static bool refuses_what_does_not_fit(void)
{
    struct job job = make_job(JR_SINK_CONSOLE, JR_SINK_CONSOLE);
    /* Life lines are what a rank may do without. */
    if (check(&job, 126, 136) != 0 || !job.budget.lines || check(&job, 126, 135) != 0 ||
        job.budget.lines)
        return false;
    if (check(&job, 125, 125) != -1 || job.err.status != JR_STATUS_LAUNCH)
        return false;
    return strcmp(job.err.text, "10 ranks need 126 file descriptors, and the hard limit is "
                                "125: raise it, as root (ulimit -Hn 126), or redirect more "
                                "ranks to files only") == 0;
}

/* Files with a limit are two; where there is no room for all, those that are open at once take
 * turns. */
static bool files_take_turns(void)
{
    struct job job = make_job(JR_SINK_FILE | JR_SINK_CONSOLE, JR_SINK_CONSOLE);
    job.policy.log_limit = (char *)"1M";
    if (check(&job, 4096, 4096) != 0 || job.budget.files != 20)
        return false;
    if (check(&job, 146, 146) != 0 || job.budget.files != 20)
        return false;
    return check(&job, 145, 145) == -1; /* twenty are less than 64 */
}

/* Those that write logs take turns from sixty-four on. */
static bool many_files_take_turns(void)
{
    static struct jr_plan_rank ranks[70];
    static const struct {
        rlim_t limit;
        int status;
        unsigned files;
    } vectors[] = {{306, 0, 70}, {305, 0, 69}, {300, 0, 64}, {299, -1, 63}};
    struct job job = make_job(JR_SINK_FILE, JR_SINK_FILE);
    for (int i = 0; i < 70; i++)
        ranks[i] = (struct jr_plan_rank){
            .on_console = true, .out = JR_SINK_FILE | JR_SINK_CONSOLE, .err = JR_SINK_FILE};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const struct rlimit limit = {vectors[i].limit, vectors[i].limit};
        job.plan = (struct jr_plan){.policy = &job.policy, .ranks = ranks, .count = 70};
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
            return false;
        if (jr_budget_check(&job.budget, &job.plan, &job.options, &job.err) != vectors[i].status ||
            job.budget.files != vectors[i].files)
            return false;
    }
    return true;
}

/* A rank's stream to its process manager is one more. */
static bool counts_what_mpi_needs(void)
{
    struct job job = make_job(JR_SINK_FILE, JR_SINK_FILE);
    job.plan.mpi.protocol = JR_MPI_PROTOCOL_PMI1;
    return check(&job, 126, 4096) == 0 && !job.budget.raise && check(&job, 125, 4096) == 0 &&
           job.budget.raise;
}

TEST(counts_descriptors)
{
    ELSEWHERE(many_files_take_turns());
    ELSEWHERE(counts_what_mpi_needs());
    ELSEWHERE(needs_no_more_than_it_says());
    ELSEWHERE(refuses_what_does_not_fit());
    ELSEWHERE(files_take_turns());
}

/* Of a user: root has no limit of this kind. */
static bool counts_processes_of_a_user(void)
{
    struct job job = make_job(JR_SINK_FILE, JR_SINK_FILE);
    const struct rlimit less = {11, 12}, enough = {12, 12};
    bool root = geteuid() == 0;
    if (setrlimit(RLIMIT_NPROC, &less) != 0 || check(&job, 4096, 4096) != (root ? 0 : -1) ||
        (root && setresuid(65534, 65534, 65534) != 0))
        return false;
    if (check(&job, 4096, 4096) != -1 || job.err.status != JR_STATUS_LAUNCH ||
        strcmp(job.err.text, "10 ranks need 12 processes, and RLIMIT_NPROC "
                             "(ulimit -u) allows 11") != 0)
        return false;
    return setrlimit(RLIMIT_NPROC, &enough) == 0 && check(&job, 4096, 4096) == 0;
}

/* A file in the place of one of the kernel's, in a mount namespace of ours. */
static bool plant(const struct scratch *scratch, const char *path, const char *text)
{
    static int count;
    char name[16], from[64];
    (void)snprintf(name, sizeof name, "%d", count++);
    (void)snprintf(from, sizeof from, "%s/%s", scratch->dir, name);
    scratch_write(scratch, name, text);
    return mount(from, path, NULL, MS_BIND, NULL) == 0;
}

static void enter_mounts(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        _exit(SKIPPED);
}

/* All tasks that there are count against what the kernel has numbers for. */
static bool counts_processes_of_the_machine(void)
{
    static const struct {
        const char *max, *load;
        int status;
        const char *told;
    } vectors[] = {
        {"21", "0.10 0.20 0.30 3/9 77", 0, ""},
        {"20", "0.10 0.20 0.30 3/9 77", -1,
         "10 ranks need 12 processes, and kernel.pid_max allows 20, of which 9 are in use"},
        {"11", "nothing", -1, "10 ranks need 12 processes, and kernel.pid_max allows 11"},
        {"none", "0.10 0.20 0.30 3/9 77", 0, ""},
    };
    struct scratch scratch;
    bool good = true, planted = true;
    enter_mounts();
    scratch_start(&scratch);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct job job = make_job(JR_SINK_FILE, JR_SINK_FILE);
        planted &= plant(&scratch, "/proc/sys/kernel/pid_max", vectors[i].max) &&
                   plant(&scratch, "/proc/loadavg", vectors[i].load);
        good &= check(&job, 4096, 4096) == vectors[i].status &&
                strcmp(job.err.text, vectors[i].told) == 0;
    }
    scratch_end(&scratch);
    if (!planted)
        _exit(SKIPPED);
    return good;
}

/* Files of a control group in the place of the kernel's. */
static bool plant_cgroup(const struct scratch *scratch, const char *groups, const char *folder)
{
    char path[128];
    (void)snprintf(path, sizeof path, "/sys/fs/cgroup%s", folder);
    enter_mounts();
    if (mount("test", "/sys/fs/cgroup", "tmpfs", 0, NULL) != 0 ||
        !plant(scratch, "/proc/self/cgroup", groups))
        return false;
    for (char *at = path + strlen("/sys/fs/cgroup/"); *at != '\0'; at++)
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(path, 0700);
            *at = '/';
        }
    return mkdir(path, 0700) == 0 && chdir(path) == 0;
}

static void write_here(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        _exit(1);
    (void)close(fd);
}

static bool check_cgroup(const char *groups, const char *folder)
{
    static const struct {
        const char *max, *used;
        int status;
        const char *told;
    } vectors[] = {
        {"20", "8", 0, ""},
        {"20", "9", -1,
         "10 ranks need 12 processes, and the cgroup's pids.max allows 20, of which 9 are in use"},
        {"11", "0", -1, "10 ranks need 12 processes, and the cgroup's pids.max allows 11"},
        {"12", "0", 0, ""},
        {"max", "9", 0, ""},
    };
    struct scratch scratch;
    bool good = true;
    scratch_start(&scratch);
    if (!plant_cgroup(&scratch, groups, folder)) {
        scratch_end(&scratch);
        _exit(SKIPPED);
    }
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct job job = make_job(JR_SINK_FILE, JR_SINK_FILE);
        write_here("pids.max", vectors[i].max);
        write_here("pids.current", vectors[i].used);
        good &= check(&job, 4096, 4096) == vectors[i].status &&
                strcmp(job.err.text, vectors[i].told) == 0;
    }
    scratch_end(&scratch);
    return good;
}

TEST(counts_processes)
{
    ELSEWHERE(counts_processes_of_the_machine());
    ELSEWHERE(counts_processes_of_a_user());
    /* The controller of version 1 has a place of its own. */
    ELSEWHERE(check_cgroup("3:cpu:/other\n2:pids:/a\n0::/b\n", "/pids/a"));
    ELSEWHERE(check_cgroup("0::/b/c\n", "/b/c"));
}
