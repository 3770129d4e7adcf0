/* A run without results, in the keys of results.json: what is known so far, and null for the
 * rest. */
#include "record/live_ranks.h"

#include <time.h>

#include "scratch.h"
#include "quoted.h"

#define PLANNED(rank)                                                                              \
    "{\"rank\": " rank ", \"local_rank\": " rank ", \"node_rank\": 0, \"device\": \"GPU-" rank     \
    "\", \"coordinates\": {\"data\": " rank "}, \"stdout\": {\"file\": \"attempt_0/" rank          \
    "/stdout.log\"}, \"stderr\": {\"file\": null}}"
#define STARTED(rank, pid) "{\"event\":\"rank_started\",\"rank\":" rank ",\"pid\":" pid "}\n"
#define ENDED(rank, how)   "{\"event\":\"rank_ended\",\"rank\":" rank how "}\n"

/* Five ranks: of the first nothing is known, the second runs, and the others have ended, each in
 * its way. */
static const char plan[] = "{\"ranks\": [" PLANNED("0") "," PLANNED("1") "," PLANNED(
    "2") "," PLANNED("3") "," PLANNED("4") "]}";
static const char events[] = STARTED("1", "51") STARTED("2", "52") STARTED("3", "53")
    STARTED("4", "54") ENDED("2", ",\"pid\":52,\"exit_code\":0,\"signal\":null")
        ENDED("3", ",\"pid\":53,\"exit_code\":3,\"signal\":null")
            ENDED("4", ",\"pid\":54,\"exit_code\":null,\"signal\":\"SIGHUP\"");

