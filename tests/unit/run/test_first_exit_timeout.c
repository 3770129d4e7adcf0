/* timeouts.after_first_exit: from when on it counts, for whom, and what follows when it is over. */
#include "fake_runner.h"

static void start(uint64_t limit_ms)
{
    fake_runner_start();
    fake.policy.timeouts.after_first_exit_ms = limit_ms;
    fake.policy.on_hang.wait_ms = 3600000;
    fake_runner_open(&jr_stop_policy);
    fake_runner_open(&jr_hang_policy);
    fake_runner_open(&jr_first_exit_timeout_policy);
    fake_runner_run(0);
    fake_runner_run(1);
    fake_runner_run(2);
}

static uint64_t due_at(void)
{
    return fake.runner.first_exit_timeout.timer.at;
}

static void let_end(uint32_t rank, enum jr_end end, int number)
{
    fake_runner_note_end(rank, end, number);
    jr_first_exit_timeout_policy.rank_ended(&fake.ranks[rank]);
}

/* It counts from the first good end on; a bad one is none, nor is one in a run that hangs
 * already. */
TEST(counts_from_the_first_good_end)
{
    static const struct {
        uint64_t limit_ms;
        enum jr_end end;
        int number;
        bool hangs, counts;
    } vectors[] = {
        {90000, JR_END_EXITED, 1, false, false}, {90000, JR_END_SIGNALED, SIGSEGV, false, false},
        {90000, JR_END_EXITED, 0, true, false},  {0, JR_END_EXITED, 0, false, false},
        {1, JR_END_EXITED, 0, false, true},      {90000, JR_END_EXITED, 0, false, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(fake_runner_end, start(vectors[i].limit_ms));
        fake.runner.hang.begun = vectors[i].hangs;
        CU_ASSERT_EQUAL(due_at(), 0);
        uint64_t before = jr_clock_ns();
        let_end(0, vectors[i].end, vectors[i].number);
        if (vectors[i].counts)
            CU_ASSERT_TRUE(fake_runner_is_after(due_at(), before, vectors[i].limit_ms))
        else
            CU_ASSERT_EQUAL(due_at(), 0);
    }
}

/* Later ends change nothing, and neither does another node's. */
TEST(counts_once)
{
    BEGIN(fake_runner_end, start(90000));
    jr_first_exit_begin(&fake.runner);
    CU_ASSERT_NOT_EQUAL(due_at(), 0);
    fake.runner.first_exit_timeout.timer.at = 77;
    let_end(0, JR_END_EXITED, 0);
    jr_first_exit_begin(&fake.runner);
    CU_ASSERT_EQUAL(due_at(), 77);
}

TEST(ends_with_the_run)
{
    for (int how = 0; how < 2; how++) {
        BEGIN(fake_runner_end, start(90000));
        let_end(0, JR_END_EXITED, 0);
        if (how == 0)
            jr_stop_begin(&fake.runner);
        else
            jr_first_exit_timeout_policy.close(&fake.runner);
        CU_ASSERT_EQUAL(due_at(), 0);
        let_end(1, JR_END_EXITED, 0); /* it does not begin once more */
        CU_ASSERT_EQUAL(due_at(), 0);
    }
}
