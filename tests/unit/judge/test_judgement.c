#include "judge/judgement.h"
#include "judge/restart.h"

#include <signal.h>

#include "fake_run.h"
#include "quoted.h"
#include "store/outcome.h"

/* Without earlier attempts there is one only, and the outcome is its own. */
TEST(the_run_began_with_its_first_attempt)
{
    static const struct jr_attempt attempts[] = {{.started_ns = 7, .started_wall_ns = 77},
                                                 {.started_ns = 8, .started_wall_ns = 88}};
    struct jr_outcome outcome = {.started_ns = 9, .started_wall_ns = 99};
    struct jr_judgement report = {0};
    CU_ASSERT_EQUAL(jr_judgement_began_ns(&report, &outcome), 9);
    CU_ASSERT_EQUAL(jr_judgement_began_wall_ns(&report, &outcome), 99);
    report.earlier = attempts;
    report.earlier_count = 2;
    CU_ASSERT_EQUAL(jr_judgement_began_ns(&report, &outcome), 7);
    CU_ASSERT_EQUAL(jr_judgement_began_wall_ns(&report, &outcome), 77);
}

/* Who represents a state is the first in it. */
TEST(the_first_rank_in_a_state_is_found)
{
    struct jr_rank_judgement ranks[] = {{.state = JR_RANK_SUCCEEDED},
                                        {.state = JR_RANK_STOPPED},
                                        {.state = JR_RANK_FAILED},
                                        {.state = JR_RANK_STOPPED}};
    struct jr_judgement report = {.ranks = ranks, .count = 4};
    CU_ASSERT_EQUAL(jr_judgement_first(&report, JR_RANK_SUCCEEDED), 0);
    CU_ASSERT_EQUAL(jr_judgement_first(&report, JR_RANK_STOPPED), 1);
    CU_ASSERT_EQUAL(jr_judgement_first(&report, JR_RANK_FAILED), 2);
    CU_ASSERT_EQUAL(jr_judgement_first(&report, JR_RANK_NOT_STARTED), 4);
}

/* What is told of a run whose ranks said or delivered the value of a secret. */

static char *const secrets[] = {(char *)"hunter22", (char *)"s3cr3t", NULL};

