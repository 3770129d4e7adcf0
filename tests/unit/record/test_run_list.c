#include <poll.h>

#include "base/clock.h"
#include "fake_run.h"
#include "record/live_run.h"
#include "record/record_facts.h"
#include "record/results_json.h"
#include "record/run_list.h"
#include "report/show.h"
#include "report/summary.h"

/* A LOG_DIR is the fake's folder; runs are folders in it. */
static void add_run(struct fake *fake, const char *id, const char *name, const char *text)
{
    (void)mkdirat(fake->fd, id, 0700);
    fake_write(fake, jr_arena_printf(&fake->arena, "%s/%s", id, name), text);
}

static void print_record(struct fake *fake, const char *id, const struct jr_record_facts *facts)
{
    struct jr_buf text = JR_BUF_INIT;
    jr_record_run_json(&text, facts);
    add_run(fake, id, "run.json", text.data);
    jr_buf_release(&text);
}

static struct jr_record_facts facts_of(struct fake *fake)
{
    struct jr_record_facts facts = {0};
    CU_ASSERT_EQUAL_FATAL(jr_record_facts_fill(&facts, &fake->arena, &fake->plan, NULL), 0);
    return facts;
}

static const struct jr_record *record_of(const struct jr_records *records, const char *id)
{
    for (size_t i = 0; i < records->count; i++)
        if (strcmp(records->items[i].id, id) == 0)
            return &records->items[i];
    return NULL;
}

static void list(struct fake *fake, struct jr_records *ret)
{
    struct jr_error err = {0};
    *ret = (struct jr_records)JR_RECORDS_INIT;
    CU_ASSERT_EQUAL_FATAL(jr_records_list(ret, fake->dir, &err), 0);
}

static void what_is_no_run_is_not_listed(void)
{
    struct fake fake;
    struct jr_records records;
    struct jr_error err = {0};
    fake_start(&fake, 1);
    add_run(&fake, "other", "results.json", "{}");
    fake_write(&fake, "file", "x");
    (void)symlinkat("other", fake.fd, "link");
    list(&fake, &records);
    CU_ASSERT_EQUAL(records.count, 0);
    jr_records_release(&records);
    CU_ASSERT_EQUAL(jr_records_list(&records, "/nonexistent/runs", &err), 0);
    CU_ASSERT_EQUAL(records.count, 0);
    CU_ASSERT_EQUAL(jr_records_list(&records, "/dev/null", &err), -1);
    fake_end(&fake);
}

static void what_cannot_be_read_is_listed_as_damaged(void)
{
    static const char *const texts[] = {"{\"form", "", "[]", "7"};
    struct fake fake;
    struct jr_records records;
    fake_start(&fake, 1);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        add_run(&fake, "torn", "run.json", texts[i]);
        list(&fake, &records);
        CU_ASSERT_EQUAL_FATAL(records.count, 1);
        const struct jr_record *record = record_of(&records, "torn");
        CU_ASSERT_PTR_NOT_NULL_FATAL(record);
        JR_ASSERT_TEXT(record->status, "damaged");
        CU_ASSERT_TRUE(record->damaged);
        CU_ASSERT_FALSE(record->finished);
        CU_ASSERT_FALSE(jr_record_has_times(record));
        jr_records_release(&records);
    }
    add_run(&fake, "torn", "results.json",
            "{\"name\": \"t\", \"status\": \"succeeded\", \"started\": 5}");
    list(&fake, &records);
    JR_ASSERT_TEXT(records.items[0].status, "damaged");
    JR_ASSERT_TEXT(records.items[0].name, "t");
    CU_ASSERT_TRUE(jr_record_has_times(&records.items[0]));
    jr_records_release(&records);
    add_run(&fake, "torn", "run.json", "{\"status\": \"failed\"}");
    add_run(&fake, "torn", "results.json", "{\"sta");
    list(&fake, &records);
    JR_ASSERT_TEXT(records.items[0].status, "damaged");
    jr_records_release(&records);
    fake_end(&fake);
}

