/* Two sides and what differs between them: how it is concluded and printed. The sides are made by
 * hand. */
#include "session/specs/comparison.h"

#include "unit.h"

#define DIGITS "0123456789abcdef"

/* What a comparison is made of. */
struct made {
    const char *a, *b; /* names; NULL: there is no such side */
    bool runs;
    bool mixed; /* B's nodes ran several experiments */
    size_t fields;
    const char *outcome; /* the part of a row that differs; NULL: no row */
    enum jr_code_verdict code;
    bool same;
};

static char *files[] = {(char *)"train.py", (char *)"a b.py", NULL};

static void make_side(struct jr_side *side, const char *name, bool run, bool mixed)
{
    side->name = name;
    if (name != NULL && run)
        (void)snprintf(side->run, sizeof side->run, "%s", name);
    if (name != NULL && !mixed)
        (void)snprintf(side->fingerprint, sizeof side->fingerprint, DIGITS DIGITS DIGITS DIGITS);
}

static void add_row(struct jr_diff_table *table, const char *name, const char *part, const char *a,
                    const char *b)
{
    struct jr_diff_table_row *row = jr_diff_table_add(table, name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(row);
    row->part = part;
    row->a.value = a;
    row->b.value = b;
}

static void make(struct jr_comparison *ret, const struct made *made)
{
    static const char *const names[] = {"world_size", "threads"};
    *ret = (struct jr_comparison)JR_COMPARISON_INIT;
    make_side(&ret->a, made->a, made->runs, false);
    make_side(&ret->b, made->b, made->runs, made->mixed);
    for (size_t i = 0; i < made->fields; i++)
        add_row(&ret->specs, names[i], NULL, "1", "2");
    if (made->outcome != NULL)
        add_row(&ret->runs, "status", made->outcome, "failed", "succeeded");
    ret->code.verdict = made->code;
    if (made->code == JR_CODES_DIFFERENT)
        ret->code.files = (struct jr_strv){.items = files, .count = 2};
    ret->same = made->same;
}

#define FIELD_1                                                                                    \
    "field       A  B\n"                                                                           \
    "world_size  1  2\n"
#define FIELD_2 FIELD_1 "threads     1  2\n"
#define OUTCOME                                                                                    \
    "outcome  A       B\n"                                                                         \
    "status   failed  succeeded\n"
#define SPECS "A  x  (fingerprint 0123456789ab)\nB  y  (fingerprint 0123456789ab)\n"
#define RUNS                                                                                       \
    "A  run x  (fingerprint 0123456789ab)\n"                                                       \
    "B  run y  (fingerprint 0123456789ab)\n"

/* What is told to people, and whether it is a difference for a script. */
static const struct {
    struct made made;
    const char *text;
    bool differs;
} rows[] = {
    {{"x", "y", .same = true},
     SPECS "no field differs: the same experiment if the code is the same\n",
     false},
    {{"x", "y", .fields = 1}, SPECS "\n" FIELD_1 "\n1 field differs: another experiment\n", true},
    {{"x", "y", .fields = 2, .same = true},
     SPECS "\n" FIELD_2 "\n2 fields differ, none of them part of the "
           "experiment: the same experiment if the code is the same\n",
     true},
    {{"x", NULL, .fields = 1}, "A  x  (fingerprint 0123456789ab)\n\n" FIELD_1, true},
    {{.b = "y"}, "B  y  (fingerprint 0123456789ab)\n", true},
    {{"x", "y", .runs = true, .code = JR_CODES_SAME, .same = true},
     RUNS "no field differs: the same experiment\n",
     false},
    {{"x", "y", .runs = true, .code = JR_CODES_UNKNOWN, .same = true},
     RUNS "no field differs: the same spec; code not recorded\n",
     false},
    {{"x", "y", .runs = true, .code = JR_CODES_DIFFERENT, .same = true},
     RUNS "same spec, different code: train.py, a b.py\n",
     true},
    {{"x", "y", .runs = true, .fields = 1, .code = JR_CODES_DIFFERENT, .same = true},
     RUNS "\n" FIELD_1 "\n1 field differs, none of them part of the experiment: "
          "same spec, different code: train.py, a b.py\n",
     true},
    {{"x", "y", .runs = true, .outcome = "outcome", .code = JR_CODES_SAME, .same = true},
     RUNS "\n" OUTCOME "\nno field differs: the same experiment\n",
     true},
    {{"x", "y", .runs = true, .outcome = "result", .code = JR_CODES_SAME, .same = true},
     RUNS "\n" OUTCOME "\nno field differs: the same experiment\n",
     true},
    {{"x", "y", .runs = true, .outcome = "time", /* times and places do not count */
      .code = JR_CODES_SAME, .same = true},
     RUNS "\n" OUTCOME "\nno field differs: the same experiment\n",
     false},
    {{"x", "y", .runs = true, .mixed = true, .code = JR_CODES_SAME},
     "A  run x  (fingerprint 0123456789ab)\nB  run y  (its nodes ran different experiments; below "
     "is what one of them ran)\nno field differs\n",
     true}};

TEST(says_what_it_comes_to)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jr_comparison comparison;
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        make(&comparison, &rows[i].made);
        jr_comparison_text(&out, &comparison);
        JR_ASSERT_TEXT(out.data, rows[i].text);
        CU_ASSERT_EQUAL(jr_comparison_differs(&comparison), rows[i].differs);
        jr_comparison_release(&comparison);
    }
}

