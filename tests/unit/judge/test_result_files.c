/* Which file is a rank's result, and which only looks like it. */
#include <time.h>

#include "fake_run.h"
#include "quoted.h"
#include "judge/internal.h"
#include "run/policies/pin_results.h"

static void start(struct fake *fake, uint32_t world, const char *required)
{
    fake_start(fake, world);
    fake->policy.results.stated = true;
    fake->policy.results.required = (char *)required;
    for (uint32_t i = 0; i < world; i++)
        fake_write_rank(fake, i, "result.json", jq("{'a': 1}"));
}

#define RESULTS(name, world, required)                                                             \
    struct fake name RELEASE(fake_end);                                                            \
    start(&name, world, required)

/* Rank i has a result. */
static void check_taken(const struct fake *fake, uint32_t i)
{
    CU_ASSERT_PTR_NOT_NULL(fake->report.ranks[i].result);
    CU_ASSERT_EQUAL(fake->report.ranks[i].result_error, JR_RESULT_NONE);
    CU_ASSERT_EQUAL(fake->report.ranks[i].state, JR_RANK_SUCCEEDED);
}

/* It has none, and why that is a fault; a NULL reason: it is none. */
static void check_refused(const struct fake *fake, uint32_t i, enum jr_result_error error,
                          const char *reason)
{
    const struct jr_rank_judgement *rank = &fake->report.ranks[i];
    CU_ASSERT_PTR_NULL(rank->result);
    CU_ASSERT_EQUAL(rank->result_error, error);
    CU_ASSERT_EQUAL(rank->state, error == JR_RESULT_NONE ? JR_RANK_SUCCEEDED : JR_RANK_INCOMPLETE);
    if (reason != NULL)
        JR_ASSERT_TEXT(rank->reason, reason);
    CU_ASSERT_EQUAL(rank->reason == NULL, reason == NULL);
}

TEST(withholds_what_is_ordered)
{
    static const struct {
        struct jr_injection rows[2];
        const char *withheld; /* a letter for each rank: w */
    } vectors[] = {{{{.what = JR_INJECT_NORESULT, .first = 2, .last = 2, .step = 1}}, "..w..."},
                   {{{.what = JR_INJECT_NORESULT, .first = 1, .last = 5, .step = 2}}, ".w.w.w"},
                   {{{.what = JR_INJECT_NORESULT, .first = 1, .last = 4, .step = 2}}, ".w.w.."},
                   {{{.what = JR_INJECT_KILL, .first = 0, .last = 5, .step = 1},
                     {.what = JR_INJECT_NORESULT, .first = 5, .last = 5, .step = 1}},
                    ".....w"},
                   {{{.what = JR_INJECT_NORESULT, .first = 0, .last = 0, .step = 1},
                     {.what = JR_INJECT_NORESULT, .first = 3, .last = 4, .step = 1}},
                    "w..ww."}};
    for (size_t v = 0; v < COUNT_OF(vectors); v++) {
        struct jr_injection rows[2] = {vectors[v].rows[0], vectors[v].rows[1]};
        RESULTS(fake, 6, "all");
        fake.plan.injections = rows;
        fake.plan.injections_count = rows[1].step == 0 ? 1 : 2;
        fake_judge(&fake);
        for (uint32_t i = 0; i < 6; i++) {
            if (vectors[v].withheld[i] == 'w')
                check_refused(&fake, i, JR_RESULT_MISSING, "result.json was withheld by --inject");
            else
                check_taken(&fake, i);
        }
    }
}

