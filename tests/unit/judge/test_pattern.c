#include "fake_run.h"
#include "quoted.h"

#include "judge/internal.h"
#include "output/log_file.h"

static struct jr_result_field fields[] = {{.name = (char *)"n", .type = JR_JSON_INTEGER},
                                          {.name = (char *)"x", .type = JR_JSON_NUMBER},
                                          {.name = (char *)"b", .type = JR_JSON_BOOLEAN},
                                          {.name = (char *)"list", .type = JR_JSON_ARRAY},
                                          {.name = (char *)"map", .type = JR_JSON_OBJECT}};

static void start(struct fake *fake, const char *pattern, const char *log)
{
    fake_start(fake, 1);
    fake->policy.results.stated = true;
    fake->policy.results.from = JR_FROM_STDOUT;
    fake->policy.results.pattern = (char *)pattern;
    fake->policy.results.fields = fields;
    fake->policy.results.fields_count = 5;
    fake_write_rank(fake, 0, "stdout.log", log);
    fake_judge(fake);
}

#define LOG(name, pattern, log)                                                                    \
    struct fake name RELEASE(fake_end);                                                            \
    start(&name, pattern, log)

static void check_json(const json_t *json, const char *expected)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (json != NULL)
        jr_json_print(&text, json, 0);
    JR_ASSERT_TEXT(text.data, jq(expected));
}

TEST(what_does_not_convert_fails)
{
    static const struct {
        const char *pattern, *log;
        enum jr_result_error error;
        const char *reason;
    } cases[] = {
        {"n=(?<n>\\S+)", "n=12x\n", JR_RESULT_FIELD, "stdout.log: 'n' is '12x', not an integer"},
        {"n=(?<n>\\S*)", "n=\n", JR_RESULT_FIELD, "stdout.log: 'n' is '', not an integer"},
        {"n=(?<n>\\S+)", "n=2.0\n", JR_RESULT_FIELD, "stdout.log: 'n' is '2.0', not an integer"},
        {"x=(?<x>\\S+)", "x=nan\n", JR_RESULT_FIELD, "stdout.log: 'x' is 'nan', not a number"},
        {"b=(?<b>\\S+)", "b=True\n", JR_RESULT_FIELD,
         "stdout.log: 'b' is 'True', not true or false"},
        {"l=(?<list>.+)", "l=[1,\n", JR_RESULT_FIELD,
         "stdout.log: 'list' is '[1,', not a JSON array"},
        {"l=(?<list>.+)", "l={}\n", JR_RESULT_FIELD, "stdout.log: 'list' is {}, not an array"},
        {"n=(?<n>\\d+)", "nothing\n", JR_RESULT_MISSING,
         "nothing in stdout.log matches 'n=(?<n>\\d+)'"},
        {"n=(?<n>\\d+)", "", JR_RESULT_MISSING, "nothing in stdout.log matches 'n=(?<n>\\d+)'"}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        LOG(fake, cases[c].pattern, cases[c].log);
        CU_ASSERT_EQUAL(fake.report.ranks[0].result_error, cases[c].error);
        JR_ASSERT_TEXT(fake.report.ranks[0].reason, cases[c].reason);
    }
}

/* A stream without a file had nothing to say, unless something was captured. */
TEST(a_log_that_is_gone_is_told)
{
    static const struct {
        uint64_t captured;
        const char *reason;
    } cases[] = {{0, "nothing in stdout.log matches 'n=(?<n>\\d+)'"},
                 {5, "stdout.log: could not be opened: No such file or directory"}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        LOG(fake, "n=(?<n>\\d+)", "");
        jr_judgement_release(&fake.report);
        CU_ASSERT_EQUAL(unlinkat(fake.fd, "attempt_0/0/stdout.log", 0), 0);
        fake.ends[0].captured = cases[c].captured;
        fake_judge(&fake);
        CU_ASSERT_EQUAL(fake.report.ranks[0].result_error, JR_RESULT_MISSING);
        JR_ASSERT_TEXT(fake.report.ranks[0].reason, cases[c].reason);
    }
}

