/* The warning before the end of the time: when it comes, who gets it, and that it comes once. */
#include "fake_runner.h"

static void start(uint64_t run_ms, uint64_t before_ms)
{
    fake_runner_start();
    fake.policy.timeouts.run_ms = run_ms;
    fake.policy.deadline.before_ms = before_ms;
    fake.policy.deadline.signal = (char *)"USR1";
}

static void open_and_pass(void)
{
    fake_runner_open(&jr_deadline_policy);
    fake.runner.deadline.timer.at = 0;
    fake.runner.deadline.timer.due(&fake.runner);
}

/* `before` the end of timeouts.run, or when a rehearsal says, whichever comes
 * first. Without `before`, never. */
TEST(comes_before_the_end_of_the_time)
{
    static const struct {
        uint64_t run_ms, before_ms;
        int64_t first_ms, second_ms; /* rehearsals; -1: none */
        int64_t due_ms;              /* -1: never */
    } vectors[] = {
        {60000, 0, -1, -1, -1},
        {60000, 0, 5000, -1, -1},
        {0, 10000, -1, -1, -1},
        {0, 10000, 5000, -1, 5000},
        {0, 10000, 0, -1, 0},
        {0, 10000, 7000, 5000, 5000},
        {0, 10000, 5000, 7000, 5000},
        {60000, 10000, -1, -1, 50000},
        {60000, 60000, -1, -1, 0},
        {60000, 60001, -1, -1, 0},
        {60000, 10000, 49999, -1, 49999},
        {60000, 10000, 50001, -1, 50000},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_injection all[] = {
            {.what = JR_INJECT_DEADLINE, .after_ms = (uint64_t)vectors[i].first_ms},
            {.what = JR_INJECT_DEADLINE, .after_ms = (uint64_t)vectors[i].second_ms}};
        BEGIN(fake_runner_end, start(vectors[i].run_ms, vectors[i].before_ms));
        fake.plan.injections = all;
        fake.plan.injections_count =
            (vectors[i].first_ms >= 0) + (uint32_t)(vectors[i].second_ms >= 0);
        uint64_t before = jr_clock_ns();
        fake_runner_open(&jr_deadline_policy);
        uint64_t at = fake.runner.deadline.timer.at;
        if (vectors[i].due_ms < 0)
            CU_ASSERT_EQUAL(at, 0)
        else
            CU_ASSERT_TRUE(fake_runner_is_after(at, before, (uint64_t)vectors[i].due_ms));
    }
}

/* Who runs, or stands still, is warned; who has returned waits for the others only, and who ends or
 * has ended needs no warning. */
