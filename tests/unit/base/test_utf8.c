#include "base/utf8.h"

#include "unit.h"

TEST(refuses_what_is_not_utf8)
{
    static const char *const vectors[] = {
        "\x80",             /* a continuation alone */
        "\xc3",             /* cut short */
        "\xe2\x82",         /* cut short */
        "\xc3(",            /* no continuation */
        "\xc0\x80",         /* overlong NUL */
        "\xe0\x80\xaf",     /* overlong */
        "\xf0\x80\x80\x80", /* overlong */
        "\xed\xa0\x80",     /* surrogate */
        "\xf4\x90\x80\x80", /* beyond U+10FFFF */
        "\xf8\x88\x80\x80", /* five bytes */
        "\xff",
    };
    uint32_t point = 77;
    JR_EACH(row, vectors)
        CU_ASSERT_EQUAL(jr_utf8_decode(*row, strlen(*row), &point), 0);
    JR_EACH(row, vectors)
        CU_ASSERT_FALSE(jr_utf8_is_text(*row));
    CU_ASSERT_FALSE(jr_utf8_is_text("good \xc3\xbc, then \xff"));
    CU_ASSERT_TRUE(jr_utf8_is_text("good \xc3\xbc"));
    CU_ASSERT_TRUE(jr_utf8_is_text(""));
    CU_ASSERT_EQUAL(jr_utf8_decode("", 0, &point), 0);
    CU_ASSERT_EQUAL(jr_utf8_decode("\xc3\xbc", 1, &point), 0);
    CU_ASSERT_EQUAL(point, 77);
}

TEST(decodes)
{
    static const struct {
        const char *text;
        size_t size;
        uint32_t point;
    } vectors[] = {
        {"a", 1, 'a'},
        {"\xc2\x80", 2, 0x80},
        {"\xc3\xbcx", 2, 0xfc},
        {"\xdf\xbf", 2, 0x7ff},
        {"\xe0\xa0\x80", 3, 0x800},
        {"\xe6\x97\xa5", 3, 0x65e5},
        {"\xef\xbf\xbf", 3, 0xffff},
        {"\xf0\x90\x80\x80", 4, 0x10000},
        {"\xf4\x8f\xbf\xbf", 4, 0x10ffff},
    };
    JR_EACH(row, vectors) {
        uint32_t point = 0;
        size_t size = jr_utf8_decode(row->text, strlen(row->text), &point);
        CU_ASSERT_EQUAL(size, row->size);
        CU_ASSERT_EQUAL(point, row->point);
    }
    uint32_t nul = 1;
    CU_ASSERT_EQUAL(jr_utf8_decode("\0", 1, &nul), 1);
    CU_ASSERT_EQUAL(nul, 0);
}

TEST(counts_code_points)
{
    CU_ASSERT_EQUAL(jr_utf8_points("", 0), 0);
    CU_ASSERT_EQUAL(jr_utf8_points("abc", 2), 2);
    CU_ASSERT_EQUAL(jr_utf8_points("e\xcc\x81\xe6\xbc\xa2", 6), 3);
    /* Each broken byte is one. */
    CU_ASSERT_EQUAL(jr_utf8_points("\xe6\xbc", 2), 2);
}

TEST(cuts_between_code_points)
{
    static const struct {
        const char *text;
        size_t most, cut;
    } vectors[] = {
        {"", 0, 0},
        {"", 3, 0},
        {"abc", 0, 0},
        {"abc", 2, 2},
        {"abc", 3, 3},
        {"abc", 9, 3},
        {"a\xc3\xa4", 2, 1},
        {"a\xc3\xa4", 3, 3},
        {"\xf0\x9f\x98\x80x", 3, 0},
        {"\xf0\x9f\x98\x80x", 4, 4},
        {"\xb8\xb8\xb8\xb8", 2, 0}, /* nothing begins anywhere */
    };
    JR_EACH(row, vectors) {
        const char *text = row->text;
        CU_ASSERT_EQUAL(jr_utf8_cut(text, strlen(text), row->most), row->cut);
    }
}

TEST(hides_controls)
{
    static const uint32_t hidden[] = {0, 0x1b, 0x7f, 0x9b, 0x2028, 0x202e, 0x2066, 0xfeff};
    static const uint32_t shown[] = {' ', '~', 0xa0, 0xfc, 0x65e5, 0x1f600};
    JR_EACH(point, hidden)
        CU_ASSERT_FALSE(jr_utf8_is_shown(*point));
    JR_EACH(point, shown)
        CU_ASSERT_TRUE(jr_utf8_is_shown(*point));
}

TEST(measures)
{
    CU_ASSERT_EQUAL(jr_utf8_width('a'), 1);
    CU_ASSERT_EQUAL(jr_utf8_width(0xfc), 1);
    CU_ASSERT_EQUAL(jr_utf8_width(0x0301), 0);  /* combining acute */
    CU_ASSERT_EQUAL(jr_utf8_width(0x65e5), 2);  /* a CJK ideograph */
    CU_ASSERT_EQUAL(jr_utf8_width(0xac00), 2);  /* Hangul */
    CU_ASSERT_EQUAL(jr_utf8_width(0xff21), 2);  /* full-width A */
    CU_ASSERT_EQUAL(jr_utf8_width(0x1f600), 2); /* an emoji */
}

TEST(fits_columns)
{
    static const struct {
        const char *text;
        size_t columns, len;
    } vectors[] = {
        {"", 0, 0},
        {"", 3, 0},
        {"abc", 0, 0},
        {"abc", 2, 2},
        {"abc", 3, 3},
        {"abc", 9, 3},
        {"\u65e5\u672c", 0, 0},
        {"\u65e5\u672c", 1, 0},
        {"\u65e5\u672c", 2, 3},
        {"\u65e5\u672c", 3, 3},
        {"\u65e5\u672c", 4, 6},
        {"e\u0301x", 1, 3}, /* with its accent */
        {"\u0301", 0, 2},
    };
    JR_EACH(row, vectors) {
        const char *text = row->text;
        CU_ASSERT_EQUAL(jr_utf8_fit(text, strlen(text), row->columns), row->len);
    }
}
