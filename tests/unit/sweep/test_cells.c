/* Cells: their order, their numbers, their values, and which one a text means. */
#include "sweep/cells.h"
#include "swept.h"

#define TEXT_OF(text) ((char[]){text})

/* "0.1 1|0.1 2|...": the values of all cells. */
static void add_cells(struct jr_buf *out, const struct jr_cells *cells)
{
    struct jr_stated_value values[8];
    for (size_t i = 0; i < cells->count; i++) {
        size_t count = jr_cells_values(cells, i, values);
        jr_buf_str(out, i == 0 ? "" : "|");
        for (size_t j = 0; j < count; j++) {
            jr_buf_str(out, j == 0 ? "" : " ");
            jr_cell_value_text(out, values[j].value);
        }
    }
}

static void check_cells(const char *body, const char *expected)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    SWEPT(s, body, NULL);
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_EQUAL(s.diags.count, 0);
    if (s.status == 0)
        add_cells(&text, &s.spec.cells);
    JR_ASSERT_TEXT(text.data == NULL ? "" : text.data, expected);
}

TEST(are_the_product_the_last_axis_fastest)
{
    check_cells("sweep: {axes: {vars.lr: [0.1, 0.01], vars.seed: [1, 2]}}\n",
                "0.1 1|0.1 2|0.01 1|0.01 2");
    check_cells("sweep: {axes: {\"vars.lr,vars.seed\": [[1, 2], [3, 4]]}}\n", "1 2|3 4");
}

TEST(are_numbered_without_gaps)
{
    check_cells("sweep:\n  axes: {vars.lr: [1, 2, 3], vars.seed: [1, 2]}\n"
                "  exclude: [{vars.lr: 2}, {vars.lr: 3, vars.seed: 1}]\n"
                "  include: [{vars.lr: 9}, {vars.lr: 2, vars.seed: 2}]\n",
                "1 1|1 2|3 2|9|2 2");
}

/* What is excluded may be named by any field of an axis. */
TEST(are_excluded_by_each_field)
{
    check_cells("sweep:\n  axes: {\"vars.lr,vars.seed\": [[1, 2], [3, 4], [5, "
                "6]]}\n  exclude: [{vars.lr: 1}, {vars.seed: 6}]\n",
                "3 4");
    check_cells("sweep:\n  axes: {\"vars.lr,vars.seed\": [[1, 2], [1, 4], [3, 2], [3, 4]], "
                "world_size: [1, 2]}\n  exclude: [{vars.seed: 4, vars.lr: 1}, {vars.lr: 3, "
                "world_size: 2}, {world_size: 2, vars.lr: 3}, {world_size: 1, vars.seed: 2}]\n",
                "1 2 2|3 4 1");
}

/* Which value of each axis a cell has; what is included has none of them. */
TEST(know_their_places_in_the_product)
{
    static const long expected[][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}, {-1, -1}};
    SWEPT(s, "sweep: {axes: {vars.lr: [1, 2], vars.seed: [1, 2, 3]}, include: [{vars.lr: 9}]}\n",
          NULL);
    CU_ASSERT_EQUAL_FATAL(s.spec.cells.count, 7);
    for (size_t i = 0; i < 7; i++)
        for (size_t axis = 0; axis < 2; axis++)
            CU_ASSERT_EQUAL(jr_cells_value_index(&s.spec.cells, i, axis), expected[i][axis]);
}

/* An entry that names no cell is a warning, and one that says what another has said is refused. */
TEST(are_named_by_entries_that_say_something)
{
    static const struct {
        const char *body;
        int status;
        const char *message, *help;
        unsigned column; /* of the entry */
    } vectors[] = {{"sweep: {axes: {vars.lr: [1, 2]}, exclude: [{vars.lr: 1.0}]}\n", 0,
                    "no combination of the axes has these values",
                    "values are compared by type: 1 is not 1.0", 44},
                   {"sweep: {include: [{vars.lr: 1, vars.seed: 2}, {vars.lr: 2}, "
                    "{vars.seed: 2, vars.lr: 1}]}\n",
                    -1, "this cell is included twice", NULL, 61},
                   {"sweep: {include: [{vars.lr: 1}, {vars.lr: 1.0}]}\n", 0, NULL, NULL, 0}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        SWEPT(s, vectors[i].body, NULL);
        CU_ASSERT_EQUAL(s.status, vectors[i].status);
        CU_ASSERT_EQUAL(s.diags.errors, vectors[i].status != 0);
        CU_ASSERT_EQUAL_FATAL(s.diags.count, vectors[i].message != NULL);
        const struct jr_diag *diag = s.diags.items;
        if (vectors[i].message != NULL) {
            JR_ASSERT_TEXT(diag->message, vectors[i].message);
            CU_ASSERT_EQUAL(diag->span.column, vectors[i].column);
        }
        if (vectors[i].help != NULL)
            JR_ASSERT_TEXT(diag->help, vectors[i].help);
    }
}