TEST(the_last_match_counts)
{
    static const struct {
        const char *pattern, *log, *result;
    } cases[] = {{"n=(?<n>\\d+)", "n=1\nn=2\nn=30", "{'n': 30}"},
                 {"n=(?<n>\\d+)", "n=1 n=2 n=3 n=x\n", "{'n': 3}"},
                 {"n=(?<n>-?\\d+)", "n=-5\n", "{'n': -5}"},
                 {"x=(?<x>\\S+)", "x=0.91\n", "{'x': 0.91}"},
                 {"x=(?<x>\\S+)", "x=1e3\n", "{'x': 1000.0}"},
                 {"x=(?<x>\\S+)", "x=3\n", "{'x': 3}"},
                 {"b=(?<b>\\S+)", "b=false\n", "{'b': false}"},
                 {"w=(?<word>\\S+)", "w=007\n", "{'word': '007'}"},
                 {"l=(?<list>.+)", "l=[1, 2]\n", "{'list': [1, 2]}"},
                 {"l=(?<map>.+)", "l={\"a\": 1}\n", "{'map': {'a': 1}}"},
                 {"^n=(?<n>\\d+)$", "n=1\nn=2\nxn=3\nn=4x\n", "{'n': 2}"},
                 {"n=(?<n>\\d+)(?: w=(?<w>\\w+))?", "n=1 w=a\nn=2\n", "{'n': 2}"},
                 {"(?<n>\\d+)\\nend", "7\nend\n8\n", "{'n': 7}"},
                 {"n=(?<n>\\d+) x=(?<x>\\S+) (?<w>\\w+)", "n=1 x=2.5 end\n",
                  "{'n': 1, 'w': 'end', 'x': 2.5}"},
                 {"(?<w>\\z)", "abc", "{'w': ''}"},
                 {"x*(?<w>)", "abc", "{'w': ''}"},
                 {"w=(?<w>\\S+)", "bad\xff\xfe bytes w=ok\n", "{'w': 'ok'}"}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        LOG(fake, cases[c].pattern, cases[c].log);
        CU_ASSERT_PTR_NULL(fake.report.ranks[0].reason);
        check_json(fake.report.ranks[0].result, cases[c].result);
    }
}

/* A match is found wherever the borders of the windows fall: the first window ends at 1114368, the
 * second at 2162944. */
