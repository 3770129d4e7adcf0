#include "fake_run.h"
#include "quoted.h"

#include "judge/artifacts.h"

static void expect(const struct fake *fake, uint32_t i, enum jr_result_error error,
                   const char *reason)
{
    const struct jr_rank_judgement *rank = &fake->report.ranks[i];
    CU_ASSERT_EQUAL(rank->result_error, error);
    if (reason == NULL) {
        CU_ASSERT_PTR_NULL(rank->reason);
        return;
    }
    JR_ASSERT_TEXT(rank->reason, reason);
}

TEST(undelivered_by_reason)
{
    static const struct {
        const char *text; /* NULL: no file */
        enum jr_result_error error;
        const char *reason;
    } cases[] = {
        {NULL, JR_RESULT_MISSING, "result.json was not written"},
        {"", JR_RESULT_EMPTY, "result.json is empty"},
        {"{\"a\": ", JR_RESULT_NOT_JSON,
         "result.json is not JSON: line 1, column 6: string or '}' expected near end of file"},
        {"{\"a\": NaN}", JR_RESULT_NOT_JSON, NULL},
        {"{\"a\": 1, \"a\": 2}", JR_RESULT_NOT_JSON, NULL},
        {"[1, 2", JR_RESULT_NOT_JSON, NULL},
        {"{} {}", JR_RESULT_NOT_JSON, NULL},
        {"{\"a\": 9223372036854775808}", JR_RESULT_NOT_JSON,
         "result.json: line 1, column 25: a number beyond 64 bits; write it as a string"},
        {"{\"a\": 1e999}", JR_RESULT_NOT_JSON,
         "result.json: line 1, column 11: a number beyond 64 bits; write it as a string"}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        FAKE(fake, 1);
        fake.policy.results.stated = true;
        if (cases[c].text != NULL)
            fake_write_rank(&fake, 0, "result.json", cases[c].text);
        fake_judge(&fake);
        CU_ASSERT_EQUAL(fake.report.ranks[0].result_error, cases[c].error);
        CU_ASSERT_EQUAL(fake.report.ranks[0].unwritten, cases[c].text == NULL);
        CU_ASSERT_EQUAL(fake.report.ranks[0].state, JR_RANK_INCOMPLETE);
        CU_ASSERT_EQUAL(fake.report.exit_code, 5);
        CU_ASSERT_PTR_NULL(fake.report.ranks[0].result);
        CU_ASSERT_PTR_NOT_NULL(fake.report.ranks[0].reason);
        if (cases[c].reason != NULL && c != 2)
            expect(&fake, 0, cases[c].error, cases[c].reason);
    }
}

/* A file that the spec names is not the one that JOBRUN_RESULT_FILE does, and a function writes
 * none. */
TEST(is_unwritten_where_the_rank_should_write)
{
    for (int c = 0; c < 2; c++) {
        FAKE(fake, 1);
        fake.policy.results.stated = true;
        if (c == 0)
            fake.policy.results.file = (char *)"out.json";
        fake.plan.returns = c == 1;
        fake_judge(&fake);
        CU_ASSERT_EQUAL(fake.report.ranks[0].result_error, JR_RESULT_MISSING);
        CU_ASSERT_FALSE(fake.report.ranks[0].unwritten);
    }
}

TEST(anything_json_is_a_result)
{
    static const char *const texts[] = {"{}", "[]", "3", "null", "\"done\"\n"};
    for (size_t c = 0; c < 5; c++) {
        FAKE(fake, 1);
        fake.policy.results.stated = true;
        fake_write_rank(&fake, 0, "result.json", texts[c]);
        fake_judge(&fake);
        expect(&fake, 0, JR_RESULT_NONE, NULL);
        CU_ASSERT_PTR_NOT_NULL(fake.report.ranks[0].result);
        CU_ASSERT_EQUAL(fake.report.status, JR_RUN_SUCCEEDED);
    }
}

