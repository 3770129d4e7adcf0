/* Steps out of text in pieces of any size, by patterns and as JSON lines. */
#include "output/step_lines.h"

#include <math.h>
#include <stdlib.h>

#include "unit.h"

struct bench {
    struct jr_policy policy;
    struct jr_plan_rank rank;
    struct jr_plan plan;
    struct jr_progress *progress;
    struct jr_step_tracker tracker;
    struct jr_step_lines lines;
    struct jr_step_text text;
    char steps[256]; /* those that were told, with blanks between them */
    size_t told;     /* how many they were */
};

static void note_step(void *owner)
{
    struct bench *bench = owner;
    size_t len = strlen(bench->steps);
    bench->told++;
    (void)snprintf(bench->steps + len, sizeof bench->steps - len, "%lld ",
                   (long long)bench->progress->ranks[0].step);
}

static void begin(struct bench *bench, const char *pattern)
{
    *bench = (struct bench){.progress = jr_progress_new(1)};
    bench->plan = (struct jr_plan){
        .policy = &bench->policy, .ranks = &bench->rank, .world_size = 1, .count = 1};
    CU_ASSERT_EQUAL_FATAL(
        jr_step_tracker_open(&bench->tracker, &bench->plan, bench->progress, -1, 0600), 0);
    bench->tracker.told = note_step;
    bench->tracker.owner = bench;
    CU_ASSERT_EQUAL_FATAL(jr_step_lines_open(&bench->lines, &bench->tracker, pattern), 0);
}

static void end(struct bench *bench)
{
    jr_step_lines_end(&bench->lines, &bench->text);
    jr_step_lines_close(&bench->lines);
    jr_step_tracker_close(&bench->tracker, 1);
    jr_progress_free(bench->progress);
}

/* For the rest of the block. */
#define BENCH(name, ...)                                                                           \
    struct bench name RELEASE(end);                                                                \
    begin(&name, __VA_ARGS__)

/* All of it, in pieces of so many bytes. */
static void add(struct bench *bench, const char *text, size_t piece)
{
    for (size_t at = 0, len = strlen(text); at < len; at += piece)
        jr_step_lines_add(&bench->lines, &bench->text, text + at,
                          len - at < piece ? len - at : piece);
    jr_step_lines_end(&bench->lines, &bench->text);
}

static const char *warning(const struct bench *bench)
{
    return bench->progress->warnings_count == 0 ? "" : bench->progress->warnings[0].text;
}

#define STEP "step (?<step>\\d+)"