TEST(long_logs_are_searched_in_windows)
{
    static const size_t places[] = {0,       1048571, 1048827, 1114356, 1114357,
                                    1114363, 1114367, 1114368, 2162939, 3145716};
    enum { SIZE = 3 << 20 };
    char *log = malloc(SIZE + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    for (size_t p = 0; p < COUNT_OF(places); p++) {
        (void)memset(log, '.', SIZE);
        log[SIZE] = '\0';
        if (places[p] > 0)
            log[places[p] - 1] = '\n';
        (void)memcpy(log + places[p], "n=1234567890", 12);
        LOG(fake, "^n=(?<n>\\d+)", log);
        check_json(fake.report.ranks[0].result, "{'n': 1234567890}");
    }
    free(log);
}

/* The end of a window is not the end of a line. */
TEST(a_window_does_not_end_a_line)
{
    enum { SIZE = (2 << 20) + 500000 };
    char *log = malloc(SIZE + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    (void)memset(log, '7', SIZE);
    log[SIZE] = '\0';
    LOG(fake, "^(?<n>\\d{1,9})$", log);
    CU_ASSERT_PTR_NULL(fake.report.ranks[0].result);
    free(log);
}

/* A line that takes too many steps of that pattern. */
#define SLOW "n=(?<w>(?:a+a*)+b)"
static const char bad[] = "n=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaacb\n";

enum { CHUNK = 1 << 20, LONGEST = 1 << 16, LARGE = 2 * CHUNK + 200000 };

static void search(struct fake *fake, const char *pattern, const char *log)
{
    fake->policy.results.pattern = (char *)pattern;
    fake_write_rank(fake, 0, "stdout.log", log);
    fake_judge(fake);
}

/* Wherever a match lies, and as long as it may be, it is found whole. */
TEST(long_matches_are_found_anywhere)
{
    static const size_t lengths[] = {4, 5000, LONGEST - 300};
    static char log[LARGE + 1];
    LOG(fake, "x", "x");
    for (size_t l = 0; l < 3; l++)
        for (size_t at = CHUNK - LONGEST - 300; at < CHUNK + LONGEST; at += 10007) {
            size_t len = lengths[l];
            memset(log, '.', LARGE);
            memcpy(log, "<short>", 7);
            memset(log + at, 'm', len);
            log[at] = '<';
            log[at + len - 1] = '>';
            search(&fake, "(?<m><[^.]*>)", log);
            const json_t *result = fake.report.ranks[0].result;
            CU_ASSERT_EQUAL(json_string_length(json_object_get(result, "m")), len);
        }
}

/* Where the search goes on within a line, its beginning is not there. */
TEST(what_stands_before_is_known)
{
    static const char line[] = "(?<n>^v=\\d$)";
    static char log[LARGE + 1];
    LOG(fake, "x", "x");
    for (size_t at = CHUNK - LONGEST - 260; at < CHUNK - LONGEST + 260; at++) {
        if (at > CHUNK - LONGEST - 250 && at < CHUNK - LONGEST - 10)
            continue;
        if (at > CHUNK - LONGEST + 10 && at < CHUNK - LONGEST + 250)
            continue;
        memset(log, '.', LARGE);
        memcpy(log + at, "xv=9\n", 5);
        search(&fake, line, log);
        CU_ASSERT_PTR_NULL(fake.report.ranks[0].result);
        memcpy(log + at, "\nv=9\n", 5);
        search(&fake, "(?<w>^v=\\d$)", log);
        check_json(fake.report.ranks[0].result, "{'w': 'v=9'}");
    }
}

/* What took no part in the last match is not there, whatever an earlier one had. */
TEST(groups_are_those_of_the_last_match)
{
    LOG(fake, "a=(?<a>\\d+)(?: b=(?<w>\\d+))?(?: c=(?<z>\\d+))?", "a=1 b=22\na=333 c=4444");
    check_json(fake.report.ranks[0].result, "{'a': '333', 'z': '4444'}");
}

TEST(a_stream_must_be_captured)
{
    LOG(fake, "n=(?<n>\\d+)", "n=1\n");
    fake.ranks[0].out_path = NULL;
    fake_judge(&fake);
    JR_ASSERT_TEXT(fake.report.ranks[0].reason, "standard output was not captured");
    fake.policy.results.from = JR_FROM_STDERR;
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.ranks[0].result_error, JR_RESULT_MISSING);
    fake_write_rank(&fake, 0, "stderr.log", "n=4\n");
    fake_judge(&fake);
    check_json(fake.report.ranks[0].result, "{'n': 4}");
}

/* What comes when the rank has ended is not the rank's. */
TEST(only_what_the_rank_wrote_counts)
{
    static const char late[] =
        "nothing in stdout.log matches 'n=(?<n>\\d+)'; a match came only after the rank had ended, "
        "from a process that it had started, and does not count";
    static const char none[] = "nothing in stdout.log matches 'n=(?<n>\\d+)'";
    static const char cut[] = "stdout.log was shortened after the rank had ended";
    static const struct {
        const char *log;
        uint64_t captured; /* bytes when it ended; UINT64_MAX: not known */
        bool log_failed;
        const char *result;
        bool late;
        const char *reason;
    } cases[] = {{"n=1\nn=2\n", UINT64_MAX, false, "{'n': 2}", false, NULL},
                 {"n=1\nn=2\n", 8, false, "{'n': 2}", false, NULL},
                 {"n=1\nn=2\n", 7, false, "{'n': 2}", false, NULL},
                 {"n=1\nn=2\n", 4, false, "{'n': 1}", true, NULL},
                 {"n=1\nend\n", 4, false, "{'n': 1}", false, NULL},
                 {"abc\nn=2\n", 4, false, NULL, false, late},
                 {"abc\nend\n", 4, false, NULL, false, none},
                 {"abc\n", 4, false, NULL, false, none},
                 {"n=1\n", 4, false, "{'n': 1}", false, NULL},
                 {"n=1\n", 5, false, NULL, false, cut},
                 {"n=1\n", 5, true, "{'n': 1}", false, NULL}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        LOG(fake, "n=(?<n>\\d+)", cases[c].log);
        fake.ends[0].pinned = cases[c].captured != UINT64_MAX;
        fake.ends[0].captured = cases[c].captured;
        fake.ends[0].log_errno = cases[c].log_failed ? 28 : 0;
        fake_judge(&fake);
        const struct jr_rank_judgement *rank = &fake.report.ranks[0];
        CU_ASSERT_EQUAL(rank->result == NULL, cases[c].result == NULL);
        if (cases[c].result != NULL)
            check_json(rank->result, cases[c].result);
        CU_ASSERT_EQUAL(rank->late_match, cases[c].late);
        if (cases[c].reason != NULL)
            JR_ASSERT_TEXT(rank->reason, cases[c].reason);
        CU_ASSERT_EQUAL(rank->result_error, cases[c].reason == NULL  ? JR_RESULT_NONE
                                            : cases[c].reason == cut ? JR_RESULT_CHANGED
                                                                     : JR_RESULT_MISSING);
    }
}

/* Lines that take too many steps are counted, and told of where nothing was found. */
TEST(tells_of_lines_that_take_too_long)
{
    char log[256];
    (void)snprintf(log, sizeof log, "%sn=ab\n%s", bad, bad);
    LOG(fake, SLOW, log);
    check_json(fake.report.ranks[0].result, "{'w': 'ab'}");
    CU_ASSERT_EQUAL(fake.report.ranks[0].pattern_limits, 2);
    fake_write_rank(&fake, 0, "stdout.log", bad);
    fake_judge(&fake);
    CU_ASSERT_PTR_NULL(fake.report.ranks[0].result);
    CU_ASSERT_EQUAL(fake.report.ranks[0].pattern_limits, 1);
    JR_ASSERT_TEXT(fake.report.ranks[0].reason,
                   "nothing in stdout.log matches 'n=(?<w>(?:a+a*)+b)' within the match limit");
}

TEST(nothing_is_asked_of_the_others)
{
    LOG(fake, "n=(?<n>\\d+)", "nothing\n");
    fake.policy.results.required = (char *)"none";
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.ranks[0].result_error, JR_RESULT_NONE);
    (void)unlinkat(fake.fd, "attempt_0/0/stdout.log", 0);
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.ranks[0].result_error, JR_RESULT_NONE);
    fake.policy.results.required = (char *)"all";
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.ranks[0].result_error, JR_RESULT_MISSING);
    CU_ASSERT_PTR_NOT_NULL(fake.report.ranks[0].reason);
}

