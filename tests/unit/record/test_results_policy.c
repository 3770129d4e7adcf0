/* Earlier attempts in results.json, written and read back. */
#include "record/results_json.h"

#include "fake_run.h"
#include "quoted.h"
#include "judge/restart.h"
#include "record/load_results.h"

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

static json_t *parse(const char *text)
{
    json_t *json = jr_json_parse(text, strlen(text), NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    return json;
}

/* The member of results.json is that. The fake is over. */
static void check_written(struct fake *fake, const char *key, const char *expected)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT, member JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_judgement_json(&text, &fake->report, &fake->plan, &fake->outcome, NULL);
    json_t *results = parse(text.data);
    jr_json_print(&member, json_object_get(results, key), 0);
    JR_ASSERT_TEXT(member.data, expected);
    json_decref(results);
    fake_end(fake);
}

static void start_judged(struct fake *fake)
{
    fake_start(fake, 1);
    fake_judge(fake);
}

/* Results without ranks, whose member that is. */
static void read_member(struct jr_loaded_run *ret, const char *key, const char *value)
{
    json_t *results = json_pack("{s:[], s:o}", "ranks", key, parse(value));
    CU_ASSERT_EQUAL_FATAL(jr_loaded_run_read(ret, results, NULL), 0);
}

TEST(attempts_are_written)
{
    static const char *const expected[] = {
        "[]",
        "[{\"attempt\": 0, \"status\": \"failed\", \"exit_code\": 3, \"started\": 1800000000.001, "
        "\"seconds\": 2.5, \"cause\": \"rank 3 \\\"exited\\\"\", \"wait\": 1.5, \"step\": -7, "
        "\"requeued\": null}]",
        "[{\"attempt\": 0, \"status\": \"failed\", \"exit_code\": 3, \"started\": 1800000000.001, "
        "\"seconds\": 2.5, \"cause\": \"rank 3 \\\"exited\\\"\", \"wait\": 1.5, \"step\": -7, "
        "\"requeued\": null}, {\"attempt\": 1, \"status\": \"hung\", \"exit_code\": 6, "
        "\"started\": 1800000004.0, \"seconds\": 0.0, \"cause\": null, \"wait\": 0.0, \"step\": "
        "null, \"requeued\": \"preempted\"}]",
    };
    for (size_t count = 0; count < 3; count++) {
        struct fake fake;
        start_judged(&fake);
        fake.report.earlier = attempts;
        fake.report.earlier_count = count;
        check_written(&fake, "attempts", expected[count]);
    }
}

TEST(what_is_no_list_holds_no_attempts)
{
    static const char *const vectors[] = {"null", "{}", "7", "\"x\"", "[]"};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct jr_loaded_run loaded;
        read_member(&loaded, "attempts", vectors[i]);
        CU_ASSERT_EQUAL(loaded.report.earlier_count, 0);
        jr_loaded_run_release(&loaded);
    }
}

TEST(entries_may_be_anything)
{
    struct jr_loaded_run loaded;
    read_member(&loaded, "attempts",
                "[7, {\"attempt\": -1, \"status\": \"odd\", \"started\": \"x\", \"seconds\": -3, "
                "\"cause\": 5}]");
    CU_ASSERT_EQUAL_FATAL(loaded.report.earlier_count, 2);
    for (size_t i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(loaded.report.earlier[i].number, 0);
        CU_ASSERT_EQUAL(loaded.report.earlier[i].started_wall_ns, 0);
        CU_ASSERT_EQUAL(loaded.report.earlier[i].ended_ns, 0);
        JR_ASSERT_TEXT(loaded.report.earlier[i].cause, "");
    }
    jr_loaded_run_release(&loaded);
}

TEST(attempts_are_read_as_they_were_written)
{
    struct jr_loaded_run loaded;
    read_member(&loaded, "attempts",
                "[{\"attempt\": 0, \"status\": \"failed\", \"exit_code\": 3, \"started\": "
                "1800000000.001, \"seconds\": 2.5, \"cause\": \"rank 3\", \"wait\": 1.5, \"step\": "
                "-7, \"requeued\": null}, {\"attempt\": 1, \"status\": \"hung\", \"exit_code\": 6, "
                "\"started\": 1800000004.0, \"seconds\": 0.0, \"cause\": null, \"wait\": 0.0, "
                "\"step\": null, \"requeued\": \"preempted\"}]");
    CU_ASSERT_EQUAL_FATAL(loaded.report.earlier_count, 2);
    const struct jr_attempt *first = &loaded.report.earlier[0], *second = first + 1;
    CU_ASSERT_EQUAL(second->number, 1);
    CU_ASSERT_EQUAL(first->status, JR_RUN_FAILED);
    CU_ASSERT_EQUAL(second->status, JR_RUN_HUNG);
    JR_ASSERT_TEXT(first->cause, "rank 3");
    JR_ASSERT_TEXT(second->cause, "");
    CU_ASSERT_EQUAL(first->ended_ns, 2500000000);
    CU_ASSERT_EQUAL(first->exit_code, 3);
    CU_ASSERT_EQUAL(first->wait_ms, 1500);
    CU_ASSERT_TRUE(first->stepped);
    CU_ASSERT_EQUAL(first->best, -7);
    CU_ASSERT_FALSE(first->requeued);
    CU_ASSERT_FALSE(second->stepped);
    CU_ASSERT_TRUE(second->requeued);
    CU_ASSERT_EQUAL(second->continues, JR_REQUEUE_PREEMPTED);
    CU_ASSERT_EQUAL(first->started_ns, 0);
    CU_ASSERT_EQUAL(first->started_wall_ns / 1000000, UINT64_C(1800000000001));
    jr_loaded_run_release(&loaded);
}

