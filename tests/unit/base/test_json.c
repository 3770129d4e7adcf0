#include <math.h>

#include "base/json.h"
#include "base/json_shape.h"

#include "unit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void refuses_what_is_not_json(void)
{
    static const struct {
        const char *text, *place;
    } bad[] = {
        {"", "line 1, column 0: "},
        {"   ", "line 1, column 3: "},
        {"{", "line 1, column 1: "},
        {"{\"a\": 1,\n \"a\": 2}", "line 2, column 4: duplicate object key"},
        {"{\"a\": 1,}", "line 1, "},
        {"[1] [2]", "line 1, column 5: end of file expected"},
        {"[1]x", "line 1, "},
        {"nan", "line 1, "},
        {"NaN", "line 1, "},
        {"01", "line 1, "},
        {"1e999", "line 1, "},
        {"'a'", "line 1, "},
        {"\"\xff\"", "line 1, "},
        {"{\"\\u0000\": 1}", "line 1, "},
        {"99999999999999999999", "line 1, "},
        {"// c\n1", "line 1, "},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct jr_error err = {0};
        CU_ASSERT_PTR_NULL(jr_json_parse(bad[i].text, strlen(bad[i].text), &err));
        if (strncmp(err.text, bad[i].place, strlen(bad[i].place)) != 0)
            JR_ASSERT_TEXT(err.text, bad[i].place);
        CU_ASSERT_PTR_NULL(jr_json_parse(bad[i].text, strlen(bad[i].text), NULL));
    }
    CU_ASSERT_PTR_NULL(jr_json_parse(NULL, 0, NULL));
    CU_ASSERT_PTR_NULL(jr_json_parse("1\0x", 3, NULL));
}

static void refuses_depth_without_end(void)
{
    struct jr_buf text = JR_BUF_INIT;
    struct jr_error err = {0};
    jr_buf_fill(&text, '[', 100000);
    CU_ASSERT_PTR_NULL(jr_json_parse(text.data, text.len, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "depth"));
    jr_buf_release(&text);
}

static void reads_any_value_and_keeps_order(void)
{
    static const char *const good[] = {
        "null",
        "true",
        "-1",
        "9223372036854775807",
        "\"\"",
        "\"gr\xc3\xbc\xc3\x9f\"",
        "[]",
        "{}",
        "{\"z\": 1, \"a\": [1, 2.5, {\"b\": null}]}",
        "0.1",
        "0.30000000000000004",
        "[0.10000000000000001, 0.30000000000000004]",
        "2.0",
    };
    for (size_t i = 0; i < COUNT(good); i++) {
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
        json_t *json = jr_json_parse(good[i], strlen(good[i]), NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(json);
        jr_json_print(&out, json, 0);
        JR_ASSERT_TEXT(out.data, good[i]);
        json_decref(json);
    }
}

static void sets_members(void)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    json_t *object = json_object();
    jr_json_set_str(object, "s", "text");
    jr_json_set_str(object, "none", NULL);
    jr_json_set_str(object, "bad", "a\xff\xc3(b");
    jr_json_set_str(object, "escape", "\033\n");
    jr_json_set_int(object, "i", -3);
    jr_json_set_bool(object, "b", true);
    jr_json_set_null(object, "n");
    jr_json_set_real(object, "r", 2.4);
    jr_json_set_real(object, "nan", NAN); /* left out: JSON has none */
    jr_json_print(&out, object, 0);
    JR_ASSERT_TEXT(out.data, "{\"s\": \"text\", \"none\": null, \"bad\": "
                             "\"a\xef\xbf\xbd\xef\xbf\xbd(b\", \"escape\": \"\\u001B\\n\", "
                             "\"i\": -3, \"b\": true, \"n\": null, \"r\": 2.4}");
    json_decref(object);
}

static void indents(void)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    json_t *json = jr_json_parse("{\"a\": [1]}", 10, NULL);
    jr_json_print(&out, json, 2);
    JR_ASSERT_TEXT(out.data, "{\n  \"a\": [\n    1\n  ]\n}");
    json_decref(json);
}

static void prints_members_without_an_object(void)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    jr_buf_char(&out, '{');
    jr_json_put_str(&out, "s", "text {");
    jr_json_put_str(&out, "none", NULL);
    jr_json_put_str(&out, "bad", "a\xff\"");
    jr_json_put_int(&out, "i", INT64_MIN);
    jr_json_put_bool(&out, "b", true);
    jr_json_key(&out, "o");
    jr_buf_char(&out, '{');
    jr_json_put_bool(&out, "b", false);
    jr_buf_str(&out, "},\n  ");
    jr_json_put_str(&out, "line", "");
    jr_buf_char(&out, '}');
    JR_ASSERT_TEXT(out.data, "{\"s\": \"text {\", \"none\": null, \"bad\": "
                             "\"a\xef\xbf\xbd\\\"\", \"i\": -9223372036854775808, \"b\": true, "
                             "\"o\": {\"b\": false},\n  \"line\": \"\"}");
}