static void a_step_is_told_with_the_last(void)
{
    static const char *const vectors[][2] = {
        {"{\"step\": 120, \"of\": 1000}", "120/1000"},
        {"{\"step\": 120, \"of\": null}", "120"},
        {"{\"step\": 0}", "0"},
        {"{\"step\": null, \"of\": 9}", "-"},
        {NULL, "-"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        const struct jr_record record = {
            .progress = vectors[i][0] == NULL
                            ? NULL
                            : jr_json_parse(vectors[i][0], strlen(vectors[i][0]), NULL)};
        jr_record_step(&text, &record);
        JR_ASSERT_TEXT(text.data, vectors[i][1]);
        json_decref(record.progress);
    }
}

static void unfinished_runs_are_told_apart(void)
{
    struct fake fake;
    struct jr_records records;
    fake_start(&fake, 1);
    struct jr_record_facts facts = facts_of(&fake);
    print_record(&fake, "running", &facts);
    add_run(&fake, "running", "plan.json", "{\"world_size\": 4, \"ranks\": []}");
    add_run(&fake, "running", "progress.json", "{\"step\": 7}");
    add_run(&fake, "gone", "plan.json", "{\"world_size\": 1e300, \"ranks\": []}");
    add_run(&fake, "rebooted", "plan.json", "{\"world_size\": 4294967296, \"ranks\": []}");
    facts.pid = 2000000000; /* beyond any pid */
    print_record(&fake, "gone", &facts);
    facts.pid = getpid();
    facts.start_ticks++; /* this process is another one */
    print_record(&fake, "pid-reused", &facts);
    facts.machine.boot_id = "another";
    print_record(&fake, "rebooted", &facts);
    facts.machine.host = "elsewhere.example";
    print_record(&fake, "elsewhere", &facts);
    list(&fake, &records);
    CU_ASSERT_EQUAL_FATAL(records.count, 5);
    JR_ASSERT_TEXT(record_of(&records, "running")->status, "running");
    CU_ASSERT_EQUAL(record_of(&records, "running")->world_size, 4);
    CU_ASSERT_FALSE(record_of(&records, "running")->finished);
    CU_ASSERT_EQUAL(jr_json_get_int(record_of(&records, "running")->progress, "step"), 7);
    CU_ASSERT_PTR_NULL(record_of(&records, "gone")->progress);
    JR_ASSERT_TEXT(record_of(&records, "gone")->status, "lost");
    CU_ASSERT_EQUAL(record_of(&records, "gone")->world_size, 0);
    CU_ASSERT_EQUAL(record_of(&records, "rebooted")->world_size, 0);
    JR_ASSERT_TEXT(record_of(&records, "pid-reused")->status, "lost");
    JR_ASSERT_TEXT(record_of(&records, "rebooted")->status, "lost");
    JR_ASSERT_TEXT(record_of(&records, "elsewhere")->status, "elsewhere");
    jr_records_release(&records);
    fake_end(&fake);
}

/* Judge the fake and leave its files as the run `id` that began at `started` seconds. */
static void finish_run(struct fake *fake, const char *id, uint64_t started)
{
    struct jr_buf text = JR_BUF_INIT;
    struct jr_record_facts facts = facts_of(fake);
    fake->plan.run_id = id;
    fake->outcome.started_wall_ns = started * FAKE_SECOND;
    fake->outcome.ended_wall_ns = (started + 10) * FAKE_SECOND;
    fake_judge(fake);
    jr_judgement_json(&text, &fake->report, &fake->plan, &fake->outcome, NULL);
    add_run(fake, id, "results.json", text.data);
    jr_record_facts_finish(&facts, &fake->report, &fake->outcome);
    print_record(fake, id, &facts);
    jr_buf_release(&text);
}

static void finished_runs_newest_first(void)
{
    struct fake fake;
    struct jr_records records;
    fake_start(&fake, 3);
    finish_run(&fake, "b", 1000);
    finish_run(&fake, "c", 3000);
    fake_exit(&fake, 0, 9);
    finish_run(&fake, "a", 2000);
    list(&fake, &records);
    CU_ASSERT_EQUAL_FATAL(records.count, 3);
    JR_ASSERT_TEXT(records.items[0].id, "c");
    JR_ASSERT_TEXT(records.items[1].id, "a");
    JR_ASSERT_TEXT(records.items[2].id, "b");
    const struct jr_record *failed = &records.items[1];
    JR_ASSERT_TEXT(failed->status, "failed");
    JR_ASSERT_TEXT(failed->name, "digits");
    CU_ASSERT_TRUE(failed->finished);
    CU_ASSERT_EQUAL(failed->exit_code, 1);
    CU_ASSERT_EQUAL(failed->world_size, 3);
    CU_ASSERT_DOUBLE_EQUAL(failed->started, 2000, 0);
    CU_ASSERT_DOUBLE_EQUAL(failed->seconds, 10, 0);
    jr_records_release(&records);
    fake_end(&fake);
}

static void a_run_is_found_by_id_prefix_or_latest(void)
{
    static const struct {
        const char *run, *id; /* NULL: an error */
        const char *error;
    } cases[] = {
        {"2", NULL, "'2' matches 2 runs: "},
        {"4", NULL, "no run '4' in "},
        {"", NULL, "'' matches 4 runs: "},
        {"20-a/", NULL, "run '20-a' in "},
        {"30-p/node_2", NULL, "run '30-p' in "},
        {"30-p/node_01", NULL, "run '30-p' in "},
        {"30-p/node_0/..", NULL, "run '30-p' in "},
        {"/node_0", NULL, "'/node_0' is not the id of a run"},
        {"notarun", NULL, "'notarun' in "},
        {"20-a", "20-a", NULL},
        {"20-ab", "20-ab", NULL},
        {"1", "10-x", NULL},
        {"3/node_1", "30-p/node_1", NULL},
        {"latest", "20-a", NULL},
    };
    struct fake fake;
    fake_start(&fake, 1);
    add_run(&fake, "20-a", "run.json", "{}");
    add_run(&fake, "20-ab", "run.json", "{}");
    add_run(&fake, "10-x", "run.json", "{}");
    add_run(&fake, "notarun", "other.json", "{}");
    add_run(&fake, "30-p", "other.json", "{}");
    add_run(&fake, "30-p/node_1", "run.json", "{}");
    add_run(&fake, "30-p/node_2", "other.json", "{}");
    add_run(&fake, "30-p/node_01", "run.json", "{}");
    (void)symlinkat("20-a", fake.fd, "latest");
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        char id[256] = "";
        struct jr_error err = {0};
        int result = jr_record_find(id, fake.dir, cases[c].run, &err);
        CU_ASSERT_EQUAL(result, cases[c].id == NULL ? -1 : 0);
        if (cases[c].id != NULL) {
            JR_ASSERT_TEXT(id, cases[c].id);
        } else {
            CU_ASSERT_EQUAL(strncmp(err.text, cases[c].error, strlen(cases[c].error)), 0);
            CU_ASSERT_EQUAL(err.status, JR_STATUS_USAGE);
        }
    }
    fake_end(&fake);
}

