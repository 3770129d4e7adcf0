#include "base/redact.h"

#include "unit.h"

TEST(hides_from_where_it_is_told)
{
    char *const values[] = {(char *)"hunter2", (char *)"a\"b\n", (char *)"abc", (char *)"cc d",
                            NULL};
    static const struct {
        const char *text, *plain, *json;
    } vectors[] = {
        {"", "", ""},
        {"abc", "abc", "abc"}, /* too short to be told apart */
        {"hunter", "hunter", "hunter"},
        {"hunter2hunter2", "<redacted><redacted>", "<redacted><redacted>"},
        {"a\\\"b\\n", "<redacted>", "<redacted>"}, /* JSON in a text */
        {"xc\td", "xc\td", "xc\td"},
        {"xcc d", "x<redacted>", "x<redacted>"},
    };
    JR_EACH(row, vectors)
        for (int json = 0; json < 2; json++) {
            struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
            jr_buf_str(&out, "hunter2 ");
            size_t from = out.len;
            jr_buf_str(&out, row->text);
            jr_redact(&out, from, values, json != 0);
            CU_ASSERT_EQUAL(strncmp(out.data, "hunter2 ", from), 0);
            JR_ASSERT_TEXT(out.data + from, json ? row->json : row->plain);
        }
}

/* A secret may be a word of the file's own. */
TEST(keys_stay)
{
    char *const values[] = {(char *)"local_rank", NULL};
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_str(&out, "{\"local_rank\":0,\"argv\":[\"local_rank\",\"x local_rank\"]}");
    jr_redact(&out, 0, NULL, true); /* nothing to hide */
    jr_redact(&out, 0, values, true);
    JR_ASSERT_TEXT(out.data, "{\"local_rank\":0,\"argv\":[\"<redacted>\",\"x <redacted>\"]}");
}

TEST(refers)
{
    char *const values[] = {(char *)"hunter2", (char *)"other", NULL};
    char *const names[] = {(char *)"A_TOKEN", (char *)"B", NULL};
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_str(&out, "hunter2 [hunter2, \"other\"]");
    jr_redact_refer(&out, 1, values, names);
    JR_ASSERT_TEXT(out.data, "hunter2 [${env:A_TOKEN}, \"${env:B}\"]");
}

TEST(copies)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    char *const values[] = {(char *)"hunter2-long", (char *)"hunter2", NULL};
    const char *plain = "nothing here";
    CU_ASSERT_PTR_EQUAL(jr_redact_copy(&arena, plain, values), plain);
    CU_ASSERT_PTR_EQUAL(jr_redact_copy(&arena, plain, NULL), plain);
    CU_ASSERT_PTR_NULL(jr_redact_copy(&arena, NULL, values));
    JR_ASSERT_TEXT(jr_redact_copy(&arena, "xhunter2-longhunter2", values), "x<redacted><redacted>");
}

TEST(what_is_telling)
{
    EACH_PART(value, "hf_8fK2L|12345678x|/x+yz0123456=|key/value|passw0rd")
        CU_ASSERT_TRUE(jr_redact_wanted(value, 8));
    EACH_PART(value, "hf_8fK2|12345678|-1.25e+10|/etc/key.json|~/key.json|../key.json|./key.json")
        CU_ASSERT_FALSE(jr_redact_wanted(value, 8));
    EACH_PART(value, "false|TRUE")
        CU_ASSERT_FALSE(jr_redact_wanted(value, 4));
}
