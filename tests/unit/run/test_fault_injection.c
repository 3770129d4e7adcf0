/* Rehearsed failures: which ranks they are for, when they are due, and what the end of such a rank
 * is taken for; and the time that a first exit leaves. */
#include "fake_runner.h"

static void start(struct jr_injection *injections, uint32_t count)
{
    fake_runner_start();
    fake.plan.injections = injections;
    fake.plan.injections_count = count;
    fake.runner.next = FAKE_RANKS;
    for (uint32_t i = 0; i < FAKE_RANKS; i++)
        fake.outcomes[i].started_ns = 1000 * FAKE_MS;
    fake_runner_open(&jr_fault_injection_policy);
}

ENDING(end)
{
    fake_runner_end();
}

/* When the injection number k is due for each rank, in ms; "-": never. */
static void check_due(uint32_t k, const char *expected)
{
    char text[FAKE_RANKS * 8] = "";
    for (uint32_t i = 0; i < FAKE_RANKS; i++) {
        uint64_t at = fake.runner.fault_injection.cells[k * FAKE_RANKS + i].at;
        size_t len = strlen(text);
        if (at == 0)
            (void)snprintf(text + len, sizeof text - len, " -");
        else
            (void)snprintf(text + len, sizeof text - len, " %u", (unsigned)(at / FAKE_MS));
    }
    JR_ASSERT_TEXT(text, expected);
}

TEST(is_due_for_the_ranks_that_it_names)
{
    static struct jr_injection all[] = {
        {JR_INJECT_KILL, 11, 11, 1, 0, 0},  {JR_INJECT_HANG, 10, 15, 2, 0, 5},
        {JR_INJECT_SLOW, 12, 14, 1, 0, 30}, {JR_INJECT_NORESULT, 10, 15, 1, 0, 0},
        {JR_INJECT_EXIT, 11, 15, 3, 9, 1},  {JR_INJECT_STOP, 16, 20, 1, 0, 1},
        {JR_INJECT_OOM, 0, 9, 1, 0, 1},
    };
    BEGIN(end, start(all, sizeof all / sizeof *all));
    for (uint32_t i = 0; i < FAKE_RANKS; i++)
        jr_fault_injection_policy.rank_started(&fake.ranks[i]);
    check_due(0, " - 1000 - - - -");
    check_due(1, " 1005 - 1005 - 1005 -");
    check_due(2, " - - 1030 1030 1030 -");
    check_due(3, " - - - - - -"); /* what it leaves out is left out later */
    check_due(4, " - 1001 - - 1001 -");
    check_due(5, " - - - - - -");
    check_due(6, " - - - - - -");
    CU_ASSERT_EQUAL(fake.runner.fault_injection.timer.at, 1000 * FAKE_MS);
}

/* The timer is that of what is due first, whichever rank came first. */
TEST(wakes_for_what_is_due_first)
{
    static struct jr_injection all[] = {{JR_INJECT_KILL, 10, 12, 1, 0, 50}};
    BEGIN(end, start(all, 1));
    fake.outcomes[0].started_ns = 300 * FAKE_MS;
    fake.outcomes[1].started_ns = 100 * FAKE_MS;
    fake.outcomes[2].started_ns = 200 * FAKE_MS;
    static const uint64_t at[] = {350, 150, 150, 150};
    for (uint32_t i = 0; i < 4; i++) {
        jr_fault_injection_policy.rank_started(&fake.ranks[i]);
        CU_ASSERT_EQUAL(fake.runner.fault_injection.timer.at, at[i] * FAKE_MS);
    }
}

/* A SIGKILL of the rehearsal becomes the end that was played; any other end is the rank's own, and
 * jobrun's stop is jobrun's. */
