/* results.json, key by key: what is written is read back as it was, and what another program wrote
 * is read as far as it makes sense. */
#include "record/load_results.h"

#include "fake_run.h"
#include "quoted.h"
#include "record/results_json.h"
#include "store/progress.h"

TEST(what_has_no_ranks_is_refused)
{
    static const char *const vectors[] = {
        "{}", "[]", "7", "null", "{'ranks': {}}", "{'ranks': null}", "{'ranks': 'x'}"};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct jr_loaded_run loaded;
        struct jr_error err = {0};
        CU_ASSERT_EQUAL(jr_loaded_run_read(&loaded, json_of(vectors[i]), &err), -1);
        JR_ASSERT_TEXT(err.text, "results.json is not in the form that jobrun writes");
    }
}

/* One rank's object; what is read of it is printed. */
struct vector {
    const char *rank, *expected;
};

static void check_rank(const struct vector *vector)
{
    struct jr_loaded_run loaded;
    struct jr_error err = {0};
    char text[512];
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    (void)snprintf(text, sizeof text, "{'attempt': 2, 'ranks': [%s]}", vector->rank);
    CU_ASSERT_EQUAL_FATAL(jr_loaded_run_read(&loaded, json_of(text), &err), 0);
    const struct jr_plan_rank *plan = &loaded.plan.ranks[0];
    const struct jr_rank_judgement *report = &loaded.report.ranks[0];
    jr_buf_printf(&out, "%u %u %u %s, %s, %u/%u/%u, %s %s", plan->rank, plan->local_rank,
                  plan->node_rank, jr_rank_state_word(report->state), plan->dir,
                  loaded.plan.axis_size[0], loaded.plan.axis_size[1], loaded.plan.axis_size[2],
                  report->error == NULL ? "-" : report->error,
                  report->reason == NULL ? "-" : report->reason);
    JR_ASSERT_TEXT(out.data, vector->expected);
    jr_loaded_run_release(&loaded);
}

TEST(ranks_may_say_anything)
{
    static const struct vector vectors[] = {
        {"{}", "0 0 0 failed, attempt_2/0, 1/1/1, - -"},
        {"7", "0 0 0 failed, attempt_2/0, 1/1/1, - -"},
        {"{'rank': -1, 'local_rank': 'x', 'node_rank': 1048576}",
         "0 0 0 failed, attempt_2/0, 1/1/1, - -"},
        {"{'rank': 4294967296, 'state': 'odd'}", "0 0 0 failed, attempt_2/0, 1/1/1, - -"},
        {"{'rank': 7, 'local_rank': 3, 'node_rank': 1048575}",
         "7 3 1048575 failed, attempt_2/7, 1/1/1, - -"},
        {"{'rank': 7, 'folder': 'node_1/attempt_0/7'}",
         "7 0 0 failed, node_1/attempt_0/7, 1/1/1, - -"},
        {"{'state': 'succeeded'}", "0 0 0 succeeded, attempt_2/0, 1/1/1, - -"},
        {"{'state': 'not_started'}", "0 0 0 not_started, attempt_2/0, 1/1/1, - -"},
        {"{'coordinates': {'model': 1, 'pipeline': 0, 'data': 3}}",
         "0 0 0 failed, attempt_2/0, 2/1/4, - -"},
        {"{'coordinates': {'model': 1048576, 'data': -3}}",
         "0 0 0 failed, attempt_2/0, 1/1/1, - -"},
        {"{'error': 'E: x', 'result_error': null}", "0 0 0 failed, attempt_2/0, 1/1/1, E: x -"},
        {"{'error': 'not written', 'result_error': 'missing'}",
         "0 0 0 failed, attempt_2/0, 1/1/1, - not written"},
        {"{'error': 'E: x', 'result_error': 'odd'}", "0 0 0 failed, attempt_2/0, 1/1/1, E: x -"}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++)
        check_rank(&vectors[i]);
}

