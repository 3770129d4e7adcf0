/* Who differs, by the evidence that hung ranks left. */
#include "fake_run.h"
#include "quoted.h"

#include <stdio.h>
#include <string.h>

#include "judge/hang_report.h"
#include "store/progress.h"

#define MAIN(state, call, wchan, used)                                                             \
    "{\"interval_seconds\": 0.5, \"silent_seconds\": 9.5, "                                        \
    "\"cpu_seconds\": " used ", \"processes\": [{\"pid\": 5, "                                     \
    "\"name\": \"x\", \"threads\": [{\"tid\": 5, \"name\": \"x\", "                                \
    "\"state\": \"" state "\", \"syscall\": " call ", \"wchan\": " wchan                           \
    ", \"cpu_seconds\": " used ", \"stack\": null}]}]}"
#define FUTEX MAIN("S", "\"futex\"", "\"futex_wait\"", "0.0")
#define READ  MAIN("S", "\"read\"", "null", "0.01")
#define BUSY  MAIN("S", "null", "null", "0.4")
#define SHELL                                                                                      \
    "{\"interval_seconds\": 0.5, \"silent_seconds\": null, "                                       \
    "\"cpu_seconds\": 0, \"processes\": ["                                                         \
    "{\"pid\": 5, \"parent\": 1, \"threads\": [{\"state\": \"S\", "                                \
    "\"syscall\": \"wait4\"}]}, "                                                                  \
    "{\"pid\": 6, \"parent\": 5, \"threads\": [{\"state\": \"D\", "                                \
    "\"wchan\": \"nfs_wait\"}]}]}"
#define SILENT(seconds)                                                                            \
    "{\"silent_seconds\": " seconds ", \"processes\": [{\"threads\": "                             \
    "[{\"state\": \"S\", \"syscall\": \"futex\"}]}]}"

#define READING(seconds)                                                                           \
    "{\"silent_seconds\": " seconds ", \"processes\": [{\"threads\": "                             \
    "[{\"state\": \"S\", \"syscall\": \"read\"}]}]}"

