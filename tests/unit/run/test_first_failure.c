/* Who failed first: what is noted of the ranks before the stop signal blurs it,
 * and how long the stop waits for that. */
#include "run/policies/first_failure.h"

#include "fake_runner.h"
#include "run/transport_errors.h"

#define LOST  "{\"message\": \"ConnectionResetError: [Errno 104]\"}"
#define OWN   "{\"message\": \"ValueError: loss is NaN\"}"
#define TRACE "Traceback (most recent call last):\n  File \"t.py\", line 1\n"

static struct fake_runner fake;

/* Ranks 0 to 2 have processes. */
static void start(void)
{
    fake_runner_start(&fake);
    fake_runner_open(&fake, &jr_stop_policy);
    fake_runner_open(&fake, &jr_first_failure_policy);
    for (uint32_t i = 0; i < 3; i++)
        fake_runner_spawn(&fake, i);
}

/* Without processes, where nothing is looked at. */
static void start_bare(void)
{
    fake_runner_start(&fake);
    fake_runner_open(&fake, &jr_stop_policy);
    fake_runner_open(&fake, &jr_first_failure_policy);
    for (uint32_t i = 0; i < 3; i++)
        fake_runner_run(&fake, i);
}

static void fail(uint32_t i, int code)
{
    fake_runner_note_end(&fake, i, JR_END_EXITED, code);
}

/* Who lives is seen to live, who is on its way out is seen to be, and whoever
 * has no process that could be seen, is not. */
static void looks_at_who_runs(void)
{
    start();
    fake_runner_kill(&fake, 1);
    fake_runner_reap(&fake, 2);
    uint64_t before = jr_clock_ns();
    jr_first_failure_note_exiting(&fake.runner);
    CU_ASSERT_TRUE(fake_runner_is_after(fake.outcomes[0].alive_ns, before, 0));
    CU_ASSERT_EQUAL(fake.outcomes[0].exiting_ns, 0);
    CU_ASSERT_EQUAL(fake.outcomes[1].alive_ns, 0);
    CU_ASSERT_TRUE(
        fake_runner_is_after(fake.outcomes[1].exiting_ns, before, 0));
    CU_ASSERT_EQUAL(fake.outcomes[2].alive_ns, 0);
    CU_ASSERT_EQUAL(fake.outcomes[2].exiting_ns, 0);
    CU_ASSERT_EQUAL(fake.outcomes[3].alive_ns, 0);
    CU_ASSERT_TRUE(
        fake_runner_is_after(fake.runner.first_failure.noted_ns, before, 0));
    fake_runner_end(&fake);
}

/* When it was first seen to exit is kept; that it lived is renewed. */
static void looks_again_later(void)
{
    start();
    fake_runner_kill(&fake, 1);
    fake.outcomes[1].exiting_ns = 5;
    fake.outcomes[0].alive_ns = 5;
    fake.runner.first_failure.noted_ns = 1;
    jr_first_failure_note_exiting(&fake.runner);
    CU_ASSERT_EQUAL(fake.outcomes[1].exiting_ns, 5);
    CU_ASSERT_TRUE(fake.outcomes[0].alive_ns > 5);
    CU_ASSERT_TRUE(fake.runner.first_failure.noted_ns > 1);
    fake_runner_end(&fake);
}

/* A process that is no child of ours is somebody else, whatever its number. */
static void looks_at_children_alone(void)
{
    start();
    pid_t pid = fake.ranks[0].pid;
    fake_runner_kill(&fake, 0);
    fake.ranks[0].pid = getppid();
    jr_first_failure_note_exiting(&fake.runner);
    CU_ASSERT_EQUAL(fake.outcomes[0].exiting_ns, 0);
    fake.ranks[0].pid = pid;
    fake_runner_end(&fake);
}

/* An announcement is noted of the rank; it begins the failure unless it is that
 * of a lost peer, the answer to a warning, or not the first. */