/* With `include` there can be one too many. */
TEST(are_100000_at_most)
{
    static const struct {
        const char *body;
        int status;
    } vectors[] = {
        {"sweep: {axes: {vars.lr: {from: 1, to: 1000}, vars.seed: {from: 1, to: 100}}}\n", 0},
        {"sweep: {axes: {vars.lr: {from: 1, to: 1000}, vars.seed: {from: 1, "
         "to: 100}}, include: [{vars.lr: 0}]}\n",
         -1}};
    for (size_t i = 0; i < 2; i++) {
        SWEPT(s, vectors[i].body, NULL);
        CU_ASSERT_EQUAL(s.status, vectors[i].status);
        CU_ASSERT_EQUAL(s.diags.errors, i);
        if (i == 1)
            JR_ASSERT_TEXT(s.diags.items[0].message, "the axes and `include` make more than 100000 "
                                                     "cells");
    }
}

TEST(may_be_included_alone)
{
    check_cells("sweep: {include: [{vars.lr: 1}, {threads: 2, vars.lr: 1}]}\n", "1|2 1");
}

/* What states other fields than the axes, or not all of theirs, is no cell of the product. */
TEST(may_be_included_beside_the_axes)
{
    static const char *const others[][2] = {{"{vars.lr: 1}", "1"},
                                            {"{vars.seed: 2}", "2"},
                                            {"{vars.lr: 1, threads: 2}", "1 2"},
                                            {"{threads: 2, vars.lr: 1}", "2 1"},
                                            {"{vars.lr: 1, vars.seed: 2, threads: 2}", "1 2 2"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char body[160], expected[64];
        (void)snprintf(body, sizeof body,
                       "sweep: {axes: {vars.lr: [1, 2], vars.seed: [1, 2]}, include: [%s]}\n",
                       others[i][0]);
        (void)snprintf(expected, sizeof expected, "1 1|1 2|2 1|2 2|%s", others[i][1]);
        check_cells(body, expected);
    }
}

/* For room for all of them. */
TEST(know_how_many_values_one_has)
{
    static const struct {
        const char *body;
        size_t most;
    } vectors[] = {
        {"sweep: {axes: {vars.lr: [1], \"vars.seed,threads\": [[1, 2]]}, "
         "include: [{vars.lr: 2}]}\n",
         3},
        {"sweep: {axes: {vars.lr: [1, 2]}, include: [{vars.lr: 1, threads: 2}, {vars.lr: 3}]}\n",
         2},
        {"sweep: {include: [{vars.lr: 1}, {vars.lr: 2, vars.seed: 3}]}\n", 2}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        SWEPT(s, vectors[i].body, NULL);
        CU_ASSERT_EQUAL(s.status, 0);
        CU_ASSERT_EQUAL(s.spec.cells.most_values, vectors[i].most);
    }
}

TEST(count_what_ranges_hit)
{
    check_cells("sweep: {axes: {vars.lr: {from: 0.1, to: 0.3, step: 0.1}}}\n", "0.1|0.2|0.3");
    check_cells("sweep: {axes: {vars.lr: {from: 3, to: 0, step: -2}}}\n", "3|1");
    check_cells("sweep: {axes: {vars.lr: {from: 1, to: -1}}}\n", "1|0|-1");
    check_cells("sweep: {axes: {vars.lr: {from: 0, to: 1, step: 0.4}}}\n", "0|0.4|0.8");
}

TEST(are_drawn_alike_for_all_others)
{
    struct swept few, many;
    struct jr_stated_value a[2], b[2];
    swept_open(&few,
               "sweep: {axes: {vars.lr: {uniform: [0, 1]}, vars.seed: [1, 2]}, "
               "samples: 3, seed: 7}\n",
               NULL);
    swept_open(&many,
               "sweep: {axes: {vars.lr: {uniform: [0, 1]}, vars.seed: [1, 2, "
               "3]}, samples: 5, seed: 7}\n",
               NULL);
    CU_ASSERT_EQUAL(few.spec.cells.count, 6);
    CU_ASSERT_EQUAL(many.spec.cells.count, 15);
    for (size_t i = 0; i < 3; i++) {
        (void)jr_cells_values(&few.spec.cells, 3 + i, a);
        (void)jr_cells_values(&many.spec.cells, 10 + i, b);
        JR_ASSERT_TEXT(a[1].value->text, b[1].value->text);
    }
    /* SHA-256 of "7:vars.lr:0" begins with 0x9f7d2f0c.. */
    (void)jr_cells_values(&few.spec.cells, 0, a);
    CU_ASSERT_TRUE(a[1].value->text[0] == '0');
    swept_close(&few);
    swept_close(&many);
}

TEST(leave_out_equal_draws)
{
    SWEPT(s, "sweep: {axes: {vars.lr: {integers: [1, 2]}}, samples: 40}\n", NULL);
    CU_ASSERT_EQUAL(s.spec.cells.count, 2);
    CU_ASSERT_EQUAL(s.diags.warnings, 1);
}

TEST(are_refused_if_none_is_left)
{
    SWEPT(s, "sweep: {axes: {vars.lr: [1, 2]}, exclude: [{vars.lr: 1}, {vars.lr: 2}]}\n", NULL);
    CU_ASSERT_EQUAL(s.status, -1);
    CU_ASSERT_EQUAL(s.diags.errors, 1);
}

TEST(take_the_axes_of_options)
{
    char *const sweeps[] = {TEXT_OF("vars.lr=0.5,'a,b',[1, 2]"), TEXT_OF("threads=1..2"), NULL};
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    SWEPT(s, "sweep: {axes: {vars.lr: [1], vars.seed: [7]}}\n", sweeps);
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    add_cells(&text, &s.spec.cells);
    JR_ASSERT_TEXT(text.data, "7 0.5 1|7 0.5 2|7 a,b 1|7 a,b 2|7 [1, 2] 1|7 [1, 2] 2");
}

TEST(have_values_by_type)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    SWEPT(s,
          "sweep: {include: [{vars.lr: 1, vars.seed: \"1\", threads: 2, "
          "env.A: [1.5, null, true, {b: ~, c: x}]}]}\n",
          NULL);
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    json_t *json = jr_cells_json(&s.spec.cells, 0);
    jr_json_print(&text, json, 0);
    JR_ASSERT_TEXT(text.data, "{\"vars.lr\": 1, \"vars.seed\": \"1\", \"threads\": 2, \"env.A\": "
                              "[1.5, null, true, {\"b\": null, \"c\": \"x\"}]}");
    json_decref(json);
    jr_buf_clear(&text);
    jr_cells_text(&text, &s.spec.cells, 0);
    JR_ASSERT_TEXT(text.data, "vars.lr=1,vars.seed=\"1\",threads=2,"
                              "env.A=[1.5, null, true, {b: null, c: x}]");
}