/* The result that is told in the place of one that was delivered. */
static void check_result(const char *delivered, const char *expected)
{
    struct jr_judgement told = {0};
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    FAKE(fake, 1);
    fake_write_rank(&fake, 0, "result.json", delivered);
    fake_judge(&fake);
    CU_ASSERT_EQUAL_FATAL(jr_judgement_redact(&told, &fake.report, secrets), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(told.ranks[0].result);
    jr_json_print(&text, told.ranks[0].result, 0);
    JR_ASSERT_TEXT(text.data, expected);
    jr_buf_clear(&text);
    jr_json_print(&text, fake.report.ranks[0].result, 0);
    JR_ASSERT_TEXT(text.data, delivered);
    jr_judgement_release(&told);
}

TEST(results_are_told_without_secrets)
{
    static const char *const vectors[][2] = {
        {"{\"a\": 1}", "{\"a\": 1}"},
        {"{\"a\": \"hunter2\"}", "{\"a\": \"hunter2\"}"},
        {"{\"a\": \"hunter22\"}", "{\"a\": \"<redacted>\"}"},
        {"{\"a\": \"xhunter22ys3cr3tz\"}", "{\"a\": \"x<redacted>y<redacted>z\"}"},
        {"{\"a\": [\"s3cr3t\", [\"s3cr3t\"]]}", "{\"a\": [\"<redacted>\", [\"<redacted>\"]]}"},
        {"{\"a\": {\"b\": {\"c\": \"s3cr3t\"}}}", "{\"a\": {\"b\": {\"c\": \"<redacted>\"}}}"},
        {"{\"s3cr3t\": true}", "{\"<redacted>\": true}"},
        {"{\"a s3cr3t\": null, \"b\": 0.5}", "{\"a <redacted>\": null, \"b\": 0.5}"}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++)
        check_result(vectors[i][0], vectors[i][1]);
}

/* U+0000 ends a text of C, and hides what follows from who looks for it. */
TEST(a_zero_hides_no_secret)
{
    static const char *const vectors[][2] = {
        {"{\"a\": \"x\\u0000s3cr3t\"}", "{\"a\": \"x\\u0000<redacted>\"}"},
        {"{\"a\": \"\\u0000s3cr3t\"}", "{\"a\": \"\\u0000<redacted>\"}"},
        {"{\"a\": \"s3cr3t\\u0000\\u0000hunter22\\u0000\"}",
         "{\"a\": \"<redacted>\\u0000\\u0000<redacted>\\u0000\"}"},
        {"{\"a\": \"x\\u0000y\"}", "{\"a\": \"x\\u0000y\"}"},
        {"{\"a\": \"\"}", "{\"a\": \"\"}"}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++)
        check_result(vectors[i][0], vectors[i][1]);
}

TEST(what_ranks_said_is_told_without_secrets)
{
    struct jr_judgement told = {0};
    struct jr_attempt earlier = {
        .number = 0, .exit_code = 3, .cause = "rank 0 exited: s3cr3t", .how = "exited: s3cr3t"};
    FAKE(fake, 2);
    fake_judge(&fake);
    fake.report.ranks[0].error = "E: hunter22";
    fake.report.ranks[0].where = "s3cr3t.py:8 in f";
    fake.report.ranks[0].behind = "KeyError: 's3cr3t'";
    fake.report.ranks[1].reason = "result.json: 'a' is \"s3cr3t\"";
    fake.report.error = "cannot s3cr3t";
    fake.report.not_again = "never: s3cr3t";
    fake.report.earlier = &earlier;
    fake.report.earlier_count = 1;
    CU_ASSERT_EQUAL_FATAL(jr_judgement_redact(&told, &fake.report, secrets), 0);
    JR_ASSERT_TEXT(told.ranks[0].error, "E: <redacted>");
    JR_ASSERT_TEXT(told.ranks[0].where, "<redacted>.py:8 in f");
    JR_ASSERT_TEXT(told.ranks[0].behind, "KeyError: '<redacted>'");
    JR_ASSERT_TEXT(told.ranks[1].reason, "result.json: 'a' is \"<redacted>\"");
    CU_ASSERT_PTR_NULL(told.ranks[1].error);
    JR_ASSERT_TEXT(told.error, "cannot <redacted>");
    JR_ASSERT_TEXT(told.not_again, "never: <redacted>");
    CU_ASSERT_EQUAL_FATAL(told.earlier_count, 1);
    JR_ASSERT_TEXT(told.earlier[0].cause, "rank 0 exited: <redacted>");
    CU_ASSERT_EQUAL(told.earlier[0].exit_code, 3);
    JR_ASSERT_TEXT(fake.report.ranks[0].error, "E: hunter22");
    JR_ASSERT_TEXT(earlier.cause, "rank 0 exited: s3cr3t");
    jr_judgement_release(&told);
}

TEST(nothing_is_hidden_where_there_are_no_secrets)
{
    struct jr_judgement told = {0};
    FAKE(fake, 1);
    fake_judge(&fake);
    fake.report.ranks[0].error = "E: hunter22";
    CU_ASSERT_EQUAL_FATAL(jr_judgement_redact(&told, &fake.report, NULL), 0);
    JR_ASSERT_TEXT(told.ranks[0].error, "E: hunter22");
    CU_ASSERT_PTR_NULL(told.error);
    CU_ASSERT_PTR_NULL(told.not_again);
    jr_judgement_release(&told);
}

static void check_file(const struct fake *fake, const char *name, const char *expected)
{
    char text[512] = "";
    int fd = openat(fake->fd, name, O_RDONLY);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    ssize_t got = read(fd, text, sizeof text - 1);
    text[got < 0 ? 0 : got] = '\0';
    (void)close(fd);
    JR_ASSERT_TEXT(text, expected);
}

TEST(error_files_are_rewritten)
{
    FAKE_ENDS(fake, "1 1");
    fake_write_rank(&fake, 0, "error.json", jq("{'message': 'E: long text with hunter22 in it'}"));
    fake_write_rank(&fake, 1, "error.json", jq("{'message': 'E: fine'}"));
    fake.plan.hidden = (char **)secrets;
    fake_judge(&fake);
    jr_judgement_hide_files(&fake.report, &fake.plan, fake.fd);
    check_file(&fake, "attempt_0/0/error.json",
               "{\"message\": \"E: long text with <redacted> in it\"}");
    check_file(&fake, "attempt_0/1/error.json", "{\"message\": \"E: fine\"}");
}

/* Where nothing failed, no log is looked at. */
TEST(a_good_run_has_no_file_to_rewrite)
{
    FAKE(fake, 1);
    fake_write_rank(&fake, 0, "stderr.log", "hunter22\n");
    fake.plan.hidden = (char **)secrets;
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.causes_count, 0);
    jr_judgement_hide_files(&fake.report, &fake.plan, fake.fd);
    CU_ASSERT_FALSE(fake.report.ranks[0].log_secret);
    check_file(&fake, "attempt_0/0/stderr.log", "hunter22\n");
}

/* Another name of the file is somebody else's. */
TEST(a_file_with_two_names_is_left_alone)
{
    FAKE_ENDS(fake, "1");
    fake_write(&fake, "other", jq("{'message': 'E: hunter22'}"));
    CU_ASSERT_EQUAL(linkat(fake.fd, "other", fake.fd, "attempt_0/0/error.json", 0), 0);
    fake.plan.hidden = (char **)secrets;
    fake_judge(&fake);
    jr_judgement_hide_files(&fake.report, &fake.plan, fake.fd);
    check_file(&fake, "other", "{\"message\": \"E: hunter22\"}");
}

