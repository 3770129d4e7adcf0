#include "base/io.h"
#include "fake_run.h"
#include "quoted.h"
#include "record/record_facts.h"
#include "record/results_json.h"

/*
 * What the tests write is left in this file of the current folder, for a validator to hold to the
 * schemas: each text behind a line with its name.
 */
static const char samples_path[] = "report_samples.txt";

/* Append one text to the samples. */
static void keep(const char *name, const struct jr_buf *text)
{
    static bool begun;
    FILE *file = fopen(samples_path, begun ? "ae" : "we");
    begun = true;
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    (void)fprintf(file, "--- %s\n%s", name, text->data);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

static void keep_record(struct fake *fake)
{
    struct jr_record_facts facts = {0};
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    static const bool dirty = true;
    CU_ASSERT_EQUAL(jr_record_facts_fill(&facts, &fake->arena, &fake->plan, NULL), 0);
    jr_record_run_json(&text, &facts);
    keep("run", &text);
    jr_record_facts_finish(&facts, &fake->report, &fake->outcome);
    facts.commit = "0123456789012345678901234567890123456789";
    facts.dirty = &dirty;
    facts.spec = "train.yaml";
    jr_buf_clear(&text);
    jr_record_run_json(&text, &facts);
    keep("run", &text);
}

/* Judge, write, keep, and hold values of results.json to those that are expected. */
static void expect(struct fake *fake, const char *expected)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error err = {0};
    fake_judge(fake);
    jr_judgement_json(&text, &fake->report, &fake->plan, &fake->outcome, NULL);
    keep("results", &text);
    keep_record(fake);
    JSON *json = jr_json_parse(text.data, text.len, &err);
    JR_ASSERT_TEXT(err.text, "");
    check_values(json, expected);
    fake_end(fake);
}

TEST(a_good_run)
{
    FAKE(fake, 2);
    fake_write_rank(&fake, 0, "result.json", jq("{'b': [1, null], 'a': 0.1}"));
    fake.ranks[1].device = "GPU-5";
    fake.ends[1].max_rss_bytes = 4096;
    fake.ends[1].dropped[1] = 5000000000;
    expect(&fake,
           "format_version 1 | run_id '20261121-063012-digits-3f9c' | name 'digits' | fingerprint "
           "'abc' | status 'succeeded' | exit_code 0 | attempt 0 | started 1800000000.0 | finished "
           "1800000010.0 | seconds 10.0 | world_size 2 | processes_left 0 | root_cause null | "
           "ranks.1.rank 1 | ranks.1.host 'gpu07' | ranks.1.pid 1001 | ranks.1.device 'GPU-5' | "
           "ranks.0.device null | ranks.1.coordinates {'model': 0, 'pipeline': 0, 'data': 1} | "
           "ranks.1.state 'succeeded' | ranks.1.exit_code 0 | ranks.1.signal null | "
           "ranks.1.core_dumped false | ranks.1.seconds 2.0 | ranks.1.max_rss_bytes 4096 | "
           "ranks.1.dropped_bytes {'stdout': 0, 'stderr': 5000000000} | ranks.0.max_rss_bytes null "
           "| ranks.1.stdout 'attempt_0/1/stdout.log' | ranks.1.error_file null | ranks.1.error "
           "null | ranks.0.result {'b': [1, null], 'a': 0.1} | ranks.1.result null | "
           "ranks.1.result_error null");
}

TEST(a_failure)
{
    FAKE_ENDS(fake, "0 S11 0 0");
    fake.ends[1].core_dumped = true;
    fake_exit(&fake, 3, 1);
    fake.ends[3].ended_ns = fake.ends[1].ended_ns;
    fake_stopped(&fake, 0);
    fake.ends[2] = (struct jr_rank_outcome){0};
    fake_write_rank(&fake, 1, "error.json", jq("{'message': 'E: x'}"));
    expect(&fake,
           "status 'failed' | exit_code 1 | root_cause.rank 1 | root_cause.host 'gpu07' | "
           "root_cause.kind 'signal' | root_cause.exit_code null | root_cause.signal 'SIGSEGV' | "
           "root_cause.message 'E: x' | root_cause.together [3] | ranks.1.core_dumped true | "
           "ranks.1.state 'failed' | ranks.1.exit_code null | ranks.1.error 'E: x' | "
           "ranks.1.error_file 'attempt_0/1/error.json' | ranks.0.state 'stopped' | ranks.0.signal "
           "'SIGTERM' | ranks.0.stop_signals ['SIGTERM'] | ranks.1.stop_signals [] | ranks.2.state "
           "'not_started' | ranks.2.pid null | ranks.2.seconds null | ranks.3.state 'failed'");
}

