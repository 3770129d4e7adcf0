/* Tables of rows: names, conditions, order, formats. */
#include <string.h>

#include "session/sweep/row_table.h"
#include "unit.h"

static const char *const always[] = {"id", "seconds", NULL};

static const struct jr_row_alias aliases[] = {{"took", "seconds"},
                                              {NULL, NULL}};

static const struct jr_row_kind kind = {
    .what = "run", .always = always, .aliases = aliases};

static const struct jr_row_kind bare = {
    .what = "cell", .always = always, .bare = true};

#define ROWS                                                                   \
    "[{\"id\": \"a\", \"vars.lr\": 0.1, \"results.loss\": 3, "                 \
    "\"labels.team\": \"x|y\", \"seconds\": 2},"                               \
    " {\"id\": \"b\", \"vars.lr\": 10, \"results.loss\": null, "               \
    "\"labels.team\": \"vision\"},"                                            \
    " {\"id\": \"c\", \"vars.lr\": 9, \"results.loss\": {\"mean\": 2.5, "      \
    "\"min\": 1, \"max\": 4, \"first\": 4}, \"labels.team\": \"a,\\\"b\"}]"

static void open_rows(struct jr_row_table *table, const char *rows,
                      const struct jr_row_kind *of, enum jr_row_format format)
{
    jr_row_table_init(table, jr_json_parse(rows, strlen(rows), NULL), of,
                      format);
    CU_ASSERT_FALSE_FATAL(table->arena.failed);
}

/* The ids of what is shown, in their order. */
static void check_shown(const struct jr_row_table *table, const char *expected)
{
    struct jr_buf ids = JR_BUF_INIT;
    for (size_t i = 0; i < table->count; i++)
        jr_buf_str(&ids,
                   jr_json_get_str(json_array_get(table->rows, table->order[i]),
                                   "id"));
    JR_ASSERT_TEXT(ids.data == NULL ? "" : ids.data, expected);
    jr_buf_release(&ids);
}

