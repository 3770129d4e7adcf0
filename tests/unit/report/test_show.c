/* A run by its files alone: how it stands, its results, and where its logs are. */
#include "report/show.h"

#include "base/rank_set.h"
#include "fake_record.h"
#include "quoted.h"

/* What is shown of it; -1 with why in `err`. */
static int show(struct fake *fake, struct jr_buf *out, const uint32_t *attempt,
                struct jr_error *err)
{
    return jr_record_show(out, FAKE_LOG_DIR, fake_id(fake), attempt, false, err);
}

static void check_shown(struct fake *fake, const char *expected)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT, whole = JR_BUF_INIT;
    struct jr_error err = {0};
    struct utsname here = {0};
    (void)uname(&here);
    jr_buf_replaced(&whole, expected, "HOST", here.nodename);
    CU_ASSERT_EQUAL(show(fake, &out, NULL, &err), 0);
    const char *text = out.data == NULL ? "" : out.data;
    JR_BUF_CLEANUP struct jr_buf told = JR_BUF_INIT, named = JR_BUF_INIT;
    char pid[32];
    (void)snprintf(pid, sizeof pid, "pid %d on", (int)getpid());
    jr_buf_replaced(&told, text, fake_id(fake), "ID");
    jr_buf_replaced(&named, told.data, pid, "pid P on");
    JR_ASSERT_TEXT(named.data, whole.data);
}

#define PLAN                                                                                       \
    "{\"ranks\": [{\"rank\": 0, \"stdout\": {\"file\": \"out.0\"}, "                               \
    "\"stderr\": {\"file\": null}}, {\"rank\": 1}, {\"rank\": 2}]}"

TEST(says_that_it_is_gone)
{
    FAKE(fake, 1);
    fake_record(&fake, false, "");
    check_shown(&fake, "jobrun: lost: pid P on HOST is gone and left no results\n  /tmp/ID\n");
    fake_record(&fake, false, ", \"attempt\": 2");
    fake_write(&fake, "results.json", "{");
    check_shown(&fake, "jobrun: lost, attempt 2: pid P on HOST is gone, and its results.json is "
                       "damaged\n  /tmp/ID\n");
}

TEST(says_how_long_it_runs)
{
    FAKE(fake, 1);
    fake_record(&fake, true, "");
    check_shown(&fake, "jobrun: running for 1 h 00 min: pid P on HOST\n  /tmp/ID\n");
    fake_write(&fake, "plan.json", PLAN);
    fake_write(&fake, "events.jsonl",
               "{\"event\":\"rank_started\",\"rank\":1,\"pid\":51}\n{\"event\":\"rank_started\","
               "\"rank\":2,\"pid\":52}\n{\"event\":\"rank_ended\",\"rank\":2,\"pid\":52}\n");
    check_shown(&fake, "jobrun: running for 1 h 00 min: pid P on HOST\n  rank 0   not started\n  "
                       "rank 1   pid 51\n  rank 2   pid 52, ended\n  /tmp/ID\n");
}

/* Between two attempts all that is running is a clock. */
TEST(says_when_it_starts_again)
{
    static const struct {
        double wait;
        const char *told;
    } rows[] = {{3600.4, "starts in 3600 s\n"}, {0.1, "starts now\n"}};
    for (size_t i = 0; i < 2; i++) {
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        struct jr_error err = {0};
        char line[128];
        FAKE(fake, 1);
        fake_record(&fake, true, "");
        (void)snprintf(line, sizeof line,
                       "{\"event\":\"attempt_failed\",\"ns\":%llu,\"attempt\":1,\"wait\":%.1f}\n",
                       (unsigned long long)jr_clock_ns(), rows[i].wait);
        fake_write(&fake, "events.jsonl", line);
        CU_ASSERT_EQUAL(show(&fake, &out, NULL, &err), 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "\n  attempt 1 failed; attempt 2 "));
        CU_ASSERT_PTR_NOT_NULL(strstr(out.data, rows[i].told));
    }
}

TEST(says_how_far_it_is)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error err = {0};
    FAKE(fake, 1);
    fake_record(&fake, true, "");
    fake_write(&fake, "progress.json", jq("{'step': 7, 'of': 90}"));
    CU_ASSERT_EQUAL(show(&fake, &out, NULL, &err), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "\n  step 7 of 90"));
}