TEST(nothing_delivered)
{
    FAKE(fake, 3);
    fake.policy.results.stated = true;
    fake_write_rank(&fake, 1, "result.json", "{}");
    expect(&fake, "status 'incomplete' | exit_code 5 | root_cause.kind 'result' | root_cause.rank "
                  "0 | root_cause.message 'result.json was not written' | root_cause.together [2] "
                  "| ranks.0.state 'incomplete' | ranks.0.result_error 'missing' | ranks.0.error "
                  "'result.json was not written'");
}

TEST(no_such_program)
{
    FAKE(fake, 1);
    fake.ends[0] =
        (struct jr_rank_outcome){.end = JR_END_START, .stage = JR_STAGE_EXEC, .start_errno = 2};
    fake.ranks[0].out_path = fake.ranks[0].err_path = NULL;
    expect(&fake, "status 'launch_failed' | exit_code 7 | root_cause.kind 'start' | "
                  "root_cause.message 'could not execute \\'./train\\': No such file or directory "
                  "in /' | ranks.0.stdout null | ranks.0.pid null");
}

TEST(stopped_by_a_signal)
{
    FAKE_ENDS(fake, "S37");
    fake.ends[0].stopped_with = 37;
    fake.outcome.stop_signal = 37;
    expect(&fake, "status 'stopped' | exit_code 165 | root_cause.rank null | root_cause.kind "
                  "'signal' | root_cause.signal 'SIGRTMIN+3' | root_cause.message 'jobrun was "
                  "stopped by SIGRTMIN+3' | ranks.0.signal 'SIGRTMIN+3'");
}

TEST(out_of_time)
{
    FAKE_ENDS(fake, "T");
    fake.outcome.timed_out_by = JR_TIMEOUT_RUN;
    fake.outcome.left = 1;
    expect(&fake, "status 'timed_out' | exit_code 6 | root_cause.kind 'timeout' | processes_left 1 "
                  "| root_cause.signal null");
}

TEST(what_was_compared)
{
    static char *const names[] = {(char *)"a", (char *)"b"};
    FAKE(fake, 2);
    fake.policy.results.stated = true;
    fake.policy.results.required = (char *)"none";
    fake.policy.results.equal = (char **)names;
    fake.policy.results.equal_count = 2;
    expect(&fake, "compared {'source': 'result.json', 'equal': ['a', 'b'], 'distinct': []}");
    fake_start(&fake, 2);
    fake.policy.results.stated = true;
    fake.policy.results.required = (char *)"none";
    fake.policy.results.distinct = (char **)names;
    fake.policy.results.distinct_count = 1;
    fake.ranks[1].result_path = "/data/own.json";
    expect(&fake, "compared {'source': null, 'equal': [], 'distinct': ['a']}");
    fake_start(&fake, 1);
    expect(&fake, "compared null");
}

TEST(a_killed_runner)
{
    FAKE(fake, 1);
    fake.outcome.runner_signal = 9;
    fake.ends[0].end = JR_END_NONE;
    expect(&fake, "status 'launch_failed' | exit_code 7 | root_cause.message 'jobrun\\'s runner "
                  "was killed by SIGKILL' | ranks.0.state 'stopped' | jobrun_killed {'process': "
                  "'runner', 'pid': null, 'signal': 'SIGKILL'}");
}

#define KILLED "{'process': 'guard', 'pid': 4711, 'signal': 'SIGKILL'}"

TEST(a_killed_guard)
{
    FAKE(fake, 1);
    expect(&fake, "jobrun_killed null");
    fake_start(&fake, 1);
    fake.outcome.guard_pid = 4711;
    fake.outcome.guard_signal = 9;
    expect(&fake, "status 'launch_failed' | exit_code 7 | root_cause.kind 'signal' | "
                  "root_cause.rank null | root_cause.signal 'SIGKILL' | root_cause.message "
                  "'jobrun\\'s guard (pid 4711) was killed by SIGKILL' | jobrun_killed " KILLED "");
    fake_start(&fake, 1);
    fake.outcome.guard_pid = 4711;
    expect(&fake,
           "root_cause.message 'jobrun\\'s guard (pid 4711) was killed' | root_cause.signal null");
    fake_start(&fake, 1);
    fake.outcome.stop_signal = 15;
    fake.outcome.guard_pid = 4711;
    fake.outcome.guard_signal = 9;
    expect(&fake,
           "status 'stopped' | exit_code 143 | root_cause.message 'jobrun was stopped by SIGTERM, "
           "and then jobrun\\'s guard (pid 4711) was killed by SIGKILL' | jobrun_killed " KILLED
           "");
}

