/* Rehearsed failures: which ranks they are for, when they are due, and what the
 * end of such a rank is taken for; and the time that a first exit leaves. */
#include "run/policies/fault_injection.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/runner.h"
#include "unit.h"

enum { RANKS = 6, MS = 1000000 };

/* A runner that has no process, whose ranks are numbered from 10 on. */
struct desk {
    struct jr_runner runner;
    struct jr_plan plan;
    struct jr_policy policy;
    struct jr_plan_rank planned[RANKS];
    struct jr_rank_outcome outcomes[RANKS];
    struct jr_rank_run ranks[RANKS];
};

static struct desk desk;

static void start(struct jr_injection *injections, uint32_t count)
{
    memset(&desk, 0, sizeof desk);
    desk.plan = (struct jr_plan){.policy = &desk.policy,
                                 .ranks = desk.planned,
                                 .count = RANKS,
                                 .injections = injections,
                                 .injections_count = count};
    desk.runner.plan = &desk.plan;
    desk.runner.ranks = desk.ranks;
    for (uint32_t i = 0; i < RANKS; i++) {
        desk.planned[i].rank = 10 + i;
        desk.outcomes[i].started_ns = 1000 * (uint64_t)MS;
        desk.ranks[i].plan = &desk.planned[i];
        desk.ranks[i].outcome = &desk.outcomes[i];
        desk.ranks[i].runner = &desk.runner;
    }
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&desk.runner.loop), 0);
    CU_ASSERT_EQUAL_FATAL(jr_fault_injection_policy.open(&desk.runner), 0);
}

static void end(void)
{
    free(desk.runner.fault_injection.cells);
    (void)close(desk.runner.loop.epoll_fd);
}

/* When the injection number k is due for each rank, in ms; "-": never. */
static void check_due(uint32_t k, const char *expected)
{
    char text[RANKS * 8] = "";
    for (uint32_t i = 0; i < RANKS; i++) {
        uint64_t at = desk.runner.fault_injection.cells[k * RANKS + i].at;
        size_t len = strlen(text);
        if (at == 0)
            (void)snprintf(text + len, sizeof text - len, " -");
        else
            (void)snprintf(text + len, sizeof text - len, " %u",
                           (unsigned)(at / (uint64_t)MS));
    }
    JR_ASSERT_TEXT(text, expected);
}

static void is_due_for_the_ranks_that_it_names(void)
{
    static struct jr_injection all[] = {
        {JR_INJECT_KILL, 11, 11, 1, 0, 0},
        {JR_INJECT_HANG, 10, 15, 2, 0, 5},
        {JR_INJECT_SLOW, 12, 14, 1, 0, 30},
        {JR_INJECT_NORESULT, 10, 15, 1, 0, 0},
        {JR_INJECT_EXIT, 11, 15, 3, 9, 1},
        {JR_INJECT_STOP, 16, 20, 1, 0, 1},
        {JR_INJECT_OOM, 0, 9, 1, 0, 1},
    };
    start(all, sizeof all / sizeof *all);
    for (uint32_t i = 0; i < RANKS; i++)
        jr_fault_injection_policy.rank_started(&desk.ranks[i]);
    check_due(0, " - 1000 - - - -");
    check_due(1, " 1005 - 1005 - 1005 -");
    check_due(2, " - - 1030 1030 1030 -");
    check_due(3, " - - - - - -"); /* what it leaves out is left out later */
    check_due(4, " - 1001 - - 1001 -");
    check_due(5, " - - - - - -");
    check_due(6, " - - - - - -");
    CU_ASSERT_EQUAL(desk.runner.fault_injection.timer.at, 1000 * (uint64_t)MS);
    end();
}

/* The timer is that of what is due first, whichever rank came first. */
static void wakes_for_what_is_due_first(void)
{
    static struct jr_injection all[] = {{JR_INJECT_KILL, 10, 12, 1, 0, 50}};
    start(all, 1);
    desk.outcomes[0].started_ns = 300 * (uint64_t)MS;
    desk.outcomes[1].started_ns = 100 * (uint64_t)MS;
    desk.outcomes[2].started_ns = 200 * (uint64_t)MS;
    static const uint64_t at[] = {350, 150, 150, 150};
    for (uint32_t i = 0; i < 4; i++) {
        jr_fault_injection_policy.rank_started(&desk.ranks[i]);
        CU_ASSERT_EQUAL(desk.runner.fault_injection.timer.at,
                        at[i] * (uint64_t)MS);
    }
    end();
}

static void wakes_for_nothing_where_nothing_is_rehearsed(void)
{
    start(NULL, 0);
    jr_fault_injection_policy.rank_started(&desk.ranks[0]);
    CU_ASSERT_EQUAL(desk.runner.fault_injection.timer.at, 0);
    CU_ASSERT_PTR_NULL(desk.runner.fault_injection.cells);
    end();
}

