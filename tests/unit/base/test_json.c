#include <math.h>

#include "base/json.h"
#include "base/json_row.h"

#include "quoted.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

TEST(refuses_what_is_not_json)
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

TEST(refuses_depth_without_end)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_error err = {0};
    jr_buf_fill(&text, '[', 100000);
    CU_ASSERT_PTR_NULL(jr_json_parse(text.data, text.len, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "depth"));
}

TEST(reads_any_value_and_keeps_order)
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

TEST(sets_members)
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

TEST(indents)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    json_t *json = jr_json_parse("{\"a\": [1]}", 10, NULL);
    jr_json_print(&out, json, 2);
    JR_ASSERT_TEXT(out.data, "{\n  \"a\": [\n    1\n  ]\n}");
    json_decref(json);
}

TEST(prints_members_without_an_object)
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

TEST(prints_decimals)
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

TEST(quotes_what_plain_ascii_is_not)
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

TEST(fails_the_buffer_without_a_value)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    jr_json_print(&out, NULL, 0);
    CU_ASSERT_TRUE(out.failed);
}

static const char *const colors[] = {"red", "green"};

static void check(const struct jr_json_shape *shape, const char *help, const char *expected)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    json_t *schema = jr_json_shape_schema(shape, help);
    CU_ASSERT_PTR_NOT_NULL_FATAL(schema);
    jr_json_print(&text, schema, 0);
    JR_ASSERT_TEXT(text.data, expected);
    json_decref(schema);
}

TEST(a_text_that_is_no_json_is_no_schema)
{
    struct jr_json_shape shape = {.text = "{\"type\": "};
    CU_ASSERT_PTR_NULL(jr_json_shape_schema(&shape, NULL));
}

TEST(shapes_are_schemas)
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

TEST(keys_are_required_unless_they_are_optional)
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

struct inner {
    uint64_t span_ns;
    const char *name;
};

/* A member of each kind. */
struct outer {
    bool told, flag;
    int32_t small, signal, color;
    uint32_t count;
    uint64_t large, wall_ns, wait_ms;
    int64_t any;
    double rate;
    const char *text, *never;
    struct inner inner;
    struct inner *list;
    size_t list_count;
};

static const struct jr_json_row inner_rows[] = {
    {"span", "Long.", JR_AT(struct inner, SPAN, span_ns)},
    {"name", NULL, JR_AT(struct inner, TEXT, name), .shape.optional = true},
};

static const struct jr_json_row outer_rows[] = {
    {"flag", NULL, JR_AT(struct outer, FLAG, flag), .join = JR_JOIN_ANY},
    {"small", NULL, JR_AT(struct outer, I32, small), .none = JR_NONE_LESS, .join = JR_JOIN_LEAST},
    {"signal", NULL, JR_AT(struct outer, SIGNAL, signal), .none = JR_NONE_ZERO,
     .join = JR_JOIN_DECIDER},
    {"color", NULL, JR_AT(struct outer, WORD, color), .none = JR_NONE_ZERO, .first = 1,
     JR_WORDS(colors)},
    {"count", NULL, JR_AT(struct outer, U32, count), .limit = 1000, .join = JR_JOIN_SUM},
    {"large", NULL, JR_AT(struct outer, U64, large), .none = JR_NONE_ZERO, .join = JR_JOIN_MOST},
    {"wall", NULL, JR_AT(struct outer, TIME, wall_ns)},
    {"wait", NULL, JR_AT(struct outer, SECONDS, wait_ms)},
    {"any", NULL, JR_AT(struct outer, I64, any), JR_TOLD_BY(struct outer, told)},
    {"rate", NULL, JR_AT(struct outer, REAL, rate), .none = JR_NONE_ZERO},
    {"text", NULL, JR_AT(struct outer, TEXT, text), .shape.null = true, .join = JR_JOIN_FIRST},
    {"never", NULL, JR_AT(struct outer, TEXT, never), .none = JR_NONE_EMPTY},
    {"inner", NULL, JR_AT(struct outer, OBJECT, inner), JR_ROWS(inner_rows)},
    {"list", NULL, JR_LIST(struct outer, list, list_count, struct inner, inner_rows)},
};

enum { OUTER_ROWS = sizeof outer_rows / sizeof *outer_rows };

