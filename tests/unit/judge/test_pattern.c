#include "fake_run.h"

static struct jr_result_field fields[] = {
    {.name = (char *)"n", .type = JR_JSON_INTEGER},
    {.name = (char *)"x", .type = JR_JSON_NUMBER},
    {.name = (char *)"b", .type = JR_JSON_BOOLEAN},
    {.name = (char *)"list", .type = JR_JSON_ARRAY},
    {.name = (char *)"map", .type = JR_JSON_OBJECT},
};

static void start(struct fake *fake, const char *pattern, const char *log)
{
    fake_start(fake, 1);
    fake->policy.results.stated = true;
    fake->policy.results.from = JR_FROM_STDOUT;
    fake->policy.results.pattern = (char *)pattern;
    fake->policy.results.fields = fields;
    fake->policy.results.fields_count = 5;
    fake_write_rank(fake, 0, "stdout.log", log);
    fake_judge(fake);
}

static void check_json(const json_t *json, const char *expected)
{
    struct jr_buf text = JR_BUF_INIT;
    if (json != NULL)
        jr_json_print(&text, json, 0);
    JR_ASSERT_TEXT(text.data, expected);
    jr_buf_release(&text);
}

static void what_does_not_convert_fails(void)
{
    static const struct {
        const char *pattern, *log;
        enum jr_result_error error;
        const char *reason;
    } cases[] = {
        {"n=(?<n>\\S+)", "n=12x\n", JR_RESULT_FIELD,
         "stdout.log: 'n' is '12x', not an integer"},
        {"n=(?<n>\\S*)", "n=\n", JR_RESULT_FIELD,
         "stdout.log: 'n' is '', not an integer"},
        {"n=(?<n>\\S+)", "n=2.0\n", JR_RESULT_FIELD,
         "stdout.log: 'n' is '2.0', not an integer"},
        {"x=(?<x>\\S+)", "x=nan\n", JR_RESULT_FIELD,
         "stdout.log: 'x' is 'nan', not a number"},
        {"b=(?<b>\\S+)", "b=True\n", JR_RESULT_FIELD,
         "stdout.log: 'b' is 'True', not true or false"},
        {"l=(?<list>.+)", "l=[1,\n", JR_RESULT_FIELD,
         "stdout.log: 'list' is '[1,', not a JSON array"},
        {"l=(?<list>.+)", "l={}\n", JR_RESULT_FIELD,
         "stdout.log: 'list' is {}, not an array"},
        {"n=(?<n>\\d+)", "nothing\n", JR_RESULT_MISSING,
         "nothing in stdout.log matches 'n=(?<n>\\d+)'"},
        {"n=(?<n>\\d+)", "", JR_RESULT_MISSING,
         "nothing in stdout.log matches 'n=(?<n>\\d+)'"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct fake fake;
        start(&fake, cases[c].pattern, cases[c].log);
        CU_ASSERT_EQUAL(fake.report.ranks[0].result_error, cases[c].error);
        JR_ASSERT_TEXT(fake.report.ranks[0].reason, cases[c].reason);
        fake_end(&fake);
    }
}

static void the_last_match_counts(void)
{
    static const struct {
        const char *pattern, *log, *result;
    } cases[] = {
        {"n=(?<n>\\d+)", "n=1\nn=2\nn=30", "{\"n\": 30}"},
        {"n=(?<n>\\d+)", "n=1 n=2 n=3 n=x\n", "{\"n\": 3}"},
        {"n=(?<n>-?\\d+)", "n=-5\n", "{\"n\": -5}"},
        {"x=(?<x>\\S+)", "x=0.91\n", "{\"x\": 0.91}"},
        {"x=(?<x>\\S+)", "x=1e3\n", "{\"x\": 1000.0}"},
        {"x=(?<x>\\S+)", "x=3\n", "{\"x\": 3}"},
        {"b=(?<b>\\S+)", "b=false\n", "{\"b\": false}"},
        {"w=(?<word>\\S+)", "w=007\n", "{\"word\": \"007\"}"},
        {"l=(?<list>.+)", "l=[1, 2]\n", "{\"list\": [1, 2]}"},
        {"l=(?<map>.+)", "l={\"a\": 1}\n", "{\"map\": {\"a\": 1}}"},
        {"^n=(?<n>\\d+)$", "n=1\nn=2\nxn=3\nn=4x\n", "{\"n\": 2}"},
        {"n=(?<n>\\d+)(?: w=(?<w>\\w+))?", "n=1 w=a\nn=2\n", "{\"n\": 2}"},
        {"(?<n>\\d+)\\nend", "7\nend\n8\n", "{\"n\": 7}"},
        {"x*(?<w>)", "abc", "{\"w\": \"\"}"},
        {"w=(?<w>\\S+)", "bad\xff\xfe bytes w=ok\n", "{\"w\": \"ok\"}"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct fake fake;
        start(&fake, cases[c].pattern, cases[c].log);
        CU_ASSERT_PTR_NULL(fake.report.ranks[0].reason);
        check_json(fake.report.ranks[0].result, cases[c].result);
        fake_end(&fake);
    }
}

/* A match is found wherever the borders of the windows fall: the first window
 * ends at 1114368, the second at 2162944. */
static void long_logs_are_searched_in_windows(void)
{
    static const size_t places[] = {0,       1048571, 1048827, 1114356,
                                    1114357, 1114363, 1114367, 1114368,
                                    2162939, 3145716};
    enum { SIZE = 3 << 20 };
    char *log = malloc(SIZE + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    for (size_t p = 0; p < sizeof places / sizeof places[0]; p++) {
        struct fake fake;
        (void)memset(log, '.', SIZE);
        log[SIZE] = '\0';
        if (places[p] > 0)
            log[places[p] - 1] = '\n';
        (void)memcpy(log + places[p], "n=1234567890", 12);
        start(&fake, "^n=(?<n>\\d+)", log);
        check_json(fake.report.ranks[0].result, "{\"n\": 1234567890}");
        fake_end(&fake);
    }
    free(log);
}

/* The end of a window is not the end of a line. */
static void a_window_does_not_end_a_line(void)
{
    enum { SIZE = (2 << 20) + 500000 };
    char *log = malloc(SIZE + 1);
    struct fake fake;
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    (void)memset(log, '7', SIZE);
    log[SIZE] = '\0';
    start(&fake, "^(?<n>\\d{1,9})$", log);
    CU_ASSERT_PTR_NULL(fake.report.ranks[0].result);
    fake_end(&fake);
    free(log);
}

static void a_stream_must_be_captured(void)
{
    struct fake fake;
    start(&fake, "n=(?<n>\\d+)", "n=1\n");
    fake.ranks[0].out_path = NULL;
    fake_judge(&fake);
    JR_ASSERT_TEXT(fake.report.ranks[0].reason,
                   "standard output was not captured");
    fake.policy.results.from = JR_FROM_STDERR;
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.ranks[0].result_error, JR_RESULT_MISSING);
    fake_write_rank(&fake, 0, "stderr.log", "n=4\n");
    fake_judge(&fake);
    check_json(fake.report.ranks[0].result, "{\"n\": 4}");
    fake_end(&fake);
}

static void a_bad_pattern_is_an_error(void)
{
    struct fake fake;
    struct jr_error err = {0};
    struct jr_judgement report;
    fake_start(&fake, 1);
    fake.policy.results.pattern = (char *)"(";
    CU_ASSERT_EQUAL(
        jr_judgement_make(&report, &fake.plan, &fake.outcome, NULL, fake.fd, &err),
        -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "results.pattern"));
    fake_end(&fake);
}

JR_UNIT_MAIN("pattern", CASE(what_does_not_convert_fails),
             CASE(the_last_match_counts),
             CASE(long_logs_are_searched_in_windows),
             CASE(a_window_does_not_end_a_line),
             CASE(a_stream_must_be_captured), CASE(a_bad_pattern_is_an_error))
