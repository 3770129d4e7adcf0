#include <ctype.h>
#include <fcntl.h>

#include "base/io.h"
#include "base/json.h"
#include "diag/diag.h"

#include "spans.h"

static void check(const struct jr_diags *diags, enum jr_diag_format format, bool color,
                  const char *expected)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    jr_diags_render(&out, diags, format, color);
    JR_ASSERT_TEXT(out.data, expected);
}

TEST(shows_no_more_than_it_knows)
{
    RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_source bare = source("--set", NULL);
    struct jr_span nowhere = {0};
    jr_diags_error(&diags, JR_CODE_FILE_UNREADABLE, nowhere, NULL, "nothing");
    struct jr_diag *diag = jr_diags_error(&diags, JR_CODE_FILE_UNREADABLE, span(&bare, 0, 0, 0),
                                          NULL, "cannot read it");
    jr_diag_help(&diags, diag, "use %s", "-");
    diag = jr_diags_error(&diags, JR_CODE_WRONG_VALUE, span(&bare, 1, 12, 14), "a", "bad");
    jr_diag_relate(&diags, diag, span(&bare, 1, 3, 4), "stated here");
    check(&diags, JR_DIAG_HUMAN, false,
          "error[JR0101]: nothing\n"
          "--set: error[JR0101]: cannot read it\n"
          "     help: use -\n"
          "--set:1:12: error[JR0211]: bad\n"
          "--set:1:3: note: stated here\n");
    check(&diags, JR_DIAG_SHORT, false,
          "error: nothing [JR0101]\n"
          "--set: error: cannot read it [JR0101]\n"
          "--set:1:12: error: bad [JR0211]\n");
}

TEST(looks_as_drawn)
{
    struct jr_source train = source("train.yaml", "version: 1\nname: t\n\nentrypoint: [x]\n\n"
                                                  "paralelism: {model: 2}\n\n\nworld_size: 6\n"
                                                  "parallelism:\n  model: 2\n");
    struct jr_source base = source("base.yaml", "a\nworld_size: 6");
    RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_diag *diag = jr_diags_error(&diags, JR_CODE_UNKNOWN_FIELD, span(&train, 6, 1, 11),
                                          NULL, "unknown field 'paralelism'");
    jr_diag_help(&diags, diag, "did you mean '%s'?", "parallelism");
    diag = jr_diags_warning(&diags, JR_CODE_WORLD_SIZE_INDIVISIBLE, span(&train, 11, 10, 11), NULL,
                            "world_size %d does not divide", 6);
    jr_diag_help(&diags, diag, "nearest world sizes that do: 4, 8");
    jr_diag_relate(&diags, diag, span(&train, 9, 13, 14), "stated here");
    diag =
        jr_diags_error(&diags, JR_CODE_WORLD_SIZE_INDIVISIBLE, span(&train, 1, 1, 8), NULL, "two");
    jr_diag_relate(&diags, diag, span(&base, 2, 13, 14), "stated here");
    check(&diags, JR_DIAG_HUMAN, false,
          "train.yaml:6:1: error[JR0203]: unknown field 'paralelism'\n"
          "   6 | paralelism: {model: 2}\n"
          "     | ^^^^^^^^^^ help: did you mean 'parallelism'?\n"
          "train.yaml:11:10: warning[JR0310]: world_size 6 does not divide\n"
          "  11 |   model: 2\n"
          "     |          ^ help: nearest world sizes that do: 4, 8\n"
          "   9 | world_size: 6\n"
          "     |             - stated here\n"
          "train.yaml:1:1: error[JR0310]: two\n"
          "   1 | version: 1\n"
          "     | ^^^^^^^\n"
          "base.yaml:2:13: note: stated here\n"
          "   2 | world_size: 6\n"
          "     |             -\n");
}

/* On a terminal of 40 columns: no word is broken, and what helps stands on a line of its own where
 * there is no room for it. */
