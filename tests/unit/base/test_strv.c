#include "base/strv.h"

#include <fnmatch.h>

#include "unit.h"

TEST(pushes)
{
    struct jr_arena arena = {.limit = 20000};
    struct jr_strv strv = {0};
    for (size_t i = 0; i < 100; i++) {
        jr_strv_push(&strv, &arena, jr_arena_printf(&arena, "%zu", i));
        CU_ASSERT_EQUAL_FATAL(strv.count, i + 1);
        CU_ASSERT_PTR_NULL_FATAL(strv.items[i + 1]);
    }
    JR_ASSERT_TEXT(strv.items[0], "0");
    JR_ASSERT_TEXT(strv.items[99], "99");
    for (int i = 0; i < 4000; i++)
        jr_strv_push(&strv, &arena, strv.items[0]);
    CU_ASSERT_TRUE(arena.failed && strv.count < 4100); /* without memory it stays terminated */
    CU_ASSERT_PTR_NULL(strv.items[strv.count]);
    jr_arena_release(&arena);
    strv = (struct jr_strv){0};
    jr_strv_push(&strv, &arena, NULL);
    CU_ASSERT_TRUE(arena.failed && strv.count == 0);
    jr_arena_release(&arena);
}

static struct jr_strv environment(struct jr_arena *arena)
{
    static const char *const items[] = {"PATH=/bin",  "PMI_RANK=3", "EMPTY=",    "NOTHING",
                                        "PMI_SIZE=8", "PATHS=no",   "PMIX_ID=ab"};
    struct jr_strv env = {0};
    for (size_t i = 0; i < sizeof items / sizeof *items; i++)
        jr_strv_push(&env, arena, jr_arena_strdup(arena, items[i]));
    CU_ASSERT_EQUAL_FATAL(env.count, 7);
    return env;
}

TEST(looks_up)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    char *const *envp = environment(&arena).items;
    CU_ASSERT_PTR_NULL(jr_env_get(NULL, "PATH"));
    CU_ASSERT_PTR_NULL(jr_env_get(envp, "PAT"));
    CU_ASSERT_PTR_NULL(jr_env_get(envp, "NOTHING"));
    CU_ASSERT_PTR_NULL(jr_env_get(envp, "ABSENT"));
    JR_ASSERT_TEXT(jr_env_get(envp, "PATH"), "/bin");
    JR_ASSERT_TEXT(jr_env_get(envp, "EMPTY"), "");
    JR_ASSERT_TEXT(jr_env_get(envp, "PMI_SIZE"), "8");
}

TEST(unsets)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_strv env = {0};
    jr_env_unset(&env, "*");
    env = environment(&arena);
    jr_env_unset(&env, "PMI_*");
    CU_ASSERT_EQUAL(env.count, 5);
    CU_ASSERT_PTR_NULL(env.items[env.count]);
    CU_ASSERT_PTR_NULL(jr_env_get(env.items, "PMI_RANK"));
    JR_ASSERT_TEXT(jr_env_get(env.items, "PMIX_ID"), "ab");
    jr_env_unset(&env, "PATH");
    JR_ASSERT_TEXT(jr_env_get(env.items, "PATHS"), "no");
    jr_env_unset(&env, "*");
    CU_ASSERT_EQUAL(env.count, 1);
    JR_ASSERT_TEXT(env.items[0], "NOTHING");
    jr_strv_push(&env, &arena, (char *)"AGAIN=1");
    JR_ASSERT_TEXT(jr_env_get(env.items, "AGAIN"), "1");
}

TEST(matches)
{
    static char *const globs[] = {(char *)"*TOKEN*", (char *)"API_KEY", (char *)"my_*"};
    const char *secret = "HF_TOKEN|hf-token|--max-tokens|api-key|API_KEY|MY_x";
    const char *open = "|TOKE|--api-key|API.KEY|my";
    EACH_PART(name, secret)
        CU_ASSERT_TRUE(jr_env_matches(globs, 3, name, strlen(name)));
    EACH_PART(name, open)
        CU_ASSERT_FALSE(jr_env_matches(globs, 3, name, strlen(name)));
    CU_ASSERT_FALSE(jr_env_matches(globs, 3, "HF_TOKEN=x", 7));
    CU_ASSERT_TRUE(jr_env_matches(globs, 3, "HF_TOKEN=x", 8));
    CU_ASSERT_FALSE(jr_env_matches(globs, 0, "HF_TOKEN", 8));
}

/* Words with and without stars, and globs that are more than that: each beside fnmatch. */
TEST(matches_as_fnmatch_does)
{
    static char *const globs[] = {(char *)"TOKEN",     (char *)"*_TOKEN", (char *)"TOKEN_*",
                                  (char *)"*API_KEY*", (char *)"T?KEN",   (char *)"[AB]*",
                                  (char *)"*",         (char *)"**",      (char *)"*A*B*",
                                  (char *)"",          (char *)"A*B"};
    EACH_PART(name, "TOKEN|token|TOKENS|MAX_TOKENS|HF_TOKEN|_TOKEN|TOKEN_A|TOKEN_|TOKE|MY_API_KEY|"
                    "apikey|T||B|AB|AxB|A_TOKEN_B")
        JR_EACH(glob, globs)
            CU_ASSERT_EQUAL(jr_env_matches(glob, 1, name, strlen(name)),
                            fnmatch(*glob, name, FNM_CASEFOLD) == 0);
}

TEST(copies)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_strv strv = {.count = 3};
    jr_strv_copy(&strv, &arena, NULL);
    CU_ASSERT_EQUAL(strv.count, 0);
    struct jr_strv original = environment(&arena);
    jr_strv_copy(&strv, &arena, original.items);
    CU_ASSERT_EQUAL_FATAL(strv.count, original.count);
    CU_ASSERT_PTR_NOT_EQUAL(strv.items, original.items);
    CU_ASSERT_PTR_EQUAL(strv.items[0], original.items[0]);
    CU_ASSERT_PTR_NULL(strv.items[strv.count]);
}