/* What a function leaves behind counts only if it returned, and in the process that was started. */
TEST(asks_whether_it_returned)
{
    static const struct {
        enum jr_form form;
        const char *required;
        bool returned;
        int32_t by;
        enum jr_result_error error;
        const char *reason;
    } vectors[] = {
        {JR_FORM_PYTHON, "all", true, 0, JR_RESULT_NONE, NULL},
        {JR_FORM_PYTHON, "none", true, 0, JR_RESULT_NONE, NULL},
        {JR_FORM_PYTHON, "all", false, 0, JR_RESULT_MISSING,
         "its function did not return: the process ended before that (sys.exit, os._exit or exec)"},
        {JR_FORM_LIBRARY, "all", false, 0, JR_RESULT_MISSING,
         "its step did not return: the process ended before that (exit, _exit or exec)"},
        {JR_FORM_PYTHON, "all", false, 77, JR_RESULT_MISSING,
         "its function returned in process 77, which is not the one that jobrun started: a wrapper "
         "must exec the program that it starts, and a fork is not the rank"},
        {JR_FORM_LIBRARY, "all", false, 77, JR_RESULT_MISSING,
         "its step returned in process 77, which is not the one that jobrun started: a wrapper "
         "must exec the program that it starts, and a fork is not the rank"},
        {JR_FORM_PYTHON, "none", false, 0, JR_RESULT_NONE, NULL},
        {JR_FORM_PYTHON, "none", false, 77, JR_RESULT_NONE, NULL}};
    for (size_t v = 0; v < COUNT_OF(vectors); v++) {
        RESULTS(fake, 1, vectors[v].required);
        fake.plan.returns = true;
        fake.plan.form = vectors[v].form;
        fake.policy.results.from = JR_FROM_RETURN;
        fake.ends[0].returned = vectors[v].returned;
        fake.ends[0].returned_by = vectors[v].by;
        fake_judge(&fake);
        if (vectors[v].returned)
            check_taken(&fake, 0);
        else
            check_refused(&fake, 0, vectors[v].error, vectors[v].reason);
    }
}

static void pin(struct fake *fake, uint32_t i)
{
    struct stat st;
    CU_ASSERT_EQUAL(fstatat(fake->fd, fake->ranks[i].result_path, &st, 0), 0);
    jr_pin_fill(&fake->ends[i].result, &st);
    fake->ends[i].pinned = true;
}

/* What a rank had when it ended is its result, and nothing that came later. */
TEST(holds_to_what_was_there_at_the_end)
{
    RESULTS(fake, 4, "0-2");
    for (uint32_t i = 0; i < 4; i++)
        pin(&fake, i);
    fake_write_rank(&fake, 1, "result.json", jq("{'later': 1}"));
    fake_write_rank(&fake, 3, "result.json", jq("{'later': 1}"));
    fake.ends[2].result = (struct jr_pin){0};
    fake_judge(&fake);
    check_taken(&fake, 0);
    check_refused(&fake, 1, JR_RESULT_CHANGED,
                  "result.json was changed after the rank had ended (8 bytes then, 12 now)");
    check_refused(
        &fake, 2, JR_RESULT_MISSING,
        "result.json was not there when the rank ended: what was written later does not count");
    check_taken(&fake, 3); /* of which nothing is asked */
    fake.plan.returns = true;
    for (uint32_t i = 0; i < 4; i++)
        fake.ends[i].returned = true;
    fake_judge(&fake);
    check_refused(&fake, 1, JR_RESULT_CHANGED,
                  "result.json was changed after the rank had returned (8 bytes then, 12 now)");
}

/* Bytes that were changed behind the kernel's back, as through mapped memory. */
TEST(compares_what_it_holds)
{
    RESULTS(fake, 4, "0-2");
    for (uint32_t i = 0; i < 4; i++) {
        pin(&fake, i);
        fake.ends[i].result.digest = jr_pin_digest("else", 4);
    }
    fake.ends[0].result.digest = jr_pin_digest("{\"a\": 1}", 8);
    fake.ends[2].result.digest = 0; /* not known */
    fake_judge(&fake);
    check_taken(&fake, 0);
    check_refused(&fake, 1, JR_RESULT_CHANGED,
                  "result.json was changed after the rank had ended: it has the size and the times "
                  "that it had, and holds something else");
    check_taken(&fake, 2);
    check_taken(&fake, 3); /* of which nothing is asked */
}