static void notes_who_announces_a_failure(void)
{
    static const struct {
        int code, warned;
        const char *error; /* its error.json; NULL: none */
        uint64_t noted_ns;
        bool known, looked;
    } vectors[] = {
        {0, 0, LOST, 0, false, true},
        {JR_YIELD_CODE, SIGUSR1, NULL, 0, false, false},
        {1, 0, NULL, 1, false, false},
        {0, 0, NULL, 0, true, true},
        {0, 0, "", 0, true, true},
        {0, 0, "no JSON", 0, true, true},
        {0, 0, OWN, 0, true, true},
        {3, 0, LOST, 0, true, true}, /* an exit is no exception */
        {JR_YIELD_CODE, 0, NULL, 0, true, true},
        {3, SIGUSR1, NULL, 0, true, true},
        {0, SIGUSR1, OWN, 0, true, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_first_failure *first = &fake.runner.first_failure;
        start();
        fake.planned[0].error_path = "error.json";
        if (vectors[i].error != NULL)
            scratch_write(&fake.scratch, "error.json", vectors[i].error);
        fake.outcomes[0].warned_with = vectors[i].warned;
        first->noted_ns = vectors[i].noted_ns;
        uint64_t before = jr_clock_ns();
        jr_first_failure_announced(&fake.ranks[0], vectors[i].code);
        CU_ASSERT_TRUE(
            fake_runner_is_after(fake.outcomes[0].told_ns, before, 0));
        CU_ASSERT_EQUAL(fake.outcomes[0].told_code, vectors[i].code);
        CU_ASSERT_EQUAL(first->known, vectors[i].known);
        CU_ASSERT_PTR_EQUAL(first->announcer,
                            vectors[i].known ? &fake.ranks[0] : NULL);
        CU_ASSERT_EQUAL(fake.outcomes[1].alive_ns != 0, vectors[i].looked);
        CU_ASSERT_FALSE(jr_stop_has_begun(&fake.runner));
        fake_runner_end(&fake);
    }
}

/* Who caught it, printed it, and exits. */
static void an_exit_may_be_for_a_lost_peer(void)
{
    static const struct {
        const char *err;
        bool known;
    } vectors[] = {{TRACE "BrokenPipeError: [Errno 32]\n", false},
                   {TRACE "ValueError: x\n", true},
                   {"", true}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        start();
        fake.planned[0].err_path = "stderr.log";
        scratch_write(&fake.scratch, "stderr.log", vectors[i].err);
        jr_first_failure_announced(&fake.ranks[0], 3);
        CU_ASSERT_NOT_EQUAL(fake.outcomes[0].told_ns, 0);
        CU_ASSERT_EQUAL(fake.runner.first_failure.known, vectors[i].known);
        fake_runner_end(&fake);
    }
}

static void a_second_announcement_is_none(void)
{
    start();
    fake.outcomes[0].told_ns = 7;
    fake.outcomes[0].told_code = 2;
    jr_first_failure_announced(&fake.ranks[0], 9);
    CU_ASSERT_EQUAL(fake.outcomes[0].told_ns, 7);
    CU_ASSERT_EQUAL(fake.outcomes[0].told_code, 2);
    CU_ASSERT_FALSE(fake.runner.first_failure.known);
    fake_runner_end(&fake);
}

struct loss {
    enum jr_end end;
    int number;
    int told_code;
    const char *error, *err; /* error.json and standard error; NULL: none */
    bool lost;
};

/* Whether a rank lost its peer is told by the end of it, by its error.json, and
 * where there is none by the end of its standard error. */
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
    {JR_END_EXITED, 1, 0, "{\"message\": \"EOFError\", \"pid\": 1}",
     TRACE "ValueError: x\n", false},
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
    fake_runner_note_end(&fake, 0, loss->end, loss->number);
}

/* A lost peer is no cause: the stop waits for another. */
static void holds_the_stop_for_lost_peers(void)
{
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        struct jr_first_failure *first = &fake.runner.first_failure;
        start_bare();
        fail_as(&losses[i]);
        uint64_t before = jr_clock_ns();
        CU_ASSERT_EQUAL(jr_first_failure_holds(&fake.ranks[0]), losses[i].lost);
        CU_ASSERT_EQUAL(fake.outcomes[0].lost_peer, losses[i].lost);
        CU_ASSERT_EQUAL(first->known, !losses[i].lost);
        CU_ASSERT_EQUAL(first->held, losses[i].lost);
        CU_ASSERT_EQUAL(jr_first_failure_holds_stop(&fake.runner),
                        losses[i].lost);
        CU_ASSERT_NOT_EQUAL(first->noted_ns, 0);
        if (losses[i].lost)
            CU_ASSERT_TRUE(fake_runner_is_after(first->timer.at, before, 500))
        else
            CU_ASSERT_EQUAL(first->timer.at, 0);
        fake_runner_end(&fake);
    }
}

