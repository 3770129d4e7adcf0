/* What jobrun and a sampler say to each other. */
#include "sweep/sampler_lines.h"

#include "unit.h"

static void are_json_on_a_line(void)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    json_t *values = json_pack("{s:f}", "vars.lr", 0.1);
    json_t *result = json_pack("{s:s}", "note", "a\nb");
    jr_sampler_ask(&text, 7);
    jr_sampler_tell(&text, 7, values, "failed", NULL);
    jr_sampler_tell(&text, 12, values, "succeeded", result);
    JR_ASSERT_TEXT(text.data, "{\"ask\": 7}\n"
                              "{\"tell\": 7, \"values\": {\"vars.lr\": 0.1}, \"status\": "
                              "\"failed\", \"result\": null}\n"
                              "{\"tell\": 12, \"values\": {\"vars.lr\": 0.1}, \"status\": "
                              "\"succeeded\", \"result\": {\"note\": \"a\\nb\"}}\n");
    json_decref(values);
    json_decref(result);
}

static enum jr_sampler_answer answer(const char *line, json_t **values, struct jr_error *err)
{
    *values = NULL;
    return jr_sampler_read(line, strlen(line), values, err);
}

static void are_read_back(void)
{
    struct jr_error err = {0};
    json_t *values;
    CU_ASSERT_EQUAL(answer("{\"values\": {\"vars.lr\": 1e-3}}", &values, &err), JR_SAMPLER_VALUES);
    CU_ASSERT_EQUAL(json_object_size(values), 1);
    json_decref(values);
    CU_ASSERT_EQUAL(answer(" {\"done\":true} \r", &values, &err), JR_SAMPLER_DONE);
    CU_ASSERT_PTR_NULL(values);
}

static void are_refused_with_what_was_said(void)
{
    static const struct {
        const char *line, *told;
    } vectors[] = {
        {"", "no JSON object: ''"},
        {"null", "no JSON object: 'null'"},
        {"[1]", "no JSON object"},
        {"{\"values\": {\"a\": 1}", "no JSON object"},
        {"{\"values\": {\"a\": 1}} x", "no JSON object"},
        {"Trial \x1b[2J", "no JSON object: 'Trial \\x1b[2J'"},
        {"{}", "other keys: '{}'"},
        {"{\"value\": {\"a\": 1}}", "other keys"},
        {"{\"values\": {\"a\": 1}, \"done\": false}", "other keys"},
        {"{\"done\": false}", "printed no values"},
        {"{\"done\": 1}", "printed no values"},
        {"{\"values\": {}}", "printed no values"},
        {"{\"values\": 7}", "printed no values"},
        {"{\"values\": null}", "printed no values"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_error err = {0};
        json_t *values;
        CU_ASSERT_EQUAL(answer(vectors[i].line, &values, &err), JR_SAMPLER_WRONG);
        CU_ASSERT_PTR_NULL(values);
        if (strstr(err.text, vectors[i].told) == NULL)
            printf("\n    %s: %s", vectors[i].line, err.text);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, vectors[i].told));
        CU_ASSERT_EQUAL(err.status, JR_STATUS_LAUNCH);
    }
}

/* The first 80 bytes of a line. */
static void are_shown_in_part_where_they_are_long(void)
{
    for (int len = 79; len < 83; len++) {
        char line[100], told[200];
        struct jr_error err = {0};
        json_t *values;
        (void)snprintf(line, sizeof line, "%0*d", len, 0);
        (void)snprintf(told, sizeof told, "'%.80s%s'; an answer is ", line, len > 80 ? "..." : "");
        CU_ASSERT_EQUAL(answer(line, &values, &err), JR_SAMPLER_WRONG);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, told));
    }
}

JR_UNIT_MAIN("sampler_lines", CASE(are_json_on_a_line), CASE(are_read_back),
             CASE(are_refused_with_what_was_said), CASE(are_shown_in_part_where_they_are_long))
