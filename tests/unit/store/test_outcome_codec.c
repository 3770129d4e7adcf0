#include "store/outcome_codec.h"

#include <signal.h>

#include "unit.h"

/* Every member has a row: what is in none comes back as 0. */
static void the_message_has_every_member(void)
{
#if defined(__has_builtin) && __has_builtin(__builtin_clear_padding)
    struct jr_rank_outcome rank, got;
    memset(&rank, 1, sizeof rank);
    memset(&got, 0, sizeof got);
    rank.end = JR_END_LOST;
    rank.stage = JR_STAGE_EXEC;
    rank.injection = JR_INJECT_OOM;
    rank.mpi = JR_MPI_PART_BROKEN;
    rank.clock_offset_ns = 0; /* is of who receives it */
    rank.on_screen = false;   /* the terminal is not the receiver's */
    __builtin_clear_padding(&rank);
    json_t *sent = jr_outcome_pack_rank(&rank);
    CU_ASSERT_EQUAL(jr_outcome_unpack_rank(&got, sent), 0);
    json_decref(sent);
    CU_ASSERT_EQUAL(memcmp(&rank, &got, sizeof rank), 0);
#endif
}

/* Through results.json and back. */
static struct jr_rank_outcome written(const struct jr_rank_outcome *rank)
{
    struct jr_rank_outcome got = {0};
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_char(&text, '{');
    jr_outcome_put(&text, rank);
    jr_buf_char(&text, '}');
    json_t *json = jr_json_parse(text.data, text.len, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    json_t *properties = json_object(), *required = json_array();
    jr_outcome_schema(properties, required);
    CU_ASSERT_EQUAL(json_object_size(json), json_array_size(required));
    for (size_t i = 0; i < json_array_size(required); i++)
        CU_ASSERT_PTR_NOT_NULL(
            json_object_get(json, json_string_value(json_array_get(required, i))));
    json_decref(properties);
    json_decref(required);
    jr_outcome_get(&got, json);
    json_decref(json);
    return got;
}

static void results_keep_how_it_ended(void)
{
    static const struct jr_rank_outcome ranks[] = {
        {0},
        {.pid = 7, .end = JR_END_EXITED, .ended_ns = 1500000},
        {.pid = 7,
         .end = JR_END_EXITED,
         .exit_code = 3,
         .cpu_ns = 2000,
         .max_rss_bytes = 4096,
         .dropped = {1, 5000000000}},
        {.pid = 7, .end = JR_END_SIGNALED, .signal = SIGSEGV, .core_dumped = true},
        {.pid = 7, .end = JR_END_SIGNALED, .signal = SIGKILL, .oom = true},
        {.pid = 7,
         .end = JR_END_SIGNALED,
         .signal = SIGKILL,
         .stopped_with = SIGTERM,
         .killed = true},
        {.pid = 7, .stopped_with = SIGKILL, .killed = true},
        {.end = JR_END_START, .stage = JR_STAGE_EXEC, .start_errno = 2},
        {.end = JR_END_START, .stage = JR_STAGE_LATE},
        {.pid = 7, .end = JR_END_LOST},
        {.pid = 7, .end = JR_END_EXITED, .injected = true, .injection = JR_INJECT_KILL},
        {.pid = 7, .end = JR_END_EXITED, .injected = true, .injection = JR_INJECT_OOM},
    };
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        struct jr_rank_outcome got = written(&ranks[i]);
        struct jr_buf one JR_BUF_CLEANUP = JR_BUF_INIT;
        struct jr_buf other JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_outcome_put(&one, &ranks[i]);
        jr_outcome_put(&other, &got);
        JR_ASSERT_TEXT(other.data, one.data);
        CU_ASSERT_EQUAL(got.end, ranks[i].end);
        CU_ASSERT_EQUAL(got.stage, ranks[i].stage);
        CU_ASSERT_EQUAL(got.start_errno, ranks[i].start_errno);
        CU_ASSERT_EQUAL(got.oom, ranks[i].oom);
        CU_ASSERT_EQUAL(got.killed, ranks[i].killed);
        CU_ASSERT_EQUAL(got.injection, ranks[i].injection);
        CU_ASSERT_EQUAL(got.dropped[1], ranks[i].dropped[1]);
    }
}