/* What is read of these results, as it is written again. */
static void check_read(const char *results, const char *expected)
{
    struct jr_loaded_run loaded;
    struct jr_error err = {0};
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    CU_ASSERT_EQUAL_FATAL(jr_loaded_run_read(&loaded, json_of(results), &err), 0);
    jr_judgement_json(&text, &loaded.report, &loaded.plan, &loaded.outcome, NULL);
    JSON *again = jr_json_parse(text.data, text.len, NULL);
    check_values(again, expected);
    jr_loaded_run_release(&loaded);
}

TEST(numbers_of_the_run_are_bounded)
{
    check_read("{'attempt': -1, 'exit_code': 256, 'processes_left': -1, 'ranks': []}",
               "attempt 0 | exit_code 0 | processes_left 0 | status 'failed'");
    check_read("{'attempt': 3, 'exit_code': 255, 'processes_left': 2, 'ranks': []}",
               "attempt 3 | exit_code 255 | processes_left 2 | status 'failed'");
    check_read("{'status': 'succeeded', 'exit_code': 0, 'ranks': []}",
               "status 'succeeded' | exit_code 0 | root_cause null");
    check_read("{'status': 'failed', 'exit_code': 143, 'ranks': []}",
               "status 'failed' | exit_code 143 | root_cause null");
    check_read("{'status': 'stopped', 'exit_code': 143, 'ranks': []}",
               "status 'stopped' | exit_code 143 | root_cause.signal 'SIGTERM'");
    check_read("{'status': 'Stopped', 'exit_code': '143', 'ranks': []}",
               "status 'failed' | exit_code 0 | root_cause.signal null");
}

TEST(hosts_are_those_of_the_nodes)
{
    check_read("{'ranks': [{'node_rank': 2, 'host': 'c'}, {'node_rank': 0, 'host': 'a'}]}",
               "ranks.0.host 'c' | ranks.0.node_rank 2 | ranks.1.host 'a'");
}

TEST(timeouts_are_read_by_their_words)
{
#define TIMEOUT(by, seconds) "{'timed_out_by': " by ", 'timeout_seconds': " seconds ", 'ranks': []}"
    check_read(TIMEOUT("null", "5"), "timed_out_by null | timeout_seconds null");
    check_read(TIMEOUT("'odd'", "5"), "timed_out_by null | timeout_seconds null");
    check_read(TIMEOUT("'exit'", "5"), "timed_out_by null | timeout_seconds null");
    check_read(TIMEOUT("'start'", "5"), "timed_out_by 'start' | timeout_seconds 5.0");
    check_read(TIMEOUT("'run'", "0.25"), "timed_out_by 'run' | timeout_seconds 0.25");
    check_read(TIMEOUT("'silence'", "60"), "timed_out_by 'silence' | timeout_seconds 60.0");
    check_read(TIMEOUT("'after_first_exit'", "1.5"),
               "timed_out_by 'after_first_exit' | timeout_seconds 1.5");
    check_read(TIMEOUT("'run'", "-3"), "timed_out_by 'run' | timeout_seconds 0.0");
}

/* Of what was compared, the names; and what says how it went on. */
TEST(what_was_compared_is_read)
{
    check_read(
        "{'compared': {'source': 'result.json', 'equal': ['a', 7, 'b'], 'distinct': ['c']}, "
        "'failed_alike': 3, 'not_restarted': 'no progress', 'attempts': [{'attempt': 0}], "
        "'ranks': [{}, {}]}",
        "compared {'source': 'result.json', 'equal': ['a', 'b'], 'distinct': ['c']} | "
        "failed_alike 3 | not_restarted 'no progress' | attempts.0.attempt 0 | attempts.1 -");
    check_read("{'compared': null, 'ranks': []}", "compared null | attempts []");
    check_read("{'ranks': []}", "compared null | attempts []");
}

