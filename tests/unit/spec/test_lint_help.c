/* What the finding about a wrong value says may have been meant. */
#include "case.h"

/* The help of the only finding, "" for none; and the text of its fix. */
struct row {
    const char *body, *help, *fix;
};

static void check_row(const struct row *row)
{
    unsigned before = CU_get_number_of_failures();
    BODY_CASE(c, row->body);
    CU_ASSERT_EQUAL(c.diags.count, 1);
    if (c.diags.count == 1) {
        const struct jr_diag *diag = &c.diags.items[0];
        JR_ASSERT_TEXT(diag->code, "JR0211");
        JR_ASSERT_TEXT(diag->help == NULL ? "" : diag->help, row->help);
        if (row->fix == NULL)
            CU_ASSERT_PTR_NULL(diag->fix)
        else
            JR_ASSERT_TEXT(diag->fix == NULL ? NULL : diag->fix->text, row->fix);
    }
    if (CU_get_number_of_failures() != before)
        printf("\n    in: %s\n", row->body);
}

#define CHECK_ROWS(rows)                                                                           \
    for (size_t i = 0; i < sizeof(rows) / sizeof *(rows); i++)                                     \
    check_row(&(rows)[i])

#define RUN(text) "timeouts: {run: " text "}"

TEST(says_how_durations_are_written)
{
    static const struct row rows[] = {
        {RUN("30"), "it needs a unit: 30s, or 30m for minutes, 30h for hours", NULL},
        {RUN("1.5"), "write whole numbers, each with its unit", NULL},
        {RUN("none"), "write 0 for no limit", NULL},
        {RUN("Infinity"), "write 0 for no limit", NULL},
        {RUN("unlimited"), "write 0 for no limit", NULL},
        {RUN("-1"), "write 0 for no limit", NULL},
        {RUN("10min"), "did you mean 10m?", "10m"},
        {RUN("10 minutes"), "did you mean 10m?", "10m"},
        {RUN("1.5h"), "did you mean 1h30m?", "1h30m"},
        {RUN("0.5s"), "did you mean 500ms?", "500ms"},
        {RUN("1 hour 30 mins"), "did you mean 1h30m?", "1h30m"},
        {RUN("30m1h"), "did you mean 1h30m?", "1h30m"},
        {RUN("90 Sec"), "did you mean 1m30s?", "1m30s"},
        {RUN("2w"), "did you mean 14d?", "14d"},
        {RUN("250 msecs"), "did you mean 250ms?", "250ms"},
        {RUN("1 day"), "did you mean 1d?", "1d"},
        {RUN("'2 hrs'"), "did you mean 2h?", "2h"},
        {RUN("01:02:03"), "did you mean 1h2m3s?", "1h2m3s"},
        {RUN("1-00:00:00"), "did you mean 1d?", "1d"},
        {RUN("1-12"), "did you mean 1d12h?", "1d12h"},
        {RUN("1-12:30"), "did you mean 1d12h30m?", "1d12h30m"},
        {RUN("10:30"), "did you mean 10m30s, or 10h30m?", NULL},
        {RUN("1h30"), "write whole numbers, each with d, h, m, s or ms", NULL},
        /* what may be anything is not guessed */
        {RUN("P2M"), "", NULL},
        {RUN("5s3"), "write whole numbers, each with d, h, m, s or ms", NULL},
        {RUN("5 minuts or so"), "write whole numbers, each with d, h, m, s or ms", NULL},
        {RUN("5 parsecs"), "write whole numbers, each with d, h, m, s or ms", NULL},
        {RUN("-x"), "", NULL},
        {RUN("0.0001s"), "write whole numbers, each with d, h, m, s or ms", NULL},
        {RUN("h"), "", NULL},
        {RUN("1e20 s"), "write whole numbers, each with d, h, m, s or ms", NULL},
    };
    CHECK_ROWS(rows);
}

