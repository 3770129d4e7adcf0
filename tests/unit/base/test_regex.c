#include "base/regex.h"

#include "unit.h"

static struct jr_regex *make(const char *pattern)
{
    struct jr_regex *regex = NULL;
    struct jr_error err;
    size_t at;
    CU_ASSERT_EQUAL_FATAL(jr_regex_new(&regex, pattern, &at, &err), 0);
    return regex;
}

/* 32 KiB of the machine's stack do not hold so many alternatives. */
TEST(finds_with_a_stack_of_its_own)
{
    static char subject[20000];
    struct jr_regex *regex = make("^(?:(x)|(y))*$");
    struct jr_match match = {0};
    bool limited = true;
    memset(subject, 'x', sizeof subject);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_TRUE(jr_regex_find(regex, subject, sizeof subject, 0, &match, &limited));
        CU_ASSERT_FALSE(limited);
        CU_ASSERT_EQUAL(match.end, sizeof subject);
    }
    jr_regex_free(regex);
}

TEST(refuses_bad_patterns)
{
    /* A word of PCRE2's message: the rest differs between its versions. */
    static const struct {
        const char *pattern, *word;
    } bad[] = {
        {"a(b", "parenthesis"},
        {"[z-a]", "range out of order"},
        {"a\\C", "disabled"},
        {"(?<a>x)(?<a>y)", "same name"},
        {"(*LIMIT_MATCH=1", "not recognized"}, /* PCRE2 points beyond it */
    };
    JR_EACH(row, bad) {
        struct jr_regex *regex = NULL;
        struct jr_error err = {0};
        size_t at = 77;
        CU_ASSERT_EQUAL(jr_regex_new(&regex, row->pattern, &at, &err), -1);
        CU_ASSERT_PTR_NULL(regex);
        CU_ASSERT_TRUE(at > 1 && at <= strlen(row->pattern));
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, row->word));
    }
}

TEST(refuses_long_patterns)
{
    char pattern[5000];
    memset(pattern, 'x', sizeof pattern - 1);
    pattern[sizeof pattern - 1] = '\0';
    struct jr_regex *regex = NULL;
    struct jr_error err = {0};
    size_t at;
    CU_ASSERT_EQUAL(jr_regex_new(&regex, pattern, &at, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "longer than the limit"));
    pattern[4096] = '\0';
    CU_ASSERT_EQUAL(jr_regex_new(&regex, pattern, &at, &err), 0);
    jr_regex_free(regex);
    jr_regex_free(NULL);
}

TEST(gives_up_at_its_limit)
{
    /* Each pattern can only fail after exponentially many steps. */
    static const char *const evil[] = {"^(a+)+$", "^(a|aa)+$", "(x+x+)+[yz]"};
    char subject[4097];
    for (size_t i = 0; i < sizeof evil / sizeof *evil; i++) {
        struct jr_regex *regex = make(evil[i]);
        struct jr_match match = {7, 7};
        bool limited = false;
        memset(subject, i == 2 ? 'x' : 'a', sizeof subject);
        subject[40] = '!';
        CU_ASSERT_FALSE(jr_regex_find(regex, subject, 41, 0, &match, &limited));
        CU_ASSERT_TRUE(limited);
        CU_ASSERT_EQUAL(match.start, 7);
        CU_ASSERT_FALSE(jr_regex_find(regex, "", 0, 0, &match, &limited));
        CU_ASSERT_FALSE(limited);
        jr_regex_free(regex);
    }
}