/* What JSON has no number for is a string. */
TEST(have_numbers_as_json_has_them)
{
    EACH_PAIR(given, wanted,
              "+5 => 5|-5 => -5|+1.5 => 1.5|\"1.5\" => \"1.5\"|\"true\" => \"true\"|True => true|"
              "TRUE => true|false => false|False => false|"
              "9223372036854775807 => 9223372036854775807|.inf => \".inf\"|"
              "9223372036854775808 => \"9223372036854775808\"") {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        struct jr_diags diags RELEASE(jr_diags_release) = JR_DIAGS_INIT;
        struct jr_doc doc RELEASE(jr_doc_release) = JR_DOC_INIT;
        CU_ASSERT_EQUAL_FATAL(jr_doc_load_value(&doc, "v", given, 0, &diags), 0);
        json_auto_t *json = jr_cell_value_json(doc.root);
        jr_json_print(&text, json, 0);
        JR_ASSERT_TEXT(text.data, wanted);
    }
}

#define GRID "sweep: {axes: {vars.lr: [0.1, 0.01], vars.seed: [1, 2, 3]}}\n"

TEST(are_chosen_by_number_or_values)
{
    static const struct {
        const char *text;
        long cell; /* -1: none */
    } vectors[] = {{"6", -1},
                   {"-1", -1},
                   {"", -1},
                   {"vars.lr=0.1", -1},
                   {"vars.lr=0.5,vars.seed=1", -1},
                   {"vars.lx=0.1", -1},
                   {"vars.lr", -1},
                   {"vars.lr=0.1,", -1},
                   {"99999999999999999999", -1},
                   {"00006", -1},
                   {"0", 0},
                   {"00", 0},
                   {"0005", 5},
                   {"vars.lr=1e-2,vars.seed=2", 4},
                   {"vars.seed=3,vars.lr=0.1", 2}};
    SWEPT(s, GRID, NULL);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_error err = {0};
        size_t cell = 77;
        int status = jr_cells_choose(&cell, &s.spec.cells, vectors[i].text, &err);
        CU_ASSERT_EQUAL(status, vectors[i].cell < 0 ? -1 : 0);
        CU_ASSERT_EQUAL(cell, vectors[i].cell < 0 ? 77 : (size_t)vectors[i].cell);
        CU_ASSERT_EQUAL(err.status, vectors[i].cell < 0 ? JR_STATUS_USAGE : 0);
    }
}