static void latest_without_a_usable_link_is_the_newest(void)
{
    static const char *const targets[] = {NULL, "gone", "../etc", "b/.."};
    for (size_t t = 0; t < 4; t++) {
        struct fake fake;
        char id[256] = "";
        struct jr_error err = {0};
        fake_start(&fake, 1);
        CU_ASSERT_EQUAL(jr_record_find(id, fake.dir, "latest", &err), -1);
        finish_run(&fake, "b", 1000);
        finish_run(&fake, "a", 2000);
        if (targets[t] != NULL)
            (void)symlinkat(targets[t], fake.fd, "latest");
        CU_ASSERT_EQUAL(jr_record_find(id, fake.dir, "latest", &err), 0);
        JR_ASSERT_TEXT(id, "a");
        fake_end(&fake);
    }
}

/* What is shown later is what was told at the end, but for the run's name. */
static void check_shown(struct fake *fake)
{
    struct jr_buf told = JR_BUF_INIT, shown = JR_BUF_INIT;
    struct jr_error err = {0};
    char run_dir[128];
    finish_run(fake, "latest-run", 1000);
    (void)snprintf(run_dir, sizeof run_dir, "%s/latest-run", fake->dir);
    fake->plan.run_dir = fake->plan.own_dir = run_dir;
    (void)mkdirat(fake->fd, "latest-run/attempt_0", 0700);
    for (uint32_t i = 0; i < fake->plan.count; i++) {
        const char *dir = fake->ranks[i].dir;
        CU_ASSERT_EQUAL(
            renameat(fake->fd, dir, fake->fd, jr_arena_printf(&fake->arena, "latest-run/%s", dir)),
            0);
    }
    int fd = openat(fake->fd, "latest-run", O_RDONLY);
    jr_judgement_print(&told, &fake->report, &fake->plan, &fake->outcome, fd, false);
    CU_ASSERT_EQUAL(jr_record_show(&shown, fake->dir, "latest-run", NULL, false, &err), 0);
    char *at = strstr(shown.data, " latest-run");
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    (void)memmove(at + 7, at + 11, strlen(at + 11) + 1);
    JR_ASSERT_TEXT(shown.data, told.data);
    jr_buf_release(&told);
    jr_buf_release(&shown);
    (void)close(fd);
    fake_end(fake);
}