/* Records of before there were words for it. */
static void how_it_ended_is_found_in_old_records(void)
{
    static const struct {
        const char *text;
        enum jr_end end;
    } cases[] = {
        {"{\"state\": \"succeeded\", \"pid\": 7, \"exit_code\": 0}", JR_END_EXITED},
        {"{\"state\": \"failed\", \"pid\": 7, \"exit_code\": null, \"signal\": \"SIGKILL\"}",
         JR_END_SIGNALED},
        {"{\"state\": \"failed\", \"pid\": null}", JR_END_START},
        {"{\"state\": \"after_first_failure\", \"pid\": 7}", JR_END_LOST},
        {"{\"state\": \"not_started\", \"pid\": null}", JR_END_NONE},
        {"{\"state\": \"failed\", \"pid\": 7}", JR_END_LOST},
        {"{\"state\": \"stopped\", \"pid\": 7}", JR_END_NONE},
        {"{\"pid\": 7}", JR_END_NONE},
        {"{}", JR_END_START},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct jr_rank_outcome got = {0};
        json_t *json = jr_json_parse(cases[i].text, strlen(cases[i].text), NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(json);
        jr_outcome_get(&got, json);
        CU_ASSERT_EQUAL(got.end, cases[i].end);
        json_decref(json);
    }
}

/* What a node says of all its ranks. */
static void the_message_has_the_run(void)
{
    const struct jr_outcome run = {.started_ns = 1,
                                   .ended_ns = 2,
                                   .started_wall_ns = 3,
                                   .ended_wall_ns = 4,
                                   .timed_out_by = JR_TIMEOUT_EXIT,
                                   .stop_signal = 5,
                                   .late_signal = 6,
                                   .runner_signal = 7,
                                   .pattern_limits = 8,
                                   .left = 9};
    struct jr_outcome got = {0};
    json_t *sent = jr_outcome_pack(&run);
    CU_ASSERT_EQUAL(json_object_size(sent), 10);
    CU_ASSERT_EQUAL(jr_outcome_unpack(&got, sent), 0);
    json_t *again = jr_outcome_pack(&got);
    CU_ASSERT_TRUE(json_equal(sent, again));
    json_decref(again);
    CU_ASSERT_EQUAL(got.ended_wall_ns, 4);
    CU_ASSERT_EQUAL(got.timed_out_by, JR_TIMEOUT_EXIT);
    CU_ASSERT_EQUAL(got.runner_signal, 7);
    CU_ASSERT_EQUAL(got.left, 9);
    /* What is 0 is not sent. */
    json_t *nothing = json_object();
    struct jr_rank_outcome rank = {.pid = 7, .end = JR_END_LOST};
    CU_ASSERT_EQUAL(jr_outcome_unpack(&got, nothing), 0);
    CU_ASSERT_EQUAL(jr_outcome_unpack_rank(&rank, nothing), 0);
    CU_ASSERT_TRUE(got.left == 0 && got.timed_out_by == JR_TIMEOUT_NONE);
    CU_ASSERT_TRUE(rank.pid == 0 && rank.end == JR_END_NONE);
    json_decref(nothing);
    static const int bad[] = {-1, 1000, JR_TIMEOUT_EXIT + 1};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        jr_json_set_int(sent, "timed_out_by", bad[i]);
        CU_ASSERT_EQUAL(jr_outcome_unpack(&got, sent), -1);
    }
    json_decref(sent);
}

JR_UNIT_MAIN("outcome_fields", CASE(the_message_has_the_run), CASE(the_message_has_every_member),
             CASE(results_keep_how_it_ended), CASE(how_it_ended_is_found_in_old_records))
