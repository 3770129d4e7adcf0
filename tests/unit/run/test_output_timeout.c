/* timeouts.silence: which runs can be seen to be silent, since when they are, and what is said of
 * it to other nodes. */
#include "fake_runner.h"

#define LIMIT_MS 8000
#define HOUR_NS  (3600000 * FAKE_MS)

/* How the streams of the ranks go, as jr_start_route has it. */
static void set_route(uint32_t i, enum jr_route out, enum jr_route err)
{
    struct jr_plan_rank *rank = &fake.planned[i];
    const enum jr_route routes[] = {out, err};
    enum jr_sink sinks[2];
    for (int stream = 0; stream < 2; stream++)
        switch (routes[stream]) {
        case JR_ROUTE_FILE:
            sinks[stream] = JR_SINK_FILE;
            break;
        case JR_ROUTE_PIPE:
            sinks[stream] = JR_SINK_CONSOLE;
            break;
        case JR_ROUTE_INHERIT:
        case JR_ROUTE_TERMINAL:
        case JR_ROUTE_NULL:
            sinks[stream] = JR_SINK_INHERIT;
            break;
        }
    rank->out = sinks[0];
    rank->err = sinks[1];
    rank->on_console = true;
    rank->out_path = "out";
    rank->err_path = "err";
    CU_ASSERT_EQUAL(jr_start_route(rank, 0, &fake.options), out);
    CU_ASSERT_EQUAL(jr_start_route(rank, 1, &fake.options), err);
}

static void start(enum jr_route out, enum jr_route err)
{
    fake_runner_start();
    fake.options.out_fd = out == JR_ROUTE_NULL ? -1 : 1;
    fake.options.err_fd = err == JR_ROUTE_NULL ? -1 : 2;
    fake.policy.timeouts.silence_ms = LIMIT_MS;
    fake.policy.on_hang.wait_ms = 1000;
    for (uint32_t i = 0; i < FAKE_RANKS; i++)
        set_route(i, out, err);
    fake_runner_open(&jr_stop_policy);
    fake_runner_open(&jr_hang_policy);
}

/* All ranks have started, so long ago. */
static void run_all(uint64_t started_ms)
{
    for (uint32_t i = 0; i < FAKE_RANKS; i++) {
        fake_runner_run(i);
        fake.outcomes[i].started_ns = jr_clock_ns() - started_ms * FAKE_MS;
    }
    fake.runner.output_timeout.since_ns = 1;
}

static void pass(void)
{
    fake.runner.output_timeout.timer.at = 0;
    fake.runner.output_timeout.timer.due(&fake.runner);
}

/* Nothing is found where a stream is inherited, of any rank, or no limit is set. Files are looked
 * at four times within it. */
