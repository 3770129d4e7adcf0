#include <jobrun/error.h>

#include <errno.h>

#include "unit.h"

TEST(cuts_what_does_not_fit)
{
    struct jr_error err = {0};
    char text[3000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    CU_ASSERT_EQUAL(jr_error_set(&err, JR_STATUS_LAUNCH, "%s", text), -1);
    CU_ASSERT_EQUAL(strlen(err.text), sizeof err.text - 1);
    CU_ASSERT_EQUAL(jr_error_wrap(&err, "spec %d", 1), -1);
    CU_ASSERT_EQUAL(strlen(err.text), sizeof err.text - 1);
    CU_ASSERT_EQUAL(strncmp(err.text, "spec 1: xxx", 11), 0);
    errno = ENOENT;
    CU_ASSERT_EQUAL(jr_error_sys(&err, JR_STATUS_LAUNCH, "%s", text), -1);
    CU_ASSERT_EQUAL(strlen(err.text), sizeof err.text - 1);
}

TEST(takes_null)
{
    errno = EACCES;
    CU_ASSERT_EQUAL(jr_error_set(NULL, JR_STATUS_USAGE, "x"), -1);
    CU_ASSERT_EQUAL(jr_error_sys(NULL, JR_STATUS_USAGE, "x"), -1);
    CU_ASSERT_EQUAL(jr_error_wrap(NULL, "x"), -1);
    CU_ASSERT_EQUAL(errno, EACCES);
}

TEST(tells_the_system_error_and_starts_over)
{
    struct jr_error err = {0};
    errno = ENOENT;
    CU_ASSERT_EQUAL(jr_error_sys(&err, JR_STATUS_LAUNCH, "cannot open %s", "a"), -1);
    CU_ASSERT_TRUE(errno == ENOENT && err.sys == ENOENT && err.status == JR_STATUS_LAUNCH);
    JR_ASSERT_TEXT(err.text, "cannot open a: No such file or directory");
    jr_error_wrap(&err, "rank %d", 3);
    JR_ASSERT_TEXT(err.text, "rank 3: cannot open a: No such file or directory");
    CU_ASSERT_TRUE(err.sys == ENOENT && err.status == JR_STATUS_LAUNCH);
    jr_error_set(&err, JR_STATUS_USAGE, "new");
    JR_ASSERT_TEXT(err.text, "new");
    CU_ASSERT_TRUE(err.sys == 0 && err.status == JR_STATUS_USAGE);
}
