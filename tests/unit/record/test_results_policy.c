/* Why a run went on or did not, in results.json: written, and as it was when read back. */
#include "record/results_json.h"

#include "fake_run.h"
#include "quoted.h"
#include "judge/restart.h"
#include "record/load_results.h"

/* The member of results.json is that. */
static void check_member(const struct jr_judgement *report, const struct jr_plan *plan,
                         const struct jr_outcome *outcome, const char *key, const char *expected)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, member = JR_BUF_INIT;
    jr_judgement_json(&text, report, plan, outcome, NULL);
    JSON *results = jr_json_parse(text.data, text.len, NULL);
    jr_json_print(&member, json_object_get(results, key), 0);
    JR_ASSERT_TEXT(member.data, jq(expected));
}

static void check_written(struct fake *fake, const char *key, const char *expected)
{
    check_member(&fake->report, &fake->plan, &fake->outcome, key, expected);
}

/* Of results without ranks, whose member that is, what is written again. */
static void check_read(const char *key, const char *value, const char *expected)
{
    struct jr_loaded_run loaded;
    json_t *results = json_pack("{s:[], s:o}", "ranks", key, json_of(value));
    CU_ASSERT_EQUAL_FATAL(jr_loaded_run_read(&loaded, results, NULL), 0);
    check_member(&loaded.report, &loaded.plan, &loaded.outcome, key, expected);
    jr_loaded_run_release(&loaded);
}

static void check_both(struct fake *fake, const char *key, const char *expected)
{
    check_written(fake, key, expected);
    check_read(key, expected, expected);
}

#define FIRST                                                                                      \
    "{'attempt': 0, 'status': 'failed', 'exit_code': 3, 'started': 1800000000.001, "               \
    "'seconds': 2.5, 'cause': 'rank 3 <exited>', 'wait': 1.5, 'step': -7, 'requeued': null}"
#define SECOND(cause)                                                                              \
    "{'attempt': 1, 'status': 'hung', 'exit_code': 6, 'started': 1800000004.0, 'seconds': 0.0, "   \
    "'cause': " cause ", 'wait': 0.0, 'step': null, 'requeued': 'preempted'}"

/* What had no cause has an empty one when it is read. */
TEST(attempts)
{
    static const struct jr_attempt attempts[] = {{.number = 0,
                                                  .status = JR_RUN_FAILED,
                                                  .exit_code = 3,
                                                  .cause = "rank 3 <exited>",
                                                  .started_ns = FAKE_SECOND,
                                                  .ended_ns = 3 * FAKE_SECOND + FAKE_SECOND / 2,
                                                  .started_wall_ns = FAKE_WALL + 1999999,
                                                  .wait_ms = 1500,
                                                  .stepped = true,
                                                  .best = -7},
                                                 {.number = 1,
                                                  .status = JR_RUN_HUNG,
                                                  .exit_code = 6,
                                                  .started_ns = 5 * FAKE_SECOND,
                                                  .ended_ns = 5 * FAKE_SECOND,
                                                  .started_wall_ns = FAKE_WALL + 4 * FAKE_SECOND,
                                                  .continues = JR_REQUEUE_PREEMPTED,
                                                  .requeued = true}};
    static const char *const expected[] = {"[]", "[" FIRST "]", "[" FIRST ", " SECOND("null") "]"};
    FAKE(fake, 1);
    fake_judge(&fake);
    fake.report.earlier = attempts;
    for (size_t count = 0; count < 3; count++) {
        fake.report.earlier_count = count;
        check_written(&fake, "attempts", expected[count]);
    }
    check_read("attempts", expected[0], expected[0]);
    check_read("attempts", expected[2], "[" FIRST ", " SECOND("''") "]");
}