/* On another node the device and the inode are not the same. */
TEST(compares_far_files_by_time_and_size)
{
    for (int far = 0; far < 2; far++) {
        RESULTS(fake, 1, "all");
        pin(&fake, 0);
        fake.ends[0].result.dev++;
        fake.ends[0].result.ino++;
        fake.ends[0].far = far;
        fake_judge(&fake);
        if (far)
            check_taken(&fake, 0);
        else
            check_refused(&fake, 0, JR_RESULT_CHANGED,
                          "result.json was changed after the rank had ended (8 bytes then, 8 now)");
    }
}

/* What stood there before the start is nobody's result. */
TEST(refuses_what_is_old)
{
    struct jr_error err;
    RESULTS(fake, 2, "0");
    for (uint32_t i = 0; i < 2; i++)
        fake.ranks[i].result_path =
            jr_arena_printf(&fake.arena, "%s/attempt_0/%u/result.json", fake.dir, i);
    CU_ASSERT_EQUAL_FATAL(jr_artifacts_before(&fake.before, &fake.plan, fake.fd, &err), 0);
    fake_judge(&fake);
    check_refused(&fake, 0, JR_RESULT_STALE,
                  jr_arena_printf(&fake.arena, "%s is the one from before the start",
                                  fake.ranks[0].result_path));
    check_refused(&fake, 1, JR_RESULT_NONE, NULL);
}

/* Until the clock of files has gone on: by two ticks, since files may already have the time of the
 * next. */
static void await_tick(void)
{
    struct timespec then, now;
    for (int ticks = 0; ticks < 2; ticks++) {
        (void)clock_gettime(CLOCK_REALTIME_COARSE, &then);
        do
            (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
        while (now.tv_sec == then.tv_sec && now.tv_nsec == then.tv_nsec);
    }
}

/* A link, and what was moved, is as old as the file is; a copy with its times was born when it was
 * made. */
TEST(refuses_what_is_old_elsewhere)
{
    for (int vector = 0; vector < 8; vector++) {
        bool born = vector & 1, touched = vector & 2, linked = vector & 4;
        struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};
        struct jr_error err;
        RESULTS(fake, 1, "all");
        fake_write(&fake, "old", jq("{'a': 1}"));
        await_tick();
        CU_ASSERT_EQUAL_FATAL(jr_artifacts_before(&fake.before, &fake.plan, fake.fd, &err), 0);
        await_tick();
        if (born)
            CU_ASSERT_EQUAL(unlinkat(fake.fd, "old", 0), 0);
        fake_write(&fake, "new", jq("{'a': 1}"));
        CU_ASSERT_EQUAL(renameat(fake.fd, born ? "new" : "old", fake.fd, fake.ranks[0].result_path),
                        0);
        if (linked)
            CU_ASSERT_EQUAL(linkat(fake.fd, fake.ranks[0].result_path, fake.fd, "kept", 0), 0);
        if (!touched)
            times[1] = (struct timespec){.tv_sec = 1000000000};
        if (touched || born)
            CU_ASSERT_EQUAL(utimensat(fake.fd, fake.ranks[0].result_path, times, 0), 0);
        fake_judge(&fake);
        if (born || touched)
            check_taken(&fake, 0);
        else
            check_refused(&fake, 0, JR_RESULT_STALE,
                          linked ? "result.json is a link to a file from before the start"
                                 : "result.json is a file from before the start that was moved "
                                   "here, or whose folder was: a copy counts");
    }
}

TEST(keeps_to_the_limit)
{
    static const char large[] = "result.json has 8 bytes, more than results.limit (7) allows; "
                                "write large data to a file of `artifacts`";
    RESULTS(fake, 2, "0");
    fake.policy.results.limit = (char *)"8";
    fake_judge(&fake);
    check_taken(&fake, 0);
    check_taken(&fake, 1);
    fake.policy.results.limit = (char *)"7";
    fake_judge(&fake);
    check_refused(&fake, 0, JR_RESULT_TOO_LARGE, large);
    check_refused(&fake, 1, JR_RESULT_NONE, NULL);
}