static void check_markdown(const struct made *made, const char *expected)
{
    struct jr_comparison comparison;
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    make(&comparison, made);
    jr_comparison_markdown(&out, &comparison);
    JR_ASSERT_TEXT(out.data, expected);
    jr_comparison_release(&comparison);
}

#define MARKED_FIELD "| field | A | B |\n|---|---|---|\n| `world_size` | `1` | `2` |\n"
#define MARKED_OUTCOME                                                                             \
    "| outcome | A | B |\n|---|---|---|\n| `status` | `failed` | "                                 \
    "`succeeded` |\n"

TEST(comments_have_tables)
{
    check_markdown(&(struct made){"x", "y", .fields = 1},
                   MARKED_FIELD "\n1 field differs: another experiment\n");
    check_markdown(&(struct made){"x", "y", .runs = true, .outcome = "time"},
                   MARKED_OUTCOME "\nno field differs: another experiment\n");
    check_markdown(&(struct made){"x", "y", .runs = true, .fields = 1, .outcome = "result"},
                   MARKED_FIELD "\n" MARKED_OUTCOME "\n1 field differs: another experiment\n");
}

static void check_json(const struct made *made, const char *expected)
{
    struct jr_comparison comparison;
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    make(&comparison, made);
    json_auto_t *object = jr_comparison_json(&comparison, false);
    (void)json_object_del(object, "fields");
    (void)json_object_del(object, "code");
    json_t *outcome = json_object_get(object, "outcome");
    if (json_is_array(outcome))
        jr_json_set_int(object, "outcome", (json_int_t)json_array_size(outcome));
    jr_json_print(&out, object, 0);
    JR_ASSERT_TEXT(out.data, expected);
    jr_comparison_release(&comparison);
}

#define SIDE(name, kind)                                                                           \
    "{\"name\": \"" name "\", \"kind\": \"" kind                                                   \
    "\", \"fingerprint\": \"" DIGITS DIGITS DIGITS DIGITS "\"}"

TEST(programs_get_an_object)
{
    check_json(&(struct made){"x", "y", .same = true},
               "{\"a\": " SIDE("x", "spec") ", \"b\": " SIDE(
                   "y", "spec") ", \"same_experiment\": true, \"differ\": false, \"outcome\": "
                                "null}");
    check_json(&(struct made){NULL, "y", .same = true},
               "{\"a\": null, \"b\": " SIDE(
                   "y", "spec") ", \"same_experiment\": true, \"differ\": true, \"outcome\": "
                                "null}");
    for (int code = JR_CODES_SAME; code <= JR_CODES_UNKNOWN; code++)
        check_json(&(struct made){"x", "y", .runs = true, .outcome = "time",
                                  .code = (enum jr_code_verdict)code, .same = true},
                   code == JR_CODES_SAME
                       ? "{\"a\": " SIDE("x", "run") ", \"b\": " SIDE(
                             "y", "run") ", \"same_experiment\": true, \"differ\": false, "
                                         "\"outcome\": 1}"
                   : code == JR_CODES_UNKNOWN
                       ? "{\"a\": " SIDE("x", "run") ", \"b\": " SIDE(
                             "y", "run") ", \"same_experiment\": false, \"differ\": false, "
                                         "\"outcome\": 1}"
                       : "{\"a\": " SIDE("x", "run") ", \"b\": " SIDE(
                             "y", "run") ", \"same_experiment\": false, \"differ\": true, "
                                         "\"outcome\": 1}");
    check_json(&(struct made){"x", "y", .runs = true, .mixed = true},
               "{\"a\": " SIDE("x", "run") ", \"b\": {\"name\": \"y\", \"kind\": \"run\", "
                                           "\"fingerprint\": null}, \"same_experiment\": false, "
                                           "\"differ\": true, \"outcome\": 0}");
}