/* How far a run came, and each of its ranks; a rank's alone says nothing. */
TEST(progress_is_read)
{
#define AT(step, loss)                                                                             \
    "'step': " step ", 'best': 9, 'of': 20, 'rate': 0.5, 'metrics': {'loss': " loss                \
    "}, 'time': null"
    check_read(
        "{'progress': {" AT(
            "7", "0.25") ", 'slowest': {'rank': 1, 'behind': 2}, 'warnings': ['slow', 5]}, "
                         "'ranks': [{'progress': null}, {'progress': {" AT("7", "1.5") "}}, {}]}",
        "progress.step 7 | progress.of 20 | progress.slowest {'rank': 1, 'behind': 2} | "
        "progress.warnings ['slow'] | progress.metrics {'loss': 0.25} | ranks.0.progress - | "
        "ranks.1.progress.step 7 | ranks.1.progress.best 9 | ranks.1.progress.rate 0.5 | "
        "ranks.1.progress.metrics {'loss': 1.5} | ranks.2.progress -");
    check_read("{'progress': null, 'ranks': [{'progress': {" AT("7", "1") "}}]}",
               "progress null | ranks.0.progress -");
    check_read("{'progress': [7], 'ranks': [{'progress': {" AT("7", "1") "}}]}",
               "progress null | ranks.0.progress -");
    check_read("{'ranks': [{'progress': {" AT("7", "1") "}}]}",
               "progress null | ranks.0.progress -");
}

/* Write what was judged, read it, and write that again: not a byte differs. */
static void check_same_again(struct fake *fake)
{
    JR_BUF_CLEANUP struct jr_buf first = JR_BUF_INIT, again = JR_BUF_INIT;
    struct jr_loaded_run loaded;
    struct jr_error err = {0};
    fake_judge(fake);
    jr_judgement_json(&first, &fake->report, &fake->plan, &fake->outcome, NULL);
    fake_write(fake, "results.json", first.data);
    CU_ASSERT_EQUAL_FATAL(
        jr_loaded_run_load(&loaded, fake->fd, "results.json", "runs", "exp1", &err), 0);
    jr_judgement_json(&again, &loaded.report, &loaded.plan, &loaded.outcome, NULL);
    JR_ASSERT_TEXT(again.data, first.data);
    JR_ASSERT_TEXT(loaded.plan.own_dir, "runs/exp1");
    jr_loaded_run_release(&loaded);
    fake_end(fake);
}

TEST(a_success_is_read_as_it_was_written)
{
    FAKE(fake, 3);
    fake_write_rank(&fake, 0, "result.json", jq("{'b': [1, null], 'a': 0.1}"));
    fake.ranks[1].device = "GPU-5";
    fake.ends[1].max_rss_bytes = 4096;
    fake.ends[1].cpu_ns = 1250000000;
    fake.ends[2].dropped[0] = 7;
    fake.ends[2].returned = true;
    fake.outcome.started_ns = 0;
    check_same_again(&fake);
}

TEST(failures_are_read_as_they_were_written)
{
    FAKE_ENDS(fake, "0 S11 0 0 0");
    fake.ends[1].core_dumped = true;
    fake_exit(&fake, 3, 1);
    fake.ends[3].ended_ns = fake.ends[1].ended_ns;
    fake_stopped(&fake, 0);
    fake.ends[0].killed = true;
    fake.ends[2] = (struct jr_rank_outcome){0};
    fake_exit(&fake, 4, 9);
    fake_write_rank(&fake, 1, "error.json", jq("{'message': 'E: x'}"));
    fake.outcome.left = 2;
    fake.outcome.started_ns = 0;
    check_same_again(&fake);
}

