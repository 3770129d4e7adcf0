#include "base/num.h"

#include <math.h>
#include <stdlib.h>

#include "unit.h"

TEST(refuses_what_is_no_integer)
{
    const char *bad = "| | 1|1 |+1|4x|x4|0x10|010|00|1_0|1,0|3.0|1e3|-|--1|yes|\t1|1\n|"
                      "18446744073709551616|99999999999999999999";
    uint64_t u64 = 7;
    int64_t i64 = 7;
    uint32_t u32 = 7;
    EACH_PART(text, bad) {
        CU_ASSERT_FALSE(jr_num_u64(text, &u64));
        CU_ASSERT_FALSE(jr_num_i64(text, &i64));
        CU_ASSERT_FALSE(jr_num_u32(text, &u32));
    }
    CU_ASSERT_FALSE(jr_num_u64("-1", &u64));
    CU_ASSERT_FALSE(jr_num_u32("4294967296", &u32));
    CU_ASSERT_FALSE(jr_num_i64("9223372036854775808", &i64));
    CU_ASSERT_FALSE(jr_num_i64("-9223372036854775809", &i64));
    CU_ASSERT_FALSE(jr_num_i64("-01", &i64));
    CU_ASSERT_TRUE(u64 == 7 && i64 == 7 && u32 == 7);
}

TEST(reads_integers)
{
    uint64_t u64;
    int64_t i64;
    uint32_t u32;
    CU_ASSERT_TRUE(jr_num_u64("0", &u64) && u64 == 0);
    CU_ASSERT_TRUE(jr_num_u64("18446744073709551615", &u64) && u64 == UINT64_MAX);
    CU_ASSERT_TRUE(jr_num_i64("-42", &i64) && i64 == -42);
    CU_ASSERT_TRUE(jr_num_i64("9223372036854775807", &i64) && i64 == INT64_MAX);
    CU_ASSERT_TRUE(jr_num_i64("-9223372036854775808", &i64) && i64 == INT64_MIN);
    CU_ASSERT_TRUE(jr_num_u32("4294967295", &u32) && u32 == UINT32_MAX);
}

/* Not by either reader, and what was there stays. */
TEST(refuses_what_is_no_number)
{
    const char *bad = "| |.|-|--1|e3|1e|1e+|1.5x|1x|abc| 1|1 |inf|-inf|nan|.inf|1,5|010|1.2.3|1..2|"
                      "-.nan|0x10|0x1p3|1e999|nope";
    EACH_PART(text, bad) {
        struct jr_exact_number number = {.whole = true, .integer = 77};
        double real = 7;
        CU_ASSERT_FALSE(jr_num_double(text, &real));
        CU_ASSERT_FALSE(jr_exact_number_read(&number, text));
        CU_ASSERT_TRUE(real == 7 && number.whole && number.integer == 77);
    }
}

TEST(reads_numbers)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {
        {"0", 0},       {"3", 3},  {"-0.5", -0.5},       {"1e3", 1000},
        {".5", 0.5},    {"2.", 2}, {"+1.25E-2", 0.0125}, {"0.1", 0.1},
        {"-1e-999", 0},
    };
    JR_EACH(row, good) {
        double real = 7;
        CU_ASSERT_TRUE(jr_num_double(row->text, &real));
        CU_ASSERT_EQUAL(real, row->value);
    }
}

TEST(writes_numbers_that_read_back)
{
    const char *texts = "0|2|-0.5|0.1|1e+300|0.3333333333333333|0.30000000000000004";
    EACH_PART(text, texts) {
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
        jr_num_add_double(&out, strtod(text, NULL));
        JR_ASSERT_TEXT(out.data, text);
    }
}

TEST(refuses_what_is_no_duration)
{
    const char *bad = "|5|00|-5s|s|5S|5 s|1.5h|30m1h|1h1h|1s500|500msx|5sec|1h30|05s|1ms1s|"
                      "18446744073709551615s|18446744073709551615ms1ms|213503982335d1d";
    uint64_t ms = 7;
    EACH_PART(text, bad)
        CU_ASSERT_FALSE(jr_num_duration(text, &ms));
    CU_ASSERT_EQUAL(ms, 7);
}

