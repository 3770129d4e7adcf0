#include <pwd.h>
#include <spawn.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "base/io.h"
#include "fake_run.h"
#include "quoted.h"
#include "record/record_facts.h"

/* In the child of the test below: where it leaves its record. */
static const char child_variable[] = "JR_TEST_RECORD";

static void write_record(struct fake *fake, const char *path)
{
    static char *secrets[] = {(char *)"*TOKEN*", (char *)"*token*", (char *)"K"};
    struct jr_record_facts facts = {0};
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    fake->plan.secrets = secrets;
    fake->plan.secrets_count = 3;
    CU_ASSERT_EQUAL(jr_record_facts_fill(&facts, &fake->arena, &fake->plan, NULL), 0);
    jr_record_run_json(&text, &facts);
    fake_write_bytes(path, text.data, text.len);
}

static json_t *record_of_child(const char *path, char *const *argv)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    pid_t child = 0;
    int status = 0;
    (void)setenv(child_variable, path, 1);
    CU_ASSERT_EQUAL_FATAL(posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environ), 0);
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    (void)unsetenv(child_variable);
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT_EQUAL(jr_io_read_file(&text, AT_FDCWD, path, 1 << 20, NULL), 0);
    json_t *record = jr_json_parse(text.data, text.len, NULL);
    return record;
}

TEST(secrets_in_arguments_are_redacted)
{
    static const char *const arguments[][2] = {{"jobrun", "jobrun"},
                                               {"-s", "-s"},
                                               {"env.HF_TOKEN=abc=d", "env.HF_TOKEN=<redacted>"},
                                               {"--token=abc", "--token=<redacted>"},
                                               {"--my-token=abc", "--my-token=<redacted>"},
                                               {"env.TOKEN=abc", "env.TOKEN=<redacted>"},
                                               {"TOKEN=", "TOKEN=<redacted>"},
                                               {"-K=abc", "-K=<redacted>"},
                                               {"=abc", "=abc"},
                                               {"--=abc", "--=abc"},
                                               {"env.=abc", "env.=abc"},
                                               {"a TOKEN=abc", "a TOKEN=abc"},
                                               {"env.LR=0.1", "env.LR=0.1"},
                                               {"TOKEN", "TOKEN"},
                                               {"", ""},
                                               {"bad \xff byte", "bad \xef\xbf\xbd byte"}};
    enum { COUNT = sizeof arguments / sizeof arguments[0] };
    char *argv[COUNT + 1] = {0};
    char path[128];
    FAKE(fake, 1);
    const char *child_path = getenv(child_variable);
    if (child_path != NULL) {
        write_record(&fake, child_path);
        fake_end(&fake);
        return;
    }
    for (size_t i = 0; i < COUNT; i++)
        argv[i] = (char *)arguments[i][0];
    (void)snprintf(path, sizeof path, "%s/record", fake.dir);
    JSON *record = record_of_child(path, argv);
    json_t *kept = json_object_get(record, "argv");
    CU_ASSERT_EQUAL(json_array_size(kept), COUNT);
    for (size_t i = 0; i < COUNT; i++)
        JR_ASSERT_TEXT(json_string_value(json_array_get(kept, i)), arguments[i][1]);
}

/* A command line that run.json has no room for is cut at a whole argument, and says how many there
 * are more. Room is counted as if each byte took three, and a control byte six. */
