#include "fake_run.h"

#include "report/summary.h"

static void expect(struct fake *fake, bool color, const char *expected)
{
    struct jr_buf out = JR_BUF_INIT;
    fake_judge(fake);
    jr_judgement_print(&out, &fake->report, &fake->plan, &fake->outcome,
                       fake->fd, color);
    JR_ASSERT_TEXT(out.data, expected);
    jr_buf_release(&out);
    fake_end(fake);
}

/* Only the first line. */
static void expect_head(struct fake *fake, const char *expected)
{
    struct jr_buf out = JR_BUF_INIT;
    fake_judge(fake);
    jr_judgement_print(&out, &fake->report, &fake->plan, &fake->outcome,
                       fake->fd, false);
    out.data[strcspn(out.data, "\n")] = '\0';
    JR_ASSERT_TEXT(out.data, expected);
    jr_buf_release(&out);
    fake_end(fake);
}

static void success(void)
{
    struct fake fake;
    fake_start(&fake, 2);
    fake_write_rank(&fake, 0, "result.json",
                    "{\"accuracy\": 0.953, \"sha\": \"ab\", \"step\": 7}");
    fake_write_rank(&fake, 1, "result.json",
                    "{\"accuracy\": 0.96125, \"sha\": \"ab\", \"step\": 7}");
    expect(&fake, false,
           "jobrun: succeeded in 10.0 s: 2 of 2 ranks delivered, 0 processes "
           "left\n"
           "        accuracy 0.953 .. 0.96125   sha equal   step 7\n"
           "        runs/20261121-063012-digits-3f9c   (jobrun show "
           "latest)\n");
}

static void success_of_one_rank_without_results(void)
{
    struct fake fake;
    fake_start(&fake, 1);
    fake.outcome.ended_ns = fake.outcome.started_ns + 84000000;
    expect(&fake, true,
           "jobrun: \033[1;32msucceeded\033[0m in 84 ms: 1 of 1 rank exited "
           "with 0, 0 processes left\n"
           "        runs/20261121-063012-digits-3f9c   (jobrun show "
           "latest)\n");
}

static void a_rank_that_failed(void)
{
    struct fake fake;
    fake_start(&fake, 8);
    for (uint32_t i = 0; i < 8; i++)
        fake_stopped(&fake, i);
    fake.ends[3] = fake.ends[0];
    fake.ends[3].pid = 51234;
    fake.ends[3].stopped_with = 0;
    fake.ends[3].end = JR_END_EXITED;
    fake.ends[3].exit_code = 1;
    fake_signal(&fake, 6, 9);
    fake.ends[6].killed = true;
    fake_write_rank(&fake, 3, "error.json",
                    "{\"message\": {\"message\": \"ValueError: loss is NaN\", "
                    "\"extraInfo\": {\"py_callstack\": \"  File "
                    "\\\"train.py\\\", line 88, in step\\n\"}}}");
    fake_write_rank(&fake, 3, "stderr.log",
                    "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n 10%\r 20%\r 30%\n"
                    "\033[2Jlast");
    expect(&fake, false,
           "jobrun: FAILED after 1.0 s: rank 3 exited with code 1             "
           "exit status 1\n"
           "  rank 3   node 0 (gpu07)   local 3   data 3   pid 51234   attempt "
           "0\n"
           "  ValueError: loss is NaN                                       "
           "train.py:88 in step\n"
           "  last lines of stderr:\n"
           "    | 4\n    | 5\n    | 6\n    | 7\n    | 8\n    | 9\n    | 10\n"
           "    | 11\n    |  30%\n    | \\x1b[2Jlast\n"
           "  after it:   ranks 0-2,4-7 stopped by jobrun (SIGTERM; rank 6 "
           "needed SIGKILL)\n"
           "  0 processes left\n"
           "  runs/20261121-063012-digits-3f9c/attempt_0/3/stderr.log       "
           "(jobrun logs latest --rank 3)\n");
}

