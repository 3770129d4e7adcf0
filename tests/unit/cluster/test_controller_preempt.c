/* Whether the job is preempted, asked once for all nodes: what is asked when, and what the nodes
 * are told. scontrol is a script. */
#include "fake_controller.h"
#include "cluster/internal.h"

enum { GRACE_MS = 30000 };

static char search[64];
static char *env[] = {search, NULL};
static const struct jr_slurm_self self = {.job = "12", .name = "12_3", .restarts = 1, .envp = env};

#define FOR_EVER "exec sleep 1000"
#define ANSWER(state, restarts, rest)                                                              \
    "echo \"JobId=12 JobName=t\n   JobState=" state " Reason=None\n"                               \
    "   Requeue=1 Restarts=" restarts "\n" rest "\""
#define PREEMPTED ANSWER("RUNNING", "1", "   PreemptTime=1800000000")
#define GOES_ON   ANSWER("RUNNING", "1", "   PreemptTime=None")

/* Where scontrol is this script; NULL: it is not there. */
static void start(const char *script, bool deadline, bool requeue)
{
    char text[1024];
    fake_start();
    jr_loop_timer(&fake.controller.loop, &fake.controller.preempted);
    fake.policy.timeouts.stop_grace_ms = GRACE_MS;
    fake.policy.deadline.before_ms = deadline ? 60000 : 0;
    fake.policy.requeue.max = requeue ? 1 : 0;
    fake.options.slurm = &self;
    (void)snprintf(search, sizeof search, "PATH=%s%s", fake.scratch.dir,
                   script == NULL ? "" : ":/usr/bin:/bin");
    if (script == NULL)
        return;
    (void)snprintf(text, sizeof text, "#!/bin/sh\n%s\n", script);
    scratch_write(&fake.scratch, "scontrol", text);
    CU_ASSERT_EQUAL(fchmodat(fake.scratch.fd, "scontrol", 0700, 0), 0);
}

static void end(void)
{
    jr_controller_preempt_close(&fake.run);
    fake_end();
}

static void turn_until_settled(void)
{
    while (fake.run.answer.fd >= 0)
        (void)jr_loop_turn(&fake.controller.loop, false);
}

static bool is_asked(void)
{
    return fake.run.answer.fd >= 0 && fake.run.call.keeper.pid != 0;
}

/* Only SIGTERM is a question, only where the answer makes a difference, and only where Slurm can be
 * asked. */
TEST(knows_what_may_mean_one)
{
    static const struct {
        int sig;
        bool deadline, requeue, slurm, stopped, takes;
    } vectors[] = {
        {SIGINT, true, true, true, false, false},   {SIGTERM, false, false, true, false, false},
        {SIGTERM, true, true, false, false, false}, {SIGTERM, true, true, true, true, false},
        {SIGTERM, true, false, true, false, true},  {SIGTERM, false, true, true, false, true}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        start(FOR_EVER, vectors[i].deadline, vectors[i].requeue);
        if (!vectors[i].slurm)
            fake.options.slurm = NULL;
        fake.run.stopped = vectors[i].stopped;
        CU_ASSERT_EQUAL(jr_controller_preempt_takes(&fake.run, vectors[i].sig), vectors[i].takes);
        CU_ASSERT_EQUAL(is_asked(), vectors[i].takes);
        CU_ASSERT_EQUAL(fake.run.terminated, vectors[i].takes);
        check_sent("");
        end();
    }
}

/* A node that asks where nothing can be found out is told so. */
TEST(answers_without_asking)
{
    for (int how = 0; how < 2; how++) {
        start(PREEMPTED, how == 0, false);
        if (how == 0)
            fake.options.slurm = NULL;
        jr_controller_preempt_ask(&fake.run);
        CU_ASSERT_FALSE(is_asked());
        check_sent("not_preempted");
        CU_ASSERT_FALSE(fake.outcome.preempted);
        CU_ASSERT_FALSE(fake.run.stopped);
        end();
    }
}

/* An answer that could not be heard is not waited for. */
TEST(an_answer_has_to_be_heard)
{
    start(PREEMPTED, true, false);
    int epoll_fd = fake.controller.loop.epoll_fd;
    fake.controller.loop.epoll_fd = -1;
    CU_ASSERT_TRUE(jr_controller_preempt_takes(&fake.run, SIGTERM));
    fake.controller.loop.epoll_fd = epoll_fd;
    CU_ASSERT_EQUAL(fake.run.answer.fd, -1);
    CU_ASSERT_EQUAL(fake.run.call.keeper.pid, 0);
    check_sent("not_preempted stop");
    end();
}

