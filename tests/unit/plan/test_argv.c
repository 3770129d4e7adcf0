/* What ranks and their helper are started as: Python and libraries. */
#include "plan/internal.h"
#include "sample.h"

#define WORKER "/s/python/jobrun/_worker.py"

static struct jr_python function(void)
{
    static char target[] = "pkg.train:main", interpreter[] = "python3";
    return (struct jr_python){
        .what = JR_PYTHON_FUNCTION,
        .target = target,
        .interpreter = interpreter,
    };
}

/* A job of four ranks, two by two, that runs `python`. */
static void sample_python(struct sample *s, struct jr_python *python)
{
    sample_init(s, 2, 1, 2);
    s->options.support = "/s";
    s->job.entrypoint.form = JR_FORM_PYTHON;
    s->job.entrypoint.python = python;
    s->job.entrypoint.argv_count = 0;
}

static void check_words(char *const *argv, const char *expected)
{
    struct jr_buf words JR_BUF_CLEANUP = JR_BUF_INIT;
    for (; argv != NULL && *argv != NULL; argv++)
        jr_buf_printf(&words, "%s|", *argv);
    JR_ASSERT_TEXT(words.data == NULL ? "" : words.data, expected);
}

#define CALL(args, kwargs)                                                                         \
    "python3|" WORKER "|function|pkg.train:main|{\"args\": [" args "], \"kwargs\": {" kwargs       \
    "}, \"setup\": null, \"init\": null, \"smoke_test\": false}|"

TEST(calls_a_function)
{
    struct jr_python python = function();
    struct sample s;
    sample_python(&s, &python);
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    check_words(s.plan.ranks[0].argv, CALL("", ""));
    CU_ASSERT_PTR_EQUAL(s.plan.ranks[3].argv, s.plan.ranks[0].argv);
    JR_ASSERT_TEXT(s.plan.target, "pkg.train:main");
    CU_ASSERT_TRUE(s.plan.returns);
    CU_ASSERT_PTR_NULL(s.plan.helper.argv);
    sample_release(&s);
    python.setup = TEXT("pkg:prep");
    python.init = JR_INIT_TORCH;
    python.smoke_test = true;
    sample_python(&s, &python);
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    JR_ASSERT_TEXT(s.plan.ranks[0].argv[4],
                   "{\"args\": [], \"kwargs\": {}, \"setup\": \"pkg:prep\", "
                   "\"init\": \"torch\", \"smoke_test\": true}");
    sample_release(&s);
}

/* A value that a template puts in cannot end the string that it stands in. */
TEST(expands_by_value)
{
    struct jr_python python = function();
    struct jr_kwarg kwargs[] = {
        {TEXT("k%{rank}"), TEXT("[\"%{rank}\", 7, null]")},
        {TEXT("dir"), TEXT("{\"%%{rank}\": \"%{run_dir}/%{model_rank}\"}")}};
    struct sample s SAMPLE_CLEANUP;
    sample_python(&s, &python);
    s.job.log_dir = "/a\"b\\c\xff";
    s.argv[0] = TEXT("\"%%{rank} %{master_addr}\"");
    s.job.entrypoint.argv_count = 1;
    s.job.entrypoint.kwargs = kwargs;
    s.job.entrypoint.kwargs_count = 2;
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    check_words(s.plan.ranks[3].argv, CALL("\"%{rank} 127.0.0.1\"",
                                           "\"k%{rank}\": [\"3\", 7, null], \"dir\": {\"%{rank}\": "
                                           "\"/a\\\"b\\\\c\xef\xbf\xbd/run-1/1\"}"));
}

/* Arguments behind those of all ranks, named ones over theirs. */
TEST(merges_entries)
{
    struct jr_python python = function();
    struct jr_kwarg all[] = {{TEXT("lr"), TEXT("0.1")}, {TEXT("n"), TEXT("1")}};
    struct jr_kwarg own[] = {{TEXT("more"), TEXT("\"%{rank}\"")}, {TEXT("lr"), TEXT("null")}};
    char *args[] = {TEXT("[2]")};
    struct jr_rank_entry entries[] = {
        {.ranks = TEXT("1-2"), .args = args, .args_count = 1, .kwargs = own, .kwargs_count = 2},
        {.ranks = TEXT("3")}};
    struct sample s SAMPLE_CLEANUP;
    sample_python(&s, &python);
    s.argv[0] = TEXT("1");
    s.job.entrypoint.argv_count = 1;
    s.job.entrypoint.kwargs = all;
    s.job.entrypoint.kwargs_count = 2;
    s.job.per_rank = entries;
    s.job.per_rank_count = 2;
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    check_words(s.plan.ranks[0].argv, CALL("1", "\"lr\": 0.1, \"n\": 1"));
    check_words(s.plan.ranks[2].argv, CALL("1, [2]", "\"lr\": null, \"n\": 1, \"more\": \"2\""));
    check_words(s.plan.ranks[3].argv, CALL("1", "\"lr\": 0.1, \"n\": 1"));
}

