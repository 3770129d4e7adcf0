/* The ranks' coming and going, with real processes: when they are started, what is known of them at
 * their end, and what a start that fails means. */
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/wait.h>

#include "fake_runner.h"

/* The first of the processes that are made by it. */
static struct {
    pid_t pids[16];
    unsigned count;
    unsigned late; /* so many have ended before the next one is made; 0: none */
    unsigned slow; /* who has made one behind so many is kept from going on for
                      as long as the first of all lives, a while at most; 0 */
} clones;

static bool has_clone_ended(unsigned i, int options)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)clones.pids[i], &info, WEXITED | WNOWAIT | options) == 0 &&
           info.si_pid != 0;
}

/* The C library's, for the whole program. */
int clone(int (*main)(void *), void *stack, int flags, void *data, ...)
{
    static int (*real)(int (*)(void *), void *, int, void *, ...);
    va_list rest;
    va_start(rest, data);
    pid_t *pidfd = va_arg(rest, pid_t *);
    void *tls = va_arg(rest, void *), *up = va_arg(rest, void *);
    va_end(rest);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "clone");
    for (unsigned i = 0; i < clones.late && clones.late == clones.count; i++)
        (void)has_clone_ended(i, 0);
    int pid = real(main, stack, flags, data, pidfd, tls, up);
    if (pid > 0 && clones.count < sizeof clones.pids / sizeof *clones.pids)
        clones.pids[clones.count++] = pid;
    for (int ms = 0; clones.slow > 0 && clones.count == clones.slow + 1 && ms < 100 &&
                     !has_clone_ended(0, WNOHANG);
         ms++)
        (void)usleep(1000);
    return pid;
}

static char *argv[] = {(char *)"sh", (char *)"-c", NULL, NULL};

/* Ranks that execute shell text; `count` of them. */
static void start(const char *text, uint32_t count)
{
    argv[2] = (char *)text;
    fake_runner_start();
    fake.plan.count = fake.plan.world_size = count;
    fake.policy.timeouts.stop_grace_ms = 3600000;
    fake_runner_starter(argv);
    CU_ASSERT_EQUAL_FATAL(jr_policies_open(&fake.runner), 0);
}

ENDING(end)
{
    jr_policies_close(&fake.runner);
    if (fake.runner.oom.log_fd > 0)
        (void)close(fake.runner.oom.log_fd);
    fake_runner_end();
}

static bool is_over(const struct jr_runner *runner)
{
    return !jr_launch_is_due(runner) && runner->running == 0;
}

/* Ranks with a program that executes already are started together, and one that fails for a reason
 * of its own stops those that came with it. */
TEST(a_failure_among_several_stops_them)
{
    enum { COUNT = 5 };
    BEGIN(end, start("exec sleep 1000", COUNT));
    fake.planned[3].cpus = "8191";
    fake_runner_turn(is_over);
    CU_ASSERT_TRUE(fake.outcomes[3].end == JR_END_START && fake.outcomes[3].stage == JR_STAGE_CPUS);
    CU_ASSERT_EQUAL(fake.outcomes[3].order, 1);
    for (uint32_t i = 0; i < COUNT; i++) {
        bool tried = i != 3 && fake.outcomes[i].end != JR_END_NONE;
        CU_ASSERT_TRUE(tried || i >= 3);
        if (tried)
            CU_ASSERT_EQUAL(fake.outcomes[i].stopped_with, SIGTERM);
    }
    CU_ASSERT_EQUAL(fake.runner.running, 0);
}

/* Where a start fails before there is a process, as it does where no more are allowed, no further
 * rank is tried. */
TEST(a_failure_at_once_is_the_last)
{
    BEGIN(end, start("exec sleep 1000", 6));
    fake.planned[2].cpus = "x";
    fake_runner_turn(is_over);
    CU_ASSERT_TRUE(fake.outcomes[2].end == JR_END_START && fake.outcomes[2].stage == JR_STAGE_CPUS);
    CU_ASSERT_TRUE(fake.outcomes[1].stopped_with == SIGTERM && fake.outcomes[3].end == JR_END_NONE);
    CU_ASSERT_EQUAL(fake.runner.next, 3);
}

/* Ranks may end while the last of those that are started together is on its way: who was the first
 * is known then, too. Here the others wait until the dead one is a zombie. Where the runner sleeps
 * until a rank executes, that and its peers may end before the runner wakes and watches it, so that
 * no order is promised there. */
