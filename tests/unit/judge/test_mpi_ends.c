/* The ranks of an MPI world as they are judged: who left the others alone, who aborted, and a world
 * that there never was. */
#include <signal.h>

#include "fake_run.h"
#include "quoted.h"
#include "judge/words.h"

/* Four ranks that ended with 0, and have done `part` each. */
static void start(struct fake *fake, enum jr_mpi_part part)
{
    fake_start(fake, 4);
    fake->plan.mpi = (struct jr_plan_mpi){.protocol = JR_MPI_PROTOCOL_PMI1, .stated = true};
    for (uint32_t i = 0; i < 4; i++)
        fake->ends[i].mpi = part;
}

static void check_states(const struct fake *fake, const char *expected)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    for (uint32_t i = 0; i < 4; i++)
        jr_buf_printf(&text, "%s ", jr_rank_state_word(fake->report.ranks[i].state));
    JR_ASSERT_TEXT(text.data, expected);
}

/* How rank `i` ended as the cause of a failed run. */
static void check_cause(struct fake *fake, uint32_t i, const char *words, int code)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    fake_judge(fake);
    CU_ASSERT_EQUAL(fake->report.status, JR_RUN_FAILED);
    CU_ASSERT_EQUAL(fake->report.exit_code, JR_STATUS_FAILED);
    CU_ASSERT_EQUAL_FATAL(fake->report.causes_count, 1);
    CU_ASSERT_EQUAL(fake->report.causes[0], i);
    jr_words_rank_end(&text, &fake->ends[i]);
    JR_ASSERT_TEXT(text.data, words);
    CU_ASSERT_EQUAL(jr_words_exit_code(&fake->ends[i]), code);
    fake->policy.exit_status = JR_EXIT_STATUS_RANK;
    fake_judge(fake);
    CU_ASSERT_EQUAL(fake->report.exit_code, code);
}

TEST(nobody_initialized)
{
    struct fake fake RELEASE(fake_end) = {0};
    start(&fake, JR_MPI_PART_ABSENT);
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.status, JR_RUN_INCOMPLETE);
    CU_ASSERT_EQUAL(fake.report.exit_code, JR_STATUS_INCOMPLETE);
    CU_ASSERT_TRUE(fake.report.singletons);
    JR_ASSERT_TEXT(fake.report.error,
                   "4 singletons: `mpi: pmi1` is stated, but no rank called MPI_Init through it");
    fake.plan.mpi.library = "libmpi.so.40";
    fake.plan.count = fake.outcome.count = 1;
    fake_judge(&fake);
    JR_ASSERT_TEXT(fake.report.error, "1 singleton: `mpi: pmi1` is stated, but no rank called "
                                      "MPI_Init through it (the program needs libmpi.so.40)");
}

/* What is no promise is not held; a failure is one first. */
TEST(these_are_no_singletons)
{
    struct fake fake RELEASE(fake_end) = {0};
    start(&fake, JR_MPI_PART_ABSENT);
    fake.plan.mpi.stated = false;
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.status, JR_RUN_SUCCEEDED);
    fake.plan.mpi = (struct jr_plan_mpi){.protocol = JR_MPI_PROTOCOL_NONE, .stated = true};
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.status, JR_RUN_SUCCEEDED);
    fake.plan.mpi.protocol = JR_MPI_PROTOCOL_PMI1;
    fake_exit(&fake, 2, 7);
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.status, JR_RUN_FAILED);
    CU_ASSERT_FALSE(fake.report.singletons);
    fake_end(&fake);
    start(&fake, JR_MPI_PART_FINALIZED);
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.status, JR_RUN_SUCCEEDED);
    CU_ASSERT_PTR_NULL(fake.report.error);
}

TEST(a_rank_left_the_others)
{
    struct fake fake RELEASE(fake_end) = {0};
    start(&fake, JR_MPI_PART_INITIALIZED);
    for (uint32_t i = 0; i < 4; i++)
        if (i != 1)
            fake_stopped(&fake, i);
    fake.ends[1].mpi = JR_MPI_PART_LEFT;
    check_cause(&fake, 1,
                "exited with code 0 without calling MPI_Init, which other ranks had called", 1);
    check_states(&fake, "stopped failed stopped stopped ");
    fake.ends[1].mpi = JR_MPI_PART_INITIALIZED;
    fake.policy.exit_status = JR_EXIT_STATUS_CLASS;
    check_cause(&fake, 1, "exited with code 0 after MPI_Init, without calling MPI_Finalize", 1);
}

