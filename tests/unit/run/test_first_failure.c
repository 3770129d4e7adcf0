/* Who failed first: what is noted of the ranks before the stop signal blurs it, and how long the
 * stop waits for that. */
#include "fake_runner.h"
#include "run/failure_words.h"

#define LOST  "{\"message\": \"ConnectionResetError: [Errno 104]\"}"
#define OWN   "{\"message\": \"ValueError: loss is NaN\"}"
#define TRACE "Traceback (most recent call last):\n  File \"t.py\", line 1\n"

/* Ranks 0 to 2 have processes. */
static void start(void)
{
    fake_runner_start();
    fake_runner_open(&jr_stop_policy);
    fake_runner_open(&jr_first_failure_policy);
    for (uint32_t i = 0; i < 3; i++)
        fake_runner_spawn(i);
}

/* Without processes, where nothing is looked at. */
static void start_bare(void)
{
    fake_runner_start();
    fake_runner_open(&jr_stop_policy);
    fake_runner_open(&jr_first_failure_policy);
    for (uint32_t i = 0; i < 3; i++)
        fake_runner_run(i);
}

static void fail(uint32_t i, int code)
{
    fake_runner_note_end(i, JR_END_EXITED, code);
}

/* Who lives is seen to live, who is on its way out is seen to be, and whoever has no process that
 * could be seen, is not. */
TEST(looks_at_who_runs)
{
    BEGIN(fake_runner_end, start());
    fake_runner_kill(1);
    fake_runner_reap(2);
    uint64_t before = jr_clock_ns();
    jr_first_failure_note_exiting(&fake.runner);
    CU_ASSERT_TRUE(fake_runner_is_after(fake.outcomes[0].alive_ns, before, 0));
    CU_ASSERT_TRUE(fake.outcomes[0].exiting_ns == 0 && fake.outcomes[1].alive_ns == 0);
    CU_ASSERT_TRUE(fake_runner_is_after(fake.outcomes[1].exiting_ns, before, 0));
    CU_ASSERT_TRUE(fake.outcomes[2].alive_ns == 0 && fake.outcomes[2].exiting_ns == 0);
    CU_ASSERT_EQUAL(fake.outcomes[3].alive_ns, 0);
    CU_ASSERT_TRUE(fake_runner_is_after(fake.runner.first_failure.noted_ns, before, 0));
}

/* A process that is no child of ours is somebody else, whatever its number. */
TEST(looks_at_children_alone)
{
    BEGIN(fake_runner_end, start());
    pid_t pid = fake.ranks[0].pid;
    fake_runner_kill(0);
    fake.ranks[0].pid = getppid();
    jr_first_failure_note_exiting(&fake.runner);
    CU_ASSERT_EQUAL(fake.outcomes[0].exiting_ns, 0);
    fake.ranks[0].pid = pid;
}

/* An announcement is noted of the rank, and the others are looked at with the first, unless it is
 * the answer to a warning. It stops nothing. */