/* Members as keys; what is read of them is written as the same again. */
TEST(rows_are_written_and_read)
{
    static struct inner listed[] = {{0, "d"}, {1000, NULL}};
    static const struct {
        struct outer outer;
        const char *expected;
    } vectors[] = {
        {{.flag = true,
          .small = -7,
          .signal = 15,
          .color = 2,
          .count = 999,
          .large = INT64_MAX,
          .wall_ns = UINT64_C(1800000000123000000),
          .wait_ms = 1500,
          .told = true,
          .any = INT64_MIN,
          .rate = 0.25,
          .text = "a",
          .never = "b",
          .inner = {2500000, "c"},
          .list = listed,
          .list_count = 2},
         "{'flag': true, 'small': null, 'signal': 'SIGTERM', 'color': 'green', 'count': 999, "
         "'large': 9223372036854775807, 'wall': 1800000000.123, 'wait': 1.5, "
         "'any': -9223372036854775808, 'rate': 0.25, 'text': 'a', 'never': 'b', "
         "'inner': {'span': 0.0025, 'name': 'c'}, "
         "'list': [{'span': 0.0, 'name': 'd'}, {'span': 0.000001, 'name': null}]}"},
        {{.small = 7, .any = 5, .rate = -1, .never = ""},
         "{'flag': false, 'small': 7, 'signal': null, 'color': null, 'count': 0, 'large': null, "
         "'wall': 0.0, 'wait': 0.0, 'any': null, 'rate': null, 'text': null, 'never': '', "
         "'inner': {'span': 0.0, 'name': null}, 'list': []}"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
        struct outer got = {0};
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        json_t *read[2]; /* texts of `got` are those of the first */
        for (int again = 0; again < 2; again++) {
            const struct outer *from = again ? &got : &vectors[i].outer;
            jr_buf_clear(&text);
            jr_buf_char(&text, '{');
            jr_json_rows_put(&text, outer_rows, OUTER_ROWS, (const void *[]){from});
            jr_buf_char(&text, '}');
            JR_ASSERT_TEXT(text.data, jq(vectors[i].expected));
            read[again] = jr_json_parse(text.data, text.len, NULL);
            jr_json_rows_get(outer_rows, OUTER_ROWS, (void *[]){&got}, &arena, read[again]);
        }
        json_decref(read[0]);
        json_decref(read[1]);
        CU_ASSERT_EQUAL(got.small, i == 0 ? -1 : 7);
    }
}

/* What another program wrote: nothing that a member cannot be. */
TEST(rows_take_what_fits)
{
    struct outer got = {.count = 7, .color = 1, .text = "x"};
    const char *text = jq("{'flag': 1, 'small': 'x', 'signal': 'SIGODD', 'color': 'blue', "
                          "'count': 1000, 'any': 1.5, 'text': 7, 'inner': 7, 'list': {}}");
    json_t *json = jr_json_parse(text, strlen(text), NULL);
    jr_json_rows_get(outer_rows, OUTER_ROWS - 1, (void *[]){&got}, NULL, json);
    CU_ASSERT_FALSE(got.flag || got.told);
    CU_ASSERT_TRUE(got.small == -1 && got.signal == 0 && got.color == 0 && got.count == 0);
    CU_ASSERT_PTR_NULL(got.text);
    JR_ASSERT_TEXT(got.never, "");
    json_decref(json);
    CU_ASSERT_EQUAL(jr_json_below(NULL, 5), 0);
}

TEST(rows_are_joined)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *one = jq("{'flag': true, 'small': 5, 'count': 2, 'large': 7, 'text': null, "
                         "'signal': 'SIGINT'}");
    const char *other = jq("{'flag': false, 'small': 3, 'count': 4, 'large': 9, 'text': 'b'}");
    json_t *a = jr_json_parse(one, strlen(one), NULL);
    json_t *b = jr_json_parse(other, strlen(other), NULL);
    json_t *all =
        jr_json_rows_join(outer_rows, OUTER_ROWS, (const json_t *[]){NULL, a, b}, 3, NULL);
    jr_json_print(&out, all, 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(out.data, jq("{'flag': true, 'small': 3, 'signal': null, 'color': null, 'count': 6, "
                            "'large': 9, 'wall': null")));
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, jq("'text': 'b'")));
    json_decref(all);
    all = jr_json_rows_join(outer_rows, 3, (const json_t *[]){a, b}, 2, a);
    jr_buf_clear(&out);
    jr_json_print(&out, all, 0);
    JR_ASSERT_TEXT(out.data, jq("{'flag': true, 'small': 3, 'signal': 'SIGINT'}"));
    json_decref(all);
    json_decref(a);
    json_decref(b);
}

TEST(rows_are_schemas)
{
    json_t *properties = json_object(), *required = json_array();
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_json_rows_schema(outer_rows, OUTER_ROWS, properties, required);
    CU_ASSERT_EQUAL(json_array_size(required), OUTER_ROWS);
    jr_json_print(&out, json_object_get(properties, "list"), 0);
    JR_ASSERT_TEXT(out.data, jq("{'type': 'array', 'items': {'type': 'object', 'required': "
                                "['span'], 'properties': {'span': {'type': 'number', 'minimum': "
                                "0, 'description': 'Long.'}, 'name': {'type': 'string'}}}}"));
    jr_buf_clear(&out);
    jr_json_print(&out, json_object_get(properties, "color"), 0);
    JR_ASSERT_TEXT(out.data, jq("{'enum': ['red', 'green', null]}"));
    json_decref(properties);
    json_decref(required);
}