TEST(finds_lines_that_match)
{
    static const struct {
        const char *pattern, *text, *steps;
    } vectors[] = {
        {STEP, "step 1\nx\nstep 2\nstep 3\n\nstep 4", "1 2 3 4 "},
        {STEP, "step 1\rstep 2\r\nstep 3\r\n", "1 2 3 "},
        {STEP, "no\nno step here\nat step 17 of it\n", "17 "},
        {STEP, "step 1 step 2\n", "1 "},
        {STEP, "step 007\n", "7 "},
        {"^(?<step>\\d+)$", "1\nx 2\n3 x\n4\r5\n", "1 4 5 "},
        /* What looks around is tried line by line. */
        {"(?<!not )step (?<step>\\d+)", "not step 1\nstep 2\n", "2 "},
        {"\\Astep (?<step>\\d+)\\z", "step 1\nxstep 2\nstep 3\n", "1 3 "},
        /* A match that would go on in the next line is none. */
        {"step\\s+(?<step>\\d+)", "step\n5\nstep 6\n", "6 "},
        {"a[^b]*b(?<step>\\d+)", "a x\ny b1\na b2\nab3\n", "2 3 "},
        {"\\s*(?<step>\\d+)!", "x\n\n 5!\n\n6!\n", "5 6 "},
        {"step (?:(?<step>\\d+)|l(?<loss>\\d))", "step 1\nstep l3\nstep 2\n", "1 1 2 "},
        /* By a character within the match, where it begins with any. */
        {"(?<step>\\d+)/(?<of>\\d+)", "7/x\n 1/9\nx\n12/ 3/9 4/9\r5/9\n/6\n", "1 3 5 "},
        {"(?<step>\\d+)it", "1IT\n2it\nit 3\n4 it\n", "2 "},
        {"(?i)(?<step>\\d+)it", "1IT\n2it\n", "1 2 "},
        {"(?i:(?<step>\\d+)IT)", "1IT\n2it\n", "1 2 "},
        {"(?<step>\\d+)(?=/)", "1/\n2\n3/\n", "1 3 "},
        {"(?<step>\\d+)(?:/|$)", "1/\n2\n3x\n", "1 2 "},
        {"(?<step>\\d+)\\xe9", "1\303\251\n2e\n3\303\251\n", "1 3 "},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        for (size_t piece = 1; piece < 40; piece++) {
            BENCH(bench, vectors[i].pattern);
            add(&bench, vectors[i].text, piece);
            JR_ASSERT_TEXT(bench.steps, vectors[i].steps);
            JR_ASSERT_TEXT(warning(&bench), "");
        }
}

/* Lines of a progress file, in which ' stands for ": what is no object, or has no step, is warned
 * of; other members that are numbers are metrics, and any else is passed over. */
TEST(reads_json_lines)
{
#define NO_OBJECT "rank 0 has a line in its progress file that is not a JSON object: "
#define NO_STEP   "rank 0 told a 'step' that is not a whole number: "
    static const struct {
        const char *text, *steps;
        int64_t of;
        int metrics; /* how many */
        int problem;
        const char *warning; /* NULL: none */
    } vectors[] = {
        {"{'step': 1}\n{'step': 2.0, 'of': 9}\n\n", "1 2 ", 9, 0, 0, NULL},
        {"{'step': 1, 'loss': NaN, 't': 'NaN'}\n", "1 ", 0, 1, 0, NULL},
        {"{'step': 1, 'loss': -Infinity}\n{'step': 2}", "1 2 ", 0, 1, 0, NULL},
        {"{'step': 1, 'of': null, 'text': 'x', 'deep': {}}\n", "1 ", 0, 0, 0, NULL},
        {"{'step': 3, 'of': 9, 'loss': 0.5, 'lr': 1, 'x': null}", "3 ", 9, 3, 0, NULL},
        {"{'step': 0}\n{'step': 3, 'loss': [1]}", "0 3 ", 0, 0, 0, NULL},
        {"{'step': 1}\nstep 2\n{'step': 3}\n", "1 3 ", 0, 0, JR_STEP_PROBLEM_JSON,
         NO_OBJECT "'step 2'"},
        {"3\n", "", 0, 0, JR_STEP_PROBLEM_JSON, NO_OBJECT "'3'"},
        {"[1]\n", "", 0, 0, JR_STEP_PROBLEM_JSON, NO_OBJECT "'[1]'"},
        {"{'step': 3\n", "", 0, 0, JR_STEP_PROBLEM_JSON, NO_OBJECT "'{'step': 3'"},
        {"{'step': '3'}\n", "", 0, 0, JR_STEP_PROBLEM_STEP, NO_STEP "'{'step': '3'}'"},
        {"{'step': -1}\n", "", 0, 0, JR_STEP_PROBLEM_STEP, NO_STEP "'{'step': -1}'"},
        {"{'step': 1.5}\n", "", 0, 0, JR_STEP_PROBLEM_STEP, NO_STEP "'{'step': 1.5}'"},
        {"{'loss': 1.5}\n", "", 0, 0, JR_STEP_PROBLEM_STEP, NO_STEP "'{'loss': 1.5}'"},
        {"{'step': 1, 'of': 'x'}\n", "1 ", 0, 0, JR_STEP_PROBLEM_STEP,
         "rank 0 told a 'of' that is not a whole number: '{'step': 1, 'of': 'x'}'"},
        {"{'step': 1}\n{'step': 99999999999999999999}\n", "1 ", 0, 0, JR_STEP_PROBLEM_JSON,
         NO_OBJECT "'{'step': 99999999999999999999}'"},
        {"\x1b]0;x\n", "", 0, 0, JR_STEP_PROBLEM_JSON, NO_OBJECT "'\\x1b]0;x'"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        for (size_t piece = 1; piece < 50; piece += 4) {
            char text[160] = "", told[256];
            for (size_t k = 0; k < strlen(vectors[i].text); k++)
                text[k] = vectors[i].text[k] == '\'' ? '"' : vectors[i].text[k];
            BENCH(bench, NULL);
            add(&bench, text, piece);
            JR_ASSERT_TEXT(bench.steps, vectors[i].steps);
            CU_ASSERT_EQUAL(bench.progress->ranks[0].of, vectors[i].of);
            CU_ASSERT_EQUAL(__builtin_popcount(bench.progress->ranks[0].metrics),
                            vectors[i].metrics);
            (void)snprintf(told, sizeof told, "%s", warning(&bench));
            for (char *at = told; (at = strchr(at, '"')) != NULL;)
                *at = '\'';
            JR_ASSERT_TEXT(told, vectors[i].warning == NULL ? "" : vectors[i].warning);
            if (vectors[i].warning != NULL)
                CU_ASSERT_EQUAL((int)bench.progress->warnings[0].problem, vectors[i].problem);
        }
}

/* What says whether many lines are looked through at once, and by which character. */
TEST(knows_patterns)
{
    static const struct {
        const char *pattern;
        bool ahead;
        int landmark;
    } vectors[] = {
        {"step (?<step>\\d+)", true, -1}, /* its beginning is looked for */
        {"^a(?:b|c)$", true, -1},
        {"x(?P<step>\\d+)", true, -1},
        {"x(?'step'\\d+)", true, -1},
        {"a\\(?=b\\d+", true, -1},
        {"\\bstep\\b", true, -1},
        {"a+[^x]*a", true, -1},
        {"(?=a)", false, -1},
        {"(?!a)", false, -1},
        {"(?<=a)", false, -1},
        {"(?<!a)", false, -1},
        {"(?>a)", false, -1},
        {"a++", false, -1},
        {"a*+", false, -1},
        {"\\Aa", false, -1},
        {"a\\z", false, -1},
        {"a\\Z", false, -1},
        {"\\Ga", false, -1},
        {"a\\Kb", false, -1},
        {"(*COMMIT)a", false, -1},
        {"(?-m)a", false, -1},
        {"a{2}+b", false, -1},
        {"\\Q(\\E", false, -1},
        {"(?<step>\\d+)/(?<of>\\d+)", false, '/'},
        {"(?<step>\\d+)it", false, 't'},
        {"(?i)(?<step>\\d+)it", false, -1}, /* or T */
        {"(?i)(?<step>\\d+):", false, ':'},
        {"(?<!x)step:(?<step>\\d+)", false, ':'},
        {"(?<!x)step(?<step>\\d+)", false, -1},
        {"(?<step>\\d+)(?:/|$)", true, -1},
        {"(?<step>\\d+)\n", true, -1}, /* in no line */
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BENCH(bench, vectors[i].pattern);
        bool ahead = bench.lines.ahead != NULL;
        if (ahead != vectors[i].ahead || bench.lines.landmark != vectors[i].landmark)
            printf("\n    %s: %d, %d\n", vectors[i].pattern, ahead, bench.lines.landmark);
        CU_ASSERT_EQUAL(ahead, vectors[i].ahead);
        CU_ASSERT_EQUAL(bench.lines.landmark, vectors[i].landmark);
    }
}

/* A line without an end takes no memory beyond its limit. */
TEST(bounds_lines)
{
    static char junk[4096];
    memset(junk, 'x', sizeof junk);
    for (int json = 0; json < 2; json++) {
        BENCH(bench, json ? NULL : STEP);
        jr_step_lines_add(&bench.lines, &bench.text, "step 4 ", 7);
        for (size_t i = 0; i < 1000; i++)
            jr_step_lines_add(&bench.lines, &bench.text, junk, sizeof junk);
        CU_ASSERT_TRUE(bench.text.rest.len <= JR_STEP_LINE_MOST);
        jr_step_lines_add(&bench.lines, &bench.text, "\n", 1);
        if (json)
            add(&bench, "{\"step\": 5}\n", 100);
        else
            add(&bench, "step 5\n", 100);
        JR_ASSERT_TEXT(bench.steps, json ? "5 " : "4 5 ");
        JR_ASSERT_TEXT(warning(&bench), json ? "rank 0 has a line of more than 65536 bytes in "
                                               "its progress file, which is left out"
                                             : "");
    }
}

/* A line of so many bytes, as a pattern or an object of JSON has it, between two short ones. */
static char *print_long_line(bool json, size_t size)
{
    static const char *const heads[] = {"step 1\nstep 2 ", "{\"step\": 1}\n{\"step\": 2"};
    static const char *const tails[] = {"\nstep 3\n", "}\n{\"step\": 3}\n"};
    const char *head = heads[json], *tail = tails[json];
    size_t pad = size - strlen(strchr(head, '\n') + 1) - json;
    char *text = malloc(size + 40);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    char *at = stpcpy(text, head);
    memset(at, ' ', pad);
    strcpy(at + pad, tail);
    return text;
}

/* However a line that is too long is cut into pieces, one among them, the same is found: its first
 * bytes by a pattern, and nothing where it is JSON. */
TEST(bounds_lines_in_any_pieces)
{
    static const size_t pieces[] = {1000, 4096, JR_STEP_LINE_MOST, SIZE_MAX};
    for (size_t k = 0; k < 24; k++) {
        bool json = k % 2 != 0;
        size_t size = JR_STEP_LINE_MOST - 1 + k / 2 % 3;
        bool left_out = json && size > JR_STEP_LINE_MOST;
        struct bench bench;
        char *text = print_long_line(json, size);
        begin(&bench, json ? NULL : STEP);
        add(&bench, text, pieces[k / 6]);
        JR_ASSERT_TEXT(bench.steps, left_out ? "1 3 " : "1 2 3 ");
        JR_ASSERT_TEXT(warning(&bench), left_out ? "rank 0 has a line of more than 65536 bytes in "
                                                   "its progress file, which is left out"
                                                 : "");
        CU_ASSERT_EQUAL(bench.progress->warnings_count, left_out);
        CU_ASSERT_EQUAL(bench.progress->warnings[0].count, left_out);
        end(&bench);
        free(text);
    }
}

/* A pattern that takes too long is given up. */
TEST(bounds_patterns)
{
    BENCH(bench, "^(a+)+(?<step>\\d+)$");
    for (int i = 0; i < 150; i++)
        add(&bench, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\n", 100);
    CU_ASSERT_EQUAL(bench.lines.limited, 100);
    JR_ASSERT_TEXT(warning(&bench), "rank 0 wrote a line for which progress.pattern takes too "
                                    "many steps");
}

/* Lines of so many steps, and `after` behind them. */
static char *print_steps(size_t count, const char *after, size_t *ret_len)
{
    size_t size = count * sizeof "step 123456\n" + strlen(after) + 1, len = 0;
    char *text = malloc(size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (size_t i = 1; i <= count; i++)
        len += (size_t)snprintf(text + len, size - len, "step %zu\n", i);
    len += (size_t)snprintf(text + len, size - len, "%s", after);
    *ret_len = len;
    return text;
}

static void expect_flood(const char *pattern, size_t count, const char *after, size_t least,
                         size_t most)
{
    struct bench bench;
    size_t len;
    char *text = print_steps(count, after, &len);
    begin(&bench, pattern);
    jr_step_lines_add(&bench.lines, &bench.text, text, len);
    CU_ASSERT_TRUE(bench.progress->ranks[0].step == (int64_t)count && bench.told >= least);
    CU_ASSERT_TRUE(bench.told <= most);
    end(&bench);
    free(text);
}

/* Steps that nobody can look at one by one are passed over, but never the last, whatever stands
 * behind it. */
TEST(passes_over_steps)
{
    static char noise[40001];
    for (size_t i = 0; i + 1 < sizeof noise; i++)
        noise[i] = i % 80 == 79 ? '\n' : 'x';
    static const char *const patterns[] = {STEP, "(?<=p )(?<step>\\d+)$"};
    for (size_t i = 0; i < 2; i++) {
        expect_flood(patterns[i], 10000, "", 10000, 10000);
        expect_flood(patterns[i], 200000, "", 10001, 10200);
        expect_flood(patterns[i], 200000, noise, 10001, 20000);
        expect_flood(patterns[i], 10001, noise, 10001, 10001);
    }
}

/* Of each piece some are taken, and after a while all are again. */
TEST(takes_all_steps_again)
{
    struct bench bench;
    size_t len;
    char *flood = print_steps(30000, "", &len);
    begin(&bench, STEP);
    jr_step_lines_add(&bench.lines, &bench.text, flood, len);
    uint64_t spent_ns = bench.lines.now_ns;
    bench.lines.credit = 0;
    bench.told = 0;
    jr_step_lines_add(&bench.lines, &bench.text, "step 1\nx\nstep 2\n", 16);
    CU_ASSERT_EQUAL(bench.told, 2);
    bench.told = 0;
    bench.lines.credit = 0;
    bench.lines.credited_ns = spent_ns - 1000000000;
    jr_step_lines_add(&bench.lines, &bench.text, flood, len / 2);
    CU_ASSERT_TRUE(bench.told >= 10000);
    end(&bench);
    free(flood);
}

/* However many ranks there are, they cost no more than one. */
TEST(ranks_share_what_is_looked_at)
{
    struct bench bench;
    size_t len;
    char *flood = print_steps(30000, "", &len);
    begin(&bench, STEP);
    jr_step_lines_add(&bench.lines, &bench.text, flood, len);
    uint64_t begin_ns = bench.lines.now_ns;
    bench.told = 0;
    for (int i = 0; i < 50; i++) {
        struct jr_step_text text = {.i = 0};
        jr_step_lines_add(&bench.lines, &text, flood, len);
        CU_ASSERT_EQUAL(bench.progress->ranks[0].step, 30000);
        jr_step_lines_end(&bench.lines, &text);
    }
    /* One for each 50 us that went by, and of each piece the first and those of its last bytes. */
    CU_ASSERT_TRUE(bench.told <= (bench.lines.now_ns - begin_ns) / 50000 + 50 * 30);
    end(&bench);
    free(flood);
}

/* Numbers of metrics as printf, Python and people write them, and what is none:
 * that is warned of, and the step counts all the same. */
TEST(reads_metrics_as_they_are_written)
{
    static const struct {
        const char *text;
        bool number;
        double value;
    } numbers[] = {
        {"x", false, 0},
        {"--inf", false, 0},
        {"+-nan", false, 0},
        {"-+inf", false, 0},
        {"infx", false, 0},
        {"xnan", false, 0},
        {"infinit", false, 0},
        {"1e", false, 0},
        {"1,5", false, 0},
        {"0x10", false, 0},
        {"1.5x", false, 0},
        {".", false, 0},
        {"-", false, 0},
        {"+", false, 0},
        {"0.5", true, 0.5},
        {"-1e3", true, -1000},
        {"1", true, 1},
        {"-0.25", true, -0.25},
        {"2.5E-3", true, 2.5e-3},
        {"nan", true, NAN},
        {"NaN", true, NAN},
        {"-nan", true, NAN},
        {"+nan", true, NAN},
        {"inf", true, INFINITY},
        {"+inf", true, INFINITY},
        {"-inf", true, -INFINITY},
        {"Infinity", true, INFINITY},
        {"-INFINITY", true, -INFINITY},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char line[64];
        BENCH(bench, STEP " loss (?<loss>\\S+)");
        (void)snprintf(line, sizeof line, "step 7 loss %s\n", numbers[i].text);
        add(&bench, line, 100);
        const struct jr_steps *rank = &bench.progress->ranks[0];
        CU_ASSERT_EQUAL(rank->step, 7);
        CU_ASSERT_EQUAL(bench.progress->job.step, 7);
        CU_ASSERT_EQUAL(rank->metrics, numbers[i].number);
        CU_ASSERT_EQUAL(bench.progress->warnings_count, !numbers[i].number);
        if (!numbers[i].number) {
            CU_ASSERT_EQUAL(bench.progress->warnings[0].problem, JR_STEP_PROBLEM_METRIC);
            (void)snprintf(line, sizeof line, "'loss' that is not a number: '%s'", numbers[i].text);
            CU_ASSERT_PTR_NOT_NULL(strstr(warning(&bench), line));
        } else {
            CU_ASSERT_TRUE(isnan(numbers[i].value) ? isnan(rank->values[0])
                                                   : rank->values[0] == numbers[i].value);
        }
    }
}

/* Behind the last newline there is no line, not even an empty one, and within \r\n there is none: a
 * pattern that an empty line matches finds none there, whatever pieces they come in. */
TEST(an_end_is_no_line)
{
    static const char *const texts[] = {"7\n", "7\r\n", "7", "7\n\n\r\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t piece = 1; piece < 6; piece++) {
            BENCH(bench, "^(?<step>\\d*)$");
            add(&bench, texts[i], piece);
            CU_ASSERT_TRUE(bench.progress->ranks[0].step == 7 && bench.told == 1);
            CU_ASSERT_EQUAL(bench.progress->warnings_count, 0);
        }
}

/* A step is digits, as many as fit; where it is none the line does not count, and where the last
 * one is none it does. */
TEST(reads_steps_as_they_are_written)
{
    static const struct {
        const char *pattern, *text;
        bool any;
        int64_t step, of;
        const char *warning;
    } steps[] = {
        {"step (?<step>\\S*)", "step ", false, 0, 0, "'step'"},
        {"step (?<step>\\S*)", "step x", false, 0, 0, "'step'"},
        {"step (?<step>\\S*)", "step -1", false, 0, 0, "'step'"},
        {"step (?<step>\\S*)", "step 9223372036854775808", false, 0, 0, "'step'"},
        {"step (?<step>\\S*)", "step 99999999999999999999999", false, 0, 0, "'step'"},
        {"step (?<step>\\S*)", "step 0", true, 0, 0, NULL},
        {"step (?<step>\\S*)", "step 0012", true, 12, 0, NULL},
        {"step (?<step>\\S*)", "step 9223372036854775807", true, INT64_MAX, 0, NULL},
        {"step (?<step>\\S*)", "step 00000000000000000000000000000042", true, 42, 0, NULL},
        {STEP "/(?<of>\\S+)", "step 7/x", true, 7, 0, "'of'"},
        {STEP "/(?<of>\\S+)", "step 7/-1", true, 7, 0, "'of'"},
        {STEP "/(?<of>\\S+)", "step 7/1.5", true, 7, 0, "'of'"},
        {STEP "/(?<of>\\S+)", "step 7/9223372036854775808", true, 7, 0, "'of'"},
        {STEP "/(?<of>\\S+)", "step 7/100", true, 7, 100, NULL},
        {STEP "/(?<of>\\S+)", "step 7/007", true, 7, 7, NULL},
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        char line[64];
        BENCH(bench, steps[i].pattern);
        (void)snprintf(line, sizeof line, "%s\n", steps[i].text);
        add(&bench, line, 100);
        const struct jr_steps *rank = &bench.progress->ranks[0];
        CU_ASSERT_TRUE(rank->any == steps[i].any && rank->step == steps[i].step);
        CU_ASSERT_EQUAL(rank->of, steps[i].of);
        CU_ASSERT_EQUAL(bench.progress->warnings_count, steps[i].warning != NULL);
        if (steps[i].warning != NULL) {
            CU_ASSERT_PTR_NOT_NULL(strstr(warning(&bench), steps[i].warning));
            CU_ASSERT_PTR_NOT_NULL(strstr(warning(&bench), "that is not a whole number"));
        }
    }
}
