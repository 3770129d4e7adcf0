/* How a run is stopped, by whom, and what is left of it: nothing. */
#include "drive.h"
#include "unit.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A run that is sent a signal once its ranks have told that they are ready. */
struct vector {
    const char *words;
    unsigned ready;      /* how many tell */
    int signals[2];      /* sent to the guard, apart enough to be two */
    const char *want[5]; /* texts of the outcome */
};

/* Send a second signal until the run ends: on a busy machine the first two can
 * reach the runner within the tenth of a second in which they are one. */
static void insist(const struct jr_drive *drive, int sig)
{
    int pidfd = (int)syscall(SYS_pidfd_open, drive->pid, 0);
    struct pollfd end = {.fd = pidfd, .events = POLLIN};
    for (int i = 0; i < JR_DRIVE_WAIT_MS / 150 && poll(&end, 1, 150) == 0; i++)
        jr_drive_kill(drive->pid, sig);
    (void)close(pidfd);
}

static void check(const struct vector *vectors, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct vector *vector = &vectors[i];
        struct jr_drive drive;
        jr_drive_start(&drive, JR_DRIVE_FILES, vector->words);
        CU_ASSERT_TRUE(jr_drive_ready(&drive, vector->ready));
        if (vector->signals[0] != 0)
            jr_drive_kill(drive.pid, vector->signals[0]);
        if (vector->signals[1] != 0)
            insist(&drive, vector->signals[1]);
        CU_ASSERT_TRUE(jr_drive_end(&drive));
        CU_ASSERT_TRUE(WIFEXITED(drive.status));
        for (int j = 0; j < 5 && vector->want[j] != NULL; j++)
            CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome", vector->want[j]));
        CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome", "left=0"));
        CU_ASSERT_EQUAL(jr_drive_survivors(&drive, 0), 0);
        jr_drive_close(&drive);
    }
}
#define CHECK(vectors) check(vectors, sizeof vectors / sizeof vectors[0])

#define STOPPED                                                                \
    "end=signaled code=0 signal=15 stage=none errno=0 stopped_with=15 "        \
    "killed=0"
#define KILLED                                                                 \
    "end=signaled code=0 signal=9 stage=none errno=0 stopped_with=15 killed=1"
#define FAILED3                                                                \
    "end=exited code=3 signal=0 stage=none errno=0 stopped_with=0 killed=0"

static void stops_the_others_when_one_fails(void)
{
    static const struct vector failures[] = {
        {"ranks=3 -- %F 1:exit=3 hang", 0, {0}, {"rank 1 " FAILED3}},
        {"ranks=3 -- %F 1:signal=11 hang",
         0,
         {0},
         {"rank 1 end=signaled code=0 signal=11 stage=none errno=0 "
          "stopped_with=0"}},
        {"ranks=2 grace=50 -- %F ignore=15 tell=ready 1:exit=3 hang",
         2,
         {0},
         {"rank 0 " KILLED " order=2", "rank 1 " FAILED3 " order=1"}},
        {"ranks=2 out=tee err=tee grace=50 -- %F ignore=15 fork daemonise "
         "tell=ready 1:exit=3 hang",
         2,
         {0},
         {"rank 0 " KILLED, "rank 1 " FAILED3}},
        {"ranks=2 grace=0 -- %F ignore=15 tell=ready 1:exit=3 hang",
         2,
         {0},
         {"rank 0 " KILLED}},
        {"ranks=2 -- %F obey tell=ready 1:exit=3 hang",
         2,
         {0},
         {"rank 0 end=exited code=0 signal=0 stage=none errno=0 "
          "stopped_with=15 killed=0"}},
        {"ranks=2 -- %F tell=ready 1:exit=3 stop", 2, {0}, {"rank 0 " STOPPED}},
        {"ranks=2 target=group -- %F fork tell=ready 1:exit=3 hang",
         2,
         {0},
         {"rank 0 " STOPPED}},
    };
    CHECK(failures);
}

static void lets_the_others_run_on(void)
{
    static const struct vector vectors[] = {
        {"ranks=3 policy=continue -- %F 1:exit=3 print=x",
         0,
         {0},
         {"rank 0 end=exited code=0", "rank 1 " FAILED3,
          "rank 2 end=exited code=0"}},
        {"ranks=3 policy=continue -- %F 1:signal=9 0:exit=3 print=x",
         0,
         {0},
         {"rank 0 " FAILED3, "rank 2 end=exited code=0"}},
    };
    CHECK(vectors);
}

static void keeps_to_its_time(void)
{
    static const struct vector vectors[] = {
        {"ranks=2 run=50 -- %F hang",
         0,
         {0},
         {"timed_out=1", "rank 0 " STOPPED, "rank 1 " STOPPED}},
        {"ranks=2 run=50 grace=50 -- %F ignore=15 hang",
         0,
         {0},
         {"timed_out=1", "rank 0 " KILLED}},
        {"run=10000 -- %F print=x", 0, {0}, {"timed_out=0"}},
    };
    CHECK(vectors);
}

