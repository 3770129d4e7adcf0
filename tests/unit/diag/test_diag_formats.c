#include <stdlib.h>

#include "base/json.h"
#include "diag/internal.h"

#include "spans.h"

static void check(const struct jr_diag_report *report, enum jr_diag_format format,
                  const char *expected)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    jr_diags_report(&out, report, format);
    CU_ASSERT_FALSE(out.failed);
    JR_ASSERT_TEXT(out.data == NULL ? "" : out.data, expected);
}

static json_t *report_json(const struct jr_diag_report *report, enum jr_diag_format format)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    struct jr_error err = {0};
    jr_diags_report(&out, report, format);
    json_t *json = jr_json_parse(out.data, out.len, &err);
    JR_ASSERT_TEXT(err.text, "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    return json;
}

/* The value at the end of a path of keys and indices: "runs.0.tool". */
static const json_t *at(const json_t *json, const char *path)
{
    while (*path != '\0') {
        char key[64];
        size_t len = strcspn(path, ".");
        (void)snprintf(key, sizeof key, "%.*s", (int)len, path);
        json = json_is_array(json) ? json_array_get(json, (size_t)atoi(key))
                                   : json_object_get(json, key);
        path += len + (path[len] == '.');
    }
    return json;
}

static void check_at(const json_t *json, const char *path, const char *expected)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    const json_t *value = at(json, path);
    if (value == NULL)
        jr_buf_str(&text, "nothing");
    else
        jr_json_print(&text, value, 0);
    JR_ASSERT_TEXT(text.data, jq(expected));
}

TEST(names_files_from_the_root)
{
    static const struct {
        const char *root, *cwd, *name, *seen;
    } vectors[] = {
        {NULL, NULL, "./a/../b", "./a/../b"},
        {"/w", NULL, "./a", "./a"},
        {NULL, "/w", "./a", "./a"},
        {"/w", "/w", "../a", "../a"},
        {"/w", "/w", "/wide/a", "/wide/a"},
        {"/w", "/w", ".", "."},
        {"/w", "/", "a", "a"},
        {"/w", "/w", "a", "a"},
        {"/w", "/w", "./a//b/./c/../d", "a/b/d"},
        {"/w", "/w/sub", "a", "sub/a"},
        {"/w", "/w/sub", "../a", "a"},
        {"/w/", "/w", "/w/a", "a"},
        {"/", "/w", "a", "w/a"},
        {"/w", "/w", "b\nc", "b\nc"},
    };
    JR_EACH(row, vectors) {
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
        struct jr_diag_report report = {.root = row->root, .cwd = row->cwd};
        jr_diag_file(&out, &report, row->name);
        JR_ASSERT_TEXT(out.data, row->seen);
    }
}

/* What somebody wrote into a spec, or named it, must not become a command, a property or a line of
 * the log. */
TEST(github_escapes)
{
    static const struct {
        const char *name, *message, *line;
    } vectors[] = {
        {"a", "::error::x", "file=a,line=1,col=2,endColumn=3::a:1:2: ::error::x"},
        {"a", "x\n::error::y", "file=a,line=1,col=2,endColumn=3::a:1:2: x\\x0a::error::y"},
        {"a", "50%0A\r", "file=a,line=1,col=2,endColumn=3::a:1:2: 50%250A\\x0d"},
        {"a,b:c%d\n", "m",
         "file=a%2Cb%3Ac%25d\\x0a,line=1,col=2,endColumn=3::a,b:c%25d\\x0a:1:2: m"},
        {"\xff", "\xe6\x97\xa5",
         "file=\\xff,line=1,col=2,endColumn=3::\\xff:1:2: "
         "\xe6\x97\xa5"},
    };
    JR_EACH(row, vectors) {
        JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
        struct jr_source text = source(row->name, NULL);
        RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
        struct jr_diag_report report = {.diags = &diags};
        jr_diags_error(&diags, JR_CODE_UNKNOWN_FIELD, span(&text, 1, 2, 3), NULL, "%s",
                       row->message);
        jr_buf_printf(&line, "::error title=JR0203%%3A unknown field,%s\n", row->line);
        check(&report, JR_DIAG_GITHUB, line.data);
    }
}

