#include "judge/restart.h"

#include <signal.h>

#include "fake_run.h"
#include "store/outcome.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct jr_attempt FAILED = {
    .status = JR_RUN_FAILED,
    .exit_code = 1,
    .failed = true,
    .on = "",
    .cause = "rank 0 exited with code 1",
    .how = "exited with code 1",
    .lived_ns = 1000,
};

/* A history of `count` attempts, each a minute long, one after the other. */
static struct jr_history make(struct jr_attempt *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        items[i] = FAILED;
        items[i].number = (uint32_t)i;
        items[i].started_ns = i * 60 * FAKE_SECOND;
        items[i].ended_ns = (i + 1) * 60 * FAKE_SECOND;
    }
    return (struct jr_history){.items = items, .count = count};
}

static struct jr_verdict decide(const struct jr_restart *spec, const struct jr_history *history)
{
    const struct jr_policy policy = {.restart = *spec};
    struct jr_verdict verdict;
    jr_restart_decide(&verdict, &policy, history);
    return verdict;
}

/* What of the last attempt keeps the job from starting again, and how that is told. */
TEST(ends)
{
    static const struct {
        struct jr_attempt last;
        uint32_t max;
        const char *why;
    } rows[] = {
        {{.failed = true, .on = "", .how = ""}, 0, ""},
        {{.failed = false}, 3, ""},
        {{.failed = false, .left = "processes are left"}, 3, "processes are left"},
        {{.failed = true, .on = NULL, .how = ""}, 3, "restart.on does not name such a cause"},
        {{.failed = true, .on = "exit", .never = "exit:2", .how = ""},
         3,
         "restart.never names exit:2"},
        {{.failed = true, .on = NULL, .never = "oom", .how = ""}, 3, "restart.never names oom"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct jr_attempt items[1] = {rows[i].last};
        struct jr_history history = {.items = items, .count = 1};
        struct jr_restart spec = {.max = rows[i].max};
        struct jr_verdict verdict = decide(&spec, &history);
        CU_ASSERT_FALSE(verdict.again);
        CU_ASSERT_STRING_EQUAL(verdict.why, rows[i].why);
    }
}

TEST(allows_so_many)
{
    struct jr_attempt items[8];
    struct jr_restart spec = {.max = 3};
    for (size_t count = 1; count <= 4; count++) {
        struct jr_history history = make(items, count);
        struct jr_verdict verdict = decide(&spec, &history);
        CU_ASSERT_EQUAL(verdict.again, count <= 3);
        CU_ASSERT_EQUAL(verdict.counted, count - 1);
        CU_ASSERT_STRING_EQUAL(verdict.why, count <= 3 ? "" : "restart.max is 3");
    }
}

/* Attempts are a minute long: of the last three minutes are those that began then, the one that has
 * just ended among them. */
TEST(counts_within_the_window)
{
    struct jr_attempt items[40];
    struct jr_restart spec = {.max = 3, .window_ms = 179999};
    struct jr_history history = make(items, 40);
    struct jr_verdict verdict = decide(&spec, &history);
    CU_ASSERT_TRUE(verdict.again);
    CU_ASSERT_EQUAL(verdict.counted, 2);
    spec.window_ms++;
    verdict = decide(&spec, &history);
    CU_ASSERT_FALSE(verdict.again);
    CU_ASSERT_STRING_EQUAL(verdict.why, "restart.max is 3 within 3m");
    items[38].started_ns -= 180 * FAKE_SECOND;
    verdict = decide(&spec, &history);
    CU_ASSERT_TRUE(verdict.again);
}

TEST(waits_longer_each_time)
{
    static const uint64_t waits[] = {1000,  2000,   4000,   8000,   16000, 32000,
                                     64000, 128000, 256000, 300000, 300000};
    struct jr_attempt items[COUNT(waits)];
    struct jr_restart spec = {.max = UINT32_MAX, .backoff_ms = 1000};
    for (size_t i = 0; i < COUNT(waits); i++) {
        struct jr_history history = make(items, i + 1);
        CU_ASSERT_EQUAL(decide(&spec, &history).wait_ms, waits[i]);
    }
    struct jr_history history = make(items, 3);
    spec.backoff_ms = 3600 * 1000;
    CU_ASSERT_EQUAL(decide(&spec, &history).wait_ms, 3600 * 1000);
    spec.backoff_ms = UINT64_MAX / 1000000;
    CU_ASSERT_EQUAL(decide(&spec, &history).wait_ms, UINT64_MAX / 1000000);
    spec.backoff_ms = 0;
    CU_ASSERT_EQUAL(decide(&spec, &history).wait_ms, 0);
    spec = (struct jr_restart){.max = 3, .backoff_ms = 1000, .window_ms = 60000 - 1};
    CU_ASSERT_EQUAL(decide(&spec, &history).wait_ms, 1000);
}

/* The furthest step of each attempt, -1 for none; how many of the last ones got no further, and
 * than what. */
TEST(finds_stalls)
{
    static const struct {
        int64_t best[6];
        size_t count;
        uint32_t attempts;
        int64_t mark; /* -1: no attempt made a step */
    } rows[] = {
        {{5}, 1, 0, 5},
        {{-1}, 1, 0, -1},
        {{-1, -1}, 2, 1, -1},
        {{-1, 0}, 2, 0, 0},
        {{0, -1}, 2, 1, 0},
        {{5, 5}, 2, 1, 5},
        {{5, 6}, 2, 0, 6},
        {{5, 4, 3}, 3, 2, 5},
        {{5, 4, 6}, 3, 0, 6},
        {{5, 6, 5, -1}, 4, 2, 6},
        {{5, -1, -1, 6, 6, 2}, 6, 2, 6},
        {{-1, -1, 3, 3, -1, 3}, 6, 3, 3},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct jr_attempt items[6];
        struct jr_history history = make(items, rows[i].count);
        for (size_t k = 0; k < rows[i].count; k++) {
            items[k].stepped = rows[i].best[k] >= 0;
            items[k].best = items[k].stepped ? rows[i].best[k] : 0;
        }
        struct jr_stall stall = jr_restart_stall(&history);
        CU_ASSERT_EQUAL(stall.attempts, rows[i].attempts);
        CU_ASSERT_EQUAL(stall.stepped, rows[i].mark >= 0);
        CU_ASSERT_EQUAL(stall.stepped ? stall.step : -1, rows[i].mark);
    }
}

/* A stall ends the restarts, but nothing that would not have restarted. */
TEST(ends_a_stall)
{
    struct jr_attempt items[4];
    struct jr_policy policy = {.restart.max = 3, .progress.stall = 2};
    struct jr_verdict verdict;
    for (size_t count = 1; count <= 4; count++) {
        struct jr_history history = make(items, count);
        for (size_t i = 0; i < count; i++)
            items[i].stepped = true, items[i].best = 120;
        jr_restart_decide(&verdict, &policy, &history);
        CU_ASSERT_EQUAL(verdict.again, count < 3);
        CU_ASSERT_EQUAL(verdict.stall.attempts, count < 3 ? 0 : count - 1);
        items[count - 1].failed = false;
        jr_restart_decide(&verdict, &policy, &history);
        CU_ASSERT_EQUAL(verdict.stall.attempts, 0);
    }
    items[3].failed = true;
    struct jr_history history = {.items = items, .count = 4};
    jr_restart_decide(&verdict, &policy, &history);
    CU_ASSERT_STRING_EQUAL(
        verdict.why, "the last 3 attempts got no further than step 120 (progress.stall is 2)");
    CU_ASSERT_EQUAL(verdict.stall.step, 120);
    policy.progress.stall = 4;
    jr_restart_decide(&verdict, &policy, &history);
    CU_ASSERT_STRING_EQUAL(verdict.why, "restart.max is 3");
    policy = (struct jr_policy){.restart.max = 9, .progress.stall = 1};
    for (size_t i = 0; i < 4; i++)
        items[i].stepped = false;
    history.count = 2;
    jr_restart_decide(&verdict, &policy, &history);
    CU_ASSERT_STRING_EQUAL(verdict.why, "the last attempt made no step (progress.stall is 1)");
}

/* An attempt that is to be continued starts again by `requeue` alone, and as often as that
 * allows. */
TEST(continues)
{
    static char word[] = "preempted";
    static char *preempted[] = {word};
    struct jr_attempt items[5];
    struct jr_policy policy = {.requeue.max = 2, .restart.max = 1};
    struct jr_history history = make(items, 5);
    struct jr_verdict verdict;
    items[4] = (struct jr_attempt){.continues = JR_REQUEUE_PREEMPTED, .how = "was preempted"};
    jr_restart_decide(&verdict, &policy, &history);
    CU_ASSERT_TRUE(verdict.again);
    CU_ASSERT_EQUAL(verdict.requeue, JR_REQUEUE_PREEMPTED);
    CU_ASSERT_EQUAL(verdict.requeued, 0);
    CU_ASSERT_EQUAL(verdict.wait_ms, 0);
    items[0].requeued = items[2].requeued = items[3].requeued = true;
    items[0].continues = items[3].continues = JR_REQUEUE_LOST_NODE;
    jr_restart_decide(&verdict, &policy, &history);
    CU_ASSERT_FALSE(verdict.again);
    CU_ASSERT_EQUAL(verdict.requeued, 2);
    CU_ASSERT_STRING_EQUAL(verdict.why, "requeue.max is 2");
    policy.requeue = (struct jr_requeue){preempted, 1, 3};
    jr_restart_decide(&verdict, &policy, &history);
    CU_ASSERT_TRUE(verdict.again);
    items[4].left = "processes are left";
    jr_restart_decide(&verdict, &policy, &history);
    CU_ASSERT_FALSE(verdict.again);
    CU_ASSERT_STRING_EQUAL(verdict.why, "processes are left");
    items[4].left = NULL;
    items[4].continues = JR_REQUEUE_DEADLINE;
    jr_restart_decide(&verdict, &policy, &history);
    CU_ASSERT_FALSE(verdict.again);
    CU_ASSERT_STRING_EQUAL(verdict.why, "");
    items[4].continues = JR_REQUEUE_NONE;
    jr_restart_decide(&verdict, &policy, &history);
    CU_ASSERT_FALSE(verdict.again);
}

/* A lost node is a failure too, which `restart` may take where `requeue` does not; neither counts
 * what the other did. */
TEST(counts_each_by_itself)
{
    static char word[] = "deadline";
    static char *deadline[] = {word};
    struct jr_attempt items[4];
    struct jr_policy policy = {.requeue.max = 1, .restart.max = 2};
    struct jr_history history = make(items, 4);
    struct jr_verdict verdict;
    items[0].requeued = items[2].requeued = true;
    items[0].continues = items[2].continues = JR_REQUEUE_DEADLINE;
    jr_restart_decide(&verdict, &policy, &history);
    CU_ASSERT_TRUE(verdict.again);
    CU_ASSERT_EQUAL(verdict.requeue, JR_REQUEUE_NONE);
    CU_ASSERT_EQUAL(verdict.counted, 1);
    items[3].continues = JR_REQUEUE_LOST_NODE;
    jr_restart_decide(&verdict, &policy, &history);
    CU_ASSERT_FALSE(verdict.again);
    CU_ASSERT_STRING_EQUAL(verdict.why, "requeue.max is 1");
    items[2].continues = JR_REQUEUE_NONE; /* the scheduler did it by itself */
    items[0].continues = JR_REQUEUE_NONE;
    jr_restart_decide(&verdict, &policy, &history);
    CU_ASSERT_TRUE(verdict.again);
    CU_ASSERT_EQUAL(verdict.requeued, 0);
    policy.requeue.on = deadline;
    policy.requeue.on_count = 1;
    jr_restart_decide(&verdict, &policy, &history);
    CU_ASSERT_TRUE(verdict.again);
    CU_ASSERT_EQUAL(verdict.requeue, JR_REQUEUE_NONE);
}

/* A stall ends what would be continued, before `requeue.max` does. */
TEST(ends_a_stall_of_requeues)
{
    struct jr_attempt items[3];
    struct jr_policy policy = {.requeue.max = 2, .progress.stall = 2};
    struct jr_history history = make(items, 3);
    struct jr_verdict verdict;
    for (size_t i = 0; i < 3; i++)
        items[i] = (struct jr_attempt){.stepped = true,
                                       .best = 7,
                                       .continues = JR_REQUEUE_DEADLINE,
                                       .requeued = i < 2,
                                       .how = ""};
    jr_restart_decide(&verdict, &policy, &history);
    CU_ASSERT_FALSE(verdict.again);
    CU_ASSERT_EQUAL(verdict.stall.attempts, 2);
    items[2].best = 8;
    jr_restart_decide(&verdict, &policy, &history);
    CU_ASSERT_EQUAL(verdict.stall.attempts, 0);
    CU_ASSERT_STRING_EQUAL(verdict.why, "requeue.max is 2");
}

/* Attempts of an earlier process count as those of this one do, but for what only that one knew. */
TEST(recalls)
{
    struct jr_history history = {0};
    char cause[] = "was preempted";
    const struct jr_attempt earlier = {.number = 4,
                                       .status = JR_RUN_YIELDED,
                                       .continues = JR_REQUEUE_PREEMPTED,
                                       .requeued = true,
                                       .failed = true,
                                       .on = "exit",
                                       .left = "x",
                                       .cause = cause,
                                       .stepped = true,
                                       .best = 7};
    CU_ASSERT_EQUAL_FATAL(jr_history_recall(&history, &earlier), 0);
    cause[0] = 'x';
    CU_ASSERT_EQUAL(history.count, 1);
    CU_ASSERT_STRING_EQUAL(history.items[0].cause, "was preempted");
    CU_ASSERT_FALSE(history.items[0].failed);
    CU_ASSERT_PTR_NULL(history.items[0].on);
    CU_ASSERT_PTR_NULL(history.items[0].left);
    CU_ASSERT_EQUAL(jr_restart_requeues(&history), 1);
    CU_ASSERT_EQUAL(jr_restart_stall(&history).step, 7);
    jr_history_release(&history);
}

TEST(sees_no_progress)
{
    struct jr_attempt items[4];
    struct jr_history history = make(items, 4);
    CU_ASSERT_EQUAL(jr_restart_idle(&history), 4);
    items[1].how = "died by SIGSEGV";
    CU_ASSERT_EQUAL(jr_restart_idle(&history), 2);
    items[2].lived_ns = 10 * FAKE_SECOND;
    CU_ASSERT_EQUAL(jr_restart_idle(&history), 1);
    items[3].lived_ns = 11 * FAKE_SECOND;
    CU_ASSERT_EQUAL(jr_restart_idle(&history), 0);
    history = make(items, 4);
    items[3].failed = false;
    CU_ASSERT_EQUAL(jr_restart_idle(&history), 0);
}

/* Causes of three ranks that a fake run is bent to, held against the lists. */
struct held {
    const char *name;
    void (*bend)(struct fake *fake);
    const char *meets, *misses; /* entries, with blanks between */
};

static void exits(struct fake *fake)
{
    fake->ends[1].exit_code = 75;
    fake_write_rank(fake, 1, "stderr.log", "x\nCUDA error: 700\n");
    fake_write_rank(fake, 0, "stderr.log", "quiet\n");
}

static void dies(struct fake *fake)
{
    fake->ends[2].end = JR_END_SIGNALED;
    fake->ends[2].signal = SIGSEGV;
}

static void starves(struct fake *fake)
{
    fake->ends[0].end = JR_END_SIGNALED;
    fake->ends[0].signal = SIGKILL;
    fake->ends[0].oom = true;
}

static void never_starts(struct fake *fake)
{
    fake->ends[1] =
        (struct jr_rank_outcome){.end = JR_END_START, .stage = JR_STAGE_EXEC, .start_errno = 2};
}

static void times_out(struct fake *fake)
{
    fake->outcome.timed_out_by = JR_TIMEOUT_RUN;
    for (int i = 0; i < 3; i++)
        fake->ends[i].stopped_with = SIGTERM;
    fake_write_rank(fake, 2, "stderr.log", "NCCL timeout\n");
}

static void straggles(struct fake *fake)
{
    times_out(fake);
    fake->outcome.timed_out_by = JR_TIMEOUT_AFTER_FIRST_EXIT;
}

static void falls_silent(struct fake *fake)
{
    times_out(fake);
    fake->outcome.timed_out_by = JR_TIMEOUT_SILENCE;
}

static void gets_no_further(struct fake *fake)
{
    times_out(fake);
    fake->outcome.timed_out_by = JR_TIMEOUT_PROGRESS;
}

static void makes_no_step(struct fake *fake)
{
    times_out(fake);
    fake->outcome.timed_out_by = JR_TIMEOUT_FIRST_STEP;
}

static void loses_a_node(struct fake *fake)
{
    fake->ends[1].end = JR_END_LOST;
}

static void yields(struct fake *fake)
{
    fake->ends[1].warned_with = SIGUSR1;
    fake->ends[1].exit_code = JR_YIELD_CODE;
}

static void withholds(struct fake *fake)
{
    fake->policy.results = (struct jr_results){.stated = true, .required = (char *)"all"};
}

static void withholds_some(struct fake *fake)
{
    fake->policy.results = (struct jr_results){.stated = true, .required = (char *)"1-2"};
}

/* A peer of the ranks that withhold lost them. */
static void leaves(struct fake *fake)
{
    withholds(fake);
    fake_exit(fake, 2, 1);
    fake->ends[2].lost_peer = true;
}

static void check_held(const struct held *held, const char *entries, bool met)
{
    struct fake fake;
    char *copy = strdup(entries), *rest = copy, *entry;
    CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
    while ((entry = strsep(&rest, " ")) != NULL) {
        struct jr_history history = {0};
        fake_start(&fake, 3);
        fake.policy.restart = (struct jr_restart){.max = 1, .on = &entry, .on_count = 1};
        held->bend(&fake);
        fake_judge(&fake);
        CU_ASSERT_EQUAL(jr_history_add(&history, &fake.report, &fake.plan, &fake.outcome, fake.fd),
                        0);
        const struct jr_attempt *last = &history.items[0];
        CU_ASSERT_TRUE(last->failed);
        if ((last->on != NULL) != met)
            CU_FAIL(held->name);
        if ((last->on != NULL) != met)
            (void)printf("%s: %s %s\n", held->name, entry, met ? "is not met" : "is met");
        jr_history_release(&history);
        fake_end(&fake);
    }
    free(copy);
}

TEST(knows_causes)
{
    static const struct held table[] = {
        {"exit", exits, "exit exit:75 exit:70-80 stderr:/CUDA/ stderr:/^x$/",
         "exit:1 signal oom start result timeout hang stderr:/quiet/"},
        {"signal", dies, "signal signal:SEGV signal:ABRT,SIGSEGV", "exit signal:KILL oom start"},
        {"oom", starves, "oom", "signal signal:KILL exit"},
        {"start", never_starts, "start", "exit exit:127 signal result"},
        {"timeout", times_out, "timeout stderr:/NCCL/", "hang exit signal:TERM stderr:/CUDA/"},
        {"result", withholds, "result", "exit signal start"},
        {"left", leaves, "result", "exit signal start timeout exit:1"},
        {"silence", falls_silent, "hang stderr:/NCCL/", "timeout exit signal"},
        {"progress", gets_no_further, "hang", "timeout exit result"},
        {"lost node", loses_a_node, "lost_node", "exit signal oom start"},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        check_held(&table[i], table[i].meets, true);
        check_held(&table[i], table[i].misses, false);
    }
}

TEST(tells_causes)
{
    static const struct {
        void (*bend)(struct fake *fake);
        const char *cause, *how;
    } rows[] = {
        {exits, "rank 1 exited with code 75", "exited with code 75"},
        {dies, "rank 2 died by SIGSEGV", "died by SIGSEGV"},
        {times_out, "longer than timeouts.run", "longer than timeouts.run"},
        {straggles, "not all ended within timeouts.after_first_exit of the first",
         "not all ended within timeouts.after_first_exit of the first"},
        {falls_silent, "no rank wrote anything within timeouts.silence",
         "no rank wrote anything within timeouts.silence"},
        {gets_no_further, "the job made no step forward within timeouts.progress",
         "the job made no step forward within timeouts.progress"},
        {makes_no_step, "the job made no step within timeouts.first_step",
         "the job made no step within timeouts.first_step"},
        {loses_a_node, "rank 1 was lost with its node", "was lost with its node"},
        {yields, "stopped for the deadline", "stopped for the deadline"},
        {withholds, "rank 0 did not deliver: result.json was not written",
         "did not deliver: result.json was not written"},
        {leaves, "rank 0 did not deliver: result.json was not written",
         "did not deliver: result.json was not written"},
        {withholds_some, "rank 1 did not deliver: result.json was not written",
         "did not deliver: result.json was not written"},
        {never_starts, "rank 1 could not execute './train': No such file or directory in /",
         "could not execute './train': No such file or directory in /"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct jr_history history = {0};
        FAKE(fake, 3);
        rows[i].bend(&fake);
        fake_judge(&fake);
        CU_ASSERT_EQUAL(jr_history_add(&history, &fake.report, &fake.plan, &fake.outcome, fake.fd),
                        0);
        CU_ASSERT_STRING_EQUAL(history.items[0].cause, rows[i].cause);
        CU_ASSERT_STRING_EQUAL(history.items[0].how, rows[i].how);
        jr_history_release(&history);
    }
}

/* What the next decision needs of an attempt: when it was, and for how long it lived, which is
 * until the first failure. */
TEST(notes_the_times)
{
    struct jr_history history = {0};
    FAKE(fake, 3);
    fake.plan.attempt = 2;
    fake_exit(&fake, 1, 75); /* 2 s after the start of the run */
    fake_judge(&fake);
    CU_ASSERT_EQUAL(jr_history_add(&history, &fake.report, &fake.plan, &fake.outcome, fake.fd), 0);
    fake.ends[1].exit_code = 0;
    fake.plan.attempt = 3;
    fake_judge(&fake);
    CU_ASSERT_EQUAL(jr_history_add(&history, &fake.report, &fake.plan, &fake.outcome, fake.fd), 0);
    CU_ASSERT_EQUAL_FATAL(history.count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct jr_attempt *attempt = &history.items[i];
        CU_ASSERT_EQUAL(attempt->number, 2 + i);
        CU_ASSERT_EQUAL(attempt->started_ns, FAKE_SECOND);
        CU_ASSERT_EQUAL(attempt->started_wall_ns, FAKE_WALL);
        CU_ASSERT_EQUAL(attempt->ended_ns, 11 * FAKE_SECOND);
        CU_ASSERT_EQUAL(attempt->lived_ns, i == 0 ? 2 * FAKE_SECOND : 10 * FAKE_SECOND);
        CU_ASSERT_EQUAL(attempt->failed, i == 0);
        CU_ASSERT_EQUAL(attempt->status, i == 0 ? JR_RUN_FAILED : JR_RUN_SUCCEEDED);
        CU_ASSERT_EQUAL(attempt->exit_code, i == 0 ? 1 : 0);
    }
    jr_history_release(&history);
    CU_ASSERT_EQUAL(history.count, 0);
}

/* Entries are looked at only where a restart is allowed; without any in
 * `on`, each cause is one. */
TEST(holds_causes_only_where_asked)
{
    static char exit_any[] = "exit";
    char *entries[] = {exit_any};
    static const struct {
        uint32_t max, on, never;
        const char *expect_on, *expect_never;
    } rows[] = {
        {0, 1, 1, NULL, NULL}, {1, 0, 0, "", NULL},       {1, 1, 0, "exit", NULL},
        {1, 0, 1, "", "exit"}, {1, 1, 1, "exit", "exit"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct jr_history history = {0};
        FAKE_ENDS(fake, "0 75");
        fake.policy.restart = (struct jr_restart){.max = rows[i].max,
                                                  .on = entries,
                                                  .on_count = rows[i].on,
                                                  .never = entries,
                                                  .never_count = rows[i].never};
        fake_judge(&fake);
        CU_ASSERT_EQUAL(jr_history_add(&history, &fake.report, &fake.plan, &fake.outcome, fake.fd),
                        0);
        const struct jr_attempt *attempt = &history.items[0];
        CU_ASSERT_EQUAL(attempt->on == NULL, rows[i].expect_on == NULL);
        CU_ASSERT_EQUAL(attempt->never == NULL, rows[i].expect_never == NULL);
        if (rows[i].expect_on != NULL)
            JR_ASSERT_TEXT(attempt->on, rows[i].expect_on);
        if (rows[i].expect_never != NULL)
            JR_ASSERT_TEXT(attempt->never, rows[i].expect_never);
        jr_history_release(&history);
    }
}

TEST(leaves_what_jobrun_failed_at)
{
    static const struct {
        int32_t stop, runner;
        uint32_t left, elsewhere;
        const char *why;
    } rows[] = {
        {0, 0, 0, 0, NULL},
        {SIGTERM, 0, 0, 0, NULL},
        {0, SIGKILL, 0, 0, "jobrun itself failed"},
        {0, 0, 2, 0, "processes are left, which would disturb the next attempt"},
        {0, 0, 0, 3, "the other nodes would not start again with this one"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct jr_history history = {0};
        FAKE(fake, 3);
        fake.outcome.stop_signal = rows[i].stop;
        fake.outcome.runner_signal = rows[i].runner;
        fake.outcome.left = rows[i].left;
        fake.plan.world_size += rows[i].elsewhere;
        if (i > 0)
            fake.ends[0].exit_code = 1;
        fake_judge(&fake);
        CU_ASSERT_EQUAL(jr_history_add(&history, &fake.report, &fake.plan, &fake.outcome, fake.fd),
                        0);
        CU_ASSERT_FALSE(history.items[0].failed);
        if (rows[i].why == NULL)
            CU_ASSERT_PTR_NULL(history.items[0].left)
        else
            CU_ASSERT_STRING_EQUAL(history.items[0].left, rows[i].why);
        jr_history_release(&history);
    }
}