TEST(warns_who_can_still_do_something)
{
    static const struct {
        enum jr_life state;
        bool returned, warned;
    } vectors[] = {
        {JR_LIFE_WAITING, false, false}, {JR_LIFE_STOPPING, false, false},
        {JR_LIFE_KILLING, false, false}, {JR_LIFE_ENDED, false, false},
        {JR_LIFE_RUNNING, true, false},  {JR_LIFE_SUSPENDED, true, false},
        {JR_LIFE_RUNNING, false, true},  {JR_LIFE_SUSPENDED, false, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        start(60000, 10000);
        fake_runner_spawn(0);
        fake.ranks[0].state = vectors[i].state;
        fake.outcomes[0].returned = vectors[i].returned;
        open_and_pass();
        fake_runner_check_sent(0, vectors[i].warned ? "USR1" : "");
        CU_ASSERT_EQUAL(fake.outcomes[0].warned_with, vectors[i].warned ? SIGUSR1 : 0);
        CU_ASSERT_EQUAL(fake.ranks[0].state, vectors[i].state);
        CU_ASSERT_EQUAL(fake.outcomes[0].stopped_with, 0);
        fake_runner_check_events("deadline signal=SIGUSR1 running=1; ");
        fake_runner_end();
    }
}

/* All of them are, by the signal that the spec names, and once. */
TEST(warns_all_once)
{
    BEGIN(fake_runner_end, start(60000, 10000));
    fake.policy.deadline.signal = (char *)"RTMIN+2";
    fake_runner_spawn(0);
    fake_runner_spawn(2);
    open_and_pass();
    fake_runner_check_sent(0, "RTMIN+2");
    fake_runner_check_sent(2, "RTMIN+2");
    CU_ASSERT_EQUAL(fake.outcomes[2].warned_with, SIGRTMIN + 2);
    CU_ASSERT_EQUAL(fake.outcomes[1].warned_with, 0); /* has not started */
    CU_ASSERT_EQUAL(fake.outcomes[3].warned_with, 0);
    fake_runner_check_events("deadline signal=SIGRTMIN+2 running=2; ");
    fake.runner.deadline.timer.due(&fake.runner);
    fake_runner_check_sent(0, "");
    fake_runner_check_events("");
}

/* A rank that starts afterwards is warned at once, and one before is not. */
TEST(warns_who_starts_late)
{
    BEGIN(fake_runner_end, start(60000, 10000));
    fake_runner_spawn(0);
    fake_runner_open(&jr_deadline_policy);
    jr_deadline_policy.rank_started(&fake.ranks[0]);
    fake_runner_check_sent(0, "");
    CU_ASSERT_EQUAL(fake.outcomes[0].warned_with, 0);
    fake.runner.deadline.timer.due(&fake.runner);
    fake_runner_check_sent(0, "USR1");
    fake_runner_spawn(1);
    jr_deadline_policy.rank_started(&fake.ranks[1]);
    fake_runner_check_sent(1, "USR1");
    fake_runner_check_sent(0, "");
    CU_ASSERT_EQUAL(fake.outcomes[1].warned_with, SIGUSR1);
}

/* A scheduler may warn of the end by a signal: the ranks are warned, and it is
 * asked whether the job is preempted. Other signals are none of its business.
 */
TEST(takes_the_word_of_a_scheduler)
{
    static const struct {
        uint64_t before_ms;
        int sig;
        bool stopped, takes, warns;
    } vectors[] = {
        {0, SIGUSR1, false, false, false},     {10000, SIGUSR2, false, false, false},
        {10000, SIGTERM, false, false, false}, {10000, SIGUSR1, true, true, false},
        {10000, SIGUSR1, false, true, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(fake_runner_end, start(60000, vectors[i].before_ms));
        fake_runner_link();
        fake_runner_spawn(0);
        fake_runner_open(&jr_deadline_policy);
        fake_runner_open(&jr_preemption_policy);
        fake.runner.stop.begun = vectors[i].stopped;
        CU_ASSERT_EQUAL(jr_deadline_takes(&fake.runner, vectors[i].sig), vectors[i].takes);
        CU_ASSERT_EQUAL(fake.runner.deadline.begun, vectors[i].warns);
        fake_runner_check_sent(0, vectors[i].warns ? "USR1" : "");
        if (vectors[i].takes)
            fake_runner_check_report(JR_REPORT_TERMINATED, NULL);
        else
            fake_runner_check_no_report();
        jr_preemption_policy.close(&fake.runner);
    }
}

/* Where the run is stopped, or over, nobody is warned of its end any more. */
TEST(ends_with_the_run)
{
    for (int how = 0; how < 2; how++) {
        BEGIN(fake_runner_end, start(60000, 10000));
        fake_runner_open(&jr_deadline_policy);
        CU_ASSERT_NOT_EQUAL(fake.runner.deadline.timer.at, 0);
        if (how == 0)
            jr_deadline_policy.stopping(&fake.runner);
        else
            jr_deadline_policy.close(&fake.runner);
        CU_ASSERT_TRUE(fake.runner.deadline.timer.at == 0 && !fake.runner.deadline.begun);
    }
}
