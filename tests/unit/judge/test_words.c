#include <signal.h>

#include "fake_run.h"
#include "judge/words.h"

static void words_and_values(void)
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
    JR_ASSERT_TEXT(jr_rank_state_word(JR_RANK_AFTER_FIRST_FAILURE),
                   "after_first_failure");
    JR_ASSERT_TEXT(jr_result_error_word(JR_RESULT_NOT_JSON), "not_json");
    CU_ASSERT_TRUE(jr_run_status_of("timed_out", &status));
    CU_ASSERT_TRUE(jr_rank_state_of("not_started", &state));
    CU_ASSERT_TRUE(jr_result_error_of("field", &error));
    CU_ASSERT_EQUAL(status, JR_RUN_TIMED_OUT);
    CU_ASSERT_EQUAL(state, JR_RANK_NOT_STARTED);
    CU_ASSERT_EQUAL(error, JR_RESULT_FIELD);
}

static void ends_in_words(void)
{
    static const struct {
        struct jr_rank_outcome rank;
        const char *text;
    } cases[] = {
        {{0}, "was not started"},
        {{.pid = 5}, "was ended with its runner"},
        {{.end = JR_END_START}, "could not start"},
        {{.pid = 5, .end = JR_END_EXITED, .exit_code = 3},
         "exited with code 3"},
        {{.pid = 5, .end = JR_END_SIGNALED, .signal = 11}, "died by SIGSEGV"},
        {{.pid = 5, .end = JR_END_SIGNALED, .signal = 6, .core_dumped = true},
         "died by SIGABRT (core dumped)"},
        {{.pid = 5, .end = JR_END_SIGNALED, .signal = 9},
         "was killed by SIGKILL, sender unknown"},
        {{.pid = 5, .end = JR_END_SIGNALED, .signal = 9, .killed = true},
         "died by SIGKILL"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct jr_buf out = JR_BUF_INIT;
        jr_words_rank_end(&out, &cases[c].rank);
        JR_ASSERT_TEXT(out.data, cases[c].text);
        jr_buf_release(&out);
    }
}

static void hosts_by_node(void)
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

JR_UNIT_MAIN("words", CASE(words_and_values), CASE(ends_in_words),
             CASE(hosts_by_node))