static void a_success_is_shown_as_it_was_told(void)
{
    struct fake fake;
    fake_start(&fake, 2);
    fake_write_rank(&fake, 0, "result.json", "{\"a\": 1.5}");
    fake_write_rank(&fake, 1, "result.json", "{\"a\": 2}");
    check_shown(&fake);
}

static void a_failure_is_shown_as_it_was_told(void)
{
    struct fake fake;
    fake_start(&fake, 5);
    fake_signal(&fake, 1, 11);
    fake.ends[1].core_dumped = true;
    fake_exit(&fake, 2, 1);
    fake.ends[2].ended_ns = fake.ends[1].ended_ns;
    fake_stopped(&fake, 0);
    fake_exit(&fake, 3, 4);
    fake.ends[4] = (struct jr_rank_outcome){0};
    fake_write_rank(&fake, 1, "stderr.log", "one\ntwo\n");
    fake_write_rank(&fake, 1, "error.json",
                    "{\"message\": {\"message\": \"E: x\", \"extraInfo\": "
                    "{\"py_callstack\": \"  File \\\"a.py\\\", line 3\\n\"}}}");
    check_shown(&fake);
}

/* How a rank ended does not say what jobrun sent it. */
static void stopped_ranks_are_shown_as_they_were_told(void)
{
    for (uint32_t first = 0; first < 5; first++) {
        struct fake fake;
        fake_start(&fake, 6);
        fake_exit(&fake, 5, 1);
        fake.ends[5].ended_ns = FAKE_SECOND + 29000000;
        for (uint32_t i = first; i < 5; i++)
            fake.ends[i].stopped_with = 15;
        fake_signal(&fake, 1, 9); /* by somebody else */
        fake_signal(&fake, 2, 9);
        fake.ends[2].killed = first <= 2;
        fake_signal(&fake, 3, 15);
        if (first == 4)
            fake_write_rank(&fake, 4, "error.json",
                            "{\"message\": {\"message\": \"E: x\"}, "
                            "\"time_ns\": 1800000000000000001}");
        check_shown(&fake);
    }
}

static void an_incomplete_run_is_shown_as_it_was_told(void)
{
    struct fake fake;
    fake_start(&fake, 3);
    fake.policy.results.stated = true;
    fake_write_rank(&fake, 1, "result.json", "{}");
    check_shown(&fake);
}

static void other_ends_are_shown_as_they_were_told(void)
{
    for (int kind = 0; kind < 6; kind++) {
        struct fake fake;
        fake_start(&fake, 2);
        fake_stopped(&fake, 0);
        fake_stopped(&fake, 1);
        if (kind == 0 || kind == 5)
            fake.outcome.stop_signal = 2;
        if (kind > 3)
            fake.outcome.guard_pid = 4711;
        if (kind > 3)
            fake.outcome.guard_signal = 9;
        if (kind == 1)
            fake.outcome.timed_out_by = JR_TIMEOUT_RUN;
        if (kind == 2)
            fake.outcome.runner_signal = 9;
        if (kind == 3)
            fake.ends[0] = (struct jr_rank_outcome){
                .end = JR_END_START, .stage = JR_STAGE_EXEC, .start_errno = 2};
        check_shown(&fake);
    }
}