/* What scontrol says decides. It is none without an answer: then the SIGTERM that jobrun was sent
 * stops the run, and what a node was sent is its own. */
TEST(asks_scontrol)
{
    static const struct {
        const char *script;
        bool preempted;
    } vectors[] = {{GOES_ON, false},  {PREEMPTED "; exit 1", false},
                   {"echo", false},   {NULL, false},
                   {PREEMPTED, true}, {ANSWER("PENDING", "2", ""), true}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        for (int signalled = 0; signalled < 2; signalled++) {
            bool preempted = vectors[i].preempted;
            start(vectors[i].script, true, false);
            uint64_t before = jr_clock_ns();
            if (signalled)
                CU_ASSERT_TRUE(jr_controller_preempt_takes(&fake.run, SIGTERM))
            else
                jr_controller_preempt_ask(&fake.run);
            turn_until_settled();
            if (fake.outcome.preempted != preempted) {
                /* the machine was so slow that scontrol had no time */
                CU_ASSERT_TRUE(jr_clock_ns() - before > 1000 * FAKE_MS);
                end();
                continue;
            }
            check_sent(preempted   ? "preempted"
                       : signalled ? "not_preempted stop"
                                   : "not_preempted");
            CU_ASSERT_EQUAL(fake.run.stopped, signalled && !preempted);
            CU_ASSERT_EQUAL(fake.outcome.stop_signal, signalled && !preempted ? SIGTERM : 0);
            CU_ASSERT_EQUAL(fake.controller.preempted.at != 0, preempted);
            CU_ASSERT_FALSE(fake.run.terminated);
            CU_ASSERT_EQUAL(fake.run.tries, 1);
            CU_ASSERT_EQUAL(fake.run.call.keeper.pid, 0);
            end();
            CU_ASSERT_EQUAL(fake.outcome.late_signal, 0);
        }
}

/* Slurm may end scontrol with all the rest: it is asked again, five times in all, and as often for
 * the next question. */
TEST(asks_again_where_scontrol_was_killed)
{
    static const struct {
        const char *script;
        unsigned tries;
        bool preempted;
    } vectors[] = {
        {"kill -9 $$", 5, false},
        {"[ -e \"${0%/*}/once\" ] || { : > \"${0%/*}/once\"; kill -9 $$; }\n" PREEMPTED, 2, true}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        start(vectors[i].script, true, false);
        fake.run.tries = 5;
        uint64_t before = jr_clock_ns();
        jr_controller_preempt_ask(&fake.run);
        turn_until_settled();
        if (fake.run.tries != vectors[i].tries)
            CU_ASSERT_TRUE(jr_clock_ns() - before > 1000 * FAKE_MS)
        else
            check_sent(vectors[i].preempted ? "preempted" : "not_preempted");
        end();
    }
}

/* The ranks have what Slurm leaves, less ten seconds and the grace of the stop after it, or half of
 * it where that is more; or the grace. Without `deadline` they are stopped at once. */
TEST(limits_the_time)
{
    static const struct {
        bool deadline, end;
        uint64_t grace_ms, expected_ms; /* 0: no limit */
    } vectors[] = {{false, true, 30000, 0}, {true, false, 30000, 30000},
                   {true, false, 5, 5},     {true, true, 30000, 960000},
                   {true, true, 0, 990000}, {true, true, 600000, 495000}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        uint64_t expected = vectors[i].expected_ms;
        /* Slurm's end of the time is in whole seconds. */
        uint64_t least = vectors[i].end && expected > 0 ? expected - 60000 : expected;
        start(vectors[i].end ? ANSWER("RUNNING", "1",
                                      "   StartTime=1 EndTime=$(($(date +%s) + 1000)) "
                                      "D=x\n   PreemptTime=1800000000")
                             : PREEMPTED,
              vectors[i].deadline, true);
        fake.policy.timeouts.stop_grace_ms = vectors[i].grace_ms;
        uint64_t before = jr_clock_ns();
        jr_controller_preempt_ask(&fake.run);
        turn_until_settled();
        uint64_t at = fake.controller.preempted.at;
        if (!fake.outcome.preempted) /* the machine was too slow */
            CU_ASSERT_TRUE(jr_clock_ns() - before > 1000 * FAKE_MS)
        else if (expected == 0)
            CU_ASSERT_EQUAL(at, 0)
        else
            CU_ASSERT_TRUE(at >= before + least * FAKE_MS &&
                           at <= jr_clock_ns() + expected * FAKE_MS);
        end();
    }
}

/* Once their time is over, all are stopped; after the run there is nobody. */
TEST(stops_the_ranks_in_time)
{
    for (int runs = 0; runs < 2; runs++) {
        start(PREEMPTED, true, false);
        uint64_t before = jr_clock_ns();
        jr_controller_preempt_ask(&fake.run);
        turn_until_settled();
        if (!fake.outcome.preempted) {
            CU_ASSERT_TRUE(jr_clock_ns() - before > 1000 * FAKE_MS);
            end();
            continue;
        }
        check_sent("preempted");
        CU_ASSERT_FALSE(fake.run.stopped);
        fake.controller.run = runs ? &fake.run : NULL;
        fake.controller.preempted.at = 1;
        (void)jr_loop_turn(&fake.controller.loop, true);
        CU_ASSERT_EQUAL(fake.run.stopped, runs);
        check_sent(runs ? "stop" : "");
        end();
    }
}

/* Several nodes ask, and jobrun is signalled: that is one question. */
TEST(asks_once)
{
    start(FOR_EVER, true, false);
    jr_controller_preempt_ask(&fake.run);
    pid_t pid = fake.run.call.keeper.pid;
    jr_controller_preempt_ask(&fake.run);
    CU_ASSERT_TRUE(jr_controller_preempt_takes(&fake.run, SIGTERM));
    CU_ASSERT_TRUE(jr_controller_preempt_takes(&fake.run, SIGTERM));
    CU_ASSERT_EQUAL(fake.run.call.keeper.pid, pid);
    CU_ASSERT_EQUAL(fake.run.tries, 1);
    CU_ASSERT_TRUE(fake.run.terminated);
    check_sent("");
    end();
}

/* In a job that is preempted a node that asks is told at once. One SIGTERM comes with the
 * preemption; another one means that the time is over. */
TEST(later_signals_stop)
{
    for (int signalled = 0; signalled < 2; signalled++) {
        start(FOR_EVER, true, false);
        fake.outcome.preempted = true;
        fake.run.was_terminated = signalled;
        jr_controller_preempt_ask(&fake.run);
        CU_ASSERT_FALSE(is_asked());
        check_sent("preempted");
        CU_ASSERT_TRUE(jr_controller_preempt_takes(&fake.run, SIGTERM));
        CU_ASSERT_EQUAL(fake.run.stopped, signalled);
        if (!signalled)
            CU_ASSERT_TRUE(jr_controller_preempt_takes(&fake.run, SIGTERM));
        CU_ASSERT_TRUE(fake.run.stopped);
        CU_ASSERT_FALSE(fake.run.terminated);
        CU_ASSERT_EQUAL(fake.outcome.stop_signal, 0);
        check_sent("stop");
        CU_ASSERT_FALSE(jr_controller_preempt_takes(&fake.run, SIGTERM));
        end();
    }
}

/* A signal whose meaning is not known when the run is over is one that came late, unless another
 * has stopped the run. */
TEST(ends_with_the_run)
{
    static const struct {
        bool signalled;
        int stop, late;
    } vectors[] = {{false, 0, 0}, {false, SIGINT, 0}, {true, SIGINT, 0}, {true, 0, SIGTERM}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        start(FOR_EVER, true, false);
        if (vectors[i].signalled)
            (void)jr_controller_preempt_takes(&fake.run, SIGTERM);
        else
            jr_controller_preempt_ask(&fake.run);
        fake.outcome.stop_signal = vectors[i].stop;
        fake.controller.preempted.at = 77;
        jr_controller_preempt_close(&fake.run);
        CU_ASSERT_EQUAL(fake.outcome.late_signal, vectors[i].late);
        CU_ASSERT_EQUAL(fake.controller.preempted.at, 0);
        CU_ASSERT_EQUAL(fake.run.answer.fd, -1);
        CU_ASSERT_EQUAL(fake.run.call.keeper.pid, 0);
        fake_end();
    }
}