/* Of its own process, an error.json counts. */
static void its_own_error_counts(void)
{
    static const struct loss loss = {
        JR_END_EXITED, 1,   0, "{\"message\": \"EOFError\", \"pid\": 4321}",
        NULL,          true};
    start_bare();
    fail_as(&loss);
    CU_ASSERT_TRUE(jr_first_failure_holds(&fake.ranks[0]));
    CU_ASSERT_TRUE(fake.outcomes[0].lost_peer);
    fake_runner_end(&fake);
}

/* Only the end of a long output is looked at, and never what is no file. */
static void reads_the_end_of_standard_error(void)
{
    static char text[JR_LOST_PEER_TAIL + 512];
    static const char end[] = TRACE "BrokenPipeError: [Errno 32]\n";
    start_bare();
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
    CU_ASSERT_FALSE(jr_first_failure_holds(&fake.ranks[1]));
    CU_ASSERT_FALSE(fake.outcomes[1].lost_peer);
    CU_ASSERT_TRUE(fake.runner.first_failure.known);
    fake_runner_end(&fake);
}

/* Once the cause is known, a later failure is not read any more, unless it had
 * been on its way out before. */
static void what_follows_is_not_read(void)
{
    static const struct loss loss = {JR_END_EXITED, 1, 0, LOST, NULL, true};
    for (int exiting = 0; exiting < 2; exiting++) {
        start_bare();
        fake.runner.first_failure.known = true;
        fake.outcomes[0].exiting_ns = (uint64_t)exiting;
        fail_as(&loss);
        CU_ASSERT_FALSE(jr_first_failure_holds(&fake.ranks[0]));
        CU_ASSERT_EQUAL(fake.outcomes[0].lost_peer, exiting);
        fake_runner_end(&fake);
    }
}

/* It holds only what would be stopped, as long as somebody can tell more. */
static void holds_only_where_more_can_come(void)
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
        start_bare();
        fake.policy.on_failure = vectors[i].on_failure;
        fake.runner.stop.begun = vectors[i].begun;
        fake.options.link = vectors[i].link ? &fake.link : NULL;
        fake_runner_note_end(&fake, 0, JR_END_SIGNALED, SIGPIPE);
        fake.runner.running = vectors[i].others;
        CU_ASSERT_EQUAL(jr_first_failure_holds(&fake.ranks[0]),
                        vectors[i].holds);
        CU_ASSERT_EQUAL(jr_first_failure_holds_stop(&fake.runner),
                        vectors[i].holds);
        CU_ASSERT_EQUAL(jr_first_failure_waits(&fake.runner),
                        vectors[i].holds && vectors[i].link);
        fake_runner_end(&fake);
    }
}

/* The time is counted from the first that was held. */
static void holds_no_longer_for_the_next(void)
{
    start_bare();
    fake_runner_note_end(&fake, 0, JR_END_SIGNALED, SIGPIPE);
    CU_ASSERT_TRUE(jr_first_failure_holds(&fake.ranks[0]));
    fake.runner.first_failure.timer.at = 12345;
    fake_runner_note_end(&fake, 1, JR_END_SIGNALED, SIGPIPE);
    CU_ASSERT_TRUE(jr_first_failure_holds(&fake.ranks[1]));
    CU_ASSERT_EQUAL(fake.runner.first_failure.timer.at, 12345);
    fake_runner_end(&fake);
}