static void an_unfinished_run_is_shown(void)
{
    struct fake fake;
    struct jr_buf out = JR_BUF_INIT;
    struct jr_error err = {0};
    fake_start(&fake, 1);
    struct jr_record_facts facts = facts_of(&fake);
    facts.pid = 2000000000;
    print_record(&fake, "lost", &facts);
    CU_ASSERT_EQUAL(jr_record_show(&out, fake.dir, "nope", NULL, false, &err), -1);
    CU_ASSERT_EQUAL(jr_record_show(&out, fake.dir, "attempt_0", NULL, false, &err), -1);
    CU_ASSERT_EQUAL(jr_record_show(&out, fake.dir, "lost", NULL, false, &err), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "jobrun: lost: pid 2000000000 on "));
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, " is gone and left no results\n"));
    jr_buf_release(&out);
    fake_end(&fake);
}

static void results_that_jobrun_did_not_write(void)
{
    static const char *const texts[] = {
        "{}",
        "{\"ranks\": 3}",
        "[]",
        "{\"ranks\": [3, null, {\"state\": \"odd\", \"coordinates\": 7}]}",
        "{\"root_cause\": {\"kind\": \"exit\", \"rank\": 0, \"together\": [0, 0]},\"ranks\": [{}]}",
        "{\"seconds\": -1, \"ranks\": []}",
        "{\"ranks\": [{\"node_rank\": 4294967295}]}",
        "{\"ranks\": [{\"coordinates\": {\"data\": 4294967295}}]}",
        "{\"ranks\": [], \"status\": \"stopped\", \"exit_code\": 2147483648}",
    };
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        struct fake fake;
        struct jr_buf out = JR_BUF_INIT;
        struct jr_error err = {0};
        fake_start(&fake, 1);
        struct jr_record_facts facts = facts_of(&fake);
        print_record(&fake, "r", &facts);
        add_run(&fake, "r", "results.json", texts[t]);
        CU_ASSERT_EQUAL(jr_record_show(&out, fake.dir, "r", NULL, false, &err), 0);
        CU_ASSERT_EQUAL(strncmp(out.data, "jobrun: ", 8), 0);
        jr_buf_release(&out);
        fake_end(&fake);
    }
}

static void logs_by_results_or_by_plan(void)
{
    struct fake fake;
    struct jr_record_logs logs;
    struct jr_error err = {0};
    fake_start(&fake, 2);
    CU_ASSERT_EQUAL(jr_record_logs_load(&logs, fake.dir, "r", NULL, &err), -1);
    add_run(&fake, "r", "plan.json",
            "{\"ranks\": [{\"rank\": 4, \"stdout\": {\"file\": \"o\", \"console\": "
            "true}, \"stderr\": {\"file\": null, \"console\": true}}]}");
    CU_ASSERT_EQUAL_FATAL(jr_record_logs_load(&logs, fake.dir, "r", NULL, &err), 0);
    CU_ASSERT_EQUAL_FATAL(logs.count, 1);
    CU_ASSERT_FALSE(logs.finished);
    CU_ASSERT_EQUAL(logs.items[0].rank, 4);
    JR_ASSERT_TEXT(logs.items[0].out, "o");
    CU_ASSERT_PTR_NULL(logs.items[0].err);
    jr_record_logs_release(&logs);
    finish_run(&fake, "r", 1000);
    CU_ASSERT_EQUAL_FATAL(jr_record_logs_load(&logs, fake.dir, "r", NULL, &err), 0);
    CU_ASSERT_EQUAL_FATAL(logs.count, 2);
    CU_ASSERT_TRUE(logs.finished);
    JR_ASSERT_TEXT(logs.items[1].err, "attempt_0/1/stderr.log");
    jr_record_logs_release(&logs);
    fake_end(&fake);
}