TEST(says_how_sizes_are_written)
{
    static const struct row rows[] = {
        {"log_limit: 64k", "did you mean 64KiB?", NULL},
        {"log_limit: 5 GB", "did you mean 5GiB?", NULL},
        {"log_limit: '64 KiB'", "did you mean 64KiB?", "64KiB"},
        {"log_limit: 64kib", "did you mean 64KiB?", "64KiB"},
        {"log_limit: 1.5GiB", "did you mean 1536MiB?", "1536MiB"},
        {"log_limit: unlimited", "leave it out for no limit", NULL},
        {"limits: {stack: -1}", "write unlimited", NULL},
        {"limits: {nofile: Infinity}", "write unlimited", NULL},
        {"results: {limit: none}", "there is always a limit: write a size such as 64GiB", NULL},
        {"limits: {core: 0.1}", "", NULL},
        {"limits: {core: 5 EiB}", "", NULL},
        {"limits: {core: k}", "", NULL},
        {"limits: {core: 99999999999999999999}", "", NULL},
        {"limits: {core: '-5'}", "", NULL},
    };
    CHECK_ROWS(rows);
}

TEST(says_how_numbers_are_written)
{
    static const struct row rows[] = {
        {"nodes: 010", "", NULL},
        {"nodes: 1_000", "did you mean 1000?", "1000"},
        {"nodes: +4", "did you mean 4?", "4"},
        {"nodes: 1e2", "did you mean 100?", "100"},
        {"nodes: 4.0", "did you mean 4?", "4"},
        {"nodes: 4.5", "", NULL},
        {"nodes: '4'", "quotes make it a string: write 4", "4"},
        {"master_port: 65536", "this is too large: at most 65535", NULL},
        {"master_port: 6_5536", "this is too large: at most 65535", NULL},
        {"nodes: all", "leave it out, or write auto, and jobrun fills it in", NULL},
        {"restart: '3'", "quotes make it a string: write 3", "3"},
        {"restart: 5000000000", "this is too large: at most 4294967295", NULL},
        {"oversubscribe: yes", "did you mean true?", "true"},
        {"oversubscribe: OFF", "did you mean false?", "false"},
        {"oversubscribe: 1", "did you mean true?", "true"},
        {"oversubscribe: 'true'", "quotes make it a string: write true", "true"},
    };
    CHECK_ROWS(rows);
}

TEST(says_how_lists_are_written)
{
    static const struct row rows[] = {
        {"hosts: gpu01", "a list is written in brackets: [gpu01]", "[gpu01]"},
        {"hosts: gpu01 gpu02", "a list is written in brackets: [gpu01, gpu02]", "[gpu01, gpu02]"},
        {"hosts: a, b,c", "a list is written in brackets: [a, b, c]", "[a, b, c]"},
        {"hosts: 'a,b'", "a list is written in brackets: [\"a\", \"b\"]", "[\"a\", \"b\"]"},
        {"env:\n  - A=1", "write each as a name and a value: A: 1", NULL},
        {"env: A=b=c", "write each as a name and a value: A: b=c", NULL},
        {"env: [{A: 1}]", "leave out the brackets around it", NULL},
        {"env:\n  - A: 1", "leave out the '-' before each entry", NULL},
        {"timeouts:\n  - run: 1s", "leave out the '-' before each entry", NULL},
    };
    CHECK_ROWS(rows);
}

/* The entrypoint stands on a line of its own in these. */
static void check_entry(const char *value, const char *help, const char *fix)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&text, "version: 1\nentrypoint: %s\n", value);
    SPEC_CASE(c, text.data);
    CU_ASSERT_EQUAL_FATAL(c.diags.count, 1);
    const struct jr_diag *diag = &c.diags.items[0];
    JR_ASSERT_TEXT(diag->help, help);
    if (fix == NULL)
        CU_ASSERT_PTR_NULL(diag->fix)
    else
        JR_ASSERT_TEXT(diag->fix == NULL ? NULL : diag->fix->text, fix);
}

TEST(says_how_an_entrypoint_is_written)
{
    check_entry("./train --lr 1", "a list is written in brackets: [./train, --lr, 1]",
                "[./train, --lr, 1]");
    check_entry("./train > log", "for a shell command, write {shell: \"./train > log\"}", NULL);
    check_entry("{python: train.py}", "did you mean {script: \"train.py\"}?",
                "{script: \"train.py\"}");
    check_entry("{python: pkg.train}", "did you mean {module: \"pkg.train\"}?",
                "{module: \"pkg.train\"}");
    check_entry("{python: 'pkg.train:main'}", "did you mean {\"function\": \"pkg.train:main\"}?",
                "{\"function\": \"pkg.train:main\"}");
    check_entry("{shell: [a, b]}", "`shell` takes one text; use `command` for a list of arguments",
                NULL);
}
