#include "base/buf.h"

#include <stdint.h>
#include <stdlib.h>

#include "unit.h"

TEST(fails_for_good)
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
    CU_ASSERT_TRUE(!buf.failed && buf.data == NULL);
    jr_buf_fill(&buf, 'x', SIZE_MAX / 2);
    CU_ASSERT_TRUE(buf.failed);
    jr_buf_clear(&buf);
    CU_ASSERT_FALSE(buf.failed);
}

TEST(adds_everything)
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

TEST(grows)
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

TEST(detaches)
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

TEST(escapes)
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
    JR_EACH(row, vectors) {
        JR_BUF_CLEANUP struct jr_buf buf = JR_BUF_INIT;
        jr_buf_str(&buf, "");
        jr_buf_escaped(&buf, row->text, row->len);
        JR_ASSERT_TEXT(buf.data, row->expected);
    }
}

/* 79 of the 80 columns. */
#define TEN "aaaaaaaaaa"
#define AS  TEN TEN TEN TEN TEN TEN TEN "aaaaaaaaa"

TEST(wraps_words)
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
    JR_EACH(row, rows) {
        JR_BUF_CLEANUP struct jr_buf buf = JR_BUF_INIT;
        jr_buf_str(&buf, row->before);
        jr_buf_wrapped(&buf, row->text, row->indent);
        JR_ASSERT_TEXT(buf.len > 0 ? buf.data : "", row->after);
    }
}

/* The texts of a table, in lines of 20. */
TEST(wraps_phrases)
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
    JR_EACH(row, rows) {
        struct jr_buf buf JR_BUF_CLEANUP = {.width = 20};
        jr_buf_str(&buf, "word");
        jr_buf_phrases(&buf, row->text, 2);
        JR_ASSERT_TEXT(buf.data, row->after);
    }
}

TEST(replaces)
{
    static const char *const rows[][2] = {
        {"", ""}, {"x", "x"}, {"%{", "%%{"}, {"%%{a%{", "%%%{a%%{"}, {"%", "%"}};
    JR_EACH(row, rows) {
        struct jr_buf buf JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_str(&buf, "|");
        jr_buf_replaced(&buf, (*row)[0], "%{", "%%{");
        JR_ASSERT_TEXT(buf.data + 1, (*row)[1]);
    }
}

TEST(adds_numbers)
{
    struct jr_buf buf JR_BUF_CLEANUP = JR_BUF_INIT;
    for (int i = 0; i < 5; i++) {
        jr_buf_u64(&buf, (const uint64_t[]){0, 9, 10, 1000000007, UINT64_MAX}[i]);
        jr_buf_char(&buf, ' ');
    }
    JR_ASSERT_TEXT(buf.data, "0 9 10 1000000007 18446744073709551615 ");
}

/* Lines of messages, however their bytes are cut; what came with a line begins the next one. */
TEST(finds_lines_in_pieces)
{
    static const char text[] = "one\n\ntwo\nthree\nrest";
    for (size_t piece = 1; piece < sizeof text; piece++) {
        struct jr_inlet inlet = {0};
        JR_BUF_CLEANUP struct jr_buf lines = JR_BUF_INIT;
        const char *line;
        size_t len;
        for (size_t at = 0; at < sizeof text - 1; at += piece) {
            size_t left = sizeof text - 1 - at;
            jr_inlet_add(&inlet, text + at, left < piece ? left : piece);
            while ((line = jr_inlet_line(&inlet, &len)) != NULL)
                jr_buf_printf(&lines, "[%.*s]", (int)len, line);
        }
        JR_ASSERT_TEXT(lines.data, "[one][][two][three]");
        line = jr_inlet_rest(&inlet, &len);
        CU_ASSERT_TRUE(len == 4 && memcmp(line, "rest", 4) == 0);
        jr_inlet_release(&inlet);
        CU_ASSERT_PTR_NULL(jr_inlet_line(&inlet, &len));
        jr_inlet_add(&inlet, "new\n", 4); /* nothing of before is left */
        line = jr_inlet_line(&inlet, &len);
        CU_ASSERT_TRUE(line != NULL && len == 3 && memcmp(line, "new", 3) == 0);
        jr_inlet_release(&inlet);
    }
}
