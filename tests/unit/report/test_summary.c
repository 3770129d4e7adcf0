#include "told.h"

#include "judge/hang_report.h"
#include "judge/restart.h"
#include "store/progress.h"

static void expect(struct fake *fake, bool color, const char *expected)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    fake_judge(fake);
    jr_judgement_print(&out, &fake->report, &fake->plan, &fake->outcome, fake->fd, color);
    JR_ASSERT_TEXT(out.data, expected);
    fake_end(fake);
}

/* Only the first line. */
static void expect_head(struct fake *fake, const char *expected)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    fake_judge(fake);
    jr_judgement_print(&out, &fake->report, &fake->plan, &fake->outcome, fake->fd, false);
    out.data[strcspn(out.data, "\n")] = '\0';
    JR_ASSERT_TEXT(out.data, expected);
    fake_end(fake);
}

TEST(success)
{
    FAKE(fake, 2);
    fake_write_rank(&fake, 0, "result.json", jq("{'accuracy': 0.953, 'sha': 'ab', 'step': 7}"));
    fake_write_rank(&fake, 1, "result.json",
                    "{\"accuracy\": 0.96125, \"sha\": \"ab\", \"step\": 7}");
    expect(&fake, false,
           "jobrun: succeeded in 10.0 s: 2 of 2 ranks delivered, 0 processes left\n"
           "        accuracy 0.953 .. 0.96125   sha equal   step 7\n"
           "        runs/20261121-063012-digits-3f9c   (jobrun show latest)\n");
}

TEST(success_of_one_rank_without_results)
{
    FAKE(fake, 1);
    fake.outcome.ended_ns = fake.outcome.started_ns + 84000000;
    expect(&fake, true,
           "jobrun: \033[1;32msucceeded\033[0m in 84 ms: 1 of 1 rank exited with 0, 0 processes "
           "left\n        runs/20261121-063012-digits-3f9c   (jobrun show latest)\n");
}

TEST(a_rank_that_failed)
{
    FAKE(fake, 8);
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
                    "{\"message\": {\"message\": \"ValueError: loss is NaN\", \"extraInfo\": "
                    "{\"py_callstack\": \"  File \\\"train.py\\\", line 88, in step\\n\"}}}");
    fake_write_rank(&fake, 3, "stderr.log",
                    "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n 10%\r 20%\r 30%\n\033[2Jlast");
    expect(&fake, false,
           "jobrun: FAILED after 1.0 s: rank 3 exited with code 1             exit status 1\n"
           "  rank 3   node 0 (gpu07)   local 3   data 3   pid 51234   attempt 0\n"
           "  ValueError: loss is NaN                                       train.py:88 in step\n"
           "  last lines of stderr:\n"
           "    | 4\n    | 5\n    | 6\n    | 7\n    | 8\n    | 9\n    | 10\n"
           "    | 11\n    |  30%\n    | \\x1b[2Jlast\n"
           "  after it:   ranks 0-2,4-7 stopped by jobrun (SIGTERM; rank 6 needed SIGKILL)\n"
           "  0 processes left\n"
           "  runs/20261121-063012-digits-3f9c/attempt_0/3/stderr.log       (jobrun logs latest "
           "--rank 3)\n");
}

TEST(all_kinds_of_others)
{
    FAKE(fake, 7);
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
           "jobrun: \033[1;31mFAILED\033[0m after 1.0 s: rank 0 died by SIGSEGV (core dumped)   "
           "exit status 1\n"
           "  rank 0   node 0 (gpu07)   local 0   data 0   pid 1000   attempt 0\n"
           "  last lines of stdout:\n"
           "    | hello\n"
           "  together:   rank 1 failed with it, too close to tell which was first\n"
           "  after it:   rank 4 stopped by jobrun (SIGTERM)\n"
           "              ranks 2-3 failed after the first failure: rank 2 exited with code 2\n"
           "              rank 6 ended with 0 but did not deliver: result.json was not written\n"
           "              rank 5 not started\n"
           "  try:        --debug 0 gives this rank a terminal of its own, for gdb or pdb\n"
           "  the logs of rank 6 are incomplete: No space left on device\n"
           "  2 processes could not be ended: pid 77, 78\n"
           "  runs/20261121-063012-digits-3f9c/attempt_0/0/stdout.log       (jobrun logs latest "
           "--rank 0)\n");
}