/* Link the result of rank `to` to that of rank `from`. */
static void link_result(struct fake *fake, uint32_t from, uint32_t to)
{
    (void)unlinkat(fake->fd, fake->ranks[to].result_path, 0);
    CU_ASSERT_EQUAL(
        linkat(fake->fd, fake->ranks[from].result_path, fake->fd, fake->ranks[to].result_path, 0),
        0);
    struct timespec times[2] = {{.tv_sec = (int64_t)(FAKE_WALL / FAKE_SECOND)},
                                {.tv_sec = (int64_t)(FAKE_WALL / FAKE_SECOND)}};
    CU_ASSERT_EQUAL(utimensat(fake->fd, fake->ranks[to].result_path, times, 0), 0);
}

/* What it delivered is shown, and does not count. */
static void check_fault(const struct fake *fake, uint32_t i, const char *reason)
{
    const struct jr_rank_judgement *rank = &fake->report.ranks[i];
    CU_ASSERT_PTR_NOT_NULL(rank->result);
    CU_ASSERT_EQUAL(rank->result_error, JR_RESULT_MISSING);
    CU_ASSERT_EQUAL(rank->state, JR_RANK_INCOMPLETE);
    JR_ASSERT_TEXT(rank->reason, reason);
}

/* One file cannot be what two ranks delivered. */
TEST(refuses_a_file_of_two_ranks)
{
    RESULTS(fake, 6, "0-4");
    link_result(&fake, 0, 2);
    link_result(&fake, 4, 3);
    link_result(&fake, 4, 5);
    fake_judge(&fake);
    static const char *const others[] = {"2", NULL, "0", "4", "3", ""};
    for (uint32_t i = 0; i < 6; i++) {
        if (others[i] == NULL)
            check_taken(&fake, i);
        else if (others[i][0] == '\0') /* nothing was asked of it */
            check_refused(&fake, i, JR_RESULT_NONE, NULL);
        else
            check_fault(&fake, i,
                        jr_arena_printf(&fake.arena,
                                        "result.json is also the file of rank %s: a link to the "
                                        "result of another rank does not count",
                                        others[i]));
    }
}

/* With one path for all it is the result of the one that must deliver. */
TEST(gives_a_common_file_to_who_is_asked)
{
    RESULTS(fake, 3, "1");
    for (uint32_t i = 0; i < 3; i++)
        fake.ranks[i].result_path = "attempt_0/0/result.json";
    fake_judge(&fake);
    check_refused(&fake, 0, JR_RESULT_NONE, NULL);
    check_taken(&fake, 1);
    check_refused(&fake, 2, JR_RESULT_NONE, NULL);
}

TEST(names_where_a_result_comes_from)
{
    static const struct {
        const char *path, *name;
    } names[] = {{"result.json", "result.json"},
                 {"attempt_0/3/result.json", "result.json"},
                 {"/exp/out/r.json", "/exp/out/r.json"},
                 {"/r.json", "/r.json"}};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        JR_ASSERT_TEXT(jr_result_name(names[i].path), names[i].name);
    static const struct {
        enum jr_result_from from;
        const char *missing;
    } streams[] = {{JR_FROM_STDOUT, "standard output was not captured"},
                   {JR_FROM_STDERR, "standard error was not captured"}};
    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        RESULTS(fake, 2, "0");
        fake.policy.results.from = streams[i].from;
        fake.policy.results.pattern = (char *)"x";
        fake.ranks[0].out_path = fake.ranks[0].err_path = NULL;
        fake.ranks[1].out_path = fake.ranks[1].err_path = NULL;
        fake_judge(&fake);
        check_refused(&fake, 0, JR_RESULT_MISSING, streams[i].missing);
        check_refused(&fake, 1, JR_RESULT_NONE, NULL);
    }
}