TEST(attempts_may_be_anything)
{
#define NONE                                                                                       \
    "{'attempt': 0, 'status': 'succeeded', 'exit_code': 0, 'started': 0.0, 'seconds': 0.0, "       \
    "'cause': '', 'wait': 0.0, 'step': null, 'requeued': null}"
    static const char *const no_list[] = {"null", "{}", "7", "'x'", "[]"};
    for (size_t i = 0; i < COUNT_OF(no_list); i++)
        check_read("attempts", no_list[i], "[]");
    check_read("attempts",
               "[7, {'attempt': -1, 'status': 'odd', 'started': 'x', 'seconds': -3, 'cause': 5}]",
               "[" NONE ", " NONE "]");
}

/* Nothing is said of a job that is over and was never to be continued. */
TEST(requeues)
{
    static const struct {
        struct jr_requeue_state state;
        const char *text;
    } vectors[] = {{{JR_REQUEUE_NONE, 0, 20, false}, "null"},
                   {{JR_REQUEUE_DEADLINE, 0, 0, true},
                    "{'cause': 'deadline', 'requeues': 0, 'max': 0, 'queued': true}"},
                   {{JR_REQUEUE_NONE, 3, 20, false},
                    "{'cause': null, 'requeues': 3, 'max': 20, 'queued': false}"}};
    FAKE(fake, 1);
    fake_judge(&fake);
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        fake.report.requeue = vectors[i].state;
        check_both(&fake, "requeue", vectors[i].text);
    }
}

/* A job that got no further: after how many attempts, and where it was. */
TEST(stalls)
{
    static const struct {
        struct jr_stall stall;
        const char *text;
    } vectors[] = {{{0}, "null"},
                   {{.attempts = 3, .stepped = true, .step = 120}, "{'attempts': 3, 'step': 120}"},
                   {{.attempts = 2}, "{'attempts': 2, 'step': null}"}};
    FAKE(fake, 1);
    fake_judge(&fake);
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        fake.report.stall = vectors[i].stall;
        check_both(&fake, "stall", vectors[i].text);
    }
}

/* The machines in whose place a spare is, with the reason of each. */
TEST(machines_that_are_left_out)
{
#define NO_GPU "{'host': 'n1', 'reason': 'no GPU'}"
    static const struct jr_lost_machine machines[] = {{"n1", "no GPU"}, {"n2", "gone"}};
    static const char *const texts[] = {"[]", "[" NO_GPU "]",
                                        "[" NO_GPU ", {'host': 'n2', 'reason': 'gone'}]"};
    FAKE(fake, 1);
    fake_judge(&fake);
    fake.report.left_out = machines;
    for (uint32_t count = 0; count < 3; count++) {
        fake.report.left_out_count = count;
        check_both(&fake, "left_out", texts[count]);
    }
    check_read("left_out", "[{}, 7]", "[{'host': '', 'reason': ''}, {'host': '', 'reason': ''}]");
}

/* Each limit in seconds, where the run came to it. */
TEST(the_limit_is_that_of_the_timeout)
{
    static const struct {
        enum jr_timeout by;
        const char *text;
    } vectors[] = {{JR_TIMEOUT_NONE, "null"},    {JR_TIMEOUT_RUN, "1.5"},
                   {JR_TIMEOUT_SILENCE, "2.5"},  {JR_TIMEOUT_AFTER_FIRST_EXIT, "3.5"},
                   {JR_TIMEOUT_PROGRESS, "4.5"}, {JR_TIMEOUT_FIRST_STEP, "5.5"},
                   {JR_TIMEOUT_START, "6.5"}};
    FAKE(fake, 1);
    fake_judge(&fake);
    fake.policy.timeouts = (struct jr_timeouts){.run_ms = 1500,
                                                .silence_ms = 2500,
                                                .after_first_exit_ms = 3500,
                                                .progress_ms = 4500,
                                                .first_step_ms = 5500,
                                                .start_ms = 6500};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        fake.outcome.timed_out_by = vectors[i].by;
        check_written(&fake, "timeout_seconds", vectors[i].text);
    }
}
