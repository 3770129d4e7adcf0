#include <signal.h>

#include "fake_run.h"
#include "quoted.h"
#include "judge/words.h"

TEST(words_and_values)
{
    enum jr_run_status status = JR_RUN_HUNG;
    enum jr_rank_state state = JR_RANK_STOPPED;
    enum jr_result_error error = JR_RESULT_STALE;
    CU_ASSERT_FALSE(jr_run_status_of("Failed", &status));
    CU_ASSERT_FALSE(jr_rank_state_of("", &state));
    CU_ASSERT_FALSE(jr_result_error_of("not json", &error));
    CU_ASSERT_EQUAL(status, JR_RUN_HUNG);
    CU_ASSERT_EQUAL(state, JR_RANK_STOPPED);
    CU_ASSERT_EQUAL(error, JR_RESULT_STALE);
    JR_ASSERT_TEXT(jr_run_status_word(JR_RUN_TIMED_OUT), "timed_out");
    JR_ASSERT_TEXT(jr_rank_state_word(JR_RANK_AFTER_FIRST_FAILURE), "after_first_failure");
    JR_ASSERT_TEXT(jr_result_error_word(JR_RESULT_NOT_JSON), "not_json");
    CU_ASSERT_TRUE(jr_run_status_of("timed_out", &status));
    CU_ASSERT_TRUE(jr_rank_state_of("not_started", &state));
    CU_ASSERT_TRUE(jr_result_error_of("field", &error));
    CU_ASSERT_EQUAL(status, JR_RUN_TIMED_OUT);
    CU_ASSERT_EQUAL(state, JR_RANK_NOT_STARTED);
    CU_ASSERT_EQUAL(error, JR_RESULT_FIELD);
}

TEST(ends_in_words)
{
    static const struct {
        struct jr_rank_outcome rank;
        const char *text;
    } cases[] = {
        {{0}, "was not started"},
        {{.pid = 5}, "was ended with its runner"},
        {{.end = JR_END_START}, "could not start"},
        {{.pid = 5, .end = JR_END_EXITED, .exit_code = 3}, "exited with code 3"},
        {{.pid = 5, .end = JR_END_SIGNALED, .signal = 11}, "died by SIGSEGV"},
        {{.pid = 5, .end = JR_END_SIGNALED, .signal = 6, .core_dumped = true},
         "died by SIGABRT (core dumped)"},
        {{.pid = 5, .end = JR_END_SIGNALED, .signal = 9}, "was killed by SIGKILL, sender unknown"},
        {{.pid = 5, .end = JR_END_SIGNALED, .signal = 9, .killed = true}, "died by SIGKILL"},
        {{.pid = 5, .end = JR_END_SIGNALED, .signal = 9, .stopped_with = 9}, "died by SIGKILL"},
        {{.pid = 5, .end = JR_END_SIGNALED, .signal = 15, .stopped_with = 15}, "died by SIGTERM"},
        {{.pid = 5, .end = JR_END_SIGNALED, .signal = 9, .oom = true},
         "was OOM-killed: the kernel ran out of memory"},
        {{.pid = 5, .end = JR_END_LOST}, "was lost with its node"},
        {{.pid = 5, .end = JR_END_EXITED, .mpi = JR_MPI_PART_BROKEN},
         "broke the protocol of MPI's process manager"},
        /* What was ordered is not taken for what it looks like. */
        {{.pid = 5, .end = JR_END_SIGNALED, .signal = 9, .oom = true, .injected = true},
         "was killed as if memory had run out, injected"},
        {{.pid = 5, .end = JR_END_SIGNALED, .signal = 9, .injected = true},
         "was killed by SIGKILL, injected"},
        {{.pid = 5, .end = JR_END_EXITED, .exit_code = 7, .injected = true},
         "exited with code 7, injected"},
        {{.pid = 5, .end = JR_END_SIGNALED, .signal = 15, .stopped_with = 15, .injected = true},
         "died by SIGTERM"},
        {{.pid = 5, .end = JR_END_SIGNALED, .signal = 9, .killed = true, .injected = true},
         "died by SIGKILL, injected"},
        /* It had said with which code it would exit. */
        {{.pid = 5, .end = JR_END_SIGNALED, .signal = 15, .stopped_with = 15, .told_code = 3},
         "was exiting with code 3 when it was stopped"},
        {{.pid = 5, .end = JR_END_SIGNALED, .signal = 11, .stopped_with = 15, .told_code = 3},
         "died by SIGSEGV"},
        {{.pid = 5, .end = JR_END_SIGNALED, .signal = 15, .told_code = 3}, "died by SIGTERM"}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
        jr_words_rank_end(&out, &cases[c].rank);
        JR_ASSERT_TEXT(out.data, cases[c].text);
    }
}

TEST(hosts_by_node)
{
    char *hosts[] = {(char *)"gpu07", NULL};
    struct jr_plan plan = {.hosts = hosts, .nodes = 2};
    struct utsname here = {.nodename = "laptop"};
    JR_ASSERT_TEXT(jr_words_host(&plan, 0, &here), "gpu07");
    JR_ASSERT_TEXT(jr_words_host(&plan, 1, &here), "laptop");
    JR_ASSERT_TEXT(jr_words_host(&plan, 9, &here), "laptop");
    plan.hosts = NULL;
    JR_ASSERT_TEXT(jr_words_host(&plan, 0, &here), "laptop");
}