static void check_choice(const char *body, const char *text, const char *expected)
{
    struct jr_error err = {0};
    size_t cell;
    SWEPT(s, body, NULL);
    CU_ASSERT_EQUAL(jr_cells_choose(&cell, &s.spec.cells, text, &err), -1);
    JR_ASSERT_TEXT(err.text, expected);
}

TEST(say_which_ones_a_choice_leaves)
{
    check_choice(GRID, "6", "there is no cell 6: the sweep has cells 0 to 5");
    check_choice(GRID, "vars.lr=0.01",
                 "vars.lr=0.01 is true of 3 cells (3, 4, 5): state more values, or a number");
    check_choice(GRID, "vars.lx=1",
                 "'vars.lx' is not an axis of the sweep; the axes are vars.lr, vars.seed");
    check_choice(GRID, "latest",
                 "'latest' is neither the number of a cell (0 to 5) "
                 "nor its values (vars.lr=0.1,vars.seed=1)");
    check_choice(GRID, "vars.seed=4", "no cell has vars.seed=4: vars.seed is 1, 2 or 3");
    check_choice(GRID, "vars.lr=7", "no cell has vars.lr=7: vars.lr is 0.1 or 0.01");
    check_choice(GRID, "vars.lr=[1", "no cell has vars.lr=[1: vars.lr is 0.1 or 0.01");
    check_choice(GRID, "vars.lr=", "no cell has vars.lr=: vars.lr is 0.1 or 0.01");
    check_choice(GRID, "vars.seed=1,vars.lr=7", "no cell has vars.lr=7: vars.lr is 0.1 or 0.01");
    check_choice(GRID, "vars.see=1",
                 "'vars.see' is not an axis of the sweep; the axes are vars.lr, vars.seed");
    check_choice(GRID, "x=1", "'x' is not an axis of the sweep; the axes are vars.lr, vars.seed");
    check_choice(GRID, "=1",
                 "'=1' is neither the number of a cell (0 to 5) nor its "
                 "values (vars.lr=0.1,vars.seed=1)");
}

/* Of many, the first are told. */
TEST(say_the_first_of_many)
{
    static const char two[] = "sweep: {axes: {vars.lr: [1, 2], vars.seed: {from: 1, to: 9}}}\n";
    static const char four[] = "sweep: {axes: {vars.lr: [1, 2], vars.seed: {from: 1, to: 4}}}\n";
    check_choice(two, "vars.lr=2",
                 "vars.lr=2 is true of 9 cells (9, 10, 11, 12, ...): state "
                 "more values, or a number");
    check_choice(four, "vars.lr=2",
                 "vars.lr=2 is true of 4 cells (4, 5, 6, 7): state more values, or a number");
    check_choice(two, "vars.seed=0",
                 "no cell has vars.seed=0: vars.seed is 1, 2, 3, 4, 5, 6, 7, 8, ...");
    check_choice("sweep: {axes: {vars.seed: {from: 1, to: 8}}}\n", "vars.seed=0",
                 "no cell has vars.seed=0: vars.seed is 1, 2, 3, 4, 5, 6, 7 or 8");
    check_choice("sweep: {axes: {\"vars.lr,vars.seed\": [[1, 2], [3, 4]]}}\n", "vars.x=0",
                 "'vars.x' is not an axis of the sweep; the axes are vars.lr, vars.seed");
    check_choice("sweep: {include: [{vars.lr: 1}, {vars.lr: 2}]}\n", "vars.x=0",
                 "'vars.x' is not an axis of the sweep");
    check_choice("sweep: {axes: {vars.lr: [1]}}\n", "vars.x=0",
                 "'vars.x' is not an axis of the sweep; the axes are vars.lr");
    check_choice("sweep: {axes: {vars.lr: [1]}}\n", "vars.lr=2",
                 "no cell has vars.lr=2: vars.lr is 1");
}

