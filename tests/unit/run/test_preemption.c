/* A preemption: what may mean one, whom that is asked of, and what follows from each answer.
 * scontrol is a script. */
#include "fake_runner.h"

enum { GRACE_MS = 30000 };

static char search[64];
static char *env[] = {search, NULL};
static const struct jr_slurm_self self = {.job = "12", .name = "12_3", .restarts = 1, .envp = env};

/* Ranks 0 and 1 run; `deadline` and `requeue` are as the spec has them. */
static void start(bool deadline, bool requeue)
{
    fake_runner_start();
    fake.policy.timeouts.stop_grace_ms = GRACE_MS;
    fake.policy.deadline.before_ms = deadline ? 60000 : 0;
    fake.policy.deadline.signal = (char *)"USR1";
    fake.policy.requeue.max = requeue ? 1 : 0;
    fake_runner_open(&jr_exit_barrier_policy);
    fake_runner_open(&jr_first_failure_policy);
    fake_runner_open(&jr_deadline_policy);
    fake_runner_open(&jr_preemption_policy);
    fake_runner_open(&jr_stop_policy);
    fake_runner_spawn(0);
    fake_runner_spawn(1);
}

static void start_as_node(bool deadline)
{
    start(deadline, !deadline);
    fake_runner_link();
}

/* Where scontrol is this script; NULL: it is not there. */
static void start_in_job(const char *script)
{
    char text[1024];
    start(true, false);
    (void)snprintf(search, sizeof search, "PATH=%s:/usr/bin:/bin", fake.scratch.dir);
    if (script == NULL)
        (void)snprintf(search, sizeof search, "PATH=%s", fake.scratch.dir);
    else {
        (void)snprintf(text, sizeof text, "#!/bin/sh\n%s\n", script);
        scratch_write(&fake.scratch, "scontrol", text);
        CU_ASSERT_EQUAL(fchmodat(fake.scratch.fd, "scontrol", 0700, 0), 0);
    }
    fake.options.slurm = &self;
}

ENDING(end)
{
    jr_preemption_policy.close(&fake.runner);
    fake_runner_end();
}

static struct jr_preemption *policy(void)
{
    return &fake.runner.preemption;
}

/* Only SIGTERM is a question, only where the answer makes a difference, and only where somebody can
 * be asked. */
TEST(knows_what_may_mean_one)
{
    static const struct {
        int sig;
        bool deadline, requeue, link, slurm, stopped, takes;
    } vectors[] = {
        {SIGINT, true, true, true, false, false, false},
        {SIGHUP, true, true, true, false, false, false},
        {SIGTERM, false, false, true, false, false, false},
        {SIGTERM, false, false, false, true, false, false},
        {SIGTERM, true, true, false, false, false, false},
        {SIGTERM, true, true, true, false, true, false},
        {SIGTERM, true, false, true, false, false, true},
        {SIGTERM, false, true, true, false, false, true},
        {SIGTERM, true, false, false, true, false, true},
        {SIGTERM, false, true, false, true, false, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(end, start(vectors[i].deadline, vectors[i].requeue));
        if (vectors[i].link)
            fake_runner_link();
        if (vectors[i].slurm)
            fake.options.slurm = &self;
        fake.runner.stop.begun = vectors[i].stopped;
        CU_ASSERT_EQUAL(jr_preemption_takes(&fake.runner, vectors[i].sig), vectors[i].takes);
        CU_ASSERT_EQUAL(jr_preemption_is_open(&fake.runner), vectors[i].takes);
        if (vectors[i].link && vectors[i].takes)
            fake_runner_check_report(JR_REPORT_TERMINATED, NULL);
        else if (vectors[i].link)
            fake_runner_check_no_report();
    }
}

/* Nobody is told to end before the answer, which is awaited for as long as it may take, and asked
 * for once. */
TEST(waits_for_the_answer)
{
    BEGIN(end, start_as_node(true));
    uint64_t before = jr_clock_ns();
    CU_ASSERT_TRUE(jr_preemption_takes(&fake.runner, SIGTERM));
    CU_ASSERT_TRUE(fake_runner_is_after(policy()->patience.at, before, 5000));
    CU_ASSERT_FALSE(policy()->patience.pauses);
    uint64_t signalled_ns = policy()->signalled_ns;
    CU_ASSERT_TRUE(fake_runner_is_after(signalled_ns, before, 0));
    fake_runner_check_report(JR_REPORT_TERMINATED, NULL);
    CU_ASSERT_TRUE(jr_preemption_takes(&fake.runner, SIGTERM));
    CU_ASSERT_EQUAL(policy()->signalled_ns, signalled_ns);
    fake_runner_check_no_report();
    fake_runner_check_sent(0, "");
    fake_runner_check_events("");
    CU_ASSERT_TRUE(!jr_stop_has_begun(&fake.runner) && !fake.outcome.preempted);
}

/* A run that is being stopped is not preempted. */
TEST(a_stopped_run_is_not_preempted)
{
    BEGIN(end, start(true, false));
    fake.runner.stop.begun = true;
    jr_preemption_begin(&fake.runner, 0);
    CU_ASSERT_FALSE(fake.outcome.preempted);
    CU_ASSERT_EQUAL(policy()->limit.at, 0);
    fake_runner_check_events("");
    fake_runner_check_sent(0, "");
}

/* It is none: what was held back follows. The signal stops the run, as of when it came; so does the
 * death of a rank, if its failure would have; else the run goes on. */
TEST(does_what_was_held_back)
{
    static const struct {
        bool signalled, hit, asked, stops;
    } vectors[] = {
        {false, false, false, false}, {true, true, false, false}, {false, false, true, false},
        {false, true, true, true},    {true, false, true, true},  {true, true, true, true},
    };
    for (int how = 0; how < 2; how++)
        for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
            bool signalled = vectors[i].signalled && vectors[i].asked;
            BEGIN(end, start_as_node(true));
            policy()->hit = vectors[i].hit;
            policy()->signalled_ns = vectors[i].signalled ? jr_clock_ns() : 0;
            if (vectors[i].asked)
                jr_preemption_ask(&fake.runner);
            if (how == 0)
                jr_preemption_settle(&fake.runner, false);
            else
                policy()->patience.due(&fake.runner);
            CU_ASSERT_TRUE(!jr_preemption_is_open(&fake.runner) && !fake.outcome.preempted);
            CU_ASSERT_EQUAL(jr_stop_has_begun(&fake.runner), vectors[i].stops);
            CU_ASSERT_EQUAL(fake.outcome.stop_signal, signalled ? SIGTERM : 0);
            fake_runner_check_sent(0, vectors[i].stops ? "TERM CONT" : "");
        }
}