TEST(links_fifos_and_folders_are_no_results)
{
    FAKE(fake, 4);
    fake.policy.results.stated = true;
    fake_write(&fake, "elsewhere.json", "{}");
    (void)symlinkat("../../elsewhere.json", fake.fd, "attempt_0/0/result.json");
    (void)mkfifoat(fake.fd, "attempt_0/1/result.json", 0600);
    (void)mkdirat(fake.fd, "attempt_0/2/result.json", 0700);
    (void)unlinkat(fake.fd, "attempt_0/3", AT_REMOVEDIR);
    (void)mkdirat(fake.fd, "real", 0700);
    fake_write(&fake, "real/result.json", "{}");
    (void)symlinkat("../real", fake.fd, "attempt_0/3");
    fake_judge(&fake);
    expect(&fake, 0, JR_RESULT_MISSING, "result.json is a symbolic link, which is not followed");
    expect(&fake, 1, JR_RESULT_MISSING, "result.json: not a regular file");
    for (uint32_t i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(fake.report.ranks[i].result_error, JR_RESULT_MISSING);
        CU_ASSERT_PTR_NULL(fake.report.ranks[i].result);
    }
}

TEST(only_the_required_must_deliver)
{
    static const struct {
        const char *required;
        const char *states; /* I(ncomplete), S(ucceeded) */
    } cases[] = {{"all", "SIII"}, {"0,3", "SSII"}, {"none", "SSIS"}};
    for (size_t c = 0; c < 3; c++) {
        FAKE(fake, 4);
        fake.policy.results.stated = true;
        fake.policy.results.required = (char *)cases[c].required;
        fake_write_rank(&fake, 0, "result.json", "{}");
        fake_write_rank(&fake, 1, "result.json", "");
        fake_write_rank(&fake, 2, "result.json", "what is there must be JSON");
        fake_judge(&fake);
        for (uint32_t i = 0; i < 4; i++)
            CU_ASSERT_EQUAL(fake.report.ranks[i].state,
                            cases[c].states[i] == 'I' ? JR_RANK_INCOMPLETE : JR_RANK_SUCCEEDED);
    }
}

TEST(unasked_results_are_taken_along)
{
    FAKE(fake, 3);
    fake_write_rank(&fake, 0, "result.json", jq("{'a': 1}"));
    fake_write_rank(&fake, 1, "result.json", "not JSON");
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.status, JR_RUN_SUCCEEDED);
    CU_ASSERT_PTR_NOT_NULL(fake.report.ranks[0].result);
    CU_ASSERT_PTR_NULL(fake.report.ranks[1].result);
    expect(&fake, 1, JR_RESULT_NONE, NULL);
}

TEST(a_result_of_a_failed_rank_is_not_asked_for)
{
    FAKE(fake, 3);
    fake.policy.results.stated = true;
    fake_exit(&fake, 0, 1);
    fake_stopped(&fake, 1);
    fake_judge(&fake);
    expect(&fake, 0, JR_RESULT_NONE, NULL);
    expect(&fake, 1, JR_RESULT_NONE, NULL);
    expect(&fake, 2, JR_RESULT_MISSING, "result.json was not written");
    CU_ASSERT_EQUAL(fake.report.exit_code, 1);
}

TEST(large_results_arrive_whole)
{
    enum { SIZE = 8 << 20 };
    FAKE(fake, 1);
    fake.policy.results.stated = true;
    char *text = malloc(SIZE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    (void)memset(text, 'x', SIZE);
    text[0] = text[SIZE - 2] = '"';
    text[SIZE - 1] = '\0';
    fake_write_rank(&fake, 0, "result.json", text);
    fake_judge(&fake);
    CU_ASSERT_EQUAL(json_string_length(fake.report.ranks[0].result), SIZE - 3);
    free(text);
}

TEST(yesterdays_result_is_stale)
{
    struct jr_error err;
    FAKE(fake, 2);
    fake.policy.results.stated = true;
    for (uint32_t i = 0; i < 2; i++) {
        fake.ranks[i].result_path = jr_arena_printf(&fake.arena, "%s/out%u.json", fake.dir, i);
        fake_write_bytes(fake.ranks[i].result_path, "{}", 2);
    }
    CU_ASSERT_EQUAL_FATAL(jr_artifacts_before(&fake.before, &fake.plan, fake.fd, &err), 0);
    fake_write_bytes(fake.ranks[1].result_path, "{\"a\": 1}", 8);
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.ranks[0].result_error, JR_RESULT_STALE);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(fake.report.ranks[0].reason, "out0.json is the one from before the start"));
    expect(&fake, 1, JR_RESULT_NONE, NULL);
}