TEST(reads_and_writes_durations)
{
    static const struct {
        const char *text;
        uint64_t ms;
        const char *normal; /* NULL: as it is */
    } good[] = {
        {"0", 0, NULL},
        {"0s", 0, "0"},
        {"1ms", 1, NULL},
        {"500ms", 500, NULL},
        {"30s", 30000, NULL},
        {"1m30s", 90000, NULL},
        {"10m", 600000, NULL},
        {"90m", 5400000, "1h30m"},
        {"1h30m", 5400000, NULL},
        {"2h", 7200000, NULL},
        {"1d", 86400000, NULL},
        {"1d2h3m4s5ms", 93784005, NULL},
        {"18446744073709551615ms", UINT64_MAX, "213503982334d14h25m51s615ms"},
    };
    JR_EACH(row, good) {
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
        uint64_t ms = 7;
        CU_ASSERT_TRUE(jr_num_duration(row->text, &ms));
        CU_ASSERT_EQUAL(ms, row->ms);
        jr_num_add_duration(&out, ms);
        JR_ASSERT_TEXT(out.data, row->normal == NULL ? row->text : row->normal);
        CU_ASSERT_TRUE(jr_num_duration(out.data, &ms));
        CU_ASSERT_EQUAL(ms, row->ms);
    }
}

TEST(reads_sizes)
{
    const char *bad = "|-1|KiB|10 MiB|10MB|10M|10k|1.5GiB|10mib|1KiBx|1KiB1|16777216TiB|01KiB";
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"0", 0},
        {"123", 123},
        {"64KiB", 65536},
        {"10MiB", 10485760},
        {"2GiB", 2147483648},
        {"1TiB", 1099511627776},
        {"16777215TiB", 16777215ull << 40},
    };
    uint64_t bytes = 7;
    EACH_PART(text, bad)
        CU_ASSERT_FALSE(jr_num_size(text, &bytes));
    CU_ASSERT_EQUAL(bytes, 7);
    JR_EACH(row, good) {
        CU_ASSERT_TRUE(jr_num_size(row->text, &bytes));
        CU_ASSERT_EQUAL(bytes, row->bytes);
    }
}

/* A thread whose locale has a comma gets it back behind the block. */
TEST(numbers_have_a_point_in_a_block)
{
    locale_t comma = newlocale(LC_ALL_MASK, "de_DE.UTF-8", (locale_t)0);
    locale_t own = comma != (locale_t)0 ? comma : duplocale(LC_GLOBAL_LOCALE);
    locale_t before = uselocale(own);
    {
        JR_DECIMAL_POINT;
        CU_ASSERT_TRUE(uselocale((locale_t)0) != own);
        JR_ASSERT_TEXT(localeconv()->decimal_point, ".");
    }
    CU_ASSERT_TRUE(uselocale((locale_t)0) == own);
    (void)uselocale(before);
    freelocale(own);
}

TEST(numbers_are_read_whole_where_they_can_be)
{
    static const struct {
        const char *text;
        int64_t integer;
        int fraction;
    } whole[] = {
        {"0", 0, 0},
        {"-0", 0, 0},
        {"7", 7, 0},
        {"-7", -7, 0},
        {"7.0", 7, 0},
        {"7.000", 7, 0},
        {"7.5", 7, 1},
        {"7.001", 7, 1},
        {"-7.5", -7, -1},
        {"-0.5", 0, -1},
        {"0.5", 0, 1},
        {"9007199254740993", INT64_C(9007199254740993), 0},
        {"9223372036854775807", INT64_MAX, 0},
        {"-9223372036854775808", INT64_MIN, 0},
    };
    const char *real =
        "9223372036854775808|-9223372036854775809|123456789012345678901234|1e3|1.5e0|"
        "1.5e3|99999999999999999999999|999999999999999999999999.5";
    struct jr_exact_number number;
    JR_EACH(row, whole) {
        CU_ASSERT_TRUE(jr_exact_number_read(&number, row->text) && number.whole);
        CU_ASSERT_TRUE(number.integer == row->integer && number.fraction == row->fraction);
        CU_ASSERT_EQUAL(number.real, strtod(row->text, NULL));
    }
    EACH_PART(text, real) {
        CU_ASSERT_TRUE(jr_exact_number_read(&number, text) && !number.whole);
        CU_ASSERT_EQUAL(number.real, strtod(text, NULL));
    }
}