TEST(knows_what_it_can_see)
{
    static const struct {
        enum jr_route out, err, last_err;
        uint64_t limit_ms, due_ms; /* 0: nothing is found */
        bool sizes;
    } vectors[] = {
        {JR_ROUTE_PIPE, JR_ROUTE_PIPE, JR_ROUTE_PIPE, 0, 0, false},
        {JR_ROUTE_INHERIT, JR_ROUTE_PIPE, JR_ROUTE_PIPE, 8000, 0, false},
        {JR_ROUTE_PIPE, JR_ROUTE_PIPE, JR_ROUTE_INHERIT, 8000, 0, false},
        {JR_ROUTE_FILE, JR_ROUTE_FILE, JR_ROUTE_INHERIT, 8000, 0, false},
        {JR_ROUTE_PIPE, JR_ROUTE_PIPE, JR_ROUTE_PIPE, 8000, 8000, false},
        {JR_ROUTE_PIPE, JR_ROUTE_PIPE, JR_ROUTE_FILE, 8000, 2000, true},
        {JR_ROUTE_FILE, JR_ROUTE_PIPE, JR_ROUTE_PIPE, 8000, 2000, true},
        {JR_ROUTE_FILE, JR_ROUTE_FILE, JR_ROUTE_FILE, 8000, 2000, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_output_timeout *silence = &fake.runner.output_timeout;
        BEGIN(fake_runner_end, start(vectors[i].out, vectors[i].err));
        set_route(FAKE_RANKS - 1, vectors[i].out, vectors[i].last_err);
        fake.policy.timeouts.silence_ms = vectors[i].limit_ms;
        uint64_t before = jr_clock_ns();
        fake_runner_open(&jr_output_timeout_policy);
        CU_ASSERT_EQUAL(silence->open, vectors[i].due_ms != 0);
        CU_ASSERT_EQUAL(silence->sizes != NULL, vectors[i].sizes);
        if (vectors[i].due_ms == 0)
            CU_ASSERT_EQUAL(silence->timer.at, 0)
        else
            CU_ASSERT_TRUE(fake_runner_is_after(silence->timer.at, before, vectors[i].due_ms));
        CU_ASSERT_TRUE(fake_runner_is_after(silence->since_ns, before, 0) && silence->timer.pauses);
    }
}

/* The last sign of any rank counts: its start, or its last byte. */
TEST(counts_from_the_last_sign_of_life)
{
    static const struct {
        uint64_t heard_ms, started_ms; /* of rank 3, before now */
        uint64_t due_ms;               /* from now */
    } vectors[] = {
        {9000, 7000, 1000}, {7000, 9000, 1000}, {1000, 7000, 7000},
        {3000, 3000, 5000}, {7999, 7990, 10},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(fake_runner_end, start(JR_ROUTE_PIPE, JR_ROUTE_PIPE));
        fake_runner_open(&jr_output_timeout_policy);
        run_all(9000);
        uint64_t now = jr_clock_ns();
        fake.outcomes[3].heard_ns = now - vectors[i].heard_ms * FAKE_MS;
        fake.outcomes[3].started_ns = now - vectors[i].started_ms * FAKE_MS;
        pass();
        uint64_t at = fake.runner.output_timeout.timer.at;
        if (at == 0) /* the machine was that slow */
            CU_ASSERT_TRUE(jr_clock_ns() >= now + vectors[i].due_ms * FAKE_MS)
        else
            CU_ASSERT_EQUAL(at, now + vectors[i].due_ms * FAKE_MS);
    }
}

/* None before the policy was opened, or the run went on. */
TEST(nothing_counts_before_it_began)
{
    BEGIN(fake_runner_end, start(JR_ROUTE_PIPE, JR_ROUTE_PIPE));
    fake_runner_open(&jr_output_timeout_policy);
    run_all(9000);
    uint64_t since = jr_clock_ns() + HOUR_NS;
    fake.runner.output_timeout.since_ns = since;
    pass();
    CU_ASSERT_EQUAL(fake.runner.output_timeout.timer.at, since + LIMIT_MS * FAKE_MS);
}

/* While ranks are to come nothing is found, however long it takes. */
TEST(waits_for_the_last_rank)
{
    BEGIN(fake_runner_end, start(JR_ROUTE_PIPE, JR_ROUTE_PIPE));
    fake_runner_open(&jr_output_timeout_policy);
    run_all(9000);
    fake.runner.next--;
    uint64_t before = jr_clock_ns();
    pass();
    CU_ASSERT_FALSE(jr_hang_has_begun(&fake.runner));
    CU_ASSERT_TRUE(fake_runner_is_after(fake.runner.output_timeout.timer.at, before, LIMIT_MS));
}

/* What a rank writes to a file by itself is seen by the file's size. */
TEST(sees_files_grow)
{
    static const char *const names[] = {"out", "err"};
    for (int stream = 0; stream < 2; stream++) {
        BEGIN(fake_runner_end, start(JR_ROUTE_FILE, JR_ROUTE_FILE));
        fake.planned[2].out_path = "out2";
        fake.planned[2].err_path = "err2";
        fake_runner_open(&jr_output_timeout_policy);
        run_all(9000);
        scratch_write(&fake.scratch, names[stream], "x");
        uint64_t before = jr_clock_ns();
        pass();
        CU_ASSERT_FALSE(jr_hang_has_begun(&fake.runner));
        CU_ASSERT_TRUE(fake_runner_is_after(fake.outcomes[0].heard_ns, before, 0));
        CU_ASSERT_EQUAL(fake.outcomes[2].heard_ns, 0);
        CU_ASSERT_TRUE(
            fake_runner_is_after(fake.runner.output_timeout.timer.at, before, LIMIT_MS / 4));
        for (uint32_t i = 0; i < FAKE_RANKS; i++)
            fake.outcomes[i].heard_ns = 0;
        pass(); /* the same size is silence */
        CU_ASSERT_TRUE(fake.outcomes[0].heard_ns == 0 && jr_hang_has_begun(&fake.runner));
    }
}

/* The next look is when it can be too long, if that is before a quarter. */
TEST(looks_when_it_can_be_too_long)
{
    BEGIN(fake_runner_end, start(JR_ROUTE_FILE, JR_ROUTE_FILE));
    fake_runner_open(&jr_output_timeout_policy);
    run_all(9000);
    fake.outcomes[1].heard_ns = jr_clock_ns() + HOUR_NS;
    uint64_t before = jr_clock_ns();
    pass();
    CU_ASSERT_TRUE(fake_runner_is_after(fake.runner.output_timeout.timer.at, before, LIMIT_MS / 4));
    fake.policy.timeouts.silence_ms = 4 * HOUR_NS / FAKE_MS;
    fake.outcomes[1].heard_ns = 0;
    for (uint32_t i = 0; i < FAKE_RANKS; i++)
        fake.outcomes[i].started_ns = 0;
    uint64_t since = jr_clock_ns() - 4 * HOUR_NS + HOUR_NS / 2;
    fake.runner.output_timeout.since_ns = since;
    pass();
    CU_ASSERT_EQUAL(fake.runner.output_timeout.timer.at, since + 4 * HOUR_NS);
}

/* Of several nodes a silent one says so, and again after as long; it does not decide. */
TEST(a_silent_node_tells_the_others)
{
    BEGIN(fake_runner_end, start(JR_ROUTE_PIPE, JR_ROUTE_PIPE));
    fake_runner_link();
    fake_runner_open(&jr_output_timeout_policy);
    run_all(9000);
    uint64_t before = jr_clock_ns();
    pass();
    fake_runner_check_report(JR_REPORT_SILENT, NULL);
    fake_runner_check_no_report();
    CU_ASSERT_FALSE(jr_hang_has_begun(&fake.runner));
    CU_ASSERT_TRUE(fake_runner_is_after(fake.runner.output_timeout.timer.at, before, LIMIT_MS));
}

/* For how long, when it is asked; 0 where it cannot be seen, or ranks are to come, or there was a
 * sign at this very moment. */
TEST(tells_for_how_long)
{
    static const struct {
        bool open, due, later, silent;
    } vectors[] = {
        {false, false, false, false},
        {true, true, false, false},
        {true, false, true, false},
        {true, false, false, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        uint64_t for_ns = 1;
        BEGIN(fake_runner_end, start(JR_ROUTE_PIPE, JR_ROUTE_PIPE));
        fake_runner_link();
        fake_runner_open(&jr_output_timeout_policy);
        uint64_t before = jr_clock_ns();
        run_all(9000);
        fake.runner.output_timeout.open = vectors[i].open;
        fake.runner.next -= vectors[i].due;
        if (vectors[i].later)
            fake.outcomes[1].heard_ns = before + HOUR_NS;
        jr_output_timeout_report(&fake.runner);
        fake_runner_check_report(JR_REPORT_QUIET, &for_ns);
        if (vectors[i].silent) {
            CU_ASSERT_TRUE(for_ns >= 9000 * FAKE_MS);
            CU_ASSERT_TRUE(for_ns <= jr_clock_ns() - before + 9000 * FAKE_MS);
        } else
            CU_ASSERT_EQUAL(for_ns, 0);
    }
}

/* What was written since the last look counts for the answer. */
TEST(looks_before_it_answers)
{
    uint64_t for_ns = 1;
    BEGIN(fake_runner_end, start(JR_ROUTE_FILE, JR_ROUTE_FILE));
    fake_runner_link();
    fake_runner_open(&jr_output_timeout_policy);
    run_all(9000);
    scratch_write(&fake.scratch, "err", "x");
    uint64_t before = jr_clock_ns();
    jr_output_timeout_report(&fake.runner);
    fake_runner_check_report(JR_REPORT_QUIET, &for_ns);
    CU_ASSERT_TRUE(for_ns <= jr_clock_ns() - before);
}

/* The ranks stood still for so long, and could not write. */
TEST(no_time_passes_while_suspended)
{
    BEGIN(fake_runner_end, start(JR_ROUTE_PIPE, JR_ROUTE_PIPE));
    fake_runner_open(&jr_output_timeout_policy);
    run_all(9000);
    fake.outcomes[4].heard_ns = HOUR_NS;
    for (uint32_t i = 0; i < FAKE_RANKS; i++)
        fake.outcomes[i].started_ns = 5;
    jr_output_timeout_policy.resumed(&fake.runner, 7);
    CU_ASSERT_EQUAL(fake.runner.output_timeout.since_ns, HOUR_NS + 7);
    jr_output_timeout_policy.resumed(&fake.runner, 7);
    CU_ASSERT_EQUAL(fake.runner.output_timeout.since_ns, HOUR_NS + 14);
}

TEST(ends_with_the_run)
{
    BEGIN(fake_runner_end, start(JR_ROUTE_FILE, JR_ROUTE_FILE));
    fake_runner_open(&jr_output_timeout_policy);
    run_all(9000);
    jr_output_timeout_policy.stopping(&fake.runner);
    CU_ASSERT_EQUAL(fake.runner.output_timeout.timer.at, 0);
    fake.runner.output_timeout.timer.at = 5;
    scratch_write(&fake.scratch, "out", "x");
    jr_output_timeout_policy.close(&fake.runner);
    CU_ASSERT_TRUE(fake.runner.output_timeout.timer.at == 0 && fake.outcomes[0].heard_ns != 0);
}