TEST(other_ends_are_read_as_they_were_written)
{
    static const enum jr_timeout timeouts[] = {JR_TIMEOUT_RUN, JR_TIMEOUT_SILENCE,
                                               JR_TIMEOUT_AFTER_FIRST_EXIT};
    struct fake fake;
    for (size_t i = 0; i < 3; i++) {
        fake_ends(&fake, "T T");
        fake.outcome.timed_out_by = timeouts[i];
        fake.policy.timeouts.run_ms = 1500;
        fake.policy.timeouts.silence_ms = 60000;
        fake.policy.timeouts.after_first_exit_ms = 250;
        fake.outcome.started_ns = 0;
        check_same_again(&fake);
    }
    fake_ends(&fake, "T");
    fake.outcome.stop_signal = 15;
    fake.outcome.started_ns = 0;
    check_same_again(&fake);
}

/* A run that went wrong, by the records of any build: three ranks of a second node, which are told
 * by their numbers. */
struct wrong {
    const char *head, *cause, *expected;
};

static void print_wrong(struct jr_buf *out, const struct jr_loaded_run *past)
{
    const struct jr_judgement *report = &past->report;
    jr_buf_str(out, "ranks");
    for (size_t i = 0; i < report->causes_count; i++)
        jr_buf_printf(out, " %u", past->plan.ranks[report->causes[i]].rank);
    for (size_t i = 0; i < past->outcome.count; i++)
        jr_buf_str(out, past->outcome.ranks[i].oom ? " oom" : "");
    jr_buf_printf(out, ", timeout %d, signal %d, guard %d, %s, %s", past->outcome.timed_out_by,
                  past->outcome.runner_signal, past->outcome.guard_pid,
                  report->error == NULL ? "-" : report->error,
                  report->overrun == NULL ? "-" : report->overrun);
}

static void check_wrong(const struct wrong *wrong)
{
    struct jr_loaded_run past;
    struct jr_error err = {0};
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    FAKE(fake, 0);
    fake_write(&fake, "results.json",
               jq(jr_arena_printf(
                   &fake.arena,
                   "{%s, 'root_cause': {%s}, 'ranks': [{'rank': 4}, {'rank': 5}, {'rank': 6}]}",
                   wrong->head, wrong->cause)));
    CU_ASSERT_EQUAL_FATAL(jr_loaded_run_load(&past, fake.fd, "results.json", "runs", "exp1", &err),
                          0);
    print_wrong(&out, &past);
    JR_ASSERT_TEXT(out.data, wrong->expected);
    jr_loaded_run_release(&past);
    CU_ASSERT_TRUE(past.json == NULL && past.report.count == 0);
}

#define FAILED  "'status': 'failed'"
#define HUNG    "'status': 'hung'"
#define TIMED   "'status': 'timed_out'"
#define UNBEGUN "'status': 'launch_failed'"
#define WHY     ", 'message': 'why'"

TEST(the_ranks_that_were_the_cause_are_found)
{
    static const struct wrong vectors[] = {
        {"'status': 'incomplete'", "'kind': 'singletons', 'rank': null" WHY,
         "ranks, timeout 0, signal 0, guard 0, why, -"},
        {FAILED, "'kind': 'stall', 'rank': 5" WHY, "ranks 5, timeout 0, signal 0, guard 0, -, -"},
        {"'status': 'incomplete'", "'kind': 'stall', 'rank': 5" WHY,
         "ranks, timeout 0, signal 0, guard 0, -, -"},
        {FAILED, "'kind': 'nonsense', 'rank': 5" WHY, "ranks, timeout 0, signal 0, guard 0, -, -"},
        {FAILED, "'kind': 'exit', 'rank': 7" WHY, "ranks, timeout 0, signal 0, guard 0, -, -"},
        {FAILED, "'kind': 'exit', 'rank': 0" WHY, "ranks, timeout 0, signal 0, guard 0, -, -"},
        {FAILED, "'kind': 'exit', 'rank': 6" WHY, "ranks 6, timeout 0, signal 0, guard 0, -, -"},
        {FAILED, "'kind': 'signal', 'rank': 5, 'together': [4, 9]" WHY,
         "ranks 5 4, timeout 0, signal 0, guard 0, -, -"},
        {FAILED, "'kind': 'start', 'rank': 4, 'together': [6, 5]" WHY,
         "ranks 4 6 5, timeout 0, signal 0, guard 0, -, -"},
        /* No more than there are ranks, whatever the file says. */
        {FAILED, "'kind': 'exit', 'rank': 4, 'together': [5, 6, 4, 5]" WHY,
         "ranks 4 5 6, timeout 0, signal 0, guard 0, -, -"},
        {FAILED, "'kind': 'oom', 'rank': 5, 'together': [4]" WHY,
         "ranks 5 4 oom, timeout 0, signal 0, guard 0, -, -"},
        {FAILED, "'kind': 'oom', 'rank': null" WHY, "ranks, timeout 0, signal 0, guard 0, -, -"},
        {UNBEGUN, "'kind': 'lost_node', 'rank': 4" WHY,
         "ranks 4, timeout 0, signal 0, guard 0, -, -"}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++)
        check_wrong(&vectors[i]);
}