static void check_order(const struct jr_exact_number *a, const struct jr_exact_number *b,
                        int expected, const char *what)
{
    int forth = jr_exact_number_compare(a, b), back = jr_exact_number_compare(b, a);
    forth = (forth > 0) - (forth < 0);
    back = (back > 0) - (back < 0);
    if (forth != expected || back != -expected)
        printf("\n    %s: %d and %d, expected %d", what, forth, back, expected);
    CU_ASSERT_TRUE(forth == expected && back == -expected);
}

/* Each beside all that stand before it. */
TEST(texts_are_compared_as_they_are_written)
{
    const char *ascending =
        "-9.3e18|-9223372036854775808|-9007199254740993.5|-9007199254740993|-2|-1.5|-1.25|-1|-0.1|"
        "0|0.1|1|1.25|1.5|2|999.5|1e3|1001|1.5e3|9.007199254740992e15|9007199254740993|"
        "9007199254740993.5|9223372036854775806|9223372036854775807|9223372036854775808|1e19|1e300";
    static const char *const equal[][2] = {
        {"1", "1.0"}, {"0", "-0"}, {"1000", "1e3"}, {"9007199254740992", "9007199254740992.0"}};
    struct jr_exact_number numbers[32], other;
    size_t count = 0;
    EACH_PART(text, ascending) {
        CU_ASSERT_TRUE(jr_exact_number_read(&numbers[count], text));
        for (size_t i = 0; i < count; i++)
            check_order(&numbers[i], &numbers[count], -1, text);
        count++;
    }
    JR_EACH(pair, equal) {
        CU_ASSERT_TRUE(jr_exact_number_read(&numbers[0], (*pair)[0]));
        CU_ASSERT_TRUE(jr_exact_number_read(&other, (*pair)[1]));
        check_order(&numbers[0], &other, 0, (*pair)[0]);
    }
}

/* 0.1 as it is written equals the double that is nearest to it: that is what a rank's JSON holds
 * after it wrote 0.1. */
TEST(texts_are_compared_with_doubles)
{
    static const struct {
        const char *text;
        double real;
        int order;
    } rows[] = {
        {"0", 0.0, 0},
        {"0", -0.0, 0},
        {"0", 1e-300, -1},
        {"0", -1e-300, 1},
        {"3", 3.5, -1},
        {"4", 3.5, 1},
        {"-3", -3.5, 1},
        {"-4", -3.5, -1},
        {"9007199254740993", 9007199254740992.0, 1},
        {"9007199254740991", 9007199254740992.0, -1},
        {"9223372036854775807", 9223372036854775808.0, -1},
        {"9223372036854775807", 9223372036854774784.0, 1},
        {"-9223372036854775808", -9223372036854775808.0, 0},
        {"-9223372036854775808", -9223372036854777856.0, 1},
        {"9223372036854775807", (double)INFINITY, -1},
        {"-9223372036854775808", -(double)INFINITY, 1},
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
    JR_EACH(row, rows) {
        struct jr_exact_number a, b = jr_exact_number_real(row->real);
        int64_t integer;
        CU_ASSERT_TRUE(jr_exact_number_read(&a, row->text));
        check_order(&a, &b, row->order, row->text);
        if (!jr_num_i64(row->text, &integer))
            continue;
        a = jr_exact_number_integer(integer);
        check_order(&a, &b, row->order, row->text);
    }
}
