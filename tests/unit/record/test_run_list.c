#include "base/clock.h"
#include "fake_run.h"
#include "quoted.h"
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
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_record_run_json(&text, facts);
    add_run(fake, id, "run.json", text.data);
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

#define RECORDS(name) struct jr_records name RELEASE(jr_records_release) = JR_RECORDS_INIT

static void list(struct fake *fake, struct jr_records *ret)
{
    struct jr_error err = {0};
    jr_records_release(ret);
    *ret = (struct jr_records)JR_RECORDS_INIT;
    CU_ASSERT_EQUAL_FATAL(jr_records_list(ret, fake->dir, &err), 0);
}

TEST(what_is_no_run_is_not_listed)
{
    RECORDS(records);
    struct jr_error err = {0};
    FAKE(fake, 1);
    add_run(&fake, "other", "results.json", "{}");
    fake_write(&fake, "file", "x");
    (void)symlinkat("other", fake.fd, "link");
    list(&fake, &records);
    CU_ASSERT_EQUAL(records.count, 0);
    jr_records_release(&records);
    CU_ASSERT_EQUAL(jr_records_list(&records, "/nonexistent/runs", &err), 0);
    CU_ASSERT_EQUAL(records.count, 0);
    CU_ASSERT_EQUAL(jr_records_list(&records, "/dev/null", &err), -1);
}

TEST(what_cannot_be_read_is_listed_as_damaged)
{
    static const char *const texts[] = {"{\"form", "", "[]", "7"};
    RECORDS(records);
    FAKE(fake, 1);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        add_run(&fake, "torn", "run.json", texts[i]);
        list(&fake, &records);
        CU_ASSERT_EQUAL_FATAL(records.count, 1);
        const struct jr_record *record = record_of(&records, "torn");
        CU_ASSERT_PTR_NOT_NULL_FATAL(record);
        JR_ASSERT_TEXT(record->status, "damaged");
        CU_ASSERT_TRUE(record->damaged);
        CU_ASSERT_FALSE(record->finished);
        CU_ASSERT_FALSE(jr_record_has_times(record));
    }
    add_run(&fake, "torn", "results.json",
            "{\"name\": \"t\", \"status\": \"succeeded\", \"started\": 5}");
    list(&fake, &records);
    JR_ASSERT_TEXT(records.items[0].status, "damaged");
    JR_ASSERT_TEXT(records.items[0].name, "t");
    CU_ASSERT_TRUE(jr_record_has_times(&records.items[0]));
    add_run(&fake, "torn", "run.json", "{\"status\": \"failed\"}");
    add_run(&fake, "torn", "results.json", "{\"sta");
    list(&fake, &records);
    JR_ASSERT_TEXT(records.items[0].status, "damaged");
}

TEST(a_step_is_told_with_the_last)
{
    static const char *const vectors[][2] = {{"{'step': 120, 'of': 1000}", "120/1000"},
                                             {"{'step': 120, 'of': null}", "120"},
                                             {"{'step': 0}", "0"},
                                             {"{'step': null, 'of': 9}", "-"},
                                             {NULL, "-"}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        JSON *progress = vectors[i][0] == NULL ? NULL : json_of(vectors[i][0]);
        jr_record_step(&text, &(struct jr_record){.progress = progress});
        JR_ASSERT_TEXT(text.data, vectors[i][1]);
    }
}

TEST(unfinished_runs_are_told_apart)
{
    RECORDS(records);
    FAKE(fake, 1);
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
}

/* Judge the fake and leave its files as the run `id` that began at `started` seconds. */
static void finish_run(struct fake *fake, const char *id, uint64_t started)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_record_facts facts = facts_of(fake);
    fake->plan.run_id = id;
    fake->outcome.started_wall_ns = started * FAKE_SECOND;
    fake->outcome.ended_wall_ns = (started + 10) * FAKE_SECOND;
    fake_judge(fake);
    jr_judgement_json(&text, &fake->report, &fake->plan, &fake->outcome, NULL);
    add_run(fake, id, "results.json", text.data);
    jr_record_facts_finish(&facts, &fake->report, &fake->outcome);
    print_record(fake, id, &facts);
}

TEST(finished_runs_newest_first)
{
    RECORDS(records);
    FAKE(fake, 3);
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
}

TEST(a_run_is_found_by_id_prefix_or_latest)
{
    static const struct {
        const char *run, *id; /* NULL: an error */
        const char *error;
    } cases[] = {{"2", NULL, "'2' matches 2 runs: "},
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
                 {"latest", "20-a", NULL}};
    FAKE(fake, 1);
    add_run(&fake, "20-a", "run.json", "{}");
    add_run(&fake, "20-ab", "run.json", "{}");
    add_run(&fake, "10-x", "run.json", "{}");
    add_run(&fake, "notarun", "other.json", "{}");
    add_run(&fake, "30-p", "other.json", "{}");
    add_run(&fake, "30-p/node_1", "run.json", "{}");
    add_run(&fake, "30-p/node_2", "other.json", "{}");
    add_run(&fake, "30-p/node_01", "run.json", "{}");
    (void)symlinkat("20-a", fake.fd, "latest");
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
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
}

