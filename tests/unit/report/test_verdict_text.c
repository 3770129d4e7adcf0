#include <signal.h>

#include "judge/hang_report.h"
#include "judge/restart.h"
#include "told.h"

/* Judge ranks with these results, NULL for none, and hold the line that is made of their fields to
 * `expected`. */
static void check(const char *const *results, uint32_t world, const char *expected)
{
    FAKE(fake, world);
    for (uint32_t i = 0; i < world; i++)
        if (results[i] != NULL)
            fake_write_rank(&fake, i, "result.json", jq(results[i]));
    fake_judge(&fake);
    CHECK_TOLD(&fake, expected, jr_print_fields(&page));
}

#define CHECK(expected, ...)                                                                       \
    do {                                                                                           \
        static const char *const results[] = {__VA_ARGS__};                                        \
        check(results, COUNT_OF(results), expected);                                               \
    } while (0)

TEST(nothing_to_show)
{
    CHECK("", NULL, NULL);
    CHECK("", "3", "[1]");
    CHECK("", "{}", "{}");
}

TEST(one_rank_shows_its_values)
{
    CHECK("        a 0.5   b \"text\"   c true   d [1,2]   e null\n",
          "{'a': 0.5, 'b': 'text', 'c': true, 'd': [1, 2], 'e': null}");
    CHECK("        \\x1b[2J 1\n", "{'\\u001b[2J': 1}");
    CHECK("        s \"\\u001B[2J\"\n", "{'s': '\\u001b[2J'}");
}

TEST(several_ranks_show_what_they_have_in_common)
{
    CHECK("        a 0.1 .. 0.9\n", "{'a': 0.5}", "{'a': 0.1}", "{'a': 0.9}");
    CHECK("        a 0.958\n", "{'a': 0.958}", "{'a': 0.958}");
    CHECK("        a 4\n", "{'a': 4}", "{'a': 4}");
    CHECK("        a 0.95800001 .. 0.95800002\n", "{'a': 0.95800001}", "{'a': 0.95800002}");
    CHECK("        a 1 .. 3\n", "{'a': 3}", "{'a': 1}");
    CHECK("        a 1 .. 1.5\n", "{'a': 1}", "{'a': 1.5}");
    CHECK("        a -2 .. 9007199254740993\n", "{'a': 9007199254740993}", "{'a': -2}");
    CHECK("        a equal   b differs\n", "{'a': 'x', 'b': 'y'}", "{'a': 'x', 'b': 'z'}");
    CHECK("        a differs\n", "{'a': 1}", "{'a': 'x'}");
    CHECK("        a equal\n", "{'a': {'x': 1, 'y': [2]}}", "{'a': {'y': [2.0], 'x': 1.0}}");
    CHECK("        a 1   b 2 .. 3\n", NULL, "{'a': 1, 'b': 2}", "{'b': 3}");
    CHECK("        a 1   b 2   c 3   d 4   e 5   f 6   and 2 more\n",
          "{'a': 1, 'b': 2, 'c': 3, 'd': 4, 'e': 5, 'f': 6, 'g': 7, 'h': 8}");
}

/* A judgement that is made by hand: what the first line says. */
static void check_verdict(struct fake *fake, bool color, const char *expected)
{
    CHECK_TOLD(fake, expected, page.color = color, jr_print_verdict(&page));
}

/* Where the exit status stands does not depend on colours. */
TEST(the_exit_status_stands_at_the_right)
{
    FAKE(fake, 1);
    fake_judge(&fake);
    fake.report.status = JR_RUN_STOPPED;
    fake.report.exit_code = 130;
    fake.outcome.stop_signal = 2;
    check_verdict(
        &fake, false,
        "jobrun: STOPPED by SIGINT after 10.0 s                            exit status 130\n");
    check_verdict(&fake, true,
                  "jobrun: \033[1;33mSTOPPED\033[0m by SIGINT after 10.0 s                         "
                  "   exit status 130\n");
    fake.report.exit_code = 0;
    check_verdict(&fake, false, "jobrun: STOPPED by SIGINT after 10.0 s\n");
}

