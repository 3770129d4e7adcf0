#include "store/outcome_codec.h"

#include <signal.h>
#include <stdlib.h>

#include "unit.h"

/* Every member has a row: what is in none comes back as 0. */
TEST(the_message_has_every_member)
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

TEST(results_keep_how_it_ended)
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
        CU_ASSERT_TRUE(got.end == ranks[i].end && got.stage == ranks[i].stage);
        CU_ASSERT_TRUE(got.start_errno == ranks[i].start_errno && got.oom == ranks[i].oom);
        CU_ASSERT_TRUE(got.killed == ranks[i].killed && got.injection == ranks[i].injection);
        CU_ASSERT_EQUAL(got.dropped[1], ranks[i].dropped[1]);
    }
}

/* Records of before there were words for it. */
TEST(how_it_ended_is_found_in_old_records)
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
TEST(the_message_has_the_run)
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
    CU_ASSERT_TRUE(got.ended_wall_ns == 4 && got.timed_out_by == JR_TIMEOUT_EXIT);
    CU_ASSERT_TRUE(got.runner_signal == 7 && got.left == 9);
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

/* The value of one key, as JSON. The caller's. */
static char *written_value(const struct jr_rank_outcome *rank, const char *key)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_char(&text, '{');
    jr_outcome_put(&text, rank);
    jr_buf_char(&text, '}');
    json_t *json = jr_json_parse(text.data, text.len, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    json_t *value = json_object_get(json, key);
    CU_ASSERT_PTR_NOT_NULL(value);
    char *one = json_dumps(value, JSON_ENCODE_ANY);
    json_decref(json);
    return one;
}

