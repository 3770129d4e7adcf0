/* What is told of the rank that failed, of those beside it, and of the rest. */
#include <sys/utsname.h>

#include "told.h"

/* Judge, tell of the cause, and hold it to `expected`. */
static void check_cause(struct fake *fake, const char *expected)
{
    fake_judge(fake);
    CU_ASSERT_TRUE_FATAL(fake->report.causes_count > 0);
    CHECK_TOLD(fake, expected, jr_print_cause(&page));
    fake_end(fake);
}

#define WHO(rank)                                                                                  \
    "  rank " #rank "   node 0 (gpu07)   local " #rank "   data " #rank "   pid 100" #rank         \
    "   attempt 0\n"

TEST(a_rank_that_wrote_nothing)
{
    FAKE_ENDS(fake, "0 3");
    check_cause(&fake, WHO(1) "  it wrote nothing to stdout and stderr\n");
    fake_ends(&fake, "0 3");
    fake.ranks[1].out_path = NULL;
    check_cause(&fake, WHO(1));
    fake_ends(&fake, "0 3");
    fake.ranks[1].err_path = NULL;
    check_cause(&fake, WHO(1));
}

/* Standard error comes first, the ten last lines of it; standard output is shown only where that is
 * empty. */
TEST(the_last_lines_are_quoted)
{
    static const struct {
        const char *out, *err, *expected;
    } vectors[] = {{"o\n", "e\n", "  last lines of stderr:\n    | e\n"},
                   {"o\n", "", "  last lines of stdout:\n    | o\n"},
                   {"o", "", "  last lines of stdout:\n    | o\n"},
                   {"", "a\n\nb\n", "  last lines of stderr:\n    | a\n    | \n    | b\n"},
                   {"", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n",
                    "  last lines of stderr:\n    | 3\n    | 4\n    | 5\n    | 6\n"
                    "    | 7\n    | 8\n    | 9\n    | 10\n    | 11\n    | 12\n"},
                   {"", "10%\r20%\r30%\n", "  last lines of stderr:\n    | 30%\n"},
                   {"", "10%\r20%\r\n", "  last lines of stderr:\n    | 20%\n"},
                   {"", "dos\r\n", "  last lines of stderr:\n    | dos\n"},
                   {"", "\033[31mred\a\n", "  last lines of stderr:\n    | \\x1b[31mred\\x07\n"}};
    for (size_t v = 0; v < COUNT_OF(vectors); v++) {
        char expected[512];
        FAKE_ENDS(fake, "1 0");
        fake_write_rank(&fake, 0, "stdout.log", vectors[v].out);
        fake_write_rank(&fake, 0, "stderr.log", vectors[v].err);
        (void)snprintf(expected, sizeof expected, "%s%s", WHO(0), vectors[v].expected);
        check_cause(&fake, expected);
    }
}

TEST(long_lines_are_cut)
{
    static const struct {
        int len;
        const char *end;
    } vectors[] = {{199, "x\n"}, {200, "x\n"}, {201, "x...\n"}};
    for (size_t v = 0; v < 3; v++) {
        char line[256] = "", expected[512];
        FAKE_ENDS(fake, "1 0");
        memset(line, 'x', (size_t)vectors[v].len);
        fake_write_rank(&fake, 0, "stderr.log", line);
        int shown = vectors[v].len < 200 ? vectors[v].len : 200;
        (void)snprintf(expected, sizeof expected, "%s  last lines of stderr:\n    | %.*s%s", WHO(0),
                       shown - 1, line, vectors[v].end);
        check_cause(&fake, expected);
    }
}

#define RAISED(text) "{\"message\": {\"message\": \"" text "\"}}"

TEST(exceptions_stand_above_the_log)
{
    FAKE_ENDS(fake, "0 1");
    fake_write_rank(&fake, 1, "error.json", RAISED("ValueError: x\\u001b"));
    fake_write_rank(&fake, 1, "stderr.log", "Traceback\n");
    check_cause(&fake, WHO(1) "  ValueError: x\\x1b\n  last lines of stderr:\n    | Traceback\n");
}