TEST(github_tells_the_worst_first)
{
    struct jr_source text = source("./a.yaml", "a: 1\nb: 2\n");
    RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_diag_report report = {.diags = &diags, .root = "/w", .cwd = "/w/s"};
    struct jr_span lines = {&text, 1, 4, 2, 2};
    jr_diags_warning(&diags, JR_CODE_UNKNOWN_FIELD, span(&text, 0, 0, 0), NULL, "whole");
    jr_diags_warning(&diags, 9999, (struct jr_span){0}, NULL, "nowhere");
    struct jr_diag *diag = jr_diags_error(&diags, JR_CODE_UNKNOWN_FIELD, lines, NULL, "lines");
    jr_diag_help(&diags, diag, "h: 1, 2");
    jr_diag_relate(&diags, diag, span(&text, 2, 1, 2), "100%%");
    check(&report, JR_DIAG_GITHUB,
          "::error title=JR0203%3A unknown field,file=s/a.yaml,line=1,endLine=2::./a.yaml:1:4: "
          "lines%0Ahelp: h: 1, 2%0A./a.yaml:2:1: note: 100%25%25\n"
          "::warning title=JR0203%3A unknown field,file=s/a.yaml::./a.yaml: whole\n"
          "::warning title=JR9999::nowhere\n");
    for (int i = 0; i < 9; i++)
        jr_diags_error(&diags, JR_CODE_UNKNOWN_FIELD, (struct jr_span){0}, NULL, "more");
    JR_BUF_CLEANUP struct jr_buf ten = JR_BUF_INIT, eleven = JR_BUF_INIT;
    jr_diags_report(&ten, &report, JR_DIAG_GITHUB);
    CU_ASSERT_PTR_NULL(strstr(ten.data, "GitHub shows"));
    jr_diags_error(&diags, JR_CODE_UNKNOWN_FIELD, (struct jr_span){0}, NULL, "more");
    jr_diags_report(&eleven, &report, JR_DIAG_GITHUB);
    CU_ASSERT_PTR_NOT_NULL(strstr(eleven.data, "\nGitHub shows the first 10 "));
}

TEST(gitlab_reports)
{
    struct jr_source text = source("./a\xff", NULL);
    RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_diag_report report = {.diags = &diags, .root = "/w", .cwd = "/w"};
    struct jr_span lines = {&text, 7, 4, 9, 2};
    check(&report, JR_DIAG_GITLAB, "[]\n");
    struct jr_diag *diag =
        jr_diags_error(&diags, JR_CODE_UNKNOWN_FIELD, lines, "f", "bad\033 \"%s\"", "x");
    jr_diag_help(&diags, diag, "mend it");
    jr_diags_warning(&diags, JR_CODE_FILE_UNREADABLE, (struct jr_span){0}, NULL, "w");
    json_t *json = report_json(&report, JR_DIAG_GITLAB);
    CU_ASSERT_EQUAL(json_array_size(json), 2);
    check_at(json, "0.description", "'bad\\u001B \\\"x\\\" (help: mend it)'");
    check_at(json, "0.check_name", "'JR0203'");
    check_at(json, "0.severity", "'critical'");
    check_at(json, "0.location", "{'path': 'a\xef\xbf\xbd', 'lines': {'begin': 7, 'end': 9}}");
    check_at(json, "1.severity", "'minor'");
    check_at(json, "1.location", "{'path': '.', 'lines': {'begin': 1}}");
    json_decref(json);
}

/* The fingerprints of findings, given in rows. */
struct row {
    const char *file;
    unsigned code;
    uint32_t line;
    const char *path;
};

static json_t *gitlab_of(const struct row *rows, size_t count)
{
    struct jr_source sources[8];
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_diag_report report = {.diags = &diags, .root = "/w", .cwd = "/w"};
    for (size_t i = 0; i < count; i++) {
        sources[i] = source(rows[i].file, NULL);
        jr_diags_error(&diags, rows[i].code, span(&sources[i], rows[i].line, 1, 2), rows[i].path,
                       "m%zu", i);
    }
    json_t *json = report_json(&report, JR_DIAG_GITLAB);
    jr_diags_release(&diags);
    return json;
}

static const char *print_of(const json_t *json, size_t i)
{
    const json_t *item = json_array_get(json, i);
    return json_string_value(json_object_get(item, "fingerprint"));
}