TEST(says_how_a_job_yielded)
{
    static const struct {
        uint32_t world;
        enum jr_requeue_cause cause;
        const char *told;
        int32_t signal; /* that rank 0 died of */
    } rows[] = {
        {3, JR_REQUEUE_PREEMPTED,
         "2 of 3 ranks were preempted, 1 of them before its checkpoint; to be continued", SIGTERM},
        {1, JR_REQUEUE_PREEMPTED,
         "1 of 1 rank was preempted before its checkpoint; to be continued", SIGTERM},
        {1, JR_REQUEUE_PREEMPTED, "1 of 1 rank was preempted; to be continued", SIGUSR1},
        {3, JR_REQUEUE_DEADLINE, "1 of 3 ranks stopped for the deadline; to be continued", 0},
        {3, JR_REQUEUE_PREEMPTED, "2 of 3 ranks were preempted; to be continued", 0},
        {1, JR_REQUEUE_PREEMPTED, "1 of 1 rank was preempted; to be continued", 0},
        {1, JR_REQUEUE_DEADLINE, "1 of 1 rank stopped for the deadline; to be continued", 0},
        {3, JR_REQUEUE_LOST_NODE, "a node was lost; to be continued", 0}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char line[128];
        FAKE(fake, rows[i].world);
        fake_judge(&fake);
        fake.report.status = JR_RUN_YIELDED;
        fake.report.requeue.cause = rows[i].cause;
        fake.report.ranks[0].state = JR_RANK_YIELDED;
        if (rows[i].signal != 0) {
            fake.outcome.ranks[0].end = JR_END_SIGNALED;
            fake.outcome.ranks[0].signal = rows[i].signal;
        }
        if (rows[i].world > 1)
            fake.report.ranks[1].state = JR_RANK_STOPPED;
        (void)snprintf(line, sizeof line, "jobrun: YIELDED after 10.0 s: %s\n", rows[i].told);
        check_verdict(&fake, false, line);
    }
}

TEST(says_what_was_not_delivered)
{
    FAKE(fake, 3);
    fake_judge(&fake);
    fake.report.status = JR_RUN_INCOMPLETE;
    fake.report.ranks[1].state = fake.report.ranks[2].state = JR_RANK_INCOMPLETE;
    fake.report.ranks[0].result_error = JR_RESULT_MISSING; /* it succeeded */
    fake.report.ranks[1].result_error = JR_RESULT_FIELD;
    fake.report.ranks[2].result_error = JR_RESULT_UNEQUAL;
    check_verdict(&fake, false,
                  "jobrun: INCOMPLETE: every rank exited with 0, but 2 of 3 delivered what "
                  "`results` does not allow\n");
    fake.report.ranks[2].result_error = JR_RESULT_NOT_JSON;
    check_verdict(&fake, false,
                  "jobrun: INCOMPLETE: every rank exited with 0, but 2 of 3 did not deliver\n");
    fake.report.error = "odd";
    check_verdict(&fake, false,
                  "jobrun: INCOMPLETE: every rank exited with 0, but 2 of 3 did not deliver\n");
    fake.report.singletons = true;
    check_verdict(&fake, false, "jobrun: INCOMPLETE: odd\n");
    fake.report.singletons = false;
    fake.report.ranks[1].state = fake.report.ranks[2].state = JR_RANK_SUCCEEDED;
    check_verdict(&fake, false, "jobrun: INCOMPLETE: odd\n");
    fake.report.error = NULL;
    check_verdict(&fake, false,
                  "jobrun: INCOMPLETE: every rank succeeded, but logs are incomplete\n");
}

TEST(says_why_it_did_not_go_on)
{
    FAKE(fake, 1);
    fake_judge(&fake);
    fake.report.status = JR_RUN_FAILED;
    fake.report.stall = (struct jr_stall){.attempts = 2};
    check_verdict(&fake, false, "jobrun: STALLED after 10.0 s: the last 2 attempts made no step\n");
    fake.report.stall = (struct jr_stall){0};
    fake.report.status = JR_RUN_TIMED_OUT;
    fake.report.overrun = "longer than timeouts.run";
    check_verdict(&fake, false, "jobrun: TIMED OUT after 10.0 s: longer than timeouts.run\n");
    const struct jr_attempt before = {.started_ns = FAKE_SECOND / 2};
    struct jr_hang_group group = {0};
    fake.report.earlier = &before;
    fake.report.earlier_count = 1;
    fake.plan.attempt = 1;
    check_verdict(&fake, false,
                  "jobrun: TIMED OUT after 10.5 s: attempt 1 was longer than timeouts.run\n");
    fake.report.status = JR_RUN_HUNG;
    fake.report.hang = &group;
    check_verdict(&fake, false, "jobrun: HUNG after 10.5 s: attempt 1: longer than timeouts.run\n");
    fake.report.hang = NULL;
    fake.report.earlier_count = 0;
    fake.report.status = JR_RUN_LAUNCH_FAILED;
    fake.report.error = "no\033 room";
    check_verdict(&fake, false, "jobrun: FAILED: no\\x1b room\n");
}

