#include "fake.h"

static char *model[] = {(char *)"model.pt"};

/* One rank that promises model.pt in its working directory, where `before`
 * stands already; NULL: nothing. */
static void start(struct fake *fake, uint32_t world, const char *before)
{
    struct jr_error err;
    fake_start(fake, world);
    fake->policy.results.stated = true;
    for (uint32_t i = 0; i < world; i++) {
        fake->ranks[i].workdir = fake->dir;
        fake->ranks[i].artifacts = model;
        fake->ranks[i].artifacts_count = 1;
        fake_write_rank(fake, i, "result.json", "{}");
    }
    if (before != NULL)
        fake_write(fake, "model.pt", before);
    CU_ASSERT_EQUAL_FATAL(jr_artifacts_before(&fake->before, &fake->plan, &err),
                          0);
}

static void expect(struct fake *fake, enum jr_result_error error,
                   const char *reason)
{
    fake_judge(fake);
    CU_ASSERT_EQUAL(fake->report.ranks[0].result_error, error);
    if (reason != NULL)
        JR_ASSERT_TEXT(fake->report.ranks[0].reason, reason);
    fake_end(fake);
}

static void missing(void)
{
    struct fake fake;
    start(&fake, 1, NULL);
    expect(&fake, JR_RESULT_MISSING, "artifact model.pt was not written");
}

static void removed(void)
{
    struct fake fake;
    start(&fake, 1, "yesterday");
    (void)unlinkat(fake.fd, "model.pt", 0);
    expect(&fake, JR_RESULT_MISSING, "artifact model.pt was not written");
}

static void empty(void)
{
    struct fake fake;
    start(&fake, 1, NULL);
    fake_write(&fake, "model.pt", "");
    expect(&fake, JR_RESULT_EMPTY, "artifact model.pt is empty");
}

static void a_folder(void)
{
    struct fake fake;
    start(&fake, 1, NULL);
    (void)mkdirat(fake.fd, "model.pt", 0700);
    expect(&fake, JR_RESULT_MISSING, "artifact model.pt is not a regular file");
}

static void stale(void)
{
    struct fake fake;
    start(&fake, 1, "yesterday");
    expect(&fake, JR_RESULT_STALE,
           "artifact model.pt is the one from before the start");
}

static void written_again_with_the_same_size_and_time(void)
{
    struct fake fake;
    struct stat st;
    start(&fake, 1, "yesterday");
    CU_ASSERT_EQUAL(fstatat(fake.fd, "model.pt", &st, 0), 0);
    (void)unlinkat(fake.fd, "model.pt", 0);
    fake_write(&fake, "other", "x");
    fake_write(&fake, "model.pt", "yesterday");
    struct timespec times[2] = {st.st_atim, st.st_mtim};
    CU_ASSERT_EQUAL(utimensat(fake.fd, "model.pt", times, 0), 0);
    expect(&fake, JR_RESULT_NONE, NULL);
}

static void written(void)
{
    struct fake fake;
    start(&fake, 1, NULL);
    fake_write(&fake, "model.pt", "weights");
    expect(&fake, JR_RESULT_NONE, NULL);
}

static void not_asked_of_those_that_need_not_deliver(void)
{
    static const struct {
        const char *required;
        enum jr_result_error first, second;
    } cases[] = {
        {"all", JR_RESULT_MISSING, JR_RESULT_MISSING},
        {"0", JR_RESULT_MISSING, JR_RESULT_NONE},
        {"none", JR_RESULT_MISSING, JR_RESULT_MISSING}, /* else of nobody */
    };
    for (size_t c = 0; c < 3; c++) {
        struct fake fake;
        start(&fake, 2, NULL);
        fake.policy.results.required = (char *)cases[c].required;
        fake_judge(&fake);
        CU_ASSERT_EQUAL(fake.report.ranks[0].result_error, cases[c].first);
        CU_ASSERT_EQUAL(fake.report.ranks[1].result_error, cases[c].second);
        fake_end(&fake);
    }
}

JR_UNIT_MAIN("artifact", CASE(missing), CASE(removed), CASE(empty),
             CASE(a_folder), CASE(stale),
             CASE(written_again_with_the_same_size_and_time), CASE(written),
             CASE(not_asked_of_those_that_need_not_deliver))