TEST(fingerprints_are_unique_and_stay)
{
    static const struct row before[] = {
        {"a", JR_CODE_UNKNOWN_FIELD, 1, "x"},  {"a", JR_CODE_UNKNOWN_FIELD, 2, "x"},
        {"a", JR_CODE_UNKNOWN_FIELD, 3, NULL}, {"a", JR_CODE_UNKNOWN_FIELD, 4, "y"},
        {"a", JR_CODE_FOREIGN_FIELD, 5, "x"},  {"b", JR_CODE_UNKNOWN_FIELD, 6, "x"},
        {"a2", JR_CODE_UNKNOWN_FIELD, 6, "x"},
    };
    static const struct row after[] = {
        {"./a", JR_CODE_UNKNOWN_FIELD, 11, "x"},   {"./a", JR_CODE_UNKNOWN_FIELD, 12, "x"},
        {"c/../a", JR_CODE_UNKNOWN_FIELD, 13, ""}, {"/w/a", JR_CODE_UNKNOWN_FIELD, 14, "y"},
        {"a", JR_CODE_FOREIGN_FIELD, 15, "x"},     {"./b", JR_CODE_UNKNOWN_FIELD, 16, "x"},
        {"./a2", JR_CODE_UNKNOWN_FIELD, 6, "x"},
    };
    json_t *old = gitlab_of(before, sizeof before / sizeof *before);
    json_t *new = gitlab_of(after, sizeof after / sizeof *after);
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        CU_ASSERT_EQUAL(strlen(print_of(old, i)), 64);
        JR_ASSERT_TEXT(print_of(new, i), print_of(old, i));
        for (size_t j = 0; j < i; j++)
            CU_ASSERT_STRING_NOT_EQUAL(print_of(old, i), print_of(old, j));
    }
    json_decref(old);
    json_decref(new);
}

TEST(sarif_reports)
{
    struct jr_source text = source("a b%\xc3\xa9:.yaml", "nods: 2\n");
    RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_diag_report report = {.diags = &diags, .root = "/w", .cwd = "/w"};
    struct jr_span where = span(&text, 1, 1, 5);
    struct jr_diag *diag = jr_diags_error(&diags, JR_CODE_UNKNOWN_FIELD, where, "nods",
                                          "unknown field %s", "[x](http://evil)");
    jr_diag_help(&diags, diag, "did you mean nodes?");
    jr_diag_fix(&diags, diag, where, "nodes");
    jr_diag_relate(&diags, diag, span(&text, 1, 7, 8), "its value");
    json_t *json = report_json(&report, JR_DIAG_SARIF);
    check_at(json, "version", "'2.1.0'");
    check_at(json, "runs.0.columnKind", "'unicodeCodePoints'");
    check_at(json, "runs.0.tool.driver.rules.0.shortDescription", "{'text': 'unknown field'}");
    check_at(json, "runs.0.invocations", "nothing");
    const json_t *result = at(json, "runs.0.results.0");
#define ARTIFACT "'artifactLocation': {'uri': 'a%20b%25%C3%A9%3A.yaml', 'uriBaseId': '%SRCROOT%'}"
#define REGION(from, to)                                                                           \
    "{'startLine': 1, 'startColumn': " from ", 'endLine': 1, 'endColumn': " to "}"
    check_at(result, "level", "'error'");
    check_at(result, "message",
             "{'text': 'unknown field [x] (http://evil)\\n"
             "help: did you mean nodes?'}");
    check_at(result, "locations",
             "[{'physicalLocation': {" ARTIFACT
             ", 'region': " REGION("1", "5") "}, 'logicalLocations': "
                                             "[{'fullyQualifiedName': 'nods'}]}]");
    check_at(result, "relatedLocations",
             "[{'physicalLocation': {" ARTIFACT
             ", 'region': " REGION("7", "8") "}, 'id': 1, "
                                             "'message': {'text': 'its value'}}]");
    check_at(result, "fixes",
             "[{'description': {'text': 'did you mean nodes?'}, "
             "'artifactChanges': [{" ARTIFACT ", 'replacements': "
             "[{'deletedRegion': " REGION("1", "5") ", 'insertedContent': "
                                                    "{'text': 'nodes'}}]}]}]");
    const char *print = json_string_value(at(result, "partialFingerprints.jobrunFieldHash/v1"));
    CU_ASSERT_TRUE(print != NULL && strlen(print) == 64);
    json_decref(json);
}

