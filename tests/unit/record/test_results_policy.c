/* Earlier attempts in results.json, written and read back. */
#include "record/results_policy.h"

#include "fake_run.h"
#include "judge/restart.h"

static const struct jr_attempt attempts[] = {
    {.number = 0,
     .status = JR_RUN_FAILED,
     .exit_code = 3,
     .cause = "rank 3 \"exited\"",
     .started_ns = FAKE_SECOND,
     .ended_ns = 3 * FAKE_SECOND + FAKE_SECOND / 2,
     .started_wall_ns = FAKE_WALL + 1999999,
     .wait_ms = 1500,
     .stepped = true,
     .best = -7},
    {.number = 1,
     .status = JR_RUN_HUNG,
     .exit_code = 6,
     .cause = NULL,
     .started_ns = 5 * FAKE_SECOND,
     .ended_ns = 5 * FAKE_SECOND,
     .started_wall_ns = FAKE_WALL + 4 * FAKE_SECOND,
     .continues = JR_REQUEUE_PREEMPTED,
     .requeued = true},
};

static const struct jr_results_row row = {.key = "attempts"};

/* The member of results.json, with its key. */
static void put(struct jr_buf *out, const struct jr_judgement *report)
{
    const struct jr_results_run run = {.report = report};
    jr_results_put_attempts(out, &row, &run);
}

static void attempts_are_written(void)
{
    static const char *const expected[] = {
        "\"attempts\": []",
        "\"attempts\": [{\"attempt\": 0, \"status\": \"failed\", \"exit_code\": 3, \"started\": "
        "1800000000.001, \"seconds\": 2.5, \"cause\": \"rank 3 \\\"exited\\\"\", \"wait\": 1.5, "
        "\"step\": -7, \"requeued\": null}]",
        "\"attempts\": [{\"attempt\": 0, \"status\": \"failed\", \"exit_code\": 3, \"started\": "
        "1800000000.001, \"seconds\": 2.5, \"cause\": \"rank 3 \\\"exited\\\"\", \"wait\": 1.5, "
        "\"step\": -7, \"requeued\": null}, {\"attempt\": 1, \"status\": \"hung\", \"exit_code\": "
        "6, \"started\": 1800000004.0, \"seconds\": 0.0, \"cause\": null, \"wait\": 0.0, "
        "\"step\": null, \"requeued\": \"preempted\"}]",
    };
    for (size_t count = 0; count < 3; count++) {
        struct jr_judgement report = {.earlier = attempts, .earlier_count = count};
        struct jr_buf text = JR_BUF_INIT;
        put(&text, &report);
        JR_ASSERT_TEXT(text.data, expected[count]);
        jr_buf_release(&text);
    }
}

static json_t *parse(const char *text)
{
    json_t *json = jr_json_parse(text, strlen(text), NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    return json;
}

static void what_is_no_list_holds_no_attempts(void)
{
    static const char *const vectors[] = {"null", "{}", "7", "\"x\"", "[]"};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_loaded_run loaded = {.report.earlier_count = 7};
        json_t *json = parse(vectors[i]);
        jr_results_get_attempts(&loaded, &row, json);
        CU_ASSERT_EQUAL(loaded.report.earlier_count, 0);
        jr_arena_release(&loaded.arena);
        json_decref(json);
    }
}

static void entries_may_be_anything(void)
{
    struct jr_loaded_run loaded = {0};
    json_t *json = parse("[7, {\"attempt\": -1, \"status\": \"odd\", "
                         "\"started\": \"x\", \"seconds\": -3, \"cause\": 5}]");
    jr_results_get_attempts(&loaded, &row, json);
    CU_ASSERT_EQUAL_FATAL(loaded.report.earlier_count, 2);
    for (size_t i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(loaded.report.earlier[i].number, 0);
        CU_ASSERT_EQUAL(loaded.report.earlier[i].started_wall_ns, 0);
        CU_ASSERT_EQUAL(loaded.report.earlier[i].ended_ns, 0);
        JR_ASSERT_TEXT(loaded.report.earlier[i].cause, "");
    }
    jr_arena_release(&loaded.arena);
    json_decref(json);
}