/* A cause without a rank is told by its message, or by the signal that ended jobrun. */
TEST(a_cause_may_be_no_rank)
{
    static const struct wrong vectors[] = {
        {UNBEGUN, "'kind': 'start', 'rank': null" WHY,
         "ranks, timeout 0, signal 0, guard 0, why, -"},
        {UNBEGUN, "'kind': 'signal', 'rank': null, 'signal': 'SIGKILL'" WHY,
         "ranks, timeout 0, signal 9, guard 0, -, -"},
        {UNBEGUN ", 'jobrun_killed': {'process': 'guard', 'pid': 7, 'signal': 'SIGKILL'}",
         "'kind': 'signal', 'rank': null, 'signal': 'SIGTERM'" WHY,
         "ranks, timeout 0, signal 0, guard 7, -, -"},
        {UNBEGUN ", 'jobrun_killed': {'process': 'runner', 'pid': null, 'signal': 'SIGSEGV'}",
         "'kind': 'signal', 'rank': null, 'signal': 'SIGTERM'" WHY,
         "ranks, timeout 0, signal 11, guard 0, -, -"},
        {FAILED, "'kind': 'signal', 'rank': null, 'signal': 'SIGKILL'" WHY,
         "ranks, timeout 0, signal 0, guard 0, -, -"},
        {"'status': 'incomplete'", "'kind': 'result', 'rank': null" WHY,
         "ranks, timeout 0, signal 0, guard 0, why, -"},
        {"'status': 'incomplete'", "'kind': 'result', 'rank': 4" WHY,
         "ranks, timeout 0, signal 0, guard 0, -, -"}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++)
        check_wrong(&vectors[i]);
}

/* As a later build may have written it. */
TEST(a_status_that_is_not_known_is_no_success)
{
    static const struct wrong vectors[] = {
        {"'exit_code': 0", "",
         "ranks, timeout 0, signal 0, guard 0, its results.json states no status, -"},
        {"'status': null", "",
         "ranks, timeout 0, signal 0, guard 0, its results.json states no status, -"},
        {"'status': 'paused'", "",
         "ranks, timeout 0, signal 0, guard 0, its results.json has the status 'paused', which "
         "this version of jobrun does not know, -"}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++)
        check_wrong(&vectors[i]);
}