TEST(sarif_shares_rules)
{
    static const unsigned codes[] = {JR_CODE_WRONG_VALUE, JR_CODE_UNKNOWN_FIELD,
                                     JR_CODE_WRONG_VALUE, 9999};
    static const char *const indices[] = {"0", "1", "0", "nothing"};
    struct jr_source text = source("/else/where", NULL);
    RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_diag_report report = {.diags = &diags, .root = "/w", .cwd = "/w"};
    json_t *none = report_json(&report, JR_DIAG_SARIF);
    check_at(none, "runs.0.results", "[]");
    check_at(none, "runs.0.tool.driver.rules", "[]");
    json_decref(none);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        jr_diags_warning(&diags, codes[i], i == 0 ? (struct jr_span){0} : span(&text, 0, 0, 0),
                         NULL, "m");
    diags.warnings += 5; /* as if more had come */
    json_t *json = report_json(&report, JR_DIAG_SARIF);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "runs.0.results.%zu.ruleIndex", i);
        check_at(json, path, indices[i]);
    }
    check_at(json, "runs.0.results.0.locations", "nothing");
    check_at(json, "runs.0.results.0.level", "'warning'");
    check_at(json, "runs.0.results.1.locations",
             "[{'physicalLocation': {'artifactLocation': {'uri': 'file:///else/where'}, "
             "'region': {'startLine': 1}}}]");
    check_at(json, "runs.0.invocations.0.toolExecutionNotifications.0.message",
             "{'text': '5 more findings are not listed.'}");
    json_decref(json);
}

#define HEAD(counts)                                                                               \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"                                   \
    "  <testsuite name=\"jobrun validate\" " counts " errors=\"0\">\n"
#define TAIL        "  </testsuite>\n</testsuites>\n"
#define NAMED(name) "    <testcase classname=\"jobrun.validate\" name=\"" name "\""

TEST(junit_escapes)
{
    struct jr_source text = source("a", "<&\"'>\x01\xef\xbf\xbf\n");
    RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_checked files[] = {{.name = "<a&\"b\n\xef\xbf\xbe\xff>", .count = 1, .errors = 1}};
    struct jr_diag_report report = {.diags = &diags, .files = files, .files_count = 1};
    jr_diags_error(&diags, JR_CODE_UNKNOWN_FIELD, span(&text, 1, 1, 2), NULL,
                   "]]></failure>\033\n");
    check(&report, JR_DIAG_JUNIT,
          HEAD("tests=\"1\" failures=\"1\"") NAMED(
              "&lt;a&amp;&quot;b\\x0a\xef\xbf\xbd\\xff&gt;") ">\n"
                                                             "      <failure type=\"invalid\" "
                                                             "message=\"1 error\">a:1:1: "
                                                             "error[JR0203]: "
                                                             "]]&gt;&lt;/failure&gt;\\x1b\\x0a\n"
                                                             "   1 | "
                                                             "&lt;&amp;&quot;'&gt;"
                                                             "\\x01\xef\xbf\xbd\n     "
                                                             "| ^\n"
                                                             "</failure>\n    "
                                                             "</testcase>\n" TAIL);
}

/* A case for each file, the good ones too; warnings fail where they count. */
TEST(junit_has_a_case_for_each_file)
{
    struct jr_source base = source("base", NULL);
    RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_checked files[] = {
        {.name = "./good"},
        {.name = "./odd", .first = 0, .count = 1, .warnings = 1},
        {.name = "./bad", .first = 1, .count = 1, .errors = 3, .warnings = 1},
    };
    struct jr_diag_report report = {
        .diags = &diags, .files = files, .files_count = 3, .root = "/w", .cwd = "/w"};
    jr_diags_warning(&diags, JR_CODE_UNKNOWN_FIELD, span(&base, 1, 1, 2), NULL, "w");
    jr_diags_error(&diags, JR_CODE_UNKNOWN_FIELD, span(&base, 1, 1, 2), NULL, "e");
#define BAD                                                                                        \
    NAMED("bad")                                                                                   \
    ">\n      <failure type=\"invalid\" message=\"3 errors and 1 warning\">"                       \
    "base:1:1: error[JR0203]: e\n3 more findings are not shown\n"                                  \
    "</failure>\n    </testcase>\n"
    check(&report, JR_DIAG_JUNIT,
          HEAD("tests=\"3\" failures=\"1\"") NAMED("good") "/>\n" NAMED(
              "odd") ">\n      <system-out>base:1:1: warning[JR0203]: w\n"
                     "</system-out>\n    </testcase>\n" BAD TAIL);
    report.strict = true;
    check(&report, JR_DIAG_JUNIT,
          HEAD("tests=\"3\" failures=\"2\"") NAMED("good") "/>\n" NAMED(
              "odd") ">\n      <failure type=\"invalid\" message=\"1 warning\">"
                     "base:1:1: warning[JR0203]: w\n"
                     "</failure>\n    </testcase>\n" BAD TAIL);
    report.files_count = 0;
    check(&report, JR_DIAG_JUNIT, HEAD("tests=\"0\" failures=\"0\"") TAIL);
}

