/* Which strings need quotes, and how each kind of them is written. */
#include "base/buf.h"
#include "doc/doc.h"
#include "unit.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* Readers of YAML 1.1 or 1.2 would take these for something else. */
static void quotes_what_is_no_string_to_some_reader(void)
{
    static const char *const texts[] = {
        "",
        "~",
        "null",
        "NULL",
        "true",
        "False",
        "yes",
        "No",
        "on",
        "OFF",
        "y",
        "N",
        ".inf",
        "-.inf",
        "+.Inf",
        ".NaN",
        "=",
        "<<",
        "0",
        "010",
        "0x1f",
        "0o17",
        "0b1",
        "1_000",
        "1e3",
        "1.5",
        ".5",
        "-1",
        "+1",
        "12:30:45",
        "190:20",
        "1.",
        "2001-12-14",
        "2001-12-14 21:59:43Z",
        "0xzz",
        "-0x1",
        ".",
        "...",
        "---",
        "--- a",
        "...x",
        "- a",
        "-",
        "-,",
        "? a",
        "?",
        ": a",
        ":",
        ",a",
        "[a",
        "]a",
        "{a",
        "}a",
        "#a",
        "&a",
        "*a",
        "!a",
        "|",
        ">",
        "'a",
        "\"a",
        "%a",
        "@a",
        "`a",
        " a",
        "a ",
        "a: b",
        "a:",
        "a #b",
        "a\nb",
        "a\tb",
        "a\rb",
        "a\x7f",
        "\xef\xbb\xbf"
        "a",
        "\xff",
        "a\xc3",
        "a\xc2\x85"
        "b",
        "a\xe2\x80\xa8"
        "b",
        "a\xe2\x80\xae"
        "b",
        "\xef\xbf\xbe",
    };
    for (size_t i = 0; i < LENGTH(texts); i++) {
        bool needless = jr_quote_needless(texts[i], strlen(texts[i]), false);
        if (needless)
            printf("\n    without quotes: '%s'\n", texts[i]);
        CU_ASSERT_FALSE(needless);
        CU_ASSERT_FALSE(jr_quote_needless(texts[i], strlen(texts[i]), true));
    }
}

static void leaves_plain_words_alone(void)
{
    static const struct {
        const char *text;
        bool in_flow;
    } rows[] = {
        {"a", true},
        {"a b", true},
        {"nullx", true},
        {"yesterday", true},
        {"-a", true},
        {"--lr", true},
        {"-1x", true},
        {"a:b", true},
        {"a#b", true},
        {"a?b", false},
        {"a,b", false},
        {"a[0]", false},
        {"a]b", false},
        {"a{b", false},
        {"a}b", false},
        {"it's", true},
        {"a\"b", true},
        {"a%b", true},
        {"$HOME", true},
        {"./train", true},
        {"/a/b", true},
        {"a-b_c.d", true},
        {"1x", true},
        {"v1.0", true},
        {"caf\xc3\xa9", true},
        {"\xe6\xbc\xa2", true},
        {"\xf0\x9f\x98\x80", true},
        {"a=b", true},
        {"a<<", true},
        {"(a)", true},
        {"a\\b", true},
        {"e", true},
        {"T", true},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        size_t len = strlen(rows[i].text);
        bool block = jr_quote_needless(rows[i].text, len, false);
        bool flow = jr_quote_needless(rows[i].text, len, true);
        if (!block || flow != rows[i].in_flow)
            printf("\n    '%s'\n", rows[i].text);
        CU_ASSERT_TRUE(block);
        CU_ASSERT_EQUAL(flow, rows[i].in_flow);
    }
}

static void knows_what_a_literal_holds(void)
{
    static const struct {
        const char *text;
        bool literal;
    } rows[] = {
        {"", false},
        {"a", false},
        {" a\nb", false},
        {"\ta\nb", false},
        {"\na", false},
        {"a\rb\n", false},
        {"a\n\x01", false},
        {"a\n\xff", false},
        {"a\n\xe2\x80\xa8", false},
        {"a\n", true},
        {"a\nb", true},
        {"a\n b\n", true},
        {"a\n\tb\n\n", true},
        {"# a\n'b' \"c\" %d\n", true},
        {"caf\xc3\xa9\n", true},
    };
    for (size_t i = 0; i < LENGTH(rows); i++)
        CU_ASSERT_EQUAL(jr_quote_literal(rows[i].text, strlen(rows[i].text)), rows[i].literal);
}

static void writes_double_quotes(void)
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
        {"'$%{x}", "\"'$%{x}\""},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_quote_double(&out, rows[i][0], strlen(rows[i][0]));
        JR_ASSERT_TEXT(out.data, rows[i][1]);
    }
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_quote_double(&out, "a\0b", 3);
    JR_ASSERT_TEXT(out.data, "\"a\\x00b\"");
}

JR_UNIT_MAIN("doc.quote", CASE(quotes_what_is_no_string_to_some_reader),
             CASE(leaves_plain_words_alone), CASE(knows_what_a_literal_holds),
             CASE(writes_double_quotes))
