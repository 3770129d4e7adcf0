#include "store/outcome.h"
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define MS UINT64_C(1000000)

/* How one rank ended 100 ms before jobrun was sent SIGTERM, and what it is stopped with then. */
static const struct {
    struct jr_rank_outcome rank;
    int hit, stopped_with;
} vectors[] = {
    {{.end = JR_END_NONE}, 0, 0},
    {{.end = JR_END_START, .exit_code = 143}, 0, 0},
    {{.end = JR_END_EXITED, .exit_code = 0}, 0, 0},
    {{.end = JR_END_EXITED, .exit_code = 1}, 0, 0},
    {{.end = JR_END_EXITED, .exit_code = 128}, 0, 0},
    {{.end = JR_END_EXITED, .exit_code = 129}, SIGHUP, 0},
    {{.end = JR_END_EXITED, .exit_code = 137}, SIGKILL, 0},
    {{.end = JR_END_EXITED, .exit_code = 143}, SIGTERM, SIGTERM},
    {{.end = JR_END_SIGNALED, .signal = SIGSEGV}, SIGSEGV, 0},
    {{.end = JR_END_SIGNALED, .signal = SIGTERM}, SIGTERM, SIGTERM},
    {{.end = JR_END_SIGNALED, .signal = SIGTERM, .stopped_with = SIGINT}, 0, SIGINT},
    {{.end = JR_END_SIGNALED, .signal = SIGTERM, .killed = true}, 0, 0},
};

TEST(what_both_were_sent_stops_both)
{
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_rank_outcome rank = vectors[i].rank;
        struct jr_outcome run = {.count = 1, .ranks = &rank};
        rank.ended_ns = 5000 * MS;
        CU_ASSERT_EQUAL(jr_outcome_hit(&run), vectors[i].hit);
        jr_outcome_share(run.ranks, run.count, SIGTERM, 5100 * MS);
        CU_ASSERT_EQUAL(rank.stopped_with, vectors[i].stopped_with);
    }
}

TEST(what_was_long_before_does_not)
{
    struct jr_rank_outcome rank = {
        .end = JR_END_SIGNALED, .signal = SIGTERM, .ended_ns = 5000 * MS};
    struct jr_outcome run = {.count = 1, .ranks = &rank};
    jr_outcome_share(run.ranks, run.count, SIGTERM, rank.ended_ns + JR_SHARE_NS);
    CU_ASSERT_EQUAL(rank.stopped_with, 0);
    jr_outcome_share(run.ranks, run.count, SIGTERM, rank.ended_ns + JR_SHARE_NS - 1);
    CU_ASSERT_EQUAL(rank.stopped_with, SIGTERM);
}

TEST(all_ranks_that_were_hit_share_it)
{
    struct jr_rank_outcome ranks[] = {
        {.end = JR_END_EXITED, .ended_ns = 5000 * MS},
        {.end = JR_END_SIGNALED, .signal = SIGTERM, .ended_ns = 5000 * MS},
        {.end = JR_END_SIGNALED, .signal = SIGTERM, .ended_ns = 5000 * MS}};
    jr_outcome_share(ranks, 2, SIGTERM, 5100 * MS);
    CU_ASSERT_TRUE(ranks[0].stopped_with == 0 && ranks[1].stopped_with == SIGTERM);
    CU_ASSERT_EQUAL(ranks[2].stopped_with, 0); /* beyond the count */
}

TEST(the_first_rank_that_was_hit_counts)
{
    struct jr_rank_outcome ranks[] = {{.end = JR_END_EXITED},
                                      {.end = JR_END_SIGNALED, .signal = SIGINT},
                                      {.end = JR_END_SIGNALED, .signal = SIGTERM}};
    struct jr_outcome run = {.count = 3, .ranks = ranks};
    CU_ASSERT_EQUAL(jr_outcome_hit(&run), SIGINT);
    run.count = 0;
    CU_ASSERT_EQUAL(jr_outcome_hit(&run), 0);
}