TEST(long_command_lines_are_cut)
{
    enum { LONG = 131000, ROOM = 768 << 10 };
    static const struct {
        char fill;
        unsigned each, count; /* bytes in JSON; arguments of LONG bytes */
    } vectors[] = {{'x', 3, 2}, {' ', 3, 2}, {'\1', 6, 1}};
    if (getenv(child_variable) != NULL)
        return;
    for (size_t v = 0; v < COUNT_OF(vectors); v++) {
        static char text[LONG + 1], last[512];
        char path[128], *argv[8] = {(char *)"jobrun"};
        size_t used = (4 + 6 * 3) + vectors[v].count * (4 + LONG * vectors[v].each);
        size_t most = (ROOM - used - 4) / 3;
        memset(text, vectors[v].fill, LONG);
        memset(last, 'y', most);
        FAKE(fake, 1);
        (void)snprintf(path, sizeof path, "%s/record", fake.dir);
        for (unsigned i = 0; i < vectors[v].count; i++)
            argv[1 + i] = text;
        argv[1 + vectors[v].count] = last;
        json_t *record = record_of_child(path, argv);
        const json_t *kept = json_object_get(record, "argv");
        CU_ASSERT_EQUAL(json_array_size(kept), vectors[v].count + 2);
        JR_ASSERT_TEXT(json_string_value(json_array_get(kept, vectors[v].count + 1)), last);
        json_decref(record);
        /* A byte more, and another argument behind it, which would fit. */
        (void)stpcpy(last + most, "y");
        argv[2 + vectors[v].count] = (char *)"z";
        record = record_of_child(path, argv);
        kept = json_object_get(record, "argv");
        CU_ASSERT_EQUAL(json_array_size(kept), vectors[v].count + 2);
        JR_ASSERT_TEXT(json_string_value(json_array_get(kept, vectors[v].count + 1)),
                       "... and 2 more");
        json_decref(record);
        memset(last, 0, sizeof last);
    }
}

/* As other programs are told the same. */
TEST(the_facts_are_those_of_the_machine)
{
    struct jr_record_facts facts = {0};
    struct jr_buf os JR_BUF_CLEANUP = JR_BUF_INIT;
    struct utsname here;
    char line[256], cwd[4096];
    FAKE(fake, 1);
    CU_ASSERT_EQUAL(jr_record_facts_fill(&facts, &fake.arena, &fake.plan, NULL), 0);
    CU_ASSERT_EQUAL(uname(&here), 0);
    JR_ASSERT_TEXT(facts.machine.host, here.nodename);
    JR_ASSERT_TEXT(facts.machine.kernel, here.release);
    JR_ASSERT_TEXT(facts.machine.arch, here.machine);
    CU_ASSERT_PTR_NOT_NULL(getcwd(cwd, sizeof cwd));
    JR_ASSERT_TEXT(facts.machine.cwd, cwd);
    CU_ASSERT_EQUAL(facts.pid, getpid());
    CU_ASSERT_TRUE(facts.start_ticks > 0 && facts.pid_namespace > 0);
    CU_ASSERT_EQUAL(facts.ranks, 1);
    CU_ASSERT_EQUAL(facts.nodes, 1);
    if (jr_io_read_file(&os, AT_FDCWD, "/etc/os-release", 1 << 16, NULL) == 0) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(facts.machine.os);
        (void)snprintf(line, sizeof line, "PRETTY_NAME=\"%s\"\n", facts.machine.os);
        CU_ASSERT_PTR_NOT_NULL(strstr(os.data, line));
    } else {
        CU_ASSERT_PTR_NULL(facts.machine.os);
    }
}

/* What was read once serves for others, and is taken as it is. */
TEST(a_known_machine_is_not_read_again)
{
    const struct jr_record_machine machine = {.host = "h", .cwd = "/c"};
    struct jr_record_facts facts = {0};
    FAKE(fake, 1);
    CU_ASSERT_EQUAL(jr_record_facts_fill(&facts, &fake.arena, &fake.plan, &machine), 0);
    JR_ASSERT_TEXT(facts.machine.host, "h");
    JR_ASSERT_TEXT(facts.machine.cwd, "/c");
    CU_ASSERT_PTR_NULL(facts.machine.user);
    CU_ASSERT_EQUAL(facts.pid, getpid()); /* which is its own */
}

/* Of the user that we act as, not of the one that started us. */
TEST(the_user_is_the_one_that_acts)
{
    if (geteuid() != 0 || getpwuid(64123) != NULL)
        return;
    struct jr_record_facts facts;
    FAKE(fake, 1);
    CU_ASSERT_EQUAL(seteuid(64123), 0);
    CU_ASSERT_EQUAL(jr_record_facts_fill(&facts, &fake.arena, &fake.plan, NULL), 0);
    CU_ASSERT_EQUAL(seteuid(0), 0);
    JR_ASSERT_TEXT(facts.machine.user, "64123");
}

