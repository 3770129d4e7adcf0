/* One value for each field of a cell's ranks. */
#include "sweep/sweep_file.h"
#include "unit.h"

#define RANK(result) "{\"state\": \"succeeded\", \"result\": " result "}"

static void check_result(const char *ranks, const char *expected)
{
    struct jr_buf JR_BUF_CLEANUP text = JR_BUF_INIT, out = JR_BUF_INIT;
    jr_buf_printf(&text, "{\"ranks\": [%s]}", ranks);
    json_auto_t *results = jr_json_parse(text.data, text.len, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(results);
    json_auto_t *result = jr_cell_result(results);
    if (result != NULL)
        jr_json_print(&out, result, 0);
    JR_ASSERT_TEXT(out.data == NULL ? "none" : out.data, expected);
}

TEST(is_none_without_a_result_that_counts)
{
    check_result("", "none");
    check_result("{\"state\": \"succeeded\", \"result\": null}", "none");
    check_result("{\"state\": \"failed\", \"result\": {\"a\": 1}}", "none");
    check_result(RANK("[1, 2]"), "none");
}

TEST(is_what_ranks_have_in_common)
{
    check_result(RANK("{\"a\": 1, \"b\": \"x\", \"c\": [1]}") "," RANK(
                     "{\"a\": 1, \"b\": \"x\", \"c\": [1]}"),
                 "{\"a\": 1, \"b\": \"x\", \"c\": [1]}");
    check_result(RANK("{\"a\": 1}") "," RANK("{\"b\": 2}"), "{\"a\": 1, \"b\": 2}");
}

TEST(says_how_numbers_differ)
{
    check_result(RANK("{\"a\": 4}") "," RANK("{\"a\": 1}") "," RANK("{\"a\": 4}"),
                 "{\"a\": {\"mean\": 3.0, \"min\": 1.0, \"max\": 4.0, \"first\": 4}}");
    check_result(RANK("{\"a\": \"x\"}") "," RANK("{\"a\": 1}"), "{\"a\": null}");
    check_result(RANK("{\"a\": 1}") "," RANK("{\"a\": \"x\"}"), "{\"a\": null}");
}

TEST(is_compared_by_what_is_asked_for)
{
    json_auto_t *result = json_pack("{s:{s:f,s:f,s:f,s:i},s:i,s:s}", "a", "mean", 2.0, "min", 1.0,
                                    "max", 4.0, "first", 3, "b", 7, "c", "x");
    struct jr_sweep_best best = {"a", JR_GOAL_MAX, JR_OF_MEAN};
    double number = 0;
    CU_ASSERT_TRUE(jr_cell_result_number(result, &best, &number));
    CU_ASSERT_EQUAL(number, 2);
    best.of = JR_OF_MAX;
    CU_ASSERT_TRUE(jr_cell_result_number(result, &best, &number));
    CU_ASSERT_EQUAL(number, 4);
    best.of = JR_OF_FIRST;
    CU_ASSERT_TRUE(jr_cell_result_number(result, &best, &number));
    CU_ASSERT_EQUAL(number, 3);
    best.field = "b";
    CU_ASSERT_TRUE(jr_cell_result_number(result, &best, &number));
    CU_ASSERT_EQUAL(number, 7);
    best.field = "c";
    CU_ASSERT_FALSE(jr_cell_result_number(result, &best, &number));
    best.field = "d";
    CU_ASSERT_FALSE(jr_cell_result_number(result, &best, &number));
    best.field = NULL;
    CU_ASSERT_FALSE(jr_cell_result_number(result, &best, &number));
    CU_ASSERT_FALSE(jr_cell_result_number(NULL, &best, &number));
}

static void check_text(json_t *value, const char *expected)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_cell_result_text(&out, value);
    JR_ASSERT_TEXT(out.data, expected);
    json_decref(value);
}

TEST(is_told_in_few_digits)
{
    check_text(json_real(0.96200000001), "0.962");
    check_text(json_integer(1234567), "1234567");
    check_text(json_string("a\tb"), "a\\x09b");
    check_text(json_null(), "-");
    check_text(NULL, "-");
    check_text(json_true(), "true");
    check_text(json_pack("{s:f,s:f}", "min", 0.5, "max", 0.75), "0.5 .. 0.75");
    check_text(json_pack("{s:f}", "min", 0.5), "{\"min\": 0.5}");
    check_text(json_pack("{s:f}", "max", 0.5), "{\"max\": 0.5}");
    check_text(json_pack("[i,i]", 1, 2), "[1, 2]");
}