TEST(a_torn_error_file_is_warned_of)
{
    FAKE_ENDS(fake, "0 1");
    fake_write_rank(&fake, 1, "error.json", jq("{'message': "));
    check_cause(&fake, WHO(1) "  warning: attempt_0/1/error.json is incomplete, or not in the form "
                              "that torch and jobrun write; it was ignored\n"
                              "  it wrote nothing to stdout and stderr\n");
}

/* The place begins in a column of its own, where the text leaves room. */
TEST(places_stand_in_a_column)
{
    static const struct {
        int len, blanks;
    } vectors[] = {{10, 52}, {59, 3}, {60, 2}, {61, 2}, {80, 2}};
    for (size_t v = 0; v < COUNT_OF(vectors); v++) {
        char text[128] = "", expected[512];
        memset(text, 'E', (size_t)vectors[v].len);
        FAKE_ENDS(fake, "1");
        fake_judge(&fake);
        struct jr_rank_judgement *rank = &fake.report.ranks[0];
        rank->error = text;
        rank->error_file = rank->log_secret = true;
        rank->where = "a.py:8 in f";
        rank->behind = "KeyError: 'lr'";
        (void)snprintf(expected, sizeof expected,
                       "  rank 0   node 0 (gpu07)   local 0   pid 1000   attempt 0\n  %s%*sa.py:8 "
                       "in f\n    from KeyError: 'lr'\n  the last lines of its logs contain the "
                       "value of a secret, and are not shown\n",
                       text, vectors[v].blanks, "");
        CHECK_TOLD(&fake, expected, jr_print_rank(&page, 0));
    }
}

/* A rank without a process: its node's helper and setup have said why. */
TEST(what_failed_before_a_rank_is_quoted)
{
    static const char *const files[] = {"attempt_0/helper.log", "node_0/attempt_0/helper.log",
                                        "attempt_0/setup.log", "node_0/attempt_0/setup.log"};
    for (size_t v = 0; v < COUNT_OF(files); v++) {
        char expected[512];
        FAKE(fake, 1);
        (void)mkdirat(fake.fd, "node_0", 0700);
        (void)mkdirat(fake.fd, "node_0/attempt_0", 0700);
        fake_write(&fake, "attempt_0/setup.log", "");
        fake_write(&fake, files[v], "no module\n");
        fake_judge(&fake);
        fake.ends[0].pid = 0;
        (void)snprintf(expected, sizeof expected,
                       "  rank 0   node 0 (gpu07)   local 0   attempt 0\n"
                       "  last lines of %s:\n    | no module\n",
                       strrchr(files[v], '/') + 1);
        CHECK_TOLD(&fake, expected, jr_print_rank(&page, 0));
    }
}

TEST(those_that_failed_together_are_named)
{
    FAKE(fake, 4);
    for (uint32_t i = 0; i < 3; i++) {
        fake_exit(&fake, i, 1);
        fake.ends[i].ended_ns = 5 * FAKE_SECOND;
    }
    check_cause(&fake, WHO(0) "  it wrote nothing to stdout and stderr\n  together:   ranks 1-2 "
                              "failed with it, too close to tell which was first\n");
}

/* The first of all is not always the cause. */
TEST(one_before_the_cause_may_be_together_with_it)
{
    FAKE_ENDS(fake, "1 1 0");
    fake.ends[0].ended_ns = fake.ends[1].ended_ns + 1;
    check_cause(&fake, WHO(1) "  it wrote nothing to stdout and stderr\n  together:   rank 0 "
                              "failed with it, too close to tell which was first\n");
}

/* A node without a name in the plan is this one. */
TEST(the_host_is_this_one)
{
    struct utsname here = {0};
    char expected[512];
    (void)uname(&here);
    FAKE_ENDS(fake, "3");
    fake.hosts[0] = NULL;
    fake.ends[0].pid = 1000;
    (void)snprintf(expected, sizeof expected,
                   "  rank 0   node 0 (%s)   local 0   pid 1000   attempt 0\n"
                   "  it wrote nothing to stdout and stderr\n",
                   here.nodename);
    check_cause(&fake, expected);
}

