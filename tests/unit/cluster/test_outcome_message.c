#include "cluster/protocol.h"

#include "base/json.h"
#include "unit.h"

TEST(refuses_what_is_none)
{
    EACH_PART(part, "|{|[]|{}|{\"ranks\":{}}|{\"ranks\":[]}|{\"ranks\":[{},{},{}]}|"
                    "{\"ranks\":[{\"end\":99},{}]}|{\"ranks\":[{\"end\":-1},{}]}|"
                    "{\"ranks\":[{\"stage\":1000},{}]}|{\"ranks\":[{\"injection\":1000},{}]}") {
        struct jr_rank_outcome ranks[3] = {{0}};
        struct jr_outcome outcome = {.ranks = ranks};
        struct jr_error err = {0};
        CU_ASSERT_EQUAL(jr_outcome_message_read(&outcome, 2, part, strlen(part), &err), -1);
        CU_ASSERT_EQUAL(err.status, JR_STATUS_LAUNCH);
    }
}

TEST(says_why_there_is_none)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_outcome outcome = {0};
    struct jr_error why = {.text = "no more \"processes\""}, err = {0};
    jr_outcome_message_refuse(&text, &why);
    CU_ASSERT_EQUAL(jr_outcome_message_read(&outcome, 2, text.data, text.len, &err), -1);
    JR_ASSERT_TEXT(err.text, "no more \"processes\"");
}

TEST(carries_all_of_it)
{
    struct jr_rank_outcome ranks[2] = {
        {.pid = 7,
         .end = JR_END_SIGNALED,
         .signal = 9,
         .core_dumped = true,
         .oom = true,
         .stopped_with = 15,
         .returned = true,
         .returned_by = 11,
         .own_pid = 12,
         .lingered = true,
         .killed = true,
         .injected = true,
         .injection = (enum jr_inject)1,
         .injected_code = 3,
         .order = 2,
         .started_ns = 1,
         .ended_ns = 1ULL << 62,
         .heard_ns = 5,
         .max_rss_bytes = 6,
         .cpu_ns = 8,
         .log_errno = 28,
         .dropped = {10, 11}},
        {.end = JR_END_START, .stage = JR_STAGE_EXEC, .start_errno = 2, .exit_code = 1}};
    struct jr_rank_outcome got_ranks[2];
    memset(got_ranks, 0xff, sizeof got_ranks);
    struct jr_outcome outcome = {.started_ns = 1,
                                 .ended_ns = 2,
                                 .started_wall_ns = 3,
                                 .ended_wall_ns = 4,
                                 .timed_out_by = JR_TIMEOUT_SILENCE,
                                 .stop_signal = 15,
                                 .late_signal = 2,
                                 .runner_signal = 9,
                                 .pattern_limits = 4,
                                 .left = 2,
                                 .left_pids = {12, 13},
                                 .start_text = "why",
                                 .count = 2,
                                 .ranks = ranks};
    struct jr_outcome got = {.ranks = got_ranks};
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_outcome_message_add(&text, &outcome);
    CU_ASSERT_EQUAL_FATAL(jr_outcome_message_read(&got, 2, text.data, text.len, NULL), 0);
    CU_ASSERT_EQUAL(got.count, 2);
    CU_ASSERT_EQUAL(got.left_pids[1], 13);
    JR_ASSERT_TEXT(got.start_text, "why");
    struct jr_buf again JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_outcome_message_add(&again, &got);
    JR_ASSERT_TEXT(again.data, text.data);
    CU_ASSERT_EQUAL(got.ranks[0].ended_ns, 1ULL << 62);
    CU_ASSERT_EQUAL(got.ranks[1].stage, JR_STAGE_EXEC);
    CU_ASSERT_EQUAL(got.ranks[1].start_errno, 2);
}

/* What a rank that ended well costs, with numbers as long as they get. */
TEST(is_short_for_most)
{
    struct jr_rank_outcome rank = {.pid = 4194304,
                                   .end = JR_END_EXITED,
                                   .order = 1048576,
                                   .started_ns = 99999999999999,
                                   .ended_ns = 99999999999999,
                                   .heard_ns = 99999999999999,
                                   .max_rss_bytes = 99999999999,
                                   .cpu_ns = 99999999999999};
    struct jr_outcome outcome = {.count = 1, .ranks = &rank};
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_outcome_message_add(&text, &outcome);
    CU_ASSERT_TRUE(text.len < 220);
}

enum { MOST_PIDS = sizeof((struct jr_outcome *)0)->left_pids / sizeof(int32_t) };

/* There may be more processes that could not be killed than are named. */
TEST(names_as_many_processes_as_there_is_room_for)
{
    static const struct {
        uint32_t left;
        size_t named;
    } vectors[] = {{0, 0},
                   {1, 1},
                   {MOST_PIDS - 1, MOST_PIDS - 1},
                   {MOST_PIDS, MOST_PIDS},
                   {MOST_PIDS + 1, MOST_PIDS},
                   {1000, MOST_PIDS}};
    for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) {
        struct jr_outcome got = {0}, outcome = {.left = vectors[v].left};
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        for (size_t i = 0; i < MOST_PIDS; i++)
            outcome.left_pids[i] = (int32_t)(100 + i);
        jr_outcome_message_add(&text, &outcome);
        json_t *json = jr_json_parse(text.data, text.len, NULL);
        CU_ASSERT_EQUAL(json_array_size(json_object_get(json, "left_pids")), vectors[v].named);
        json_decref(json);
        CU_ASSERT_EQUAL(jr_outcome_message_read(&got, 0, text.data, text.len, NULL), 0);
        CU_ASSERT_EQUAL(got.left, vectors[v].left);
        for (size_t i = 0; i < MOST_PIDS; i++)
            CU_ASSERT_EQUAL(got.left_pids[i], i < vectors[v].named ? (int32_t)(100 + i) : 0);
    }
}

/* A message of another build may name more of them: what is behind them in memory stays as it
 * is. */
TEST(takes_no_more_processes_than_it_has_room_for)
{
    struct jr_outcome got = {0};
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_str(&text, "{\"ranks\": [], \"left_pids\": [7");
    for (unsigned i = 0; i < MOST_PIDS; i++)
        jr_buf_str(&text, ", 7");
    jr_buf_str(&text, "]}");
    CU_ASSERT_EQUAL(jr_outcome_message_read(&got, 0, text.data, text.len, NULL), 0);
    for (size_t i = 0; i < MOST_PIDS; i++)
        CU_ASSERT_EQUAL(got.left_pids[i], 7);
    memset(got.left_pids, 0, sizeof got.left_pids);
    const struct jr_outcome nothing = {0};
    CU_ASSERT_EQUAL(memcmp(&got, &nothing, sizeof got), 0);
}

/* Each text as it stands between the nodes. */
TEST(says_what_is_not_nothing)
{
    static const struct {
        const char *start_text, *expected;
    } vectors[] = {{"", "{\"left_pids\": [], \"ranks\": []}"},
                   {"x", "{\"left_pids\": [], \"start_text\": \"x\", \"ranks\": []}"}};
    for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) {
        struct jr_outcome outcome = {0};
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        (void)snprintf(outcome.start_text, sizeof outcome.start_text, "%s", vectors[v].start_text);
        jr_outcome_message_add(&text, &outcome);
        JR_ASSERT_TEXT(text.data, vectors[v].expected);
    }
    struct jr_error why = {.text = "no"};
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_outcome_message_refuse(&text, &why);
    JR_ASSERT_TEXT(text.data, "{\"error\": \"no\"}");
}
