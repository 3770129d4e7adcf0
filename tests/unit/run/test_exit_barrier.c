/* Between a rank's return and its end: whom the control socket is believed, who may end when, and
 * who is killed for taking too long. */
#include "fake_runner.h"

/* Ranks 0 to `count` - 1 run, with control sockets, and are all there are. */
static void start(uint32_t count, bool barrier)
{
    fake_runner_start();
    fake.plan.count = count;
    fake.policy.exit_barrier = barrier;
    fake_runner_open(&jr_stop_policy);
    fake_runner_open(&jr_exit_barrier_policy);
    for (uint32_t i = 0; i < count; i++) {
        fake_runner_run(i);
        fake_runner_control(i);
    }
}

static void check_end(uint32_t i, enum jr_function_end end)
{
    CU_ASSERT_EQUAL(fake.ranks[i].function_end, end);
    CU_ASSERT_EQUAL(fake.outcomes[i].returned, end == JR_FUNCTION_END_RETURNED);
}

/* What a rank may say, and what is made of it. */
TEST(believes_words_that_it_knows)
{
    static const struct {
        const char *text;
        enum jr_function_end end;
        int code;
        const char *event;
    } vectors[] = {
        {"b", JR_FUNCTION_END_NONE, 0, ""},
        {"q", JR_FUNCTION_END_NONE, 0, ""},
        {" r", JR_FUNCTION_END_NONE, 0, ""},
        {"bb", JR_FUNCTION_END_NONE, 0, ""},
        {"R", JR_FUNCTION_END_NONE, 0, ""},
        {"r", JR_FUNCTION_END_RETURNED, 0, "rank_done rank=10 returned=1; "},
        {"br", JR_FUNCTION_END_RETURNED, 0, "rank_done rank=10 returned=1; "},
        {"r 1 2 3 4 5", JR_FUNCTION_END_RETURNED, 0, "rank_done rank=10 returned=1; "},
        {"f", JR_FUNCTION_END_FAILED, 0, "rank_done rank=10 returned=0; "},
        {"bf", JR_FUNCTION_END_FAILED, 0, "rank_done rank=10 returned=0; "},
        {"x 3", JR_FUNCTION_END_FAILED, 3, "rank_done rank=10 returned=0; "},
        {"bx 75", JR_FUNCTION_END_FAILED, 75, "rank_done rank=10 returned=0; "},
        {"x", JR_FUNCTION_END_FAILED, 0, "rank_done rank=10 returned=0; "},
        {"x y", JR_FUNCTION_END_FAILED, 0, "rank_done rank=10 returned=0; "},
        {"x 0", JR_FUNCTION_END_NONE, 0, ""},
        {"bx 0", JR_FUNCTION_END_NONE, 0, ""},
        {"t", JR_FUNCTION_END_RETURNED, 0, "rank_done rank=10 returned=1; "},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(fake_runner_end, start(2, true));
        fake.ranks[0].reach_by = 1;
        fake_runner_tell(0, vectors[i].text);
        check_end(0, vectors[i].end);
        CU_ASSERT_EQUAL(fake.outcomes[0].told_code, vectors[i].code);
        CU_ASSERT_EQUAL(fake.outcomes[0].told_ns != 0, vectors[i].end == JR_FUNCTION_END_FAILED);
        CU_ASSERT_EQUAL(fake.outcomes[0].leaving_ns != 0,
                        strchr(vectors[i].text, 'r') == vectors[i].text ||
                            strcmp(vectors[i].text, "br") == 0 ||
                            strstr(vectors[i].text, "x 0") != NULL);
        CU_ASSERT_EQUAL(fake.ranks[0].reach_by == 0, *vectors[i].text == 'b');
        fake_runner_check_events(vectors[i].event);
    }
}