TEST(breaks_lines)
{
    struct jr_source text = source("t.yaml", "a: 1\nname: a text that is longer than a line\n");
    RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_diag *diag = jr_diags_error(&diags, JR_CODE_WRONG_VALUE, span(&text, 1, 4, 5), NULL,
                                          "the value wants 'one or two', and not this one");
    jr_diag_help(&diags, diag, "write b");
    diag = jr_diags_warning(&diags, JR_CODE_WRONG_VALUE, span(&text, 2, 1, 5), NULL, "short");
    jr_diag_help(&diags, diag, "another name: \"t 2\", or none");
    jr_diag_relate(&diags, diag, span(&text, 1, 1, 2), "this is the first of all the keys");
    diag = jr_diags_error(&diags, JR_CODE_FILE_UNREADABLE, span(&text, 0, 0, 0), NULL, "none");
    jr_diag_help(&diags, diag, "look whether there is such a file");
    JR_BUF_CLEANUP struct jr_buf out = {.width = 40};
    jr_diags_render(&out, &diags, JR_DIAG_HUMAN, false);
    JR_ASSERT_TEXT(out.data, "t.yaml:1:4: error[JR0211]: the value\n"
                             "    wants 'one or two', and not this one\n"
                             "   1 | a: 1\n"
                             "     |    ^ help: write b\n"
                             "t.yaml:2:1: warning[JR0211]: short\n"
                             "   2 | name: a text that is longer th...\n"
                             "     | ^^^^\n"
                             "     = help: another name: \"t 2\", or\n"
                             "             none\n"
                             "   1 | a: 1\n"
                             "     | -\n"
                             "     = this is the first of all the keys\n"
                             "t.yaml: error[JR0101]: none\n"
                             "       help: look whether there is such\n"
                             "             a file\n");
    jr_buf_clear(&out);
    out.width = 1; /* as 40 */
    jr_diags_render(&out, &diags, JR_DIAG_HUMAN, true);
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "\n    wants 'one or two'"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "\033[1;33m^^^^\033[0m\n    \033[36m = "
                                            "\033[0m\033[1;33mhelp: another"));
}

/* The two lines that quote one span. */
TEST(aligns_marks)
{
    static const struct {
        const char *text;
        uint32_t line, column, end_line, end_column;
        const char *quoted;
    } vectors[] = {
        {"a\tb: x", 1, 3, 1, 4, "   1 | a   b: x\n     |     ^\n"},
        {"\xe6\x97\xa5\xe6\x9c\xac: x", 1, 5, 1, 6,
         "   1 | \xe6\x97\xa5\xe6\x9c\xac: x\n     |       ^\n"},
        {"\xe6\x97\xa5\xe6\x9c\xac: x", 1, 2, 1, 3,
         "   1 | \xe6\x97\xa5\xe6\x9c\xac: x\n     |   ^^\n"},
        {"e\xcc\x81: x", 1, 5, 1, 6, "   1 | e\xcc\x81: x\n     |    ^\n"},
        {"a\033[2Jb", 1, 2, 1, 3, "   1 | a\\x1b[2Jb\n     |  ^^^^\n"},
        {"a\xff: x", 1, 5, 1, 6, "   1 | a\\xff: x\n     |        ^\n"},
        {"\xef\xbb\xbf"
         "a: x",
         1, 1, 1, 2, "   1 | a: x\n     | ^\n"},
        {"a: x\r\nb: y\r\n", 2, 4, 2, 5, "   2 | b: y\n     |    ^\n"},
        {"a\rb\xc2\x85"
         "c\xe2\x80\xa8"
         "d\ne",
         5, 1, 5, 2, "   5 | e\n     | ^\n"},
        {"key: 'a\n b'", 1, 6, 2, 4, "   1 | key: 'a\n     |      ^^\n"},
        {"ab", 1, 3, 1, 3, "   1 | ab\n     |   ^\n"},    /* at the end */
        {"ab", 1, 99, 1, 120, "   1 | ab\n     |   ^\n"}, /* beyond it */
        {"ab", 1, 2, 1, 1, "   1 | ab\n     |  ^\n"},     /* end before start */
        {"ab\n", 2, 1, 2, 1, "   2 | \n     | ^\n"},
        {"ab", 3, 1, 3, 2, ""}, /* no such line */
    };
    JR_EACH(row, vectors) {
        struct jr_source text = source("f", row->text);
        struct jr_span place = {&text, row->line, row->column, row->end_line, row->end_column};
        RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
        jr_diags_error(&diags, JR_CODE_WRONG_VALUE, place, NULL, "m");
        jr_diags_render(&out, &diags, JR_DIAG_HUMAN, false);
        const char *quoted = strchr(out.data, '\n');
        CU_ASSERT_PTR_NOT_NULL_FATAL(quoted);
        JR_ASSERT_TEXT(quoted + 1, row->quoted);
    }
}