TEST(stands_in_results_as)
{
    static const struct {
        struct jr_rank_outcome rank;
        const char *key, *want;
    } vectors[] = {
        {{0}, "pid", "null"},
        {{.pid = 7}, "pid", "7"},
        {{0}, "end", "null"},
        {{.end = JR_END_START}, "end", "\"start\""},
        {{.end = JR_END_EXITED}, "end", "\"exited\""},
        {{.end = JR_END_LOST}, "end", "\"lost\""},
        {{0}, "stage", "null"},
        {{.stage = JR_STAGE_CLONE}, "stage", "\"clone\""},
        {{.stage = JR_STAGE_LATE}, "stage", "\"late\""},
        {{.start_errno = 2}, "errno", "2"},
        {{.exit_code = 3}, "exit_code", "null"},
        {{.end = JR_END_EXITED}, "exit_code", "0"},
        {{.end = JR_END_EXITED, .exit_code = 3}, "exit_code", "3"},
        {{.end = JR_END_SIGNALED, .exit_code = 3}, "exit_code", "null"},
        {{.signal = 9}, "signal", "null"},
        {{.end = JR_END_SIGNALED, .signal = 11}, "signal", "\"SIGSEGV\""},
        {{.core_dumped = true}, "core_dumped", "true"},
        {{0}, "core_dumped", "false"},
        {{.oom = true}, "oom", "true"},
        {{0}, "stop_signals", "[]"},
        {{.stopped_with = SIGTERM}, "stop_signals", "[\"SIGTERM\"]"},
        {{.stopped_with = SIGTERM, .killed = true}, "stop_signals", "[\"SIGTERM\", \"SIGKILL\"]"},
        {{.stopped_with = SIGKILL, .killed = true}, "stop_signals", "[\"SIGKILL\"]"},
        {{.killed = true}, "stop_signals", "[\"SIGKILL\"]"},
        {{.injection = JR_INJECT_OOM}, "injected", "null"},
        {{.injected = true, .injection = JR_INJECT_OOM}, "injected", "\"oom\""},
        {{.injected = true, .injection = JR_INJECT_KILL}, "injected", "\"kill\""},
        {{.ended_ns = 5000}, "seconds", "null"},
        {{.pid = 7, .started_ns = 1, .ended_ns = 1500000001}, "seconds", "1.5"},
        {{.pid = 7, .started_ns = 5, .ended_ns = 5}, "seconds", "0.0"},
        {{.pid = 7, .started_ns = 5, .ended_ns = 4}, "seconds", "null"},
        {{.pid = 7, .ended_ns = 1999}, "seconds", "1e-6"},
        {{.max_rss_bytes = 5000000000}, "max_rss_bytes", "5000000000"},
        {{.cpu_ns = 2500000000}, "cpu_seconds", "null"},
        {{.pid = 7, .cpu_ns = 2500000000}, "cpu_seconds", "2.5"},
        {{.dropped = {1, 5000000000}}, "dropped_bytes", "{\"stdout\": 1, \"stderr\": 5000000000}"},
        {{.told_code = 9}, "exiting_with", "9"},
        {{0}, "exiting_with", "null"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char *value = written_value(&vectors[i].rank, vectors[i].key);
        json_t *want = json_loads(vectors[i].want, JSON_DECODE_ANY, NULL);
        json_t *got = json_loads(value, JSON_DECODE_ANY, NULL);
        if (!json_equal(want, got))
            printf("\n    %s of vector %zu is %s", vectors[i].key, i, value);
        CU_ASSERT_TRUE(json_equal(want, got));
        json_decref(want);
        json_decref(got);
        free(value);
    }
}

/* What results.json says, and what is found in it; bad ones first. */
TEST(is_read_as)
{
    static const struct {
        const char *text;
        struct jr_rank_outcome want;
    } vectors[] = {
        {"{\"end\": null}", {0}},
        {"{\"end\": \"nonsense\", \"stage\": 7, \"signal\": 9}", {0}},
        {"{\"end\": null, \"injected\": \"nonsense\"}", {0}},
        {"{\"end\": null, \"stop_signals\": \"SIGTERM\"}", {0}},
        {"{\"end\": null, \"stop_signals\": [\"SIGNONSENSE\"]}", {0}},
        {"{\"end\": null, \"dropped_bytes\": 7}", {0}},
        {"{\"end\": null, \"seconds\": \"1\"}", {0}},
        {"{\"end\": \"start\", \"stage\": \"exec\", \"errno\": 2}",
         {.end = JR_END_START, .stage = JR_STAGE_EXEC, .start_errno = 2}},
        {"{\"end\": \"lost\", \"pid\": 7}", {.end = JR_END_LOST, .pid = 7}},
        {"{\"end\": \"signaled\", \"signal\": \"SIGBUS\", \"core_dumped\": true, \"oom\": true}",
         {.end = JR_END_SIGNALED, .signal = SIGBUS, .core_dumped = true, .oom = true}},
        {"{\"end\": null, \"stop_signals\": [\"SIGINT\", \"SIGKILL\"]}",
         {.stopped_with = SIGINT, .killed = true}},
        {"{\"end\": null, \"stop_signals\": [\"SIGKILL\"]}",
         {.stopped_with = SIGKILL, .killed = true}},
        {"{\"end\": null, \"stop_signals\": [\"SIGINT\"]}", {.stopped_with = SIGINT}},
        {"{\"end\": null, \"injected\": \"kill\"}",
         {.injected = true, .injection = JR_INJECT_KILL}},
        {"{\"end\": null, \"seconds\": 1.5, \"cpu_seconds\": 0.25}",
         {.ended_ns = 1500000000, .cpu_ns = 250000000}},
        {"{\"end\": null, \"dropped_bytes\": {\"stdout\": 3, \"stderr\": 4}, "
         "\"max_rss_bytes\": 5, \"exiting_with\": 6}",
         {.dropped = {3, 4}, .max_rss_bytes = 5, .told_code = 6}},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_rank_outcome got = {0};
        json_t *json = jr_json_parse(vectors[i].text, strlen(vectors[i].text), NULL);
        jr_outcome_get(&got, json);
        json_decref(json);
        json_t *one = jr_outcome_pack_rank(&got), *other = jr_outcome_pack_rank(&vectors[i].want);
        if (!json_equal(one, other))
            printf("\n    vector %zu: %s", i, vectors[i].text);
        CU_ASSERT_TRUE(json_equal(one, other));
        json_decref(one);
        json_decref(other);
    }
}
