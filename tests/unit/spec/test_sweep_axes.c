/* The field `sweep`: what is found in it, and what it is read into. */
#include "case.h"
#include "spec/sweep_axes.h"

#define TEXT_OF(text) ((char[]){text})
#define VARS          HEAD "vars: {lr: 0.1, seed: 0}\n"

struct axes_case {
    struct jr_diags diags;
    struct jr_spec_file *file;
    struct jr_sweep_axes axes;
    struct jr_buf found;
};

static void open_axes(struct axes_case *c, const char *body, const struct jr_sweep_words *words)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&text, VARS "%s", body);
    const struct jr_spec_source source = {
        .name = "s", .folder = "/jobs", .text = text.data, .len = text.len};
    const struct jr_spec_options options = {
        .sweeps = true, .swept = words->sweeps != NULL, .sets = words->sets};
    *c = (struct axes_case){0};
    CU_ASSERT_EQUAL_FATAL(jr_spec_load(&c->file, &source, &options, &c->diags), 0);
    (void)jr_sweep_axes_read(&c->axes, c->file, words, &c->diags);
    for (size_t i = 0; i < c->diags.count; i++)
        jr_buf_printf(&c->found, "%s%s@%u:%u", i == 0 ? "" : " ", c->diags.items[i].code,
                      c->diags.items[i].span.line, c->diags.items[i].span.column);
}

static void close_axes(struct axes_case *c)
{
    jr_buf_release(&c->found);
    jr_diags_release(&c->diags);
    jr_spec_free(c->file);
}

#define AXES_CASE(name, ...)                                                                       \
    struct axes_case name RELEASE(close_axes);                                                     \
    open_axes(&name, __VA_ARGS__)

static void check_axes(const char *sweep, const char *expected)
{
    struct jr_buf body JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&body, "sweep: %s\n", sweep);
    AXES_CASE(c, body.data, &(struct jr_sweep_words){0});
    const char *found = c.found.data == NULL ? "" : c.found.data;
    if (strcmp(found, expected) != 0)
        printf("\n  in: %s\n", sweep);
    JR_ASSERT_TEXT(found, expected);
}

TEST(refuses_what_cannot_vary)
{
    check_axes("{axes: {devices: [0]}}", "JR0350@4:16");
    check_axes("{axes: {version: [1]}}", "JR0350@4:16");
    check_axes("{axes: {extends: [a]}}", "JR0350@4:16");
    check_axes("{axes: {hosts: [a]}}", "JR0350@4:16");
    check_axes("{axes: {env.API_KEY: [a]}}", "JR0350@4:16");
    check_axes("{axes: {env.MINE: [a]}}\nsecrets: [MI*]", "JR0350@4:16");
    check_axes("{axes: {env.OTHER: [a]}}\nsecrets: [MI*]", "");
    check_axes("{axes: {sweep.parallel: [1]}}", "JR0350@4:16");
    check_axes("{axes: {wrld: [1]}}", "JR0350@4:16");
    check_axes("{axes: {restart.mx: [1]}}", "JR0350@4:16");
    check_axes("{axes: {\"vars.lr, vars.lr\": [[1, 2]]}}", "JR0350@4:26");
    check_axes("{axes: {vars.lr: [1], \"vars.seed,vars.lr\": [[1, 2]]}}", "JR0350@4:41");
}

TEST(refuses_what_is_not_declared)
{
    check_axes("{axes: {vars.lrr: [1]}}", "JR0228@4:21");
    check_axes("{axes: {\"vars.lr,vars.sed\": [[1, 2]]}}", "JR0228@4:30");
    check_axes("{axes: {env.NEW: [1]}}", "");
    check_axes("{axes: {labels.team: [a, b]}}", "");
    check_axes("{include: [{vars.x: 1}]}", "JR0228@4:25");
}

TEST(refuses_values_that_are_none)
{
    check_axes("{axes: {vars.lr: []}}", "JR0351@4:25");
    check_axes("{axes: {vars.lr: 3}}", "JR0351@4:25");
    check_axes("{axes: {vars.lr: {from: 0}}}", "JR0351@4:25");
    check_axes("{axes: {vars.lr: {from: 0, to: 1, by: 2}}}", "JR0351@4:25");
    check_axes("{axes: {vars.lr: {from: 2, to: 1, step: 1}}}", "JR0351@4:25");
    check_axes("{axes: {vars.lr: {from: 2, to: 1, step: 0}}}", "JR0351@4:48");
    check_axes("{axes: {\"vars.lr,vars.seed\": [1]}}", "JR0351@4:38");
    check_axes("{axes: {\"vars.lr,vars.seed\": {from: 0, to: 1}}}", "JR0351@4:37");
    check_axes("{axes: {vars.lr: {uniform: [1, 1]}}, samples: 1}", "JR0351@4:25");
    check_axes("{axes: {vars.lr: {integers: [0.5, 2]}}, samples: 1}", "JR0351@4:25");
    check_axes("{axes: {vars.lr: {log_uniform: [0, 2]}}, samples: 1}", "JR0351@4:25");
}