static void conditions_choose_rows(void)
{
    static const struct {
        const char *condition, *shown;
    } vectors[] = {{"vars.lr=0.1", "a"},        {"vars.lr=1e-1", "a"},
                   {"vars.lr==10", "b"},        {"vars.lr>9", "b"},
                   {"vars.lr>=9", "bc"},        {"vars.lr<9", "a"},
                   {"vars.lr<=9", "ac"},        {"vars.lr!=9", "ab"},
                   {"results.loss=2.5", "c"},   {"results.loss!=3", "bc"},
                   {"results.loss<9", "ac"},    {"labels.team=vision", "b"},
                   {"label.team=vision", "b"},  {"label.team!=vision", "ac"},
                   {"labels.team=a,\"b", "c"},  {"took=2", "a"},
                   {"took!=2", "bc"},           {"seconds<9", "a"},
                   {"labels.team>vision", "a"}, {"vars.lr=x", ""},
                   {"labels.team=", ""},        {"labels.team!=", "abc"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_row_table table;
        struct jr_error err = {0};
        char *conditions[] = {(char *)vectors[i].condition, NULL};
        open_rows(&table, ROWS, &kind, JR_ROWS_TEXT);
        CU_ASSERT_EQUAL(jr_row_table_filter(&table, conditions, &err), 0);
        check_shown(&table, vectors[i].shown);
        jr_row_table_release(&table);
    }
}

static void conditions_are_joined(void)
{
    struct jr_row_table table;
    char *conditions[] = {(char *)"vars.lr>1", (char *)"labels.team!=vision",
                          NULL};
    open_rows(&table, ROWS, &kind, JR_ROWS_TEXT);
    CU_ASSERT_EQUAL(jr_row_table_filter(&table, conditions, NULL), 0);
    check_shown(&table, "c");
    CU_ASSERT_EQUAL(jr_row_table_filter(&table, NULL, NULL), 0);
    check_shown(&table, "c");
    jr_row_table_release(&table);
}

static void mistakes_are_told(void)
{
    static const struct {
        const char *condition, *told;
    } vectors[] = {
        {"labels.tem=x", "--where: no run has 'labels.tem': did you mean "
                         "'labels.team'? There are id, seconds, vars.lr, "
                         "results.loss, labels.team"},
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
        struct jr_row_table table;
        struct jr_error err = {0};
        char *conditions[] = {(char *)vectors[i].condition, NULL};
        open_rows(&table, ROWS, &kind, JR_ROWS_TEXT);
        CU_ASSERT_EQUAL(jr_row_table_filter(&table, conditions, &err), -1);
        CU_ASSERT_EQUAL(err.status, JR_STATUS_USAGE);
        JR_ASSERT_TEXT(err.text, vectors[i].told);
        CU_ASSERT_EQUAL(jr_row_table_sort(&table, "-nope", &err), -1);
        CU_ASSERT_EQUAL(jr_row_table_choose(&table, "id,nope", &err), -1);
        jr_row_table_release(&table);
    }
}

static void without_rows_any_name_is_good(void)
{
    struct jr_row_table table;
    char *conditions[] = {(char *)"vars.any=1", NULL};
    open_rows(&table, "[]", &kind, JR_ROWS_TEXT);
    CU_ASSERT_EQUAL(jr_row_table_filter(&table, conditions, NULL), 0);
    CU_ASSERT_EQUAL(jr_row_table_sort(&table, "results.any", NULL), 0);
    jr_row_table_release(&table);
}

static void rows_are_ordered(void)
{
    static const struct {
        const char *sort, *of, *shown;
    } vectors[] = {
        {"vars.lr", NULL, "acb"},       {"-vars.lr", NULL, "bca"},
        {"results.loss", NULL, "cab"},  {"-results.loss", NULL, "acb"},
        {"results.loss", "max", "acb"}, {"results.loss", "min", "cab"},
        {"took", NULL, "abc"},          {"labels.team", NULL, "cba"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_row_table table;
        open_rows(&table, ROWS, &kind, JR_ROWS_TEXT);
        table.of = vectors[i].of;
        CU_ASSERT_EQUAL(jr_row_table_sort(&table, vectors[i].sort, NULL), 0);
        check_shown(&table, vectors[i].shown);
        jr_row_table_release(&table);
    }
}

static void check_table(enum jr_row_format format, const char *expected)
{
    struct jr_row_table table;
    struct jr_buf out = JR_BUF_INIT;
    open_rows(&table, ROWS, &kind, format);
    CU_ASSERT_EQUAL(
        jr_row_table_choose(&table, "labels.team,results.loss,labels.team,took",
                            NULL),
        0);
    jr_row_table_print(&out, &table, NULL);
    JR_ASSERT_TEXT(out.data, expected);
    jr_buf_release(&out);
    jr_row_table_release(&table);
}

static void formats_have_their_marks(void)
{
    check_table(JR_ROWS_TEXT, "id   labels.team   results.loss   seconds\n"
                              "a    x|y           3              2.0\n"
                              "b    vision        -              -\n"
                              "c    a,\"b          1 .. 4         -\n");
    check_table(JR_ROWS_CSV, "id,labels.team,results.loss,seconds\n"
                             "a,x|y,3,2\nb,vision,,\nc,\"a,\"\"b\",2.5,\n");
    check_table(JR_ROWS_MARKDOWN,
                "| id | labels.team | results.loss | seconds |\n"
                "|---|---|---|---|\n"
                "| a | x\\|y | 3 | 2.0 |\n| b | vision | - | - |\n"
                "| c | a,\"b | 1 .. 4 | - |\n");
}

/* A row of a word that means something to each format. */
static void check_word(enum jr_row_format format, const char *expected)
{
    struct jr_row_table table;
    struct jr_buf out = JR_BUF_INIT;
    open_rows(&table,
              "[{\"id\": \"a\", \"vars.w\\u0007\": "
              "\"1\\n\\t\\u001b\\u202e\\\\|<b>\"}]",
              &kind, format);
    CU_ASSERT_EQUAL(jr_row_table_choose(&table, "vars.w\a", NULL), 0);
    jr_row_table_print(&out, &table, NULL);
    JR_ASSERT_TEXT(out.data, expected);
    jr_buf_release(&out);
    jr_row_table_release(&table);
}

/* Programs get texts with their line breaks. Nothing changes a terminal, or
 * makes a field of its own. */
static void words_are_no_marks(void)
{
    check_word(JR_ROWS_CSV,
               "id,vars.w\\x07\na,\"1\n\t\\x1b\\xe2\\x80\\xae\\|<b>\"\n");
    check_word(JR_ROWS_MARKDOWN,
               "| id | vars.w\\\\x07 |\n"
               "|---|---|\n"
               "| a | 1\\\\x0a\\\\x09\\\\x1b\\\\xe2\\\\x80\\\\xae"
               "\\\\\\|\\<b> |\n");
}

static void json_has_the_columns_alone(void)
{
    struct jr_row_table table;
    struct jr_buf out = JR_BUF_INIT;
    open_rows(&table, ROWS, &kind, JR_ROWS_JSON);
    CU_ASSERT_EQUAL(jr_row_table_choose(&table, "results.loss", NULL), 0);
    table.count = 2;
    jr_row_table_print(&out, &table, NULL);
    json_t *list = jr_json_parse(out.data, out.len, NULL);
    jr_buf_clear(&out);
    jr_json_print(&out, list, 0);
    JR_ASSERT_TEXT(out.data, "[{\"id\": \"a\", \"results.loss\": 3}, {\"id\": "
                             "\"b\", \"results.loss\": null}]");
    json_decref(list);
    jr_buf_release(&out);
    jr_row_table_release(&table);
}

static void bare_names_are_results(void)
{
    struct jr_row_table table;
    open_rows(&table, ROWS, &bare, JR_ROWS_TEXT);
    JR_ASSERT_TEXT(jr_row_table_name(&table, "loss,", 4), "results.loss");
    CU_ASSERT_PTR_NULL(jr_row_table_name(&table, "lr", 2));
    JR_ASSERT_TEXT(jr_row_table_heading(&table, "results.loss"), "loss");
    JR_ASSERT_TEXT(jr_row_table_heading(&table, "vars.lr"), "lr");
    CU_ASSERT_TRUE(jr_row_table_differs(&table, "vars.lr"));
    CU_ASSERT_TRUE(jr_row_table_differs(&table, "seconds"));
    CU_ASSERT_FALSE(jr_row_table_differs(&table, "nothing"));
    jr_row_table_release(&table);
}

JR_UNIT_MAIN("row_table", CASE(conditions_choose_rows),
             CASE(conditions_are_joined), CASE(mistakes_are_told),
             CASE(without_rows_any_name_is_good), CASE(rows_are_ordered),
             CASE(formats_have_their_marks), CASE(words_are_no_marks),
             CASE(json_has_the_columns_alone), CASE(bare_names_are_results))
