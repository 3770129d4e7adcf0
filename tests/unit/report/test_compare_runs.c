/* Two runs side by side, by the files that they left. */
#include "report/compare_runs.h"

#include "scratch.h"

/* A run's files; `results` NULL: it has none. */
struct run {
    const char *record, *results;
};

static void add_run(const struct scratch *scratch, const char *id, const struct run *run)
{
    char path[64];
    CU_ASSERT_EQUAL_FATAL(mkdirat(scratch->fd, id, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/run.json", id);
    scratch_write(scratch, path, run->record);
    (void)snprintf(path, sizeof path, "%s/results.json", id);
    if (run->results != NULL)
        scratch_write(scratch, path, run->results);
}

/* Rows as "part name: a | b", one a line. */
static void print_rows(struct jr_buf *out, const struct jr_diff_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct jr_diff_table_row *row = &table->rows[i];
        jr_buf_printf(out, "%s %s: %s | %s\n", row->part, row->name,
                      row->a.value == NULL ? "-" : row->a.value,
                      row->b.value == NULL ? "-" : row->b.value);
    }
}

static void check(const struct run *a, const struct run *b, const char *expected)
{
    struct jr_diff_table table = JR_DIFF_TABLE_INIT;
    struct jr_error err = {0};
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    SCRATCH(scratch);
    const struct jr_run_place places[] = {{scratch.dir, "a"}, {scratch.dir, "b"}};
    add_run(&scratch, "a", a);
    add_run(&scratch, "b", b);
    CU_ASSERT_EQUAL_FATAL(jr_record_compare(&table, places, &err), 0);
    print_rows(&out, &table);
    JR_ASSERT_TEXT(out.data, expected);
    jr_diff_table_release(&table);
}

#define RECORD(more)         "{\"host\": \"gpu00\", \"version\": \"1.0\"" more "}"
#define RESULTS(head, ranks) "{" head ", \"ranks\": [" ranks "]}"
#define GOOD                                                                                       \
    "\"status\": \"succeeded\", \"exit_code\": 0, \"seconds\": 10, "                               \
    "\"root_cause\": null"
#define RANK(result) "{\"rank\": 0, \"result\": " result "}"

TEST(a_run_that_is_not_there_is_told)
{
    struct jr_diff_table table = JR_DIFF_TABLE_INIT;
    struct jr_error err = {0};
    char expected[128];
    SCRATCH(scratch);
    const struct jr_run_place places[] = {{scratch.dir, "a"}, {scratch.dir, "nope"}};
    add_run(&scratch, "a", &(struct run){RECORD(""), NULL});
    CU_ASSERT_EQUAL(jr_record_compare(&table, places, &err), -1);
    (void)snprintf(expected, sizeof expected, "run 'nope' in %s: No such file or directory",
                   scratch.dir);
    JR_ASSERT_TEXT(err.text, expected);
    CU_ASSERT_EQUAL(table.count, 0);
}

TEST(runs_that_went_the_same_way)
{
    static const struct run run = {RECORD(", \"started\": 1800000000.5"),
                                   RESULTS(GOOD, RANK("{\"acc\": 0.5}"))};
    check(&run, &run,
          "outcome status: succeeded | succeeded\ntime started: 2027-01-15T08:00:00.500Z | "
          "2027-01-15T08:00:00.500Z\ntime took: 10.0 s | 10.0 s\ncircumstance peak memory: - | "
          "-\nresult results.acc: 0.5 | 0.5\n");
}

TEST(what_differs_is_told)
{
    static const struct run a = {
        RECORD(", \"git\": {\"commit\": \"0123456789abcdef\", \"dirty\": false}"),
        RESULTS(GOOD, "{\"rank\": 0, \"max_rss_bytes\": 1572864, \"result\": {\"acc\": 0.5, "
                      "\"only\": [1]}}, {\"rank\": 1, \"max_rss_bytes\": 1048576}")};
    static const struct run b = {
        "{\"host\": \"gpu01\", \"version\": \"1.1\", \"git\": {\"commit\": \"0123456789abcdef\", "
        "\"dirty\": true}}",
        RESULTS("\"status\": \"failed\", \"exit_code\": 3, \"seconds\": 0.25, \"root_cause\": "
                "{\"rank\": 7, \"kind\": \"exit\", \"message\": \"exited with code 3\"}",
                RANK("{\"new\": true, \"acc\": 0.25}"))};
    check(&a, &b,
          "outcome status: succeeded | failed\n"
          "outcome exit_code: 0 | 3\n"
          "outcome root_cause: - | rank 7 exited with code 3\n"
          "time started: - | -\n"
          "time took: 10.0 s | 250 ms\n"
          "circumstance peak memory: 1.5 MiB | -\n"
          "circumstance host: gpu00 | gpu01\n"
          "circumstance jobrun: 1.0 | 1.1\n"
          "circumstance git commit: 0123456789ab | 0123456789ab (dirty)\n"
          "result results.acc: 0.5 | 0.25\n"
          "result results.only: [1] | -\n"
          "result results.new: - | true\n");
}

/* Of a run without results what its record says; a cause that is no rank's has no number. */
TEST(a_run_without_results)
{
    static const struct run a = {RECORD(""), NULL};
    static const struct run b = {
        RECORD(", \"started\": 1e11"),
        RESULTS("\"status\": \"stopped\", \"exit_code\": 143, \"seconds\": 1, \"root_cause\": "
                "{\"rank\": null, \"kind\": \"signal\", \"message\": \"jobrun was stopped by "
                "SIGTERM\"}",
                "")};
    check(&a, &b,
          "outcome status: elsewhere | stopped\n"
          "outcome exit_code: - | 143\n"
          "outcome root_cause: - | jobrun was stopped by SIGTERM\n"
          "time started: - | -\n"
          "time took: - | 1.0 s\n"
          "circumstance peak memory: - | -\n");
}

TEST(what_a_rerun_needs)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_record_origin origin;
    struct jr_error err = {0};
    char expected[64];
    SCRATCH(scratch);
    CU_ASSERT_EQUAL(jr_record_origin(&origin, &arena, scratch.dir, "a", &err), -1);
    add_run(&scratch, "a",
            &(struct run){RECORD(", \"fingerprint\": \"ab\", \"local\": true"), NULL});
    CU_ASSERT_EQUAL_FATAL(jr_record_origin(&origin, &arena, scratch.dir, "a", &err), 0);
    (void)snprintf(expected, sizeof expected, "%s/a", scratch.dir);
    JR_ASSERT_TEXT(origin.run_dir, expected);
    JR_ASSERT_TEXT(origin.log_dir, scratch.dir);
    JR_ASSERT_TEXT(origin.fingerprint, "ab");
    CU_ASSERT_TRUE(origin.local);
    CU_ASSERT_PTR_NULL(origin.spec);
    CU_ASSERT_TRUE(jr_trust_is_ours(&origin.trust));
    scratch_write(&scratch, "a/resolved.yaml", "name: x\n");
    CU_ASSERT_EQUAL_FATAL(jr_record_origin(&origin, &arena, scratch.dir, "a", &err), 0);
    JR_ASSERT_TEXT(origin.spec, "name: x\n");
    jr_arena_release(&arena);
}
