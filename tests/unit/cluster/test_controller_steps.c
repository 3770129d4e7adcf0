/* The progress of a job on several nodes: what the controller makes of what they tell, when it
 * writes it, and when it finds that the job hangs. */
#include "cluster/internal.h"

#include "fake_controller.h"

#define HOUR_NS (3600000 * FAKE_MS)

static void start(const char *ranks, uint64_t first_ms, uint64_t next_ms)
{
    fake_start();
    fake.policy.progress.ranks = (char *)ranks;
    fake.policy.timeouts.first_step_ms = first_ms;
    fake.policy.timeouts.progress_ms = next_ms;
    CU_ASSERT_EQUAL_FATAL(jr_controller_steps_open(&fake.run), 0);
}

/* A node tells of a step of a rank, by its clock. */
static bool tell(uint32_t node, uint32_t rank, int64_t step)
{
    char line[160];
    uint64_t ns = jr_clock_ns() + (uint64_t)fake.nodes[node].offset_ns;
    (void)snprintf(line, sizeof line,
                   "{\"steps_of\": %u, \"step\": %lld, \"of\": 60, \"ns\": "
                   "%llu, \"metrics\": {\"loss\": 0.5}}",
                   rank, (long long)step, (unsigned long long)ns);
    return jr_controller_steps_take(&fake.run, node, line, strlen(line));
}

static void start_all(uint64_t ns)
{
    for (uint32_t i = 0; i < FAKE_WORLD; i++)
        fake.outcomes[i].started_ns = ns;
}

/* timeouts.first_step counts from the beginning where any steps count; the other limit from the
 * first step on. */
TEST(counts_its_limits)
{
    static const struct {
        const char *ranks;
        uint64_t first_ms, next_ms, before_ms, after_ms; /* 0: not counted */
    } vectors[] = {
        {"0", 0, 0, 0, 0},       {"99", 5000, 7000, 0, 0},      {"0", 5000, 0, 5000, 5000},
        {"0", 0, 7000, 0, 7000}, {"0", 9000, 7000, 9000, 7000},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        uint64_t before = jr_clock_ns();
        start(vectors[i].ranks, vectors[i].first_ms, vectors[i].next_ms);
        const struct jr_timer *limit = &fake.controller.steps_limit;
        CU_ASSERT_EQUAL(limit->at == 0, vectors[i].before_ms == 0);
        if (limit->at != 0)
            CU_ASSERT_TRUE(is_after(limit->at, before, vectors[i].before_ms));
        CU_ASSERT_TRUE(tell(0, 0, 3));
        CU_ASSERT_EQUAL(limit->at == 0, vectors[i].after_ms == 0);
        if (limit->at != 0)
            CU_ASSERT_TRUE(is_after(limit->at, before, vectors[i].after_ms));
        fake_end();
    }
}

/* In a run that is being stopped no limit begins. */
TEST(a_stopped_run_has_no_limit)
{
    start("0", 0, 7000);
    fake.run.stopped = true;
    CU_ASSERT_TRUE(tell(0, 0, 3));
    CU_ASSERT_EQUAL(fake.controller.steps_limit.at, 0);
    fake.controller.steps_limit.due(&fake.controller);
    check_sent("");
    fake_end();
}

/* Each node tells of its own ranks, and nothing else is a step. */
TEST(takes_what_is_the_nodes_own)
{
    start("0-5", 0, 0);
    EACH_PART(part, "|no JSON|{}|[]|{\"steps_of\": 9, \"step\": 1}|{\"steps_of\": \"0\", \"step\": "
                    "1}|{\"event\": \"x\"}")
        CU_ASSERT_FALSE(jr_controller_steps_take(&fake.run, 0, part, strlen(part)));
    CU_ASSERT_FALSE(tell(0, 2, 3));
    CU_ASSERT_FALSE(tell(1, 1, 3));
    CU_ASSERT_FALSE(tell(1, 4, 3));
    CU_ASSERT_TRUE(tell(1, 2, 3));
    CU_ASSERT_TRUE(tell(1, 3, 4));
    CU_ASSERT_FALSE(fake.outcome.progress->ranks[4].any);
    CU_ASSERT_EQUAL(fake.outcome.progress->ranks[3].step, 4);
    CU_ASSERT_EQUAL(fake.outcome.progress->ranks[2].of, 60);
    fake_end();
}

/* Its time is by our clock, and never in our future. */
TEST(knows_the_time_of_a_step)
{
    static const int64_t offsets[] = {0, 1000000000000, -1000000000};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        start("0-5", 0, 0);
        fake.nodes[2].offset_ns = offsets[i];
        uint64_t before = jr_clock_ns();
        CU_ASSERT_TRUE(tell(2, 5, 3));
        CU_ASSERT_TRUE(is_after(fake.outcome.progress->ranks[5].ns, before, 0));
        fake_end();
    }
}

/* At most once a second. */
TEST(writes_once_a_second)
{
    start("0", 0, 0);
    fake.run.steps.flushed_ns = 5000;
    CU_ASSERT_EQUAL(fake.controller.steps_flush.at, 0);
    CU_ASSERT_TRUE(tell(0, 0, 30));
    CU_ASSERT_EQUAL(fake.controller.steps_flush.at, 5000 + 1000 * FAKE_MS);
    fake.controller.steps_flush.at = 77;
    CU_ASSERT_TRUE(tell(0, 0, 31));
    CU_ASSERT_EQUAL(fake.controller.steps_flush.at, 77);
    JR_ASSERT_TEXT(fake_read("progress.json"), "");
    fake.controller.steps_flush.due(&fake.controller);
    CU_ASSERT_PTR_NOT_NULL(strstr(fake_read("progress.json"), "\"step\": 31"));
    fake_end();
}

