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
TEST(prints_every_cell)
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

/* What ended by itself is not said to have been stopped. */
TEST(is_not_blamed_on_us)
{
    struct jr_rank_outcome outcome = {0};
    struct jr_rank_run rank = {.outcome = &outcome, .state = JR_LIFE_RUNNING};
    rank.pid = fork();
    if (rank.pid == 0)
        _exit(3);
    rank.watch.fd = jr_pidfd_open(rank.pid);
    siginfo_t end;
    (void)waitid(P_PID, (id_t)rank.pid, &end, WEXITED | WNOWAIT);
    jr_rank_handle(&rank, JR_RANK_ON_STOP, SIGTERM);
    jr_rank_handle(&rank, JR_RANK_ON_KILL, SIGKILL);
    CU_ASSERT_TRUE(jr_rank_reap(&rank) && !jr_rank_reap(&rank));
    CU_ASSERT_TRUE(outcome.end == JR_END_EXITED && outcome.exit_code == 3);
    CU_ASSERT_TRUE(outcome.stopped_with == 0 && !outcome.killed);
    (void)close(rank.watch.fd);
}
