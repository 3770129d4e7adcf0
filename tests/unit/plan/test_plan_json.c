#include <sys/wait.h>

#include "base/json.h"
#include "sample.h"
#include "plan/plan_print.h"

/* The plan of a sample as JSON that was read back; free with json_decref. */
static json_t *plan_json(struct sample *s)
{
    struct jr_buf out = JR_BUF_INIT;
    struct jr_error err = {0};
    json_t *json = NULL;
    if (sample_build(s) == JR_STATUS_OK) {
        jr_plan_json(&out, &s->plan, NULL);
        json = jr_json_parse(out.data, out.len, &err);
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    jr_buf_release(&out);
    return json;
}

static json_t *rank_of(const json_t *plan, size_t rank)
{
    return json_array_get(json_object_get(plan, "ranks"), rank);
}

/* Compare with the text of a JSON value. */
static void check(const json_t *json, const char *key, const char *expected)
{
    struct jr_buf JR_BUF_CLEANUP out = JR_BUF_INIT;
    const json_t *value = json_object_get(json, key);
    if (value != NULL)
        jr_json_print(&out, value, 0);
    JR_ASSERT_TEXT(out.data, expected);
}

TEST(says_the_words_of_the_contract)
{
    SAMPLE(s, 2, 2, 2);
    sample_nodes(&s, 2);
    json_auto_t *plan = plan_json(&s);
    const json_t *mesh = json_object_get(plan, "mesh");
    EACH_PAIR(given, wanted,
              "format_version => 1|world_size => 8|nodes => 2|master_addr => "
              "\"127.0.0.1\"|master_port => 29500")
        check(plan, given, wanted);
    check(mesh, "model", "2");
    check(mesh, "groups",
          "{\"model\": [[0, 1], [2, 3], [4, 5], [6, 7]], \"pipeline\": [[0, 2], [1, 3], [4, 6], "
          "[5, 7]], \"data\": [[0, 4], [1, 5], [2, 6], [3, 7]]}");
    CU_ASSERT_EQUAL(json_array_size(json_object_get(plan, "ranks")), 8);
}

TEST(says_all_of_a_rank)
{
    static const struct {
        const char *key, *value;
    } rank5[] = {{"rank", "5"},
                 {"local_rank", "1"},
                 {"node_rank", "1"},
                 {"coordinates", "{\"model\": 1, \"pipeline\": 0, \"data\": 1}"},
                 {"groups", "{\"model\": 2, \"pipeline\": 3, \"data\": 1}"},
                 {"argv", "[\"./train\", \"--epochs\", \"5\"]"},
                 {"workdir", "\"/home/u/job\""},
                 {"stdout", "{\"file\": \"attempt_0/5/stdout.log\", \"console\": false}"},
                 {"stderr", "{\"file\": \"attempt_0/5/stderr.log\", \"console\": true}"},
                 {"device", "null"},
                 {"cpus", "null"},
                 {"threads", "3"}};
    struct jr_stream_rule rule = {TEXT("1"), JR_STREAM_OUT};
    SAMPLE(s, 2, 2, 2);
    sample_nodes(&s, 2);
    s.job.redirects = &rule;
    s.job.redirects_count = 1;
    json_auto_t *plan = plan_json(&s);
    for (size_t i = 0; i < LENGTH(rank5); i++)
        check(rank_of(plan, 5), rank5[i].key, rank5[i].value);
    CU_ASSERT_EQUAL(json_object_size(rank_of(plan, 5)), LENGTH(rank5) + 1);
    check(json_object_get(rank_of(plan, 5), "env"), "LOCAL_RANK", "\"1\"");
    s.job.tee_stated = true;
    json_auto_t *inherited = plan_json(&s);
    check(rank_of(inherited, 5), "stderr", "{\"file\": null, \"console\": false}");
}

TEST(keeps_secrets_and_what_it_inherits_to_itself)
{
    char *outer[] = {TEXT("HOME=/home/u"), TEXT("HF_TOKEN=abc"), TEXT("NEED=x"), NULL};
    struct jr_env_entry env[] = {{.name = TEXT("MY_TOKEN_A"), .value = TEXT("s3cret")},
                                 {.name = TEXT("a_token"), .value = TEXT("s3cret")},
                                 {.name = TEXT("HF_TOKEN"), .required = true},
                                 {.name = TEXT("NEED"), .required = true},
                                 {.name = TEXT("OPEN"), .value = TEXT("s=%{rank}")}};
    SAMPLE(s, 1, 1, 2);
    s.options.environ = outer;
    s.job.env = env;
    s.job.env_count = LENGTH(env);
    json_auto_t *plan = plan_json(&s);
    for (size_t rank = 0; rank < 2; rank++) {
        const json_t *shown = json_object_get(rank_of(plan, rank), "env");
        check(shown, "MY_TOKEN_A", "\"<redacted>\"");
        check(shown, "a_token", "\"<redacted>\"");
        check(shown, "HF_TOKEN", "\"<redacted>\"");
        check(shown, "NEED", "\"x\"");
        check(shown, "OPEN", rank == 0 ? "\"s=0\"" : "\"s=1\"");
        CU_ASSERT_PTR_NULL(json_object_get(shown, "HOME"));
    }
    JR_ASSERT_TEXT(sample_env(&s, 0, "MY_TOKEN_A"), "s3cret");
}

/* What runs before the ranks, and what they are forked from. */
TEST(says_how_ranks_start)
{
    struct jr_python python = {
        .what = JR_PYTHON_FUNCTION, .target = TEXT("train:main"), .interpreter = TEXT("python3")};
    struct jr_env_entry env[] = {{.name = TEXT("A_TOKEN"), .value = TEXT("s3cret")},
                                 {.name = TEXT("EMPTY"), .value = TEXT("")},
                                 {.name = TEXT("OPEN"), .value = TEXT("a=b")}};
    char *outer[] = {TEXT("HOME=/home/u"), NULL};
    struct sample s;
    sample_init(&s, 1, 1, 2);
    s.job.setup = "module load \"cuda\"";
    json_t *plan = plan_json(&s);
    check(plan, "start_method", "\"spawn\"");
    check(plan, "setup", "\"module load \\\"cuda\\\"\"");
    check(plan, "helper", "null");
    json_decref(plan);
    sample_release(&s);
    sample_init(&s, 1, 1, 2);
    s.options.support = "/s";
    s.options.environ = outer;
    s.job.entrypoint.form = JR_FORM_PYTHON;
    s.job.entrypoint.python = &python;
    s.job.entrypoint.argv_count = 0;
    s.job.start_method = JR_START_FORKSERVER;
    s.job.env = env;
    s.job.env_count = LENGTH(env);
    plan = plan_json(&s);
    check(plan, "start_method", "\"forkserver\"");
    check(plan, "setup", "null");
    const json_t *helper = json_object_get(plan, "helper");
    check(helper, "argv", "[\"python3\", \"/s/python/jobrun/_worker.py\", \"serve\"]");
    const json_t *shown = json_object_get(helper, "env");
    EACH_PAIR(given, wanted,
              "A_TOKEN => \"<redacted>\"|EMPTY => \"\"|OPEN => \"a=b\"|WORLD_SIZE => \"2\"")
        check(shown, given, wanted);
    CU_ASSERT_PTR_NULL(json_object_get(shown, "RANK"));
    CU_ASSERT_PTR_NULL(json_object_get(shown, "HOME"));
    CU_ASSERT_EQUAL(json_object_size(helper), 2);
    json_decref(plan);
    sample_release(&s);
}

/* Variables of which one's name begins as the other's are not taken for each other. */
TEST(tells_names_apart)
{
    struct jr_env_entry env[] = {{.name = TEXT("TOKEN"), .value = TEXT("s3cret")},
                                 {.name = TEXT("TOKE"), .value = TEXT("open")},
                                 {.name = TEXT("TOKENS"), .value = TEXT("s3cret too")}};
    struct jr_rank_entry entry = {.ranks = TEXT("1"), .env = env, .env_count = LENGTH(env)};
    SAMPLE(s, 1, 1, 2);
    s.job.per_rank = &entry;
    s.job.per_rank_count = 1;
    json_auto_t *plan = plan_json(&s);
    const json_t *shown = json_object_get(rank_of(plan, 1), "env");
    EACH_PAIR(given, wanted, "TOKEN => \"<redacted>\"|TOKE => \"open\"|TOKENS => \"<redacted>\"")
        check(shown, given, wanted);
    CU_ASSERT_PTR_NULL(json_object_get(json_object_get(rank_of(plan, 0), "env"), "TOKEN"));
}

TEST(escapes_text)
{
    struct jr_env_entry env[] = {{.name = TEXT("Q\"\\"), .value = TEXT("\x1b[31m\t\x7f")}};
    SAMPLE(s, 1, 1, 1);
    s.argv[1] = TEXT("a\"b\\c\n");
    s.argv[2] = TEXT("\xc3\xa9 \xff");
    s.job.env = env;
    s.job.env_count = 1;
    json_auto_t *plan = plan_json(&s);
    const json_t *argv = json_object_get(rank_of(plan, 0), "argv");
    JR_ASSERT_TEXT(json_string_value(json_array_get(argv, 1)), "a\"b\\c\n");
    JR_ASSERT_TEXT(json_string_value(json_array_get(argv, 2)), "\xc3\xa9 \xef\xbf\xbd");
    JR_ASSERT_TEXT(
        json_string_value(json_object_get(json_object_get(rank_of(plan, 0), "env"), "Q\"\\")),
        "\x1b[31m\t\x7f");
}

/* 1,000 ranks: 3,889 bytes of a list, which the mesh has once. */
TEST(says_a_long_list_once)
{
    SAMPLE(s, 1, 1, 1000);
    json_auto_t *plan = plan_json(&s);
    const json_t *env = json_object_get(rank_of(plan, 7), "env");
    CU_ASSERT_PTR_NULL(json_object_get(env, "DATA_PARALLEL_MEMBERS"));
    check(env, "MODEL_PARALLEL_MEMBERS", "\"7\"");
    CU_ASSERT_PTR_NOT_NULL(sample_env(&s, 7, "DATA_PARALLEL_MEMBERS"));
    const json_t *groups = json_object_get(json_object_get(plan, "mesh"), "groups");
    CU_ASSERT_EQUAL(json_array_size(json_array_get(json_object_get(groups, "data"), 0)), 1000);
}

/* The exit status of validate.py: 0 valid, 1 not, 77 cannot tell. */
static int validate(const char *text, size_t len)
{
    FILE *python = popen("python3 '" TEST_SOURCE_DIR "/unit/plan/validate.py' '" SCHEMA "'", "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(python);
    (void)fwrite(text, 1, len, python);
    int status = pclose(python);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(obeys_its_schema)
{
    struct jr_buf JR_BUF_CLEANUP out = JR_BUF_INIT;
    SAMPLE(s, 2, 1, 2);
    s.job.own.devices = (char *[]){TEXT("0"), TEXT("1")};
    s.job.own.devices_count = 2;
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    jr_plan_json(&out, &s.plan, NULL);
    int whole = validate(out.data, out.len);
    CU_ASSERT_TRUE(whole == 0 || whole == 77 || whole == 127);
    /* And the schema does refuse. */
    int empty = validate("{\"format_version\": 1}", 21);
    CU_ASSERT_TRUE(empty == (whole == 0 ? 1 : whole));
}