TEST(one_rank_a_line)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    FAKE(fake, 8);
    fake_judge(&fake);
    jr_judgement_json(&text, &fake.report, &fake.plan, &fake.outcome, NULL);
    size_t lines = 0, ranks = 0;
    for (const char *at = text.data; (at = strchr(at, '\n')) != NULL; lines++)
        ranks += strncmp(++at, "    {\"rank\": ", 13) == 0;
    CU_ASSERT_EQUAL(ranks, 8);
    CU_ASSERT_EQUAL(lines, 1 + 26 + 1 + 8 + 1 + 1);
}

/* The root cause alone, as it is told between nodes and attempts. */
static void check_cause(const struct fake *fake, const struct jr_judgement *report,
                        const char *expected)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    JSON *cause = jr_judgement_cause(report, &fake->plan, &fake->outcome);
    jr_json_print(&text, cause, 0);
    JR_ASSERT_TEXT(text.data, jq(expected));
}

static void expect_cause(struct fake *fake, const char *expected)
{
    fake_judge(fake);
    check_cause(fake, &fake->report, expected);
    fake_end(fake);
}

#define CAUSE(rank, kind, code, sig, message, together)                                            \
    "{'rank': " rank ", 'host': 'gpu07', 'kind': '" kind "', 'exit_code': " code                   \
    ", 'signal': " sig ", 'message': '" message "', 'together': [" together "]}"

TEST(a_cause_is_told_by_what_became_of_its_rank)
{
    FAKE(fake, 1);
    expect_cause(&fake, "null");
    fake_ends(&fake, "0 3");
    expect_cause(&fake, CAUSE("1", "exit", "3", "null", "exited with code 3", ""));
    fake_ends(&fake, "0 L 0");
    expect_cause(&fake, CAUSE("1", "lost_node", "null", "null", "was lost with its node", ""));
    fake_ends(&fake, "S9 0");
    fake.ends[0].oom = true;
    expect_cause(&fake, CAUSE("0", "oom", "null", "'SIGKILL'",
                              "was OOM-killed: the kernel ran out of memory", ""));
}

/* A job that got no further is over for that, and its last attempt for this. */
TEST(a_stall_is_the_cause_of_the_run)
{
    static const struct jr_stall stall = {.attempts = 2, .stepped = true, .step = 7};
    FAKE_ENDS(fake, "0 3");
    fake_judge(&fake);
    fake.report.stall = stall;
    check_cause(
        &fake, &fake.report,
        CAUSE("1", "stall", "3", "null",
              "the last 2 attempts got no further than step 7; the last: exited with code 3", ""));
}

/* The schemas that are published are those of the rows that are written. */
TEST(the_schema_is_as_it_is_published)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, published = JR_BUF_INIT;
    jr_schema_results(&text);
    CU_ASSERT_EQUAL_FATAL(jr_io_read_file(&published, AT_FDCWD,
                                          TEST_SOURCE_DIR "/../schemas/results-v1.schema.json",
                                          1 << 20, NULL),
                          0);
    JR_ASSERT_TEXT(text.data, published.data);
}

/* The same for a judgement that is made by hand, of ranks 0, 10, 20, 30: what the record names is
 * the rank and not its place. */
static void expect_cause_of(struct fake *fake, const struct jr_judgement *report,
                            const char *expected)
{
    for (uint32_t i = 0; i < fake->plan.count; i++)
        fake->ranks[i].rank = 10 * i;
    check_cause(fake, report, expected);
    fake_end(fake);
}

/* All of which did well. */
static void expect_cause_of_good(const struct jr_judgement *report, const char *expected)
{
    FAKE(fake, 4);
    expect_cause_of(&fake, report, expected);
}

#define NO_RANK(kind, message)                                                                     \
    "{'rank': null, 'host': null, 'kind': '" kind                                                  \
    "', 'exit_code': null, 'signal': null, 'message': '" message "', 'together': []}"

