/* Earlier attempts, written and read back. */
#include "record/earlier_attempts.h"

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
     .wait_ms = 1500},
    {.number = 1,
     .status = JR_RUN_HUNG,
     .exit_code = 6,
     .cause = NULL,
     .started_ns = 5 * FAKE_SECOND,
     .ended_ns = 5 * FAKE_SECOND,
     .started_wall_ns = FAKE_WALL + 4 * FAKE_SECOND},
};

static void attempts_are_written(void)
{
    static const char *const expected[] = {
        "[]",
        "[{\"attempt\": 0, \"status\": \"failed\", \"exit_code\": 3, "
        "\"started\": 1800000000.001, \"seconds\": 2.5, \"cause\": \"rank 3 "
        "\\\"exited\\\"\", \"wait\": 1.5}]",
        "[{\"attempt\": 0, \"status\": \"failed\", \"exit_code\": 3, "
        "\"started\": 1800000000.001, \"seconds\": 2.5, \"cause\": \"rank 3 "
        "\\\"exited\\\"\", \"wait\": 1.5}, {\"attempt\": 1, \"status\": "
        "\"hung\", \"exit_code\": 6, \"started\": 1800000004.0, "
        "\"seconds\": 0.0, \"cause\": null, \"wait\": 0.0}]",
    };
    for (size_t count = 0; count < 3; count++) {
        struct jr_judgement report = {.earlier = attempts,
                                      .earlier_count = count};
        struct jr_buf text = JR_BUF_INIT;
        jr_earlier_json(&text, &report);
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
        struct jr_judgement report = {.earlier_count = 7};
        json_t *json = parse(vectors[i]);
        jr_earlier_load(&report, &report.arena, json);
        CU_ASSERT_EQUAL(report.earlier_count, 0);
        jr_arena_release(&report.arena);
        json_decref(json);
    }
}

static void entries_may_be_anything(void)
{
    struct jr_judgement report = {0};
    json_t *json = parse("[7, {\"attempt\": -1, \"status\": \"odd\", "
                         "\"started\": \"x\", \"seconds\": -3, \"cause\": 5}]");
    jr_earlier_load(&report, &report.arena, json);
    CU_ASSERT_EQUAL_FATAL(report.earlier_count, 2);
    for (size_t i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(report.earlier[i].number, 0);
        CU_ASSERT_EQUAL(report.earlier[i].started_wall_ns, 0);
        CU_ASSERT_EQUAL(report.earlier[i].ended_ns, 0);
        JR_ASSERT_TEXT(report.earlier[i].cause, "");
    }
    jr_arena_release(&report.arena);
    json_decref(json);
}

static void attempts_are_read_as_they_were_written(void)
{
    struct jr_judgement report = {.earlier = attempts, .earlier_count = 2};
    struct jr_judgement past = {0};
    struct jr_buf text = JR_BUF_INIT;
    jr_earlier_json(&text, &report);
    json_t *json = parse(text.data);
    jr_earlier_load(&past, &past.arena, json);
    CU_ASSERT_EQUAL_FATAL(past.earlier_count, 2);
    CU_ASSERT_EQUAL(past.earlier[1].number, 1);
    CU_ASSERT_EQUAL(past.earlier[0].status, JR_RUN_FAILED);
    CU_ASSERT_EQUAL(past.earlier[1].status, JR_RUN_HUNG);
    JR_ASSERT_TEXT(past.earlier[0].cause, "rank 3 \"exited\"");
    JR_ASSERT_TEXT(past.earlier[1].cause, "");
    CU_ASSERT_EQUAL(past.earlier[0].ended_ns, 2500000000);
    CU_ASSERT_EQUAL(past.earlier[0].started_ns, 0);
    CU_ASSERT_EQUAL(past.earlier[0].started_wall_ns / 1000000,
                    UINT64_C(1800000000001));
    jr_arena_release(&past.arena);
    json_decref(json);
    jr_buf_release(&text);
}

/* The run began with its first attempt. */
static void the_run_began_with_its_first_attempt(void)
{
    struct jr_outcome outcome = {.started_ns = 9, .started_wall_ns = 99};
    struct jr_judgement report = {0};
    CU_ASSERT_EQUAL(jr_judgement_began_ns(&report, &outcome), 9);
    CU_ASSERT_EQUAL(jr_judgement_began_wall_ns(&report, &outcome), 99);
    report.earlier = attempts;
    report.earlier_count = 2;
    CU_ASSERT_EQUAL(jr_judgement_began_ns(&report, &outcome), FAKE_SECOND);
    CU_ASSERT_EQUAL(jr_judgement_began_wall_ns(&report, &outcome),
                    FAKE_WALL + 1999999);
}

JR_UNIT_MAIN("earlier_attempts", CASE(attempts_are_written),
             CASE(what_is_no_list_holds_no_attempts),
             CASE(entries_may_be_anything),
             CASE(attempts_are_read_as_they_were_written),
             CASE(the_run_began_with_its_first_attempt))