/* What comes first counts: who has failed does not return any more. */
TEST(believes_the_first_word)
{
    start(2, true);
    fake_runner_tell(0, "r");
    fake_runner_tell(0, "f");
    check_end(0, JR_FUNCTION_END_RETURNED);
    CU_ASSERT_EQUAL(fake.outcomes[0].told_ns, 0);
    fake_runner_tell(1, "f");
    fake_runner_tell(1, "r");
    check_end(1, JR_FUNCTION_END_FAILED);
    CU_ASSERT_EQUAL(fake.runner.exit_barrier.returned, 1);
    fake_runner_end();
}

/* Only the process that jobrun started is the rank. Another one, which waits for a byte too, gets
 * one, the first time. */
TEST(other_processes_are_not_the_rank)
{
    static const char *const texts[] = {"r", "f", "x 3", "b", "br", "x 0"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        bool returns = *texts[i] == 'r';
        bool waits = returns || *texts[i] == 'f' || strcmp(texts[i], "x 3") == 0;
        start(2, true);
        fake.ranks[0].pid = getppid();
        fake.ranks[0].reach_by = 1;
        for (int time = 0; time < 2; time++) {
            CU_ASSERT_TRUE(send(fake.controls[0], texts[i], strlen(texts[i]), 0) > 0);
            fake.ranks[0].control.ready(&fake.ranks[0], 0);
            CU_ASSERT_EQUAL(fake_runner_released(0), waits && time == 0);
        }
        check_end(0, JR_FUNCTION_END_NONE);
        CU_ASSERT_EQUAL(fake.outcomes[0].returned_by, returns ? getpid() : 0);
        CU_ASSERT_TRUE(fake.outcomes[0].told_ns == 0 && fake.outcomes[0].leaving_ns == 0);
        CU_ASSERT_EQUAL(fake.ranks[0].reach_by, 1);
        fake_runner_check_events("");
        fake_runner_end();
    }
}

/* With the barrier who has returned waits until all have, or one has failed, or ended without a
 * word, whatever its exit code: nobody can wait for a rank that will not return. */
TEST(holds_until_all_have_returned)
{
    static const struct {
        const char *said[3];
        bool ends; /* rank 1 */
        const char *released;
    } vectors[] = {
        {{"r", NULL, "r"}, false, "---"}, {{"r", "r", "r"}, false, "012"},
        {{"r", "f", NULL}, false, "01-"}, {{"r", NULL, NULL}, true, "0--"},
        {{"r", "r", NULL}, true, "---"},  {{"f", "r", "r"}, false, "012"},
    };
    for (size_t n = 0; n < sizeof vectors / sizeof *vectors; n++) {
        BEGIN(fake_runner_end, start(3, true));
        for (uint32_t i = 0; i < 3; i++)
            if (vectors[n].said[i] != NULL)
                fake_runner_tell(i, vectors[n].said[i]);
        if (vectors[n].ends) {
            fake_runner_note_end(1, JR_END_EXITED, 0);
            jr_exit_barrier_policy.rank_ended(&fake.ranks[1]);
        }
        bool any = false;
        for (uint32_t i = 0; i < 3; i++) {
            bool released = fake_runner_released(i);
            CU_ASSERT_EQUAL(released, vectors[n].released[i] != '-');
            any = any || released;
        }
        CU_ASSERT_TRUE(fake.runner.exit_barrier.open == any && !jr_stop_has_begun(&fake.runner));
    }
}

/* A script without the barrier is done when it ends: what it says is noted and answered, and it has
 * all the time that it wants. */