/* A set is cut behind a comma. */
TEST(long_sets_are_cut)
{
    FAKE(fake, 8);
    for (uint32_t i = 0; i < 8; i++) {
        fake.ranks[i].rank = 1000000000 + 2 * i;
        fake_exit(&fake, i, 1);
        fake.ends[i].ended_ns = 5 * FAKE_SECOND;
    }
    check_cause(&fake, "  rank 1000000000   node 0 (gpu07)   local 0   data 0   pid 1000   attempt "
                       "0\n  it wrote nothing to stdout and stderr\n  together:   ranks "
                       "1000000002,1000000004,1000000006,1000000008,... (7 ranks) failed with it, "
                       "too close to tell which was first\n");
}

/* Up to four of those that lost a peer are told one by one. */
TEST(those_that_lost_a_peer_are_told_apart)
{
    static const char head[] =
        WHO(0) "  it wrote nothing to stdout and stderr\n"
               "  together with it (too close to order, and of a kind that a dead peer causes):\n";
    static const char *const lines[] = {
        "    rank 1   died by SIGPIPE\n", "    rank 2   died by SIGPIPE\n",
        "    rank 3   died by SIGPIPE\n", "    rank 4   died by SIGPIPE\n"};
    static const char *const rest[] = {"", "    and so did rank 5\n", "    and so did ranks 5-6\n"};
    for (uint32_t count = 1; count <= 6; count++) {
        JR_BUF_CLEANUP struct jr_buf expected = JR_BUF_INIT;
        FAKE_ENDS(fake, "3 0 0 0 0 0 0 0");
        fake.ends[0].ended_ns = 5 * FAKE_SECOND;
        for (uint32_t i = 1; i <= count; i++) {
            fake_signal(&fake, i, 13);
            fake.ends[i].lost_peer = true;
            fake.ends[i].words = i; /* or the other would be the odd one */
            fake.ends[i].ended_ns = 5 * FAKE_SECOND;
        }
        jr_buf_str(&expected, head);
        for (uint32_t i = 0; i < count && i < 4; i++)
            jr_buf_str(&expected, lines[i]);
        jr_buf_str(&expected, rest[count < 4 ? 0 : count - 4]);
        check_cause(&fake, expected.data);
    }
}

#define LATER "  after it:   rank 1 failed after the first failure: "

/* Of one that could not start after the first failure, why. */
TEST(one_that_could_not_start_later_says_why)
{
    FAKE_ENDS(fake, "3 0");
    fake_judge(&fake);
    fake.ends[1].end = JR_END_START;
    fake.report.ranks[1].state = JR_RANK_AFTER_FIRST_FAILURE;
    fake.report.ranks[1].error = "could not execute './train'";
    CHECK_TOLD(&fake, LATER "could not execute './train'\n", jr_print_others(&page, "after it:"));
    fake.ends[1].end = JR_END_EXITED;
    fake.ends[1].exit_code = 4;
    CHECK_TOLD(&fake, LATER "exited with code 4\n", jr_print_others(&page, "after it:"));
}

/* Judge, and hold what is told of the other ranks to `expected`. */
static void check_others(struct fake *fake, const char *label, const char *expected)
{
    fake_judge(fake);
    CHECK_TOLD(fake, expected, jr_print_others(&page, label));
    fake_end(fake);
}

TEST(others_by_how_they_ended)
{
    FAKE_ENDS(fake, "3");
    check_others(&fake, "others:", "");
    fake_ends(&fake, "3 T T 9 - 0");
    check_others(&fake, "others:",
                 "  others:     ranks 1-2 stopped by jobrun (SIGTERM)\n              rank 3 failed "
                 "after the first failure: exited with code 9\n              rank 4 not started\n  "
                 "            rank 5 succeeded\n");
}