static void attempts_are_read_as_they_were_written(void)
{
    struct jr_judgement report = {.earlier = attempts, .earlier_count = 2};
    struct jr_loaded_run loaded = {0};
    struct jr_buf text = JR_BUF_INIT;
    jr_buf_char(&text, '{');
    put(&text, &report);
    jr_buf_char(&text, '}');
    json_t *json = parse(text.data);
    jr_results_get_attempts(&loaded, &row, json_object_get(json, row.key));
    CU_ASSERT_EQUAL_FATAL(loaded.report.earlier_count, 2);
    CU_ASSERT_EQUAL(loaded.report.earlier[1].number, 1);
    CU_ASSERT_EQUAL(loaded.report.earlier[0].status, JR_RUN_FAILED);
    CU_ASSERT_EQUAL(loaded.report.earlier[1].status, JR_RUN_HUNG);
    JR_ASSERT_TEXT(loaded.report.earlier[0].cause, "rank 3 \"exited\"");
    JR_ASSERT_TEXT(loaded.report.earlier[1].cause, "");
    CU_ASSERT_EQUAL(loaded.report.earlier[0].ended_ns, 2500000000);
    CU_ASSERT_EQUAL(loaded.report.earlier[0].exit_code, 3);
    CU_ASSERT_EQUAL(loaded.report.earlier[0].wait_ms, 1500);
    CU_ASSERT_TRUE(loaded.report.earlier[0].stepped);
    CU_ASSERT_EQUAL(loaded.report.earlier[0].best, -7);
    CU_ASSERT_FALSE(loaded.report.earlier[0].requeued);
    CU_ASSERT_FALSE(loaded.report.earlier[1].stepped);
    CU_ASSERT_TRUE(loaded.report.earlier[1].requeued);
    CU_ASSERT_EQUAL(loaded.report.earlier[1].continues, JR_REQUEUE_PREEMPTED);
    CU_ASSERT_EQUAL(loaded.report.earlier[0].started_ns, 0);
    CU_ASSERT_EQUAL(loaded.report.earlier[0].started_wall_ns / 1000000, UINT64_C(1800000000001));
    jr_arena_release(&loaded.arena);
    json_decref(json);
    jr_buf_release(&text);
}

/* Nothing is said of a job that is over and was never to be continued. */
static void requeues_are_written_and_read(void)
{
    static const struct jr_results_row requeue = {.key = "requeue"};
    static const struct {
        struct jr_requeue_state state;
        const char *text;
    } vectors[] = {
        {{JR_REQUEUE_NONE, 0, 20, false}, "{\"requeue\": null}"},
        {{JR_REQUEUE_DEADLINE, 0, 0, true},
         "{\"requeue\": {\"cause\": \"deadline\", \"requeues\": 0, \"max\": 0, \"queued\": true}}"},
        {{JR_REQUEUE_NONE, 3, 20, false},
         "{\"requeue\": {\"cause\": null, \"requeues\": 3, \"max\": 20, \"queued\": false}}"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const struct jr_judgement report = {.requeue = vectors[i].state};
        const struct jr_results_run run = {.report = &report};
        struct jr_loaded_run loaded = {.report.requeue.done = 9};
        struct jr_buf text = JR_BUF_INIT;
        jr_buf_char(&text, '{');
        jr_results_put_requeue(&text, &requeue, &run);
        jr_buf_char(&text, '}');
        JR_ASSERT_TEXT(text.data, vectors[i].text);
        json_t *json = parse(text.data);
        jr_results_get_requeue(&loaded, &requeue, json_object_get(json, "requeue"));
        CU_ASSERT_EQUAL(loaded.report.requeue.cause, vectors[i].state.cause);
        CU_ASSERT_EQUAL(loaded.report.requeue.done, vectors[i].state.done);
        CU_ASSERT_EQUAL(loaded.report.requeue.queued, vectors[i].state.queued);
        json_decref(json);
        jr_buf_release(&text);
    }
}

/* What a member of a record of one run is, and what is read of it again. */
static json_t *put_member(const struct jr_results_row *member,
                          void (*put_it)(struct jr_buf *, const struct jr_results_row *,
                                         const struct jr_results_run *),
                          const struct jr_results_run *run, const char *expected)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_char(&text, '{');
    put_it(&text, member, run);
    jr_buf_char(&text, '}');
    JR_ASSERT_TEXT(text.data, expected);
    return parse(text.data);
}