TEST(a_bad_pattern_is_an_error)
{
    struct jr_error err = {0};
    struct jr_judgement report;
    FAKE(fake, 1);
    fake.policy.results.pattern = (char *)"(";
    CU_ASSERT_EQUAL(jr_judgement_make(&report, &fake.plan, &fake.outcome,
                                      &(struct jr_left){.run_fd = fake.fd}, &err),
                    -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "results.pattern"));
}

/* Each line for itself, from the first to the last, once one took too long. */
TEST(goes_on_line_by_line_behind_a_bad_one)
{
    static const struct {
        const char *before, *after, *result;
        uint32_t limits;
    } cases[] = {{"n=ab\n", "", "{'w': 'ab'}", 1},
                 {"", "n=ab\n", "{'w': 'ab'}", 1},
                 {"", "n=ab", "{'w': 'ab'}", 1},
                 {"", "x\n\n\nn=aab\nx", "{'w': 'aab'}", 1},
                 {"n=ab\n", "n=aab\nn=x\n", "{'w': 'aab'}", 1},
                 {"n=ab n=aaab\n", "", "{'w': 'aaab'}", 1},
                 {"", "n=aab\nn=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaacb", "{'w': 'aab'}", 2}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        char log[256];
        (void)snprintf(log, sizeof log, "%s%s%s", cases[c].before, bad, cases[c].after);
        LOG(fake, SLOW, log);
        check_json(fake.report.ranks[0].result, cases[c].result);
        CU_ASSERT_EQUAL(fake.report.ranks[0].pattern_limits, cases[c].limits);
    }
}