/* A rank that died a moment before the signal came was sent it, too; one that died a moment before
 * the answer came, and long after the signal, as well. */
TEST(shares_the_signal_as_of_when_it_came)
{
    BEGIN(end, start_as_node(true));
    fake_runner_run(2);
    fake_runner_run(3);
    fake_runner_note_end(2, JR_END_SIGNALED, SIGTERM);
    fake_runner_note_end(3, JR_END_SIGNALED, SIGTERM);
    uint64_t now = jr_clock_ns();
    fake.outcomes[2].ended_ns = now - 2500 * FAKE_MS;
    fake.outcomes[3].ended_ns = now - 3500 * FAKE_MS;
    jr_preemption_ask(&fake.runner);
    policy()->signalled_ns = now - 2000 * FAKE_MS;
    jr_preemption_settle(&fake.runner, false);
    CU_ASSERT_TRUE(fake.outcomes[2].stopped_with == SIGTERM && fake.outcomes[3].stopped_with == 0);
}

/* In a job that is preempted, the SIGTERM that comes with it changes nothing, nor does it when it
 * is sent to several at about the same time. One later stops, and the next kills. */
TEST(later_signals_stop_and_kill)
{
    BEGIN(end, start_as_node(true));
    jr_preemption_begin(&fake.runner, 0);
    fake_runner_check_sent(0, "USR1");
    CU_ASSERT_FALSE(jr_preemption_takes(&fake.runner, SIGINT));
    uint64_t before = jr_clock_ns();
    CU_ASSERT_TRUE(jr_preemption_takes(&fake.runner, SIGTERM) && !jr_stop_has_begun(&fake.runner));
    CU_ASSERT_TRUE(jr_preemption_takes(&fake.runner, SIGTERM));
    if (jr_stop_has_begun(&fake.runner)) /* the machine was that slow */
        CU_ASSERT_TRUE(jr_clock_ns() - before >= 1000 * FAKE_MS)
    else
        fake_runner_check_sent(0, "");
    for (int i = 0; i < 2; i++) {
        policy()->signalled_ns = before = jr_clock_ns() - 1001 * FAKE_MS;
        CU_ASSERT_TRUE(jr_preemption_takes(&fake.runner, SIGTERM));
        CU_ASSERT_TRUE(policy()->signalled_ns > before);
        CU_ASSERT_TRUE(jr_stop_has_begun(&fake.runner));
        fake_runner_check_sent(0, i == 0 ? "TERM CONT" : "KILL");
        CU_ASSERT_EQUAL(jr_stop_is_forced(&fake.runner), i == 1);
    }
    fake_runner_check_no_report();
}

