#include "fake_run.h"
#include "judge/artifacts.h"
#include "run/policies/pin_results.h"

static char *model[] = {(char *)"model.pt"};

/* One rank that promises model.pt in its working directory, where `before` stands already; NULL:
 * nothing. */
static void start(struct fake *fake, uint32_t world, const char *before)
{
    struct jr_error err;
    fake_start(fake, world);
    fake->policy.results.stated = true;
    fake->policy.results.artifacts = model;
    fake->policy.results.artifacts_count = 1;
    for (uint32_t i = 0; i < world; i++) {
        fake->ranks[i].workdir = fake->dir;
        fake->ranks[i].artifacts = model;
        fake->ranks[i].artifacts_count = 1;
    }
    if (before != NULL)
        fake_write(fake, "model.pt", before);
    CU_ASSERT_EQUAL_FATAL(jr_artifacts_before(&fake->before, &fake->plan, fake->fd, &err), 0);
    for (uint32_t i = 0; i < world; i++)
        fake_write_rank(fake, i, "result.json", "{}");
}

static void expect(struct fake *fake, enum jr_result_error error, const char *reason)
{
    fake_judge(fake);
    CU_ASSERT_EQUAL(fake->report.ranks[0].result_error, error);
    if (reason != NULL)
        JR_ASSERT_TEXT(fake->report.ranks[0].reason, reason);
    fake_end(fake);
}

TEST(missing)
{
    struct fake fake;
    start(&fake, 1, NULL);
    expect(&fake, JR_RESULT_MISSING, "artifact model.pt was not written");
}

TEST(removed)
{
    struct fake fake;
    start(&fake, 1, "yesterday");
    (void)unlinkat(fake.fd, "model.pt", 0);
    expect(&fake, JR_RESULT_MISSING, "artifact model.pt was not written");
}

TEST(empty)
{
    struct fake fake;
    start(&fake, 1, NULL);
    fake_write(&fake, "model.pt", "");
    expect(&fake, JR_RESULT_EMPTY, "artifact model.pt is empty");
}

TEST(a_folder)
{
    struct fake fake;
    start(&fake, 1, NULL);
    (void)mkdirat(fake.fd, "model.pt", 0700);
    expect(&fake, JR_RESULT_MISSING, "artifact model.pt is not a regular file");
}

TEST(stale)
{
    struct fake fake;
    start(&fake, 1, "yesterday");
    expect(&fake, JR_RESULT_STALE, "artifact model.pt is the one from before the start");
}

TEST(written_again_with_the_same_size_and_time)
{
    struct fake fake;
    struct stat st;
    start(&fake, 1, "yesterday");
    CU_ASSERT_EQUAL(fstatat(fake.fd, "model.pt", &st, 0), 0);
    fake_write(&fake, "other", "yesterday"); /* another inode: both are there */
    struct timespec times[2] = {st.st_atim, st.st_mtim};
    CU_ASSERT_EQUAL(utimensat(fake.fd, "other", times, 0), 0);
    CU_ASSERT_EQUAL(renameat(fake.fd, "other", fake.fd, "model.pt"), 0);
    expect(&fake, JR_RESULT_NONE, NULL);
}

TEST(written)
{
    struct fake fake;
    start(&fake, 1, NULL);
    fake_write(&fake, "model.pt", "weights");
    expect(&fake, JR_RESULT_NONE, NULL);
}

TEST(not_asked_of_those_that_need_not_deliver)
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
        struct fake fake RELEASE(fake_end) = {0};
        start(&fake, 2, NULL);
        fake.policy.results.required = (char *)cases[c].required;
        fake_judge(&fake);
        CU_ASSERT_EQUAL(fake.report.ranks[0].result_error, cases[c].first);
        CU_ASSERT_EQUAL(fake.report.ranks[1].result_error, cases[c].second);
    }
}

/* What chmod changes makes nothing new. */
TEST(only_its_status_changed)
{
    struct fake fake;
    start(&fake, 1, "yesterday");
    CU_ASSERT_EQUAL(fchmodat(fake.fd, "model.pt", 0640, 0), 0);
    expect(&fake, JR_RESULT_STALE, "artifact model.pt is the one from before the start");
}

static void pin(struct fake *fake, uint32_t i, bool job)
{
    struct jr_arena arena = JR_ARENA_INIT;
    const struct jr_pin_scope whose = {
        .common = jr_pin_common(&arena, &fake->plan), .own = true, .jobs = job};
    struct stat st;
    jr_pin_artifacts(fake->ends[i].artifacts, &fake->ranks[i], &whose);
    CU_ASSERT_EQUAL(fstatat(fake->fd, fake->ranks[i].result_path, &st, 0), 0);
    jr_pin_fill(&fake->ends[i].result, &st);
    fake->ends[i].pinned = true;
    fake->ends[i].job_pinned = job;
    jr_arena_release(&arena);
}

TEST(changed_after_the_end)
{
    struct fake fake;
    start(&fake, 1, NULL);
    fake_write(&fake, "model.pt", "weights");
    pin(&fake, 0, false);
    fake_write(&fake, "model.pt", "those of others"); /* in the same tick */
    expect(&fake, JR_RESULT_CHANGED, "artifact model.pt was changed after the rank had ended");
    start(&fake, 1, NULL);
    pin(&fake, 0, false);
    fake_write(&fake, "model.pt", "weights");
    expect(&fake, JR_RESULT_MISSING,
           "artifact model.pt was not there when the rank ended: what was written later does not "
           "count");
}

/* One path for all: it counts what was there when the last of them ended. */
TEST(the_jobs)
{
    struct fake fake;
    start(&fake, 2, NULL);
    fake_write(&fake, "model.pt", "weights of rank 0");
    fake_write(&fake, "model.pt", "weights of rank 1, which ends last");
    pin(&fake, 1, true);
    expect(&fake, JR_RESULT_NONE, NULL);
    start(&fake, 2, NULL);
    fake_write(&fake, "model.pt", "weights");
    pin(&fake, 1, true);
    fake_write(&fake, "model.pt", "other weights");
    expect(&fake, JR_RESULT_CHANGED,
           "artifact model.pt of the job, which any rank may make, was changed after the rank had "
           "ended");
}

/* More than are noted one by one. */
TEST(many)
{
    enum { MANY = 2 * JR_PINNED_ARTIFACTS + 1 };
    char *names[MANY], texts[MANY][8];
    for (int n = 0; n < MANY; n++) {
        (void)snprintf(texts[n], sizeof texts[n], "m%d", n);
        names[n] = texts[n];
    }
    for (int odd = -1; odd < MANY; odd++) {
        struct fake fake;
        start(&fake, 1, NULL);
        fake.ranks[0].artifacts = fake.policy.results.artifacts = names;
        fake.ranks[0].artifacts_count = MANY;
        fake.policy.results.artifacts_count = MANY;
        jr_artifacts_free(fake.before);
        fake.before = NULL;
        for (int n = 0; n < MANY; n++)
            fake_write(&fake, names[n], "weights");
        pin(&fake, 0, false);
        if (odd >= 0)
            fake_write(&fake, names[odd], "others");
        expect(&fake, odd < 0 ? JR_RESULT_NONE : JR_RESULT_CHANGED, NULL);
    }
}