static void all_kinds_of_others(void)
{
    struct fake fake;
    fake_start(&fake, 7);
    fake.policy.results.stated = true;
    fake_signal(&fake, 0, 11);
    fake.ends[0].core_dumped = true;
    fake_exit(&fake, 1, 1);
    fake.ends[1].ended_ns = fake.ends[0].ended_ns;
    fake_exit(&fake, 2, 2);
    fake_signal(&fake, 3, 9);
    fake_stopped(&fake, 4);
    fake.ends[5] = (struct jr_rank_outcome){0};
    fake.ranks[0].err_path = NULL;
    fake_write_rank(&fake, 0, "stdout.log", "hello\n");
    fake.outcome.left = 2;
    fake.outcome.left_pids[0] = 77;
    fake.outcome.left_pids[1] = 78;
    fake.ends[6].log_errno = 28;
    expect(&fake, true,
           "jobrun: \033[1;31mFAILED\033[0m after 1.0 s: rank 0 died by "
           "SIGSEGV (core dumped)   exit status 1\n"
           "  rank 0   node 0 (gpu07)   local 0   data 0   pid 1000   attempt "
           "0\n"
           "  last lines of stdout:\n"
           "    | hello\n"
           "  together:   rank 1 failed with it, too close to tell which was "
           "first\n"
           "  after it:   rank 4 stopped by jobrun (SIGTERM)\n"
           "              ranks 2-3 failed after the first failure: rank 2 "
           "exited with code 2\n"
           "              rank 6 ended with 0 but did not deliver: result.json "
           "was not written\n"
           "              rank 5 not started\n"
           "  try:        --debug 0 gives this rank a terminal of its own, for "
           "gdb or pdb\n"
           "  the logs of rank 6 are incomplete: No space left on device\n"
           "  2 processes could not be ended: pid 77, 78\n"
           "  runs/20261121-063012-digits-3f9c/attempt_0/0/stdout.log       "
           "(jobrun logs latest --rank 0)\n");
}

static void incomplete(void)
{
    struct jr_result_field field = {.name = (char *)"\033[31mx",
                                    .required = true};
    struct fake fake;
    fake_start(&fake, 8);
    fake.policy.results.stated = true;
    fake.policy.results.fields = &field;
    fake.policy.results.fields_count = 1;
    for (uint32_t i = 0; i < 7; i++)
        fake_write_rank(&fake, i, "result.json", "{\"\\u001b[31mx\": 1}");
    fake_write_rank(&fake, 5, "result.json", "{}");
    expect(
        &fake, false,
        "jobrun: INCOMPLETE: every rank exited with 0, but 2 of 8 did not "
        "deliver   exit status 5\n"
        "  rank 5    result.json has no '\\x1b[31mx'\n"
        "  rank 7    result.json was not written\n"
        "  0 processes left\n"
        "  runs/20261121-063012-digits-3f9c   (jobrun logs latest --rank 5)\n");
}

static void first_lines(void)
{
    struct fake fake;
    fake_start(&fake, 1);
    fake_signal(&fake, 0, 9);
    expect_head(&fake, "jobrun: FAILED after 1.0 s: rank 0 was killed by "
                       "SIGKILL, sender unknown   exit status 1");
    fake_start(&fake, 1);
    fake.ends[0] = (struct jr_rank_outcome){
        .end = JR_END_START, .stage = JR_STAGE_EXEC, .start_errno = 2};
    expect_head(&fake,
                "jobrun: FAILED after 10.0 s: rank 0 could not execute "
                "'./train': No such file or directory in /   exit status 7");
    fake_start(&fake, 1);
    fake.outcome.runner_signal = 9;
    expect_head(&fake,
                "jobrun: FAILED after 10.0 s: jobrun's runner was killed "
                "by SIGKILL   exit status 7");
    fake_start(&fake, 1);
    fake.outcome.stop_signal = 2;
    expect_head(&fake, "jobrun: STOPPED by SIGINT after 10.0 s                "
                       "            exit status 130");
    fake_start(&fake, 1);
    fake_stopped(&fake, 0);
    fake.outcome.timed_out_by = JR_TIMEOUT_RUN;
    fake.policy.timeouts.run_ms = 9500;
    expect_head(&fake, "jobrun: TIMED OUT after 10.0 s: longer than "
                       "timeouts.run, which is 9.5 s   exit status 6");
    fake_start(&fake, 2);
    fake.ends[1] = (struct jr_rank_outcome){0};
    expect_head(&fake, "jobrun: FAILED after 10.0 s: not every rank could be "
                       "run          exit status 7");
    fake_start(&fake, 1);
    fake.ends[0].log_errno = 28;
    expect_head(&fake, "jobrun: INCOMPLETE: every rank succeeded, but logs are "
                       "incomplete   exit status 7");
}

static void an_incomplete_console(void)
{
    struct fake fake;
    fake_start(&fake, 2);
    fake.outcome.console_errno = 28;
    expect(
        &fake, false,
        "jobrun: INCOMPLETE: every rank succeeded, but logs are incomplete   "
        "exit status 7\n"
        "  the console output is incomplete: No space left on device\n"
        "  0 processes left\n"
        "  runs/20261121-063012-digits-3f9c   (jobrun show latest)\n");
}