static void obeys_signals(void)
{
    static const struct vector vectors[] = {
        {"ranks=2 -- %F tell=ready hang",
         2,
         {SIGTERM},
         {"stop_signal=15", "rank 0 " STOPPED, "rank 1 " STOPPED}},
        {"-- %F tell=ready hang",
         1,
         {SIGINT},
         {"stop_signal=2", "rank 0 " STOPPED}},
        {"-- %F tell=ready hang", 1, {SIGHUP}, {"stop_signal=1"}},
        {"-- %F tell=ready hang", 1, {SIGQUIT}, {"stop_signal=3"}},
        {"-- %F ignore=15 daemonise tell=ready hang",
         1,
         {SIGTERM, SIGINT},
         {"stop_signal=15", "rank 0 " KILLED}},
        {"-- %F obey tell=ready hang",
         1,
         {SIGUSR1},
         {"stop_signal=0", "rank 0 end=exited code=9"}},
        {"-- %F tell=ready hang",
         1,
         {SIGUSR2},
         {"stop_signal=0", "rank 0 end=signaled code=0 signal=12"}},
        {"-- %F tell=ready hang", 1, {SIGWINCH, SIGTERM}, {"stop_signal=15"}},
    };
    CHECK(vectors);
}

/* timeout(1) and shells send a signal to a process and to its group. */
static void takes_a_double_signal_for_one(void)
{
    struct jr_drive drive;
    jr_drive_start(&drive, JR_DRIVE_FILES, "-- %F obey tell=ready hang");
    CU_ASSERT_TRUE(jr_drive_ready(&drive, 1));
    pid_t runner = jr_drive_runner(&drive);
    jr_drive_kill(runner, SIGTERM);
    jr_drive_kill(drive.pid, SIGTERM);
    CU_ASSERT_TRUE(jr_drive_end(&drive));
    CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome", "killed=0"));
    CU_ASSERT_TRUE(jr_drive_has(&drive, "out", "told to stop\n"));
    jr_drive_close(&drive);
}

static void ignores_hangup_under_nohup(void)
{
    struct jr_drive drive;
    jr_drive_start(&drive, JR_DRIVE_NOHUP,
                   "hup=0 int=0 -- %F obey tell=ready hang");
    CU_ASSERT_TRUE(jr_drive_ready(&drive, 1));
    jr_drive_kill(drive.pid, SIGHUP);
    jr_drive_kill(drive.pid, SIGINT);
    jr_drive_kill(drive.pid, SIGTERM);
    CU_ASSERT_TRUE(jr_drive_end(&drive));
    CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome", "stop_signal=15"));
    jr_drive_close(&drive);
}

/* ^Z and fg: the guard stops as a shell's job does, and the ranks with it. */
static void suspends_and_resumes(void)
{
    struct jr_drive drive;
    int pid = 0;
    jr_drive_start(&drive, JR_DRIVE_FILES, "-- %F tell=ready hang");
    CU_ASSERT_TRUE(jr_drive_ready(&drive, 1));
    char *events = NULL;
    for (int i = 0; i < 500 && pid == 0; i++) {
        free(events);
        events = jr_drive_read(&drive, "runs/run-0000/events.jsonl", NULL);
        const char *at = strstr(events, "\"pid\":");
        if (at == NULL || sscanf(at, "\"pid\":%d", &pid) != 1)
            (void)usleep(2000);
    }
    free(events);
    CU_ASSERT_TRUE(pid > 0);
    jr_drive_kill(drive.pid, SIGTSTP);
    CU_ASSERT_TRUE(jr_drive_state(drive.pid, 'T'));
    CU_ASSERT_TRUE(jr_drive_state(pid, 'T'));
    jr_drive_kill(drive.pid, SIGCONT);
    CU_ASSERT_TRUE(jr_drive_state(drive.pid, 'S'));
    CU_ASSERT_TRUE(jr_drive_state(pid, 'S'));
    jr_drive_kill(drive.pid, SIGTSTP);
    CU_ASSERT_TRUE(jr_drive_state(pid, 'T'));
    jr_drive_kill(drive.pid, SIGTERM);
    jr_drive_kill(drive.pid, SIGCONT);
    CU_ASSERT_TRUE(jr_drive_end(&drive));
    CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome", "rank 0 " STOPPED));
    jr_drive_close(&drive);
}

/* Ends that the kernel saw one after the other are told in that order. */
static void keeps_the_order_of_ends(void)
{
    struct jr_drive drive;
    CU_ASSERT_TRUE(jr_drive_run(
        &drive, "ranks=3 policy=continue -- %F 0:await=ready 0:exit=1 "
                "2:tell=ready 2:exit=2 1:exit=0"));
    char *outcome = jr_drive_read(&drive, "outcome", NULL);
    unsigned order[3] = {0};
    for (int i = 0; i < 3; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "rank %d ", i);
        const char *line = strstr(outcome, name);
        const char *at = line == NULL ? NULL : strstr(line, "order=");
        if (at != NULL)
            order[i] = (unsigned)strtoul(at + 6, NULL, 10);
    }
    CU_ASSERT_EQUAL(order[0] + order[1] + order[2], 6);
    CU_ASSERT_EQUAL(order[0] * order[1] * order[2], 6);
    free(outcome);
    jr_drive_close(&drive);
}

static void takes_many_ranks(void)
{
    struct jr_drive drive;
    CU_ASSERT_TRUE(jr_drive_run(
        &drive, "ranks=512 out=tee err=tee -- %F print=x 300:exit=3"));
    CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome", "rank 300 " FAILED3));
    CU_ASSERT_EQUAL(jr_drive_survivors(&drive, 0), 0);
    jr_drive_close(&drive);
}

JR_UNIT_MAIN("stop", CASE(stops_the_others_when_one_fails),
             CASE(lets_the_others_run_on), CASE(keeps_to_its_time),
             CASE(obeys_signals), CASE(takes_a_double_signal_for_one),
             CASE(ignores_hangup_under_nohup), CASE(suspends_and_resumes),
             CASE(keeps_the_order_of_ends), CASE(takes_many_ranks))
