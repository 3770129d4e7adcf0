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

/* What is decided: that the job starts again (NULL), or why it does not. */
static struct jr_verdict check(const struct jr_policy *policy, const struct jr_history *history,
                               const char *why)
{
    struct jr_verdict verdict;
    jr_restart_decide(&verdict, policy, history);
    CU_ASSERT_EQUAL(verdict.again, why == NULL);
    JR_ASSERT_TEXT(verdict.why, why == NULL ? "" : why);
    return verdict;
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
        {{.failed = true, .on = NULL, .never = "oom", .how = ""}, 3, "restart.never names oom"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct jr_attempt items[1] = {rows[i].last};
        struct jr_history history = {.items = items, .count = 1};
        (void)check(&(struct jr_policy){.restart.max = rows[i].max}, &history, rows[i].why);
    }
}

TEST(allows_so_many)
{
    struct jr_attempt items[8];
    const struct jr_policy policy = {.restart.max = 3};
    for (size_t count = 1; count <= 4; count++) {
        struct jr_history history = make(items, count);
        struct jr_verdict verdict =
            check(&policy, &history, count <= 3 ? NULL : "restart.max is 3");
        CU_ASSERT_EQUAL(verdict.counted, count - 1);
    }
}

/* Attempts are a minute long: of the last three minutes are those that began then, the one that has
 * just ended among them. */
TEST(counts_within_the_window)
{
    struct jr_attempt items[40];
    struct jr_policy policy = {.restart = {.max = 3, .window_ms = 179999}};
    struct jr_history history = make(items, 40);
    CU_ASSERT_EQUAL(check(&policy, &history, NULL).counted, 2);
    policy.restart.window_ms++;
    (void)check(&policy, &history, "restart.max is 3 within 3m");
    items[38].started_ns -= 180 * FAKE_SECOND;
    (void)check(&policy, &history, NULL);
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
    } rows[] = {{{5}, 1, 0, 5},
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
                {{-1, -1, 3, 3, -1, 3}, 6, 3, 3}};
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
    verdict = check(&policy, &history,
                    "the last 3 attempts got no further than step 120 (progress.stall is 2)");
    CU_ASSERT_EQUAL(verdict.stall.step, 120);
    policy.progress.stall = 4;
    (void)check(&policy, &history, "restart.max is 3");
    policy = (struct jr_policy){.restart.max = 9, .progress.stall = 1};
    for (size_t i = 0; i < 4; i++)
        items[i].stepped = false;
    history.count = 2;
    (void)check(&policy, &history, "the last attempt made no step (progress.stall is 1)");
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
    verdict = check(&policy, &history, NULL);
    CU_ASSERT_EQUAL(verdict.requeue, JR_REQUEUE_PREEMPTED);
    CU_ASSERT_EQUAL(verdict.requeued, 0);
    CU_ASSERT_EQUAL(verdict.wait_ms, 0);
    items[0].requeued = items[2].requeued = items[3].requeued = true;
    items[0].continues = items[3].continues = JR_REQUEUE_LOST_NODE;
    CU_ASSERT_EQUAL(check(&policy, &history, "requeue.max is 2").requeued, 2);
    policy.requeue = (struct jr_requeue){preempted, 1, 3};
    (void)check(&policy, &history, NULL);
    items[4].left = "processes are left";
    (void)check(&policy, &history, "processes are left");
    items[4].left = NULL;
    items[4].continues = JR_REQUEUE_DEADLINE;
    (void)check(&policy, &history, "");
    items[4].continues = JR_REQUEUE_NONE;
    (void)check(&policy, &history, "");
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
    verdict = check(&policy, &history, NULL);
    CU_ASSERT_EQUAL(verdict.requeue, JR_REQUEUE_NONE);
    CU_ASSERT_EQUAL(verdict.counted, 1);
    items[3].continues = JR_REQUEUE_LOST_NODE;
    (void)check(&policy, &history, "requeue.max is 1");
    items[2].continues = JR_REQUEUE_NONE; /* the scheduler did it by itself */
    items[0].continues = JR_REQUEUE_NONE;
    CU_ASSERT_EQUAL(check(&policy, &history, NULL).requeued, 0);
    policy.requeue.on = deadline;
    policy.requeue.on_count = 1;
    CU_ASSERT_EQUAL(check(&policy, &history, NULL).requeue, JR_REQUEUE_NONE);
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
    verdict = check(&policy, &history,
                    "the last 2 attempts got no further than step 7 (progress.stall is 2)");
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