/* What a rank does that Slurm has sent SIGTERM: it dies of it, or yields. What jobrun has done to
 * it itself is explained by that. */
TEST(a_rank_may_die_of_it)
{
    static const struct {
        enum jr_end end;
        int number;
        bool told, injected, stopping, preempted, watched, explains;
    } vectors[] = {
        {JR_END_SIGNALED, SIGKILL, false, false, false, false, true, false},
        {JR_END_SIGNALED, 75, false, false, false, false, true, false},
        {JR_END_EXITED, 1, false, false, false, false, true, false},
        {JR_END_EXITED, SIGTERM, false, false, false, false, true, false},
        {JR_END_START, 75, false, false, false, false, true, false},
        {JR_END_SIGNALED, SIGTERM, true, false, false, false, true, false},
        {JR_END_SIGNALED, SIGTERM, false, true, false, false, true, false},
        {JR_END_SIGNALED, SIGTERM, false, false, true, false, true, false},
        {JR_END_SIGNALED, SIGTERM, false, false, false, true, true, false},
        {JR_END_SIGNALED, SIGTERM, false, false, false, false, false, false},
        {JR_END_SIGNALED, SIGTERM, false, false, false, false, true, true},
        {JR_END_EXITED, 75, false, false, false, false, true, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        if (vectors[i].watched)
            start_as_node(true);
        else
            start(true, false);
        fake_runner_note_end(0, vectors[i].end, vectors[i].number);
        fake.outcomes[0].stopped_with = vectors[i].told ? SIGTERM : 0;
        fake.outcomes[0].injected = vectors[i].injected;
        fake.runner.stop.begun = vectors[i].stopping;
        fake.outcome.preempted = vectors[i].preempted;
        CU_ASSERT_EQUAL(jr_preemption_explains(&fake.ranks[0]), vectors[i].explains);
        CU_ASSERT_EQUAL(policy()->hit, vectors[i].explains);
        CU_ASSERT_TRUE(policy()->open == vectors[i].explains && policy()->signalled_ns == 0);
        if (vectors[i].explains) /* another end does not take it back */
            CU_ASSERT_TRUE(jr_preemption_explains(&fake.ranks[0]) && policy()->hit);
        end();
    }
}

/* A death that is explained, and would end the run otherwise: not under
 * `on_failure: continue`, but for a rank of an MPI world. */
TEST(knows_which_deaths_end_the_run)
{
    for (int mpi = 0; mpi < 2; mpi++) {
        BEGIN(end, start_as_node(true));
        fake.policy.on_failure = JR_ON_FAILURE_CONTINUE;
        fake.runner.mpi_world.initialized = mpi > 0;
        fake_runner_note_end(0, JR_END_SIGNALED, SIGTERM);
        CU_ASSERT_TRUE(jr_preemption_explains(&fake.ranks[0]));
        CU_ASSERT_EQUAL(policy()->hit, mpi > 0);
    }
}

#define ANSWER(state, restarts, rest)                                                              \
    "echo 'JobId=12 JobName=t\n   JobState=" state " Reason=None\n"                                \
    "   Requeue=1 Restarts=" restarts "\n" rest "'"

/* A question that is asked once more has all its tries again. */
TEST(every_question_has_its_tries)
{
    BEGIN(end, start_in_job("exec sleep 1000"));
    policy()->tries = 5;
    jr_preemption_ask(&fake.runner);
    CU_ASSERT_TRUE(policy()->tries == 1 && policy()->answer.fd >= 0);
}

/* At the end nothing is awaited any more, and scontrol has ended. */
TEST(ends_with_the_run)
{
    BEGIN(fake_runner_end, start_in_job("exec sleep 1000"));
    policy()->injected.at = policy()->limit.at = 77;
    jr_preemption_policy.stopping(&fake.runner);
    CU_ASSERT_TRUE(policy()->injected.at == 0 && policy()->limit.at == 0);
    jr_preemption_ask(&fake.runner);
    policy()->injected.at = policy()->limit.at = 77;
    CU_ASSERT_NOT_EQUAL(policy()->call.keeper.pid, 0);
    jr_preemption_policy.close(&fake.runner);
    CU_ASSERT_TRUE(policy()->injected.at == 0 && policy()->limit.at == 0);
    CU_ASSERT_EQUAL(policy()->patience.at, 0);
    CU_ASSERT_FALSE(jr_preemption_is_open(&fake.runner));
    CU_ASSERT_TRUE(policy()->answer.fd == -1 && policy()->call.keeper.pid == 0);
}