/* The quoted line of `len` columns around an X, and where the caret is. */
TEST(cuts_long_lines)
{
    static const struct {
        uint32_t len, column;
        bool head, tail; /* "..." on that side */
    } vectors[] = {
        {100, 90, false, false}, {101, 10, false, true},      {400, 200, true, true},
        {400, 390, true, false}, {65536, 65535, true, false},
    };
    JR_EACH(row, vectors) {
        RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
        JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT, out = JR_BUF_INIT;
        jr_buf_fill(&line, '-', row->len);
        line.data[row->column - 1] = 'X';
        struct jr_source text = source("f", line.data);
        jr_diags_error(&diags, JR_CODE_WRONG_VALUE, span(&text, 1, row->column, row->column + 1),
                       NULL, "m");
        jr_diags_render(&out, &diags, JR_DIAG_HUMAN, false);
        char *quoted = strchr(out.data, '\n') + 1, *marks = strchr(quoted, '\n') + 1;
        CU_ASSERT_TRUE(marks - quoted - 1 <= 7 + 100 + 3);
        CU_ASSERT_EQUAL(strncmp(quoted + 7, "...", 3) == 0, row->head);
        CU_ASSERT_EQUAL(strncmp(marks - 4, "...\n", 4) == 0, row->tail);
        CU_ASSERT_EQUAL(strchr(quoted, 'X') - quoted, strchr(marks, '^') - marks);
    }
}

TEST(quotes_no_endless_line)
{
    RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    jr_buf_fill(&line, '-', 65537);
    jr_buf_str(&line, "\nnext\n");
    struct jr_source text = source("f", line.data);
    jr_diags_error(&diags, JR_CODE_WRONG_VALUE, span(&text, 1, 7, 8), NULL, "m");
    jr_diags_error(&diags, JR_CODE_WRONG_VALUE, span(&text, 2, 4, 5), NULL, "m");
    check(&diags, JR_DIAG_HUMAN, false,
          "f:1:7: error[JR0211]: m\n"
          "f:2:4: error[JR0211]: m\n   2 | next\n     |    ^\n");
}

/* Whatever the order in which they come. */
TEST(finds_lines_forth_and_back)
{
    static const uint32_t lines[] = {3, 1, 2, 2, 9, 3};
    static const char *const quoted[] = {"   3 | c\n", "   1 | a\n", "   2 | b\n",
                                         "   2 | b\n", NULL,         "   3 | c\n"};
    struct jr_source text = source("f", "a\nb\nc"), other = source("g", "d");
    JR_BUF_CLEANUP struct jr_buf expected = JR_BUF_INIT;
    RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        jr_diags_error(&diags, JR_CODE_WRONG_VALUE, span(&text, lines[i], 1, 2), NULL, "m");
        jr_diags_error(&diags, JR_CODE_WRONG_VALUE, span(&other, 1, 1, 2), NULL, "m");
        jr_buf_printf(&expected, "f:%u:1: error[JR0211]: m\n", lines[i]);
        if (quoted[i] != NULL)
            jr_buf_printf(&expected, "%s     | ^\n", quoted[i]);
        jr_buf_str(&expected, "g:1:1: error[JR0211]: m\n   1 | d\n     | ^\n");
    }
    check(&diags, JR_DIAG_HUMAN, false, expected.data);
}