/* Then it stops, with the cause or without. */
static void stops_when_the_time_is_up(void)
{
    start_bare();
    fake_runner_note_end(&fake, 0, JR_END_SIGNALED, SIGPIPE);
    CU_ASSERT_TRUE(jr_first_failure_holds(&fake.ranks[0]));
    CU_ASSERT_FALSE(jr_stop_has_begun(&fake.runner));
    fake.runner.first_failure.timer.due(&fake.runner);
    CU_ASSERT_TRUE(jr_stop_has_begun(&fake.runner));
    CU_ASSERT_FALSE(jr_first_failure_holds_stop(&fake.runner));
    CU_ASSERT_TRUE(fake.runner.first_failure.timer.pauses);
    fake_runner_end(&fake);
}

/* Who announced its failure is waited for, so that its end is seen; then what
 * was held is stopped at once. */
static void waits_for_the_announcer(void)
{
    start_bare();
    jr_first_failure_announced(&fake.ranks[1], 1);
    fail(0, 2);
    CU_ASSERT_TRUE(jr_first_failure_holds(&fake.ranks[0]));
    jr_first_failure_ended(&fake.ranks[0]);
    CU_ASSERT_FALSE(jr_stop_has_begun(&fake.runner));
    fail(1, 1);
    CU_ASSERT_FALSE(jr_first_failure_holds(&fake.ranks[1]));
    CU_ASSERT_PTR_NULL(fake.runner.first_failure.announcer);
    jr_first_failure_ended(&fake.ranks[1]);
    CU_ASSERT_TRUE(jr_stop_has_begun(&fake.runner));
    fake_runner_end(&fake);
}

/* An announcer that ends well after all is waited for no longer. */
static void an_announcer_may_end_well(void)
{
    start_bare();
    jr_first_failure_announced(&fake.ranks[1], 1);
    fail(0, 2);
    CU_ASSERT_TRUE(jr_first_failure_holds(&fake.ranks[0]));
    jr_first_failure_ended(&fake.ranks[2]); /* another rank */
    CU_ASSERT_PTR_EQUAL(fake.runner.first_failure.announcer, &fake.ranks[1]);
    CU_ASSERT_FALSE(jr_stop_has_begun(&fake.runner));
    jr_first_failure_ended(&fake.ranks[1]);
    CU_ASSERT_PTR_NULL(fake.runner.first_failure.announcer);
    CU_ASSERT_TRUE(jr_stop_has_begun(&fake.runner));
    fake_runner_end(&fake);
}

/* Without a stop that is held, an end begins none. */
static void an_end_alone_stops_nothing(void)
{
    start_bare();
    jr_first_failure_announced(&fake.ranks[1], 1);
    jr_first_failure_ended(&fake.ranks[1]);
    CU_ASSERT_FALSE(jr_stop_has_begun(&fake.runner));
    fake_runner_note_end(&fake, 0, JR_END_SIGNALED, SIGPIPE);
    fake.runner.first_failure = (struct jr_first_failure){.timer = {.at = 9}};
    jr_first_failure_ended(&fake.ranks[0]); /* its cause is not known */
    CU_ASSERT_FALSE(jr_stop_has_begun(&fake.runner));
    fake_runner_end(&fake);
}

static void ends_with_the_run(void)
{
    start_bare();
    fake.runner.first_failure.timer.at = 9;
    jr_first_failure_policy.stopping(&fake.runner);
    CU_ASSERT_FALSE(jr_first_failure_holds_stop(&fake.runner));
    fake.runner.first_failure.timer.at = 9;
    jr_first_failure_policy.close(&fake.runner);
    CU_ASSERT_FALSE(jr_first_failure_holds_stop(&fake.runner));
    fake_runner_end(&fake);
}

JR_UNIT_MAIN("first_failure", CASE(looks_at_who_runs), CASE(looks_again_later),
             CASE(looks_at_children_alone), CASE(notes_who_announces_a_failure),
             CASE(an_exit_may_be_for_a_lost_peer),
             CASE(a_second_announcement_is_none),
             CASE(holds_the_stop_for_lost_peers), CASE(its_own_error_counts),
             CASE(reads_the_end_of_standard_error),
             CASE(what_follows_is_not_read),
             CASE(holds_only_where_more_can_come),
             CASE(holds_no_longer_for_the_next),
             CASE(stops_when_the_time_is_up), CASE(waits_for_the_announcer),
             CASE(an_announcer_may_end_well), CASE(an_end_alone_stops_nothing),
             CASE(ends_with_the_run))