/* What stands in a path is no template. */
TEST(runs_scripts_and_libraries)
{
    struct jr_python script = {.what = JR_PYTHON_SCRIPT,
                               .target = TEXT("/j/%{rank}/a b.py"),
                               .interpreter = TEXT("/v/bin/python")};
    struct jr_library library = {TEXT("/j/l%{.so"), TEXT("step")};
    char *args[] = {TEXT("-q")};
    struct jr_rank_entry entry = {.ranks = TEXT("1"), .args = args, .args_count = 1};
    struct sample s;
    sample_python(&s, &script);
    s.options.support = "/s%{x}";
    s.job.entrypoint.argv_count = 2;
    s.argv[1] = TEXT("%{rank}");
    s.job.per_rank = &entry;
    s.job.per_rank_count = 1;
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    check_words(s.plan.ranks[1].argv, "/v/bin/python|/s%{x}/python/jobrun/_worker.py|script|"
                                      "/j/%{rank}/a b.py|./train|1|-q|");
    CU_ASSERT_FALSE(s.plan.returns);
    sample_release(&s);
    sample_python(&s, NULL);
    s.job.entrypoint.form = JR_FORM_LIBRARY;
    s.job.entrypoint.library = &library;
    s.job.entrypoint.argv_count = 1;
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    check_words(s.plan.ranks[1].argv, "/s/jobrun-step|/j/l%{.so|step|./train|");
    CU_ASSERT_TRUE(s.plan.returns);
    JR_ASSERT_TEXT(s.plan.target, "step");
    sample_release(&s);
}

TEST(makes_a_helper)
{
    struct jr_python python = function();
    struct jr_library library = {TEXT("/j/l.so"), TEXT("step")};
    char *preload[] = {TEXT("numpy"), TEXT("pkg.data")};
    struct sample s;
    for (int i = 0; i < 2; i++) {
        sample_python(&s, &python);
        s.job.start_method = i == 0 ? JR_START_FORK : JR_START_FORKSERVER;
        s.job.preload = preload;
        s.job.preload_count = 2;
        CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
        check_words(
            s.plan.helper.argv,
            i == 0 ? "python3|" WORKER
                     "|serve|--preload|numpy|--preload|pkg.data|--load|function|pkg.train:main|"
                   : "python3|" WORKER "|serve|--preload|numpy|--preload|pkg.data|");
        sample_release(&s);
    }
    sample_python(&s, NULL);
    s.job.start_method = JR_START_FORK;
    s.job.entrypoint.form = JR_FORM_LIBRARY;
    s.job.entrypoint.library = &library;
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    check_words(s.plan.helper.argv, "/s/jobrun-step|serve|/j/l.so|");
    sample_release(&s);
}

static bool has(char *const *env, const char *item)
{
    for (; env != NULL && *env != NULL; env++)
        if (strcmp(*env, item) == 0)
            return true;
    return false;
}

/* The helper's environment is what its ranks have in common, whichever rank has something of its
 * own. */
TEST(shares_an_environment)
{
    struct jr_python python = function();
    struct jr_env_entry own[] = {{.name = TEXT("HOME")}, {.name = TEXT("A"), .value = TEXT("1")}};
    static const char *const ranks[] = {"0", "1", "2", "3", "1,3"};
    char *outer[] = {TEXT("HOME=/h"), TEXT("PATH=/bin"), NULL};
    for (size_t i = 0; i < LENGTH(ranks); i++) {
        struct jr_rank_entry entry = {.ranks = (char *)ranks[i], .env = own, .env_count = 2};
        struct sample s SAMPLE_CLEANUP;
        sample_python(&s, &python);
        s.job.start_method = JR_START_FORK;
        s.job.per_rank = &entry;
        s.job.per_rank_count = 1;
        s.options.environ = outer;
        CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
        const struct jr_plan_helper *helper = &s.plan.helper;
        CU_ASSERT_TRUE(has(helper->env, "WORLD_SIZE=4"));
        CU_ASSERT_TRUE(has(helper->env, "PATH=/bin"));
        CU_ASSERT_FALSE(has(helper->env, "HOME=/h"));
        CU_ASSERT_FALSE(has(helper->env, "A=1"));
        CU_ASSERT_FALSE(has(helper->env, "RANK=0"));
        CU_ASSERT_FALSE(has(helper->env, "MODEL_PARALLEL_RANK=0"));
        JR_ASSERT_TEXT(helper->env[helper->env_own], "PATH=/bin");
        JR_ASSERT_TEXT(helper->env[helper->env_own + 1], "PYTHONPATH=/s/python");
        CU_ASSERT_PTR_NULL(helper->env[helper->env_own + 2]);
    }
}

