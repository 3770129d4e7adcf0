/* Ending a run: who decides that it is to end, what the ranks are sent, and when SIGKILL
 * follows. */
#include "fake_runner.h"

#define HOUR_NS (3600000 * FAKE_MS)

static void start(uint32_t processes)
{
    fake_runner_start();
    fake.policy.timeouts.stop_grace_ms = 30000;
    fake_runner_open(&jr_exit_barrier_policy);
    fake_runner_open(&jr_first_failure_policy);
    fake_runner_open(&jr_stop_policy);
    for (uint32_t i = 0; i < processes; i++)
        fake_runner_spawn(i);
}

/* timeouts.start and timeouts.run count from the beginning; 0 is none. The grace and the wait for
 * SIGKILL count even while jobrun is suspended. */
TEST(counts_the_limits)
{
    static const uint64_t limits[] = {0, 1, 90000};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
            BEGIN(fake_runner_end, fake_runner_start());
            fake.policy.timeouts.start_ms = limits[i];
            fake.policy.timeouts.run_ms = limits[k];
            uint64_t before = jr_clock_ns();
            fake_runner_open(&jr_stop_policy);
            const struct jr_stop *stop = &fake.runner.stop;
            if (limits[i] == 0)
                CU_ASSERT_EQUAL(stop->start.at, 0)
            else
                CU_ASSERT_TRUE(fake_runner_is_after(stop->start.at, before, limits[i]));
            if (limits[k] == 0)
                CU_ASSERT_EQUAL(stop->run.at, 0)
            else
                CU_ASSERT_TRUE(fake_runner_is_after(stop->run.at, before, limits[k]));
            CU_ASSERT_TRUE(stop->start.pauses && stop->run.pauses);
            CU_ASSERT_FALSE(stop->grace.pauses || stop->kill.pauses);
            CU_ASSERT_TRUE(stop->grace.at == 0 && stop->kill.at == 0);
        }
}

/* SIGTERM to the leader, or to the group, and SIGCONT; who has returned, and ended, gets nothing;
 * then the grace. Once. */
TEST(tells_the_ranks_to_end)
{
    for (int group = 0; group < 2; group++) {
        BEGIN(fake_runner_end, start(3));
        fake.ranks[1].state = JR_LIFE_SUSPENDED;
        fake.ranks[2].state = JR_LIFE_ENDED;
        fake.runner.running = 2;
        for (uint32_t i = 0; i < 3; i++)
            fake.ranks[i].group = group;
        uint64_t before = jr_clock_ns();
        jr_stop_begin(&fake.runner);
        fake_runner_check_sent(0, "TERM CONT");
        fake_runner_check_sent(1, "TERM CONT");
        fake_runner_check_sent(2, "");
        CU_ASSERT_EQUAL(fake.outcomes[0].stopped_with, SIGTERM);
        CU_ASSERT_EQUAL(fake.outcomes[2].stopped_with, 0);
        CU_ASSERT_TRUE(fake.ranks[0].state == JR_LIFE_STOPPING && jr_stop_has_begun(&fake.runner));
        CU_ASSERT_FALSE(jr_stop_is_forced(&fake.runner));
        CU_ASSERT_TRUE(fake_runner_is_after(jr_stop_kills_at(&fake.runner), before, 30000));
        fake_runner_check_events("stop signal=SIGTERM running=2; ");
        fake.runner.stop.grace.at = 77;
        jr_stop_begin(&fake.runner);
        CU_ASSERT_EQUAL(jr_stop_kills_at(&fake.runner), 77);
        fake_runner_check_events("");
        fake_runner_check_sent(0, "");
    }
}

/* The limits count no more; what other policies wait for ends. */
TEST(ends_the_limits)
{
    BEGIN(fake_runner_end, start(1));
    fake.runner.stop.start.at = fake.runner.stop.run.at = HOUR_NS;
    fake.runner.first_failure.timer.at = HOUR_NS;
    jr_stop_begin(&fake.runner);
    CU_ASSERT_TRUE(fake.runner.stop.start.at == 0 && fake.runner.stop.run.at == 0);
    CU_ASSERT_TRUE(fake.runner.first_failure.timer.at == 0 && fake.runner.exit_barrier.open);
}

/* Which ranks were on their way out by themselves is noted before the signal, which so is not taken
 * for their end. */
TEST(notes_who_ends_by_itself)
{
    BEGIN(fake_runner_end, start(2));
    fake_runner_kill(1);
    jr_stop_begin(&fake.runner);
    CU_ASSERT_TRUE(fake.outcomes[0].alive_ns != 0 && fake.outcomes[0].stopped_with == SIGTERM);
    CU_ASSERT_TRUE(fake.outcomes[1].exiting_ns != 0 && fake.outcomes[1].stopped_with == 0);
}

/* Where nothing runs, nothing is sent and nothing is said. */
TEST(says_nothing_where_nothing_runs)
{
    BEGIN(fake_runner_end, start(0));
    jr_stop_begin(&fake.runner);
    CU_ASSERT_TRUE(jr_stop_has_begun(&fake.runner));
    fake_runner_check_events("");
    jr_stop_force(&fake.runner);
    CU_ASSERT_TRUE(jr_stop_is_forced(&fake.runner));
    fake_runner_check_events("");
}