TEST(ends_well_or_not)
{
    static const struct {
        struct jr_rank_outcome rank;
        bool well;
    } cases[] = {
        {{.end = JR_END_NONE}, false},
        {{.end = JR_END_START}, false},
        {{.end = JR_END_LOST}, false},
        {{.end = JR_END_EXITED, .exit_code = 1}, false},
        {{.end = JR_END_SIGNALED, .signal = SIGKILL}, false},
        {{.end = JR_END_SIGNALED, .signal = SIGKILL, .lingered = true}, false},
        {{.end = JR_END_SIGNALED, .signal = SIGKILL, .returned = true}, false},
        {{.end = JR_END_EXITED}, true},
        {{.end = JR_END_SIGNALED, .lingered = true, .returned = true}, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CU_ASSERT_EQUAL(jr_outcome_is_well(&cases[i].rank), cases[i].well);
}

/* Only one that was warned, and not stopped by jobrun, may be to be continued:
 * by its word, or by the very signal. */
TEST(may_be_to_be_continued)
{
    static const struct {
        struct jr_rank_outcome rank;
        bool may;
    } cases[] = {
        {{.end = JR_END_EXITED, .exit_code = 75}, false},
        {{.end = JR_END_SIGNALED, .signal = SIGUSR1}, false},
        {{.warned_with = SIGUSR1, .end = JR_END_NONE}, false},
        {{.warned_with = SIGUSR1, .end = JR_END_EXITED}, false},
        {{.warned_with = SIGUSR1, .end = JR_END_EXITED, .exit_code = 74}, false},
        {{.warned_with = SIGUSR1, .end = JR_END_START, .exit_code = 75}, false},
        {{.warned_with = SIGUSR1, .end = JR_END_LOST, .signal = SIGUSR1}, false},
        {{.warned_with = SIGUSR1, .end = JR_END_SIGNALED, .signal = SIGUSR2}, false},
        {{.warned_with = SIGUSR1, .end = JR_END_SIGNALED, .exit_code = 75}, false},
        {{.warned_with = SIGUSR1, .end = JR_END_EXITED, .exit_code = 75, .stopped_with = SIGTERM},
         false},
        {{.warned_with = SIGUSR1, .end = JR_END_SIGNALED, .signal = SIGUSR1, .killed = true},
         false},
        {{.warned_with = SIGUSR1, .end = JR_END_EXITED, .exit_code = 75}, true},
        {{.warned_with = SIGUSR1, .end = JR_END_SIGNALED, .signal = SIGUSR1}, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CU_ASSERT_EQUAL(jr_outcome_may_yield(&cases[i].rank, false), cases[i].may);
}

TEST(knows_whether_jobrun_was_killed)
{
    static const struct {
        struct jr_outcome run;
        bool lost;
        int by;
    } cases[] = {
        {{0}, false, 0},
        {{.guard_signal = SIGKILL}, false, 0},
        {{.runner_signal = SIGSEGV}, true, SIGSEGV},
        {{.guard_pid = 7}, true, 0},
        {{.guard_pid = 7, .guard_signal = SIGKILL, .runner_signal = SIGBUS}, true, SIGKILL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CU_ASSERT_EQUAL(jr_outcome_lost(&cases[i].run), cases[i].lost);
        CU_ASSERT_EQUAL(jr_outcome_lost_by(&cases[i].run), cases[i].by);
    }
}

/* Those that ran are killed: whoever has ended, or never began, is not. */
TEST(kills_what_ran)
{
    struct jr_rank_outcome ranks[] = {
        {.pid = 7},
        {.pid = 8, .stopped_with = SIGTERM},
        {.pid = 9, .end = JR_END_EXITED},
        {.pid = 0},
    };
    struct jr_outcome run = {.count = 4, .ranks = ranks};
    jr_outcome_kill(&run);
    CU_ASSERT_TRUE(ranks[0].killed && ranks[0].stopped_with == SIGKILL);
    CU_ASSERT_TRUE(ranks[1].killed && ranks[1].stopped_with == SIGTERM);
    CU_ASSERT_TRUE(!ranks[2].killed && ranks[2].stopped_with == 0);
    CU_ASSERT_TRUE(!ranks[3].killed && ranks[3].stopped_with == 0);
}

TEST(says_why_it_could_not_start)
{
    char *plain[] = {(char[]){"prog"}, NULL}, *path[] = {(char[]){"./p"}, NULL};
    const struct jr_plan_rank by_name = {.argv = plain}, by_path = {.argv = path};
    static const struct {
        enum jr_stage stage;
        int error;
        const char *part;
    } cases[] = {
        {JR_STAGE_EXEC, ENOENT, "No such file"},
        {JR_STAGE_EXEC, EACCES, "chmod +x"},
        {JR_STAGE_EXEC, EISDIR, "folder"},
        {JR_STAGE_EXEC, ENOEXEC, "#!"},
        {JR_STAGE_CLONE, EAGAIN, "ulimit -u"},
        {JR_STAGE_WORKDIR, EAGAIN, "temporarily"},
        {JR_STAGE_FOLDER, EEXIST, "earlier attempt"},
        {JR_STAGE_STDERR, ELOOP, "earlier attempt"},
        {JR_STAGE_LIMITS, EEXIST, "File exists"},
        {JR_STAGE_EXEC, 100000, "unknown"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct jr_rank_outcome rank = {.stage = cases[i].stage, .start_errno = cases[i].error};
        const char *text = jr_start_reason(&by_path, &rank);
        if (strstr(text, cases[i].part) == NULL)
            printf("\n    '%s' lacks '%s'", text, cases[i].part);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, cases[i].part));
    }
    struct jr_rank_outcome rank = {.stage = JR_STAGE_EXEC, .start_errno = ENOENT};
    CU_ASSERT_PTR_NOT_NULL(strstr(jr_start_reason(&by_name, &rank), "PATH"));
    rank.stage = JR_STAGE_WORKDIR;
    CU_ASSERT_PTR_NULL(strstr(jr_start_reason(&by_name, &rank), "PATH"));
}

/* What the runner wrote is there for its guard, and a copy outlives both. */
TEST(is_shared_and_copied)
{
    struct jr_shared *shared = jr_shared_new(2);
    struct jr_outcome copy = {0};
    CU_ASSERT_PTR_NOT_NULL_FATAL(shared);
    CU_ASSERT_TRUE(shared->outcome.count == 2 && shared->outcome.ranks == shared->ranks);
    pid_t pid = fork();
    if (pid == 0) {
        shared->ranks[0].pid = 7;
        shared->ranks[1].pid = 8;
        shared->outcome.left = 3;
        _exit(0);
    }
    CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
    CU_ASSERT_EQUAL(jr_shared_copy(&copy, shared), 0);
    jr_shared_free(shared);
    jr_shared_free(NULL);
    CU_ASSERT_TRUE(copy.count == 2 && copy.left == 3 && copy.ranks[0].pid == 7);
    CU_ASSERT_EQUAL(copy.ranks[1].pid, 8);
    jr_outcome_release(&copy);
    CU_ASSERT_TRUE(copy.ranks == NULL && copy.count == 0 && copy.started_ns == 0);
}

/* Of a job that is as large as they get: the memory holds what is behind the last rank's first
 * byte, and is gone with the run. */
TEST(has_room_for_all_ranks)
{
    enum { MANY = 5000 };
    struct jr_shared *shared = jr_shared_new(MANY);
    CU_ASSERT_PTR_NOT_NULL_FATAL(shared);
    struct jr_rank_outcome *last = &shared->ranks[MANY - 1];
    memset(last, 1, sizeof *last);
    CU_ASSERT_EQUAL(shared->ranks[MANY - 2].pid, 0);
    jr_shared_free(shared);
    CU_ASSERT_EQUAL(msync(shared, 1, MS_ASYNC), -1);
    CU_ASSERT_EQUAL(errno, ENOMEM);
}

TEST(begins_with_no_rank_started)
{
    const struct jr_plan plan = {.count = 3, .world_size = 8};
    struct jr_outcome none = {0};
    uint64_t before = jr_clock_ns(), wall = jr_clock_wall_ns();
    CU_ASSERT_TRUE(jr_outcome_none(&none, &plan) == 0 && none.count == 3);
    CU_ASSERT_TRUE(none.started_ns >= before && none.started_ns <= jr_clock_ns());
    CU_ASSERT_TRUE(none.started_wall_ns >= wall && none.ended_ns == none.started_ns);
    CU_ASSERT_EQUAL(none.ended_wall_ns, none.started_wall_ns);
    for (uint32_t i = 0; i < 3; i++)
        CU_ASSERT_TRUE(none.ranks[i].pid == 0 && none.ranks[i].end == JR_END_NONE);
    jr_outcome_release(&none);
}

/* How a rank ended, and whether that may mean that it is to be continued, of a job that is
 * preempted and of one that is not. */
TEST(yields_by_its_word_or_the_signal)
{
    static const struct {
        struct jr_rank_outcome rank;
        bool yields, preempted;
    } rows[] = {
        {{.end = JR_END_NONE, .warned_with = SIGUSR1}, false, false},
        {{.end = JR_END_EXITED, .exit_code = 75}, false, true},
        {{.end = JR_END_EXITED, .exit_code = 75, .warned_with = SIGUSR1}, true, true},
        {{.end = JR_END_EXITED, .exit_code = 1, .warned_with = SIGUSR1}, false, false},
        {{.end = JR_END_SIGNALED, .signal = SIGUSR1, .warned_with = SIGUSR1}, true, true},
        {{.end = JR_END_SIGNALED, .signal = SIGUSR1}, false, false},
        {{.end = JR_END_SIGNALED, .signal = SIGTERM, .warned_with = SIGUSR1}, false, true},
        {{.end = JR_END_SIGNALED, .signal = SIGTERM}, false, true},
        {{.end = JR_END_SIGNALED, .signal = SIGTERM, .stopped_with = SIGTERM}, false, false},
        {{.end = JR_END_SIGNALED, .signal = SIGKILL, .killed = true}, false, false},
        {{.end = JR_END_LOST, .warned_with = SIGUSR1}, false, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CU_ASSERT_EQUAL(jr_outcome_may_yield(&rows[i].rank, false), rows[i].yields);
        CU_ASSERT_EQUAL(jr_outcome_may_yield(&rows[i].rank, true), rows[i].preempted);
    }
}

/* Ends of an MPI world: which of them are failures, and which left it. */
TEST(leaves_an_mpi_world_or_not)
{
    static const struct {
        struct jr_rank_outcome rank;
        bool well, left, failed;
    } ends[] = {
        {{.end = JR_END_EXITED, .mpi = JR_MPI_PART_NONE}, true, false, false},
        {{.end = JR_END_EXITED, .mpi = JR_MPI_PART_ABSENT}, true, false, false},
        {{.end = JR_END_EXITED, .mpi = JR_MPI_PART_FINALIZED}, true, false, false},
        {{.end = JR_END_EXITED, .mpi = JR_MPI_PART_LEFT}, false, true, true},
        {{.end = JR_END_EXITED, .mpi = JR_MPI_PART_INITIALIZED}, false, true, true},
        {{.end = JR_END_EXITED, .mpi = JR_MPI_PART_ABORTED}, false, false, true},
        {{.end = JR_END_EXITED, .mpi = JR_MPI_PART_FAILED}, false, false, true},
        {{.end = JR_END_EXITED, .mpi = JR_MPI_PART_BROKEN}, false, false, true},
        {{.end = JR_END_EXITED, .exit_code = 3, .mpi = JR_MPI_PART_INITIALIZED},
         false,
         false,
         false},
        {{.end = JR_END_SIGNALED, .signal = 9, .mpi = JR_MPI_PART_INITIALIZED},
         false,
         false,
         false},
        {{.end = JR_END_EXITED, .stopped_with = SIGTERM, .mpi = JR_MPI_PART_INITIALIZED},
         true,
         false,
         false},
        {{.end = JR_END_EXITED, .killed = true, .mpi = JR_MPI_PART_LEFT}, true, false, false},
        {{.end = JR_END_EXITED, .stopped_with = SIGTERM, .mpi = JR_MPI_PART_ABORTED},
         false,
         false,
         true},
        {{.end = JR_END_NONE, .mpi = JR_MPI_PART_INITIALIZED}, false, false, false},
    };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        CU_ASSERT_EQUAL(jr_outcome_is_well(&ends[i].rank), ends[i].well);
        CU_ASSERT_EQUAL(jr_outcome_left_mpi(&ends[i].rank), ends[i].left);
        CU_ASSERT_EQUAL(jr_outcome_failed_mpi(&ends[i].rank), ends[i].failed);
    }
}