/* The others are told of without those that had ended by then. */
TEST(who_had_ended_by_then)
{
    FAKE_ENDS(fake, "3 0 0 0 0 0");
    fake.policy.results.stated = true;
    fake.ends[0].ended_ns = 10 * FAKE_SECOND;
    fake.ends[4].ended_ns = fake.ends[5].ended_ns = 20 * FAKE_SECOND;
    fake_write_rank(&fake, 1, "result.json", "{}");
    fake_write_rank(&fake, 4, "result.json", "{}");
    fake_judge(&fake);
    CHECK_TOLD(&fake,
               "  by then:    ranks 2-3 had ended with 0 without delivering: rank 2: result.json "
               "was not written\n              rank 1 had ended with 0\n",
               jr_print_early(&page));
    CHECK_TOLD(&fake,
               "  after it:   rank 5 ended with 0 but did not deliver: result.json was not "
               "written\n              rank 4 succeeded\n",
               jr_print_others(&page, "after it:"));
}

/* One that left is told with what it lacks, and those that lost it after it. */
TEST(who_left_is_told_with_what_it_lacks)
{
    FAKE_ENDS(fake, "0 1");
    fake.policy.results.stated = true;
    fake.ends[1].lost_peer = true;
    fake_write_rank(&fake, 0, "stdout.log", "bye\n");
    fake_judge(&fake);
    CHECK_TOLD(&fake,
               WHO(0) "  result.json was not written\n  last lines of stdout:\n    | bye\n" LATER
                      "exited with code 1\n",
               jr_print_cause(&page), jr_print_early(&page), jr_print_others(&page, "after it:"));
    CHECK_TOLD(&fake, "rank 0 ended with 0 but did not deliver", jr_print_end(&page));
    CHECK_TOLD(&fake,
               "  try:        rank 0 left while the others went on, which breaks their "
               "connections: have all ranks make the same number of steps, or wait for each other "
               "before they end\n",
               jr_print_next_step(&page, 0));
}

TEST(several_that_failed_later_are_told_by_the_first)
{
    FAKE_ENDS(fake, "3 9 0 7");
    check_others(&fake, NULL,
                 "  ranks 1,3 failed after the first failure: rank 1 exited with code 9\n"
                 "  rank 2 succeeded\n");
}

TEST(how_ranks_were_stopped)
{
    FAKE_ENDS(fake, "3 T T");
    fake_signal(&fake, 2, 9);
    fake.ends[2].killed = true;
    check_others(&fake, NULL, "  ranks 1-2 stopped by jobrun (SIGTERM; rank 2 needed SIGKILL)\n");
    fake_ends(&fake, "3 T T");
    fake_signal(&fake, 2, 11);
    check_others(&fake, NULL,
                 "  rank 1 stopped by jobrun (SIGTERM)\n"
                 "  rank 2 failed after the first failure: died by SIGSEGV\n");
}

TEST(ranks_that_did_not_deliver)
{
    FAKE(fake, 3);
    fake.policy.results.stated = true;
    fake_write_rank(&fake, 1, "result.json", "{}");
    check_others(&fake, "ranks:",
                 "  ranks:      ranks 0,2 ended with 0 but did not deliver: rank 0: result.json "
                 "was not written\n              rank 1 succeeded\n");
    fake_start(&fake, 2);
    fake.policy.results.stated = true;
    fake_write_rank(&fake, 1, "result.json", "{}");
    check_others(&fake, "ranks:",
                 "  ranks:      rank 0 ended with 0 but did not deliver: result.json was not "
                 "written\n              rank 1 succeeded\n");
}

TEST(the_log_that_is_worth_a_look)
{
    static const struct {
        const char *out, *err, *expected;
    } vectors[] = {{"", "", NULL},
                   {"x", "", "attempt_0/0/stdout.log"},
                   {"x", "x", "attempt_0/0/stderr.log"},
                   {"", "x", "attempt_0/0/stderr.log"}};
    for (size_t v = 0; v < COUNT_OF(vectors); v++) {
        struct jr_buf out = JR_BUF_INIT;
        FAKE(fake, 1);
        fake_write_rank(&fake, 0, "stdout.log", vectors[v].out);
        fake_write_rank(&fake, 0, "stderr.log", vectors[v].err);
        struct jr_page page = page_of(&fake, &out);
        const char *log = jr_print_log(&page, &fake.ranks[0]);
        JR_ASSERT_TEXT(log == NULL ? "(none)" : log,
                       vectors[v].expected == NULL ? "(none)" : vectors[v].expected);
    }
}