TEST(words)
{
    static const struct {
        const char *evidence, *words;
    } rows[] = {{"7", "gone"},
                {"{}", "gone"},
                {"{\"processes\": []}", "gone"},
                {"{\"processes\": [{}]}", "gone"},
                {"{\"processes\": [{\"threads\": [7]}]}", "in no known state"},
                {MAIN("?", "null", "null", "0"), "in no known state"},
                {MAIN("S\\u001b[2J", "null", "null", "0"), "waiting"},
                {MAIN("S", "\"\\u001b[2J\"", "null", "0"), "waiting in \\x1b[2J"},
                {FUTEX, "waiting in futex (futex_wait)"},
                {READ, "waiting in read"},
                {MAIN("S", "null", "\"pipe_read\"", "0"), "waiting in pipe_read"},
                {MAIN("D", "null", "null", "0"), "stuck"},
                {MAIN("T", "null", "null", "0"), "stopped by a signal"},
                {MAIN("t", "null", "null", "0"), "stopped by a debugger"},
                {MAIN("Z", "null", "null", "0"), "ending"},
                {MAIN("R", "null", "null", "0"), "using the CPU"},
                {BUSY, "using the CPU"},
                {SHELL, "stuck in nfs_wait"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
        json_t *evidence = jr_json_parse(rows[i].evidence, strlen(rows[i].evidence), NULL);
        CU_ASSERT_PTR_NOT_NULL(evidence);
        jr_thread_state_words(&out, evidence);
        JR_ASSERT_TEXT(out.data, rows[i].words);
        jr_buf_clear(&out);
        jr_thread_state_stacks(&out, evidence); /* whatever it holds */
        json_decref(evidence);
    }
}

#define MOST 6

struct vector {
    const char *evidence[MOST]; /* by rank; NULL: it left none */
    const char *message;
};

#define LIMIT "no output from any rank for 10m (timeouts.silence)"

TEST(who_differs)
{
    static const struct vector vectors[] = {
        {{0}, LIMIT},
        {{"", "{", "[]"}, LIMIT},
        {{FUTEX}, LIMIT},
        {{FUTEX, FUTEX, FUTEX}, LIMIT},
        {{FUTEX, FUTEX, READ, FUTEX}, LIMIT "; rank 2 waiting in read, silent for 9.5 s"},
        {{BUSY, FUTEX, BUSY, BUSY},
         LIMIT "; rank 1 waiting in futex (futex_wait), silent for 9.5 s"},
        {{FUTEX, SHELL, FUTEX, SHELL, FUTEX}, LIMIT "; ranks 1,3 stuck in nfs_wait"},
        /* Nobody knows who of two it is, nor of two and two. */
        {{FUTEX, READ}, LIMIT},
        {{FUTEX, READ, READ, FUTEX}, LIMIT},
        {{NULL, FUTEX, FUTEX, NULL, READ}, LIMIT "; rank 4 waiting in read, silent for 9.5 s"},
        {{SILENT("600"), SILENT("644.5"), SILENT("600.1")}, LIMIT},
        {{SILENT("600"), SILENT("700.5"), SILENT("601")}, LIMIT "; rank 1 fell silent first"},
        {{SILENT("0.5"), SILENT("1.4")}, LIMIT},
        {{SILENT("0.5"), SILENT("1.6")}, LIMIT "; rank 1 fell silent first"},
        {{SILENT("null"), SILENT("1.6")}, LIMIT},
        {{SILENT("0.5"), SILENT("1.5")}, LIMIT "; rank 1 fell silent first"},
        /* The next to the longest, whichever comes first. */
        {{SILENT("700"), SILENT("600"), SILENT("650")}, LIMIT},
        {{SILENT("700"), SILENT("650"), SILENT("600")}, LIMIT},
        {{SILENT("600"), SILENT("650"), SILENT("700")}, LIMIT},
        {{SILENT("800"), SILENT("600"), SILENT("650")}, LIMIT "; rank 0 fell silent first"},
        {{SILENT("600"), SILENT("800"), SILENT("650")}, LIMIT "; rank 1 fell silent first"},
        /* A group is silent as long as its longest. */
        {{SILENT("8"), READING("5"), READING("7"), SILENT("8"), SILENT("9")},
         LIMIT "; ranks 1-2 waiting in read, silent for 7.0 s"},
        {{SILENT("8"), READING("7"), READING("5"), SILENT("8"), SILENT("9")},
         LIMIT "; ranks 1-2 waiting in read, silent for 7.0 s"},
        {{READING("0"), SILENT("8"), SILENT("9")},
         LIMIT "; rank 0 waiting in read, silent for 0 ms"},
        /* The smallest of three. */
        {{FUTEX, FUTEX, FUTEX, READ, READ, BUSY}, LIMIT "; rank 5 using the CPU, silent for 9.5 s"},
        {{BUSY, READ, READ, FUTEX, FUTEX, FUTEX}, LIMIT "; rank 0 using the CPU, silent for 9.5 s"},
    };
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
        FAKE(fake, MOST);
        fake.outcome.timed_out_by = JR_TIMEOUT_SILENCE;
        fake.policy.timeouts.silence_ms = 600000;
        for (uint32_t r = 0; r < MOST; r++) {
            fake_stopped(&fake, r);
            if (vectors[i].evidence[r] != NULL)
                fake_write_rank(&fake, r, "hang.json", vectors[i].evidence[r]);
        }
        fake_judge(&fake);
        CU_ASSERT_EQUAL(fake.report.status, JR_RUN_HUNG);
        CU_ASSERT_EQUAL(fake.report.exit_code, JR_STATUS_TIMEOUT);
        jr_hang_message(&out, &fake.report, &fake.plan);
        JR_ASSERT_TEXT(out.data, vectors[i].message);
    }
}

