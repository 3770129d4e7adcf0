#include "base/json_shape.h"

#include "unit.h"

static const char *const colors[] = {"red", "green"};

static void check(const struct jr_json_shape *shape, const char *help,
                  const char *expected)
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
        {{.words = colors, .words_count = 2},
         NULL,
         "{\"enum\": [\"red\", \"green\"]}"},
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

JR_UNIT_MAIN("json_shape", CASE(a_text_that_is_no_json_is_no_schema),
             CASE(shapes_are_schemas),
             CASE(keys_are_required_unless_they_are_optional))
