/* How a run is stopped, by whom, and what is left of it: nothing. */
#include "drive.h"
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A run that is sent a signal once its ranks have told that they are ready. */
struct vector {
    const char *words;
    unsigned ready;      /* how many tell */
    int signals[2];      /* sent to the guard, apart enough to be two */
    const char *want[5]; /* texts of the outcome */
};

/* Send a second signal until the run ends: on a busy machine the first two can reach the runner
 * within the tenth of a second in which they are one. */
static void insist(const struct jr_drive *drive, int sig)
{
    for (int i = 0; i < JR_DRIVE_WAIT_MS / 150 && !jr_drive_ends(drive, 150); i++)
        jr_drive_kill(drive->pid, sig);
}

/* The driver exits with a status of its own, unless one more of the signals that insist() sends
 * comes when its run is over and its handlers are gone. */
static bool has_exited(const struct vector *vector, int status)
{
    return WIFEXITED(status) || (vector->signals[1] != 0 && WTERMSIG(status) == vector->signals[1]);
}

static void check(const struct vector *vectors, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct vector *vector = &vectors[i];
        DRIVE(drive);
        jr_drive_start(&drive, JR_DRIVE_FILES, vector->words);
        CU_ASSERT_TRUE(jr_drive_ready(&drive, vector->ready));
        if (strstr(vector->words, "await=go") != NULL)
            jr_drive_go(&drive);
        if (vector->signals[0] != 0)
            jr_drive_kill(drive.pid, vector->signals[0]);
        if (vector->signals[1] != 0)
            insist(&drive, vector->signals[1]);
        CU_ASSERT_TRUE(jr_drive_end(&drive));
        CU_ASSERT_TRUE(has_exited(vector, drive.status));
        for (int j = 0; j < 5 && vector->want[j] != NULL; j++)
            CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome", vector->want[j]));
        CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome", "left=0"));
        CU_ASSERT_EQUAL(jr_drive_survivors(&drive, 0), 0);
    }
}
#define CHECK(vectors) check(vectors, sizeof vectors / sizeof vectors[0])

#define EVENTS "runs/run-0000/events.jsonl"
#define STOPPED                                                                                    \
    "end=signaled code=0 signal=15 stage=none errno=0 stopped_with=15 "                            \
    "killed=0"
#define KILLED  "end=signaled code=0 signal=9 stage=none errno=0 stopped_with=15 killed=1"
#define FAILED3 "end=exited code=3 signal=0 stage=none errno=0 stopped_with=0 killed=0"

TEST(stops_the_others_when_one_fails)
{
    static const struct vector failures[] = {
        {"ranks=3 -- %F 1:exit=3 hang", 0, {0}, {"rank 1 " FAILED3}},
        {"ranks=3 -- %F 1:signal=11 hang",
         0,
         {0},
         {"rank 1 end=signaled code=0 signal=11 stage=none errno=0 stopped_with=0"}},
        {"ranks=2 grace=50 -- %F ignore=15 tell=ready 1:await=go 1:exit=3 hang",
         2,
         {0},
         {"rank 0 " KILLED " order=2", "rank 1 " FAILED3 " order=1"}},
        {"ranks=2 out=tee err=tee grace=50 -- %F ignore=15 fork daemonise "
         "tell=ready 1:await=go 1:exit=3 hang",
         2,
         {0},
         {"rank 0 " KILLED, "rank 1 " FAILED3}},
        {"ranks=2 grace=0 -- %F ignore=15 tell=ready 1:await=go 1:exit=3 hang",
         2,
         {0},
         {"rank 0 " KILLED}},
        {"ranks=2 -- %F obey tell=ready 1:await=go 1:exit=3 hang",
         2,
         {0},
         {"rank 0 end=exited code=0 signal=0 stage=none errno=0 stopped_with=15 killed=0"}},
        {"ranks=2 -- %F tell=ready 1:await=go 1:exit=3 stop", 2, {0}, {"rank 0 " STOPPED}},
        {"ranks=2 target=group -- %F fork tell=ready 1:await=go 1:exit=3 hang",
         2,
         {0},
         {"rank 0 " STOPPED}},
    };
    CHECK(failures);
}