TEST(incomplete)
{
    struct jr_result_field field = {.name = (char *)"\033[31mx", .required = true};
    FAKE(fake, 8);
    fake.policy.results.stated = true;
    fake.policy.results.fields = &field;
    fake.policy.results.fields_count = 1;
    for (uint32_t i = 0; i < 7; i++)
        fake_write_rank(&fake, i, "result.json", jq("{'\\u001b[31mx': 1}"));
    fake_write_rank(&fake, 5, "result.json", "{}");
    expect(
        &fake, false,
        "jobrun: INCOMPLETE: every rank exited with 0, but 2 of 8 did not deliver   exit status "
        "5\n  rank 5    result.json has no '\\x1b[31mx'\n  rank 7    result.json was not written\n "
        " 0 processes left\n  runs/20261121-063012-digits-3f9c   (jobrun logs latest --rank 5)\n");
}

TEST(first_lines)
{
    FAKE_ENDS(fake, "S9");
    expect_head(
        &fake,
        "jobrun: FAILED after 1.0 s: rank 0 was killed by SIGKILL, sender unknown   exit status 1");
    fake_start(&fake, 1);
    fake.ends[0] =
        (struct jr_rank_outcome){.end = JR_END_START, .stage = JR_STAGE_EXEC, .start_errno = 2};
    expect_head(&fake, "jobrun: FAILED after 10.0 s: rank 0 could not execute './train': No such "
                       "file or directory in /   exit status 7");
    fake_start(&fake, 1);
    fake.outcome.runner_signal = 9;
    expect_head(
        &fake,
        "jobrun: FAILED after 10.0 s: jobrun's runner was killed by SIGKILL   exit status 7");
    fake_start(&fake, 1);
    fake.outcome.stop_signal = 2;
    expect_head(
        &fake, "jobrun: STOPPED by SIGINT after 10.0 s                            exit status 130");
    fake_ends(&fake, "T");
    fake.outcome.timed_out_by = JR_TIMEOUT_RUN;
    fake.policy.timeouts.run_ms = 9500;
    expect_head(
        &fake,
        "jobrun: TIMED OUT after 10.0 s: longer than timeouts.run, which is 9.5 s   exit status 6");
    fake_ends(&fake, "0 -");
    expect_head(&fake,
                "jobrun: FAILED after 10.0 s: not every rank could be run          exit status 7");
    fake_start(&fake, 1);
    fake.ends[0].log_errno = 28;
    expect_head(
        &fake, "jobrun: INCOMPLETE: every rank succeeded, but logs are incomplete   exit status 7");
}

TEST(what_is_not_whole)
{
    struct fake fake;
    fake_start(&fake, 2);
    fake.outcome.console_errno = 28;
    fake.outcome.pattern_limits = 3;
    fake.ends[0].dropped[0] = 5000000000;
    fake.ends[0].dropped[1] = 7;
    fake.ends[1].dropped[1] = 1;
    expect(&fake, false,
           "jobrun: INCOMPLETE: every rank succeeded, but logs are incomplete   exit status 7\n"
           "  warning: console.show or console.hide took too many steps for 3 lines, which did not "
           "count as matches; the files have all lines\n"
           "  log_limit: 5000000008 bytes left out of the middle of 3 logs; the beginning and the "
           "end are kept\n"
           "  the console output is incomplete: No space left on device\n"
           "  0 processes left\n"
           "  runs/20261121-063012-digits-3f9c   (jobrun show latest)\n");
}

TEST(stopped_after_a_failure)
{
    FAKE_ENDS(fake, "3 T");
    fake.ranks[0].err_path = fake.ranks[0].out_path = NULL;
    fake.outcome.stop_signal = 15;
    expect(&fake, false,
           "jobrun: STOPPED by SIGTERM after 10.0 s                           exit status 143\n"
           "  before it:  rank 0 exited with code 3\n"
           "  rank 0   node 0 (gpu07)   local 0   data 0   pid 1000   attempt 0\n"
           "  after it:   rank 1 stopped by jobrun (SIGTERM)\n"
           "  0 processes left\n"
           "  runs/20261121-063012-digits-3f9c   (jobrun logs latest)\n");
}

/* A world of 4,096 in which everything goes wrong. */
TEST(large_worlds_stay_short)
{
    enum { WORLD = 4096 };
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    FAKE(fake, 1);
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
    fake_write_rank(&fake, 0, "stderr.log", "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n");
    for (int round = 0; round < 2; round++) {
        fake_judge(&fake);
        jr_buf_clear(&out);
        jr_judgement_print(&out, &fake.report, &fake.plan, &fake.outcome, fake.fd, false);
        size_t lines = 0;
        for (const char *at = out.data; (at = strchr(at, '\n')) != NULL; at++)
            lines++;
        CU_ASSERT_TRUE(lines <= 25);
        CU_ASSERT_PTR_NOT_NULL(strstr(out.data, round == 0 ? "... (820 ranks)" : "and 4086 more"));
        for (uint32_t i = 0; i < WORLD; i++)
            ends[i].exit_code = ends[i].stopped_with = 0;
    }
    free(ranks);
    free(ends);
}