TEST(a_cause_of_time_names_who_differs)
{
    static uint32_t odd[] = {2, 0, 3};
    struct jr_rank_judgement ranks[4] = {0};
    struct jr_judgement report = {.status = JR_RUN_HUNG,
                                  .overrun = "no output for 5 s",
                                  .odd = odd,
                                  .odd_count = 3,
                                  .odd_silent = true,
                                  .ranks = ranks,
                                  .count = 4};
    expect_cause_of_good(&report, CAUSE("20", "hang", "null", "null",
                                        "no output for 5 s; rank 20 fell silent first", "0, 30"));
    report.odd_count = 1;
    expect_cause_of_good(&report, CAUSE("20", "hang", "null", "null",
                                        "no output for 5 s; rank 20 fell silent first", ""));
    report.odd_count = 0;
    expect_cause_of_good(&report, NO_RANK("hang", "no output for 5 s"));
    report.status = JR_RUN_TIMED_OUT;
    report.overrun = "ran for 9 s";
    expect_cause_of_good(&report, NO_RANK("timeout", "ran for 9 s"));
    /* what kept it from beginning comes first */
    report.error = "no port is free";
    expect_cause_of_good(&report, NO_RANK("start", "no port is free"));
}

TEST(an_incomplete_run_names_who_did_not_deliver)
{
    struct jr_rank_judgement ranks[4] = {
        {.state = JR_RANK_SUCCEEDED},
        {.state = JR_RANK_INCOMPLETE, .reason = "no file", .error = "other"},
        {.state = JR_RANK_INCOMPLETE, .reason = "later"},
        {.state = JR_RANK_INCOMPLETE}};
    struct jr_judgement report = {.status = JR_RUN_INCOMPLETE, .ranks = ranks, .count = 4};
    expect_cause_of_good(&report, CAUSE("10", "result", "0", "null", "no file", "20, 30"));
    ranks[1].reason = NULL;
    report.error = "of the run";
    expect_cause_of_good(&report, CAUSE("10", "result", "0", "null", "other", "20, 30"));
    for (int i = 0; i < 4; i++)
        ranks[i].state = JR_RANK_SUCCEEDED;
    expect_cause_of_good(&report, NO_RANK("result", "of the run"));
    /* without a word there is no cause to write */
    report.error = NULL;
    expect_cause_of_good(&report, "null");
}

/* Only the last rank: the search goes to the end, and not past it. */
TEST(the_last_rank_can_be_incomplete)
{
    struct jr_rank_judgement ranks[3] = {{.state = JR_RANK_SUCCEEDED},
                                         {.state = JR_RANK_INCOMPLETE, .reason = "no file"},
                                         {.state = JR_RANK_INCOMPLETE, .reason = "of nobody"}};
    const struct jr_judgement report = {.status = JR_RUN_INCOMPLETE, .ranks = ranks, .count = 2};
    expect_cause_of_good(&report, CAUSE("10", "result", "0", "null", "no file", ""));
}

TEST(a_cause_is_of_the_kind_that_its_rank_ended_by)
{
    static uint32_t causes[] = {1, 3};
    struct jr_rank_judgement ranks[4] = {0};
    const struct jr_judgement report = {
        .status = JR_RUN_FAILED, .causes = causes, .causes_count = 2, .ranks = ranks, .count = 4};
    FAKE_ENDS(fake, "0 S11 0 0");
    expect_cause_of(&fake, &report,
                    CAUSE("10", "signal", "null", "'SIGSEGV'", "died by SIGSEGV", "30"));
    /* it was about to exit by itself when the stop came */
    fake_ends(&fake, "0 T 0 0");
    fake.ends[1].told_code = 4;
    expect_cause_of(
        &fake, &report,
        CAUSE("10", "exit", "4", "null", "was exiting with code 4 when it was stopped", "30"));
    /* its code was never called */
    fake_ends(&fake, "0 1 0 0");
    ranks[1].unstarted = true;
    ranks[1].error = "no module t";
    expect_cause_of(&fake, &report, CAUSE("10", "start", "1", "null", "no module t", "30"));
    ranks[1].reason = "the reason";
    fake_start(&fake, 4);
    fake.ends[1].end = JR_END_START;
    expect_cause_of(&fake, &report, CAUSE("10", "start", "null", "null", "the reason", "30"));
}

/* Take what there is: each time, so many bytes. */
struct taken {
    struct jr_buf all;
    size_t times, most, end_at;
};

static int take_piece(void *data, struct jr_buf *piece)
{
    struct taken *taken = data;
    taken->times++;
    taken->most = piece->len > taken->most ? piece->len : taken->most;
    jr_buf_add(&taken->all, piece->data, piece->len);
    jr_buf_clear(piece);
    return taken->times == taken->end_at ? -1 : 0;
}

