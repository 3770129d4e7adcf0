#include "fake_run.h"
#include "quoted.h"

static char *colours[] = {(char *)"\"red\"", (char *)"2"};

#define FIELD(type_, ...)                                                                          \
    {                                                                                              \
        .name = (char *)"f", .type = JR_JSON_##type_, __VA_ARGS__                                  \
    }

struct vector {
    struct jr_result_field field;
    const char *result;
    const char *reason; /* NULL: it holds */
};

static const struct vector vectors[] = {
    {FIELD(NUMBER, .required = true), "{}", "result.json has no 'f'"},
    {FIELD(NUMBER, .required = true), "[1]", "result.json is not an object, and has no fields"},
    {FIELD(NUMBER, .required = true), "{\"f\": null}", "result.json: 'f' is null, not a number"},
    {FIELD(NUMBER, .required = true), "{\"f\": \"high\"}",
     "result.json: 'f' is \"high\", not a number"},
    {FIELD(INTEGER, .required = true), "{\"f\": 2.0}", "result.json: 'f' is 2.0, not an integer"},
    {FIELD(INTEGER, .required = true), "{\"f\": true}", "result.json: 'f' is true, not an integer"},
    {FIELD(STRING, .required = true), "{\"f\": 1}", "result.json: 'f' is 1, not a string"},
    {FIELD(BOOLEAN, .required = true), "{\"f\": 0}", "result.json: 'f' is 0, not true or false"},
    {FIELD(ARRAY, .required = true), "{\"f\": {}}", "result.json: 'f' is {}, not an array"},
    {FIELD(OBJECT, .required = true), "{\"f\": []}", "result.json: 'f' is [], not an object"},
    {FIELD(NUMBER, .min = (char *)"0.9"), "{\"f\": 0.41}",
     "result.json: 'f' is 0.41, less than 0.9"},
    {FIELD(NUMBER, .max = (char *)"100"), "{\"f\": 100.5}",
     "result.json: 'f' is 100.5, more than 100"},
    {FIELD(INTEGER, .max = (char *)"100"), "{\"f\": 101}",
     "result.json: 'f' is 101, more than 100"},
    {FIELD(STRING, .enums = colours, .enums_count = 2), "{\"f\": \"blue\"}",
     "result.json: 'f' is \"blue\", not one of \"red\", 2"},
    {FIELD(STRING, .pattern = (char *)"^[0-9a-f]+$"), "{\"f\": \"xyz\"}",
     "result.json: 'f' is \"xyz\", which does not match '^[0-9a-f]+$'"},
    {FIELD(NUMBER, .required = false),
     "{\"f\": \"1234567890123456789012345678901234567890123456789012345678901234567890\"}",
     "result.json: 'f' is \"12345678901234567890123456789012345678901234567890123456789..., not a "
     "number"},
    {FIELD(STRING, .required = false), "{}", NULL},
#define MORE "9007199254740993" /* 2^53 + 1, which no double is */
#define LESS "9007199254740992"
    {FIELD(INTEGER, .max = (char *)LESS), "{\"f\": " MORE "}",
     "result.json: 'f' is " MORE ", more than " LESS},
    {FIELD(INTEGER, .min = (char *)MORE), "{\"f\": " LESS "}",
     "result.json: 'f' is " LESS ", less than " MORE},
    {FIELD(INTEGER, .min = (char *)MORE, .max = (char *)MORE), "{\"f\": " MORE "}", NULL},
    {FIELD(INTEGER, .min = (char *)LESS ".5"), "{\"f\": " LESS "}",
     "result.json: 'f' is " LESS ", less than " LESS ".5"},
    {FIELD(INTEGER, .max = (char *)LESS ".5"), "{\"f\": " LESS "}", NULL},
    {FIELD(INTEGER, .max = (char *)"9223372036854775807"), "{\"f\": 9223372036854775807}", NULL},
    {FIELD(INTEGER, .min = (char *)"1e30"), "{\"f\": 9223372036854775807}",
     "result.json: 'f' is 9223372036854775807, less than 1e30"},
    {FIELD(NUMBER, .min = (char *)MORE), "{\"f\": " LESS ".0}",
     "result.json: 'f' is 9007199254740992.0, less than " MORE},
    {FIELD(NUMBER, .max = (char *)MORE), "{\"f\": 1e16}",
     "result.json: 'f' is 1e+16, more than " MORE},
    {FIELD(INTEGER, .min = (char *)"0.5"), "{\"f\": 1}", NULL},
    {FIELD(INTEGER, .max = (char *)"-0.5"), "{\"f\": 0}", "result.json: 'f' is 0, more than -0.5"},
    {FIELD(INTEGER, .min = (char *)"0.9"), "{\"f\": 1}", NULL},
    {FIELD(NUMBER, .min = (char *)"0.9"), "{\"f\": 0.9}", NULL},
    {FIELD(NUMBER, .max = (char *)"100"), "{\"f\": 100}", NULL},
    {FIELD(INTEGER, .enums = colours, .enums_count = 2), "{\"f\": 2}", NULL},
    {FIELD(NUMBER, .enums = colours, .enums_count = 2), "{\"f\": 2.0}", NULL},
    {FIELD(NUMBER, .enums = colours, .enums_count = 2), "{\"f\": 2.5}",
     "result.json: 'f' is 2.5, not one of \"red\", 2"},
    {FIELD(STRING, .pattern = (char *)"^[0-9a-f]+$"), "{\"f\": \"3f9c\\n\"}",
     "result.json: 'f' is \"3f9c\\n\", which does not match '^[0-9a-f]+$'"},
    {FIELD(STRING, .pattern = (char *)"^a.b$"), "{\"f\": \"a\\u0000b\"}", NULL},
    {FIELD(STRING, .pattern = (char *)"^a$"), "{\"f\": \"a\\u0000\"}",
     "result.json: 'f' is \"a\\u0000\", which does not match '^a$'"},
    {FIELD(STRING, .pattern = (char *)"^[0-9a-f]+$"), "{\"f\": \"3f9c\"}", NULL},
    {FIELD(BOOLEAN, .required = false), "{\"f\": false, \"other\": [1]}", NULL},
    {FIELD(ARRAY, .required = false), "{\"f\": []}", NULL},
    {FIELD(OBJECT, .required = false), "{\"f\": {}}", NULL}};