/* Equal texts that are not one text, at other places. */
TEST(shares_equal_variables)
{
    struct jr_python python = function();
    struct jr_env_entry own[] = {{.name = TEXT("B"), .value = TEXT("2")},
                                 {.name = TEXT("A"), .value = TEXT("1")}};
    struct jr_env_entry swapped[] = {{.name = TEXT("A"), .value = TEXT("1")},
                                     {.name = TEXT("B"), .value = TEXT("2")}};
    struct jr_rank_entry entries[] = {{.ranks = TEXT("0"), .env = own, .env_count = 2},
                                      {.ranks = TEXT("1-3"), .env = swapped, .env_count = 2}};
    struct sample s SAMPLE_CLEANUP;
    sample_python(&s, &python);
    s.job.start_method = JR_START_FORK;
    s.job.per_rank = entries;
    s.job.per_rank_count = 2;
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    CU_ASSERT_TRUE(has(s.plan.helper.env, "A=1"));
    CU_ASSERT_TRUE(has(s.plan.helper.env, "B=2"));
}

/* What setup exports is joined when it has run: less what is taken away. */
TEST(plans_a_setup)
{
    struct jr_env_entry gone[] = {{.name = TEXT("LANG")}};
    struct jr_env_entry own[] = {{.name = TEXT("HOME")}, {.name = TEXT("A"), .value = TEXT("1")}};
    struct jr_rank_entry entry = {.ranks = TEXT("1"), .env = own, .env_count = 2};
    char *outer[] = {TEXT("LANG=C"), TEXT("NCCL_X=1"), TEXT("PMI_RANK=3"), NULL};
    char *removed[] = {TEXT("NCCL_*")};
    SAMPLE(s, 1, 1, 2);
    s.job.setup = "module load %{rank}";
    s.job.env = gone;
    s.job.env_count = 1;
    s.job.env_remove = removed;
    s.job.env_remove_count = 1;
    s.job.per_rank = &entry;
    s.job.per_rank_count = 1;
    s.options.environ = outer;
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    JR_ASSERT_TEXT(s.plan.setup.text, "module load %{rank}");
    check_words(s.plan.setup.env, "LANG=C|NCCL_X=1|");
    check_words(s.plan.setup.drop, "NCCL_*|LANG|");
    CU_ASSERT_PTR_NULL(s.plan.ranks[0].drop);
    check_words(s.plan.ranks[1].drop, "HOME|");
}

TEST(refuses)
{
    struct jr_python python = function();
    struct sample s;
    sample_python(&s, &python);
    s.options.support = NULL;
    CU_ASSERT_EQUAL(sample_build(&s), JR_STATUS_LAUNCH);
    CU_ASSERT_TRUE(sample_found(&s, "JR0100", "not completely installed"));
    sample_release(&s);
    sample_python(&s, &python);
    s.argv[0] = TEXT("\"%{rnk}\"");
    s.job.entrypoint.argv_count = 1;
    CU_ASSERT_EQUAL(sample_build(&s), JR_STATUS_INVALID);
    CU_ASSERT_TRUE(sample_found(&s, "JR0502", "rnk"));
    sample_release(&s);
}

/* At most JR_CALL_MAX bytes, of any rank. */
TEST(measures_calls)
{
    static char text[JR_CALL_MAX + 1];
    static const char rest[] = "{\"args\": [\"\"], \"kwargs\": {}, \"setup\": "
                               "null, \"init\": null, \"smoke_test\": false}";
    struct jr_python python = function();
    size_t most = JR_CALL_MAX - strlen(rest);
    for (size_t extra = 0; extra < 2; extra++) {
        struct sample s SAMPLE_CLEANUP;
        sample_python(&s, &python);
        memset(text, 'x', sizeof text);
        text[0] = text[most + extra + 1] = '"';
        text[most + extra + 2] = '\0';
        s.argv[0] = text;
        s.job.entrypoint.argv_count = 1;
        CU_ASSERT_EQUAL(sample_build(&s), extra == 0 ? JR_STATUS_OK : JR_STATUS_INVALID);
        CU_ASSERT_EQUAL(sample_found(&s, "JR0508", "122881 bytes"), extra == 1);
    }
}
