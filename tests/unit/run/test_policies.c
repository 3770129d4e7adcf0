#include <fcntl.h>

#include "base/io.h"
#include "fake_runner.h"

static void start(void)
{
    fake_runner_start();
    fake.options.live = true;
    fake.policy.timeouts.run_ms = 3600000;
}

ENDING(end)
{
    if (fake.runner.oom.log_fd > 0)
        (void)close(fake.runner.oom.log_fd);
    fake_runner_end();
}

/* The first row and the last, and some between. */
TEST(opens_and_closes_all)
{
    const struct jr_runner *runner = &fake.runner;
    BEGIN(end, start());
    CU_ASSERT_EQUAL(jr_policies_open(&fake.runner), 0);
    CU_ASSERT_TRUE(runner->oom.root != NULL && runner->exit_barrier.timer.due != NULL);
    CU_ASSERT_TRUE(runner->steps.open && runner->stop.run.at != 0 && runner->progress.open);
    jr_policies_close(&fake.runner);
    CU_ASSERT_TRUE(!runner->steps.open && runner->stop.run.at == 0 && !runner->progress.open);
}

/* Behind one that cannot be opened none is. */
TEST(one_that_fails_is_the_end)
{
    BEGIN(end, start());
    fake.policy.progress.pattern = (char *)"(";
    CU_ASSERT_EQUAL(jr_policies_open(&fake.runner), -1);
    CU_ASSERT_TRUE(fake.runner.exit_barrier.timer.due != NULL && fake.runner.stop.run.at == 0);
    CU_ASSERT_FALSE(fake.runner.progress.open);
}

/* A rank's start and its end are everybody's: they are written, steps end with it, and the failure
 * stops the others. */
TEST(tells_all_of_ranks)
{
    BEGIN(end, start());
    CU_ASSERT_EQUAL(jr_policies_open(&fake.runner), 0);
    fake.runner.deadline.begun = true;
    fake.policy.deadline.signal = (char *)"USR1";
    fake_runner_spawn(0);
    jr_policies_rank_started(&fake.ranks[0]);
    fake_runner_check_sent(0, "USR1");
    fake_runner_check_events("rank_started rank=10; ");
    fake_runner_note_end(0, JR_END_EXITED, 1);
    jr_policies_rank_ended(&fake.ranks[0]);
    fake_runner_check_events("rank_ended rank=10 code=1; ");
    CU_ASSERT_TRUE(fake.outcome.progress->ranks[0].ended && jr_stop_has_begun(&fake.runner));
    jr_policies_close(&fake.runner);
}

/* Without a process a rank did not end, but could not be started; a fork that never reached its
 * function had one. */
TEST(writes_what_became_of_ranks)
{
    BEGIN(end, start());
    fake.outcomes[0].stage = JR_STAGE_EXEC;
    fake.outcomes[0].start_errno = 2;
    fake_runner_note_end(0, JR_END_START, 0);
    jr_rank_events_policy.rank_ended(&fake.ranks[0]);
    fake_runner_check_events("start_failed rank=10 stage=12 errno=2; ");
    fake.ranks[1].pid = 9;
    fake_runner_note_end(1, JR_END_SIGNALED, SIGKILL);
    fake.outcomes[1].end = JR_END_START;
    jr_rank_events_policy.rank_ended(&fake.ranks[1]);
    fake_runner_check_events("rank_ended rank=11 signal=SIGKILL; ");
}

TEST(tells_all_of_a_stop)
{
    BEGIN(end, start());
    fake.policy.exit_barrier = true;
    CU_ASSERT_EQUAL(jr_policies_open(&fake.runner), 0);
    fake_runner_run(0);
    uint64_t tick = fake.runner.progress.tick.at;
    jr_policies_stopping(&fake.runner);
    CU_ASSERT_TRUE(fake.runner.exit_barrier.open && fake.runner.stop.run.at == 0);
    CU_ASSERT_TRUE(fake.runner.progress.tick.at < tick);
    jr_policies_close(&fake.runner);
}

/* While jobrun is suspended no time passes for any of them. */
TEST(tells_all_of_a_pause)
{
    BEGIN(end, start());
    CU_ASSERT_EQUAL(jr_policies_open(&fake.runner), 0);
    fake_runner_run(0);
    fake.ranks[0].reach_by = 1000;
    fake.ranks[0].leave_by = 2000;
    jr_policies_suspended(&fake.runner);
    CU_ASSERT_EQUAL(fake.runner.progress.tick.at, 0);
    jr_policies_resumed(&fake.runner, 70);
    CU_ASSERT_TRUE(fake.ranks[0].reach_by == 1070 && fake.ranks[0].leave_by == 2070);
    CU_ASSERT_NOT_EQUAL(fake.runner.progress.tick.at, 0);
    jr_policies_close(&fake.runner);
}

/* policies_table.txt is the array as it is meant: its rows are in the order of the calls. */
TEST(prints_every_row)
{
    struct jr_buf out = JR_BUF_INIT, expected = JR_BUF_INIT;
    jr_policies_print(&out);
    CU_ASSERT_EQUAL(jr_io_read_file(&expected, AT_FDCWD,
                                    TEST_SOURCE_DIR "/unit/run/policies_table.txt", 65536, NULL),
                    0);
    JR_ASSERT_TEXT(out.data, expected.data);
    jr_buf_release(&out);
    jr_buf_release(&expected);
}