TEST(lets_the_others_run_on)
{
    static const struct vector vectors[] = {
        {"ranks=3 policy=continue -- %F 1:exit=3 print=x",
         0,
         {0},
         {"rank 0 end=exited code=0", "rank 1 " FAILED3, "rank 2 end=exited code=0"}},
        {"ranks=3 policy=continue -- %F 1:signal=9 0:exit=3 print=x",
         0,
         {0},
         {"rank 0 " FAILED3, "rank 2 end=exited code=0"}},
    };
    CHECK(vectors);
}

/* Whatever time is enough for all ranks to begin, here and now. */
static void check_time(const char *words, unsigned ranks, const char *rank_0)
{
    size_t begun = 0;
    for (unsigned ms = 50; begun < ranks && ms < JR_DRIVE_WAIT_MS; ms *= 4) {
        DRIVE(drive);
        char timed[128];
        (void)snprintf(timed, sizeof timed, "run=%u %s", ms, words);
        CU_ASSERT_TRUE(jr_drive_run(&drive, timed));
        free(jr_drive_read(&drive, "out", &begun));
        CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome", "timed_out=1"));
        if (begun == ranks)
            CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome", rank_0));
        CU_ASSERT_EQUAL(jr_drive_survivors(&drive, 0), 0);
    }
    CU_ASSERT_EQUAL(begun, ranks);
}

TEST(keeps_to_its_time)
{
    static const struct vector vectors[] = {
        {"run=3600000 -- %F print=x", 0, {0}, {"timed_out=0"}},
    };
    check_time("ranks=2 -- %F say=x hang", 2, "rank 0 " STOPPED);
    check_time("ranks=2 grace=50 -- %F ignore=15 say=x hang", 2, "rank 0 " KILLED);
    CHECK(vectors);
}

TEST(obeys_signals)
{
    static const struct vector vectors[] = {
        {"ranks=2 -- %F tell=ready hang",
         2,
         {SIGTERM},
         {"stop_signal=15", "rank 0 " STOPPED, "rank 1 " STOPPED}},
        {"-- %F tell=ready hang", 1, {SIGINT}, {"stop_signal=2", "rank 0 " STOPPED}},
        {"-- %F tell=ready hang", 1, {SIGHUP}, {"stop_signal=1"}},
        {"-- %F tell=ready hang", 1, {SIGQUIT}, {"stop_signal=3"}},
        {"-- %F ignore=15 daemonise tell=ready hang",
         1,
         {SIGTERM, SIGINT},
         {"stop_signal=15", "rank 0 " KILLED}},
        {"-- %F obey tell=ready hang", 1, {SIGUSR1}, {"stop_signal=0", "rank 0 end=exited code=9"}},
        {"-- %F tell=ready hang",
         1,
         {SIGUSR2},
         {"stop_signal=0", "rank 0 end=signaled code=0 signal=12"}},
        {"-- %F tell=ready hang", 1, {SIGWINCH, SIGTERM}, {"stop_signal=15"}},
    };
    CHECK(vectors);
}

/* timeout(1) and shells send a signal to a process and to its group. Returns
 * false where the runner was kept for so long between them that they were two.
 */
static bool try_double_signal(void)
{
    struct jr_drive drive;
    jr_drive_start(&drive, JR_DRIVE_FILES, "-- %F ignore=15 tell=ready await=go");
    CU_ASSERT_TRUE(jr_drive_ready(&drive, 1));
    pid_t runner = jr_drive_runner(&drive);
    jr_drive_kill(runner, SIGSTOP);
    CU_ASSERT_TRUE(jr_drive_state(runner, 'T'));
    jr_drive_kill(runner, SIGTERM);
    jr_drive_kill(runner, SIGINT);
    jr_drive_kill(runner, SIGCONT);
    /* Written when nothing is left to be done. */
    CU_ASSERT_TRUE(jr_drive_await(&drive, EVENTS, "\"event\":\"stop\""));
    TEXT(held) = jr_drive_read(&drive, EVENTS, NULL);
    bool one = strstr(held, "\"event\":\"kill\"") == NULL;
    if (one)
        jr_drive_go(&drive);
    CU_ASSERT_TRUE(jr_drive_end(&drive));
    if (one)
        CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome",
                                    "end=exited code=0 signal=0 stage=none "
                                    "errno=0 stopped_with=15 killed=0"));
    jr_drive_close(&drive);
    return one;
}

