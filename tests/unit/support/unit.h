/*
 * A unit test is a program: cases are functions, JR_UNIT_MAIN lists them.
 *
 *     static void refuses_junk(void) { CU_ASSERT_FALSE(...); }
 *     JR_UNIT_MAIN("num", CASE(refuses_junk), CASE(reads_sizes))
 *
 * The exit status is 0 when every case passed and at least one ran.
 */
#ifndef JR_UNIT_H
#define JR_UNIT_H

#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <string.h>

struct jr_unit_case {
    const char *name;
    void (*run)(void);
};

#define CASE(function)                                                                             \
    {                                                                                              \
#function, function                                                                        \
    }

static int jr_unit_run(const char *suite, const struct jr_unit_case *cases, size_t count)
{
    if (CU_initialize_registry() != CUE_SUCCESS)
        return 1;
    CU_pSuite added = CU_add_suite(suite, NULL, NULL);
    for (size_t i = 0; added != NULL && i < count; i++)
        if (CU_add_test(added, cases[i].name, cases[i].run) == NULL)
            return 1;
    CU_basic_set_mode(CU_BRM_NORMAL);
    CU_basic_run_tests();
    int bad =
        CU_get_number_of_failures() != 0 || CU_get_number_of_tests_run() != count || count == 0;
    CU_cleanup_registry();
    return bad;
}

#define JR_UNIT_MAIN(suite, ...)                                                                   \
    int main(void)                                                                                 \
    {                                                                                              \
        static const struct jr_unit_case cases[] = {__VA_ARGS__};                                  \
        return jr_unit_run(suite, cases, sizeof cases / sizeof cases[0]);                          \
    }

/* Equal strings, told with both when they are not. */
#define JR_ASSERT_TEXT(actual, expected)                                                           \
    do {                                                                                           \
        const char *actual_ = (actual);                                                            \
        const char *expected_ = (expected);                                                        \
        if (actual_ == NULL || strcmp(actual_, expected_) != 0)                                    \
            printf("\n    got      '%s'\n    expected '%s'\n",                                     \
                   actual_ == NULL ? "(null)" : actual_, expected_);                               \
        CU_ASSERT_TRUE(actual_ != NULL && strcmp(actual_, expected_) == 0);                        \
    } while (0)

#endif