static void add(struct jr_history *history, struct fake *fake)
{
    fake_judge(fake);
    CU_ASSERT_EQUAL(jr_history_add(history, &fake->report, &fake->plan, &fake->outcome, fake->fd),
                    0);
}

/* How three ranks ended, what is told of that, and the entries that it meets and misses, with
 * blanks between. */
struct cause {
    const char *ends, *meets, *misses;
    const char *cause; /* "rank 1 exited with code 75"; how it ended begins behind that */
    const char *rank;  /* "rank 1 " */
    enum jr_timeout by;
    const char *required; /* of results; NULL: none are stated */
    /* oom: of rank 0; unstarted: rank 1; lost: its peers, by rank 2; warned: rank 1 of the deadline
     */
    const char *words;
};

static void bend(struct fake *fake, const struct cause *cause)
{
    const char *words = cause->words == NULL ? "" : cause->words;
    fake_ends(fake, cause->ends);
    fake->outcome.timed_out_by = cause->by;
    for (int i = 0; i < 3 && cause->by != JR_TIMEOUT_NONE; i++)
        fake->ends[i].stopped_with = SIGTERM;
    fake_write_rank(fake, 0, "stderr.log", "quiet\n");
    if (cause->by == JR_TIMEOUT_NONE)
        fake_write_rank(fake, 1, "stderr.log", "x\nCUDA error: 700\n");
    else
        fake_write_rank(fake, 2, "stderr.log", "NCCL timeout\n");
    if (cause->required != NULL)
        fake->policy.results =
            (struct jr_results){.stated = true, .required = (char *)(uintptr_t)cause->required};
    fake->ends[0].oom = strcmp(words, "oom") == 0;
    fake->ends[2].lost_peer = strcmp(words, "lost") == 0;
    fake->ends[1].warned_with = strcmp(words, "warned") == 0 ? SIGUSR1 : 0;
    if (strcmp(words, "unstarted") == 0)
        fake->ends[1] =
            (struct jr_rank_outcome){.end = JR_END_START, .stage = JR_STAGE_EXEC, .start_errno = 2};
}

static void check_entries(const struct cause *cause, const char *entries, bool met)
{
    char *copy = strdup(entries), *rest = copy, *entry;
    while ((entry = strsep(&rest, " ")) != NULL) {
        struct jr_history history = {0};
        struct fake fake RELEASE(fake_end) = {0};
        bend(&fake, cause);
        fake.policy.restart = (struct jr_restart){.max = 1, .on = &entry, .on_count = 1};
        add(&history, &fake);
        CU_ASSERT_TRUE(history.items[0].failed);
        CU_ASSERT_EQUAL(history.items[0].on != NULL, met);
        if ((history.items[0].on != NULL) != met)
            (void)printf("%s: %s %s\n", cause->cause, entry, met ? "is not met" : "is met");
        jr_history_release(&history);
    }
    free(copy);
}

