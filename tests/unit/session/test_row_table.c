/* Tables of rows: names, conditions, order, formats. */
#include "session/sweep/row_table.h"
#include "unit.h"

static const char *const always[] = {"id", "seconds", NULL};

static const struct jr_row_alias aliases[] = {{"took", "seconds"}, {NULL, NULL}};

static const struct jr_row_kind kind = {.what = "run", .always = always, .aliases = aliases};

static const struct jr_row_kind bare = {.what = "cell", .always = always, .bare = true};

#define ROWS                                                                                       \
    "[{\"id\": \"a\", \"vars.lr\": 0.1, \"results.loss\": 3, "                                     \
    "\"labels.team\": \"x|y\", \"seconds\": 2},"                                                   \
    " {\"id\": \"b\", \"vars.lr\": 10, \"results.loss\": null, "                                   \
    "\"labels.team\": \"vision\"},"                                                                \
    " {\"id\": \"c\", \"vars.lr\": 9, \"results.loss\": {\"mean\": 2.5, "                          \
    "\"min\": 1, \"max\": 4, \"first\": 4}, \"labels.team\": \"a,\\\"b\"}]"

static void open_rows(struct jr_row_table *table, const char *rows, const struct jr_row_kind *of,
                      enum jr_row_format format)
{
    jr_row_table_init(table, jr_json_parse(rows, strlen(rows), NULL), of, format);
    CU_ASSERT_FALSE_FATAL(table->arena.failed);
}

/* The ids of what is shown, in their order. */
static void check_shown(const struct jr_row_table *table, const char *expected)
{
    struct jr_buf ids JR_BUF_CLEANUP = JR_BUF_INIT;
    for (size_t i = 0; i < table->count; i++)
        jr_buf_str(&ids, jr_json_get_str(json_array_get(table->rows, table->order[i]), "id"));
    JR_ASSERT_TEXT(ids.data == NULL ? "" : ids.data, expected);
}

TEST(conditions_choose_rows)
{
    EACH_PAIR(condition, shown,
              "vars.lr=0.1 => a|vars.lr=1e-1 => a|vars.lr==10 => b|vars.lr>9 => b|"
              "vars.lr>=9 => bc|vars.lr<9 => a|vars.lr<=9 => ac|vars.lr!=9 => ab|"
              "results.loss=2.5 => c|results.loss!=3 => bc|results.loss<9 => ac|"
              "labels.team=vision => b|label.team=vision => b|label.team!=vision => ac|"
              "labels.team=a,\"b => c|took=2 => a|took!=2 => bc|seconds<9 => a|"
              "labels.team>vision => a|vars.lr=x => |labels.team= => |labels.team!= => abc") {
        struct jr_row_table table RELEASE(jr_row_table_release);
        struct jr_error err = {0};
        char *conditions[] = {(char *)condition, NULL};
        open_rows(&table, ROWS, &kind, JR_ROWS_TEXT);
        CU_ASSERT_EQUAL(jr_row_table_filter(&table, conditions, &err), 0);
        check_shown(&table, shown);
    }
}