TEST(notes_who_announces_a_failure)
{
    static const struct {
        int code, warned;
        uint64_t noted_ns;
        bool exiting, looked;
    } vectors[] = {
        {JR_YIELD_CODE, SIGUSR1, 0, false, false},
        {1, 0, 1, true, false},
        {0, 0, 0, true, true},
        {JR_YIELD_CODE, 0, 0, true, true},
        {3, SIGUSR1, 0, true, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_first_failure *first = &fake.runner.first_failure;
        BEGIN(fake_runner_end, start());
        fake.outcomes[0].warned_with = vectors[i].warned;
        first->noted_ns = vectors[i].noted_ns;
        uint64_t before = jr_clock_ns();
        jr_first_failure_announced(&fake.ranks[0], vectors[i].code);
        CU_ASSERT_TRUE(fake_runner_is_after(fake.outcomes[0].told_ns, before, 0));
        CU_ASSERT_EQUAL(fake.outcomes[0].told_code, vectors[i].code);
        CU_ASSERT_EQUAL(first->exiting, vectors[i].exiting);
        CU_ASSERT_EQUAL(fake.outcomes[1].alive_ns != 0, vectors[i].looked);
        CU_ASSERT_FALSE(jr_stop_has_begun(&fake.runner));
        jr_first_failure_policy.rank_ended(&fake.ranks[0]);
        CU_ASSERT_EQUAL(first->exiting, 0);
    }
}

TEST(a_second_announcement_is_none)
{
    BEGIN(fake_runner_end, start());
    fake.outcomes[0].told_ns = 7;
    fake.outcomes[0].told_code = 2;
    jr_first_failure_announced(&fake.ranks[0], 9);
    CU_ASSERT_TRUE(fake.outcomes[0].told_ns == 7 && fake.outcomes[0].told_code == 2);
    CU_ASSERT_EQUAL(fake.runner.first_failure.exiting, 0);
}

/* The ends of a pipe: what a rank holds, and what the runner watches. */
static int open_line(uint32_t i)
{
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
    jr_first_failure_watch(&fake.ranks[i], ends[0]);
    return ends[1];
}

TEST(hears_lines_in_their_order)
{
    BEGIN(fake_runner_end, start_bare());
    int lines[3];
    for (uint32_t i = 0; i < 3; i++)
        lines[i] = open_line(i);
    CU_ASSERT_EQUAL(write(lines[1], "x", 1), 1); /* as a stray program might */
    CU_ASSERT_EQUAL(jr_loop_turn(&fake.runner.first_failure.lines, true), 0);
    (void)close(lines[2]);
    (void)close(lines[0]);
    (void)jr_loop_turn(&fake.runner.first_failure.lines, true);
    CU_ASSERT_TRUE(fake.outcomes[2].line_ns > 0);
    CU_ASSERT_TRUE(fake.outcomes[0].line_ns > fake.outcomes[2].line_ns);
    CU_ASSERT_TRUE(fake.outcomes[1].line_ns == 0 && fake.ranks[0].line.fd == -1);
    jr_first_failure_policy.rank_ended(&fake.ranks[1]);
    CU_ASSERT_TRUE(fake.ranks[1].line.fd == -1 && fake.outcomes[1].line_ns == 0);
    (void)close(lines[1]);
}

/* What had hung up when it was let go of tells nothing. */
TEST(a_line_that_was_closed_before_is_none)
{
    int ends[2];
    BEGIN(fake_runner_end, start_bare());
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
    (void)close(ends[1]);
    jr_first_failure_watch(&fake.ranks[0], ends[0]);
    CU_ASSERT_EQUAL(fake.ranks[0].line.fd, -1);
    (void)jr_loop_turn(&fake.runner.first_failure.lines, true);
    CU_ASSERT_EQUAL(fake.outcomes[0].line_ns, 0);
    jr_first_failure_watch(&fake.ranks[0], -1);
    CU_ASSERT_EQUAL(fake.ranks[0].line.fd, -1);
}

/* A rank that closed all it had, and goes on, has none any more; neither has one that ends long
 * after. */
TEST(a_line_that_hung_up_too_early_is_none)
{
    static const struct {
        uint64_t line, exiting, ended, kept;
    } vectors[] = {
        {5, 0, 200000005, 5}, {5, 0, 200000006, 0}, {5, 200000006, 300000000, 0},
        {5, 9, 300000000, 5}, {5, 4, 300000000, 5},
    };
    start();
    fake_runner_kill(1);
    fake.outcomes[0].line_ns = fake.outcomes[1].line_ns = 5;
    jr_first_failure_note_exiting(&fake.runner);
    CU_ASSERT_TRUE(fake.outcomes[0].line_ns == 0 && fake.outcomes[1].line_ns == 5);
    fake_runner_end();
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(fake_runner_end, start_bare());
        fake.outcomes[0].line_ns = vectors[i].line;
        fake.outcomes[0].exiting_ns = vectors[i].exiting;
        fake.outcomes[0].ended_ns = vectors[i].ended;
        jr_first_failure_policy.rank_ended(&fake.ranks[0]);
        CU_ASSERT_EQUAL(fake.outcomes[0].line_ns, vectors[i].kept);
    }
}

struct loss {
    enum jr_end end;
    int number;
    int told_code;
    const char *error, *err; /* error.json and standard error; NULL: none */
    bool lost;
};

/* Whether a rank lost its peer is told by the end of it, by its error.json, and where there is none
 * by the end of its standard error. */
static const struct loss losses[] = {
    {JR_END_EXITED, 1, 0, NULL, NULL, false},
    {JR_END_EXITED, 1, 0, NULL, "", false},
    {JR_END_EXITED, 1, 0, NULL, TRACE "ValueError: loss is NaN\n", false},
    {JR_END_EXITED, 1, 0, OWN, TRACE "BrokenPipeError: [Errno 32]\n", false},
    {JR_END_EXITED, 1, 4, LOST, TRACE "ValueError: x\n", false},
    {JR_END_EXITED, 1, 4, OWN, TRACE "BrokenPipeError: [Errno 32]\n", true},
    {JR_END_START, 0, 0, LOST, TRACE "BrokenPipeError: [Errno 32]\n", false},
    {JR_END_SIGNALED, SIGSEGV, 0, LOST, TRACE "BrokenPipeError\n", false},
    {JR_END_SIGNALED, SIGKILL, 0, LOST, NULL, false},
    {JR_END_SIGNALED, SIGABRT, 0, OWN, NULL, false},
    {JR_END_SIGNALED, SIGPIPE, 0, NULL, NULL, true},
    {JR_END_SIGNALED, SIGABRT, 0, LOST, NULL, true},
    {JR_END_SIGNALED, SIGABRT, 0, NULL, TRACE "BrokenPipeError\n", true},
    {JR_END_EXITED, 1, 0, LOST, NULL, true},
    {JR_END_EXITED, 1, 0, "", TRACE "ConnectionResetError: x\n", true},
    {JR_END_EXITED, 1, 0, NULL, TRACE "ConnectionResetError: x\n", true},
    {JR_END_EXITED, 1, 0, "{\"message\": \"ValueError\", \"pid\": 1}",
     TRACE "ConnectionResetError: x\n", true}, /* of another process */
    {JR_END_EXITED, 1, 0, "{\"message\": \"EOFError\", \"pid\": 1}", TRACE "ValueError: x\n",
     false},
    {JR_END_EXITED, 1, 0, "{\"message\": \"EOFError\", \"pid\": 4321}", NULL, true}, /* its own */
};