/* Of many ranks the first are shown. */
TEST(says_that_there_are_more)
{
    for (int count = 16; count <= 17; count++) {
        JR_BUF_CLEANUP struct jr_buf plan = JR_BUF_INIT, out = JR_BUF_INIT;
        struct jr_error err = {0};
        FAKE(fake, 1);
        fake_record(&fake, true, "");
        for (int i = 0; i < count; i++)
            jr_buf_printf(&plan, "%s{\"rank\": %d}", i == 0 ? "" : ",", i);
        fake_write(&fake, "plan.json",
                   jr_arena_printf(&fake.arena, "{\"ranks\": [%s]}", plan.data));
        fake_write(&fake, "events.jsonl", "");
        CU_ASSERT_EQUAL(show(&fake, &out, NULL, &err), 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "\n  rank 15   not started\n"));
        CU_ASSERT_EQUAL(strstr(out.data, "\n  and 1 more (jobrun top)\n") != NULL, count == 17);
    }
}

#define CODE                                                                                       \
    ", \"code\": {\"commit\": \"0123456789abcdef0123456789abcdef01234567\", "                      \
    "\"tree\": \"89abcdef0123456789abcdef0123456789abcdef\", \"dirty\": true}"

TEST(shows_results_and_code)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error err = {0};
    FAKE_ENDS(fake, "0 3");
    fake_results(&fake, "results.json");
    fake_record(&fake, false, CODE);
    CU_ASSERT_EQUAL(show(&fake, &out, NULL, &err), 0);
    CU_ASSERT_EQUAL(strncmp(out.data, "jobrun: FAILED", 14), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "exit status 1\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "\n  code: commit "));
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, ", with changes that were not committed\n"));
    jr_buf_clear(&out);
    fake_write(&fake, "run.json", "{");
    CU_ASSERT_EQUAL(show(&fake, &out, NULL, &err), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "\n  warning: "));
    jr_buf_clear(&out);
    CU_ASSERT_EQUAL(unlinkat(fake.fd, "run.json", 0), 0);
    CU_ASSERT_EQUAL(show(&fake, &out, NULL, &err), 0);
    CU_ASSERT_PTR_NULL(strstr(out.data, "warning"));
    CU_ASSERT_PTR_NULL(strstr(out.data, "  code: "));
}

/* One that has ended has results, or that is a mistake. */
TEST(misses_results_of_a_run_that_ended)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error err = {0};
    FAKE(fake, 1);
    fake_record(&fake, false, ", \"status\": \"failed\"");
    fake_write(&fake, "results.json", "{");
    CU_ASSERT_EQUAL(show(&fake, &out, NULL, &err), -1);
    CU_ASSERT_NOT_EQUAL(err.text[0], '\0');
    CU_ASSERT_EQUAL(out.len, 0);
    CU_ASSERT_EQUAL(unlinkat(fake.fd, "results.json", 0), 0);
    CU_ASSERT_EQUAL(show(&fake, &out, NULL, &err), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "is gone and left no results"));
    CU_ASSERT_EQUAL(unlinkat(fake.fd, "run.json", 0), 0);
    CU_ASSERT_EQUAL(show(&fake, &out, NULL, &err), -1);
}

TEST(knows_attempts)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error err = {0};
    const uint32_t first = 0, none = 7;
    FAKE(fake, 1);
    fake_record(&fake, false, ", \"attempt\": 1");
    fake_exit(&fake, 0, 3);
    fake_results(&fake, "attempt_0/results.json");
    fake_exit(&fake, 0, 0);
    fake.policy.results.required = NULL;
    fake_results(&fake, "results.json");
    CU_ASSERT_EQUAL(show(&fake, &out, NULL, &err), 0);
    CU_ASSERT_EQUAL(strncmp(out.data, "jobrun: succeeded", 17), 0);
    jr_buf_clear(&out);
    CU_ASSERT_EQUAL(show(&fake, &out, &first, &err), 0);
    CU_ASSERT_EQUAL(strncmp(out.data, "jobrun: FAILED", 14), 0);
    CU_ASSERT_EQUAL(show(&fake, &out, &none, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "has no attempt 7: the last one is 1"));
}

