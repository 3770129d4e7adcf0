#include "run/internal.h"
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/pidfd.h"

/* rank_table.txt is the table as it is meant: a change of one is a change of the other. */
static void prints_every_cell(void)
{
    struct jr_buf out = JR_BUF_INIT, expected = JR_BUF_INIT;
    jr_rank_table_print(&out);
    CU_ASSERT_EQUAL(jr_io_read_file(&expected, AT_FDCWD, TEST_SOURCE_DIR "/unit/run/rank_table.txt",
                                    65536, NULL),
                    0);
    JR_ASSERT_TEXT(out.data, expected.data);
    jr_buf_release(&out);
    jr_buf_release(&expected);
}

/* A path through the table: an event and the state after it. */
struct step {
    enum jr_rank_event event;
    enum jr_life state;
};

static void walk(const struct step *steps, size_t count)
{
    struct jr_rank_outcome outcome = {0};
    struct jr_rank_run rank = {.watch = {.fd = -1}, .outcome = &outcome};
    rank.pid = fork();
    if (rank.pid == 0) {
        (void)setsid();
        for (;;)
            (void)pause();
    }
    rank.watch.fd = jr_pidfd_open(rank.pid);
    while (getsid(rank.pid) != rank.pid)
        (void)usleep(1000);
    for (size_t i = 0; i < count; i++) {
        enum jr_life before = rank.state;
        bool changed = jr_rank_handle(&rank, steps[i].event, SIGWINCH);
        CU_ASSERT_EQUAL(rank.state, steps[i].state);
        CU_ASSERT_EQUAL(changed, before != steps[i].state);
    }
    (void)kill(rank.pid, SIGKILL);
    siginfo_t end;
    (void)waitid(P_PID, (id_t)rank.pid, &end, WEXITED | WNOWAIT);
    CU_ASSERT_TRUE(jr_rank_reap(&rank));
    CU_ASSERT_FALSE(jr_rank_reap(&rank));
    CU_ASSERT_EQUAL(outcome.end, JR_END_SIGNALED);
    CU_ASSERT_EQUAL(outcome.signal, SIGKILL);
    (void)close(rank.watch.fd);
}
#define WALK(steps) walk(steps, sizeof steps / sizeof steps[0])

static void lives(void)
{
    static const struct step steps[] = {
        {JR_RANK_ON_SUSPEND, JR_LIFE_WAITING},   {JR_RANK_ON_STARTED, JR_LIFE_RUNNING},
        {JR_RANK_ON_FORWARD, JR_LIFE_RUNNING},   {JR_RANK_ON_RESUME, JR_LIFE_RUNNING},
        {JR_RANK_ON_SUSPEND, JR_LIFE_SUSPENDED}, {JR_RANK_ON_SUSPEND, JR_LIFE_SUSPENDED},
        {JR_RANK_ON_FORWARD, JR_LIFE_SUSPENDED}, {JR_RANK_ON_RESUME, JR_LIFE_RUNNING},
        {JR_RANK_ON_EXIT, JR_LIFE_ENDED},        {JR_RANK_ON_STOP, JR_LIFE_ENDED},
        {JR_RANK_ON_KILL, JR_LIFE_ENDED},        {JR_RANK_ON_FORWARD, JR_LIFE_ENDED},
    };
    WALK(steps);
}

static void is_stopped(void)
{
    static const struct step steps[] = {
        {JR_RANK_ON_STARTED, JR_LIFE_RUNNING},  {JR_RANK_ON_SUSPEND, JR_LIFE_SUSPENDED},
        {JR_RANK_ON_STOP, JR_LIFE_STOPPING},    {JR_RANK_ON_STOP, JR_LIFE_STOPPING},
        {JR_RANK_ON_SUSPEND, JR_LIFE_STOPPING}, {JR_RANK_ON_FORWARD, JR_LIFE_STOPPING},
        {JR_RANK_ON_KILL, JR_LIFE_KILLING},     {JR_RANK_ON_STOP, JR_LIFE_KILLING},
        {JR_RANK_ON_EXIT, JR_LIFE_ENDED},
    };
    WALK(steps);
}

static void need_not_start(void)
{
    struct jr_rank_outcome outcome = {0};
    struct jr_rank_run rank = {.watch = {.fd = -1}, .outcome = &outcome};
    CU_ASSERT_TRUE(jr_rank_handle(&rank, JR_RANK_ON_UNSTARTED, 0));
    CU_ASSERT_EQUAL(rank.state, JR_LIFE_ENDED);
}

/* What ended by itself is not said to have been stopped. */
static void is_not_blamed_on_us(void)
{
    struct jr_rank_outcome outcome = {0};
    struct jr_rank_run rank = {.outcome = &outcome, .state = JR_LIFE_RUNNING};
    rank.pid = fork();
    if (rank.pid == 0)
        _exit(3);
    rank.watch.fd = jr_pidfd_open(rank.pid);
    siginfo_t end;
    (void)waitid(P_PID, (id_t)rank.pid, &end, WEXITED | WNOWAIT);
    (void)jr_rank_handle(&rank, JR_RANK_ON_STOP, SIGTERM);
    (void)jr_rank_handle(&rank, JR_RANK_ON_KILL, SIGKILL);
    CU_ASSERT_TRUE(jr_rank_reap(&rank));
    CU_ASSERT_EQUAL(outcome.end, JR_END_EXITED);
    CU_ASSERT_EQUAL(outcome.exit_code, 3);
    CU_ASSERT_EQUAL(outcome.stopped_with, 0);
    CU_ASSERT_FALSE(outcome.killed);
    (void)close(rank.watch.fd);
}

JR_UNIT_MAIN("rank", CASE(prints_every_cell), CASE(lives), CASE(is_stopped), CASE(need_not_start),
             CASE(is_not_blamed_on_us))