/* A SIGKILL of the rehearsal becomes the end that was played; any other end is
 * the rank's own, and jobrun's stop is jobrun's. */
static void only_the_played_end_is_renamed(void)
{
    static const struct {
        bool injected;
        enum jr_inject what;
        enum jr_end end;
        int signal, stopped_with;
        enum jr_end then;
        int code, signal_then;
        bool oom;
    } vectors[] = {
        {true, JR_INJECT_EXIT, JR_END_SIGNALED, SIGKILL, 0, JR_END_EXITED, 75,
         0, false},
        {true, JR_INJECT_OOM, JR_END_SIGNALED, SIGKILL, 0, JR_END_SIGNALED, 0,
         SIGKILL, true},
        {true, JR_INJECT_KILL, JR_END_SIGNALED, SIGKILL, 0, JR_END_SIGNALED, 0,
         SIGKILL, false},
        {true, JR_INJECT_EXIT, JR_END_SIGNALED, SIGKILL, SIGTERM,
         JR_END_SIGNALED, 0, SIGKILL, false},
        {true, JR_INJECT_OOM, JR_END_SIGNALED, SIGKILL, SIGTERM,
         JR_END_SIGNALED, 0, SIGKILL, false},
        {true, JR_INJECT_EXIT, JR_END_SIGNALED, SIGSEGV, 0, JR_END_SIGNALED, 0,
         SIGSEGV, false},
        {true, JR_INJECT_OOM, JR_END_EXITED, 0, 0, JR_END_EXITED, 0, 0, false},
        {false, JR_INJECT_EXIT, JR_END_SIGNALED, SIGKILL, 0, JR_END_SIGNALED, 0,
         SIGKILL, false},
    };
    start(NULL, 0);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_rank_outcome *outcome = &desk.outcomes[0];
        *outcome =
            (struct jr_rank_outcome){.injected = vectors[i].injected,
                                     .injection = vectors[i].what,
                                     .injected_code = 75,
                                     .end = vectors[i].end,
                                     .signal = vectors[i].signal,
                                     .stopped_with = vectors[i].stopped_with};
        jr_fault_injection_policy.rank_ended(&desk.ranks[0]);
        CU_ASSERT_EQUAL(outcome->end, vectors[i].then);
        CU_ASSERT_EQUAL(outcome->exit_code, vectors[i].code);
        CU_ASSERT_EQUAL(outcome->signal, vectors[i].signal_then);
        CU_ASSERT_EQUAL(outcome->oom, vectors[i].oom);
    }
    end();
}

static void end_first(enum jr_end end_of_it, int code)
{
    desk.outcomes[0].end = end_of_it;
    desk.outcomes[0].exit_code = code;
    jr_first_exit_timeout_policy.rank_ended(&desk.ranks[0]);
}

/* timeouts.after_first_exit: from the first rank that ended well, once. */
static void a_first_good_end_leaves_the_others_their_time(void)
{
    const struct jr_timer *timer = &desk.runner.first_exit_timeout.timer;
    start(NULL, 0);
    CU_ASSERT_EQUAL(jr_first_exit_timeout_policy.open(&desk.runner), 0);
    end_first(JR_END_EXITED, 0);
    CU_ASSERT_EQUAL(timer->at, 0); /* there is no such limit */
    desk.policy.timeouts.after_first_exit_ms = 5000;
    end_first(JR_END_EXITED, 1);
    end_first(JR_END_SIGNALED, 0);
    CU_ASSERT_EQUAL(timer->at, 0);
    desk.runner.hang.begun = true;
    end_first(JR_END_EXITED, 0);
    CU_ASSERT_EQUAL(timer->at, 0);
    desk.runner.hang.begun = false;
    uint64_t before = jr_clock_ns();
    end_first(JR_END_EXITED, 0);
    uint64_t at = timer->at;
    CU_ASSERT_TRUE(at >= before + 5000 * (uint64_t)MS);
    CU_ASSERT_TRUE(at <= jr_clock_ns() + 5000 * (uint64_t)MS);
    end_first(JR_END_EXITED, 0);
    CU_ASSERT_EQUAL(timer->at, at);
    jr_first_exit_timeout_policy.stopping(&desk.runner);
    CU_ASSERT_EQUAL(timer->at, 0);
    end_first(JR_END_EXITED, 0);
    CU_ASSERT_EQUAL(timer->at, 0); /* it does not begin anew */
    end();
}

JR_UNIT_MAIN("fault_injection", CASE(is_due_for_the_ranks_that_it_names),
             CASE(wakes_for_what_is_due_first),
             CASE(wakes_for_nothing_where_nothing_is_rehearsed),
             CASE(only_the_played_end_is_renamed),
             CASE(a_first_good_end_leaves_the_others_their_time))
