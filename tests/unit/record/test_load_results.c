/* results.json, key by key: what is written is read back as it was, and what
 * another program wrote is read as far as it makes sense. */
#include "record/load_results.h"

#include "fake_run.h"
#include "record/results_json.h"

static json_t *parse(const char *text)
{
    struct jr_error err = {0};
    json_t *json = jr_json_parse(text, strlen(text), &err);
    if (json == NULL)
        printf("\n    %s\n    %s", err.text, text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    return json;
}

static void what_has_no_ranks_is_refused(void)
{
    static const char *const vectors[] = {"{}",
                                          "[]",
                                          "7",
                                          "null",
                                          "{\"ranks\": {}}",
                                          "{\"ranks\": null}",
                                          "{\"ranks\": \"x\"}"};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_loaded_run past;
        struct jr_error err = {0};
        CU_ASSERT_EQUAL(jr_loaded_run_read(&past, parse(vectors[i]), &err), -1);
        JR_ASSERT_TEXT(err.text,
                       "results.json is not in the form that jobrun writes");
    }
}

/* One rank's object; what is read of it is printed. */
struct vector {
    const char *rank, *expected;
};

static void check_rank(const struct vector *vector)
{
    struct jr_loaded_run past;
    struct jr_error err = {0};
    char text[512];
    struct jr_buf out = JR_BUF_INIT;
    (void)snprintf(text, sizeof text, "{\"attempt\": 2, \"ranks\": [%s]}",
                   vector->rank);
    CU_ASSERT_EQUAL_FATAL(jr_loaded_run_read(&past, parse(text), &err), 0);
    const struct jr_plan_rank *plan = &past.plan.ranks[0];
    const struct jr_rank_judgement *report = &past.report.ranks[0];
    jr_buf_printf(
        &out, "%u %u %u %s, %s, %u/%u/%u, %s %s", plan->rank, plan->local_rank,
        plan->node_rank, jr_rank_state_word(report->state), plan->dir,
        past.plan.axis_size[0], past.plan.axis_size[1], past.plan.axis_size[2],
        report->error == NULL ? "-" : report->error,
        report->reason == NULL ? "-" : report->reason);
    JR_ASSERT_TEXT(out.data, vector->expected);
    jr_buf_release(&out);
    jr_loaded_run_release(&past);
}