static void fail_as(const struct loss *loss)
{
    fake.planned[0].error_path = loss->error == NULL ? NULL : "error.json";
    fake.planned[0].err_path = loss->err == NULL ? NULL : "stderr.log";
    if (loss->error != NULL)
        scratch_write(&fake.scratch, "error.json", loss->error);
    if (loss->err != NULL)
        scratch_write(&fake.scratch, "stderr.log", loss->err);
    fake.outcomes[0].told_code = loss->told_code;
    fake.outcomes[0].own_pid = 4321;
    fake_runner_note_end(0, loss->end, loss->number);
}

/* The stop waits for another failure, but not after a death that is none of the rank's own. */
TEST(holds_the_stop_for_failures)
{
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        struct jr_first_failure *first = &fake.runner.first_failure;
        int sig = losses[i].end == JR_END_SIGNALED ? losses[i].number : SIGABRT;
        bool holds = sig == SIGABRT || sig == SIGPIPE;
        BEGIN(fake_runner_end, start_bare());
        fail_as(&losses[i]);
        uint64_t before = jr_clock_ns();
        CU_ASSERT_EQUAL(jr_first_failure_holds(&fake.ranks[0]), holds);
        CU_ASSERT_EQUAL(fake.outcomes[0].lost_peer, losses[i].lost);
        CU_ASSERT_EQUAL(jr_first_failure_holds_stop(&fake.runner), holds);
        CU_ASSERT_NOT_EQUAL(first->noted_ns, 0);
        if (holds)
            CU_ASSERT_TRUE(fake_runner_is_after(first->timer.at, before, 20))
        else
            CU_ASSERT_EQUAL(first->timer.at, 0);
    }
}

/* Only the end of a long output is looked at, and never what is no file. */
TEST(reads_the_end_of_standard_error)
{
    static char text[JR_FAILURE_TAIL + 512];
    static const char end[] = TRACE "BrokenPipeError: [Errno 32]\n";
    BEGIN(fake_runner_end, start_bare());
    memset(text, 'x', sizeof text - 1);
    for (size_t i = 99; i < sizeof text - 1; i += 100)
        text[i] = '\n';
    memcpy(text + sizeof text - sizeof end, end, sizeof end);
    scratch_write(&fake.scratch, "stderr.log", text);
    fake.planned[0].err_path = "stderr.log";
    fail(0, 1);
    CU_ASSERT_TRUE(jr_first_failure_holds(&fake.ranks[0]));
    CU_ASSERT_EQUAL(symlinkat("stderr.log", fake.scratch.fd, "link"), 0);
    fake.planned[1].err_path = "link";
    fail(1, 1);
    (void)jr_first_failure_holds(&fake.ranks[1]);
    CU_ASSERT_FALSE(fake.outcomes[1].lost_peer);
}

/* What was stopped is not read. */
TEST(what_was_stopped_is_not_read)
{
    static const struct loss loss = {JR_END_EXITED, 1, 0, LOST, NULL, true};
    for (int stopped = 0; stopped < 2; stopped++) {
        BEGIN(fake_runner_end, start_bare());
        fake.outcomes[0].stopped_with = stopped ? SIGTERM : 0;
        fail_as(&loss);
        (void)jr_first_failure_holds(&fake.ranks[0]);
        CU_ASSERT_EQUAL(fake.outcomes[0].lost_peer, !stopped);
        CU_ASSERT_EQUAL(fake.outcomes[0].words != 0, !stopped);
    }
}

