/* What a runner notes of a rank that ends: of whom, what, and when it is the job's.
 * (test_pin_results.c has how.) */
#include "run/policies/pin_results.h"

#include "fake_runner.h"

static char *artifacts[FAKE_RANKS][2];

/* Each rank has an artifact of its own, and one of the job. */
static void start(enum jr_result_from from, const char *required)
{
    static char own[FAKE_RANKS][16];
    static char common[] = "model";
    fake_runner_start();
    fake.policy.results =
        (struct jr_results){.stated = true, .from = from, .required = (char *)required};
    for (uint32_t i = 0; i < FAKE_RANKS; i++) {
        struct jr_plan_rank *rank = &fake.planned[i];
        rank->rank = i;
        rank->workdir = fake.scratch.dir;
        rank->result_path = "result.json";
        rank->out = rank->err = JR_SINK_FILE;
        rank->out_path = "out";
        rank->err_path = "err";
        (void)snprintf(own[i], sizeof own[i], "own%u", i);
        artifacts[i][0] = own[i];
        artifacts[i][1] = common;
        rank->artifacts = artifacts[i];
    }
    scratch_write(&fake.scratch, "result.json", "{}");
    scratch_write(&fake.scratch, "out", "12345");
    scratch_write(&fake.scratch, "err", "123");
}

static void want_artifacts(void)
{
    fake.policy.results.artifacts_count = 2;
    for (uint32_t i = 0; i < FAKE_RANKS; i++) {
        fake.planned[i].artifacts_count = 2;
        scratch_write(&fake.scratch, artifacts[i][0], "own");
    }
    scratch_write(&fake.scratch, "model", "weights");
}

static const struct jr_rank_outcome *let_end(uint32_t i, enum jr_end end, int number)
{
    if (fake.runner.running == 0)
        for (uint32_t k = 0; k < FAKE_RANKS; k++)
            fake_runner_run(k);
    fake_runner_note_end(i, end, number);
    jr_pin_results_policy.rank_ended(&fake.ranks[i]);
    return &fake.outcomes[i];
}

ENDING(end)
{
    jr_arena_release(&fake.runner.pin_results.arena);
    fake_runner_end();
}

