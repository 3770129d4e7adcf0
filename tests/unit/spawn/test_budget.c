/* What a run costs, counted before it starts: limits that ranks get, and
 * descriptors that jobrun needs. */
#include "spawn/budget.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

/* The limits of this process are the test's to lower: each case is a process of
 * its own, whose exit code says whether it was well. */
static void in_other_process(bool (*run)(void))
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(run() ? 0 : 1);
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_EQUAL(status, 0);
}

static const struct jr_limit *find_limit(const struct jr_limit_list *list,
                                         int resource)
{
    for (unsigned i = 0; i < list->count; i++)
        if (list->items[i].resource == resource)
            return &list->items[i];
    return NULL;
}

/* Without a stated one nothing is set. */
static void sets_what_is_stated(void)
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
static void reads_sizes(void)
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
                        vectors[i].value > found.rlim_max ? vectors[i].value
                                                          : found.rlim_max);
    }
}

/* More than this user may have is refused, with the name, the value and the
 * limit; what was made is left as it was. */
static bool refuse_more(void)
{
    const struct rlimit low = {50, 100};
    const struct jr_limits limits = {.core = (char *)"1",
                                     .nofile = (char *)"101"};
    struct jr_limit_list list = {.count = 77};
    struct jr_error err = {0};
    struct rlimit after;
    if (setrlimit(RLIMIT_NOFILE, &low) != 0 ||
        (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0))
        return false;
    bool refused = jr_limits_make(&list, &limits, &err) != 0;
    return refused && list.count == 77 && err.status == JR_STATUS_LAUNCH &&
           strcmp(err.text, "limits.nofile: 101 is more than the hard limit, "
                            "100, which jobrun may not raise (ulimit -H, "
                            "limits.conf)") == 0 &&
           getrlimit(RLIMIT_NOFILE, &after) == 0 && after.rlim_cur == 50 &&
           after.rlim_max == 100;
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
    return jr_limits_make(&list, &limits, &err) == 0 &&
           list.items[0].limit.rlim_cur == 100 &&
           list.items[0].limit.rlim_max == 100;
}

static void no_more_than_is_allowed(void)
{
    in_other_process(refuse_more);
    in_other_process(allow_as_much);
}

/* What jobrun raised for itself the ranks get back, unless they have their
 * own. */
static void restores_what_was_raised(void)
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
        job.ranks[i] =
            (struct jr_plan_rank){.on_console = true, .out = out, .err = err};
    return job;
}

/* 96 of jobrun's own, one a rank, one for each stream through it, one for each
 * lease, and with leases those of 16 callers and of who serves them. */
static bool needs_no_more_than_it_says(void)
{
    static const struct {
        enum jr_sink out, err;
        bool returns;
        uint32_t leases;
        rlim_t least; /* descriptors */
        unsigned files;
    } vectors[] = {
        {JR_SINK_FILE, JR_SINK_FILE, false, 0, 106, 0},
        {JR_SINK_CONSOLE, JR_SINK_FILE, false, 0, 116, 0},
        {JR_SINK_CONSOLE, JR_SINK_CONSOLE, false, 0, 126, 0},
        {JR_SINK_CONSOLE, JR_SINK_CONSOLE, true, 0, 136, 0},
        {JR_SINK_CONSOLE, JR_SINK_CONSOLE, false, 1, 145, 0},
        {JR_SINK_CONSOLE, JR_SINK_CONSOLE, false, 5, 149, 0},
        {JR_SINK_FILE | JR_SINK_CONSOLE, JR_SINK_FILE, false, 0, 126, 10},
        {JR_SINK_FILE | JR_SINK_CONSOLE, JR_SINK_CONSOLE, false, 0, 136, 10},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct job job = make_job(vectors[i].out, vectors[i].err);
        job.plan.returns = vectors[i].returns;
        job.options.leases_count = vectors[i].leases;
        rlim_t least = vectors[i].least;
        if (check(&job, least, 4096) != 0 || job.budget.raise ||
            job.budget.files != vectors[i].files ||
            job.budget.limits.count != 0)
            return false;
        if (check(&job, least - 1, 4096) != 0 || !job.budget.raise ||
            job.budget.wanted.rlim_cur != 4096 ||
            job.budget.nofile.rlim_cur != least - 1)
            return false;
        const struct jr_limit *back =
            find_limit(&job.budget.limits, RLIMIT_NOFILE);
        if (back == NULL || back->limit.rlim_cur != least - 1)
            return false;
    }
    return true;
}

/* More than the hard limit is refused, with both numbers. */
static bool refuses_what_does_not_fit(void)
{
    struct job job = make_job(JR_SINK_CONSOLE, JR_SINK_CONSOLE);
    if (check(&job, 125, 125) != -1 || job.err.status != JR_STATUS_LAUNCH)
        return false;
    return strcmp(job.err.text,
                  "10 ranks need 126 file descriptors, and the hard limit is "
                  "125: raise it (ulimit -Hn), or redirect more ranks to files "
                  "only") == 0;
}

/* Files with a limit are two; where there is no room for all, those that are
 * open at once take turns. */
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

static void counts_descriptors(void)
{
    in_other_process(needs_no_more_than_it_says);
    in_other_process(refuses_what_does_not_fit);
    in_other_process(files_take_turns);
}

/* So many processes are no machine's. */
static void counts_processes(void)
{
    struct jr_policy policy = {0};
    struct jr_plan_rank *ranks = calloc(5000000, sizeof *ranks);
    struct jr_plan plan = {.policy = &policy, .ranks = ranks};
    const struct jr_run_options options = {.out_fd = -1, .err_fd = -1};
    struct jr_budget budget;
    struct jr_error err = {0};
    CU_ASSERT_PTR_NOT_NULL_FATAL(ranks);
    plan.count = 5000000;
    CU_ASSERT_EQUAL(jr_budget_check(&budget, &plan, &options, &err), -1);
    CU_ASSERT_EQUAL(err.status, JR_STATUS_LAUNCH);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "5000000 ranks need 50000"));
    free(ranks);
}

JR_UNIT_MAIN("budget", CASE(sets_what_is_stated), CASE(reads_sizes),
             CASE(no_more_than_is_allowed), CASE(restores_what_was_raised),
             CASE(counts_descriptors), CASE(counts_processes))