/* All of run.json, as it is when a run has ended. */
TEST(the_record_is_written_key_by_key)
{
    static const bool dirty = true;
    static const char vars[] = "{\"vars\": {\"lr\": 0.1}}";
    JSON *values = jr_json_parse(vars, sizeof vars - 1, NULL);
    struct jr_record_facts facts = {
        .run_id = "r",
        .name = "digits",
        .version = "0.1",
        .machine.host = "gpu07",
        .machine.user = "ann",
        .machine.boot_id = "b",
        .machine.cwd = "/x",
        .machine.os = "Debian",
        .machine.kernel = "6.1",
        .machine.arch = "x86_64",
        .pid = 7,
        .pid_namespace = 4026531836,
        .start_ticks = 99,
        .argv = (char *[]){(char *)"jobrun", (char *)"a", NULL},
        .commit = "c0ffee",
        .dirty = &dirty,
        .code = {.commit = "c0ffee",
                 .tree = "7ee",
                 .top = "/x",
                 .dirty = true,
                 .patch = true,
                 .left_out = &(struct jr_record_left_out){"w.bin", "size"},
                 .left_out_count = 1,
                 .left_out_all = 1,
                 .specs = (char *[]){(char *)"/x/a.yaml", NULL}},
        .fingerprint = "f",
        .spec = "s",
        .spec_folder = "/s",
        .rerun_of = "q",
        .values = values,
        .world_size = 8,
        .nodes = 2,
        .first_rank = 4,
        .ranks = 3,
        .attempt = 5,
        .job = "12",
        .job_restarts = 3,
        .local = true,
        .any_devices = true,
        .started_ns = FAKE_WALL + 500000000,
        .finished_ns = FAKE_WALL + 2 * FAKE_SECOND,
        .status = "failed",
        .cgroup = "/sys/fs/cgroup/g",
        .exit_code = 9};
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_record_run_json(&text, &facts);
    JR_ASSERT_TEXT(text.data, jq("{\n"
                                 "  'format_version': 1,\n"
                                 "  'run_id': 'r',\n"
                                 "  'name': 'digits',\n"
                                 "  'version': '0.1',\n"
                                 "  'host': 'gpu07',\n"
                                 "  'user': 'ann',\n"
                                 "  'os': 'Debian',\n"
                                 "  'kernel': '6.1',\n"
                                 "  'arch': 'x86_64',\n"
                                 "  'pid': 7,\n"
                                 "  'pid_namespace': 4026531836,\n"
                                 "  'start_ticks': 99,\n"
                                 "  'boot_id': 'b',\n"
                                 "  'argv': [\n    'jobrun',\n    'a'\n  ],\n"
                                 "  'cwd': '/x',\n"
                                 "  'git': {\n    'commit': 'c0ffee',\n"
                                 "    'dirty': true\n  },\n"
                                 "  'code': {\n    'commit': 'c0ffee',\n"
                                 "    'dirty': true,\n    'tree': '7ee',\n"
                                 "    'patch': 'code.patch',\n"
                                 "    'left_out': [\n      {\n"
                                 "        'path': 'w.bin',\n"
                                 "        'why': 'size'\n      }\n    ],\n"
                                 "    'left_out_count': 1,\n"
                                 "    'frozen': false,\n    'top': '/x',\n"
                                 "    'specs': [\n      '/x/a.yaml'\n    ],\n"
                                 "    'problem': null\n  },\n"
                                 "  'fingerprint': 'f',\n"
                                 "  'spec': 's',\n"
                                 "  'spec_folder': '/s',\n"
                                 "  'rerun_of': 'q',\n"
                                 "  'vars': {\n    'lr': 0.1\n  },\n"
                                 "  'labels': null,\n"
                                 "  'job': {\n"
                                 "    'scheduler': 'Slurm',\n"
                                 "    'id': '12',\n"
                                 "    'restarts': 3\n"
                                 "  },\n"
                                 "  'local': true,\n"
                                 "  'any_devices': true,\n"
                                 "  'attempt': 5,\n"
                                 "  'world_size': 8,\n"
                                 "  'nodes': 2,\n"
                                 "  'ranks': {\n    'first': 4,\n"
                                 "    'count': 3\n  },\n"
                                 "  'started': 1800000000.5,\n"
                                 "  'finished': 1800000002.0,\n"
                                 "  'status': 'failed',\n"
                                 "  'exit_code': 9,\n"
                                 "  'cgroup': '/sys/fs/cgroup/g'\n"
                                 "}\n"));
}

