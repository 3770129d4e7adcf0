/* Guard and runner guard each other: SIGKILL of either leaves nothing. */
#include "drive.h"
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* Ranks that are as hard to end as they can be. */
#define STUBBORN                                                                                   \
    "ranks=4 out=tee err=tee -- %F ignore=15 ignore=1 fork daemonise "                             \
    "tell=ready hang"

TEST(survives_the_runner)
{
    DRIVE(drive);
    jr_drive_start(&drive, JR_DRIVE_FILES, STUBBORN);
    CU_ASSERT_TRUE(jr_drive_ready(&drive, 4) && jr_drive_survivors(&drive, 0) >= 14);
    /* The rank can be ready before the runner has noted that there is one. */
    CU_ASSERT_TRUE(jr_drive_await(&drive, "runs/run-0000/events.jsonl",
                                  "\"event\":\"rank_started\",\"rank\":3"));
    jr_drive_kill(jr_drive_runner(&drive), SIGKILL);
    CU_ASSERT_TRUE(jr_drive_end(&drive) && jr_drive_survivors(&drive, 0) == 0);
    jr_drive_check(&drive, "outcome", "runner_signal=9|left=0");
    CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome",
                                "rank 3 end=none code=0 signal=0 stage=none "
                                "errno=0 stopped_with=9 killed=1"));
    CU_ASSERT_TRUE(jr_drive_has(&drive, "runs/run-0000/events.jsonl",
                                "\"event\":\"runner_lost\",\"signal\":\"SIGKILL\""));
}

TEST(keeps_what_was_known)
{
    DRIVE(drive);
    jr_drive_start(&drive, JR_DRIVE_FILES,
                   "ranks=2 policy=continue -- %F 0:exit=3 tell=ready hang");
    CU_ASSERT_TRUE(jr_drive_ready(&drive, 1));
    pid_t runner = jr_drive_runner(&drive);
    CU_ASSERT_TRUE(jr_drive_await(&drive, "runs/run-0000/events.jsonl", "rank_ended"));
    jr_drive_kill(runner, SIGKILL);
    CU_ASSERT_TRUE(jr_drive_end(&drive));
    jr_drive_check(&drive, "outcome", "rank 0 end=exited code=3 signal=0|rank 1 end=none");
}

/* FILE.next is the runner's, who would have removed it. */
TEST(leaves_no_half_logs)
{
    static const char next[] = "runs/run-0000/attempt_0/0/stdout.log.next";
    DRIVE(drive);
    jr_drive_start(&drive, JR_DRIVE_FILES, "limit=64KiB out=tee -- %F flood=50000 tell=ready hang");
    CU_ASSERT_TRUE(jr_drive_ready(&drive, 1) && jr_drive_await(&drive, next, "00000000000"));
    jr_drive_kill(jr_drive_runner(&drive), SIGKILL);
    CU_ASSERT_TRUE(jr_drive_end(&drive));
    TEXT(held) = jr_drive_read(&drive, next, NULL);
    JR_ASSERT_TEXT(held, "");
    CU_ASSERT_TRUE(jr_drive_has(&drive, "runs/run-0000/attempt_0/0/stdout.log", "00000"));
}

TEST(survives_the_guard)
{
    DRIVE(drive);
    jr_drive_start(&drive, JR_DRIVE_FILES, STUBBORN);
    CU_ASSERT_TRUE(jr_drive_ready(&drive, 4));
    jr_drive_kill(drive.pid, SIGKILL);
    CU_ASSERT_TRUE(jr_drive_end(&drive) && jr_drive_survivors(&drive, JR_DRIVE_WAIT_MS) == 0);
    CU_ASSERT_TRUE(jr_drive_has(&drive, "runs/run-0000/events.jsonl", "\"event\":\"guard_lost\"}"));
}

/* Any signal at all, to either of them. */
TEST(survives_any_signal)
{
    static const int signals[] = {SIGSEGV, SIGABRT, SIGALRM, SIGBUS,  SIGXCPU,
                                  SIGPROF, SIGPWR,  SIGSYS,  SIGTRAP, 40};
    for (size_t i = 0; i < 2 * sizeof signals / sizeof signals[0]; i++) {
        DRIVE(drive);
        jr_drive_start(&drive, JR_DRIVE_FILES, "ranks=2 -- %F ignore=15 daemonise tell=ready hang");
        CU_ASSERT_TRUE(jr_drive_ready(&drive, 2));
        pid_t victim = i % 2 == 0 ? drive.pid : jr_drive_runner(&drive);
        jr_drive_kill(victim, signals[i / 2]);
        CU_ASSERT_TRUE(jr_drive_end(&drive) && jr_drive_survivors(&drive, JR_DRIVE_WAIT_MS) == 0);
    }
}

/* A runner that somebody stopped is woken by the signal that ends the run. */
TEST(wakes_a_stopped_runner)
{
    DRIVE(drive);
    jr_drive_start(&drive, JR_DRIVE_FILES, "-- %F tell=ready hang");
    CU_ASSERT_TRUE(jr_drive_ready(&drive, 1));
    pid_t runner = jr_drive_runner(&drive);
    jr_drive_kill(runner, SIGSTOP);
    CU_ASSERT_TRUE(jr_drive_state(runner, 'T'));
    jr_drive_kill(drive.pid, SIGTERM);
    CU_ASSERT_TRUE(jr_drive_end(&drive) && jr_drive_has(&drive, "outcome", "stop_signal=15"));
    CU_ASSERT_EQUAL(jr_drive_survivors(&drive, 0), 0);
}

/* A rank killed behind our back is a rank that died of a signal. */
TEST(tells_a_killed_rank)
{
    DRIVE(drive);
    CU_ASSERT_TRUE(jr_drive_run(&drive, "ranks=2 -- %F 1:signal=9 hang"));
    CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome",
                                "rank 1 end=signaled code=0 signal=9 "
                                "stage=none errno=0 stopped_with=0 killed=0"));
}