/* Whether the lines that the summary quotes hold a secret: of the cause's two logs, the last ten
 * lines. */
TEST(logs_with_a_secret_are_noted)
{
    static const struct {
        const char *out, *err, *other;
        bool noted;
    } vectors[] = {{"fine\n", "fine\n", "fine\n", false},
                   {"fine\n", "a hunter22\n", "fine\n", true},
                   {"a hunter22 b\n", "fine\n", "fine\n", true},
                   {"fine\n", "fine\n", "hunter22\n", false},
                   {"", "hunter22\n1\n2\n3\n4\n5\n6\n7\n8\n9\n", "", true},
                   {"", "hunter22\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "", false}};
    for (size_t v = 0; v < COUNT_OF(vectors); v++) {
        FAKE_ENDS(fake, "0 1");
        fake_write_rank(&fake, 1, "stdout.log", vectors[v].out);
        fake_write_rank(&fake, 1, "stderr.log", vectors[v].err);
        fake_write_rank(&fake, 0, "stderr.log", vectors[v].other);
        fake.plan.hidden = (char **)secrets;
        fake_judge(&fake);
        jr_judgement_hide_files(&fake.report, &fake.plan, fake.fd);
        CU_ASSERT_EQUAL(fake.report.ranks[1].log_secret, vectors[v].noted);
        CU_ASSERT_FALSE(fake.report.ranks[0].log_secret);
    }
}

/* And those of the first rank that differs from the others in a hang. */
TEST(logs_of_an_odd_rank_are_noted)
{
    uint32_t odd[] = {1};
    FAKE(fake, 3);
    for (uint32_t i = 0; i < 3; i++)
        fake_write_rank(&fake, i, "stderr.log", "hunter22\n");
    fake.plan.hidden = (char **)secrets;
    fake_judge(&fake);
    fake.report.odd = odd;
    fake.report.odd_count = 1;
    jr_judgement_hide_files(&fake.report, &fake.plan, fake.fd);
    for (uint32_t i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(fake.report.ranks[i].log_secret, i == 1);
}

/* What has stalled is over, whatever it could have been continued for. */
TEST(a_stall_is_not_continued)
{
    const struct jr_stall stall = {.attempts = 2, .stepped = true, .step = 7};
    struct jr_judgement report = {.status = JR_RUN_YIELDED,
                                  .exit_code = JR_STATUS_YIELDED,
                                  .requeue = {.cause = JR_REQUEUE_DEADLINE, .done = 2, .max = 20}};
    jr_judgement_stall(&report, &stall);
    CU_ASSERT_EQUAL(report.status, JR_RUN_FAILED);
    CU_ASSERT_EQUAL(report.exit_code, JR_STATUS_TIMEOUT);
    CU_ASSERT_EQUAL(report.stall.attempts, 2);
    CU_ASSERT_EQUAL(report.requeue.cause, JR_REQUEUE_NONE);
    CU_ASSERT_EQUAL(report.requeue.done, 2);
    report.status = JR_RUN_TIMED_OUT;
    jr_judgement_stall(&report, &stall);
    CU_ASSERT_EQUAL(report.status, JR_RUN_TIMED_OUT);
}

/* Whether the run is over, or can go on where it was, and for which reason. */
TEST(what_may_go_on_is_told_from_what_failed)
{
    static const struct {
        int warned_with, code;
        bool preempted;
        enum jr_end end;
        enum jr_run_status status;
        int exit_code;
        enum jr_requeue_cause cause;
    } rows[] = {{0, 0, false, JR_END_EXITED, JR_RUN_SUCCEEDED, 0, JR_REQUEUE_NONE},
                {0, 3, true, JR_END_EXITED, JR_RUN_FAILED, JR_STATUS_FAILED, JR_REQUEUE_NONE},
                {SIGUSR1, JR_YIELD_CODE, false, JR_END_EXITED, JR_RUN_YIELDED, JR_STATUS_YIELDED,
                 JR_REQUEUE_DEADLINE},
                {0, JR_YIELD_CODE, true, JR_END_EXITED, JR_RUN_YIELDED, JR_STATUS_YIELDED,
                 JR_REQUEUE_PREEMPTED},
                {0, 0, false, JR_END_LOST, JR_RUN_FAILED, JR_STATUS_FAILED, JR_REQUEUE_LOST_NODE}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        FAKE(fake, 2);
        fake.outcome.preempted = rows[i].preempted;
        fake.ends[1].warned_with = rows[i].warned_with;
        fake_exit(&fake, 1, rows[i].code);
        fake.ends[1].end = rows[i].end;
        fake_judge(&fake);
        CU_ASSERT_EQUAL(fake.report.status, rows[i].status);
        CU_ASSERT_EQUAL(fake.report.exit_code, rows[i].exit_code);
        CU_ASSERT_EQUAL(fake.report.requeue.cause, rows[i].cause);
    }
}