/* Results of many ranks are written piece by piece, so that they need not be in memory at once; who
 * takes them may end it. */
TEST(large_results_are_taken_in_pieces)
{
    enum { RANKS = 600 };
    static struct jr_plan_rank ranks[RANKS];
    static struct jr_rank_outcome ends[RANKS];
    static struct jr_rank_judgement judged[RANKS];
    JR_BUF_CLEANUP struct jr_buf whole = JR_BUF_INIT, rest = JR_BUF_INIT;
    struct taken taken = {.end_at = 0};
    const struct jr_drain drain = {take_piece, &taken};
    FAKE(fake, 1);
    for (uint32_t i = 0; i < RANKS; i++)
        ranks[i] = (struct jr_plan_rank){.rank = i};
    fake.plan.ranks = ranks;
    fake.plan.count = fake.outcome.count = RANKS;
    fake.outcome.ranks = ends;
    const struct jr_judgement report = {.ranks = judged, .count = RANKS};
    jr_judgement_json(&whole, &report, &fake.plan, &fake.outcome, NULL);
    jr_judgement_json(&rest, &report, &fake.plan, &fake.outcome, &drain);
    CU_ASSERT_TRUE(whole.len > 3 << 16);
    CU_ASSERT_TRUE(taken.times > 3 && taken.most < 2 << 16);
    CU_ASSERT_EQUAL(rest.len, 0); /* the last piece, too */
    JR_ASSERT_TEXT(taken.all.data, whole.data);
    jr_buf_release(&taken.all);
    taken = (struct taken){.end_at = 1};
    jr_judgement_json(&rest, &report, &fake.plan, &fake.outcome, &drain);
    CU_ASSERT_EQUAL(taken.times, 1);
    jr_buf_release(&taken.all);
}

TEST(a_run_without_ranks_is_json)
{
    FAKE(fake, 0);
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    fake_judge(&fake);
    jr_judgement_json(&text, &fake.report, &fake.plan, &fake.outcome, NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(text.data, jq("\n  'ranks': []\n}\n")));
}

/* Two ranks that are told to be one world by PMI-1. */
static void start_mpi_world(struct fake *fake, enum jr_mpi_part first, enum jr_mpi_part second)
{
    fake_start(fake, 2);
    fake->plan.mpi = (struct jr_plan_mpi){.protocol = JR_MPI_PROTOCOL_PMI1, .stated = true};
    fake->ends[0].mpi = first;
    fake->ends[1].mpi = second;
}

TEST(the_ends_of_an_mpi_world)
{
    struct fake fake;
    start_mpi_world(&fake, JR_MPI_PART_ABSENT, JR_MPI_PART_ABSENT);
    expect(&fake, "status 'incomplete' | exit_code 5 | root_cause.kind 'singletons' | "
                  "root_cause.rank null | root_cause.message '2 singletons: `mpi: pmi1` is stated, "
                  "but no rank called MPI_Init through it' | ranks.1.mpi 'absent'");
    start_mpi_world(&fake, JR_MPI_PART_INITIALIZED, JR_MPI_PART_LEFT);
    fake_stopped(&fake, 0);
    expect(&fake, "root_cause.kind 'mpi' | root_cause.exit_code 0 | ranks.1.mpi 'left'");
    start_mpi_world(&fake, JR_MPI_PART_INITIALIZED, JR_MPI_PART_FAILED);
    fake_stopped(&fake, 0);
    fake_stopped(&fake, 1);
    fake.ends[1].mpi_code = 739859215;
    expect(&fake, "root_cause.kind 'mpi' | root_cause.exit_code 15 | ranks.1.mpi 'failed'");
    start_mpi_world(&fake, JR_MPI_PART_INITIALIZED, JR_MPI_PART_ABORTED);
    fake_stopped(&fake, 0);
    fake_stopped(&fake, 1);
    fake.ends[1].mpi_code = 3;
    expect(&fake, "root_cause.kind 'mpi_abort' | root_cause.rank 1 | root_cause.exit_code 3 | "
                  "root_cause.signal null | root_cause.message 'called MPI_Abort with code 3' | "
                  "ranks.1.mpi 'aborted' | ranks.1.mpi_abort_code 3 | ranks.0.mpi 'initialized' | "
                  "ranks.0.mpi_abort_code null");
}