/* Nothing is said of a job that is over and was never to be continued. */
TEST(requeues_are_written_and_read)
{
    static const struct {
        struct jr_requeue_state state;
        const char *text;
    } vectors[] = {
        {{JR_REQUEUE_NONE, 0, 20, false}, "null"},
        {{JR_REQUEUE_DEADLINE, 0, 0, true},
         "{\"cause\": \"deadline\", \"requeues\": 0, \"max\": 0, \"queued\": true}"},
        {{JR_REQUEUE_NONE, 3, 20, false},
         "{\"cause\": null, \"requeues\": 3, \"max\": 20, \"queued\": false}"},
    };
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct fake fake;
        struct jr_loaded_run loaded;
        start_judged(&fake);
        fake.report.requeue = vectors[i].state;
        check_written(&fake, "requeue", vectors[i].text);
        read_member(&loaded, "requeue", vectors[i].text);
        CU_ASSERT_EQUAL(loaded.report.requeue.cause, vectors[i].state.cause);
        CU_ASSERT_EQUAL(loaded.report.requeue.done, vectors[i].state.done);
        CU_ASSERT_EQUAL(loaded.report.requeue.queued, vectors[i].state.queued);
        jr_loaded_run_release(&loaded);
    }
}

/* A job that got no further: after how many attempts, and where it was. */
TEST(stalls_are_written_and_read)
{
    static const struct {
        struct jr_stall stall;
        const char *text;
    } vectors[] = {
        {{0}, "null"},
        {{.attempts = 3, .stepped = true, .step = 120}, "{\"attempts\": 3, \"step\": 120}"},
        {{.attempts = 2}, "{\"attempts\": 2, \"step\": null}"},
    };
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct fake fake;
        struct jr_loaded_run loaded;
        start_judged(&fake);
        fake.report.stall = vectors[i].stall;
        check_written(&fake, "stall", vectors[i].text);
        read_member(&loaded, "stall", vectors[i].text);
        CU_ASSERT_EQUAL(loaded.report.stall.attempts, vectors[i].stall.attempts);
        CU_ASSERT_EQUAL(loaded.report.stall.stepped, vectors[i].stall.stepped);
        CU_ASSERT_EQUAL(loaded.report.stall.step, vectors[i].stall.step);
        jr_loaded_run_release(&loaded);
    }
}

/* The machines in whose place a spare is, with the reason of each. */
TEST(machines_that_are_left_out_are_written_and_read)
{
    static const struct jr_lost_machine machines[] = {{"n1", "no \"GPU\""}, {"n2", "gone"}};
    static const char *const texts[] = {"[]",
                                        "[{\"host\": \"n1\", \"reason\": \"no \\\"GPU\\\"\"}]",
                                        "[{\"host\": \"n1\", \"reason\": \"no \\\"GPU\\\"\"}, "
                                        "{\"host\": \"n2\", \"reason\": \"gone\"}]"};
    struct jr_loaded_run loaded;
    for (uint32_t count = 0; count < 3; count++) {
        struct fake fake;
        start_judged(&fake);
        fake.report.left_out = machines;
        fake.report.left_out_count = count;
        check_written(&fake, "left_out", texts[count]);
        read_member(&loaded, "left_out", texts[count]);
        CU_ASSERT_EQUAL_FATAL(loaded.report.left_out_count, count);
        for (uint32_t i = 0; i < count; i++) {
            JR_ASSERT_TEXT(loaded.report.left_out[i].host, machines[i].host);
            JR_ASSERT_TEXT(loaded.report.left_out[i].reason, machines[i].reason);
        }
        jr_loaded_run_release(&loaded);
    }
    read_member(&loaded, "left_out", "[{}, 7]");
    CU_ASSERT_EQUAL_FATAL(loaded.report.left_out_count, 2);
    JR_ASSERT_TEXT(loaded.report.left_out[0].host, "");
    JR_ASSERT_TEXT(loaded.report.left_out[1].reason, "");
    jr_loaded_run_release(&loaded);
}

/* Each limit in seconds, where the run came to it. */
TEST(the_limit_is_that_of_the_timeout)
{
    static const struct {
        enum jr_timeout by;
        const char *text;
    } vectors[] = {
        {JR_TIMEOUT_NONE, "null"},    {JR_TIMEOUT_RUN, "1.5"},
        {JR_TIMEOUT_SILENCE, "2.5"},  {JR_TIMEOUT_AFTER_FIRST_EXIT, "3.5"},
        {JR_TIMEOUT_PROGRESS, "4.5"}, {JR_TIMEOUT_FIRST_STEP, "5.5"},
        {JR_TIMEOUT_START, "6.5"},
    };
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct fake fake;
        start_judged(&fake);
        fake.policy.timeouts = (struct jr_timeouts){.run_ms = 1500,
                                                    .silence_ms = 2500,
                                                    .after_first_exit_ms = 3500,
                                                    .progress_ms = 4500,
                                                    .first_step_ms = 5500,
                                                    .start_ms = 6500};
        fake.outcome.timed_out_by = vectors[i].by;
        check_written(&fake, "timeout_seconds", vectors[i].text);
    }
}
