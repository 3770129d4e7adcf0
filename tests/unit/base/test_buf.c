#include "base/buf.h"

#include <stdint.h>
#include <stdlib.h>

#include "unit.h"

static void fails_for_good(void)
{
    struct jr_buf buf = JR_BUF_INIT;
    jr_buf_str(&buf, "kept");
    jr_buf_reserve(&buf, SIZE_MAX);
    CU_ASSERT_TRUE(buf.failed);
    jr_buf_str(&buf, " not this");
    jr_buf_printf(&buf, "%d", 1);
    jr_buf_fill(&buf, ' ', 3);
    JR_ASSERT_TEXT(buf.data, "kept");
    CU_ASSERT_EQUAL(buf.len, 4);
    CU_ASSERT_PTR_NULL(jr_buf_detach(&buf));
    CU_ASSERT_FALSE(buf.failed);
    CU_ASSERT_PTR_NULL(buf.data);
}

static void refuses_absurd_lengths(void)
{
    struct jr_buf buf = JR_BUF_INIT;
    jr_buf_fill(&buf, 'x', SIZE_MAX / 2);
    CU_ASSERT_TRUE(buf.failed);
    jr_buf_clear(&buf);
    CU_ASSERT_FALSE(buf.failed);
    jr_buf_release(&buf);
}

static void adds_everything(void)
{
    struct jr_buf buf = JR_BUF_INIT;
    jr_buf_add(&buf, "", 0);
    JR_ASSERT_TEXT(buf.data, "");
    jr_buf_str(&buf, "rank");
    jr_buf_char(&buf, ' ');
    jr_buf_printf(&buf, "%u", 12u);
    jr_buf_fill(&buf, '.', 3);
    jr_buf_add(&buf, "a\0b", 3);
    CU_ASSERT_EQUAL(buf.len, 13);
    CU_ASSERT_EQUAL(memcmp(buf.data, "rank 12...a\0b", 14), 0);
    jr_buf_release(&buf);
    CU_ASSERT_PTR_NULL(buf.data);
}

static void grows(void)
{
    JR_BUF_CLEANUP struct jr_buf buf = JR_BUF_INIT;
    for (int i = 0; i < 10000; i++)
        jr_buf_printf(&buf, "%04d", i);
    CU_ASSERT_EQUAL_FATAL(buf.len, 40000);
    CU_ASSERT_EQUAL(strlen(buf.data), 40000);
    CU_ASSERT_EQUAL(memcmp(buf.data + 39996, "9999", 4), 0);
    jr_buf_clear(&buf);
    CU_ASSERT_EQUAL(buf.len, 0);
    JR_ASSERT_TEXT(buf.data, "");
    CU_ASSERT_TRUE(buf.cap > 40000);
}

static void detaches(void)
{
    struct jr_buf buf = JR_BUF_INIT;
    char *empty = jr_buf_detach(&buf);
    JR_ASSERT_TEXT(empty, "");
    free(empty);
    jr_buf_str(&buf, "text");
    char *text = jr_buf_detach(&buf);
    JR_ASSERT_TEXT(text, "text");
    free(text);
    CU_ASSERT_PTR_NULL(buf.data);
}

static void escapes(void)
{
    static const struct {
        const char *text, *expected;
        size_t len;
    } vectors[] = {
        {"\033[2J", "\\x1b[2J", 4},
        {"a\nb\r\tc", "a\\x0ab\\x0d\\x09c", 6},
        {"nul\0", "nul\\x00", 4},
        {"\x7f", "\\x7f", 1},
        {"\xff\xfe", "\\xff\\xfe", 2},
        {"\xc3", "\\xc3", 1},                   /* cut short */
        {"\xc0\xaf", "\\xc0\\xaf", 2},          /* overlong / */
        {"\xc2\x9b", "\\xc2\\x9b", 2},          /* C1 CSI */
        {"\xe2\x80\xae", "\\xe2\\x80\\xae", 3}, /* right-to-left override */
        {"\xed\xa0\x80", "\\xed\\xa0\\x80", 3}, /* surrogate */
        {"", "", 0},
        {"plain \\ text", "plain \\ text", 12},
        {"gr\xc3\xbc\xc3\x9f \xe6\x97\xa5", "gr\xc3\xbc\xc3\x9f \xe6\x97\xa5", 10},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        JR_BUF_CLEANUP struct jr_buf buf = JR_BUF_INIT;
        jr_buf_str(&buf, "");
        jr_buf_escaped(&buf, vectors[i].text, vectors[i].len);
        JR_ASSERT_TEXT(buf.data, vectors[i].expected);
    }
}

