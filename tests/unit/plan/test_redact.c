/* Secrets that the plan holds, and does not tell. */
#include "sample.h"
#include "plan/plan_print.h"

static char secret[] = "a\"b\\c\xc3\xa9", other[] = "hunter2", brief[] = "5";
static char *hidden[] = {secret, other, brief, NULL};

static void check(const struct sample *s, bool json, const char *const *lacks,
                  const char *const *has)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_str(&out, "hunter2 ");
    if (json)
        jr_plan_json(&out, &s->plan, NULL);
    else
        jr_plan_print(&out, &s->plan, true, NULL);
    CU_ASSERT_FALSE_FATAL(out.failed);
    CU_ASSERT_EQUAL(strncmp(out.data, "hunter2 ", 8), 0);
    for (; *lacks != NULL; lacks++)
        CU_ASSERT_PTR_NULL(strstr(out.data + 8, *lacks));
    for (; *has != NULL; has++)
        CU_ASSERT_PTR_NOT_NULL(strstr(out.data + 8, *has));
}

TEST(hides)
{
    static const char *const lacks[] = {"hunter2", "a\"b", "a\\\"b", NULL};
    static const char *const json[] = {"\"--token=<redacted>!\"", "\"<redacted><redacted>\"",
                                       "\"OUT\":\"/x/<redacted>\"", "\"5\"", NULL};
    static const char *const text[] = {"'--token=<redacted>!'", "OUT=/x/<redacted>", NULL};
    struct jr_env_entry env[] = {{.name = TEXT("OUT"), .value = TEXT("/x/hunter2")}};
    SAMPLE(s, 1, 1, 2);
    s.argv[0] = TEXT("--token=a\"b\\c\xc3\xa9!");
    s.argv[1] = TEXT("hunter2hunter2");
    s.job.env = env;
    s.job.env_count = 1;
    s.job.hidden = hidden;
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    JR_ASSERT_TEXT(s.plan.ranks[0].argv[1], "hunter2hunter2");
    check(&s, true, lacks, json);
    check(&s, false, lacks, text);
}

TEST(leaves_the_rest)
{
    JR_BUF_CLEANUP struct jr_buf with = JR_BUF_INIT, without = JR_BUF_INIT;
    SAMPLE(s, 1, 1, 2);
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    jr_plan_json(&without, &s.plan, NULL);
    s.plan.hidden = hidden;
    jr_plan_json(&with, &s.plan, NULL);
    JR_ASSERT_TEXT(with.data, without.data);
}

/* In the arguments of a function they are JSON within a word. */
TEST(hides_in_calls)
{
    static const char *const lacks[] = {"hunter2", "c\xc3\xa9", NULL};
    static const char *const has[] = {"<redacted>", NULL};
    struct jr_python python = {
        .what = JR_PYTHON_FUNCTION, .target = TEXT("m:f"), .interpreter = TEXT("python3")};
    SAMPLE(s, 1, 1, 2);
    s.options.support = "/s";
    s.job.entrypoint.form = JR_FORM_PYTHON;
    s.job.entrypoint.python = &python;
    s.argv[0] = TEXT("\"a\\\"b\\\\c\xc3\xa9\"");
    s.argv[1] = TEXT("{\"a\": \"x hunter2\"}");
    s.job.entrypoint.argv_count = 2;
    s.job.hidden = hidden;
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    check(&s, true, lacks, has);
    check(&s, false, lacks, has);
}