/* No run, no step, no limit: a timer that comes late does nothing. */
TEST(comes_too_late)
{
    start("0", 5000, 0);
    start_all(1);
    fake.controller.run = NULL;
    fake.controller.steps_flush.due(&fake.controller);
    fake.controller.steps_limit.due(&fake.controller);
    check_sent("");
    JR_ASSERT_TEXT(fake_read("progress.json"), "");
    fake_end();
}

/* Which limit it is, is said to all nodes. */
TEST(says_which_limit_is_met)
{
    start("0", 5000, 7000);
    start_all(1);
    fake.controller.steps_limit.due(&fake.controller);
    check_sent("no_first_step");
    fake_end();
    start("0", 5000, 7000);
    start_all(1);
    CU_ASSERT_TRUE(tell(0, 0, 3));
    jr_step_tracker_sum(&fake.run.steps, jr_clock_ns());
    fake.outcome.progress->ranks[0].best_ns = 1;
    fake.outcome.progress->job.best_ns = 1;
    fake.controller.steps_limit.due(&fake.controller);
    check_sent("no_step");
    fake_end();
}

/* Before the last rank has started no first step is late, nor before its time. */
TEST(waits_for_the_last_rank)
{
    start("0", 5000, 0);
    start_all(1);
    fake.outcomes[4].started_ns = 0;
    uint64_t before = jr_clock_ns();
    fake.controller.steps_limit.due(&fake.controller);
    check_sent("");
    CU_ASSERT_TRUE(is_after(fake.controller.steps_limit.at, before, 5000));
    uint64_t last = jr_clock_ns() + HOUR_NS;
    fake.outcomes[4].started_ns = last;
    fake.controller.steps_limit.due(&fake.controller);
    check_sent("");
    CU_ASSERT_EQUAL(fake.controller.steps_limit.at, last + 5000 * FAKE_MS);
    fake_end();
}

/* A rank that has ended makes no step: none is waited for. */
TEST(waits_for_nobody_who_has_ended)
{
    start("0", 5000, 0);
    start_all(1);
    jr_controller_steps_end_rank(&fake.run, 0);
    CU_ASSERT_TRUE(fake.outcome.progress->ranks[0].ended);
    CU_ASSERT_FALSE(fake.outcome.progress->ranks[1].ended);
    fake.controller.steps_limit.due(&fake.controller);
    check_sent("");
    CU_ASSERT_EQUAL(fake.controller.steps_limit.at, 0);
    fake_end();
}

TEST(no_time_passes_while_suspended)
{
    start("0", 5000, 0);
    start_all(1000);
    fake.outcomes[2].started_ns = 5000;
    jr_controller_steps_pause(&fake.run, 70);
    CU_ASSERT_EQUAL(fake.run.limits.since_ns, 5070);
    fake_end();
}

/* What the tracker warns of is an event of the run. */
TEST(writes_warnings_down)
{
    static const char line[] = "{\"warning_of\": 3, \"problem\": 2, \"count\": "
                               "1, \"text\": \"rank 3 x\"}";
    start("0-5", 0, 0);
    CU_ASSERT_TRUE(jr_controller_steps_take(&fake.run, 1, line, sizeof line - 1));
    CU_ASSERT_EQUAL(fake.outcome.progress->warnings_count, 1);
    JR_ASSERT_TEXT(fake.outcome.progress->warnings[0].text, "rank 3 x");
    jr_events_flush(&fake.run.events);
    JR_ASSERT_TEXT(fake_read("events"), ""); /* its node has */
    CU_ASSERT_PTR_NOT_NULL(
        jr_step_tracker_add_warning(&fake.run.steps, JR_STEP_PROBLEM_STRAGGLER, 4));
    jr_events_flush(&fake.run.events);
    const char *events = fake_read("events");
    CU_ASSERT_PTR_NOT_NULL(strstr(events, "\"progress_warning\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(events, "\"rank\":4"));
    CU_ASSERT_PTR_NOT_NULL(strstr(events, "\"straggler\""));
    fake_end();
}

TEST(ends_with_the_run)
{
    start("0", 5000, 0);
    CU_ASSERT_TRUE(tell(0, 0, 30));
    CU_ASSERT_NOT_EQUAL(fake.controller.steps_limit.at, 0);
    jr_controller_steps_stop(&fake.run);
    CU_ASSERT_EQUAL(fake.controller.steps_limit.at, 0);
    CU_ASSERT_NOT_EQUAL(fake.controller.steps_flush.at, 0);
    fake.controller.steps_limit.at = 5;
    jr_controller_steps_close(&fake.run);
    CU_ASSERT_EQUAL(fake.controller.steps_limit.at, 0);
    CU_ASSERT_EQUAL(fake.controller.steps_flush.at, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(fake_read("progress.json"), "\"step\": 30"));
    fake.run.steps.progress = NULL;
    fake_end();
}
