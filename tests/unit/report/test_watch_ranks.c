/* The stacks of a run that hung, and the tables of one that is watched without a terminal. */
#include "report/top.h"

#include "fake_record.h"

#define HUNG(rank)                                                                                 \
    "{\"rank\": " rank ", \"pid\": 5, \"processes\": [], "                                         \
    "\"silent_seconds\": 2.5, \"cpu_seconds\": 0.5, \"interval_seconds\": 1}"

/* The ranks whose evidence is found: "0 2"; NULL with `err`. */
static char *find_stacks(const struct fake *fake, const char *ranks, const uint32_t *attempt,
                         struct jr_error *err)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_set set = {0};
    struct jr_buf out = JR_BUF_INIT;
    const char *bad;
    CU_ASSERT_TRUE_FATAL(jr_set_parse(&set, &arena, ranks, &bad));
    json_t *list = jr_stacks_of(FAKE_LOG_DIR, fake_id(fake), &set, attempt, err);
    jr_arena_release(&arena);
    if (list == NULL)
        return NULL;
    jr_buf_str(&out, "");
    for (size_t i = 0; i < json_array_size(list); i++)
        jr_buf_printf(&out, "%s%lld", i == 0 ? "" : " ",
                      (long long)jr_json_get_int(json_array_get(list, i), "rank"));
    json_decref(list);
    return jr_buf_detach(&out);
}

static void check_stacks(const struct fake *fake, const char *ranks, const char *expected)
{
    struct jr_error err = {0};
    char *found = find_stacks(fake, ranks, NULL, &err);
    JR_ASSERT_TEXT(found, expected);
    free(found);
}

static void begin_hung(struct fake *fake)
{
    fake_ends(fake, "0 3 0");
    fake_record(fake, false, ", \"status\": \"failed\"");
    fake_results(fake, "results.json");
    fake_write_rank(fake, 0, "hang.json", HUNG("0"));
    fake_write_rank(fake, 2, "hang.json", HUNG("2"));
}

TEST(finds_what_hung_ranks_left)
{
    struct fake fake RELEASE(fake_end) = {0};
    begin_hung(&fake);
    EACH_PAIR(given, wanted, "0-2 => 0 2|0,1 => 0|1 => |7 => ")
        check_stacks(&fake, given, wanted);
}

TEST(says_why_there_are_none)
{
    struct fake fake RELEASE(fake_end) = {0};
    struct jr_error err = {0};
    const uint32_t none = 7;
    char expected[128];
    begin_hung(&fake);
    CU_ASSERT_PTR_NULL(find_stacks(&fake, "0", &none, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "has no attempt 7"));
    CU_ASSERT_EQUAL(unlinkat(fake.fd, "results.json", 0), 0);
    fake_record(&fake, false, "");
    CU_ASSERT_PTR_NULL(find_stacks(&fake, "0", NULL, &err));
    (void)snprintf(expected, sizeof expected, "run '%s' has no results, and is not running here",
                   fake_id(&fake));
    JR_ASSERT_TEXT(err.text, expected);
    CU_ASSERT_EQUAL(unlinkat(fake.fd, "run.json", 0), 0);
    CU_ASSERT_PTR_NULL(find_stacks(&fake, "0", NULL, &err));
}

#define PLAN "{\"ranks\": [{\"rank\": 0}, {\"rank\": 1}]}"

/* A run that this process leads, without a rank that lives. */
static void begin_live(struct fake *fake)
{
    fake_start(fake, 2);
    fake_record(fake, true, "");
    fake_write(fake, "plan.json", PLAN);
    fake_write(fake, "events.jsonl", "");
}

TEST(finds_no_rank_that_has_gone)
{
    struct fake fake RELEASE(fake_end) = {0};
    begin_live(&fake);
    check_stacks(&fake, "0-1", "");
}

TEST(prints_evidence)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    json_t *list = json_loads("[" HUNG("0") ", " HUNG("2") "]", 0, NULL);
    jr_stacks_print(&out, list);
    CU_ASSERT_EQUAL(strncmp(out.data, "rank 0", 6), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "\nrank 2"));
    json_decref(list);
}

/* What a watch prints into a file, "" for nothing; -1 that it cannot. */
static int watch(const struct fake *fake, bool once, char *ret, size_t size)
{
    struct jr_live live;
    struct jr_error err = {0};
    int sig = 99;
    int out = openat(fake->fd, "table", O_RDWR | O_CREAT | O_TRUNC, 0600);
    const struct jr_top_watch watched = {.log_dir = FAKE_LOG_DIR,
                                         .id = fake_id(fake),
                                         .in = STDIN_FILENO,
                                         .out = out,
                                         .terminal = once,
                                         .once = once};
    CU_ASSERT_EQUAL_FATAL(jr_live_open(&live, FAKE_LOG_DIR, fake_id(fake), &err), 0);
    int result = jr_watch_ranks(&watched, &live, &sig, &err);
    jr_live_close(&live);
    CU_ASSERT_EQUAL(sig, 0);
    ssize_t len = pread(out, ret, size - 1, 0);
    ret[len < 0 ? 0 : len] = '\0';
    (void)close(out);
    return result;
}

TEST(watches_without_a_terminal)
{
    struct fake fake RELEASE(fake_end) = {0};
    char table[4096];
    begin_live(&fake);
    CU_ASSERT_EQUAL(watch(&fake, true, table, sizeof table), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(table, "rank"));
    CU_ASSERT_PTR_NOT_NULL(strstr(table, "\n"));
    CU_ASSERT_PTR_NULL(strchr(table, '\033'));
    fake_results(&fake, "results.json"); /* then it has ended */
    CU_ASSERT_EQUAL(watch(&fake, false, table, sizeof table), 0);
    JR_ASSERT_TEXT(table, "");
    CU_ASSERT_EQUAL(unlinkat(fake.fd, "plan.json", 0), 0);
    CU_ASSERT_EQUAL(watch(&fake, false, table, sizeof table), -1);
}