/* A line that takes too long is counted once, where it is in two windows, too, and the next window
 * is searched as the first was. */
TEST(counts_a_bad_line_at_a_border_once)
{
    static const size_t places[] = {CHUNK - 100, CHUNK + LONGEST + 256 - 20,
                                    CHUNK + LONGEST + 256 + 20};
    static char log[LARGE + 1];
    LOG(fake, "x", "x");
    for (size_t p = 0; p < COUNT_OF(places); p++) {
        memset(log, '.', LARGE);
        log[places[p]] = '\n';
        memcpy(log + places[p] + 1, bad, strlen(bad));
        memcpy(log + LARGE - 6, "\nn=aab", 6);
        search(&fake, SLOW, log);
        check_json(fake.report.ranks[0].result, "{'w': 'aab'}");
        CU_ASSERT_EQUAL(fake.report.ranks[0].pattern_limits, 1);
    }
}

/* A log that would take hours is given up, and it is said why. */
TEST(gives_up_on_a_log_of_bad_lines)
{
    enum { LINES = 10002 };
    static char log[LINES * sizeof bad];
    size_t len = 0;
    for (int i = 0; i < LINES; i++, len += sizeof bad - 1)
        memcpy(log + len, bad, sizeof bad);
    LOG(fake, SLOW, log);
    CU_ASSERT_PTR_NULL(fake.report.ranks[0].result);
    CU_ASSERT_EQUAL(fake.report.ranks[0].pattern_limits, 10000);
    JR_ASSERT_TEXT(
        fake.report.ranks[0].reason,
        "'n=(?<w>(?:a+a*)+b)' takes too many steps for more than 9999 lines of stdout.log");
}

/* Anything but a file of its own is no log. */
TEST(reads_no_log_that_is_none)
{
    static const char path[] = "attempt_0/0/stdout.log";
    LOG(fake, "n=(?<n>\\d+)", "n=1\n");
    fake_write(&fake, "elsewhere", "n=1\n");
    for (int what = 0; what < 3; what++) {
        (void)unlinkat(fake.fd, path, 0);
        if (what == 0)
            CU_ASSERT_EQUAL(symlinkat("../../elsewhere", fake.fd, path), 0);
        if (what == 1)
            CU_ASSERT_EQUAL(mkfifoat(fake.fd, path, 0600), 0);
        if (what == 2)
            CU_ASSERT_EQUAL(mkdirat(fake.fd, path, 0700), 0);
        fake_judge(&fake);
        CU_ASSERT_PTR_NULL(fake.report.ranks[0].result);
        CU_ASSERT_EQUAL(fake.report.ranks[0].result_error, JR_RESULT_MISSING);
        CU_ASSERT_PTR_NOT_NULL_FATAL(fake.report.ranks[0].reason);
        CU_ASSERT_EQUAL(strncmp(fake.report.ranks[0].reason, "stdout.log: ", 12), 0);
        CU_ASSERT_FALSE(jr_pattern_holds("n", fake.fd, "attempt_0/0/stdout.log"));
    }
}

/* Have a file been written so many seconds after the start. */
static void set_time(const struct fake *fake, const char *path, int64_t seconds)
{
    const struct timespec time = {.tv_sec = (int64_t)(FAKE_WALL / FAKE_SECOND) + seconds};
    const struct timespec times[2] = {time, time};
    CU_ASSERT_EQUAL(utimensat(fake->fd, path, times, 0), 0);
}