TEST(a_record_without_facts_is_null)
{
    static const char *const nulls[] = {"host",        "boot_id",  "cwd",    "spec",
                                        "fingerprint", "finished", "status", "exit_code",
                                        "cgroup",      "vars",     "labels"};
    struct jr_record_facts facts = {.run_id = "r", .pid = 3};
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_record_run_json(&text, &facts);
    JSON *record = jr_json_parse(text.data, text.len, NULL);
    for (size_t i = 0; i < sizeof nulls / sizeof nulls[0]; i++)
        CU_ASSERT_TRUE(json_is_null(json_object_get(record, nulls[i])));
    CU_ASSERT_EQUAL(json_object_size(record), 35);
    CU_ASSERT_TRUE(json_is_array(json_object_get(record, "argv")));
    json_t *code = json_object_get(record, "code");
    CU_ASSERT_TRUE(json_is_null(json_object_get(code, "tree")));
    CU_ASSERT_TRUE(json_is_null(json_object_get(code, "dirty")));
    json_t *git = json_object_get(record, "git");
    CU_ASSERT_TRUE(json_is_null(json_object_get(git, "commit")));
    CU_ASSERT_TRUE(json_is_null(json_object_get(git, "dirty")));
}

TEST(the_end_is_added)
{
    struct jr_record_facts facts = {0};
    FAKE_ENDS(fake, "2");
    fake_judge(&fake);
    CU_ASSERT_EQUAL(jr_record_facts_fill(&facts, &fake.arena, &fake.plan, NULL), 0);
    CU_ASSERT_EQUAL(facts.finished_ns, 0);
    jr_record_facts_finish(&facts, &fake.report, &fake.outcome);
    JR_ASSERT_TEXT(facts.status, "failed");
    CU_ASSERT_EQUAL(facts.exit_code, 1);
    CU_ASSERT_EQUAL(facts.started_ns, FAKE_WALL);
    CU_ASSERT_EQUAL(facts.finished_ns, FAKE_WALL + 10 * FAKE_SECOND);
}

/* What is written of the code is read back, and told; of records of earlier versions it is not
 * known. */
TEST(code_is_read_back)
{
    struct jr_arena arena = JR_ARENA_INIT;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    const struct jr_record_left_out left_out[] = {{"w.bin", "size"}, {"\x1b", "link"}};
    const struct jr_record_code written = {.commit = "0123456789abcdef",
                                           .tree = "fedcba9876543210",
                                           .dirty = true,
                                           .patch = true,
                                           .left_out = left_out,
                                           .left_out_count = 2,
                                           .left_out_all = 7};
    struct jr_record_code code;
    JSON *run = json_object();
    CU_ASSERT_FALSE(jr_record_code_read(&code, &arena, run));
    CU_ASSERT_FALSE(jr_record_code_read(&code, &arena, NULL));
    jr_record_code_print(&text, &code);
    JR_ASSERT_TEXT(text.data, "not recorded");
    jr_buf_clear(&text);
    jr_json_set(run, "code", jr_record_code_json(&written));
    CU_ASSERT_TRUE(jr_record_code_read(&code, &arena, run));
    jr_record_code_print(&text, &code);
    JR_ASSERT_TEXT(
        text.data,
        "commit 0123456789ab, tree fedcba987654, with changes that were not committed "
        "(code.patch); not, or not whole, in the patch: w.bin (size), \\x1b (link) and 5 more");
    jr_buf_clear(&text);
    code = (struct jr_record_code){.problem = "git is slow"};
    jr_record_code_print(&text, &code);
    JR_ASSERT_TEXT(text.data, "not recorded: git is slow");
    jr_arena_release(&arena);
}
