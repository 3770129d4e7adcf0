#include "hide.h"

#include "unit.h"

static void hides_from_where_it_is_told(void)
{
    char *const values[] = {(char *)"hunter2", (char *)"a\"b\n",
                            (char *)"abc", (char *)"cc d", NULL};
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
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        for (int json = 0; json < 2; json++) {
            struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
            jr_buf_str(&out, "hunter2 ");
            size_t from = out.len;
            jr_buf_str(&out, vectors[i].text);
            jr_hide(&out, from, values, json != 0);
            CU_ASSERT_EQUAL(strncmp(out.data, "hunter2 ", from), 0);
            JR_ASSERT_TEXT(out.data + from,
                           json ? vectors[i].json : vectors[i].plain);
        }
}

static void nothing_to_hide(void)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_str(&out, "hunter2");
    jr_hide(&out, 0, NULL, false);
    JR_ASSERT_TEXT(out.data, "hunter2");
}

JR_UNIT_MAIN("hide", CASE(hides_from_where_it_is_told), CASE(nothing_to_hide))
