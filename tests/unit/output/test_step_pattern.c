#include "output/step_pattern.h"

#include "base/regex.h"
#include "unit.h"

static void knows_plain_patterns(void)
{
    static const char *const plain[] = {
        "step (?<step>\\d+)", "^a(?:b|c)$", "(?P<step>\\d+)", "(?'step'\\d+)",
        "a\\(?=b\\d+",        "\\bstep\\b", "[^x]*a"};
    static const char *const others[] = {
        "(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(?>a)",      "a++",    "a*+",    "\\Aa",
        "a\\z",  "a\\Z",  "\\Ga",   "a\\Kb",  "(*COMMIT)a", "(?-m)a", "a{2}+b", "\\Q(\\E"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        CU_ASSERT_TRUE(jr_step_pattern_is_plain(plain[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CU_ASSERT_FALSE(jr_step_pattern_is_plain(others[i]));
}

static void finds_landmarks(void)
{
    static const struct {
        const char *pattern;
        int landmark;
    } vectors[] = {
        {"step (?<step>\\d+)", -1}, /* its beginning is looked for */
        {"(?<step>\\d+)/(?<of>\\d+)", '/'},
        {"(?<step>\\d+)it", 't'},
        {"(?i)(?<step>\\d+)it", -1}, /* or T */
        {"(?i)(?<step>\\d+):", ':'},
        {"(?<!x)step:(?<step>\\d+)", ':'},
        {"(?<!x)step(?<step>\\d+)", -1},
        {"(?<step>\\d+)(?:/|$)", -1},
        {"(?<step>\\d+)\n", -1}, /* in no line */
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_regex *regex;
        struct jr_error err = {0};
        size_t bad;
        const char *pattern = vectors[i].pattern;
        CU_ASSERT_EQUAL_FATAL(jr_regex_new(&regex, pattern, &bad, &err), 0);
        int found = jr_step_pattern_landmark(regex, jr_step_pattern_is_plain(pattern));
        if (found != vectors[i].landmark)
            printf("\n    %s: %d\n", pattern, found);
        CU_ASSERT_EQUAL(found, vectors[i].landmark);
        jr_regex_free(regex);
    }
}

JR_UNIT_MAIN("step_pattern", CASE(knows_plain_patterns), CASE(finds_landmarks))