/* What is told below the verdict of a judgement that is made by hand. */
static void check_account(struct fake *fake, const char *part, bool told)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    const struct jr_page page = page_of(fake, &out);
    jr_print_account(&page);
    CU_ASSERT_FALSE_FATAL(out.failed);
    if ((strstr(out.data, part) != NULL) != told)
        printf("\n    %s%s in\n%s\n", told ? "no " : "", part, out.data);
    CU_ASSERT_EQUAL(strstr(out.data, part) != NULL, told);
}

TEST(warns_of_ranks_that_linger)
{
    FAKE(fake, 2);
    fake.policy.timeouts.exit_ms = 5000;
    fake_judge(&fake);
    fake.ends[1].lingered = true;
    check_account(&fake, "timeouts.exit", false);
    fake.ends[1].returned = true;
    check_account(
        &fake,
        "  warning: rank 1 delivered, but did not end within 5s (timeouts.exit), and was killed: ",
        true);
    fake.ends[1].lingered = false;
    check_account(&fake, "timeouts.exit", false);
}

TEST(warns_of_mpi)
{
    static const char spawn[] = "  warning: rank 1 asked MPI for more processes (MPI_Comm_spawn)";
    static const char none[] = "it did so 2 times over.";
    FAKE(fake, 2);
    fake_judge(&fake);
    check_account(&fake, spawn, false);
    check_account(&fake, none, false);
    fake.ends[1].mpi_spawned = true;
    fake.ends[0].mpi = JR_MPI_PART_ABSENT;
    check_account(&fake, spawn, true);
    check_account(&fake, none, false);
    fake.ends[1].mpi = JR_MPI_PART_ABSENT;
    check_account(&fake, none, true);
    fake.report.status = JR_RUN_STOPPED;
    check_account(&fake, none, false);
}

TEST(warns_of_matches)
{
    FAKE(fake, 3);
    fake_judge(&fake);
    check_account(&fake, "results.pattern", false);
    fake.report.ranks[1].pattern_limits = 4;
    check_account(&fake, "too many steps for 4 lines of 1 rank, which", true);
    fake.report.ranks[2].pattern_limits = 3;
    check_account(&fake, "too many steps for 7 lines of 2 ranks, which", true);
    fake.report.ranks[1].late_match = true;
    check_account(&fake, "after the end of rank 1, from a process", true);
    fake.report.ranks[2].late_match = true;
    check_account(&fake, "after the end of rank 1 and of others, from", true);
}

TEST(tells_what_logs_lack)
{
    FAKE(fake, 3);
    fake_judge(&fake);
    check_account(&fake, "log_limit", false);
    fake.ends[2].dropped[1] = 7;
    check_account(&fake, "  log_limit: 7 bytes left out of the middle of 1 log; the", true);
    fake.report.status = JR_RUN_INCOMPLETE;
    check_account(&fake, "are incomplete", false);
    fake.ends[1].log_errno = 28;
    check_account(&fake, "  the logs of rank 1 are incomplete: No space", true);
    fake.ends[2].log_errno = 5;
    check_account(&fake, "  the logs of rank 1 and 1 more are incomplete: No space", true);
    fake.ends[0].log_errno = 5;
    check_account(&fake, "  the logs of rank 0 and 2 more are incomplete: Input", true);
}

TEST(tells_of_progress)
{
    FAKE(fake, 2);
    struct jr_progress *progress = jr_progress_new(2);
    CU_ASSERT_PTR_NOT_NULL_FATAL(progress);
    fake.outcome.progress = progress;
    fake_judge(&fake);
    check_account(&fake, "step", false);
    progress->job = (struct jr_steps){.any = true, .step = 7, .of = 9};
    check_account(&fake, "\n        step 7 of 9", false);
    check_account(&fake, "        step 7 of 9\n", true);
    fake.report.status = JR_RUN_STOPPED;
    check_account(&fake, "\n  step 7 of 9\n", true);
    progress->warnings_count = 2;
    (void)snprintf(progress->warnings[0].text, sizeof progress->warnings[0].text, "a line\033");
    progress->warnings[0].count = 3;
    (void)snprintf(progress->warnings[1].text, sizeof progress->warnings[1].text, "another");
    progress->warnings[1].count = 1;
    check_account(&fake, "  warning: progress: a line\\x1b (3 times)\n", true);
    check_account(&fake, "  warning: progress: another\n", true);
    fake.outcome.progress = NULL;
    jr_progress_free(progress);
}