/* A log of an earlier attempt is none by a link, whatever else has one. */
TEST(refuses_a_link_to_an_old_log)
{
    static const char path[] = "attempt_0/0/stdout.log";
    LOG(fake, "n=(?<n>\\d+)", "n=1\n");
    set_time(&fake, path, -1);
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.ranks[0].result_error, JR_RESULT_NONE);
    CU_ASSERT_EQUAL(linkat(fake.fd, path, fake.fd, "kept", 0), 0);
    fake_judge(&fake);
    CU_ASSERT_PTR_NULL(fake.report.ranks[0].result);
    CU_ASSERT_EQUAL(fake.report.ranks[0].result_error, JR_RESULT_STALE);
    JR_ASSERT_TEXT(fake.report.ranks[0].reason,
                   "stdout.log is a link to a file from before the start");
    set_time(&fake, path, 0);
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.ranks[0].result_error, JR_RESULT_NONE);
}

/* Another's output is nobody's by a link; a rank of which nothing is asked has none then. */
TEST(refuses_a_log_of_two_ranks)
{
    static const struct {
        const char *required;
        enum jr_result_error errors[3];
    } cases[] = {{"all", {JR_RESULT_MISSING, JR_RESULT_NONE, JR_RESULT_MISSING}},
                 {"0,1", {JR_RESULT_MISSING, JR_RESULT_NONE, JR_RESULT_NONE}}};
    FAKE(fake, 3);
    fake.policy.results.stated = true;
    fake.policy.results.from = JR_FROM_STDOUT;
    fake.policy.results.pattern = (char *)"n=(?<n>\\d+)";
    fake_write_rank(&fake, 0, "stdout.log", "n=1\n");
    fake_write_rank(&fake, 1, "stdout.log", "n=1\n");
    CU_ASSERT_EQUAL_FATAL(
        linkat(fake.fd, fake.ranks[0].out_path, fake.fd, fake.ranks[2].out_path, 0), 0);
    set_time(&fake, fake.ranks[0].out_path, 0);
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        fake.policy.results.required = (char *)cases[c].required;
        fake_judge(&fake);
        for (size_t i = 0; i < 3; i++)
            CU_ASSERT_EQUAL(fake.report.ranks[i].result_error, cases[c].errors[i]);
        JR_ASSERT_TEXT(fake.report.ranks[0].reason, "stdout.log is also the file of rank 2: a link "
                                                    "to the result of another rank does not count");
    }
    CU_ASSERT_PTR_NULL(fake.report.ranks[2].result);
}

/* Of a log with a gap, what the rank wrote is told by the bytes of the stream, of which the file
 * has fewer. */
TEST(knows_the_end_in_a_log_with_a_gap)
{
    JR_BUF_CLEANUP struct jr_buf log = JR_BUF_INIT;
    jr_buf_str(&log, "n=1\n");
    jr_log_gap_print(&log, 5000);
    jr_buf_str(&log, "n=2\nn=3\n");
    LOG(fake, "n=(?<n>\\d+)", log.data);
    check_json(fake.report.ranks[0].result, "{'n': 3}");
    fake.policy.log_limit = (char *)"64KiB";
    fake.ends[0].pinned = true;
    static const struct {
        uint64_t captured;
        const char *result;
        bool late;
    } cases[] = {{5012, "{'n': 3}", false}, {5008, "{'n': 2}", true}, {4, "{'n': 1}", true}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        fake.ends[0].captured = cases[c].captured;
        fake_judge(&fake);
        check_json(fake.report.ranks[0].result, cases[c].result);
        CU_ASSERT_EQUAL(fake.report.ranks[0].late_match, cases[c].late);
    }
    fake.ends[0].captured = 5013;
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.ranks[0].result_error, JR_RESULT_CHANGED);
}