static void logs_that_were_cut(void)
{
    struct fake fake;
    fake_start(&fake, 2);
    fake.outcome.console_errno = 28;
    fake.ends[0].dropped[0] = 5000000000;
    fake.ends[0].dropped[1] = 7;
    fake.ends[1].dropped[1] = 1;
    expect(
        &fake, false,
        "jobrun: INCOMPLETE: every rank succeeded, but logs are incomplete   "
        "exit status 7\n"
        "  log_limit: 5000000008 bytes left out of the middle of 3 logs; "
        "the beginning and the end are kept\n"
        "  the console output is incomplete: No space left on device\n"
        "  0 processes left\n"
        "  runs/20261121-063012-digits-3f9c   (jobrun show latest)\n");
}

static void patterns_that_were_too_hard(void)
{
    struct fake fake;
    fake_start(&fake, 2);
    fake.outcome.pattern_limits = 3;
    fake.outcome.console_errno = 28;
    expect(
        &fake, false,
        "jobrun: INCOMPLETE: every rank succeeded, but logs are incomplete   "
        "exit status 7\n"
        "  warning: console.show or console.hide took too many steps for 3 "
        "lines, which did not count as matches; the files have all lines\n"
        "  the console output is incomplete: No space left on device\n"
        "  0 processes left\n"
        "  runs/20261121-063012-digits-3f9c   (jobrun show latest)\n");
}

static void stopped_after_a_failure(void)
{
    struct fake fake;
    fake_start(&fake, 2);
    fake_exit(&fake, 0, 3);
    fake_stopped(&fake, 1);
    fake.ranks[0].err_path = fake.ranks[0].out_path = NULL;
    fake.outcome.stop_signal = 15;
    expect(&fake, false,
           "jobrun: STOPPED by SIGTERM after 10.0 s                           "
           "exit status 143\n"
           "  before it:  rank 0 exited with code 3\n"
           "  rank 0   node 0 (gpu07)   local 0   data 0   pid 1000   attempt "
           "0\n"
           "  after it:   rank 1 stopped by jobrun (SIGTERM)\n"
           "  0 processes left\n"
           "  runs/20261121-063012-digits-3f9c   (jobrun logs latest)\n");
}

/* A world of 4,096 in which everything goes wrong. */
static void large_worlds_stay_short(void)
{
    enum { WORLD = 4096 };
    struct fake fake;
    struct jr_buf out = JR_BUF_INIT;
    fake_start(&fake, 1);
    struct jr_plan_rank *ranks = calloc(WORLD, sizeof *ranks);
    struct jr_rank_outcome *ends = calloc(WORLD, sizeof *ends);
    CU_ASSERT_TRUE_FATAL(ranks != NULL && ends != NULL);
    for (uint32_t i = 0; i < WORLD; i++) {
        ranks[i] = fake.ranks[0];
        ranks[i].rank = i;
        ends[i] = fake.ends[0];
        ends[i].order = i + 1;
        ends[i].ended_ns += i * FAKE_SECOND;
        ends[i].exit_code = i % 3 == 0;
        if (i % 5 == 0)
            ends[i].stopped_with = 15;
    }
    fake.plan.ranks = ranks;
    fake.outcome.ranks = ends;
    fake.plan.count = fake.outcome.count = WORLD;
    fake.policy.results.stated = true;
    fake_write_rank(&fake, 0, "stderr.log",
                    "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n");
    for (int round = 0; round < 2; round++) {
        fake_judge(&fake);
        jr_buf_clear(&out);
        jr_judgement_print(&out, &fake.report, &fake.plan, &fake.outcome,
                           fake.fd, false);
        size_t lines = 0;
        for (const char *at = out.data; (at = strchr(at, '\n')) != NULL; at++)
            lines++;
        CU_ASSERT_TRUE(lines <= 25);
        CU_ASSERT_PTR_NOT_NULL(
            strstr(out.data, round == 0 ? "... (820 ranks)" : "and 4086 more"));
        for (uint32_t i = 0; i < WORLD; i++)
            ends[i].exit_code = ends[i].stopped_with = 0;
    }
    jr_buf_release(&out);
    fake_end(&fake);
    free(ranks);
    free(ends);
}

JR_UNIT_MAIN("print", CASE(success), CASE(success_of_one_rank_without_results),
             CASE(a_rank_that_failed), CASE(all_kinds_of_others),
             CASE(incomplete), CASE(first_lines), CASE(an_incomplete_console),
             CASE(logs_that_were_cut), CASE(patterns_that_were_too_hard),
             CASE(stopped_after_a_failure), CASE(large_worlds_stay_short))