TEST(other_limits)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    FAKE(fake, 4);
    fake.outcome.timed_out_by = JR_TIMEOUT_AFTER_FIRST_EXIT;
    fake.policy.timeouts.after_first_exit_ms = 1500;
    for (uint32_t r = 1; r < 4; r++) {
        fake_stopped(&fake, r);
        fake_write_rank(&fake, r, "hang.json", r == 2 ? READ : FUTEX);
    }
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.status, JR_RUN_TIMED_OUT);
    jr_hang_message(&out, &fake.report, &fake.plan);
    JR_ASSERT_TEXT(out.data,
                   "not all ended within 1s500ms of the first (timeouts.after_first_exit); rank 2 "
                   "waiting in read, silent for 9.5 s");
}

/* Each limit by its name; of a record that does not state it, without a number. */
TEST(names_the_limit)
{
    static const struct {
        enum jr_timeout by;
        uint64_t ms;
        const char *message;
    } rows[] = {{JR_TIMEOUT_SILENCE, 1, "no output from any rank for 1ms (timeouts.silence)"},
                {JR_TIMEOUT_SILENCE, 0, "no output from any rank for the time (timeouts.silence)"},
                {JR_TIMEOUT_AFTER_FIRST_EXIT, 60000,
                 "not all ended within 1m of the first (timeouts.after_first_exit)"},
                {JR_TIMEOUT_AFTER_FIRST_EXIT, 0,
                 "not all ended within the time of the first (timeouts.after_first_exit)"},
                {JR_TIMEOUT_PROGRESS, 900000, "no step for 15m (timeouts.progress)"},
                {JR_TIMEOUT_FIRST_STEP, 1500, "no first step within 1s500ms (timeouts.first_step)"},
                {JR_TIMEOUT_RUN, 90000, "longer than timeouts.run, which is 1 min 30 s"},
                {JR_TIMEOUT_RUN, 1, "longer than timeouts.run, which is 1 ms"},
                {JR_TIMEOUT_RUN, 0, "longer than timeouts.run"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
        FAKE(fake, 3);
        fake.outcome.timed_out_by = rows[i].by;
        fake.policy.timeouts = (struct jr_timeouts){
            .run_ms = rows[i].ms,
            .silence_ms = rows[i].ms,
            .after_first_exit_ms = rows[i].ms,
            .progress_ms = rows[i].ms,
            .first_step_ms = rows[i].ms,
        };
        for (uint32_t r = 0; r < 3; r++)
            fake_stopped(&fake, r);
        fake_judge(&fake);
        jr_hang_message(&out, &fake.report, &fake.plan);
        JR_ASSERT_TEXT(out.data, rows[i].message);
    }
}

/* A job that made steps is told by the last. */
TEST(names_the_step_that_was_the_last)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    FAKE(fake, 1);
    fake.outcome.timed_out_by = JR_TIMEOUT_PROGRESS;
    fake.policy.timeouts.progress_ms = 900000;
    fake.outcome.progress = jr_progress_new(1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fake.outcome.progress);
    fake.outcome.progress->job = (struct jr_steps){.any = true, .step = 100, .best = 120};
    fake_stopped(&fake, 0);
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.status, JR_RUN_HUNG);
    jr_hang_message(&out, &fake.report, &fake.plan);
    JR_ASSERT_TEXT(out.data, "no step beyond 120 for 15m (timeouts.progress)");
    jr_progress_free(fake.outcome.progress);
    fake.outcome.progress = NULL;
}

/* What ranks did says nothing where the run only took long. */
TEST(blames_nobody_for_a_long_run)
{
    FAKE(fake, 3);
    fake.outcome.timed_out_by = JR_TIMEOUT_RUN;
    for (uint32_t r = 0; r < 3; r++) {
        fake_stopped(&fake, r);
        fake_write_rank(&fake, r, "hang.json", r == 2 ? READ : FUTEX);
    }
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.odd_count, 0);
    CU_ASSERT_PTR_NULL(fake.report.hang);
}