TEST(lets_no_text_pose_as_output)
{
    struct jr_source text = source("a\nb.yaml", "k: \"x\033[31m\"\n");
    RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_diag *diag = jr_diags_error(&diags, JR_CODE_UNKNOWN_FIELD, span(&text, 1, 1, 2), NULL,
                                          "unknown field '%s'", "x\njobrun: succeeded");
    jr_diag_help(&diags, diag, "not\r%s", "\033[1A");
    jr_diag_relate(&diags, diag, span(&text, 1, 1, 2), "here\n");
    check(&diags, JR_DIAG_HUMAN, false,
          "a\\x0ab.yaml:1:1: error[JR0203]: unknown field 'x\\x0ajobrun: succeeded'\n"
          "   1 | k: \"x\\x1b[31m\"\n"
          "     | ^ help: not\\x0d\\x1b[1A\n"
          "   1 | k: \"x\\x1b[31m\"\n"
          "     | - here\\x0a\n");
    check(&diags, JR_DIAG_SHORT, false,
          "a\\x0ab.yaml:1:1: error: unknown field 'x\\x0ajobrun: succeeded' [JR0203]\n");
}

TEST(colors)
{
    struct jr_source text = source("f", "a: x\n");
    RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
    jr_diags_warning(&diags, JR_CODE_WRONG_VALUE, span(&text, 1, 4, 5), NULL, "m");
    check(&diags, JR_DIAG_HUMAN, true,
          "f:1:4: \033[1;33mwarning[JR0211]\033[0m: \033[1mm\033[0m\n"
          "\033[36m   1 |\033[0m a: x\n"
          "\033[36m     |\033[0m    \033[1;33m^\033[0m\n");
    check(&diags, JR_DIAG_SHORT, true, "f:1:4: warning: m [JR0211]\n");
}