TEST(says_what_is_left)
{
    static const struct {
        uint32_t left;
        int32_t pids[3];
        const char *told;
    } rows[] = {{0, {5}, "0 processes left"},
                {1, {5}, "1 process could not be ended: pid 5"},
                {3, {5, 0, 1}, "3 processes could not be ended: pid 5, 1"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        FAKE(fake, 2);
        fake.outcome.left = rows[i].left;
        memcpy(fake.outcome.left_pids, rows[i].pids, sizeof rows[i].pids);
        CHECK_TOLD(&fake, rows[i].told, jr_print_left(&page));
        fake.outcome.left = 0;
        fake.ends[1].end = JR_END_LOST;
        CHECK_TOLD(&fake, "0 processes left, lost nodes aside", jr_print_left(&page));
    }
}

static void check_nodes(const char *json, const char *expected)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    JSON *nodes = json_of(json);
    jr_multinode_print(&out, nodes, "> ");
    JR_ASSERT_TEXT(out.data == NULL ? "" : out.data, expected);
}

#define GOOD "{'status': 'succeeded'}"
#define BAD  "{'status': 'failed'}"
#define BADS BAD ", " BAD ", " BAD ", " BAD ", " BAD
#define TEN                                                                                        \
    "> node 0   failed\n> node 1   failed\n> node 2   failed\n> node 3   failed\n"                 \
    "> node 4   failed\n> node 5   failed\n> node 6   failed\n> node 7   failed\n"                 \
    "> node 8   failed\n> node 9   failed\n"

TEST(tells_of_nodes)
{
    check_nodes("[]", "");
    check_nodes("[" GOOD "]", "> node 0   succeeded\n");
    check_nodes("[" GOOD ", {'status': 'failed', 'host': 'n\\u001b1', 'exit_code': 1, 'cause': "
                "'rank 1 died'}, {'status': 'absent', 'host': 'n2', 'cause': 'x'}, "
                "{'status': 'elsewhere', 'host': 'n3'}, {'status': 'running', 'pid': 7}, "
                "{'status': 'lost', 'pid': 8}, " GOOD "]",
                "> node 1 (n\\x1b1)   failed (exit status 1): rank 1 died\n"
                "> node 2 (n2)   not here: it has not started, or it uses another log_dir\n"
                "> node 3 (n3)   running or lost: run this command on its host, or in its "
                "container\n"
                "> node 4   running: pid 7\n"
                "> node 5   lost: pid 8 is gone and left no results\n"
                "> nodes 0,6   succeeded\n");
    check_nodes("[" BADS ", " BADS "]", TEN);
    check_nodes("[" BADS ", " BADS ", " GOOD ", " BAD "]",
                TEN "> and 1 more nodes\n> node 10   succeeded\n");
}

/* In a table a field is told in full. */
TEST(fields_are_told_in_full)
{
    static const struct {
        const char *a, *b, *told;
    } rows[] = {{"{'f': 0.123456789}", "{'f': 2}", "0.123456789 .. 2"},
                {"{'f': 'x'}", "{'f': 'x'}", "\"x\""},
                {"{'f': 'x'}", "{'f': 'y'}", "differs"},
                {"{'f': 'x'}", "{}", "\"x\""},
                {"{}", "{}", ""}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        FAKE(fake, 2);
        fake_write_rank(&fake, 0, "result.json", jq(rows[i].a));
        fake_write_rank(&fake, 1, "result.json", jq(rows[i].b));
        fake_judge(&fake);
        CHECK_TOLD(&fake, rows[i].told, jr_print_field(page.out, page.report, "f"));
    }
}