/* Who dies in another way than by what it was sent has crashed; who dies by it was only cut
 * short. */
TEST(tells_crashes_from_stops)
{
    static const struct {
        struct jr_rank_outcome rank;
        bool crashed;
        int cut;
    } cases[] = {
        {{.end = JR_END_SIGNALED, .signal = 11}, false, 0},
        {{.end = JR_END_SIGNALED, .signal = 11, .told_code = 2}, false, 0},
        {{.end = JR_END_SIGNALED, .signal = 11, .stopped_with = 15, .told_code = 2}, true, 0},
        {{.end = JR_END_SIGNALED, .signal = 15, .stopped_with = 15, .told_code = 2}, false, 2},
        {{.end = JR_END_SIGNALED, .signal = 9, .stopped_with = 15, .told_code = 2}, true, 0},
        {{.end = JR_END_SIGNALED, .signal = 9, .stopped_with = 15, .killed = true, .told_code = 2},
         false,
         2},
        {{.end = JR_END_SIGNALED, .signal = 6, .stopped_with = 15, .killed = true, .told_code = 2},
         true,
         0},
        {{.end = JR_END_EXITED, .stopped_with = 15, .told_code = 2}, false, 0}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        CU_ASSERT_EQUAL(jr_words_crashed(&cases[c].rank), cases[c].crashed);
        CU_ASSERT_EQUAL(jr_words_cut_short(&cases[c].rank), cases[c].cut);
    }
}

TEST(tells_what_jobrun_lost)
{
    static const struct {
        struct jr_outcome outcome;
        const char *text;
    } cases[] = {
        {{0}, ""},
        {{.runner_signal = 9}, "jobrun's runner was killed by SIGKILL"},
        {{.runner_signal = 11}, "jobrun's runner was killed by SIGSEGV"},
        {{.guard_pid = 77}, "jobrun's guard (pid 77) was killed"},
        {{.guard_pid = 77, .guard_signal = 9}, "jobrun's guard (pid 77) was killed by SIGKILL"},
        {{.guard_pid = 77, .guard_signal = 15, .runner_signal = 9},
         "jobrun's guard (pid 77) was killed by SIGTERM"}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
        jr_buf_str(&out, "");
        jr_words_lost(&out, &cases[c].outcome);
        JR_ASSERT_TEXT(out.data, cases[c].text);
    }
}

/* The option that a command needs to find the run, where it needs one. */
TEST(names_the_folder_of_the_logs)
{
    static const char *const vectors[][2] = {{"runs/a", ""},
                                             {"a", ""},
                                             {"/a", ""},
                                             {"run/a", " --log-dir 'run'"},
                                             {"runss/a", " --log-dir 'runss'"},
                                             {"sub/runs/a", " --log-dir 'sub/runs'"},
                                             {"/exp/runs/a", " --log-dir '/exp/runs'"},
                                             {"x\033y/a", " --log-dir 'x\\x1by'"}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
        jr_buf_str(&out, "");
        jr_words_log_dir(&out, vectors[i][0]);
        JR_ASSERT_TEXT(out.data, vectors[i][1]);
    }
}

TEST(counts_ranks_and_seconds)
{
    static const uint32_t ranks[] = {1, 2, 3, 7};
    static const struct {
        size_t count;
        const char *text;
    } cases[] = {{1, "rank 1"}, {2, "ranks 1-2"}, {4, "ranks 1-3,7"}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
        jr_words_ranks(&out, ranks, cases[c].count);
        JR_ASSERT_TEXT(out.data, cases[c].text);
    }
    CU_ASSERT_EQUAL(jr_words_wall(0), 0);
    CU_ASSERT_EQUAL(jr_words_wall(999999), 0);
    CU_ASSERT_EQUAL(jr_words_wall(1000000), 0.001);
    CU_ASSERT_EQUAL(jr_words_wall(1999999), 0.001);
    CU_ASSERT_EQUAL(jr_words_wall(1234567890), 1.234);
    JR_ASSERT_TEXT(jr_words_axis(JR_AXIS_MODEL), "model");
    JR_ASSERT_TEXT(jr_words_axis(JR_AXIS_DATA), "data");
}

TEST(causes_of_requeues)
{
    static const struct {
        enum jr_requeue_cause cause;
        const char *word, *told;
    } rows[] = {{JR_REQUEUE_NONE, NULL, "stopped"},
                {JR_REQUEUE_DEADLINE, "deadline", "stopped for the deadline"},
                {JR_REQUEUE_PREEMPTED, "preempted", "was preempted"},
                {JR_REQUEUE_LOST_NODE, "lost_node", "lost a node"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        const struct jr_outcome whole = {0};
        jr_words_yield(&text, rows[i].cause, &whole);
        JR_ASSERT_TEXT(text.data, rows[i].told);
        if (rows[i].word == NULL)
            CU_ASSERT_PTR_NULL(jr_requeue_word(rows[i].cause))
        else
            JR_ASSERT_TEXT(jr_requeue_word(rows[i].cause), rows[i].word);
        CU_ASSERT_EQUAL(jr_requeue_of(rows[i].word), rows[i].cause);
    }
    CU_ASSERT_EQUAL(jr_requeue_of("preemption"), JR_REQUEUE_NONE);
}