TEST(writes_json)
{
    struct jr_source text = source("f", "nods: 2\n");
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_diag *diag = jr_diags_error(&diags, JR_CODE_UNKNOWN_FIELD, span(&text, 1, 1, 5),
                                          "nods", "unknown field");
    jr_diag_help(&diags, diag, "did you mean nodes?");
    jr_diag_fix(&diags, diag, span(&text, 1, 1, 5), "nodes");
    jr_diag_relate(&diags, diag, span(&text, 1, 7, 8), "its value");
    jr_diags_warning(&diags, JR_CODE_FILE_UNREADABLE, (struct jr_span){0}, NULL, "w");
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT, line = JR_BUF_INIT;
    jr_diags_render(&out, &diags, JR_DIAG_JSON, true);
    json_t *json = jr_json_parse(out.data, out.len, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    jr_json_print(&line, json, 0);
    JR_ASSERT_TEXT(line.data,
                   jq("{'format_version': 1, 'valid': false, 'error_count': 1, "
                      "'warning_count': 1, 'diagnostics': [{'severity': 'error', 'code': "
                      "'JR0203', 'message': 'unknown field', 'file': 'f', 'line': 1, "
                      "'column': 1, 'end_line': 1, 'end_column': 5, 'path': 'nods', 'help': "
                      "'did you mean nodes?', 'fixes': [{'file': 'f', 'line': 1, 'column': "
                      "1, 'end_line': 1, 'end_column': 5, 'text': 'nodes'}], 'related': "
                      "[{'message': 'its value', 'file': 'f', 'line': 1, 'column': 7}], "
                      "'rendered': 'f:1:1: error[JR0203]: unknown field\\n   1 | nods: "
                      "2\\n     | ^^^^ help: did you mean nodes?\\n   1 | nods: 2\\n     "
                      "|       - its value\\n'}, {'severity': 'warning', 'code': 'JR0101', "
                      "'message': 'w', 'file': null, 'line': null, 'column': null, "
                      "'end_line': null, 'end_column': null, 'path': null, 'help': null, "
                      "'fixes': [], 'related': [], 'rendered': 'warning[JR0101]: w\\n'}]}"));
    json_decref(json);
    jr_diags_release(&diags);
    check(&diags, JR_DIAG_JSON, false,
          jq("{\n  'format_version': 1,\n  'valid': true,\n  'error_count': 0,\n"
             "  'warning_count': 0,\n  'diagnostics': []\n}\n"));
}

/* All of them, and those from a number on, whose file has the lesser name. */
TEST(sorts)
{
    const struct jr_source a = source("a", NULL), b = source("b", NULL);
    const struct {
        const struct jr_source *source;
        unsigned code;
        uint32_t line, column;
    } rows[] = {
        {&b, JR_CODE_UNKNOWN_FIELD, 1, 1},   {&a, JR_CODE_WRONG_VALUE, 2, 1},
        {&a, JR_CODE_UNKNOWN_FIELD, 2, 1},   {&a, JR_CODE_UNKNOWN_FIELD, 2, 1},
        {&a, JR_CODE_UNKNOWN_FIELD, 1, 9},   {&a, JR_CODE_UNKNOWN_FIELD, 2, 2},
        {NULL, JR_CODE_UNKNOWN_FIELD, 0, 0},
    };
    RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
    char order[8] = "";
    JR_EACH(row, rows)
        jr_diags_error(&diags, row->code, span(row->source, row->line, row->column, 20), NULL,
                       "%td", row - rows);
    jr_diags_sort_from(&diags, 1);
    for (size_t i = 0; i < diags.count; i++)
        order[i] = diags.items[i].message[0];
    JR_ASSERT_TEXT(order, "0642315");
    jr_diags_sort(&diags);
    for (size_t i = 0; i < diags.count; i++)
        order[i] = diags.items[i].message[0];
    JR_ASSERT_TEXT(order, "6423150");
}

/* One finding of each of three files, and which of them are told. By which route a file was come to
 * makes no difference. */
TEST(folds)
{
    const struct jr_source a = source("a", "x\n"), again = source("a", "x\n"),
                           b = source("b", "x\n");
    const struct {
        const struct jr_source *source, *related;
        unsigned code;
        const char *message;
        bool told;
    } vectors[] = {
        {&a, NULL, JR_CODE_UNKNOWN_FIELD, "m", false},
        {&again, NULL, JR_CODE_UNKNOWN_FIELD, "m", false},
        {&b, NULL, JR_CODE_UNKNOWN_FIELD, "m", true},
        {&a, NULL, JR_CODE_FOREIGN_FIELD, "m", true},
        {&a, NULL, JR_CODE_UNKNOWN_FIELD, "n", true},
        {&a, &b, JR_CODE_UNKNOWN_FIELD, "m", true},
        {&a, &again, JR_CODE_WORLD_SIZE_INDIVISIBLE, "m", false},
        {&a, &b, JR_CODE_WORLD_SIZE_INDIVISIBLE, "m", true},
        {&again, &a, JR_CODE_WORLD_SIZE_INDIVISIBLE, "m", false},
    };
    JR_EACH(row, vectors) {
        RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
        struct jr_diag *diag;
        (void)jr_diags_error(&diags, JR_CODE_UNKNOWN_FIELD, span(&a, 1, 1, 2), "p", "m");
        diag = jr_diags_error(&diags, JR_CODE_WORLD_SIZE_INDIVISIBLE, span(&a, 1, 1, 2), "p", "m");
        jr_diag_relate(&diags, diag, span(&a, 1, 1, 2), "note");
        diag =
            jr_diags_error(&diags, row->code, span(row->source, 1, 1, 2), "p", "%s", row->message);
        if (row->related != NULL)
            jr_diag_relate(&diags, diag, span(row->related, 1, 1, 2), "note");
        jr_diag_relate_route(&diags, diag, span(&b, 1, 1, 2), "extended here");
        (void)jr_diags_warning(&diags, JR_CODE_UNKNOWN_FIELD, span(&a, 1, 1, 2), "p", "m");
        CU_ASSERT_EQUAL(jr_diags_fold(&diags, 2), row->told ? 0 : 1);
        CU_ASSERT_EQUAL(diags.count, row->told ? 4 : 3);
        CU_ASSERT_EQUAL(diags.errors, row->told ? 3 : 2);
        CU_ASSERT_EQUAL(diags.warnings, 1);
        CU_ASSERT_EQUAL(diags.items[diags.count - 1].severity, JR_SEVERITY_WARNING);
    }
}

/* Of three findings the last ones are forgotten, and others take their place.
 */
TEST(forgets_from_a_number_on)
{
    RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
    const struct jr_span at = {0};
    (void)jr_diags_warning(&diags, JR_CODE_UNKNOWN_FIELD, at, NULL, "0");
    (void)jr_diags_error(&diags, JR_CODE_UNKNOWN_FIELD, at, NULL, "1");
    (void)jr_diags_warning(&diags, JR_CODE_UNKNOWN_FIELD, at, NULL, "2");
    jr_diags_drop_from(&diags, 3);
    CU_ASSERT_EQUAL(diags.count, 3);
    jr_diags_drop_from(&diags, 1);
    CU_ASSERT_EQUAL(diags.count, 1);
    CU_ASSERT_EQUAL(diags.errors, 0);
    CU_ASSERT_EQUAL(diags.warnings, 1);
    for (int i = 0; i < 9; i++)
        (void)jr_diags_error(&diags, JR_CODE_UNKNOWN_FIELD, at, NULL, "n");
    CU_ASSERT_EQUAL(diags.errors, 9);
    JR_ASSERT_TEXT(diags.items[0].message, "0");
    JR_ASSERT_TEXT(diags.items[1].message, "n");
    jr_diags_drop_from(&diags, 0);
    CU_ASSERT_EQUAL(diags.errors + diags.warnings + diags.count, 0);
}

/* More than are kept, and more than there is memory for. */
TEST(counts_what_it_does_not_keep)
{
    for (int starved = 0; starved < 2; starved++) {
        RELEASE(jr_diags_release) struct jr_diags diags = {.arena.limit = starved != 0 ? 2000 : 0};
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
        for (int i = 0; i < 1005; i++) {
            struct jr_diag *diag =
                jr_diags_error(&diags, JR_CODE_UNKNOWN_FIELD, (struct jr_span){0}, "p", "%d", i);
            CU_ASSERT_PTR_NOT_NULL_FATAL(diag);
            jr_diag_help(&diags, diag, "h");
            jr_diag_relate(&diags, diag, (struct jr_span){0}, "r");
            jr_diag_fix(&diags, diag, (struct jr_span){0}, "f");
        }
        CU_ASSERT_EQUAL(diags.errors, 1005);
        CU_ASSERT_EQUAL(diags.arena.failed, starved != 0);
        jr_diags_sort(&diags);
        jr_diags_render(&out, &diags, JR_DIAG_HUMAN, false);
        CU_ASSERT_EQUAL(out.failed, starved != 0);
        CU_ASSERT_TRUE(starved != 0 || strstr(out.data, "\n5 more findings are not shown") != NULL);
    }
}

TEST(copies_what_it_is_given)
{
    struct jr_source text = source("f", "ab\n");
    char path[] = "path", note[] = "note", fix[] = "help";
    RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_diag *diag = jr_diags_warning(&diags, JR_CODE_UNKNOWN_FIELD, span(&text, 1, 1, 2),
                                            path, "%s", "message");
    jr_diag_help(&diags, diag, "%s", "help");
    jr_diag_relate(&diags, diag, span(&text, 1, 2, 3), note);
    jr_diag_fix(&diags, diag, span(&text, 1, 1, 2), fix);
    path[0] = note[0] = fix[0] = '?';
    CU_ASSERT_EQUAL(diags.warnings, 1);
    JR_ASSERT_TEXT(diags.items[0].path, "path");
    JR_ASSERT_TEXT(diags.items[0].fix->text, "help");
    check(&diags, JR_DIAG_HUMAN, false,
          "f:1:1: warning[JR0203]: message\n   1 | ab\n     | ^ help: help\n"
          "   1 | ab\n     |  - note\n");
}

TEST(finds_codes)
{
    const char *bad = "|JR|JR203|JR9999|JR0000|JR02033|0203x|JRJR0203|203|-203|JR 203";
    const char *good = "JR0203|jr0203|Jr0203|0203";
    EACH_PART(text, bad)
        CU_ASSERT_PTR_NULL(jr_code_find(text));
    EACH_PART(text, good) {
        const struct jr_code *code = jr_code_find(text);
        CU_ASSERT_PTR_NOT_NULL_FATAL(code);
        CU_ASSERT_EQUAL(code->number, 203);
        JR_ASSERT_TEXT(code->title, "unknown field");
    }
}

static size_t longest_line(const char *text)
{
    size_t longest = 0;
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        longest = len > longest ? len : longest;
        text += len + (text[len] == '\n');
    }
    return longest;
}