/* A job that got no further: after how many attempts, and where it was. */
static void stalls_are_written_and_read(void)
{
    static const struct jr_results_row stall = {.key = "stall"};
    static const struct {
        struct jr_stall stall;
        const char *text;
    } vectors[] = {
        {{0}, "{\"stall\": null}"},
        {{.attempts = 3, .stepped = true, .step = 120},
         "{\"stall\": {\"attempts\": 3, \"step\": 120}}"},
        {{.attempts = 2}, "{\"stall\": {\"attempts\": 2, \"step\": null}}"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const struct jr_judgement report = {.stall = vectors[i].stall};
        const struct jr_results_run run = {.report = &report};
        struct jr_loaded_run loaded = {0};
        json_t *json = put_member(&stall, jr_results_put_stall, &run, vectors[i].text);
        jr_results_get_stall(&loaded, &stall, json_object_get(json, "stall"));
        CU_ASSERT_EQUAL(loaded.report.stall.attempts, vectors[i].stall.attempts);
        CU_ASSERT_EQUAL(loaded.report.stall.stepped, vectors[i].stall.stepped);
        CU_ASSERT_EQUAL(loaded.report.stall.step, vectors[i].stall.step);
        json_decref(json);
    }
}

/* The machines in whose place a spare is, with the reason of each. */
static void machines_that_are_left_out_are_written_and_read(void)
{
    static const struct jr_results_row left_out = {.key = "left_out"};
    static const struct jr_lost_machine machines[] = {{"n1", "no \"GPU\""}, {"n2", "gone"}};
    static const char *const texts[] = {
        "{\"left_out\": []}",
        "{\"left_out\": [{\"host\": \"n1\", \"reason\": \"no \\\"GPU\\\"\"}]}",
        "{\"left_out\": [{\"host\": \"n1\", \"reason\": \"no "
        "\\\"GPU\\\"\"}, {\"host\": \"n2\", \"reason\": \"gone\"}]}"};
    for (uint32_t count = 0; count < 3; count++) {
        const struct jr_judgement report = {.left_out = machines, .left_out_count = count};
        const struct jr_results_run run = {.report = &report};
        struct jr_loaded_run loaded = {0};
        json_t *json = put_member(&left_out, jr_results_put_left_out, &run, texts[count]);
        jr_results_get_left_out(&loaded, &left_out, json_object_get(json, "left_out"));
        CU_ASSERT_EQUAL_FATAL(loaded.report.left_out_count, count);
        for (uint32_t i = 0; i < count; i++) {
            JR_ASSERT_TEXT(loaded.report.left_out[i].host, machines[i].host);
            JR_ASSERT_TEXT(loaded.report.left_out[i].reason, machines[i].reason);
        }
        json_decref(json);
        jr_arena_release(&loaded.arena);
    }
    struct jr_loaded_run loaded = {0};
    json_t *odd = parse("[{}, 7]");
    jr_results_get_left_out(&loaded, &left_out, odd);
    CU_ASSERT_EQUAL_FATAL(loaded.report.left_out_count, 2);
    JR_ASSERT_TEXT(loaded.report.left_out[0].host, "");
    JR_ASSERT_TEXT(loaded.report.left_out[1].reason, "");
    json_decref(odd);
    jr_arena_release(&loaded.arena);
}

/* Each limit in seconds, where the run came to it. */
static void the_limit_is_that_of_the_timeout(void)
{
    static const struct jr_results_row limit = {.key = "limit"};
    static const struct {
        enum jr_timeout by;
        const char *text;
    } vectors[] = {
        {JR_TIMEOUT_NONE, "{\"limit\": null}"},
        {JR_TIMEOUT_RUN, "{\"limit\": 1.5}"},
        {JR_TIMEOUT_SILENCE, "{\"limit\": 2.5}"},
        {JR_TIMEOUT_AFTER_FIRST_EXIT, "{\"limit\": 3.5}"},
        {JR_TIMEOUT_PROGRESS, "{\"limit\": 4.5}"},
        {JR_TIMEOUT_FIRST_STEP, "{\"limit\": 5.5}"},
        {JR_TIMEOUT_START, "{\"limit\": 6.5}"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const struct jr_policy policy = {.timeouts = {.run_ms = 1500,
                                                      .silence_ms = 2500,
                                                      .after_first_exit_ms = 3500,
                                                      .progress_ms = 4500,
                                                      .first_step_ms = 5500,
                                                      .start_ms = 6500}};
        const struct jr_plan plan = {.policy = &policy};
        const struct jr_outcome outcome = {.timed_out_by = vectors[i].by};
        const struct jr_results_run run = {.plan = &plan, .outcome = &outcome};
        json_decref(put_member(&limit, jr_results_put_limit, &run, vectors[i].text));
    }
}

JR_UNIT_MAIN("results_policy", CASE(stalls_are_written_and_read),
             CASE(machines_that_are_left_out_are_written_and_read),
             CASE(the_limit_is_that_of_the_timeout), CASE(requeues_are_written_and_read),
             CASE(attempts_are_written), CASE(what_is_no_list_holds_no_attempts),
             CASE(entries_may_be_anything), CASE(attempts_are_read_as_they_were_written))