/* It holds only what would be stopped, as long as somebody can tell more. */
TEST(holds_only_where_more_can_come)
{
    static const struct {
        enum jr_on_failure on_failure;
        bool begun, link, others, holds;
    } vectors[] = {
        {JR_ON_FAILURE_CONTINUE, false, false, true, false},
        {JR_ON_FAILURE_STOP, true, false, true, false},
        {JR_ON_FAILURE_STOP, false, false, false, false},
        {JR_ON_FAILURE_STOP, false, true, false, true},
        {JR_ON_FAILURE_STOP, false, false, true, true},
        {JR_ON_FAILURE_STOP, false, true, true, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(fake_runner_end, start_bare());
        fake.policy.on_failure = vectors[i].on_failure;
        fake.runner.stop.begun = vectors[i].begun;
        fake.options.link = vectors[i].link ? &fake.link : NULL;
        fake_runner_note_end(0, JR_END_SIGNALED, SIGPIPE);
        fake.runner.running = vectors[i].others;
        CU_ASSERT_EQUAL(jr_first_failure_holds(&fake.ranks[0]), vectors[i].holds);
        CU_ASSERT_EQUAL(jr_first_failure_holds_stop(&fake.runner), vectors[i].holds);
        CU_ASSERT_EQUAL(jr_first_failure_waits(&fake.runner), vectors[i].holds && vectors[i].link);
    }
}

/* Each failure holds it again, up to half a second from the first. */
TEST(holds_longer_for_the_next)
{
    struct jr_first_failure *first = &fake.runner.first_failure;
    BEGIN(fake_runner_end, start_bare());
    fail(0, 1);
    fake.runner.running = 2;
    uint64_t before = jr_clock_ns();
    CU_ASSERT_TRUE(jr_first_failure_holds(&fake.ranks[0]));
    CU_ASSERT_TRUE(fake_runner_is_after(first->until_ns, before, 500));
    first->timer.at = 9;
    fail(1, 1);
    CU_ASSERT_TRUE(jr_first_failure_holds(&fake.ranks[1]));
    CU_ASSERT_TRUE(fake_runner_is_after(first->timer.at, before, 20));
    first->until_ns = 12345;
    fail(2, 1);
    fake.runner.running = 1;
    CU_ASSERT_TRUE(jr_first_failure_holds(&fake.ranks[2]));
    CU_ASSERT_EQUAL(first->timer.at, 12345);
}

/* Where several have failed, the last one is waited for, not longer than that; not on one of
 * several nodes, or where more are to start. */
TEST(waits_for_the_last_one)
{
    static const struct {
        uint32_t failed, running;
        bool link, starting, waits;
    } vectors[] = {
        {1, 1, false, false, true}, {0, 1, false, false, false}, {1, 2, false, false, false},
        {1, 1, true, false, false}, {1, 1, false, true, false},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_first_failure *first = &fake.runner.first_failure;
        BEGIN(fake_runner_end, start_bare());
        fail(0, 1);
        fake.runner.running = vectors[i].running;
        fake.runner.next = fake.plan.count - vectors[i].starting;
        fake.options.link = vectors[i].link ? &fake.link : NULL;
        first->failed = vectors[i].failed;
        CU_ASSERT_TRUE(jr_first_failure_holds(&fake.ranks[0]));
        CU_ASSERT_EQUAL(first->timer.at == first->until_ns, vectors[i].waits);
        first->timer.at = 9;
        jr_first_failure_ended(&fake.ranks[1]); /* well */
        CU_ASSERT_EQUAL(first->timer.at, vectors[i].waits ? first->until_ns : 9);
    }
}

/* Who announced its failure is waited for, so that its end is seen. */
TEST(waits_for_the_announcer)
{
    struct jr_first_failure *first = &fake.runner.first_failure;
    BEGIN(fake_runner_end, start_bare());
    jr_first_failure_announced(&fake.ranks[1], 1);
    CU_ASSERT_FALSE(jr_first_failure_holds_stop(&fake.runner));
    fail(0, 2);
    CU_ASSERT_TRUE(jr_first_failure_holds(&fake.ranks[0]));
    CU_ASSERT_EQUAL(first->timer.at, first->until_ns);
    jr_first_failure_ended(&fake.ranks[0]);
    fail(1, 1);
    jr_first_failure_policy.rank_ended(&fake.ranks[1]);
    CU_ASSERT_TRUE(jr_first_failure_holds(&fake.ranks[1]));
    CU_ASSERT_TRUE(first->timer.at < first->until_ns);
    jr_first_failure_announced(&fake.ranks[2], 1);
    CU_ASSERT_EQUAL(first->timer.at, first->until_ns);
}

TEST(ends_with_the_run)
{
    BEGIN(fake_runner_end, start_bare());
    fake.runner.first_failure.timer.at = 9;
    jr_first_failure_policy.stopping(&fake.runner);
    CU_ASSERT_FALSE(jr_first_failure_holds_stop(&fake.runner));
    fake.runner.first_failure.timer.at = 9;
    jr_first_failure_policy.close(&fake.runner);
    CU_ASSERT_FALSE(jr_first_failure_holds_stop(&fake.runner));
}
