/* Which strings need quotes, and how each kind of them is written. */
#include "base/buf.h"
#include "doc/doc.h"
#include "unit.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* Readers of YAML 1.1 or 1.2 would take these for something else. */
TEST(quotes_what_is_no_string_to_some_reader)
{
    EACH_PART(text, "|~|null|NULL|true|False|yes|No|on|OFF|y|N|.inf|-.inf|+.Inf|.NaN|=|<<|0|010|"
                    "0x1f|0o17|0b1|1_000|1e3|1.5|.5|-1|+1|12:30:45|190:20|1.|2001-12-14|2001-12-14 "
                    "21:59:43Z|0xzz|-0x1|.|...|---|--- a|...x|- a|-|-,|? a|?|: "
                    "a|:|,a|[a|]a|{a|}a|#a|&a|*a|!a|>|'a|\"a|%a|@a|`a| a|a |a: b|a:|a "
                    "#b|a\nb|a\tb|a\rb|a\x7f|\xef\xbb\xbf"
                    "a|\xff|a\xc3|a\xc2\x85"
                    "b|a\xe2\x80\xa8"
                    "b|a\xe2\x80\xae"
                    "b|\xef\xbf\xbe|ON|off|FALSE|1|0x1F|0b11|5.|-:|]|{a}|}|'a'|`a`|<<<<<<< a|<?xml "
                    "a|<!DOCTYPE html>|<html>|2001-12-14 21:59:43.10 -5|???|1.0.0|0.|-0|1:30") {
        bool needless = jr_quote_needless(text, strlen(text), false);
        if (needless)
            printf("\n    without quotes: '%s'\n", text);
        CU_ASSERT_FALSE(needless);
        CU_ASSERT_FALSE(jr_quote_needless(text, strlen(text), true));
    }
    CU_ASSERT_FALSE(jr_quote_needless("|", 1, false));
}

static void check_plain(const char *texts, bool in_flow)
{
    EACH_PART(text, texts) {
        bool block = jr_quote_needless(text, strlen(text), false);
        bool flow = jr_quote_needless(text, strlen(text), true);
        if (!block || flow != in_flow)
            printf("\n    '%s'\n", text);
        CU_ASSERT_TRUE(block);
        CU_ASSERT_EQUAL(flow, in_flow);
    }
}

TEST(leaves_plain_words_alone)
{
    check_plain("a|a b|nullx|yesterday|-a|--lr|-1x|a:b|a#b|it's|a\"b|a%b|$HOME|./train|/a/b|"
                "a-b_c.d|1x|v1.0|caf\xc3\xa9|\xe6\xbc\xa2|\xf0\x9f\x98\x80|a=b|a<<|(a)|a\\b|e|T",
                true);
    check_plain("a?b|a,b|a[0]|a]b|a{b|a}b", false);
}

TEST(knows_what_a_literal_holds)
{
    EACH_PART(text, "|a| a\nb|\ta\nb|\na|a\rb\n|a\n\x01|a\n\xff|a\n\xe2\x80\xa8")
        CU_ASSERT_FALSE(jr_quote_literal(text, strlen(text)));
    EACH_PART(text, "a\n|a\nb|a\n b\n|a\n\tb\n\n|# a\n'b' \"c\" %d\n|caf\xc3\xa9\n")
        CU_ASSERT_TRUE(jr_quote_literal(text, strlen(text)));
}

TEST(writes_double_quotes)
{
    static const char *const rows[][2] = {
        {"", "\"\""},
        {"a b", "\"a b\""},
        {"\"\\", "\"\\\"\\\\\""},
        {"\n\t\r\033", "\"\\n\\t\\r\\e\""},
        {"\x01\x1f\x7f", "\"\\x01\\x1f\\x7f\""},
        {"\xc2\x80\xc2\x85", "\"\\x80\\x85\""},
        {"\xe2\x80\xa8\xe2\x80\xae", "\"\\u2028\\u202e\""},
        {"\xef\xbb\xbf", "\"\\ufeff\""},
        {"caf\xc3\xa9 \xf0\x9f\x98\x80", "\"caf\xc3\xa9 \xf0\x9f\x98\x80\""},
        {"a\xff"
         "b\xc3",
         "\"a\xef\xbf\xbd"
         "b\xef\xbf\xbd\""},
        {"'$%{x}", "\"'$%{x}\""}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_quote_double(&out, rows[i][0], strlen(rows[i][0]));
        JR_ASSERT_TEXT(out.data, rows[i][1]);
    }
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_quote_double(&out, "a\0b", 3);
    JR_ASSERT_TEXT(out.data, "\"a\\x00b\"");
}