static void prints_decimals(void)
{
    static const struct {
        uint64_t value;
        unsigned places;
        const char *text;
    } good[] = {
        {0, 3, "\"d\": 0.0"},       {1, 6, "\"d\": 0.000001"},
        {2000000, 6, "\"d\": 2.0"}, {1800000000120, 3, "\"d\": 1800000000.12"},
        {100, 1, "\"d\": 10.0"},    {UINT64_MAX, 6, "\"d\": 18446744073709.551615"},
    };
    for (size_t i = 0; i < COUNT(good); i++) {
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
        jr_json_put_decimal(&out, "d", good[i].value, good[i].places);
        JR_ASSERT_TEXT(out.data, good[i].text);
    }
}

static void quotes_what_plain_ascii_is_not(void)
{
    static const char *const texts[][2] = {
        {"", "\"\""},
        {"a/b ~", "\"a/b ~\""},
        {"\x7f", "\"\x7f\""},
        {"a\tb", "\"a\\tb\""},
        {"\\", "\"\\\\\""},
        {"\"", "\"\\\"\""},
        {"\xc3\xbc", "\"\xc3\xbc\""},
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
        jr_json_quote(&out, texts[i][0]);
        JR_ASSERT_TEXT(out.data, texts[i][1]);
    }
}

static void fails_the_buffer_without_a_value(void)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    jr_json_print(&out, NULL, 0);
    CU_ASSERT_TRUE(out.failed);
}

static const char *const colors[] = {"red", "green"};

static void check(const struct jr_json_shape *shape, const char *help, const char *expected)
{
    struct jr_buf text = JR_BUF_INIT;
    json_t *schema = jr_json_shape_schema(shape, help);
    CU_ASSERT_PTR_NOT_NULL_FATAL(schema);
    jr_json_print(&text, schema, 0);
    JR_ASSERT_TEXT(text.data, expected);
    jr_buf_release(&text);
    json_decref(schema);
}

static void a_text_that_is_no_json_is_no_schema(void)
{
    struct jr_json_shape shape = {.text = "{\"type\": "};
    CU_ASSERT_PTR_NULL(jr_json_shape_schema(&shape, NULL));
}

static void shapes_are_schemas(void)
{
    static const struct {
        struct jr_json_shape shape;
        const char *help, *expected;
    } vectors[] = {
        {{.text = JR_SHAPE_FLAG}, NULL, "{\"type\": \"boolean\"}"},
        {{.text = JR_SHAPE_FLAG}, "", "{\"type\": \"boolean\"}"},
        {{.text = JR_SHAPE_FLAG},
         "Whether.",
         "{\"type\": \"boolean\", \"description\": \"Whether.\"}"},
        {{.text = JR_SHAPE_COUNT, .null = true},
         NULL,
         "{\"type\": [\"integer\", \"null\"], \"minimum\": 0}"},
        {{.words = colors, .words_count = 2}, NULL, "{\"enum\": [\"red\", \"green\"]}"},
        {{.words = colors, .words_count = 1},
         "Its color.",
         "{\"enum\": [\"red\"], \"description\": \"Its color.\"}"},
        {{.words = colors, .words_count = 2, .null = true},
         NULL,
         "{\"enum\": [\"red\", \"green\", null]}"},
        {{.text = JR_SHAPE_CODE},
         NULL,
         "{\"type\": \"integer\", \"minimum\": 0, \"maximum\": 255}"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        check(&vectors[i].shape, vectors[i].help, vectors[i].expected);
}

static void keys_are_required_unless_they_are_optional(void)
{
    json_t *properties = json_object(), *required = json_array();
    jr_json_shape_add(properties, required, "a", json_object());
    jr_json_shape_add(properties, NULL, "b", json_object());
    CU_ASSERT_EQUAL(json_object_size(properties), 2);
    CU_ASSERT_PTR_NOT_NULL(json_object_get(properties, "b"));
    CU_ASSERT_EQUAL_FATAL(json_array_size(required), 1);
    JR_ASSERT_TEXT(json_string_value(json_array_get(required, 0)), "a");
    json_decref(properties);
    json_decref(required);
}

JR_UNIT_MAIN("json", CASE(refuses_what_is_not_json), CASE(refuses_depth_without_end),
             CASE(reads_any_value_and_keeps_order), CASE(sets_members), CASE(indents),
             CASE(prints_members_without_an_object), CASE(prints_decimals),
             CASE(quotes_what_plain_ascii_is_not), CASE(fails_the_buffer_without_a_value),
             CASE(a_text_that_is_no_json_is_no_schema), CASE(shapes_are_schemas),
             CASE(keys_are_required_unless_they_are_optional))