TEST(mistakes_are_told)
{
    static const struct {
        const char *condition, *told;
    } vectors[] = {{"labels.tem=x", "--where: no run has 'labels.tem': did you mean 'labels.team'? "
                                    "There are id, seconds, vars.lr, results.loss, labels.team"},
                   {"lr=x", "--where: no run has 'lr': did you mean 'vars.lr'? There are "
                            "id, seconds, vars.lr, results.loss, labels.team"},
                   {"loss=x", "--where: no run has 'loss': did you mean 'results.loss'? "
                              "There are id, seconds, vars.lr, results.loss, labels.team"},
                   {"q\033=x", "--where: no run has 'q\\x1b'. There are id, seconds, "
                               "vars.lr, results.loss, labels.team"},
                   {"=x", "--where wants a condition like status=failed or "
                          "results.loss<0.5, not '=x'"},
                   {"id", "--where wants a condition like status=failed or "
                          "results.loss<0.5, not 'id'"},
                   {"id!x", "--where wants a condition like status=failed or "
                            "results.loss<0.5, not 'id!x'"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_row_table table RELEASE(jr_row_table_release);
        struct jr_error err = {0};
        char *conditions[] = {(char *)vectors[i].condition, NULL};
        open_rows(&table, ROWS, &kind, JR_ROWS_TEXT);
        CU_ASSERT_EQUAL(jr_row_table_filter(&table, conditions, &err), -1);
        CU_ASSERT_EQUAL(err.status, JR_STATUS_USAGE);
        JR_ASSERT_TEXT(err.text, vectors[i].told);
        CU_ASSERT_EQUAL(jr_row_table_sort(&table, "-nope", &err), -1);
        CU_ASSERT_EQUAL(jr_row_table_choose(&table, "id,nope", &err), -1);
    }
}

TEST(rows_are_ordered)
{
    static const struct {
        const char *sort, *of, *shown;
    } vectors[] = {{"vars.lr", NULL, "acb"},       {"-vars.lr", NULL, "bca"},
                   {"results.loss", NULL, "cab"},  {"-results.loss", NULL, "acb"},
                   {"results.loss", "max", "acb"}, {"results.loss", "min", "cab"},
                   {"took", NULL, "abc"},          {"labels.team", NULL, "cba"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_row_table table RELEASE(jr_row_table_release);
        open_rows(&table, ROWS, &kind, JR_ROWS_TEXT);
        table.of = vectors[i].of;
        CU_ASSERT_EQUAL(jr_row_table_sort(&table, vectors[i].sort, NULL), 0);
        check_shown(&table, vectors[i].shown);
    }
}

static void check_table(enum jr_row_format format, const char *expected)
{
    struct jr_row_table table RELEASE(jr_row_table_release);
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    open_rows(&table, ROWS, &kind, format);
    CU_ASSERT_EQUAL(jr_row_table_choose(&table, "labels.team,results.loss,labels.team,took", NULL),
                    0);
    jr_row_table_print(&out, &table, NULL);
    JR_ASSERT_TEXT(out.data, expected);
}

TEST(formats_have_their_marks)
{
    check_table(JR_ROWS_TEXT,
                "id   labels.team   results.loss   seconds\na    x|y           3              "
                "2.0\nb    vision        -              -\nc    a,\"b          1 .. 4         -\n");
    check_table(JR_ROWS_CSV, "id,labels.team,results.loss,seconds\n"
                             "a,x|y,3,2\nb,vision,,\nc,\"a,\"\"b\",2.5,\n");
    check_table(JR_ROWS_MARKDOWN,
                "| id | labels.team | results.loss | seconds |\n|---|---|---|---|\n| a | x\\|y | 3 "
                "| 2.0 |\n| b | vision | - | - |\n| c | a,\"b | 1 .. 4 | - |\n");
}

/* A row of a word that means something to each format. */
static void check_word(enum jr_row_format format, const char *expected)
{
    struct jr_row_table table RELEASE(jr_row_table_release);
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    open_rows(&table, "[{\"id\": \"a\", \"vars.w\\u0007\": \"1\\n\\t\\u001b\\u202e\\\\|<b>\"}]",
              &kind, format);
    CU_ASSERT_EQUAL(jr_row_table_choose(&table, "vars.w\a", NULL), 0);
    jr_row_table_print(&out, &table, NULL);
    JR_ASSERT_TEXT(out.data, expected);
}

/* Programs get texts with their line breaks. Nothing changes a terminal, or makes a field of its
 * own. */
TEST(words_are_no_marks)
{
    check_word(JR_ROWS_CSV, "id,vars.w\\x07\na,\"1\n\t\\x1b\\xe2\\x80\\xae\\|<b>\"\n");
    check_word(JR_ROWS_MARKDOWN, "| id | vars.w\\\\x07 |\n"
                                 "|---|---|\n"
                                 "| a | 1\\\\x0a\\\\x09\\\\x1b\\\\xe2\\\\x80\\\\xae"
                                 "\\\\\\|\\<b> |\n");
}

TEST(bare_names_are_results)
{
    struct jr_row_table table RELEASE(jr_row_table_release);
    open_rows(&table, ROWS, &bare, JR_ROWS_TEXT);
    JR_ASSERT_TEXT(jr_row_table_name(&table, "loss,", 4), "results.loss");
    CU_ASSERT_PTR_NULL(jr_row_table_name(&table, "lr", 2));
    JR_ASSERT_TEXT(jr_row_table_heading(&table, "results.loss"), "loss");
    JR_ASSERT_TEXT(jr_row_table_heading(&table, "vars.lr"), "lr");
    CU_ASSERT_TRUE(jr_row_table_differs(&table, "vars.lr"));
    CU_ASSERT_TRUE(jr_row_table_differs(&table, "seconds"));
    CU_ASSERT_FALSE(jr_row_table_differs(&table, "nothing"));
}

/* A status that is none is refused, and what others call so is told; of other names any text is
 * good. */
TEST(statuses_are_those_of_runs)
{
    static const struct {
        const char *text, *meant; /* NULL: it is none of ours, and no mistake */
    } vectors[] = {{"done", "succeeded"},      {"finished", "succeeded"},
                   {"completed", "succeeded"}, {"complete", "succeeded"},
                   {"success", "succeeded"},   {"ok", "succeeded"},
                   {"PASSED", "succeeded"},    {"error", "failed"},
                   {"crashed", "failed"},      {"killed", "stopped"},
                   {"cancelled", "stopped"},   {"canceled", "stopped"},
                   {"aborted", "stopped"},     {"timeout", "timed_out"},
                   {"pending", "not_started"}, {"queued", "not_started"},
                   {"active", "running"},      {"broken", "damaged"},
                   {"faild", "failed"},        {"launch", "launch_failed"},
                   {"failed", NULL},           {"lost", NULL},
                   {"running", NULL},          {"damaged", NULL},
                   {"anything", NULL}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_row_table table RELEASE(jr_row_table_release);
        struct jr_error err = {0};
        char status[64], team[64], told[256];
        (void)snprintf(status, sizeof status, "status=%s", vectors[i].text);
        (void)snprintf(team, sizeof team, "id=%s", vectors[i].text);
        char *conditions[] = {status, NULL}, *others[] = {team, NULL};
        open_rows(&table, "[{\"id\": \"a\", \"status\": \"failed\"}]", &kind, JR_ROWS_TEXT);
        int result = jr_row_table_filter(&table, conditions, &err);
        CU_ASSERT_EQUAL(result, vectors[i].meant == NULL ? 0 : -1);
        (void)snprintf(told, sizeof told,
                       "--where: no run has the status '%s'; did you mean status=%s?",
                       vectors[i].text, vectors[i].meant);
        JR_ASSERT_TEXT(err.text, vectors[i].meant == NULL ? "" : told);
        CU_ASSERT_EQUAL(jr_row_table_filter(&table, others, &err), 0);
    }
}

/* A field of the results goes before a name of every row that yields. */
TEST(some_names_yield_to_results)
{
    static const char *const yielding[] = {"id", "seconds", NULL};
    static const struct jr_row_kind yields = {
        .what = "cell", .always = always, .yielding = yielding, .bare = true};
    struct jr_row_table table RELEASE(jr_row_table_release);
    open_rows(&table, "[{\"id\": \"a\", \"results.seconds\": 3}]", &yields, JR_ROWS_TEXT);
    JR_ASSERT_TEXT(jr_row_table_name(&table, "seconds", 7), "results.seconds");
    JR_ASSERT_TEXT(jr_row_table_name(&table, "id", 2), "id");
}

static void check_values(enum jr_row_format format, const char *expected)
{
    static const char rows[] = "[{\"id\": \"a\", \"cell\": 7, \"seconds\": 1.26, \"started\": "
                               "86399.5, \"x\": true, \"y\": \"two\\nlines\", \"z\": [1, \"b\"]}, "
                               "{\"id\": \"b\", \"cell\": \"none\", \"seconds\": \"long\", "
                               "\"started\": null, \"x\": 0.1, \"y\": \"q\\\"\", \"z\": "
                               "{\"mean\": 0.5, \"min\": 0.25, \"max\": 0.75}}]";
    struct jr_row_table table RELEASE(jr_row_table_release);
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    open_rows(&table, rows, &kind, format);
    CU_ASSERT_EQUAL(jr_row_table_choose(&table, "cell,seconds,started,x,y,z", NULL), 0);
    jr_row_table_print(&out, &table, NULL);
    JR_ASSERT_TEXT(out.data, expected);
}

TEST(values_are_written_as_what_they_are)
{
    check_values(JR_ROWS_TEXT,
                 "id   cell   seconds   started                x      y              z\na    0007  "
                 " 1.3       1970-01-01T23:59:59Z   true   two\\x0alines   [1, \"b\"]\nb    none   "
                 "long      -                      0.1    q\"             0.25 .. 0.75\n");
    check_values(JR_ROWS_CSV, "id,cell,seconds,started,x,y,z\na,7,1.26,86399.5,true,\"two\nlines\","
                              "\"[1, \"\"b\"\"]\"\nb,none,long,,0.1,\"q\"\"\",0.5\n");
}

/* Numbers first, then texts, then those without; equal ones as they came. */
TEST(values_of_every_kind_are_ordered)
{
    static const char rows[] = "[{\"id\": \"a\", \"x\": \"t\"}, {\"id\": \"b\"}, "
                               "{\"id\": \"c\", \"x\": true}, {\"id\": \"d\", \"x\": 0.5}, "
                               "{\"id\": \"e\", \"x\": \"s\"}, {\"id\": \"f\", \"x\": false}, "
                               "{\"id\": \"g\", \"x\": 1}, {\"id\": \"h\"}]";
    struct jr_row_table table RELEASE(jr_row_table_release);
    open_rows(&table, rows, &kind, JR_ROWS_TEXT);
    CU_ASSERT_EQUAL(jr_row_table_sort(&table, "x", NULL), 0);
    check_shown(&table, "fdcgeabh");
    CU_ASSERT_EQUAL(jr_row_table_sort(&table, "-x", NULL), 0);
    check_shown(&table, "aecgdfbh");
}

/* So many names are told, and that there are more. */
TEST(the_first_names_are_told)
{
    for (int names = 22; names <= 23; names++) {
        struct jr_row_table table RELEASE(jr_row_table_release);
        struct jr_error err = {0};
        json_t *row = json_object(), *rows = json_array();
        char name[16];
        jr_json_set_str(row, "id", "a");
        for (int i = 0; i < names; i++) {
            (void)snprintf(name, sizeof name, "n%02d", i);
            jr_json_set_int(row, name, i);
        }
        jr_json_append(rows, row);
        jr_row_table_init(&table, rows, &kind, JR_ROWS_TEXT);
        CU_ASSERT_EQUAL(jr_row_table_sort(&table, "qqqq", &err), -1);
        size_t len = strlen(err.text);
        const char *end = names == 22 ? ", n20, n21" : ", n20, n21, ...";
        CU_ASSERT_TRUE(len > strlen(end) && strcmp(err.text + len - strlen(end), end) == 0);
    }
}

/* What a row has stays; what it lacks gets its prefix. */
TEST(members_are_added)
{
    static const char own[] = "{\"v.a\": 1}", others[] = "{\"a\": 2, \"b\": [3]}";
    json_auto_t *row = jr_json_parse(own, sizeof own - 1, NULL);
    json_auto_t *more = jr_json_parse(others, sizeof others - 1, NULL);
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_row_add_members(row, more, "v.");
    jr_row_add_members(row, NULL, "w.");
    jr_json_print(&text, row, 0);
    JR_ASSERT_TEXT(text.data, "{\"v.a\": 1, \"v.b\": [3]}");
}
