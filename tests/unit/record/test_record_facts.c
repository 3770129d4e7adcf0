#include <spawn.h>
#include <sys/wait.h>

#include "base/io.h"
#include "fake_run.h"
#include "record/record_facts.h"

/* In the child of the test below: where it leaves its record. */
static const char child_variable[] = "JR_TEST_RECORD";

static void write_record(struct fake *fake, const char *path)
{
    static char *secrets[] = {(char *)"*TOKEN*", (char *)"*token*"};
    struct jr_record_facts facts = {0};
    struct jr_buf text = JR_BUF_INIT;
    fake->plan.secrets = secrets;
    fake->plan.secrets_count = 2;
    CU_ASSERT_EQUAL(
        jr_record_facts_fill(&facts, &fake->arena, &fake->plan, NULL), 0);
    jr_record_run_json(&text, &facts);
    fake_write_bytes(path, text.data, text.len);
    jr_buf_release(&text);
}

static json_t *record_of_child(const char *path, char *const *argv)
{
    struct jr_buf text = JR_BUF_INIT;
    pid_t child = 0;
    int status = 0;
    (void)setenv(child_variable, path, 1);
    CU_ASSERT_EQUAL_FATAL(
        posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environ), 0);
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    (void)unsetenv(child_variable);
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT_EQUAL(jr_io_read_file(&text, AT_FDCWD, path, 65536, NULL), 0);
    json_t *record = jr_json_parse(text.data, text.len, NULL);
    jr_buf_release(&text);
    return record;
}

static void secrets_in_arguments_are_redacted(void)
{
    static const char *const arguments[][2] = {
        {"jobrun", "jobrun"},
        {"-s", "-s"},
        {"env.HF_TOKEN=abc=d", "env.HF_TOKEN=<redacted>"},
        {"--token=abc", "--token=<redacted>"},
        {"--my-token=abc", "--my-token=<redacted>"},
        {"TOKEN=", "TOKEN=<redacted>"},
        {"env.LR=0.1", "env.LR=0.1"},
        {"TOKEN", "TOKEN"},
        {"", ""},
        {"bad \xff byte", "bad \xef\xbf\xbd byte"},
    };
    enum { COUNT = sizeof arguments / sizeof arguments[0] };
    char *argv[COUNT + 1] = {0};
    struct fake fake;
    char path[128];
    fake_start(&fake, 1);
    const char *child_path = getenv(child_variable);
    if (child_path != NULL) {
        write_record(&fake, child_path);
        fake_end(&fake);
        return;
    }
    for (size_t i = 0; i < COUNT; i++)
        argv[i] = (char *)arguments[i][0];
    (void)snprintf(path, sizeof path, "%s/record", fake.dir);
    json_t *record = record_of_child(path, argv);
    json_t *kept = json_object_get(record, "argv");
    CU_ASSERT_EQUAL(json_array_size(kept), COUNT);
    for (size_t i = 0; i < COUNT; i++)
        JR_ASSERT_TEXT(json_string_value(json_array_get(kept, i)),
                       arguments[i][1]);
    json_decref(record);
    fake_end(&fake);
}

static void a_record_without_facts_is_null(void)
{
    static const char *const nulls[] = {"host",   "boot_id",     "cwd",
                                        "spec",   "fingerprint", "finished",
                                        "status", "exit_code",   "cgroup"};
    struct jr_record_facts facts = {.run_id = "r", .pid = 3};
    struct jr_buf text = JR_BUF_INIT;
    jr_record_run_json(&text, &facts);
    json_t *record = jr_json_parse(text.data, text.len, NULL);
    for (size_t i = 0; i < sizeof nulls / sizeof nulls[0]; i++)
        CU_ASSERT_TRUE(json_is_null(json_object_get(record, nulls[i])));
    CU_ASSERT_EQUAL(json_object_size(record), 28);
    CU_ASSERT_TRUE(json_is_array(json_object_get(record, "argv")));
    json_t *git = json_object_get(record, "git");
    CU_ASSERT_TRUE(json_is_null(json_object_get(git, "commit")));
    CU_ASSERT_TRUE(json_is_null(json_object_get(git, "dirty")));
    json_decref(record);
    jr_buf_release(&text);
}

static void the_end_is_added(void)
{
    struct fake fake;
    struct jr_record_facts facts = {0};
    fake_start(&fake, 1);
    fake_exit(&fake, 0, 2);
    fake_judge(&fake);
    CU_ASSERT_EQUAL(jr_record_facts_fill(&facts, &fake.arena, &fake.plan, NULL),
                    0);
    CU_ASSERT_EQUAL(facts.finished_ns, 0);
    jr_record_facts_finish(&facts, &fake.report, &fake.outcome);
    JR_ASSERT_TEXT(facts.status, "failed");
    CU_ASSERT_EQUAL(facts.exit_code, 1);
    CU_ASSERT_EQUAL(facts.started_ns, FAKE_WALL);
    CU_ASSERT_EQUAL(facts.finished_ns, FAKE_WALL + 10 * FAKE_SECOND);
    fake_end(&fake);
}

JR_UNIT_MAIN("facts", CASE(secrets_in_arguments_are_redacted),
             CASE(a_record_without_facts_is_null), CASE(the_end_is_added))
