#include "fake_run.h"
#include "report/summary.h"
#include "report/verdict_text.h"

/* Judge ranks with these results, NULL for none, and hold the line that is
 * made of their fields to `expected`. */
static void check(const char *const *results, uint32_t world,
                  const char *expected)
{
    struct fake fake;
    struct jr_buf out = JR_BUF_INIT;
    fake_start(&fake, world);
    for (uint32_t i = 0; i < world; i++)
        if (results[i] != NULL)
            fake_write_rank(&fake, i, "result.json", results[i]);
    fake_judge(&fake);
    struct jr_page page = {.out = &out,
                           .report = &fake.report,
                           .plan = &fake.plan,
                           .outcome = &fake.outcome};
    jr_print_fields(&page);
    JR_ASSERT_TEXT(out.data == NULL ? "" : out.data, expected);
    jr_buf_release(&out);
    fake_end(&fake);
}

#define CHECK(expected, ...)                                                   \
    do {                                                                       \
        static const char *const results[] = {__VA_ARGS__};                    \
        check(results, sizeof results / sizeof results[0], expected);          \
    } while (0)

static void nothing_to_show(void)
{
    CHECK("", NULL, NULL);
    CHECK("", "3", "[1]");
    CHECK("", "{}", "{}");
}

static void one_rank_shows_its_values(void)
{
    CHECK("        a 0.5   b \"text\"   c true   d [1,2]   e null\n",
          "{\"a\": 0.5, \"b\": \"text\", \"c\": true, \"d\": [1, 2], "
          "\"e\": null}");
    CHECK("        \\x1b[2J 1\n", "{\"\\u001b[2J\": 1}");
    CHECK("        s \"\\u001B[2J\"\n", "{\"s\": \"\\u001b[2J\"}");
}

static void several_ranks_show_what_they_have_in_common(void)
{
    CHECK("        a 0.1 .. 0.9\n", "{\"a\": 0.5}", "{\"a\": 0.1}",
          "{\"a\": 0.9}");
    CHECK("        a 0.958\n", "{\"a\": 0.958}", "{\"a\": 0.958}");
    CHECK("        a 4\n", "{\"a\": 4}", "{\"a\": 4}");
    CHECK("        a 0.95800001 .. 0.95800002\n", "{\"a\": 0.95800001}",
          "{\"a\": 0.95800002}");
    CHECK("        a 1 .. 3\n", "{\"a\": 3}", "{\"a\": 1}");
    CHECK("        a 1 .. 1.5\n", "{\"a\": 1}", "{\"a\": 1.5}");
    CHECK("        a -2 .. 9007199254740993\n", "{\"a\": 9007199254740993}",
          "{\"a\": -2}");
    CHECK("        a equal   b differs\n", "{\"a\": \"x\", \"b\": \"y\"}",
          "{\"a\": \"x\", \"b\": \"z\"}");
    CHECK("        a differs\n", "{\"a\": 1}", "{\"a\": \"x\"}");
    CHECK("        a equal\n", "{\"a\": {\"x\": 1, \"y\": [2]}}",
          "{\"a\": {\"y\": [2.0], \"x\": 1.0}}");
}

static void ranks_that_lack_a_field_or_a_result(void)
{
    CHECK("        a 1   b 2 .. 3\n", NULL, "{\"a\": 1, \"b\": 2}",
          "{\"b\": 3}");
}

static void many_fields_are_cut(void)
{
    CHECK("        a 1   b 2   c 3   d 4   e 5   f 6   and 2 more\n",
          "{\"a\": 1, \"b\": 2, \"c\": 3, \"d\": 4, \"e\": 5, \"f\": 6, "
          "\"g\": 7, \"h\": 8}");
}

JR_UNIT_MAIN("report.verdict_text", CASE(nothing_to_show),
             CASE(one_rank_shows_its_values),
             CASE(several_ranks_show_what_they_have_in_common),
             CASE(ranks_that_lack_a_field_or_a_result),
             CASE(many_fields_are_cut))
