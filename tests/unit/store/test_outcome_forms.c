/* How each member of a rank's outcome stands in results.json, word for word. */
#include "store/outcome_forms.h"

#include <signal.h>
#include <stdlib.h>

#include "store/outcome_codec.h"
#include "unit.h"

/* The value of one key, as JSON. The caller's. */
static char *written(const struct jr_rank_outcome *rank, const char *key)
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

static void stands_in_results_as(void)
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
        char *value = written(&vectors[i].rank, vectors[i].key);
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
static void is_read_as(void)
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

/* Every kind of member, with the values at its ends. */
static void carries_values_of_all_kinds(void)
{
    struct {
        int32_t small;
        uint32_t unsigned_small;
        uint64_t large;
        bool flag;
    } base = {0};
    const struct {
        struct jr_outcome_field field;
        int64_t values[2];
    } vectors[] = {
        {{.kind = JR_OUTCOME_INT32, .at = (size_t)((char *)&base.small - (char *)&base)},
         {INT32_MIN, INT32_MAX}},
        {{.kind = JR_OUTCOME_UINT32, .at = (size_t)((char *)&base.unsigned_small - (char *)&base)},
         {1, UINT32_MAX}},
        {{.kind = JR_OUTCOME_UINT64, .at = (size_t)((char *)&base.large - (char *)&base)},
         {1, INT64_MAX}},
        {{.kind = JR_OUTCOME_BOOL, .at = (size_t)((char *)&base.flag - (char *)&base)}, {0, 1}},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        for (size_t k = 0; k < 2; k++) {
            jr_outcome_store(&base, &vectors[i].field, vectors[i].values[k]);
            CU_ASSERT_EQUAL(jr_outcome_load(&base, &vectors[i].field), vectors[i].values[k]);
        }
    CU_ASSERT_EQUAL(base.small, INT32_MAX);
    CU_ASSERT_EQUAL(base.unsigned_small, UINT32_MAX);
    CU_ASSERT_EQUAL(base.large, INT64_MAX);
    CU_ASSERT_TRUE(base.flag);
}

JR_UNIT_MAIN("outcome_forms", CASE(stands_in_results_as), CASE(is_read_as),
             CASE(carries_values_of_all_kinds))