TEST(fields_hold_or_say_why)
{
    for (size_t v = 0; v < COUNT_OF(vectors); v++) {
        struct jr_result_field field = vectors[v].field;
        FAKE(fake, 1);
        fake.policy.results.stated = true;
        fake.policy.results.fields = &field;
        fake.policy.results.fields_count = 1;
        fake_write_rank(&fake, 0, "result.json", vectors[v].result);
        fake_judge(&fake);
        const struct jr_rank_judgement *rank = &fake.report.ranks[0];
        if (vectors[v].reason == NULL) {
            CU_ASSERT_EQUAL(rank->state, JR_RANK_SUCCEEDED);
        } else {
            CU_ASSERT_EQUAL(rank->result_error, JR_RESULT_FIELD);
            JR_ASSERT_TEXT(rank->reason, vectors[v].reason);
        }
        CU_ASSERT_PTR_NOT_NULL(rank->result);
    }
}

TEST(several_fields_and_the_first_reason)
{
    struct jr_result_field fields[] = {FIELD(NUMBER, .required = true),
                                       {.name = (char *)"g", .type = JR_JSON_STRING}};
    FAKE(fake, 2);
    fake.policy.results.stated = true;
    fake.policy.results.fields = fields;
    fake.policy.results.fields_count = 2;
    fake_write_rank(&fake, 0, "result.json", jq("{'f': 'x', 'g': 1}"));
    fake_write_rank(&fake, 1, "result.json", jq("{'f': 1, 'g': 1}"));
    fake_judge(&fake);
    JR_ASSERT_TEXT(fake.report.ranks[0].reason, "result.json: 'f' is \"x\", not a number");
    JR_ASSERT_TEXT(fake.report.ranks[1].reason, "result.json: 'g' is 1, not a string");
}
