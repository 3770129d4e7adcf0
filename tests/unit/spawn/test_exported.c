#include "spawn/exported.h"
#include "unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* `bytes` as what a setup with these variables and drops wrote. */
static int read_bytes(struct jr_exported *ret, const char *bytes, size_t len, struct jr_error *err)
{
    static char pwd[] = "PWD=/outer", glob[] = "DROP*", name[] = "GONE";
    static char *env[] = {pwd, NULL}, *drop[] = {glob, name, NULL};
    const struct jr_plan_setup setup = {"", env, drop, "/opt/python"};
    int fd = memfd_create("test", MFD_CLOEXEC);
    CU_ASSERT_EQUAL(write(fd, bytes, len), (ssize_t)len);
    int result = jr_exported_read(ret, fd, &setup, err);
    (void)close(fd);
    return result;
}

TEST(nothing_is_an_error)
{
    struct jr_exported exported = {0};
    struct jr_error err = {0};
    CU_ASSERT_EQUAL(read_bytes(&exported, "", 0, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "ended before its last line"));
    CU_ASSERT_FALSE(exported.there);
    CU_ASSERT_EQUAL(jr_exported_read(&exported, -1, NULL, &err), -1);
    CU_ASSERT_EQUAL(err.status, JR_STATUS_LAUNCH);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "what it exported could not be read"));
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    CU_ASSERT_EQUAL(jr_exported_read(&exported, fd, NULL, &err), -1);
    CU_ASSERT_FALSE(exported.there);
    (void)close(fd);
}

TEST(joins)
{
    static const char bytes[] =
        "A=1\0PWD=/inner\0SHLVL=3\0_=/usr/bin/env\0DROP_A=1\0GONE=1\0RANK=7\0"
        "RANKS=2\0EMPTY=\0FN%%=() {\n}\0MINE=x\0MIN=y\0OLD=9\0LAST";
    static char rank[] = "RANK=0", own[] = "B=2", old[] = "OLD=1", mine[] = "MINE";
    static char *env[] = {rank, own, old, NULL}, *drop[] = {mine, NULL};
    static const char *const expected[] = {"RANK=0",
                                           "B=2",
                                           "A=1",
                                           "RANKS=2",
                                           "EMPTY=",
                                           "FN%%=() {\n}",
                                           "MIN=y",
                                           "OLD=9",
                                           "LAST",
                                           "PWD=/outer",
                                           "PYTHONPATH=/opt/python"};
    struct jr_exported exported = {0};
    struct jr_error err = {0};
    CU_ASSERT_PTR_EQUAL(jr_exported_join(&exported, env, 2, drop), env);
    CU_ASSERT_EQUAL_FATAL(read_bytes(&exported, bytes, sizeof bytes - 1, &err), 0);
    char **joined = jr_exported_join(&exported, env, 2, drop);
    CU_ASSERT_PTR_NOT_NULL_FATAL(joined);
    size_t count = sizeof expected / sizeof *expected;
    for (size_t i = 0; i < count; i++) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(joined[i]);
        CU_ASSERT_STRING_EQUAL(joined[i], expected[i]);
    }
    CU_ASSERT_PTR_NULL(joined[count]);
    joined = jr_exported_join(&exported, env, 0, NULL);
    CU_ASSERT_STRING_EQUAL(joined[0], "A=1");
    jr_exported_release(&exported);
    jr_exported_release(&exported);
}

TEST(extends_the_python_path)
{
    static const char bytes[] = "PYTHONPATH=/mine\0LAST=1";
    struct jr_exported exported = {0};
    struct jr_error err = {0};
    CU_ASSERT_EQUAL_FATAL(read_bytes(&exported, bytes, sizeof bytes, &err), 0);
    char **joined = jr_exported_join(&exported, NULL, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(joined);
    CU_ASSERT_STRING_EQUAL(joined[0], "PYTHONPATH=/mine:/opt/python");
    CU_ASSERT_STRING_EQUAL(joined[1], "LAST=1");
    jr_exported_release(&exported);
}

/* What comes besides stands behind the rest, whoever made that. */
TEST(extends)
{
    static char one[] = "A=1", two[] = "B=2", three[] = "C=3";
    static char *env[] = {one, NULL}, *more[] = {two, three, NULL};
    static char *none[] = {NULL};
    struct jr_exported exported = {0};
    CU_ASSERT_PTR_EQUAL(jr_exported_extend(&exported, env, NULL), env);
    CU_ASSERT_PTR_NULL(jr_exported_extend(&exported, NULL, more));
    for (unsigned round = 0; round < 2; round++) {
        char **extended = jr_exported_extend(&exported, env, more);
        CU_ASSERT_PTR_NOT_NULL_FATAL(extended);
        CU_ASSERT_PTR_EQUAL(extended[0], one);
        CU_ASSERT_PTR_EQUAL(extended[1], two);
        CU_ASSERT_PTR_EQUAL(extended[2], three);
        CU_ASSERT_PTR_NULL(extended[3]);
    }
    CU_ASSERT_PTR_EQUAL(jr_exported_extend(&exported, env, none)[0], one);
    CU_ASSERT_PTR_NULL(jr_exported_extend(&exported, env, none)[1]);
    CU_ASSERT_PTR_EQUAL(jr_exported_extend(&exported, none, more)[0], two);
    CU_ASSERT_PTR_NULL(jr_exported_extend(&exported, none, none)[0]);
    jr_exported_release(&exported);
}