TEST(latest_without_a_usable_link_is_the_newest)
{
    static const char *const targets[] = {NULL, "gone", "../etc", "b/.."};
    for (size_t t = 0; t < 4; t++) {
        char id[256] = "";
        struct jr_error err = {0};
        FAKE(fake, 1);
        CU_ASSERT_EQUAL(jr_record_find(id, fake.dir, "latest", &err), -1);
        finish_run(&fake, "b", 1000);
        finish_run(&fake, "a", 2000);
        if (targets[t] != NULL)
            (void)symlinkat(targets[t], fake.fd, "latest");
        CU_ASSERT_EQUAL(jr_record_find(id, fake.dir, "latest", &err), 0);
        JR_ASSERT_TEXT(id, "a");
    }
}

/* What is shown later is what was told at the end, but for the run's name. */
static void check_shown(struct fake *fake)
{
    JR_BUF_CLEANUP struct jr_buf told = JR_BUF_INIT, shown = JR_BUF_INIT;
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
    (void)close(fd);
    fake_end(fake);
}

TEST(results_are_shown_as_they_were_told)
{
    FAKE(fake, 2);
    fake_write_rank(&fake, 0, "result.json", jq("{'a': 1.5}"));
    fake_write_rank(&fake, 1, "result.json", jq("{'a': 2}"));
    check_shown(&fake);
    fake_start(&fake, 3);
    fake.policy.results.stated = true;
    fake_write_rank(&fake, 1, "result.json", "{}");
    check_shown(&fake);
}

TEST(a_failure_is_shown_as_it_was_told)
{
    FAKE_ENDS(fake, "T S11 1 4 -");
    fake.ends[1].core_dumped = true;
    fake.ends[2].ended_ns = fake.ends[1].ended_ns;
    fake_write_rank(&fake, 1, "stderr.log", "one\ntwo\n");
    fake_write_rank(&fake, 1, "error.json",
                    "{\"message\": {\"message\": \"E: x\", \"extraInfo\": {\"py_callstack\": \"  "
                    "File \\\"a.py\\\", line 3\\n\"}}}");
    check_shown(&fake);
}

/* How a rank ended does not say what jobrun sent it. */
TEST(stopped_ranks_are_shown_as_they_were_told)
{
    for (uint32_t first = 0; first < 5; first++) {
        struct fake fake;
        fake_ends(&fake, "0 S9 S9 S15 0 1"); /* by somebody else */
        fake.ends[5].ended_ns = FAKE_SECOND + 29000000;
        for (uint32_t i = first; i < 5; i++)
            fake.ends[i].stopped_with = 15;
        fake.ends[2].killed = first <= 2;
        if (first == 4)
            fake_write_rank(&fake, 4, "error.json",
                            jq("{'message': {'message': 'E: x'}, 'time_ns': 1800000000000000001}"));
        check_shown(&fake);
    }
}

TEST(other_ends_are_shown_as_they_were_told)
{
    for (int kind = 0; kind < 6; kind++) {
        FAKE_ENDS(fake, "T T");
        fake.outcome.stop_signal = kind == 0 || kind == 5 ? 2 : 0;
        fake.outcome.guard_pid = kind > 3 ? 4711 : 0;
        fake.outcome.guard_signal = kind > 3 ? 9 : 0;
        fake.outcome.timed_out_by = kind == 1 ? JR_TIMEOUT_RUN : JR_TIMEOUT_NONE;
        fake.outcome.runner_signal = kind == 2 ? 9 : 0;
        if (kind == 3)
            fake.ends[0] = (struct jr_rank_outcome){
                .end = JR_END_START, .stage = JR_STAGE_EXEC, .start_errno = 2};
        check_shown(&fake);
    }
}

TEST(results_that_jobrun_did_not_write)
{
    static const char *const texts[] = {
        "{}",
        "{'ranks': 3}",
        "[]",
        "{'ranks': [3, null, {'state': 'odd', 'coordinates': 7}]}",
        "{'root_cause': {'kind': 'exit', 'rank': 0, 'together': [0, 0]},'ranks': [{}]}",
        "{'seconds': -1, 'ranks': []}",
        "{'ranks': [{'node_rank': 4294967295}]}",
        "{'ranks': [{'coordinates': {'data': 4294967295}}]}",
        "{'ranks': [], 'status': 'stopped', 'exit_code': 2147483648}",
    };
    for (size_t t = 0; t < COUNT_OF(texts); t++) {
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
        struct jr_error err = {0};
        FAKE(fake, 1);
        struct jr_record_facts facts = facts_of(&fake);
        print_record(&fake, "r", &facts);
        add_run(&fake, "r", "results.json", jq(texts[t]));
        CU_ASSERT_EQUAL(jr_record_show(&out, fake.dir, "r", NULL, false, &err), 0);
        CU_ASSERT_EQUAL(strncmp(out.data, "jobrun: ", 8), 0);
    }
}