/* Whoever aborted waits to be ended: jobrun's signal is not how it failed. */
TEST(a_rank_aborted)
{
    static const struct {
        enum jr_mpi_part part;
        int code;
        const char *words;
        int exit_code;
    } vectors[] = {{JR_MPI_PART_ABORTED, 3, "called MPI_Abort with code 3", 3},
                   {JR_MPI_PART_ABORTED, 0, "called MPI_Abort with code 0", 1},
                   {JR_MPI_PART_ABORTED, -1, "called MPI_Abort with code -1", 255},
                   {JR_MPI_PART_ABORTED, 256, "called MPI_Abort with code 256", 1},
                   {JR_MPI_PART_FAILED, 739859215, "had a fatal error within MPI", 15},
                   {JR_MPI_PART_BROKEN, 0, "broke the protocol of MPI's process manager", 0}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct fake fake RELEASE(fake_end) = {0};
        start(&fake, JR_MPI_PART_INITIALIZED);
        for (uint32_t rank = 0; rank < 4; rank++)
            fake_stopped(&fake, rank);
        fake.ends[2].mpi = vectors[i].part;
        fake.ends[2].mpi_code = vectors[i].code;
        fake.ends[2].told_ns = FAKE_SECOND * 2;
        if (vectors[i].exit_code != 0)
            check_cause(&fake, 2, vectors[i].words, vectors[i].exit_code);
        fake_judge(&fake);
        check_states(&fake, "stopped stopped failed stopped ");
    }
}

/* Before the death of a peer, which is not its consequence. */
TEST(the_first_is_the_cause)
{
    struct fake fake RELEASE(fake_end) = {0};
    start(&fake, JR_MPI_PART_INITIALIZED);
    fake_stopped(&fake, 0);
    fake_signal(&fake, 1, SIGSEGV);
    fake.ends[2].mpi = JR_MPI_PART_ABORTED;
    fake.ends[2].mpi_code = fake.ends[2].told_code = 3;
    fake.ends[2].told_ns = FAKE_SECOND + FAKE_SECOND / 2;
    fake_signal(&fake, 2, SIGTERM);
    fake.ends[2].stopped_with = SIGTERM;
    fake.ends[1].alive_ns = FAKE_SECOND + FAKE_SECOND / 2 + 1000;
    fake_stopped(&fake, 3);
    check_cause(&fake, 2, "called MPI_Abort with code 3", 3);
    check_states(&fake, "stopped after_first_failure failed stopped ");
}

/* A program that is told to stop may end with 0 where it is: what ended the run is the cause, and
 * the rank is none. */
TEST(what_was_stopped_left_nobody)
{
    static const enum jr_mpi_part parts[] = {JR_MPI_PART_INITIALIZED, JR_MPI_PART_LEFT};
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        struct fake fake RELEASE(fake_end) = {0};
        start(&fake, parts[p]);
        for (uint32_t i = 0; i < 4; i++)
            fake.ends[i].stopped_with = SIGTERM;
        fake.outcome.stop_signal = SIGTERM;
        fake_judge(&fake);
        CU_ASSERT_EQUAL(fake.report.status, JR_RUN_STOPPED);
        CU_ASSERT_EQUAL(fake.report.causes_count, 0);
        check_states(&fake, "stopped stopped stopped stopped ");
        fake.outcome.stop_signal = 0;
        fake.outcome.timed_out_by = JR_TIMEOUT_RUN;
        fake_judge(&fake);
        CU_ASSERT_EQUAL(fake.report.status, JR_RUN_TIMED_OUT);
        CU_ASSERT_EQUAL(fake.report.causes_count, 0);
        fake.outcome.timed_out_by = JR_TIMEOUT_NONE;
        fake.ends[2].stopped_with = 0;
        fake_exit(&fake, 2, 7);
        check_cause(&fake, 2, "exited with code 7", 7);
        check_states(&fake, "stopped stopped failed stopped ");
    }
}
