/* Forks of a helper that has threads: which are watched, who is killed for never having reached its
 * function, and what is said of it. */
#include "fake_runner.h"

static void start(const char *threads)
{
    fake_runner_start();
    fake_runner_console();
    fake_runner_open(&jr_fork_stall_policy);
    if (threads != NULL)
        jr_fork_stall_warn(&fake.runner, threads);
}

TEST(warns_of_the_threads)
{
    char text[1024];
    BEGIN(fake_runner_end, start("2 threads (loader, worker)"));
    JR_ASSERT_TEXT(fake_runner_read("console", text, sizeof text),
                   "jobrun: warning: the imports of the helper left 2 threads (loader, "
                   "worker); ranks are forked without them, and a rank that waits for "
                   "them hangs (fork_threads: refuse makes this an error)\n");
    JR_ASSERT_TEXT(fake.runner.fork_stall.threads, "2 threads (loader, worker)");
    fake_runner_check_events("helper_threads; ");
}

/* A rank has 30 s to reach its function, where the helper has threads and the rank can say that it
 * has. */
TEST(watches_forks_of_a_helper_with_threads)
{
    static const struct {
        const char *threads;
        bool control, watched;
    } vectors[] = {
        {NULL, true, false},
        {"", true, false},
        {"1 thread", false, false},
        {"1 thread", true, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(fake_runner_end, start(vectors[i].threads));
        if (vectors[i].control)
            fake_runner_control(0);
        uint64_t before = jr_clock_ns();
        jr_fork_stall_policy.rank_started(&fake.ranks[0]);
        uint64_t by = fake.ranks[0].reach_by;
        CU_ASSERT_EQUAL(by != 0, vectors[i].watched);
        CU_ASSERT_EQUAL(fake.runner.fork_stall.timer.at, by);
        if (vectors[i].watched)
            CU_ASSERT_TRUE(fake_runner_is_after(by, before, 30000));
    }
}

/* The timer is that of the first; who has reached it is watched no longer. */
TEST(waits_for_the_first)
{
    BEGIN(fake_runner_end, start("1 thread"));
    fake_runner_control(0);
    fake_runner_control(1);
    jr_fork_stall_policy.rank_started(&fake.ranks[0]);
    uint64_t first = fake.ranks[0].reach_by;
    jr_fork_stall_policy.rank_started(&fake.ranks[1]);
    CU_ASSERT_EQUAL(fake.runner.fork_stall.timer.at, first);
    jr_fork_stall_reached(&fake.ranks[0]);
    CU_ASSERT_TRUE(fake.ranks[0].reach_by == 0 && fake.ranks[1].reach_by != 0);
}

/* Whose time is up is killed, and its start has failed, with the reason. */
TEST(kills_who_is_stalled)
{
    BEGIN(fake_runner_end, start("2 threads (loader)"));
    for (uint32_t i = 0; i < 4; i++)
        fake_runner_spawn(i);
    uint64_t later = jr_clock_ns() + 3600000 * FAKE_MS;
    fake.ranks[0].reach_by = later + 1;
    fake.ranks[1].reach_by = 1;
    fake.ranks[2].reach_by = later;
    fake.runner.fork_stall.timer.due(&fake.runner);
    fake_runner_check_sent(1, "KILL");
    fake_runner_check_sent(0, "");
    fake_runner_check_sent(2, "");
    fake_runner_check_sent(3, "");
    CU_ASSERT_TRUE(fake.ranks[1].reach_by == 0 && fake.outcomes[1].stage == JR_STAGE_STALL);
    CU_ASSERT_EQUAL(fake.outcomes[0].stage, JR_STAGE_NONE);
    CU_ASSERT_EQUAL(fake.runner.fork_stall.timer.at, later);
    JR_ASSERT_TEXT(fake.outcome.start_text,
                   "not within 30 s; the helper that it was forked from has 2 threads (loader), "
                   "which a fork does not have, and a fork that waits for one of them hangs: do "
                   "not preload what starts them, or use start_method: spawn");
    fake_runner_note_end(1, JR_END_SIGNALED, SIGKILL);
    jr_fork_stall_policy.rank_ended(&fake.ranks[1]);
    CU_ASSERT_TRUE(fake.outcomes[1].end == JR_END_START && !fake.outcomes[1].killed);
    CU_ASSERT_EQUAL(fake.outcomes[1].stopped_with, 0);
}

/* The longest list of threads leaves room for the whole sentence. */
TEST(the_reason_is_never_cut)
{
    char text[400];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    BEGIN(fake_runner_end, start(text));
    fake_runner_spawn(0);
    fake.ranks[0].reach_by = 1;
    fake.runner.fork_stall.timer.due(&fake.runner);
    const char *said = fake.outcome.start_text;
    CU_ASSERT_TRUE(strlen(said) > 255);
    JR_ASSERT_TEXT(said + strlen(said) - 19, "start_method: spawn");
}

/* Who has ended meanwhile is nobody's any more. */
TEST(looks_at_who_lives)
{
    BEGIN(fake_runner_end, start("1 thread"));
    fake_runner_spawn(0);
    fake_runner_reap(0);
    fake.ranks[0].reach_by = 1;
    fake.runner.fork_stall.timer.due(&fake.runner);
    CU_ASSERT_TRUE(fake.outcomes[0].stage == JR_STAGE_NONE && fake.runner.fork_stall.timer.at == 0);
}

/* Any other end stays what it was. */
TEST(other_ends_are_left_alone)
{
    static const enum jr_stage stages[] = {JR_STAGE_NONE, JR_STAGE_FORK, JR_STAGE_EXEC};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        BEGIN(fake_runner_end, start("1 thread"));
        fake.outcomes[0] = (struct jr_rank_outcome){
            .stage = stages[i], .end = JR_END_SIGNALED, .killed = true, .stopped_with = SIGTERM};
        jr_fork_stall_policy.rank_ended(&fake.ranks[0]);
        CU_ASSERT_TRUE(fake.outcomes[0].end == JR_END_SIGNALED && fake.outcomes[0].killed);
        CU_ASSERT_EQUAL(fake.outcomes[0].stopped_with, SIGTERM);
    }
}

TEST(no_time_passes_while_suspended)
{
    BEGIN(fake_runner_end, start("1 thread"));
    fake.runner.next = 3;
    fake.ranks[0].reach_by = 1000;
    fake.ranks[2].reach_by = 2000;
    fake.ranks[3].reach_by = 3000; /* has not started */
    jr_fork_stall_policy.resumed(&fake.runner, 50);
    CU_ASSERT_TRUE(fake.ranks[0].reach_by == 1050 && fake.ranks[1].reach_by == 0);
    CU_ASSERT_TRUE(fake.ranks[2].reach_by == 2050 && fake.ranks[3].reach_by == 3000);
    CU_ASSERT_TRUE(fake.runner.fork_stall.timer.pauses);
}