/* Only what a rank has to deliver, and has delivered by ending well. */
TEST(notes_who_has_to_deliver)
{
    static const struct {
        const char *required; /* NULL: all */
        bool stated;
        enum jr_end end;
        int number;
        bool noted;
    } vectors[] = {
        {NULL, false, JR_END_EXITED, 0, false},        {NULL, true, JR_END_EXITED, 1, false},
        {NULL, true, JR_END_SIGNALED, SIGKILL, false}, {"none", true, JR_END_EXITED, 0, false},
        {"0", true, JR_END_EXITED, 0, false},          {"1-2", true, JR_END_EXITED, 0, true},
        {"all", true, JR_END_EXITED, 0, true},         {NULL, true, JR_END_EXITED, 0, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(end, start(JR_FROM_FILE, vectors[i].required));
        fake.policy.results.stated = vectors[i].stated;
        fake_runner_open(&jr_pin_results_policy);
        const struct jr_rank_outcome *outcome = let_end(1, vectors[i].end, vectors[i].number);
        CU_ASSERT_EQUAL(outcome->pinned, vectors[i].noted);
        CU_ASSERT_EQUAL(outcome->result.there, vectors[i].noted);
        CU_ASSERT_EQUAL(outcome->result.size, vectors[i].noted ? 2 : 0);
        CU_ASSERT_FALSE(outcome->far);
    }
}

/* A file, or so many bytes of a stream, whichever way that goes. */
TEST(notes_what_it_is_delivered_by)
{
    static const struct {
        enum jr_result_from from;
        bool piped, file;
        uint64_t captured;
    } vectors[] = {
        {JR_FROM_FILE, false, true, 0},    {JR_FROM_RETURN, false, true, 0},
        {JR_FROM_STDOUT, false, false, 5}, {JR_FROM_STDERR, false, false, 3},
        {JR_FROM_STDOUT, true, false, 70}, {JR_FROM_STDERR, true, false, 71},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(end, start(vectors[i].from, NULL));
        fake.planned[2].watched = vectors[i].piped;
        fake.streams[4].total = 70;
        fake.streams[5].total = 71;
        fake_runner_open(&jr_pin_results_policy);
        const struct jr_rank_outcome *outcome = let_end(2, JR_END_EXITED, 0);
        CU_ASSERT_TRUE(outcome->pinned && outcome->result.there == vectors[i].file);
        CU_ASSERT_EQUAL(outcome->captured, vectors[i].captured);
    }
}

/* And what it held then, too. */
TEST(what_a_file_held_at_the_return_stays)
{
    struct stat st;
    char said[128];
    start(JR_FROM_RETURN, NULL);
    fake.plan.returns = true;
    fake_runner_open(&jr_pin_results_policy);
    CU_ASSERT_EQUAL(fstatat(fake.scratch.fd, "result.json", &st, 0), 0);
    (void)snprintf(said, sizeof said, " %llu %llu %llu %lld %lld", (unsigned long long)st.st_dev,
                   (unsigned long long)st.st_ino, (unsigned long long)st.st_size,
                   (long long)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
                   (long long)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec);
    jr_pin_returned(&fake.ranks[3], said);
    CU_ASSERT_EQUAL(fake.outcomes[3].result.digest, jr_pin_digest("{}", 2));
    fake.outcomes[3].result.digest = 5; /* as of what it held then */
    CU_ASSERT_EQUAL(let_end(3, JR_END_EXITED, 0)->result.digest, 5);
    CU_ASSERT_EQUAL(let_end(2, JR_END_EXITED, 0)->result.digest, jr_pin_digest("{}", 2));
    end();
}

/* Of one node of several, what is noted is another machine's. */
TEST(a_node_of_several_is_far)
{
    BEGIN(end, start(JR_FROM_FILE, NULL));
    fake_runner_link();
    fake_runner_open(&jr_pin_results_policy);
    CU_ASSERT_TRUE(let_end(0, JR_END_EXITED, 0)->far);
    CU_ASSERT_FALSE(let_end(1, JR_END_EXITED, 1)->far);
}

/* Artifacts are a rank's own when it ends, and the job's when the last one of this node has ended;
 * where nobody is asked for results, everybody is for artifacts. */
TEST(notes_artifacts)
{
    static const struct {
        const char *required;
        bool due, last; /* ranks are still to start; none runs any more */
        bool own, jobs;
    } vectors[] = {
        {"all", false, false, true, false}, {"all", false, true, true, true},
        {"all", true, true, true, false},   {"none", false, false, true, false},
        {"0", false, false, false, false},  {"0", false, true, false, true},
        {"1", false, false, true, false},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(end, start(JR_FROM_FILE, vectors[i].required));
        want_artifacts();
        fake_runner_open(&jr_pin_results_policy);
        for (uint32_t k = 0; k < FAKE_RANKS; k++)
            fake_runner_run(k);
        fake.runner.running = vectors[i].last ? 1 : 2;
        fake.runner.next = vectors[i].due ? FAKE_RANKS - 1 : FAKE_RANKS;
        const struct jr_rank_outcome *outcome = let_end(1, JR_END_EXITED, 0);
        CU_ASSERT_EQUAL(outcome->artifacts[0] != 0, vectors[i].own);
        CU_ASSERT_EQUAL(outcome->artifacts[1] != 0, vectors[i].jobs);
        CU_ASSERT_EQUAL(outcome->job_pinned, vectors[i].jobs);
        CU_ASSERT_EQUAL(outcome->pinned, vectors[i].own || vectors[i].jobs);
    }
}