static void ranks_may_say_anything(void)
{
    static const struct vector vectors[] = {
        {"{}", "0 0 0 succeeded, attempt_2/0, 1/1/1, - -"},
        {"7", "0 0 0 succeeded, attempt_2/0, 1/1/1, - -"},
        {"{\"rank\": -1, \"local_rank\": \"x\", \"node_rank\": 1048576}",
         "0 0 0 succeeded, attempt_2/0, 1/1/1, - -"},
        {"{\"rank\": 4294967296, \"state\": \"odd\"}",
         "0 0 0 succeeded, attempt_2/0, 1/1/1, - -"},
        {"{\"rank\": 7, \"local_rank\": 3, \"node_rank\": 1048575}",
         "7 3 1048575 succeeded, attempt_2/7, 1/1/1, - -"},
        {"{\"rank\": 7, \"folder\": \"node_1/attempt_0/7\"}",
         "7 0 0 succeeded, node_1/attempt_0/7, 1/1/1, - -"},
        {"{\"state\": \"not_started\"}",
         "0 0 0 not_started, attempt_2/0, 1/1/1, - -"},
        {"{\"coordinates\": {\"model\": 1, \"pipeline\": 0, \"data\": 3}}",
         "0 0 0 succeeded, attempt_2/0, 2/1/4, - -"},
        {"{\"coordinates\": {\"model\": 1048576, \"data\": -3}}",
         "0 0 0 succeeded, attempt_2/0, 1/1/1, - -"},
        {"{\"error\": \"E: x\", \"result_error\": null}",
         "0 0 0 succeeded, attempt_2/0, 1/1/1, E: x -"},
        {"{\"error\": \"not written\", \"result_error\": \"missing\"}",
         "0 0 0 succeeded, attempt_2/0, 1/1/1, - not written"},
        {"{\"error\": \"E: x\", \"result_error\": \"odd\"}",
         "0 0 0 succeeded, attempt_2/0, 1/1/1, E: x -"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        check_rank(&vectors[i]);
}

static void numbers_of_the_run_are_bounded(void)
{
    static const struct {
        const char *head;
        uint32_t attempt, left;
        int exit_code;
        enum jr_run_status status;
        int stop_signal;
    } vectors[] = {
        {"\"attempt\": -1, \"exit_code\": 256, \"processes_left\": -1", 0, 0, 0,
         JR_RUN_SUCCEEDED, 0},
        {"\"attempt\": 3, \"exit_code\": 255, \"processes_left\": 2", 3, 2, 255,
         JR_RUN_SUCCEEDED, 0},
        {"\"status\": \"failed\", \"exit_code\": 143", 0, 0, 143, JR_RUN_FAILED,
         0},
        {"\"status\": \"stopped\", \"exit_code\": 143", 0, 0, 143,
         JR_RUN_STOPPED, 15},
        {"\"status\": \"Stopped\", \"exit_code\": \"143\"", 0, 0, 0,
         JR_RUN_SUCCEEDED, 0},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_loaded_run past;
        struct jr_error err = {0};
        char text[256];
        (void)snprintf(text, sizeof text, "{%s, \"ranks\": []}",
                       vectors[i].head);
        CU_ASSERT_EQUAL_FATAL(jr_loaded_run_read(&past, parse(text), &err), 0);
        CU_ASSERT_EQUAL(past.plan.attempt, vectors[i].attempt);
        CU_ASSERT_EQUAL(past.outcome.left, vectors[i].left);
        CU_ASSERT_EQUAL(past.report.exit_code, vectors[i].exit_code);
        CU_ASSERT_EQUAL(past.report.status, vectors[i].status);
        CU_ASSERT_EQUAL(past.outcome.stop_signal, vectors[i].stop_signal);
        jr_loaded_run_release(&past);
    }
}

static void hosts_are_those_of_the_nodes(void)
{
    struct jr_loaded_run past;
    struct jr_error err = {0};
    CU_ASSERT_EQUAL_FATAL(
        jr_loaded_run_read(
            &past,
            parse("{\"ranks\": [{\"node_rank\": 2, \"host\": \"c\"}, "
                  "{\"node_rank\": 0, \"host\": \"a\"}]}"),
            &err),
        0);
    CU_ASSERT_EQUAL(past.plan.nodes, 3);
    CU_ASSERT_PTR_NOT_NULL_FATAL(past.plan.hosts);
    JR_ASSERT_TEXT(past.plan.hosts[0], "a");
    CU_ASSERT_PTR_NULL(past.plan.hosts[1]);
    JR_ASSERT_TEXT(past.plan.hosts[2], "c");
    jr_loaded_run_release(&past);
}

static void timeouts_are_read_by_their_words(void)
{
    static const struct {
        const char *head;
        enum jr_timeout by;
        uint64_t start, run, silence, after;
    } vectors[] = {
        {"\"timed_out_by\": null, \"timeout_seconds\": 5", JR_TIMEOUT_NONE, 0,
         0, 0, 0},
        {"\"timed_out_by\": \"odd\", \"timeout_seconds\": 5", JR_TIMEOUT_NONE,
         0, 0, 0, 0},
        {"\"timed_out_by\": \"exit\", \"timeout_seconds\": 5", JR_TIMEOUT_NONE,
         0, 0, 0, 0},
        {"\"timed_out_by\": \"start\", \"timeout_seconds\": 5",
         JR_TIMEOUT_START, 5000, 0, 0, 0},
        {"\"timed_out_by\": \"run\", \"timeout_seconds\": 0.25", JR_TIMEOUT_RUN,
         0, 250, 0, 0},
        {"\"timed_out_by\": \"silence\", \"timeout_seconds\": 60",
         JR_TIMEOUT_SILENCE, 0, 0, 60000, 0},
        {"\"timed_out_by\": \"after_first_exit\", \"timeout_seconds\": 1.5",
         JR_TIMEOUT_AFTER_FIRST_EXIT, 0, 0, 0, 1500},
        {"\"timed_out_by\": \"run\", \"timeout_seconds\": -3", JR_TIMEOUT_RUN,
         0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_loaded_run past;
        struct jr_error err = {0};
        char text[256];
        (void)snprintf(text, sizeof text, "{%s, \"ranks\": []}",
                       vectors[i].head);
        CU_ASSERT_EQUAL_FATAL(jr_loaded_run_read(&past, parse(text), &err), 0);
        CU_ASSERT_EQUAL(past.outcome.timed_out_by, vectors[i].by);
        CU_ASSERT_EQUAL(past.policy.timeouts.start_ms, vectors[i].start);
        CU_ASSERT_EQUAL(past.policy.timeouts.run_ms, vectors[i].run);
        CU_ASSERT_EQUAL(past.policy.timeouts.silence_ms, vectors[i].silence);
        CU_ASSERT_EQUAL(past.policy.timeouts.after_first_exit_ms,
                        vectors[i].after);
        jr_loaded_run_release(&past);
    }
}

/* Write what was judged, read it, and write that again: not a byte differs. */
static void check_same_again(struct fake *fake)
{
    struct jr_buf first = JR_BUF_INIT, again = JR_BUF_INIT;
    struct jr_loaded_run past;
    struct jr_error err = {0};
    fake_judge(fake);
    jr_judgement_json(&first, &fake->report, &fake->plan, &fake->outcome, NULL);
    fake_write(fake, "results.json", first.data);
    CU_ASSERT_EQUAL_FATAL(jr_loaded_run_load(&past, fake->fd, "results.json",
                                             "runs", "exp1", &err),
                          0);
    jr_judgement_json(&again, &past.report, &past.plan, &past.outcome, NULL);
    JR_ASSERT_TEXT(again.data, first.data);
    JR_ASSERT_TEXT(past.plan.own_dir, "runs/exp1");
    jr_loaded_run_release(&past);
    jr_buf_release(&again);
    jr_buf_release(&first);
    fake_end(fake);
}

static void a_success_is_read_as_it_was_written(void)
{
    struct fake fake;
    fake_start(&fake, 3);
    fake_write_rank(&fake, 0, "result.json", "{\"b\": [1, null], \"a\": 0.1}");
    fake.ranks[1].device = "GPU-5";
    fake.ends[1].max_rss_bytes = 4096;
    fake.ends[1].cpu_ns = 1250000000;
    fake.ends[2].dropped[0] = 7;
    fake.ends[2].returned = true;
    fake.outcome.started_ns = 0;
    check_same_again(&fake);
}

static void failures_are_read_as_they_were_written(void)
{
    struct fake fake;
    fake_start(&fake, 5);
    fake_signal(&fake, 1, 11);
    fake.ends[1].core_dumped = true;
    fake_exit(&fake, 3, 1);
    fake.ends[3].ended_ns = fake.ends[1].ended_ns;
    fake_stopped(&fake, 0);
    fake.ends[0].killed = true;
    fake.ends[2] = (struct jr_rank_outcome){0};
    fake_exit(&fake, 4, 9);
    fake_write_rank(&fake, 1, "error.json", "{\"message\": \"E: x\"}");
    fake.outcome.left = 2;
    fake.outcome.started_ns = 0;
    check_same_again(&fake);
}

static void other_ends_are_read_as_they_were_written(void)
{
    static const enum jr_timeout timeouts[] = {
        JR_TIMEOUT_RUN, JR_TIMEOUT_SILENCE, JR_TIMEOUT_AFTER_FIRST_EXIT};
    struct fake fake;
    for (size_t i = 0; i < 3; i++) {
        fake_start(&fake, 2);
        fake_stopped(&fake, 0);
        fake_stopped(&fake, 1);
        fake.outcome.timed_out_by = timeouts[i];
        fake.policy.timeouts.run_ms = 1500;
        fake.policy.timeouts.silence_ms = 60000;
        fake.policy.timeouts.after_first_exit_ms = 250;
        fake.outcome.started_ns = 0;
        check_same_again(&fake);
    }
    fake_start(&fake, 1);
    fake_stopped(&fake, 0);
    fake.outcome.stop_signal = 15;
    fake.outcome.started_ns = 0;
    check_same_again(&fake);
}

JR_UNIT_MAIN("load_results", CASE(what_has_no_ranks_is_refused),
             CASE(ranks_may_say_anything), CASE(numbers_of_the_run_are_bounded),
             CASE(hosts_are_those_of_the_nodes),
             CASE(timeouts_are_read_by_their_words),
             CASE(a_success_is_read_as_it_was_written),
             CASE(failures_are_read_as_they_were_written),
             CASE(other_ends_are_read_as_they_were_written))