static enum jr_standing standing(struct fake *fake, struct jr_live *live)
{
    *live = (struct jr_live){.held = JR_HOLD_NONE};
    CU_ASSERT_EQUAL(jr_live_open(live, fake->dir, "r", NULL), 0);
    return live->standing;
}

/* The pidfd of a live run is not readable before its process has ended. */
static void lives_until_it_ends(void)
{
    static const char results[] = "results.json";
    struct fake fake;
    struct jr_live live;
    fake_start(&fake, 1);
    CU_ASSERT_NOT_EQUAL(jr_live_open(&live, fake.dir, "r", NULL), 0);
    struct jr_record_facts facts = facts_of(&fake);
    print_record(&fake, "r", &facts);
    CU_ASSERT_EQUAL(standing(&fake, &live), JR_STANDING_RUNNING);
    struct pollfd poll_fd = {.fd = live.held.fd, .events = POLLIN};
    CU_ASSERT_TRUE_FATAL(live.held.fd >= 0);
    CU_ASSERT_TRUE(live.ours);
    CU_ASSERT_EQUAL(poll(&poll_fd, 1, 0), 0);
    jr_live_close(&live);

    facts.machine.host = "elsewhere";
    facts.machine.user = "somebody else";
    print_record(&fake, "r", &facts);
    CU_ASSERT_EQUAL(standing(&fake, &live), JR_STANDING_ELSEWHERE);
    CU_ASSERT_EQUAL(live.held.fd, -1);
    CU_ASSERT_FALSE(live.ours);
    jr_live_close(&live);
    facts = facts_of(&fake);
    facts.machine.boot_id = "another boot";
    print_record(&fake, "r", &facts);
    CU_ASSERT_EQUAL(standing(&fake, &live), JR_STANDING_LOST);
    jr_live_close(&live);
    facts = facts_of(&fake);
    print_record(&fake, "r", &facts);
    add_run(&fake, "r", results, "{\"status\": \"failed\", \"exit_code\": 1}");
    CU_ASSERT_EQUAL(standing(&fake, &live), JR_STANDING_FINISHED);
    CU_ASSERT_TRUE(live.held.fd >= 0); /* we live, and may show the rest */
    CU_ASSERT_EQUAL(live.exit_code, 1);
    JR_ASSERT_TEXT(live.status, "failed");
    jr_live_close(&live);
    fake_end(&fake);
}

static void the_record_tells_of_this_process(void)
{
    static char *secrets[] = {(char *)"*TOKEN*"};
    struct fake fake;
    fake_start(&fake, 1);
    fake.plan.secrets = secrets;
    fake.plan.secrets_count = 1;
    struct jr_record_facts facts = facts_of(&fake);
    CU_ASSERT_EQUAL(facts.pid, getpid());
    CU_ASSERT_EQUAL(strlen(facts.machine.boot_id), 36);
    CU_ASSERT_PTR_NOT_NULL(strstr(facts.argv[0], "unit_record_run_list"));
    CU_ASSERT_PTR_NULL(facts.argv[1]);
    JR_ASSERT_TEXT(facts.run_id, fake.plan.run_id);
    fake_end(&fake);
}

JR_UNIT_MAIN("record", CASE(a_step_is_told_with_the_last), CASE(what_is_no_run_is_not_listed),
             CASE(what_cannot_be_read_is_listed_as_damaged), CASE(unfinished_runs_are_told_apart),
             CASE(finished_runs_newest_first), CASE(a_run_is_found_by_id_prefix_or_latest),
             CASE(latest_without_a_usable_link_is_the_newest),
             CASE(a_success_is_shown_as_it_was_told), CASE(a_failure_is_shown_as_it_was_told),
             CASE(stopped_ranks_are_shown_as_they_were_told),
             CASE(an_incomplete_run_is_shown_as_it_was_told),
             CASE(other_ends_are_shown_as_they_were_told), CASE(an_unfinished_run_is_shown),
             CASE(results_that_jobrun_did_not_write), CASE(logs_by_results_or_by_plan),
             CASE(lives_until_it_ends), CASE(the_record_tells_of_this_process))