/* Each line is the finding as the object of the contract has it. */
TEST(jsonl_is_json_by_lines)
{
    struct jr_source text = source("a", "k: v\n");
    RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_diag_report report = {.diags = &diags};
    check(&report, JR_DIAG_JSONL, "");
    jr_diags_error(&diags, JR_CODE_UNKNOWN_FIELD, span(&text, 1, 1, 2), NULL, "a\n\xff");
    jr_diags_warning(&diags, JR_CODE_WRONG_VALUE, span(&text, 1, 4, 5), NULL, "b");
    JR_BUF_CLEANUP struct jr_buf lines = JR_BUF_INIT, expected = JR_BUF_INIT;
    jr_diags_report(&lines, &report, JR_DIAG_JSONL);
    json_t *whole = report_json(&report, JR_DIAG_JSON);
    for (size_t i = 0; i < 2; i++) {
        jr_json_print(&expected, json_array_get(at(whole, "diagnostics"), i), 0);
        jr_buf_char(&expected, '\n');
    }
    JR_ASSERT_TEXT(lines.data, expected.data);
    json_decref(whole);
}

TEST(sums_up)
{
    static const struct {
        size_t errors[2], warnings[2], count;
        bool strict, valid;
        const char *told;
    } vectors[] = {
        {{1, 0}, {0, 0}, 2, false, false, "1 error in 1 file\n"},
        {{3, 2}, {1, 1}, 2, true, false, "5 errors and 2 warnings in 2 files\n"},
        {{0, 0},
         {2, 0},
         2,
         true,
         false,
         "2 specs are valid, but --strict refuses 2 warnings in 1 file\n"},
        {{0, 0}, {1, 0}, 1, false, true, "1 spec is valid, with 1 warning in 1 file\n"},
        {{0, 0}, {0, 0}, 2, true, true, "2 specs are valid\n"},
        {{0, 0}, {0, 0}, 1, false, true, "1 spec is valid\n"},
        {{0, 0}, {0, 0}, 0, false, true, ""},
    };
    JR_EACH(row, vectors) {
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
        struct jr_diags diags = JR_DIAGS_INIT;
        struct jr_checked files[2] = {0};
        for (size_t j = 0; j < 2; j++) {
            diags.errors += files[j].errors = row->errors[j];
            diags.warnings += files[j].warnings = row->warnings[j];
        }
        struct jr_diag_report report = {
            .diags = &diags, .files = files, .files_count = row->count, .strict = row->strict};
        jr_diags_report(&out, &report, JR_DIAG_GITHUB); /* which has no finding to show */
        JR_ASSERT_TEXT(out.data == NULL ? "" : out.data, row->told);
        CU_ASSERT_EQUAL(jr_diag_report_valid(&report), row->valid);
        json_t *json = report_json(&report, JR_DIAG_JSON);
        check_at(json, "valid", row->valid ? "true" : "false");
        json_decref(json);
    }
}

TEST(tells_of_no_memory)
{
    struct jr_diags diags = {.arena.failed = true};
    struct jr_diag_report report = {.diags = &diags};
#define ROW(name, word, help) JR_DIAG_##name,
    static const enum jr_diag_format formats[] = {JR_DIAG_FORMATS(ROW)};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
        jr_diags_report(&out, &report, formats[i]);
        CU_ASSERT_TRUE(out.failed);
    }
}