TEST(knows_and_tells_causes)
{
    static const struct cause causes[] = {
        {"0 75 0", "exit exit:75 exit:70-80 stderr:/CUDA/ stderr:/^x$/",
         "exit:1 signal oom start result timeout hang stderr:/quiet/", "rank 1 exited with code 75",
         "rank 1 ", .words = NULL},
        {"0 0 S11", "signal signal:SEGV signal:ABRT,SIGSEGV", "exit signal:KILL oom start",
         "rank 2 died by SIGSEGV", "rank 2 ", .words = NULL},
        {"S9 0 0", "oom", "signal signal:KILL exit",
         "rank 0 was OOM-killed: the kernel ran out of memory", "rank 0 ", .words = "oom"},
        {"0 0 0", "start", "exit exit:127 signal result",
         "rank 1 could not execute './train': No such file or directory in /", "rank 1 ",
         .words = "unstarted"},
        {"0 0 0", "timeout stderr:/NCCL/", "hang exit signal:TERM stderr:/CUDA/",
         "longer than timeouts.run", "", .by = JR_TIMEOUT_RUN},
        {"0 0 0", "timeout", "hang", "not all ended within timeouts.after_first_exit of the first",
         "", .by = JR_TIMEOUT_AFTER_FIRST_EXIT},
        {"0 0 0", "hang stderr:/NCCL/", "timeout exit signal",
         "no rank wrote anything within timeouts.silence", "", .by = JR_TIMEOUT_SILENCE},
        {"0 0 0", "hang", "timeout exit result",
         "the job made no step forward within timeouts.progress", "", .by = JR_TIMEOUT_PROGRESS},
        {"0 0 0", "hang", "timeout", "the job made no step within timeouts.first_step", "",
         .by = JR_TIMEOUT_FIRST_STEP},
        {"0 L 0", "lost_node", "exit signal oom start", "rank 1 was lost with its node", "rank 1 ",
         .words = NULL},
        {"0 75 0", NULL, NULL, "stopped for the deadline", "", .words = "warned"},
        {"0 0 0", "result", "exit signal start",
         "rank 0 did not deliver: result.json was not written", "rank 0 ", .required = "all"},
        {"0 0 0", "result", "exit", "rank 1 did not deliver: result.json was not written",
         "rank 1 ", .required = "1-2"},
        {"0 0 1", "result", "exit signal start timeout exit:1",
         "rank 0 did not deliver: result.json was not written", "rank 0 ", .required = "all",
         .words = "lost"}};
    for (size_t i = 0; i < COUNT(causes); i++) {
        struct jr_history history = {0};
        struct fake fake RELEASE(fake_end) = {0};
        bend(&fake, &causes[i]);
        add(&history, &fake);
        JR_ASSERT_TEXT(history.items[0].cause, causes[i].cause);
        JR_ASSERT_TEXT(history.items[0].how, causes[i].cause + strlen(causes[i].rank));
        jr_history_release(&history);
        if (causes[i].meets == NULL)
            continue;
        check_entries(&causes[i], causes[i].meets, true);
        check_entries(&causes[i], causes[i].misses, false);
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
    add(&history, &fake);
    fake.ends[1].exit_code = 0;
    fake.plan.attempt = 3;
    add(&history, &fake);
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

/* Entries are looked at only where a restart is allowed; without any in `on`, each cause is one. */
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
        add(&history, &fake);
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
    } rows[] = {{0, 0, 0, 0, NULL},
                {SIGTERM, 0, 0, 0, NULL},
                {0, SIGKILL, 0, 0, "jobrun itself failed"},
                {0, 0, 2, 0, "processes are left, which would disturb the next attempt"},
                {0, 0, 0, 3, "the other nodes would not start again with this one"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct jr_history history = {0};
        FAKE(fake, 3);
        fake.outcome.stop_signal = rows[i].stop;
        fake.outcome.runner_signal = rows[i].runner;
        fake.outcome.left = rows[i].left;
        fake.plan.world_size += rows[i].elsewhere;
        if (i > 0)
            fake.ends[0].exit_code = 1;
        add(&history, &fake);
        CU_ASSERT_FALSE(history.items[0].failed);
        if (rows[i].why == NULL)
            CU_ASSERT_PTR_NULL(history.items[0].left)
        else
            CU_ASSERT_STRING_EQUAL(history.items[0].left, rows[i].why);
        jr_history_release(&history);
    }
}
