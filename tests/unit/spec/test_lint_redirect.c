/* redirects and tee: the grammar, in all its forms. */
#include "case.h"

TEST(refuses_bad_rules)
{
    static const struct vector vectors[] = {
        {"redirects: 4", "JR0211@3:12 redirects"},
        {"redirects: stdout", "JR0211@3:12 redirects"},
        {"redirects: ''", "JR0211@3:12 redirects"},
        {"redirects: OUT", "JR0211@3:12 redirects"},
        {"redirects: [out]", "JR0211@3:12 redirects"},
        {"redirects: '0:4'", "JR0215@3:15 redirects"},
        {"redirects: '0:'", "JR0215@3:15 redirects"},
        {"redirects: ':3'", "JR0215@3:13 redirects"},
        {"redirects: '0:3,'", "JR0215@3:17 redirects"},
        {"redirects: ',0:3'", "JR0215@3:13 redirects"},
        {"redirects: '0:3,,1:0'", "JR0215@3:17 redirects"},
        {"redirects: '0:3, 1:0'", "JR0215@3:17 redirects"},
        {"redirects: \"0:3\\n\"", "JR0215@3:12 redirects"},
        {"redirects: '0:3:1'", "JR0215@3:15 redirects"},
        {"redirects: '1,2:3'", "JR0215@3:13 redirects"},
        {"redirects: 'all:3'", "JR0215@3:13 redirects"},
        {"redirects: 'none:3'", "JR0215@3:13 redirects"},
        {"redirects: '-1:3'", "JR0215@3:13 redirects"},
        {"redirects: '01:3'", "JR0215@3:13 redirects"},
        {"redirects: '3-1:3'", "JR0215@3:13 redirects"},
        {"redirects: '0-4/0:3'", "JR0215@3:13 redirects"},
        {"redirects: '0-:3'", "JR0215@3:13 redirects"},
        {"redirects: '\xd9\xa3:3'", "JR0215@3:13 redirects"},
        {"redirects: '1048576:3'", "JR0215@3:13 redirects"},
        {"redirects: '4294967296:3'", "JR0215@3:13 redirects"},
        {"redirects: 0:x,1:y", "JR0215@3:14 redirects\n"
                               "JR0215@3:18 redirects"},
        {"redirects: {0:3}", "JR0215@3:13 redirects"},
        {"redirects: {0: 4}", "JR0215@3:16 redirects"},
        {"redirects: {0: [3]}", "JR0215@3:16 redirects"},
        {"redirects: {x: 3}", "JR0215@3:13 redirects"},
        {"redirects: {all: 3}", "JR0215@3:13 redirects"},
    };
    CHECK_VECTORS(vectors);
}

TEST(refuses_overlaps)
{
    static const struct vector vectors[] = {
        {"redirects: '0:3,0:3'", "JR0216@3:17 redirects"},
        {"redirects: '0-3:3,2:1'", "JR0216@3:19 redirects"},
        {"redirects: '2:1,0-3:3'", "JR0216@3:17 redirects"},
        {"redirects: '0-6/2:3,1-9/3:1'", "JR0216@3:21 redirects"},
        {"redirects: {0-1: 3, 1: 0}", "JR0216@3:21 redirects"},
        {"redirects: {'0,2': 3, 2: 0}", "JR0216@3:23 redirects"},
        {"tee: '1:0,1:0'", "JR0216@3:11 tee"},
        {"redirects: '0-6/2:3,1-7/2:1'", ""},
        {"redirects: '2-9/4294967295:3,0-1:1'", ""},
        {"redirects: '9:3,1000-1048575/7:1,8-9:0'", "JR0216@3:34 redirects"},
        /* each on its own is no overlap */
        {"redirects: '0:3'\ntee: '0:3'", ""},
    };
    CHECK_VECTORS(vectors);
}

/* "0-3:out 4:all" */
static void check_rules(const char *body, const char *expected)
{
    static const char *const words[] = {"none", "out", "err", "all"};
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    BODY_CASE(c, body);
    const struct jr_spec *spec = case_spec(&c);
    CU_ASSERT_PTR_NOT_NULL_FATAL(spec);
    for (uint32_t i = 0; i < spec->redirects_count; i++)
        jr_buf_printf(&text, "%s%s:%s", i == 0 ? "" : " ", spec->redirects[i].ranks,
                      words[spec->redirects[i].streams]);
    JR_ASSERT_TEXT(text.data == NULL ? "" : text.data, expected);
}

TEST(binds_canonical_sets)
{
    static const struct vector vectors[] = {
        {"", ""},
        {"redirects: 0", "all:none"},
        {"redirects: none", "all:none"},
        {"redirects: '1'", "all:out"},
        {"redirects: err", "all:err"},
        {"redirects: 3", "all:all"},
        {"redirects: 0:3", "0:all"},
        {"redirects: '0:3,1:0'", "0:all 1:none"},
        {"redirects: '4-7:2,10:out,128:err'", "4-7:err 10:out 128:err"},
        {"redirects: '4-10/2:3,5-6/1:1'", "JR"},
        {"redirects: '4-10/3:3,5-6:1'", "4-10/3:all 5-6:out"},
        {"redirects: '4-9/3:3'", "4-7/3:all"},
        {"redirects: {0: all, 1-3: err}", "0:all 1-3:err"},
        {"redirects: {'8,0-3': 1}", "0-3,8:out"},
        {"redirects:\n  0: 3\n  '2': '0'\n", "0:all 2:none"},
        {"redirects: {}", ""},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        if (strcmp(vectors[i].found, "JR") == 0)
            check_found(vectors[i].body, "JR0216@3:22 redirects");
        else
            check_rules(vectors[i].body, vectors[i].found);
}

TEST(knows_a_stated_tee)
{
    struct spec_case c;
    case_open_body(&c, "redirects: err\n");
    CU_ASSERT_FALSE(case_spec(&c)->tee_stated);
    CU_ASSERT_EQUAL(case_spec(&c)->tee_count, 0);
    case_close(&c);
    case_open_body(&c, "tee: none\n");
    CU_ASSERT_TRUE(case_spec(&c)->tee_stated);
    CU_ASSERT_EQUAL(case_spec(&c)->tee_count, 1);
    CU_ASSERT_EQUAL(case_spec(&c)->tee[0].streams, JR_STREAM_NONE);
    case_close(&c);
}

/* Many rules are read in no time, and so is one of mistakes. */
TEST(stays_linear)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct spec_case c;
    jr_buf_str(&text, "redirects: '0:1");
    for (int i = 1; i < 20000; i++)
        jr_buf_printf(&text, ",%d:3", i);
    jr_buf_str(&text, "'\n");
    case_open_body(&c, text.data);
    CU_ASSERT_EQUAL(c.diags.errors, 0);
    case_close(&c);
    jr_buf_clear(&text);
    jr_buf_str(&text, "redirects: 'x");
    for (int i = 1; i < 400000; i++)
        jr_buf_str(&text, ",:");
    jr_buf_str(&text, "'\n");
    case_open_body(&c, text.data);
    CU_ASSERT_TRUE(c.diags.errors > 0 && c.diags.errors < 20);
    case_close(&c);
}