/* Before timed_out_by was written, the message alone said which limit it was. */
TEST(a_limit_may_be_told_by_the_message_alone)
{
    static const struct wrong vectors[] = {
        {HUNG, "'kind': 'hang', 'rank': null" WHY, "ranks, timeout 3, signal 0, guard 0, -, why"},
        {TIMED, "'kind': 'timeout', 'rank': null" WHY,
         "ranks, timeout 4, signal 0, guard 0, -, why"},
        {TIMED, "'kind': 'exit', 'rank': 5" WHY,
         "ranks 5, timeout 4, signal 0, guard 0, -, longer than its timeouts allow"},
        {TIMED ", 'timed_out_by': 'run'", "'kind': 'timeout', 'rank': null" WHY,
         "ranks, timeout 2, signal 0, guard 0, -, longer than timeouts.run"},
        {HUNG ", 'timed_out_by': 'silence'", "'kind': 'hang', 'rank': null" WHY,
         "ranks, timeout 3, signal 0, guard 0, -, no output from any rank for the time "
         "(timeouts.silence)"},
        {FAILED, "'kind': 'timeout', 'rank': null" WHY,
         "ranks, timeout 0, signal 0, guard 0, -, -"}};
    CU_ASSERT_EQUAL(JR_TIMEOUT_RUN, 2);
    CU_ASSERT_EQUAL(JR_TIMEOUT_SILENCE, 3);
    CU_ASSERT_EQUAL(JR_TIMEOUT_AFTER_FIRST_EXIT, 4);
    for (size_t i = 0; i < COUNT_OF(vectors); i++)
        check_wrong(&vectors[i]);
}

/* Where it was raised, and from what, is in the rank's own file: read again for the ranks that are
 * the cause, if results.json says that there is one. */
TEST(exceptions_of_the_cause_are_read_again)
{
    struct fake fake RELEASE(fake_end) = {0};
    struct jr_loaded_run past;
    struct jr_error err = {0};
    fake_start(&fake, 3);
    for (uint32_t i = 0; i < 3; i++)
        fake_write_rank(&fake, i, "error.json",
                        "{\"message\": {\"message\": \"E: x\", \"extraInfo\": {\"py_callstack\": "
                        "\"  File \\\"/x/t.py\\\", line 8, in step\"}}, \"start\": true, "
                        "\"causes\": [{\"how\": \"cause\", \"message\": \"K: y\"}]}");
    fake_write(
        &fake, "results.json",
        "{\"status\": \"failed\", \"root_cause\": {\"kind\": \"exit\", \"rank\": 1, \"together\": "
        "[2]}, \"ranks\": [{\"rank\": 0, \"error_file\": \"attempt_0/0/error.json\"}, {\"rank\": "
        "1, \"error_file\": \"attempt_0/1/error.json\", \"stop_signals\": [\"SIGTERM\"]}, "
        "{\"rank\": 2, \"error_file\": null}]}");
    CU_ASSERT_EQUAL_FATAL(
        jr_loaded_run_load(&past, fake.fd, "results.json", "/r", "exp1/node_0", &err), 0);
    JR_ASSERT_TEXT(past.report.ranks[1].where, "t.py:8 in step");
    JR_ASSERT_TEXT(past.report.ranks[1].behind, "K: y");
    CU_ASSERT_TRUE(past.report.ranks[1].unstarted);
    CU_ASSERT_FALSE(past.report.ranks[2].unstarted);
    CU_ASSERT_PTR_NULL(past.report.ranks[0].where);
    CU_ASSERT_PTR_NULL(past.report.ranks[2].where);
    /* The folder of a node lies in the one of the run. */
    JR_ASSERT_TEXT(past.plan.own_dir, "/r/exp1/node_0");
    JR_ASSERT_TEXT(past.plan.run_dir, "/r/exp1");
    JR_ASSERT_TEXT(past.id, "exp1/node_0");
    jr_loaded_run_release(&past);
}

TEST(what_is_not_there_is_refused)
{
    struct jr_loaded_run past;
    struct jr_error err = {0};
    FAKE(fake, 0);
    CU_ASSERT_EQUAL(jr_loaded_run_load(&past, fake.fd, "results.json", "runs", "exp1", &err), -1);
    fake_write(&fake, "results.json", jq("{'ranks': 7}"));
    CU_ASSERT_EQUAL(jr_loaded_run_load(&past, fake.fd, "results.json", "runs", "exp1", &err), -1);
    JR_ASSERT_TEXT(err.text, "results.json is not in the form that jobrun writes");
}