TEST(only_the_played_end_is_renamed)
{
    static const struct {
        bool injected;
        enum jr_inject what;
        enum jr_end end;
        int signal, stopped_with;
        enum jr_end then;
        int code, signal_then;
        bool oom;
    } vectors[] = {
        {true, JR_INJECT_EXIT, JR_END_SIGNALED, SIGKILL, 0, JR_END_EXITED, 75, 0, false},
        {true, JR_INJECT_OOM, JR_END_SIGNALED, SIGKILL, 0, JR_END_SIGNALED, 0, SIGKILL, true},
        {true, JR_INJECT_KILL, JR_END_SIGNALED, SIGKILL, 0, JR_END_SIGNALED, 0, SIGKILL, false},
        {true, JR_INJECT_EXIT, JR_END_SIGNALED, SIGKILL, SIGTERM, JR_END_SIGNALED, 0, SIGKILL,
         false},
        {true, JR_INJECT_OOM, JR_END_SIGNALED, SIGKILL, SIGTERM, JR_END_SIGNALED, 0, SIGKILL,
         false},
        {true, JR_INJECT_EXIT, JR_END_SIGNALED, SIGSEGV, 0, JR_END_SIGNALED, 0, SIGSEGV, false},
        {true, JR_INJECT_OOM, JR_END_EXITED, 0, 0, JR_END_EXITED, 0, 0, false},
        {false, JR_INJECT_EXIT, JR_END_SIGNALED, SIGKILL, 0, JR_END_SIGNALED, 0, SIGKILL, false},
        {true, JR_INJECT_LOST_NODE, JR_END_SIGNALED, SIGKILL, 0, JR_END_LOST, 0, 0, false},
        /* the end of a rank beside it began a stop, which came too late */
        {true, JR_INJECT_LOST_NODE, JR_END_SIGNALED, SIGKILL, SIGTERM, JR_END_LOST, 0, 0, false},
        {true, JR_INJECT_LOST_NODE, JR_END_SIGNALED, SIGTERM, SIGTERM, JR_END_SIGNALED, 0, SIGTERM,
         false},
    };
    BEGIN(end, start(NULL, 0));
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_rank_outcome *outcome = &fake.outcomes[0];
        *outcome = (struct jr_rank_outcome){.injected = vectors[i].injected,
                                            .injection = vectors[i].what,
                                            .injected_code = 75,
                                            .end = vectors[i].end,
                                            .signal = vectors[i].signal,
                                            .stopped_with = vectors[i].stopped_with};
        jr_fault_injection_policy.rank_ended(&fake.ranks[0]);
        CU_ASSERT_TRUE(outcome->end == vectors[i].then && outcome->exit_code == vectors[i].code);
        CU_ASSERT_TRUE(outcome->signal == vectors[i].signal_then && outcome->oom == vectors[i].oom);
    }
}

/* Four fifths of each half second it stands still; it is said once. */
TEST(a_slow_rank_stands_still_and_goes_on)
{
    static struct jr_injection all[] = {{JR_INJECT_SLOW, 10, 10, 1, 0, 0}};
    struct jr_inject_cell *cell;
    BEGIN(end, start(all, 1));
    cell = &fake.runner.fault_injection.cells[0];
    fake_runner_spawn(0);
    for (int turn = 0; turn < 2; turn++) {
        uint64_t before = jr_clock_ns();
        cell->at = 1;
        fake.runner.fault_injection.timer.due(&fake.runner);
        CU_ASSERT_TRUE(cell->still && fake_runner_is_after(cell->at, before, 400));
        CU_ASSERT_EQUAL(fake.runner.fault_injection.timer.at, cell->at);
        fake_runner_check_stopped(0);
        before = jr_clock_ns();
        cell->at = 1;
        fake.runner.fault_injection.timer.due(&fake.runner);
        CU_ASSERT_TRUE(!cell->still && fake_runner_is_after(cell->at, before, 100));
        fake_runner_check_sent(0, "CONT");
    }
    fake_runner_check_events("injected rank=10 injection=4; ");
}

/* Nothing is done to a rank that has ended, or is being stopped; while jobrun is suspended it is
 * put off by a tenth of a second. */
