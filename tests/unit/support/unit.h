/*
 * A unit test is a program of cases, which run in the order of the file:
 *
 *     TEST(refuses_junk)
 *     {
 *         CU_ASSERT_FALSE(...);
 *     }
 *
 * The exit status is 0 when every case passed and at least one ran. A program that has to do
 * something else before has a main of its own, which ends with jr_unit_main(). Older ones list
 * functions as cases with JR_UNIT_MAIN.
 */
#ifndef JR_UNIT_H
#define JR_UNIT_H

#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct jr_unit_case {
    const char *name;
    void (*run)(void);
    int line;
    struct jr_unit_case *next;
};

void jr_unit_add(struct jr_unit_case *added);
int jr_unit_main(void);

#define TEST(function)                                                                             \
    static void function(void);                                                                    \
    __attribute__((constructor)) static void add_##function(void)                                  \
    {                                                                                              \
        static struct jr_unit_case item = {#function, function, __LINE__, NULL};                   \
        jr_unit_add(&item);                                                                        \
    }                                                                                              \
    static void function(void)

#define CASE(function)                                                                             \
    {                                                                                              \
        .name = #function, .run = function                                                         \
    }

static inline int jr_unit_run(const char *suite, const struct jr_unit_case *cases, size_t count)
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

/* A case between the two calls of a fixture. */
#define TEST_WITH(start, end, function)                                                            \
    static void in_##function(void);                                                               \
    TEST(function)                                                                                 \
    {                                                                                              \
        start();                                                                                   \
        in_##function();                                                                           \
        end();                                                                                     \
    }                                                                                              \
    static void in_##function(void)

/* What a row of a table has in braces of its own: clang-format puts each field of a row on a line
 * where it sees them. */
#define BRACED(...)                                                                                \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* What is released by this function where its scope ends. */
#define RELEASE(function) __attribute__((cleanup(function)))

/* A function that ends what a block has begun: BEGIN(end, start(3)); in a block, and it is called
 * where that is left. */
#define ENDING(function)                                                                           \
    static void function(void);                                                                    \
    static inline void function##_of(const char *block)                                            \
    {                                                                                              \
        (void)block;                                                                               \
        function();                                                                                \
    }                                                                                              \
    static void function(void)
#define BEGIN(end, ...)                                                                            \
    __VA_ARGS__;                                                                                   \
    const char block RELEASE(end##_of) = 0

/* For each part of a text between |. */
#define EACH_PART(part, text)                                                                      \
    for (char *copy_ = strdup(text), *rest_ = copy_, *part = strsep(&rest_, "|");                  \
         part != NULL || (free(copy_), false); part = strsep(&rest_, "|"))

static inline char *jr_unit_split(char *part)
{
    char *at = strstr(part, " => ");
    CU_ASSERT_TRUE(at != NULL || part[0] == '\0');
    if (at == NULL)
        return NULL;
    *at = '\0';
    return at + 4;
}

/* The same for parts that are "ONE => OTHER". */
#define EACH_PAIR(one, other, text)                                                                \
    EACH_PART(one, text)                                                                           \
        for (char *other = jr_unit_split(one); other != NULL; other = NULL)

/* Each row of a table, as a pointer to it. */
#define JR_EACH(row, rows)                                                                         \
    for (__typeof__(&(rows)[0]) row = (rows); row < (rows) + sizeof(rows) / sizeof *(rows); row++)

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
