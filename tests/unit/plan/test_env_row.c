/* The entry of PYTHONPATH by itself, and in the environment of ranks. */
#include "plan/rank_env.h"
#include "sample.h"

#define FOLDER "/opt/jobrun/python"

TEST(is_the_last_entry_once)
{
    static const struct {
        const char *value, *expected;
    } cases[] = {{NULL, FOLDER},
                 {"", FOLDER},
                 {"/a", "/a:" FOLDER},
                 {"/a:", "/a::" FOLDER}, /* the empty entry was there before */
                 {":", "::" FOLDER},
                 {FOLDER, FOLDER},
                 {"/a:" FOLDER ":/b", "/a:" FOLDER ":/b"},
                 {FOLDER "3", FOLDER "3:" FOLDER},
                 {"/x" FOLDER, "/x" FOLDER ":" FOLDER},
                 {"/opt/jobrun", "/opt/jobrun:" FOLDER}};
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    for (size_t i = 0; i < LENGTH(cases); i++)
        JR_ASSERT_TEXT(jr_python_path_with(&arena, cases[i].value, FOLDER), cases[i].expected);
}

/* No entry can have a colon in its name. */
TEST(leaves_out_what_cannot_be_an_entry)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    CU_ASSERT_PTR_NULL(jr_python_path_with(&arena, NULL, "/a:b/python"));
    JR_ASSERT_TEXT(jr_python_path_with(&arena, "/x", "/a:b/python"), "/x");
}

TEST(extends_an_environment)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_strv env = {0};
    jr_strv_push(&env, &arena, TEXT("PYTHONPATHS=/no"));
    jr_python_path_extend(&env, &arena, NULL);
    CU_ASSERT_EQUAL(env.count, 1);
    for (int i = 0; i < 2; i++) {
        jr_python_path_extend(&env, &arena, FOLDER);
        CU_ASSERT_EQUAL_FATAL(env.count, 2);
        JR_ASSERT_TEXT(env.items[1], "PYTHONPATH=" FOLDER);
    }
    env.items[1] = TEXT("PYTHONPATH=/mine");
    jr_python_path_extend(&env, &arena, FOLDER);
    JR_ASSERT_TEXT(env.items[1], "PYTHONPATH=/mine:" FOLDER);
    JR_ASSERT_TEXT(env.items[0], "PYTHONPATHS=/no");
}

/* What one rank has, by what jobrun has and what the spec says. */
struct given {
    const char *environ; /* NULL: it has none */
    const char *remove;
    const char *env; /* NULL: the spec states none */
    bool unset, required;
    const char *expected; /* of rank 1; NULL: it is not there */
};

static void check_given(const struct given *given)
{
    static char name[] = "PYTHONPATH";
    char outer[64], value[64], remove[64];
    char *environ[] = {outer, NULL}, *removed[] = {remove};
    struct jr_env_entry entry = {.name = name, .required = given->required};
    SAMPLE(s, 1, 1, 2);
    s.options.support = "/opt/jobrun";
    (void)snprintf(outer, sizeof outer, "%s", given->environ);
    if (given->environ[0] != '\0')
        s.options.environ = environ;
    (void)snprintf(remove, sizeof remove, "%s", given->remove);
    s.job.env_remove = removed;
    s.job.env_remove_count = given->remove[0] != '\0';
    (void)snprintf(value, sizeof value, "%s", given->env ? given->env : "");
    if (given->env != NULL)
        entry.value = value;
    s.job.env = &entry;
    s.job.env_count = given->env != NULL || given->unset || given->required;
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    const char *found = sample_env(&s, 1, name);
    if (given->expected == NULL)
        CU_ASSERT_PTR_NULL(found)
    else
        JR_ASSERT_TEXT(found, given->expected);
}

TEST(stands_behind_what_the_user_has)
{
    static const struct given cases[] = {
        {"", "", NULL, false, false, FOLDER},
        {"PYTHONPATH=/u", "", NULL, false, false, "/u:" FOLDER},
        {"PYTHONPATH=/u", "PYTHON*", NULL, false, false, FOLDER},
        {"PYTHONPATH=/u", "", "src", false, false, "src:" FOLDER},
        {"PYTHONPATH=/u", "", "r%{rank}", false, false, "r1:" FOLDER},
        {"PYTHONPATH=/u", "", "", false, false, FOLDER},
        {"PYTHONPATH=/%{u}", "", NULL, false, true, "/%{u}:" FOLDER},
        {"PYTHONPATH=/u", "", NULL, true, false, NULL}};
    for (size_t i = 0; i < LENGTH(cases); i++)
        check_given(&cases[i]);
}

/* Braces in the folder's name are no template. */
TEST(takes_any_folder_by_its_name)
{
    static char name[] = "PYTHONPATH", value[] = "src";
    struct jr_env_entry entry = {.name = name, .value = value};
    SAMPLE(s, 1, 1, 1);
    s.options.support = "/opt/%{rank}";
    s.job.env = &entry;
    s.job.env_count = 1;
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    JR_ASSERT_TEXT(sample_env(&s, 0, name), "src:/opt/%{rank}/python");
}

/* Where nothing is installed there is nothing to name. */
TEST(is_left_alone_without_the_package)
{
    SAMPLE(s, 1, 1, 1);
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    CU_ASSERT_PTR_NULL(sample_env(&s, 0, "PYTHONPATH"));
}

/* What `setup` exports is told to the runner, which adds the entry then. */
TEST(is_told_for_what_setup_exports)
{
    static char name[] = "PYTHONPATH", setup[] = "true";
    struct jr_env_entry unset = {.name = name};
    for (uint32_t stated = 0; stated < 2; stated++) {
        SAMPLE(s, 1, 1, 1);
        s.options.support = "/opt/jobrun";
        s.job.setup = setup;
        s.job.env = &unset;
        s.job.env_count = stated;
        CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
        if (stated == 1)
            CU_ASSERT_PTR_NULL(s.plan.setup.package)
        else
            JR_ASSERT_TEXT(s.plan.setup.package, FOLDER);
    }
}