TEST(takes_a_double_signal_for_one)
{
    bool one = false;
    for (int i = 0; i < 10 && !one; i++)
        one = try_double_signal();
    CU_ASSERT_TRUE(one);
}

TEST(ignores_hangup_under_nohup)
{
    DRIVE(drive);
    jr_drive_start(&drive, JR_DRIVE_NOHUP, "-- %F obey tell=ready hang");
    CU_ASSERT_TRUE(jr_drive_ready(&drive, 1));
    jr_drive_kill(drive.pid, SIGHUP);
    jr_drive_kill(drive.pid, SIGINT);
    jr_drive_kill(drive.pid, SIGTERM);
    CU_ASSERT_TRUE(jr_drive_end(&drive) && jr_drive_has(&drive, "outcome", "stop_signal=15"));
}

/* ^Z and fg: the guard stops as a shell's job does, and the ranks with it. */
TEST(suspends_and_resumes)
{
    DRIVE(drive);
    jr_drive_start(&drive, JR_DRIVE_FILES, "-- %F tell=ready hang");
    CU_ASSERT_TRUE(jr_drive_ready(&drive, 1));
    pid_t pid = jr_drive_rank(&drive, 0);
    CU_ASSERT_TRUE(pid > 0);
    jr_drive_kill(drive.pid, SIGTSTP);
    CU_ASSERT_TRUE(jr_drive_state(drive.pid, 'T'));
    CU_ASSERT_TRUE(jr_drive_state(pid, 'T'));
    jr_drive_kill(drive.pid, SIGCONT);
    CU_ASSERT_TRUE(jr_drive_state(drive.pid, 'S'));
    CU_ASSERT_TRUE(jr_drive_state(pid, 'S'));
    jr_drive_kill(drive.pid, SIGTSTP);
    CU_ASSERT_TRUE(jr_drive_state(drive.pid, 'T'));
    CU_ASSERT_TRUE(jr_drive_state(pid, 'T'));
    jr_drive_kill(drive.pid, SIGTERM);
    jr_drive_kill(drive.pid, SIGCONT);
    CU_ASSERT_TRUE(jr_drive_end(&drive) && jr_drive_has(&drive, "outcome", "rank 0 " STOPPED));
}

/* Ends that the kernel saw one after the other are told in that order, however late the runner
 * looks. */
TEST(keeps_the_order_of_ends)
{
    static const unsigned ends[] = {2, 0, 1};
    DRIVE(drive);
    pid_t pids[3];
    jr_drive_start(&drive, JR_DRIVE_FILES, "ranks=3 policy=continue -- %F hang");
    /* Told once the runner waits for all of them. */
    CU_ASSERT_TRUE(jr_drive_await(&drive, EVENTS, "\"rank\":2"));
    pid_t runner = jr_drive_runner(&drive);
    for (unsigned i = 0; i < 3; i++)
        pids[i] = jr_drive_rank(&drive, i);
    jr_drive_kill(runner, SIGSTOP);
    CU_ASSERT_TRUE(jr_drive_state(runner, 'T'));
    for (unsigned i = 0; i < 3; i++) {
        jr_drive_kill(pids[ends[i]], SIGKILL);
        CU_ASSERT_TRUE(jr_drive_state(pids[ends[i]], 'Z'));
    }
    jr_drive_kill(runner, SIGCONT);
    CU_ASSERT_TRUE(jr_drive_end(&drive));
    TEXT(outcome) = jr_drive_read(&drive, "outcome", NULL);
    for (unsigned i = 0; i < 3; i++) {
        char rank[16], order[16];
        (void)snprintf(rank, sizeof rank, "rank %u ", ends[i]);
        (void)snprintf(order, sizeof order, "order=%u ", i + 1);
        char *line = strstr(outcome, rank);
        CU_ASSERT_PTR_NOT_NULL_FATAL(line);
        char *found = strstr(line, order);
        CU_ASSERT_TRUE(found != NULL && found < line + strcspn(line, "\n"));
    }
}

TEST(takes_many_ranks)
{
    DRIVE(drive);
    CU_ASSERT_TRUE(jr_drive_run(&drive, "ranks=512 out=tee err=tee -- %F print=x 300:exit=3"));
    CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome", "rank 300 " FAILED3));
    CU_ASSERT_EQUAL(jr_drive_survivors(&drive, 0), 0);
}
