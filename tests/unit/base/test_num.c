#include "base/num.h"

#include <stdlib.h>

#include "unit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void refuses_what_is_no_integer(void)
{
    static const char *const bad[] = {
        "",
        " ",
        " 1",
        "1 ",
        "+1",
        "4x",
        "x4",
        "0x10",
        "010",
        "00",
        "1_000",
        "1,0",
        "3.0",
        "1e3",
        "-",
        "--1",
        "yes",
        "\t1",
        "1\n",
        "18446744073709551616",
        "99999999999999999999",
    };
    uint64_t u64 = 7;
    int64_t i64 = 7;
    uint32_t u32 = 7;
    double real = 7;
    for (size_t i = 0; i < COUNT(bad); i++) {
        CU_ASSERT_FALSE(jr_num_u64(bad[i], &u64));
        CU_ASSERT_FALSE(jr_num_i64(bad[i], &i64));
        CU_ASSERT_FALSE(jr_num_u32(bad[i], &u32));
    }
    CU_ASSERT_FALSE(jr_num_u64("-1", &u64));
    CU_ASSERT_FALSE(jr_num_u32("4294967296", &u32));
    CU_ASSERT_FALSE(jr_num_i64("9223372036854775808", &i64));
    CU_ASSERT_FALSE(jr_num_i64("-9223372036854775809", &i64));
    CU_ASSERT_FALSE(jr_num_i64("-01", &i64));
    CU_ASSERT_FALSE(jr_num_double("nope", &real));
    CU_ASSERT_EQUAL(u64, 7);
    CU_ASSERT_EQUAL(i64, 7);
    CU_ASSERT_EQUAL(u32, 7);
    CU_ASSERT_EQUAL(real, 7);
}

static void reads_integers(void)
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

static void refuses_what_is_no_number(void)
{
    static const char *const bad[] = {
        "",    ".",   "-",    "e3",    "1e",    "1e+",   "1.5x", " 1",  "1 ",
        "inf", "nan", ".inf", "-.nan", "0x1p3", "1e999", "1,5",  "010", "1.2.3",
    };
    double real = 7;
    for (size_t i = 0; i < COUNT(bad); i++)
        CU_ASSERT_FALSE(jr_num_double(bad[i], &real));
    CU_ASSERT_EQUAL(real, 7);
}

static void reads_numbers(void)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {
        {"0", 0},       {"3", 3},  {"-0.5", -0.5},       {"1e3", 1000},
        {".5", 0.5},    {"2.", 2}, {"+1.25E-2", 0.0125}, {"0.1", 0.1},
        {"-1e-999", 0},
    };
    for (size_t i = 0; i < COUNT(good); i++) {
        double real = 7;
        CU_ASSERT_TRUE(jr_num_double(good[i].text, &real));
        CU_ASSERT_EQUAL(real, good[i].value);
    }
}

static void refuses_what_is_no_duration(void)
{
    static const char *const bad[] = {
        "",
        "5",
        "00",
        "-5s",
        "s",
        "5S",
        "5 s",
        "1.5h",
        "30m1h",
        "1h1h",
        "1s500",
        "500msx",
        "5sec",
        "1h30",
        "05s",
        "1ms1s",
        "18446744073709551615s",
        "18446744073709551615ms1ms",
        "213503982335d1d",
    };
    uint64_t ms = 7;
    for (size_t i = 0; i < COUNT(bad); i++)
        CU_ASSERT_FALSE(jr_num_duration(bad[i], &ms));
    CU_ASSERT_EQUAL(ms, 7);
}

static void reads_durations(void)
{
    static const struct {
        const char *text;
        uint64_t ms;
    } good[] = {
        {"0", 0},
        {"0s", 0},
        {"500ms", 500},
        {"30s", 30000},
        {"10m", 600000},
        {"2h", 7200000},
        {"1d", 86400000},
        {"1h30m", 5400000},
        {"90m", 5400000},
        {"1d2h3m4s5ms", 93784005},
        {"18446744073709551615ms", UINT64_MAX},
    };
    for (size_t i = 0; i < COUNT(good); i++) {
        uint64_t ms = 7;
        CU_ASSERT_TRUE(jr_num_duration(good[i].text, &ms));
        CU_ASSERT_EQUAL(ms, good[i].ms);
    }
}

static void reads_sizes(void)
{
    static const char *const bad[] = {
        "",       "-1",    "KiB",   "10 MiB", "10MB",        "10M",   "10k",
        "1.5GiB", "10mib", "1KiBx", "1KiB1",  "16777216TiB", "01KiB",
    };
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
    for (size_t i = 0; i < COUNT(bad); i++)
        CU_ASSERT_FALSE(jr_num_size(bad[i], &bytes));
    CU_ASSERT_EQUAL(bytes, 7);
    for (size_t i = 0; i < COUNT(good); i++) {
        CU_ASSERT_TRUE(jr_num_size(good[i].text, &bytes));
        CU_ASSERT_EQUAL(bytes, good[i].bytes);
    }
}

static void writes_durations_that_read_back(void)
{
    static const struct {
        uint64_t ms;
        const char *text;
    } vectors[] = {
        {0, "0"},
        {1, "1ms"},
        {500, "500ms"},
        {30000, "30s"},
        {90000, "1m30s"},
        {5400000, "1h30m"},
        {86400000, "1d"},
        {93784005, "1d2h3m4s5ms"},
        {UINT64_MAX, "213503982334d14h25m51s615ms"},
    };
    for (size_t i = 0; i < COUNT(vectors); i++) {
        JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
        uint64_t ms = 7;
        jr_num_add_duration(&text, vectors[i].ms);
        JR_ASSERT_TEXT(text.data, vectors[i].text);
        CU_ASSERT_TRUE(jr_num_duration(text.data, &ms));
        CU_ASSERT_EQUAL(ms, vectors[i].ms);
    }
}

static void writes_numbers_that_read_back(void)
{
    static const struct {
        double number;
        const char *text;
    } vectors[] = {
        {0, "0"},
        {2, "2"},
        {-0.5, "-0.5"},
        {0.1, "0.1"},
        {1e300, "1e+300"},
        {1.0 / 3, "0.3333333333333333"},
        {0.1 + 0.2, "0.30000000000000004"},
    };
    for (size_t i = 0; i < COUNT(vectors); i++) {
        JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
        jr_num_add_double(&text, vectors[i].number);
        JR_ASSERT_TEXT(text.data, vectors[i].text);
        CU_ASSERT_EQUAL(strtod(text.data, NULL), vectors[i].number);
    }
}

/* A thread whose locale has a comma gets it back behind the block. */
static void numbers_have_a_point_in_a_block(void)
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

JR_UNIT_MAIN("num", CASE(refuses_what_is_no_integer), CASE(reads_integers),
             CASE(refuses_what_is_no_number), CASE(reads_numbers),
             CASE(writes_numbers_that_read_back), CASE(refuses_what_is_no_duration),
             CASE(reads_durations), CASE(writes_durations_that_read_back), CASE(reads_sizes),
             CASE(numbers_have_a_point_in_a_block))