TEST(refuses_the_same_value_twice)
{
    check_axes("{axes: {vars.lr: [1, 2, 1]}}", "JR0352@4:32");
    check_axes("{axes: {vars.lr: [0.1, 2, 1e-1]}}", "JR0352@4:34");
    check_axes("{axes: {vars.lr: [true, TRUE]}}", "JR0352@4:32");
    check_axes("{axes: {env.A: [[1, {a: 2}], [1, {a: 2}]]}}", "JR0352@4:37");
    check_axes("{axes: {vars.lr: [1, \"1\", 1.0, [1]]}}", "");
    check_axes("{axes: {\"vars.lr,vars.seed\": [[1, 2], [1, 3], [1, 2]]}}", "JR0352@4:55");
}

TEST(refuses_too_many_cells_at_once)
{
    check_axes("{axes: {vars.lr: {from: 1, to: 1000000000}}}", "JR0353@4:25");
    check_axes("{axes: {vars.lr: {from: 1, to: 317}, vars.seed: {from: 1, to: 317}}}",
               "JR0353@4:45");
    check_axes("{axes: {vars.lr: {from: 1, to: 100000}}}", "");
}

TEST(refuses_what_lacks_something)
{
    check_axes("{parallel: 2}", "JR0357@4:1");
    check_axes("{axes: {vars.lr: {uniform: [0, 1]}}}", "JR0357@4:16");
    check_axes("{axes: {vars.lr: [1]}, exclude: [{}]}", "JR0355@4:41");
    check_axes("{axes: {vars.lr: [1]}, exclude: [{vars.rl: 1}]}", "JR0355@4:42");
}

TEST(refuses_an_axis_that_is_set)
{
    char *const sets[] = {TEXT_OF("vars.lr=2"), NULL};
    AXES_CASE(c, "sweep: {axes: {vars.lr: [1, 3]}}\n", &(struct jr_sweep_words){.sets = sets});
    JR_ASSERT_TEXT(c.found.data, "JR0350@4:16");
}

TEST(reads_all_that_a_sweep_says)
{
    size_t field;
    AXES_CASE(c,
              "sweep:\n  axes: {vars.lr: [1, 2], vars.seed: {integers: [1, "
              "1000]}}\n  samples: 5\n  seed: 3\n  parallel: 4\n"
              "  stop_after: 2\n  best: {field: loss, goal: min, of: max}\n",
              &(struct jr_sweep_words){0});
    CU_ASSERT_PTR_NULL(c.found.data);
    CU_ASSERT_EQUAL(c.axes.count, 2);
    CU_ASSERT_EQUAL(c.axes.product, 10);
    CU_ASSERT_EQUAL(c.axes.parallel, 4);
    CU_ASSERT_EQUAL(c.axes.stop_after, 2);
    JR_ASSERT_TEXT(c.axes.best.field, "loss");
    CU_ASSERT_EQUAL(c.axes.best.goal, JR_GOAL_MIN);
    CU_ASSERT_EQUAL(c.axes.best.of, JR_OF_MAX);
    const struct jr_sweep_axis *axis = jr_sweep_axes_find(&c.axes, "vars.seed", &field);
    CU_ASSERT_PTR_EQUAL(axis, &c.axes.axes[1]);
    CU_ASSERT_TRUE(axis->drawn);
}

TEST(takes_options_in_the_place_of_axes)
{
    char *const sweeps[] = {TEXT_OF("vars.lr=5,6"), TEXT_OF("threads=1..3"), NULL};
    size_t field;
    AXES_CASE(c, "sweep: {axes: {vars.lr: [1], vars.seed: [2]}}\n",
              &(struct jr_sweep_words){.sweeps = sweeps});
    CU_ASSERT_PTR_NULL(c.found.data);
    CU_ASSERT_EQUAL(c.axes.product, 6);
    const struct jr_sweep_axis *axis = jr_sweep_axes_find(&c.axes, "vars.lr", &field);
    JR_ASSERT_TEXT(axis->values[1]->text, "6");
    JR_ASSERT_TEXT(axis->values[1]->span.source->name, "--sweep");
}