TEST(say_the_first_of_many_axes)
{
#define EIGHT "env.A, env.B, env.C, env.D, env.E, env.F, env.G, env.H"
    static const char *const vectors[][2] = {
        {"sweep: {axes: {\"" EIGHT "\": [[1, 2, 3, 4, 5, 6, 7, 8]]}}\n",
         "'vars.x' is not an axis of the sweep; the axes are " EIGHT},
        {"sweep: {axes: {\"" EIGHT "\": [[1, 2, 3, 4, 5, 6, 7, 8]], vars.lr: [1]}}\n",
         "'vars.x' is not an axis of the sweep; the axes are " EIGHT ", ..."}};
#undef EIGHT
    for (size_t i = 0; i < 2; i++)
        check_choice(vectors[i][0], "vars.x=0", vectors[i][1]);
}

static void check_made_already(const char *body)
{
    SWEPT(s, body, NULL);
    CU_ASSERT_EQUAL(s.status, -1);
    CU_ASSERT_EQUAL_FATAL(s.diags.errors, 1);
    JR_ASSERT_TEXT(s.diags.items[0].message, "the axes make this cell already");
}

/* Each place of the product, the first of an axis and the last. */
TEST(are_not_included_once_more)
{
    for (int i = 0; i < 4; i++) {
        char body[160];
        (void)snprintf(body, sizeof body,
                       "sweep: {axes: {vars.lr: [1, 2], vars.seed: [1, 2]}, include: [{vars.lr: "
                       "7}, {vars.lr: %d, vars.seed: %d}]}\n",
                       1 + i / 2, 1 + i % 2);
        check_made_already(body);
    }
    check_made_already("sweep: {axes: {vars.lr: [1, 2]}, include: [{vars.lr: 2}]}\n");
}

/* The heading and the rows, a line each. */
static void check_columns(const char *body, const char *expected)
{
    struct jr_cell_columns columns;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    SWEPT(s, body, NULL);
    jr_cell_columns_init(&columns, &s.spec.cells);
    jr_cell_columns_head(&text, &columns);
    for (size_t i = 0; i < s.spec.cells.count; i++) {
        jr_buf_char(&text, '\n');
        jr_cell_columns_row(&text, &columns, i);
    }
    JR_ASSERT_TEXT(text.data, expected);
    jr_cell_columns_release(&columns);
}

TEST(make_columns_as_wide_as_their_values)
{
    check_columns("sweep: {axes: {vars.lr: [0.1, 0.0001]}, include: [{vars.lr: 2, threads: 4}]}\n",
                  "lr      threads  \n0.1     -        \n0.0001  -        \n2       4        ");
    check_columns("sweep: {axes: {\"vars.lr,vars.seed\": [[1234, 5], [6, 789012]]}}\n",
                  "lr    seed    \n1234  5       \n6     789012  ");
    check_columns("sweep: {axes: {vars.lr: [1], vars.seed: [23456]}}\n", "lr  seed   \n"
                                                                         "1   23456  ");
    check_columns("sweep: {include: [{vars.lr: 12345}, {vars.seed: 1}]}\n",
                  "lr     seed  \n12345  -     \n-      1     ");
}

TEST(name_columns_by_their_last_word)
{
    JR_ASSERT_TEXT(jr_cell_column_name("vars.lr"), "lr");
    JR_ASSERT_TEXT(jr_cell_column_name("extends.model"), "model");
    JR_ASSERT_TEXT(jr_cell_column_name("env.A"), "env.A");
}