TEST(who_need_not_return_is_answered)
{
    static const struct {
        const char *text;
        int code;
        bool leaves, failed, answered;
    } vectors[] = {
        {"r", 0, true, false, true},    {"t", 0, false, false, true},
        {"f", 0, false, true, true},    {"x 3", 3, false, true, true},
        {"x 0", 0, true, false, false}, {"b", 0, false, false, false},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        start(2, false);
        fake.policy.timeouts.exit_ms = 1;
        fake_runner_tell(0, vectors[i].text);
        const struct jr_rank_outcome *outcome = &fake.outcomes[0];
        CU_ASSERT_EQUAL(fake_runner_released(0), vectors[i].answered);
        CU_ASSERT_FALSE(outcome->returned);
        CU_ASSERT_EQUAL(outcome->leaving_ns != 0, vectors[i].leaves);
        CU_ASSERT_EQUAL(outcome->told_ns != 0, vectors[i].failed);
        CU_ASSERT_EQUAL(outcome->told_code, vectors[i].code);
        CU_ASSERT_TRUE(fake.ranks[0].leave_by == 0 && fake.runner.exit_barrier.timer.at == 0);
        fake_runner_check_events("");
        fake_runner_end();
    }
}

/* The last word of a rank is read when it is reaped, though nobody had the time before; a socket
 * without one is closed, and no rank needs a socket. */
TEST(reads_the_last_word_at_the_end)
{
    static const struct {
        const char *text; /* NULL: it has no socket */
        enum jr_function_end end;
    } vectors[] = {
        {NULL, JR_FUNCTION_END_NONE},     {"", JR_FUNCTION_END_NONE},
        {"b", JR_FUNCTION_END_NONE},      {"r", JR_FUNCTION_END_RETURNED},
        {"br", JR_FUNCTION_END_RETURNED}, {"x 4", JR_FUNCTION_END_FAILED},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const char *text = vectors[i].text;
        BEGIN(fake_runner_end, start(2, true));
        fake.ranks[0].pid = getpid();
        if (text == NULL)
            jr_loop_close(&fake.ranks[0].control);
        else if (*text != '\0')
            CU_ASSERT_TRUE(send(fake.controls[0], text, strlen(text), 0) > 0);
        fake_runner_note_end(0, JR_END_EXITED, 0);
        jr_exit_barrier_policy.rank_ended(&fake.ranks[0]);
        check_end(0, vectors[i].end);
        CU_ASSERT_EQUAL(fake.ranks[0].control.fd, -1);
        CU_ASSERT_EQUAL(fake.runner.exit_barrier.open, vectors[i].end != JR_FUNCTION_END_RETURNED);
    }
}

/* The socket comes to its end when the rank closes it. */
TEST(a_closed_socket_is_watched_no_longer)
{
    BEGIN(fake_runner_end, start(2, true));
    (void)close(fake.controls[0]);
    fake.controls[0] = -1;
    fake.ranks[0].control.ready(&fake.ranks[0], 0);
    CU_ASSERT_EQUAL(fake.ranks[0].control.fd, -1);
    check_end(0, JR_FUNCTION_END_NONE);
    CU_ASSERT_FALSE(fake.runner.exit_barrier.open); /* it may still run */
}

/* Of several nodes the others are waited for, and told of what happens here. */
TEST(waits_for_the_other_nodes)
{
    BEGIN(fake_runner_end, start(2, true));
    fake_runner_link();
    fake_runner_tell(0, "r");
    fake_runner_check_no_report();
    fake_runner_tell(1, "r");
    fake_runner_check_report(JR_REPORT_ALL_RETURNED, NULL);
    fake_runner_check_no_report();
    CU_ASSERT_FALSE(fake_runner_released(0));
    jr_exit_barrier_release(&fake.runner);
    fake_runner_check_report(JR_REPORT_RELEASED, NULL);
    CU_ASSERT_TRUE(fake_runner_released(0));
    CU_ASSERT_TRUE(fake_runner_released(1));
    jr_exit_barrier_release(&fake.runner); /* a second time is none */
    fake_runner_check_no_report();
    CU_ASSERT_FALSE(fake_runner_released(0));
}

