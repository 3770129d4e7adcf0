/* Lines of PMI-1 as clients write them, and what is none. */
#include "wireup/pmi_line.h"

#include "unit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void knows_what_is_a_line(void)
{
    static const struct {
        const char *text;
        bool is;
    } vectors[] = {
        {"", false},          {" ", false},         {"garbage", false},     {"=", false},
        {"=x", false},        {" cmd=init", false}, {"cmd init", false},    {"cmd=a\tb", false},
        {"cmd=a\x7f", false}, {"cmd=\x01", false},  {"cmd=", true},         {"cmd=init", true},
        {"mcmd=spawn", true}, {"a=b c", true},      {"cmd=\xc3\xa9", true},
    };
    for (size_t i = 0; i < COUNT(vectors); i++)
        CU_ASSERT_EQUAL(jr_pmi_line_is_one(vectors[i].text), vectors[i].is);
}

static void check_text(const struct jr_pmi_text *text, const char *expected)
{
    CU_ASSERT_EQUAL(text->len, strlen(expected));
    CU_ASSERT_TRUE(strncmp(text->at, expected, text->len) == 0);
}

static void finds_words(void)
{
    static const struct {
        const char *line, *key;
        bool found;
        const char *word, *rest;
    } vectors[] = {
        {"", "key", false, "", ""},
        {"cmd=put", "key", false, "", ""},
        {"cmd=put akey=x", "key", false, "", ""},
        {"cmd=put key", "key", false, "", ""},
        {"cmd=put keys=1", "key", false, "", ""},
        {"cmd=put key=", "key", true, "", ""},
        {"cmd=put key=a", "key", true, "a", "a"},
        {"cmd=put  key=a b=c", "key", true, "a", "a b=c"},
        {"key=a key=b", "key", true, "a", "a key=b"},
        {"cmd=put value=x y=z key=k", "value", true, "x", "x y=z key=k"},
        {"cmd=put key=a=b", "key", true, "a=b", "a=b"},
    };
    for (size_t i = 0; i < COUNT(vectors); i++) {
        struct jr_pmi_text text = {"?", 1};
        CU_ASSERT_EQUAL(jr_pmi_line_word(vectors[i].line, vectors[i].key, &text), vectors[i].found);
        check_text(&text, vectors[i].word);
        CU_ASSERT_EQUAL(jr_pmi_line_rest(vectors[i].line, vectors[i].key, &text), vectors[i].found);
        check_text(&text, vectors[i].rest);
    }
}

static void knows_how_a_line_begins(void)
{
    CU_ASSERT_TRUE(jr_pmi_line_begins("cmd=put", "cmd", "put"));
    CU_ASSERT_TRUE(jr_pmi_line_begins("cmd=put key=a", "cmd", "put"));
    CU_ASSERT_TRUE(jr_pmi_line_begins(" cmd=put", "cmd", "put"));
    CU_ASSERT_FALSE(jr_pmi_line_begins("cmd=puts", "cmd", "put"));
    CU_ASSERT_FALSE(jr_pmi_line_begins("cmd=pu", "cmd", "put"));
    CU_ASSERT_FALSE(jr_pmi_line_begins("mcmd=put", "cmd", "put"));
    CU_ASSERT_FALSE(jr_pmi_line_begins("x=1 cmd=put", "cmd", "put"));
    CU_ASSERT_FALSE(jr_pmi_line_begins("", "cmd", "put"));
}

static void reads_numbers(void)
{
    static const struct {
        const char *text;
        bool is;
        int64_t number;
    } vectors[] = {
        {"n=", false, 0},
        {"n=x", false, 0},
        {"n=+1", false, 0},
        {"n=1x", false, 0},
        {"n= 1", false, 0},
        {"n=0x10", false, 0},
        {"n=-", false, 0},
        {"n=99999999999999999999", false, 0},
        {"m=1", false, 0},
        {"n=0", true, 0},
        {"n=3 m=4", true, 3},
        {"n=-1", true, -1},
        {"n=739859215", true, 739859215},
        {"n=9223372036854775807", true, INT64_MAX},
        {"n=9223372036854775808", false, 0},
        {"n=000000000000000000001", false, 0},
    };
    for (size_t i = 0; i < COUNT(vectors); i++) {
        int64_t number = 77;
        CU_ASSERT_EQUAL(jr_pmi_line_number(vectors[i].text, "n", &number), vectors[i].is);
        CU_ASSERT_EQUAL(number, vectors[i].is ? vectors[i].number : 77);
    }
}

JR_UNIT_MAIN("pmi_line", CASE(knows_what_is_a_line), CASE(finds_words),
             CASE(knows_how_a_line_begins), CASE(reads_numbers))