/* It may be forced without having begun. */
TEST(kills_at_once)
{
    BEGIN(fake_runner_end, start(1));
    fake.runner.stop.run.at = HOUR_NS;
    uint64_t before = jr_clock_ns();
    jr_stop_force(&fake.runner);
    fake_runner_check_sent(0, "KILL");
    CU_ASSERT_TRUE(jr_stop_has_begun(&fake.runner) && fake.outcomes[0].stopped_with == SIGKILL);
    CU_ASSERT_EQUAL(fake.runner.stop.run.at, 0);
    jr_stop_begin(&fake.runner);
    CU_ASSERT_EQUAL(jr_stop_kills_at(&fake.runner), 0);
    fake_runner_check_events("kill running=1; ");
    CU_ASSERT_TRUE(fake_runner_is_after(fake.runner.stop.kill.at, before, 10000));
    CU_ASSERT_FALSE(jr_stop_has_given_up(&fake.runner));
    fake.runner.stop.kill.due(&fake.runner);
    CU_ASSERT_TRUE(jr_stop_has_given_up(&fake.runner));
}

/* A tenth of a second, and no more. */
TEST(a_later_signal_is_another_one)
{
    BEGIN(fake_runner_end, start(1));
    fake.runner.stop.begun = true;
    fake.runner.stop.signalled_ns = jr_clock_ns() - 101 * FAKE_MS;
    jr_stop_signal(&fake.runner, SIGTERM, jr_clock_ns());
    CU_ASSERT_TRUE(jr_stop_is_forced(&fake.runner));
    fake_runner_check_events("signal signal=SIGTERM; kill running=1; ");
}

/* A scheduler signals all at once: a rank that died of the same a moment before jobrun was sent it
 * was meant, too. */
TEST(shares_the_signal_with_who_died_of_it)
{
    BEGIN(fake_runner_end, start(0));
    for (uint32_t i = 0; i < 4; i++)
        fake_runner_run(i);
    fake_runner_note_end(0, JR_END_SIGNALED, SIGTERM);
    fake_runner_note_end(1, JR_END_SIGNALED, SIGSEGV);
    fake_runner_note_end(2, JR_END_SIGNALED, SIGTERM);
    fake.outcomes[2].ended_ns = 1;
    fake.runner.running = 0;
    jr_stop_signal(&fake.runner, SIGTERM, jr_clock_ns());
    CU_ASSERT_TRUE(fake.outcomes[0].stopped_with == SIGTERM && fake.outcomes[1].stopped_with == 0);
    CU_ASSERT_EQUAL(fake.outcomes[2].stopped_with, 0); /* long before */
    fake_runner_note_end(3, JR_END_SIGNALED, SIGTERM);
    jr_stop_policy.rank_ended(&fake.ranks[3]); /* before we could send it */
    CU_ASSERT_EQUAL(fake.outcomes[3].stopped_with, SIGTERM);
}

/* The first timeout is the run's; each is an event. */
TEST(the_first_timeout_counts)
{
    BEGIN(fake_runner_end, start(0));
    jr_stop_timed_out(&fake.runner, JR_TIMEOUT_RUN);
    CU_ASSERT_EQUAL(fake.outcome.timed_out_by, JR_TIMEOUT_RUN);
    jr_stop_timed_out(&fake.runner, JR_TIMEOUT_SILENCE);
    CU_ASSERT_EQUAL(fake.outcome.timed_out_by, JR_TIMEOUT_RUN);
    fake_runner_check_events("timeout timeout=2; timeout timeout=3; ");
    CU_ASSERT_FALSE(jr_stop_has_begun(&fake.runner));
}

/* Where timeouts.start has passed: what did not come to an end in time, and that no further rank
 * starts. */
TEST(a_late_start_names_what_was_late)
{
    static const struct {
        bool set_up, helper, ready;
        enum jr_stage stage;
        const char *text;
    } vectors[] = {
        {false, false, false, JR_STAGE_SETUP, "it did not finish within timeouts.start"},
        {false, true, false, JR_STAGE_SETUP, "it did not finish within timeouts.start"},
        {true, true, false, JR_STAGE_IMPORT, "it did not finish within timeouts.start"},
        {true, true, true, JR_STAGE_LATE, ""},
        {true, false, false, JR_STAGE_LATE, ""},
    };
    static char *argv[] = {(char *)"python3", NULL};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(fake_runner_end, start(0));
        fake_runner_open(&jr_steps_policy);
        fake.runner.setup.done = vectors[i].set_up;
        fake.plan.helper.argv = vectors[i].helper ? argv : NULL;
        fake.runner.helper.ready = vectors[i].ready;
        fake.runner.next = 1;
        fake.ranks[0].pid = 12; /* it has started */
        fake.ranks[0].state = JR_LIFE_ENDED;
        fake.runner.stop.start.due(&fake.runner);
        CU_ASSERT_EQUAL(fake.outcome.timed_out_by, JR_TIMEOUT_START);
        CU_ASSERT_EQUAL(fake.outcomes[1].end, JR_END_START);
        CU_ASSERT_EQUAL(fake.outcomes[1].stage, vectors[i].stage);
        CU_ASSERT_TRUE(fake.outcomes[1].start_errno == 0 && fake.outcomes[1].order == 1);
        JR_ASSERT_TEXT(fake.outcome.start_text, vectors[i].text);
        CU_ASSERT_TRUE(fake.outcomes[0].end == JR_END_NONE && fake.runner.next == 2);
        CU_ASSERT_TRUE(jr_stop_has_begun(&fake.runner));
    }
}