TEST(looks_at_the_state_of_the_rank)
{
    static struct jr_injection all[] = {{JR_INJECT_STOP, 10, 15, 1, 0, 0}};
    static const struct {
        enum jr_life state;
        bool done, put_off;
    } vectors[] = {
        {JR_LIFE_WAITING, false, false},  {JR_LIFE_ENDED, false, false},
        {JR_LIFE_STOPPING, false, false}, {JR_LIFE_KILLING, false, false},
        {JR_LIFE_SUSPENDED, false, true}, {JR_LIFE_RUNNING, true, false},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(end, start(all, 1));
        struct jr_inject_cell *cell = &fake.runner.fault_injection.cells[0];
        fake_runner_spawn(0);
        fake.ranks[0].state = vectors[i].state;
        cell->at = 1;
        uint64_t before = jr_clock_ns();
        fake.runner.fault_injection.timer.due(&fake.runner);
        CU_ASSERT_EQUAL(fake.outcomes[0].injected, vectors[i].done);
        if (vectors[i].done)
            fake_runner_check_stopped(0);
        else
            fake_runner_check_sent(0, "");
        if (vectors[i].put_off)
            CU_ASSERT_TRUE(fake_runner_is_after(cell->at, before, 100));
        CU_ASSERT_EQUAL(fake.runner.fault_injection.timer.at, vectors[i].put_off ? cell->at : 0);
    }
}

/* A node is lost at one moment, also for its ranks that started later. */
TEST(a_node_is_lost_with_all_of_its_ranks)
{
    static struct jr_injection all[] = {
        {JR_INJECT_LOST_NODE, 10, 11, 1, 0, 0},
        {JR_INJECT_KILL, 12, 12, 1, 0, 0},
    };
    BEGIN(end, start(all, 2));
    for (uint32_t i = 0; i < 3; i++) {
        fake_runner_spawn(i);
        fake.outcomes[i].started_ns = i == 0 ? 1 : jr_clock_ns() + 3600 * 1000 * FAKE_MS;
        jr_fault_injection_policy.rank_started(&fake.ranks[i]);
    }
    fake.runner.fault_injection.timer.due(&fake.runner);
    for (uint32_t i = 0; i < 2; i++) {
        fake_runner_check_sent(i, "KILL");
        CU_ASSERT_EQUAL(fake.outcomes[i].injection, JR_INJECT_LOST_NODE);
    }
    CU_ASSERT_FALSE(fake.outcomes[2].injected);
}

/* What is not due stays, and the next of all is waited for. */
TEST(waits_for_the_next_of_all)
{
    static struct jr_injection all[] = {{JR_INJECT_KILL, 10, 12, 1, 0, 0}};
    BEGIN(end, start(all, 1));
    uint64_t later = jr_clock_ns() + 3600000 * FAKE_MS;
    for (uint32_t i = 0; i < 3; i++) {
        fake.ranks[i].state = JR_LIFE_RUNNING;
        fake.runner.fault_injection.cells[i].at = later + (i + 1) % 3;
    }
    fake.runner.fault_injection.timer.due(&fake.runner);
    CU_ASSERT_EQUAL(fake.runner.fault_injection.timer.at, later);
    fake.ranks[2].state = JR_LIFE_ENDED;
    fake.runner.fault_injection.timer.due(&fake.runner);
    CU_ASSERT_EQUAL(fake.runner.fault_injection.timer.at, later + 1);
    fake_runner_check_events("");
}

/* When the ranks are told to continue, who plays a hang does not. */
TEST(a_hung_rank_does_not_go_on)
{
    static const struct {
        bool injected;
        enum jr_inject what;
        enum jr_life state;
        bool stopped;
    } vectors[] = {
        {false, JR_INJECT_HANG, JR_LIFE_RUNNING, false},
        {true, JR_INJECT_STOP, JR_LIFE_RUNNING, false},
        {true, JR_INJECT_HANG, JR_LIFE_STOPPING, false},
        {true, JR_INJECT_HANG, JR_LIFE_RUNNING, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(end, start(NULL, 0));
        fake_runner_spawn(0);
        fake.outcomes[0].injected = vectors[i].injected;
        fake.outcomes[0].injection = vectors[i].what;
        fake.ranks[0].state = vectors[i].state;
        jr_fault_injection_policy.resumed(&fake.runner, 1000);
        if (vectors[i].stopped)
            fake_runner_check_stopped(0);
        else
            fake_runner_check_sent(0, "");
    }
}