/* "The file", but not "LOCAL_RANK". */
static bool is_capitalised(const char *title)
{
    return isupper((unsigned char)title[0]) && islower((unsigned char)title[1]);
}

/* Every row reads the same: a title in a few words, a paragraph, an example. */
TEST(keeps_its_table_in_order)
{
    size_t count;
    const struct jr_code *codes = jr_code_table(&count);
    CU_ASSERT_TRUE(count > 0);
    for (size_t i = 0; i < count; i++) {
        const struct jr_code *code = &codes[i];
        size_t len = strlen(code->title), text = strlen(code->text);
        bool good = code->number >= 100 && code->number < 600 && len > 0 && len <= 60 &&
                    !is_capitalised(code->title) && code->title[len - 1] != '.' && text > 100 &&
                    code->text[text - 1] == '\n' && longest_line(code->text) <= 80 &&
                    strstr(code->text, "\n  before ") != NULL &&
                    strstr(code->text, "\n  after  ") != NULL;
        if (i > 0)
            good = good && code->number > codes[i - 1].number;
        if (!good)
            printf("\n    the row of JR%04u breaks the table's form\n", code->number);
        CU_ASSERT_TRUE(good);
    }
}

TEST(tells_the_code_of_a_finding)
{
    RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
    const struct jr_diag none = {0}, *diag = jr_diags_error(&diags, JR_CODE_UNKNOWN_FIELD,
                                                            (struct jr_span){0}, NULL, "unknown");
    JR_ASSERT_TEXT(diag->code, "JR0203");
    CU_ASSERT_TRUE(jr_diag_is(diag, JR_CODE_UNKNOWN_FIELD));
    CU_ASSERT_FALSE(jr_diag_is(diag, JR_CODE_FOREIGN_FIELD));
    CU_ASSERT_FALSE(jr_diag_is(&none, JR_CODE_UNKNOWN_FIELD));
}

/* The table is made of the file of that name, not of any other. */
TEST(takes_its_text_from_its_file)
{
    const struct jr_code *code = jr_code_find("JR0203");
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error err;
    CU_ASSERT_EQUAL_FATAL(jr_io_read_file(&text, AT_FDCWD,
                                          TEST_SOURCE_DIR "/../docs/diagnostics/JR0203.txt",
                                          1 << 16, &err),
                          0);
    JR_ASSERT_TEXT(code->text, text.data);
}