/* The results are the file, byte for byte; without one what is known. */
TEST(hands_out_results)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error err = {0};
    const uint32_t first = 0;
    FAKE(fake, 1);
    fake_record(&fake, true, "");
    fake_write(&fake, "plan.json", PLAN);
    CU_ASSERT_EQUAL(jr_record_results(&out, FAKE_LOG_DIR, fake_id(&fake), NULL, &err), 0);
    JSON *live = jr_json_parse(out.data, out.len, &err);
    JR_ASSERT_TEXT(jr_json_get_str(live, "status"), "running");
    jr_buf_clear(&out);
    fake_write(&fake, "results.json", jq("{ 'x':1}"));
    fake_write(&fake, "attempt_0/results.json", jq("{'y' :2}"));
    CU_ASSERT_EQUAL(jr_record_results(&out, FAKE_LOG_DIR, fake_id(&fake), NULL, &err), 0);
    JR_ASSERT_TEXT(out.data, jq("{ 'x':1}"));
    jr_buf_clear(&out);
    CU_ASSERT_EQUAL(jr_record_results(&out, FAKE_LOG_DIR, fake_id(&fake), &first, &err), 0);
    JR_ASSERT_TEXT(out.data, jq("{'y' :2}"));
    CU_ASSERT_EQUAL(jr_record_results(&out, FAKE_LOG_DIR, "none", NULL, &err), -1);
}

static void check_logs(struct fake *fake, bool finished)
{
    struct jr_record_logs logs;
    struct jr_error err = {0};
    CU_ASSERT_EQUAL_FATAL(jr_record_logs_load(&logs, FAKE_LOG_DIR, fake_id(fake), NULL, &err), 0);
    CU_ASSERT_EQUAL(logs.finished, finished);
    CU_ASSERT_EQUAL_FATAL(logs.count, 3);
    CU_ASSERT_EQUAL(logs.items[2].rank, 2);
    JR_ASSERT_TEXT(logs.items[0].out, "out.0");
    CU_ASSERT_PTR_NULL(logs.items[0].err);
    CU_ASSERT_PTR_NULL(logs.items[1].out);
    JR_ASSERT_TEXT(logs.ends[0], "results.json");
    CU_ASSERT_PTR_NULL(logs.ends[1]);
    jr_record_logs_release(&logs);
    CU_ASSERT_EQUAL(logs.count, 0);
}

/* By the results, which say the path, or the plan, which says how it goes there. */
TEST(finds_logs)
{
    struct jr_record_logs logs;
    struct jr_error err = {0};
    FAKE(fake, 1);
    CU_ASSERT_EQUAL(jr_record_logs_load(&logs, FAKE_LOG_DIR, fake_id(&fake), NULL, &err), -1);
    fake_write(&fake, "plan.json", PLAN);
    check_logs(&fake, false);
    fake_write(&fake, "results.json",
               "{\"ranks\": [{\"rank\": 0, \"stdout\": \"out.0\", \"stderr\": null}, {\"rank\": "
               "1}, {\"rank\": 2}]}");
    check_logs(&fake, true);
}

TEST(says_why_there_are_no_logs)
{
    static const struct {
        const char *ranks, *told;
        size_t count;
    } vectors[] = {{"7,9", "no rank 7,9 in this run: --rank takes 0-2", 3},
                   {"2,7", "no such logs: these ranks' output went to the console only", 3},
                   {"7", "no such logs: these ranks' output went to the console only", 0}};
    struct jr_record_log items[] = {{.rank = 0}, {.rank = 1}, {.rank = 2}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        const struct jr_record_logs logs = {.items = items, .count = vectors[i].count};
        struct jr_arena arena = JR_ARENA_INIT;
        struct jr_set set = {0};
        struct jr_error err = {0};
        const char *bad;
        CU_ASSERT_TRUE(jr_set_parse(&set, &arena, vectors[i].ranks, &bad));
        CU_ASSERT_EQUAL(jr_record_logs_refuse(&logs, &set, &err), -1);
        CU_ASSERT_EQUAL(err.status, JR_STATUS_USAGE);
        JR_ASSERT_TEXT(err.text, vectors[i].told);
        jr_arena_release(&arena);
    }
}