/* What the end of a rank means to the others. */
TEST(an_end_stops_the_others_or_not)
{
    static const struct {
        enum jr_end end;
        int number;
        enum jr_on_failure on_failure;
        bool hangs, warned, stops;
    } vectors[] = {
        {JR_END_EXITED, 0, JR_ON_FAILURE_STOP, false, false, false},
        {JR_END_EXITED, 1, JR_ON_FAILURE_CONTINUE, false, false, false},
        {JR_END_SIGNALED, SIGSEGV, JR_ON_FAILURE_CONTINUE, false, false, false},
        {JR_END_EXITED, 1, JR_ON_FAILURE_STOP, true, false, false},
        {JR_END_START, 0, JR_ON_FAILURE_STOP, true, false, false},
        {JR_END_EXITED, 75, JR_ON_FAILURE_STOP, false, true, false},
        {JR_END_SIGNALED, SIGUSR1, JR_ON_FAILURE_STOP, false, true, false},
        {JR_END_SIGNALED, SIGPIPE, JR_ON_FAILURE_STOP, false, false, true},
        {JR_END_EXITED, 1, JR_ON_FAILURE_STOP, false, false, true},
        {JR_END_EXITED, 75, JR_ON_FAILURE_STOP, false, false, true},
        {JR_END_EXITED, 1, JR_ON_FAILURE_STOP, false, true, true},
        {JR_END_SIGNALED, SIGSEGV, JR_ON_FAILURE_STOP, false, true, true},
        {JR_END_START, 0, JR_ON_FAILURE_STOP, false, false, true},
        {JR_END_START, 0, JR_ON_FAILURE_CONTINUE, false, false, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(fake_runner_end, start(1));
        fake_runner_run(1);
        fake.policy.on_failure = vectors[i].on_failure;
        fake.runner.hang.begun = vectors[i].hangs;
        fake.outcomes[1].warned_with = vectors[i].warned ? SIGUSR1 : 0;
        fake_runner_note_end(1, vectors[i].end, vectors[i].number);
        jr_stop_policy.rank_ended(&fake.ranks[1]);
        fake_runner_pass_hold();
        CU_ASSERT_EQUAL(jr_stop_has_begun(&fake.runner), vectors[i].stops);
        fake_runner_check_sent(0, vectors[i].stops ? "TERM CONT" : "");
    }
}

/* What was told to stop has the grace, its group too, though no rank runs any more. */
TEST(waits_for_groups_that_were_told)
{
    static const struct {
        bool begun, forced, group, told, waits;
    } vectors[] = {
        {false, false, true, true, false}, {true, true, true, true, false},
        {true, false, false, true, false}, {true, false, true, false, false},
        {true, false, true, true, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(fake_runner_end, start(2));
        fake.runner.stop.begun = vectors[i].begun;
        fake.runner.stop.forced = vectors[i].forced;
        fake.ranks[1].group = vectors[i].group;
        fake.outcomes[1].stopped_with = vectors[i].told ? SIGTERM : 0;
        CU_ASSERT_EQUAL(jr_stop_waits(&fake.runner), vectors[i].waits);
        fake_runner_reap(1);
        CU_ASSERT_FALSE(jr_stop_waits(&fake.runner));
    }
}

/* The setup's group counts like a rank's. */
TEST(waits_for_the_group_of_the_setup)
{
    BEGIN(fake_runner_end, start(1));
    fake.runner.stop.begun = true;
    fake.runner.setup.run.group = true;
    fake.runner.setup.run.pid = fake.ranks[0].pid;
    CU_ASSERT_FALSE(jr_stop_waits(&fake.runner));
    fake.runner.setup.outcome.stopped_with = SIGTERM;
    CU_ASSERT_TRUE(jr_stop_waits(&fake.runner));
    fake_runner_reap(0);
    CU_ASSERT_FALSE(jr_stop_waits(&fake.runner));
}

TEST(all_have_started)
{
    BEGIN(fake_runner_end, start(0));
    fake.runner.stop.start.at = fake.runner.stop.run.at = HOUR_NS;
    jr_stop_end_start(&fake.runner);
    CU_ASSERT_TRUE(fake.runner.stop.start.at == 0 && fake.runner.stop.run.at == HOUR_NS);
    jr_stop_policy.close(&fake.runner);
    CU_ASSERT_EQUAL(fake.runner.stop.run.at, 0);
}