/* Before the stop signal those go that have returned; with SIGKILL nobody has to go. */
TEST(a_stop_lets_go_who_has_returned)
{
    for (int forced = 0; forced < 2; forced++) {
        BEGIN(fake_runner_end, start(2, true));
        fake_runner_tell(0, "r");
        fake.runner.stop.forced = forced;
        jr_exit_barrier_policy.stopping(&fake.runner);
        CU_ASSERT_EQUAL(fake_runner_released(0), !forced);
    }
}

/* From its return on a rank has timeouts.exit; none where it is 0. */
TEST(counts_the_time_to_exit)
{
    static const uint64_t limits[] = {0, 1, 7000};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        start(2, false);
        fake.plan.returns = true;
        fake.policy.timeouts.exit_ms = limits[i];
        uint64_t before = jr_clock_ns();
        fake_runner_tell(0, i == 1 ? "f" : "r");
        uint64_t by = fake.ranks[0].leave_by;
        CU_ASSERT_EQUAL(by == 0, limits[i] == 0);
        CU_ASSERT_EQUAL(fake.runner.exit_barrier.timer.at, by);
        if (by != 0)
            CU_ASSERT_TRUE(fake_runner_is_after(by, before, limits[i]));
        fake_runner_tell(1, "r"); /* later: the first is waited for */
        CU_ASSERT_EQUAL(fake.runner.exit_barrier.timer.at, by);
        fake_runner_end();
    }
}

/* Who has not ended by then is killed, and said to have lingered; the next one is waited for. */
TEST(kills_who_takes_too_long)
{
    BEGIN(fake_runner_end, start(4, false));
    for (uint32_t i = 0; i < 4; i++)
        fake_runner_spawn(i);
    uint64_t later = jr_clock_ns() + 3600000 * FAKE_MS;
    fake.ranks[0].leave_by = 1;
    fake.ranks[1].leave_by = later + 1;
    fake.ranks[2].leave_by = later;
    fake.runner.exit_barrier.timer.due(&fake.runner);
    fake_runner_check_sent(0, "KILL");
    for (uint32_t i = 1; i < 4; i++)
        fake_runner_check_sent(i, "");
    CU_ASSERT_TRUE(fake.outcomes[0].lingered && fake.outcomes[0].killed);
    CU_ASSERT_TRUE(!fake.outcomes[1].lingered && fake.ranks[0].leave_by == 0);
    CU_ASSERT_EQUAL(fake.ranks[0].state, JR_LIFE_KILLING);
    CU_ASSERT_EQUAL(fake.runner.exit_barrier.timer.at, later);
    fake_runner_check_events("timeout rank=10 timeout=7; ");
    CU_ASSERT_EQUAL(fake.outcome.timed_out_by, JR_TIMEOUT_NONE);
}

/* Who was reaped, or never started, is not killed. */
TEST(kills_nobody_who_is_gone)
{
    BEGIN(fake_runner_end, start(2, false));
    fake.ranks[0].leave_by = fake.ranks[1].leave_by = 1;
    fake.ranks[1].pid = 1;
    fake.runner.exit_barrier.timer.due(&fake.runner);
    CU_ASSERT_TRUE(!fake.outcomes[0].lingered && !fake.outcomes[1].lingered);
    CU_ASSERT_EQUAL(fake.runner.exit_barrier.timer.at, 0);
    fake_runner_check_events("");
}

/* While jobrun is suspended no time passes. */
TEST(no_time_passes_while_suspended)
{
    BEGIN(fake_runner_end, start(3, false));
    fake.ranks[0].leave_by = 1000;
    fake.ranks[2].leave_by = 3000;
    jr_exit_barrier_policy.resumed(&fake.runner, 50);
    CU_ASSERT_EQUAL(fake.ranks[0].leave_by, 1050);
    CU_ASSERT_EQUAL(fake.ranks[1].leave_by, 0); /* it has no limit */
    CU_ASSERT_TRUE(fake.ranks[2].leave_by == 3050 && fake.runner.exit_barrier.timer.pauses);
}
