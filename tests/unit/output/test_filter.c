#include "output/collapse.h"
#include "unit.h"

static void decides_by_both(void)
{
    static const struct {
        const char *show, *hide, *line;
        bool passes;
    } vectors[] = {
        {NULL, NULL, "a", true},
        {"a", NULL, "b", false},
        {"a", NULL, "bab", true},
        {NULL, "a", "bab", false},
        {NULL, "a", "b", true},
        {"a", "b", "ab", false},
        {"a", "b", "a", true},
        {"^$", NULL, "", true},
        {"\xc3\xa4", NULL, "\xff\xc3\xa4", true},
        {"a.b", NULL, "a\tb", true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct jr_filter filter;
        struct jr_console console = {.show = (char *)vectors[i].show,
                                     .hide = (char *)vectors[i].hide};
        CU_ASSERT_EQUAL_FATAL(jr_filter_open(&filter, &console), 0);
        CU_ASSERT_EQUAL(jr_filter_is_set(&filter),
                        vectors[i].show != NULL || vectors[i].hide != NULL);
        CU_ASSERT_EQUAL(jr_filter_passes(&filter, vectors[i].line, strlen(vectors[i].line)),
                        vectors[i].passes);
        jr_filter_close(&filter);
    }
}

static void refuses_what_is_no_pattern(void)
{
    struct jr_filter filter;
    struct jr_console console = {.show = (char *)"a", .hide = (char *)"("};
    CU_ASSERT_EQUAL(jr_filter_open(&filter, &console), -1);
    CU_ASSERT_FALSE(jr_filter_is_set(&filter));
}

static void gives_up_what_takes_too_long(void)
{
    struct jr_filter filter;
    struct jr_console console = {.show = (char *)"^(a+)+$"};
    static const char line[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!";
    CU_ASSERT_EQUAL_FATAL(jr_filter_open(&filter, &console), 0);
    for (int i = 0; i < JR_FILTER_LIMITED_MOST; i++)
        CU_ASSERT_FALSE(jr_filter_passes(&filter, line, sizeof line - 1));
    CU_ASSERT_EQUAL(filter.limited, JR_FILTER_LIMITED_MOST);
    CU_ASSERT_TRUE(jr_filter_passes(&filter, line, sizeof line - 1));
    jr_filter_close(&filter);
}

JR_UNIT_MAIN("filter", CASE(decides_by_both), CASE(refuses_what_is_no_pattern),
             CASE(gives_up_what_takes_too_long))