/* 79 of the 80 columns. */
#define TEN "aaaaaaaaaa"
#define AS  TEN TEN TEN TEN TEN TEN TEN "aaaaaaaaa"

static void wraps_words(void)
{
    static const struct {
        const char *before, *text;
        size_t indent;
        const char *after;
    } rows[] = {
        {"", "", 3, ""},
        {"", " \n ", 3, ""},
        {"a ", " b\n\nc ", 3, "a b c"},
        {"", AS "a b", 2, AS "a\n  b"},
        {"", AS " b", 2, AS "\n  b"},
        {"x\n", AS "a b", 0, "x\n" AS "a\nb"},
        {"x\n 123", "456 " AS, 4, "x\n 123456\n    " AS},
        {"", "w " AS "12345 v", 1, "w\n " AS "12345\n v"},
        /* what is typed stays on one line, if it has room on one */
        {"", AS " `a b c`, d", 2, AS "\n  `a b c`, d"},
        {"", "w `" AS "12 b` v", 0, "w\n`" AS "12\nb` v"},
        {"", "an open ` " AS, 0, "an open `\n" AS},
        /* and so does what is quoted, but no apostrophe begins a quote */
        {"", AS " 'a b', d", 2, AS "\n  'a b', d"},
        {"", AS " (\"a b\") d", 2, AS "\n  (\"a b\") d"},
        {"", "w '" AS "12 b' v", 0, "w\n'" AS "12\nb' v"},
        {"", "an open ' " AS, 0, "an open '\n" AS},
        {"", "a 'b's c' d", 0, "a 'b's c' d"},
        {"", AS " a's b' c", 0, AS "\na's b' c"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jr_buf buf = JR_BUF_INIT;
        jr_buf_str(&buf, rows[i].before);
        jr_buf_wrapped(&buf, rows[i].text, rows[i].indent);
        JR_ASSERT_TEXT(buf.len > 0 ? buf.data : "", rows[i].after);
        jr_buf_release(&buf);
    }
}

/* The texts of a table, in lines of 20. */
static void wraps_phrases(void)
{
    static const struct {
        const char *text, *after;
    } rows[] = {
        {"", "word"},
        {"as long as it is", "wordas long as it is"},
        {"one two, three four", "wordone two,\n  three four"},
        {"one two three; four", "wordone two three;\n  four"},
        {"one two (default: 3)", "wordone two\n  (default: 3)"},
        {"one two three four five six", "wordone two three\n  four five six"},
        {"one two (a: b, c: d)", "wordone two\n  (a: b, c: d)"},
        {"a, b (c)", "worda, b (c)"},
        {"(a, b) one, two x y", "word(a, b) one,\n  two x y"},
        {"one: `a, b (c) d` e", "wordone:\n  `a, b (c) d` e"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jr_buf buf JR_BUF_CLEANUP = {.width = 20};
        jr_buf_str(&buf, "word");
        jr_buf_phrases(&buf, rows[i].text, 2);
        JR_ASSERT_TEXT(buf.data, rows[i].after);
    }
}

static void replaces(void)
{
    static const char *const rows[][2] = {
        {"", ""}, {"x", "x"}, {"%{", "%%{"}, {"%%{a%{", "%%%{a%%{"}, {"%", "%"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jr_buf buf JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_str(&buf, "|");
        jr_buf_replaced(&buf, rows[i][0], "%{", "%%{");
        JR_ASSERT_TEXT(buf.data + 1, rows[i][1]);
    }
}

static void adds_numbers(void)
{
    static const struct {
        uint64_t number;
        const char *text;
    } rows[] = {{0, "0"},
                {9, "9"},
                {10, "10"},
                {1000000007, "1000000007"},
                {UINT64_MAX, "18446744073709551615"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jr_buf buf JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_u64(&buf, rows[i].number);
        JR_ASSERT_TEXT(buf.data, rows[i].text);
    }
}

JR_UNIT_MAIN("buf", CASE(fails_for_good), CASE(refuses_absurd_lengths), CASE(adds_everything),
             CASE(grows), CASE(detaches), CASE(escapes), CASE(wraps_words), CASE(wraps_phrases),
             CASE(replaces), CASE(adds_numbers))