TEST(finds)
{
    static const struct {
        const char *pattern, *subject;
        size_t from;
        bool found;
        struct jr_match at;
    } vectors[] = {
        {"b", "", 0, false, {0, 0}},
        {"b", "aac", 0, false, {0, 0}},
        {"b", "abab", 2, true, {3, 4}},
        {"b", "abab", 4, false, {0, 0}},
        {"", "abc", 1, true, {1, 1}},
        {"a+", "xaaay", 0, true, {1, 4}},
        {"^a", "ba", 1, false, {0, 0}},
        {"a$", "ba\n", 0, false, {0, 0}},
        {"(?m)^loss (\\d+)$", "x\nloss 12\n", 0, true, {2, 9}},
        {"ok", "\xff\xfe ok", 0, true, {3, 5}}, /* broken UTF-8 around it */
        {".", "\xc3\xbc", 0, true, {0, 2}},     /* one code point */
    };
    JR_EACH(row, vectors) {
        struct jr_regex *regex = make(row->pattern);
        struct jr_match match = {0};
        bool limited = true;
        CU_ASSERT_EQUAL(
            jr_regex_find(regex, row->subject, strlen(row->subject), row->from, &match, &limited),
            row->found);
        CU_ASSERT_FALSE(limited);
        CU_ASSERT_EQUAL(match.start, row->at.start);
        CU_ASSERT_EQUAL(match.end, row->at.end);
        jr_regex_free(regex);
    }
}

TEST(names_groups)
{
    struct jr_regex *regex = make("(?<loss>\\d+)(?: (?<step>\\d+))?(;)");
    struct jr_match match, group = {7, 7};
    bool limited;
    CU_ASSERT_EQUAL_FATAL(jr_regex_group_count(regex), 2);
    JR_ASSERT_TEXT(jr_regex_group_name(regex, 0), "loss");
    JR_ASSERT_TEXT(jr_regex_group_name(regex, 1), "step");
    CU_ASSERT_FALSE(jr_regex_group(regex, 0, &group)); /* nothing found yet */

    CU_ASSERT_TRUE(jr_regex_find(regex, "x 12;", 5, 0, &match, &limited));
    CU_ASSERT_FALSE(jr_regex_group(regex, 1, &group));
    CU_ASSERT_EQUAL(group.start, 7);
    CU_ASSERT_TRUE(jr_regex_group(regex, 0, &group));
    CU_ASSERT_TRUE(group.start == 2 && group.end == 4);

    CU_ASSERT_TRUE(jr_regex_find(regex, "1 23;", 5, 0, &match, &limited));
    CU_ASSERT_TRUE(jr_regex_group(regex, 1, &group));
    CU_ASSERT_TRUE(group.start == 2 && group.end == 4);

    CU_ASSERT_FALSE(jr_regex_find(regex, "none", 4, 0, &match, &limited));
    CU_ASSERT_FALSE(jr_regex_group(regex, 0, &group));
    jr_regex_free(regex);
}

TEST(has_no_groups)
{
    struct jr_regex *regex = make("(a)(?:b)");
    CU_ASSERT_EQUAL(jr_regex_group_count(regex), 0);
    jr_regex_free(regex);
}

/* By what a search can be made faster; what is not known is not made up. */
TEST(knows_what_is_in_a_match)
{
    static const struct {
        const char *pattern;
        bool first;
        int required;
    } vectors[] = {
        {"step (\\d+)", true, ' '},    {"(\\d+)/(\\d+)", false, '/'},
        {"(\\d+)it", false, 't'},      {"(\\d+)", false, -1},
        {"(\\d+)(?:/|$)", false, -1},  {"(\\d+)/?", false, -1},
        {"(\\d+)\303\251", false, -1}, {"^a", true, -1},
    };
    JR_EACH(row, vectors) {
        struct jr_regex *regex;
        struct jr_error err = {0};
        size_t bad;
        CU_ASSERT_EQUAL_FATAL(jr_regex_new(&regex, row->pattern, &bad, &err), 0);
        if (row->first != jr_regex_has_first_byte(regex) ||
            row->required != jr_regex_required_char(regex))
            printf("\n    %s: %d, %d\n", row->pattern, jr_regex_has_first_byte(regex),
                   jr_regex_required_char(regex));
        CU_ASSERT_EQUAL(jr_regex_has_first_byte(regex), row->first);
        CU_ASSERT_EQUAL(jr_regex_required_char(regex), row->required);
        jr_regex_free(regex);
    }
}