/* Ask for it; the record is JSON text, and so is `progress`. NULL: no rank has told of a step. */
static json_t *tell_with(const char *record, const char *standing, const char *progress)
{
    struct scratch scratch;
    struct jr_error err = {0};
    json_t *run = jr_json_parse(record, strlen(record), &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(run);
    scratch_start(&scratch);
    CU_ASSERT_EQUAL(mkdirat(scratch.fd, "r", 0700), 0);
    scratch_write(&scratch, "r/plan.json", plan);
    scratch_write(&scratch, "r/events.jsonl", events);
    /* The other ranks have written nothing, or nothing yet. */
    CU_ASSERT_EQUAL(mkdirat(scratch.fd, "r/attempt_0", 0700), 0);
    CU_ASSERT_EQUAL(mkdirat(scratch.fd, "r/attempt_0/3", 0700), 0);
    scratch_write(&scratch, "r/attempt_0/3/stdout.log", "");
    if (progress != NULL)
        scratch_write(&scratch, "r/progress.json", progress);
    json_t *told = jr_live_results(scratch.dir, "r", run, standing, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(told);
    json_decref(run);
    scratch_end(&scratch);
    return told;
}

static json_t *tell(const char *record, const char *standing)
{
    return tell_with(record, standing, NULL);
}

static void check_json(const json_t *json, const char *expected)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_json_print(&text, json, 0);
    JR_ASSERT_TEXT(text.data, expected);
}

/* What all ranks of these records have. */
#define RANK(n, host, pid, state, code, sig) RANK_WITH(n, host, pid, state, code, sig, "null")
#define RANK_WITH(n, host, pid, state, code, sig, log)                                             \
    "{\"rank\": " n ", \"local_rank\": " n ", \"node_rank\": 0, \"host\": " host ", \"pid\": " pid \
    ", \"device\": \"GPU-" n "\", \"coordinates\": {\"data\": " n "}, \"state\": \"" state         \
    "\", \"exit_code\": " code ", \"signal\": " sig ", \"stdout\": " log ", \"stderr\": null, "    \
    "\"seconds\": null, \"max_rss_bytes\": null, \"error_file\": null, "                           \
    "\"error\": null, \"result\": null, \"result_error\": null}"

TEST(ranks_are_told_by_plan_and_events)
{
    json_t *told = tell("{\"host\": \"gpu07\", \"nodes\": 1}", "running");
    check_json(
        json_object_get(told, "ranks"),
        "[" RANK("0", "\"gpu07\"", "null", "not_started", "null", "null") ", " RANK(
            "1", "\"gpu07\"", "51", "running", "null",
            "null") ", " RANK("2", "\"gpu07\"", "52", "ended", "0",
                              "null") ", " RANK_WITH("3", "\"gpu07\"", "53", "ended", "3", "null",
                                                     "\"attempt_0/3/stdout.log\"") ", " RANK("4",
                                                                                             "\"gpu"
                                                                                             "07\"",
                                                                                             "54",
                                                                                             "ende"
                                                                                             "d",
                                                                                             "null",
                                                                                             "\"SIG"
                                                                                             "HUP"
                                                                                             "\"") "]");
    json_decref(told);
}

/* If its jobrun is gone, no rank runs; and with several nodes, the record of one does not say where
 * the others' ranks were. */
TEST(no_rank_runs_without_its_jobrun)
{
    static const char *const standings[] = {"lost", "elsewhere"};
    for (size_t i = 0; i < 2; i++) {
        json_t *told = tell("{\"host\": \"gpu07\", \"nodes\": 2}", standings[i]);
        const json_t *ranks = json_object_get(told, "ranks");
        JR_ASSERT_TEXT(jr_json_get_str(told, "status"), standings[i]);
        check_json(json_array_get(ranks, 0),
                   RANK("0", "null", "null", "not_started", "null", "null"));
        check_json(json_array_get(ranks, 1), RANK("1", "null", "51", "ended", "null", "null"));
        json_decref(told);
    }
}

TEST(the_run_is_told_by_its_record)
{
    char record[256];
    (void)snprintf(record, sizeof record,
                   "{\"run_id\": \"r\", \"name\": \"digits\", \"fingerprint\": null, \"attempt\": "
                   "2, \"started\": %lld, \"host\": \"h\"}",
                   (long long)time(NULL) - 1000);
    json_t *told = tell(record, "running");
    double seconds = jr_json_get_real(told, "seconds");
    CU_ASSERT_TRUE(seconds >= 999 && seconds < 1100);
    CU_ASSERT_EQUAL(json_object_size(told), 16);
    CU_ASSERT_EQUAL(jr_json_get_int(told, "format_version"), 1);
    JR_ASSERT_TEXT(jr_json_get_str(told, "run_id"), "r");
    JR_ASSERT_TEXT(jr_json_get_str(told, "name"), "digits");
    JR_ASSERT_TEXT(jr_json_get_str(told, "status"), "running");
    CU_ASSERT_EQUAL(jr_json_get_int(told, "attempt"), 2);
    static const char *const unknown[] = {"fingerprint", "world_size",     "exit_code",
                                          "finished",    "processes_left", "root_cause"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        CU_ASSERT_TRUE(json_is_null(json_object_get(told, unknown[i])));
    json_decref(told);
    /* By a clock that was set back, it began in the future. */
    told = tell("{\"started\": 99999999999}", "running");
    CU_ASSERT_TRUE(json_is_real(json_object_get(told, "seconds")));
    CU_ASSERT_EQUAL(jr_json_get_real(told, "seconds"), 0);
    json_decref(told);
}

TEST(progress_is_told_as_it_is)
{
    static const char *const vectors[][2] = {
        {NULL, "null"}, {"{\"step\": 7}", "{\"step\": 7}"}, {"[7]", "null"}, {"{\"step\"", "null"}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        json_t *told = tell_with("{}", "running", vectors[i][0]);
        check_json(json_object_get(told, "progress"), vectors[i][1]);
        json_decref(told);
    }
}

TEST(without_a_plan_nothing_is_told)
{
    struct jr_error err = {0};
    json_t *run = json_object();
    SCRATCH(scratch);
    CU_ASSERT_PTR_NULL(jr_live_results(scratch.dir, "r", run, "running", &err));
    CU_ASSERT_EQUAL(mkdirat(scratch.fd, "r", 0700), 0);
    CU_ASSERT_PTR_NULL(jr_live_results(scratch.dir, "r", run, "running", &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, " has no plan.json"));
    json_decref(run);
}
