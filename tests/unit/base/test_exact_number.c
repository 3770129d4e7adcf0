#include "base/num.h"

#include <math.h>

#include "unit.h"

static void what_is_no_number_changes_nothing(void)
{
    static const char *const vectors[] = {
        "",    " ",   "abc", "1x",   "1 ", " 1",   "0x10", "1,5",
        "--1", "nan", "inf", "-inf", "1e", "1..2", ".",    "-",
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_exact_number number = {.whole = true, .integer = 77};
        bool read = jr_exact_number_read(&number, vectors[i]);
        if (read)
            printf("\n    '%s' was read", vectors[i]);
        CU_ASSERT_FALSE(read);
        CU_ASSERT_TRUE(number.whole);
        CU_ASSERT_EQUAL(number.integer, 77);
    }
}

static void numbers_are_read_whole_where_they_can_be(void)
{
    static const struct {
        const char *text;
        bool whole;
        int64_t integer;
        int fraction;
        double real;
    } vectors[] = {
        {"0", true, 0, 0, 0},
        {"-0", true, 0, 0, 0},
        {"7", true, 7, 0, 7},
        {"-7", true, -7, 0, -7},
        {"7.0", true, 7, 0, 7},
        {"7.000", true, 7, 0, 7},
        {"7.5", true, 7, 1, 7.5},
        {"7.001", true, 7, 1, 7.001},
        {"-7.5", true, -7, -1, -7.5},
        {"-0.5", true, 0, -1, -0.5},
        {"0.5", true, 0, 1, 0.5},
        {"9007199254740993", true, INT64_C(9007199254740993), 0, 9007199254740992.0},
        {"9223372036854775807", true, INT64_MAX, 0, 9223372036854775808.0},
        {"-9223372036854775808", true, INT64_MIN, 0, -9223372036854775808.0},
        {"9223372036854775808", false, 0, 0, 9223372036854775808.0},
        {"-9223372036854775809", false, 0, 0, -9223372036854775808.0},
        {"123456789012345678901234", false, 0, 0, 123456789012345678901234.0},
        {"1e3", false, 0, 0, 1000},
        {"1.5e0", false, 0, 0, 1.5},
        {"99999999999999999999999", false, 0, 0, 99999999999999999999999.0},
        {"999999999999999999999999.5", false, 0, 0, 999999999999999999999999.5},
        {"1.5e3", false, 0, 0, 1500},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_exact_number number = {.integer = 77};
        if (!jr_exact_number_read(&number, vectors[i].text) || number.whole != vectors[i].whole)
            printf("\n    '%s'", vectors[i].text);
        CU_ASSERT_EQUAL(number.whole, vectors[i].whole);
        CU_ASSERT_EQUAL(number.real, vectors[i].real);
        if (!vectors[i].whole)
            continue;
        CU_ASSERT_EQUAL(number.integer, vectors[i].integer);
        CU_ASSERT_EQUAL(number.fraction, vectors[i].fraction);
    }
}

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

static void check_order(const struct jr_exact_number *a, const struct jr_exact_number *b,
                        int expected, size_t at)
{
    int forth = sign(jr_exact_number_compare(a, b));
    int back = sign(jr_exact_number_compare(b, a));
    if (forth != expected || back != -expected)
        printf("\n    vector %zu: %d and %d, expected %d", at, forth, back, expected);
    CU_ASSERT_EQUAL(forth, expected);
    CU_ASSERT_EQUAL(back, -expected);
}

static void texts_are_compared_as_they_are_written(void)
{
    static const struct {
        const char *a, *b;
        int order;
    } vectors[] = {
        {"1", "1", 0},
        {"1", "1.0", 0},
        {"1", "2", -1},
        {"-1", "1", -1},
        {"-2", "-1", -1},
        {"0", "-0", 0},
        {"0", "0.1", -1},
        {"-0.1", "0", -1},
        {"-0.1", "0.1", -1},
        {"1.25", "1.5", -1},
        {"-1.5", "-1.25", -1},
        {"1.5", "2", -1},
        {"1.5", "1", 1},
        {"-1.5", "-1", -1},
        {"9007199254740992", "9007199254740993", -1},
        {"9007199254740993", "9007199254740993.5", -1},
        {"-9007199254740993.5", "-9007199254740993", -1},
        {"9223372036854775806", "9223372036854775807", -1},
        {"9223372036854775807", "9223372036854775808", -1},
        {"-9223372036854775808", "-9.3e18", 1},
        {"9223372036854775807", "1e19", -1},
        {"1000", "1e3", 0},
        {"1001", "1e3", 1},
        {"999.5", "1e3", -1},
        {"1e3", "1.5e3", -1},
        {"1e300", "1e299", 1},
        {"9007199254740993", "9.007199254740992e15", 1},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_exact_number a, b;
        CU_ASSERT_TRUE(jr_exact_number_read(&a, vectors[i].a));
        CU_ASSERT_TRUE(jr_exact_number_read(&b, vectors[i].b));
        check_order(&a, &b, vectors[i].order, i);
    }
}

static void integers_are_compared_with_doubles(void)
{
    static const struct {
        int64_t integer;
        double real;
        int order;
    } vectors[] = {
        {0, 0.0, 0},
        {0, -0.0, 0},
        {0, 1e-300, -1},
        {0, -1e-300, 1},
        {3, 3.5, -1},
        {4, 3.5, 1},
        {-3, -3.5, 1},
        {-4, -3.5, -1},
        {INT64_C(9007199254740993), 9007199254740992.0, 1},
        {INT64_C(9007199254740991), 9007199254740992.0, -1},
        {INT64_MAX, 9223372036854775808.0, -1},
        {INT64_MAX, 9223372036854774784.0, 1},
        {INT64_MIN, -9223372036854775808.0, 0},
        {INT64_MIN, -9223372036854777856.0, 1},
        {INT64_MAX, (double)INFINITY, -1},
        {INT64_MIN, -(double)INFINITY, 1},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_exact_number a = jr_exact_number_integer(vectors[i].integer);
        struct jr_exact_number b = jr_exact_number_real(vectors[i].real);
        check_order(&a, &b, vectors[i].order, i);
    }
}

/* 0.1 as it is written equals the double that is nearest to it: that is what a rank's JSON holds
 * after it wrote 0.1. */
static void decimals_are_compared_with_doubles(void)
{
    static const struct {
        const char *text;
        double real;
        int order;
    } vectors[] = {
        {"0.1", 0.1, 0},
        {"0.3", 0.1 + 0.2, -1},
        {"-0.1", -0.1, 0},
        {"0.9", 0.41, 1},
        {"1.5", 1.5, 0},
        {"1.5", 1.0, 1},
        {"1.5", 2.0, -1},
        {"9007199254740992.5", 9007199254740992.0, 1},
        {"9007199254740993.5", 9007199254740994.0, -1},
        {"-9007199254740992.5", -9007199254740992.0, -1},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_exact_number a;
        struct jr_exact_number b = jr_exact_number_real(vectors[i].real);
        CU_ASSERT_TRUE(jr_exact_number_read(&a, vectors[i].text));
        check_order(&a, &b, vectors[i].order, i);
    }
}

JR_UNIT_MAIN("exact_number", CASE(what_is_no_number_changes_nothing),
             CASE(numbers_are_read_whole_where_they_can_be),
             CASE(texts_are_compared_as_they_are_written), CASE(integers_are_compared_with_doubles),
             CASE(decimals_are_compared_with_doubles))