/* What log_limit left out may hold the last match, unless another comes after it. */
TEST(a_match_before_a_gap_need_not_be_the_last)
{
    static const struct {
        const char *head, *tail, *required, *result, *reason;
        uint64_t captured;
    } cases[] = {
        {"n=1\n", "n=2\n", "all", "{'n': 2}", NULL, 5008},
        {"n=1\n", "", "all", NULL,
         "the last match may be in the 5000 bytes that log_limit left out of stdout.log, and none "
         "comes after them: raise log_limit, or use `from: file`",
         5004},
        {"n=1\n", "n=2\n", "all", NULL, "the last match may be in", 3000},
        {"n=1\n", "n=2\n", "all", "{'n': 1}", NULL, 4},
        {"m=1\n", "m=2\n", "all", NULL, "a match may be in the 5000", 5008},
        {"m=1\n", "m=2\n", "all", NULL, "nothing in stdout.log matches", 4},
        {"n=1\n", "", "none", NULL, NULL, 5004}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct jr_buf log JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_str(&log, cases[c].head);
        jr_log_gap_print(&log, 5000);
        jr_buf_str(&log, cases[c].tail);
        LOG(fake, "n=(?<n>\\d+)", log.data);
        fake.policy.log_limit = (char *)"64KiB";
        fake.policy.results.required = (char *)cases[c].required;
        fake.ends[0].dropped[0] = 5000;
        fake.ends[0].pinned = true;
        fake.ends[0].captured = cases[c].captured;
        fake_judge(&fake);
        if (cases[c].result == NULL)
            CU_ASSERT_PTR_NULL(fake.report.ranks[0].result)
        else
            check_json(fake.report.ranks[0].result, cases[c].result);
        CU_ASSERT_EQUAL(fake.report.ranks[0].result_error,
                        cases[c].reason == NULL ? JR_RESULT_NONE : JR_RESULT_MISSING);
        if (cases[c].reason != NULL)
            CU_ASSERT_PTR_NOT_NULL(strstr(fake.report.ranks[0].reason, cases[c].reason));
    }
}

/* As restart.when asks it of a log. */
TEST(holds_where_a_log_has_a_match)
{
    static const char path[] = "attempt_0/0/stdout.log";
    LOG(fake, "x", "one\ntwo lines\nthree");
    CU_ASSERT_TRUE(jr_pattern_holds("two", fake.fd, path));
    CU_ASSERT_TRUE(jr_pattern_holds("^two lines$", fake.fd, path));
    CU_ASSERT_TRUE(jr_pattern_holds("three$", fake.fd, path));
    CU_ASSERT_TRUE(jr_pattern_holds("(?<n>o)(?<m>n)", fake.fd, path));
    CU_ASSERT_FALSE(jr_pattern_holds("^lines", fake.fd, path));
    CU_ASSERT_FALSE(jr_pattern_holds("four", fake.fd, path));
    CU_ASSERT_FALSE(jr_pattern_holds("(", fake.fd, path));
    CU_ASSERT_FALSE(jr_pattern_holds("two", fake.fd, NULL));
    CU_ASSERT_FALSE(jr_pattern_holds("two", fake.fd, "attempt_0/0/no.log"));
    fake_write_rank(&fake, 0, "stdout.log", "");
    CU_ASSERT_FALSE(jr_pattern_holds("two", fake.fd, path));
}

TEST(text_that_holds_a_nul_is_no_number)
{
    static const char log[] = "n=1\0002\n";
    LOG(fake, "n=(?<n>[^\\n]+)", "x");
    fake_write_bytes(jr_arena_printf(&fake.arena, "%s/attempt_0/0/stdout.log", fake.dir), log,
                     sizeof log - 1);
    static const char *const patterns[] = {"n=(?<n>[^\\n]+)", "n=(?<b>[^\\n]+)", "n=(?<x>[^\\n]+)"};
    for (size_t i = 0; i < COUNT_OF(patterns); i++) {
        fake.policy.results.pattern = (char *)patterns[i];
        fake_judge(&fake);
        CU_ASSERT_EQUAL(fake.report.ranks[0].result_error, JR_RESULT_FIELD);
    }
}

/* A message shows as much of a value as a line has room for. */
TEST(shows_a_long_value_cut)
{
    static const char sixty[] = "012345678901234567890123456789012345678901234567890123456789";
    JR_BUF_CLEANUP struct jr_buf log = JR_BUF_INIT, want = JR_BUF_INIT;
    jr_buf_printf(&log, "b=%sXYZ\n", sixty);
    jr_buf_printf(&want, "stdout.log: 'b' is '%s', not true or false", sixty);
    LOG(fake, "b=(?<b>\\S+)", log.data);
    JR_ASSERT_TEXT(fake.report.ranks[0].reason, want.data);
}