TEST(tells_of_attempts)
{
    struct jr_attempt before[9];
    struct jr_lost_machine lost[9];
    FAKE(fake, 1);
    fake_judge(&fake);
    for (uint32_t i = 0; i < 9; i++) {
        before[i] = (struct jr_attempt){.number = i,
                                        .cause = "rank 0 died",
                                        .started_ns = FAKE_SECOND,
                                        .ended_ns = FAKE_SECOND * (2 + i)};
        lost[i] = (struct jr_lost_machine){"n\033", "gone"};
    }
    fake.report.earlier = before;
    fake.report.earlier_count = 8;
    fake.report.left_out = lost;
    fake.report.left_out_count = 8;
    check_account(&fake, "        attempt 0   rank 0 died, after 1.0 s\n", true);
    check_account(&fake, "        left out: n\\x1b: gone\n", true);
    check_account(&fake, "of which the last", false);
    fake.report.earlier_count = fake.report.left_out_count = 9;
    check_account(&fake,
                  "        9 earlier attempts, of which the last 8:\n"
                  "        attempt 1   rank 0 died, after 2.0 s\n",
                  true);
    check_account(&fake,
                  "        9 machines left out, of which the last 8:\n        left out: ", true);
    fake.report.status = JR_RUN_FAILED;
    check_account(&fake, "\n  attempt 8   rank 0 died, after 9.0 s\n", true);
}

TEST(tells_why_it_was_not_started_again)
{
    FAKE(fake, 1);
    fake_judge(&fake);
    fake.report.idle = 1;
    check_account(&fake, "no progress", false);
    fake.report.idle = 2;
    check_account(&fake, "        no progress: the last 2 attempts failed the same way, at once\n",
                  true);
    fake.plan.inject = "kill@0";
    check_account(&fake, "        rehearsed with --inject 'kill@0'\n", true);
    fake.report.requeue = (struct jr_requeue_state){.queued = true, .done = 2, .max = 5};
    check_account(&fake, "        queued again: requeue 3 of 5\n", true);
    fake.report.not_again = "restart.max is 3";
    check_account(&fake, "        not started again: restart.max is 3\n", true);
    fake.report.stall.attempts = 1; /* which says it all */
    check_account(&fake, "not started again", false);
}

TEST(tells_what_hung_ranks_did)
{
    static uint32_t one[] = {1}, others[] = {0, 2};
    struct jr_hang_group groups[7];
    FAKE(fake, 3);
    fake_judge(&fake);
    for (int i = 0; i < 7; i++)
        groups[i] = (struct jr_hang_group){.activity = i == 0 ? "in send" : "in recv",
                                           .ranks = i == 0 ? one : others,
                                           .count = i == 0 ? 1 : 2,
                                           .silence = 3,
                                           .next = i == 5 ? NULL : &groups[i + 1]};
    groups[6].next = NULL;
    fake.report.status = JR_RUN_HUNG;
    fake.report.overrun = "silent";
    check_account(&fake, "doing:", false);
    check_account(&fake, "evidence:", false);
    fake.report.hang = groups;
    check_account(&fake,
                  "  doing:      rank 1 in send, silent for 3.0 s\n              ranks 0,2 in recv",
                  true);
    check_account(&fake,
                  "  evidence:   hang.json in the ranks' folders   (jobrun show latest --stacks)\n",
                  true);
    check_account(&fake, "more kinds", false);
    check_account(&fake, "fell silent", false);
    groups[5].next = &groups[6];
    check_account(&fake, "              and 1 more kinds\n", true);
    fake.report.odd = one;
    fake.report.odd_count = 1;
    fake.report.odd_silent = true;
    check_account(&fake, "  it fell silent before the others\n", true);
    check_account(&fake, "  rank 1   node 0 (gpu07)", true);
    fake.report.stall.attempts = 2;
    check_account(&fake, "  the last:   silent\n", true);
}

/* A cell is found by its own name among those of its sweep, and an attempt by its number. */
TEST(names_the_command)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    const uint32_t attempt = 3;
    FAKE(fake, 1);
    fake.plan.run_dir = fake.plan.own_dir = "/x/sweep/cells/0007";
    fake_judge(&fake);
    jr_judgement_print(&out, &fake.report, &fake.plan, &fake.outcome, fake.fd, false);
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "(jobrun show 0007 --log-dir '/x/sweep/cells')\n"));
    fake.plan.run_dir = fake.plan.own_dir = "runs/r";
    CHECK_TOLD(&fake, "        runs/r   (jobrun show r --attempt 3)\n", page.run = "r",
               page.attempt = &attempt, jr_print_place(&page));
}