TEST(keeps_the_order_of_ends_during_starts)
{
    enum { COUNT = 5, FIRST = 3 };
    static char *hub[] = {(char *)"sh", (char *)"-c", (char *)"echo $$ > new; mv new pid; exit 3",
                          NULL};
    BEGIN(end, start("until test -e pid; do :; done; read p < pid;"
                     "until grep -q '^State:.Z' /proc/$p/status; do :; done; exit 1",
                     COUNT));
    for (uint32_t i = 0; i < COUNT; i++)
        fake.planned[i].workdir = fake.scratch.dir;
    fake.planned[FIRST].argv = hub;
    fake.runner.proven = &fake.planned[0];
    clones.count = 0;
    bool held = jr_start_width(&fake.runner.starter) > 1;
    clones.slow = held ? FIRST : 0;
    clones.late = COUNT - 1;
    fake_runner_turn(is_over);
    clones.late = clones.slow = 0;
    for (uint32_t i = 0; i < COUNT; i++) /* or there is nothing to be told */
        CU_ASSERT_EQUAL_FATAL(fake.outcomes[i].stage, JR_STAGE_NONE);
    CU_ASSERT_EQUAL_FATAL(fake.runner.next, COUNT);
    CU_ASSERT_EQUAL(fake.outcomes[FIRST].exit_code, 3);
    CU_ASSERT_TRUE(fake.outcomes[FIRST].order == 1 || (!held && fake.outcomes[FIRST].order > 1));
    for (uint32_t i = 0; i + 1 < COUNT; i++)
        if (i != FIRST)
            CU_ASSERT_EQUAL(fake.outcomes[i].exit_code, 1);
}

/* Nothing starts before the setup is done, while a stop is held, or jobrun is suspended; a stop
 * starts nothing any more. */
TEST(waits_before_it_starts)
{
    for (int why = 0; why < 5; why++) {
        BEGIN(end, start("exit 0", 2));
        fake.runner.setup.done = why != 0;
        fake.runner.first_failure.timer.at = why == 1 ? UINT64_MAX : 0;
        fake.runner.loop.paused_ns = why == 2 ? 1 : 0;
        fake.runner.stop.begun = why == 3;
        CU_ASSERT_EQUAL(jr_launch_is_due(&fake.runner), why != 3);
        CU_ASSERT_EQUAL(jr_launch_turn(&fake.runner), why == 4);
        CU_ASSERT_EQUAL(fake.runner.next, why == 4 ? 2 : 0);
        if (why == 4)
            fake_runner_turn(is_over);
    }
}

/* No further rank will start: the first that has no process is the one that failed, and its text is
 * kept. */
TEST(fails_the_first_that_waits)
{
    static const struct {
        uint32_t next;
        bool begun;
        uint32_t failed; /* 9: none */
    } vectors[] = {{0, false, 0}, {2, false, 2}, {3, false, 9}, {2, true, 9}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(end, start("exit 0", 3));
        fake.runner.next = vectors[i].next;
        fake.runner.stop.begun = vectors[i].begun;
        for (uint32_t k = 0; k < vectors[i].next; k++) {
            fake.ranks[k].pid = 12;
            fake.ranks[k].state = JR_LIFE_ENDED;
        }
        jr_launch_fail(&fake.runner, JR_STAGE_FORK, EAGAIN, "because");
        for (uint32_t k = 0; k < 3; k++)
            CU_ASSERT_EQUAL(fake.outcomes[k].end,
                            k == vectors[i].failed ? JR_END_START : JR_END_NONE);
        bool any = vectors[i].failed != 9;
        JR_ASSERT_TEXT(fake.outcome.start_text, any ? "because" : "");
        if (any) {
            const struct jr_rank_outcome *rank = &fake.outcomes[vectors[i].failed];
            CU_ASSERT_TRUE(rank->stage == JR_STAGE_FORK && rank->start_errno == EAGAIN);
            CU_ASSERT_EQUAL(fake.runner.next, vectors[i].failed + 1);
            CU_ASSERT_TRUE(jr_stop_has_begun(&fake.runner));
        }
    }
}

/* A rank that was forked and not heard of is the one, though others were asked for after it. */
TEST(fails_one_that_was_not_heard_of)
{
    BEGIN(end, start("exit 0", 3));
    fake.runner.next = 3;
    fake.ranks[0].pid = fake.ranks[2].pid = 12;
    fake.ranks[0].state = fake.ranks[2].state = JR_LIFE_ENDED;
    jr_launch_fail(&fake.runner, JR_STAGE_FORK, 0, "");
    CU_ASSERT_TRUE(fake.outcomes[1].end == JR_END_START && fake.outcomes[2].end == JR_END_NONE);
    CU_ASSERT_EQUAL(fake.runner.next, 3);
}
