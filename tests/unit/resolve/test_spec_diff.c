#include "case.h"
#include "resolve/spec_diff.h"

static const struct facts gpus = {.on = "1x8:H100,96c"};

/* Rows as "FIELD PART: A (FROM) -> B (FROM)". */
static void add_side(struct jr_buf *out, const struct jr_diff_table_side *side)
{
    jr_buf_str(out, side->value != NULL ? side->value : "-");
    if (side->at.line != 0)
        jr_buf_printf(out, " (%s:%u)", side->at.source->name, side->at.line);
    else if (side->from != NULL)
        jr_buf_printf(out, " (%s)", side->from);
}

static void say(struct jr_buf *out, const struct jr_diff_table *diff)
{
    jr_buf_clear(out);
    jr_buf_str(out, "");
    for (size_t i = 0; i < diff->count; i++) {
        const struct jr_diff_table_row *row = &diff->rows[i];
        jr_buf_printf(out, "%s %s: ", row->name, row->part);
        add_side(out, &row->a);
        jr_buf_str(out, " -> ");
        add_side(out, &row->b);
        jr_buf_char(out, '\n');
    }
}

struct vector {
    const char *a, *b;
    const char *resolved, *written; /* the rows on a machine, and without one */
};

static const struct vector vectors[] = {
    {"world_size: 4\n", "world_size: 8\n",
     "world_size experiment: 4 (t.jobrun.yaml:3) -> 8 (t.jobrun.yaml:3)\nlocal_world_size "
     "placement: 4 (derived) -> 8 (derived)\ndevices placement: all (--on 1x8:H100,96c: 8 NVIDIA "
     "H100 on this node) -> [0, 1, 2, 3, 4, 5, 6, 7] (--on 1x8:H100,96c: 8 NVIDIA H100 on this "
     "node)\nthreads placement: 24 (--on 1x8:H100,96c: 96 physical cores / 4 ranks) -> 12 (--on "
     "1x8:H100,96c: 96 physical cores / 8 ranks)\nparallelism.data experiment: 4 (derived) -> 8 "
     "(derived)\n",
     "world_size experiment: 4 (t.jobrun.yaml:3) -> 8 (t.jobrun.yaml:3)\n"},
    {"", "world_size: 8\n", "", "world_size experiment: - -> 8 (t.jobrun.yaml:3)\n"},
    {"env: {A: x}\n", "env: {A: null, B: \"4\"}\n",
     "env.A experiment: x (t.jobrun.yaml:3) -> null (t.jobrun.yaml:3)\n"
     "env.B experiment: - -> \"4\" (t.jobrun.yaml:3)\n",
     NULL},
    {"timeouts: {stop_grace: 1m}\n", "",
     "timeouts.stop_grace supervision: 1m (t.jobrun.yaml:3) -> 30s (default)\n", NULL},
    {"name: a\nthreads: 1\nlog_dir: b\n", "name: b\nthreads: 2\n",
     "name label: a (t.jobrun.yaml:3) -> b (t.jobrun.yaml:3)\n"
     "threads placement: 1 (t.jobrun.yaml:4) -> 2 (t.jobrun.yaml:4)\n"
     "log_dir record: /srv/job/b (t.jobrun.yaml:5) -> /srv/job/runs (default)\n",
     NULL},
    {"env: {HF_TOKEN: hunter2}\n", "env: {HF_TOKEN: other}\n", "", ""},
    {"start_method: spawn\nbackends: nccl\nenv_remove: []\n", "", "", NULL}};

static void tell(struct jr_buf *out, const struct jr_diff_side *a, const struct jr_diff_side *b,
                 bool *ret_same)
{
    struct jr_diff_table diff;
    struct jr_error err;
    CU_ASSERT_EQUAL_FATAL(jr_diff_make(&diff, a, b, &err), 0);
    say(out, &diff);
    *ret_same = jr_diff_is_same(&diff);
    jr_diff_table_release(&diff);
}

static void check(const struct vector *vector, struct jr_buf *said)
{
    struct scene a, b;
    bool same;
    scene_open(&a, vector->a, &gpus);
    scene_open(&b, vector->b, &gpus);
    CU_ASSERT_EQUAL_FATAL(a.status, JR_STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(b.status, JR_STATUS_OK);
    struct jr_diff_side left = {a.file, &a.resolution};
    struct jr_diff_side right = {b.file, &b.resolution};
    tell(said, &left, &right, &same);
    JR_ASSERT_TEXT(said->data, vector->resolved);
    CU_ASSERT_EQUAL(same, strcmp(a.resolution.job.fingerprint, b.resolution.job.fingerprint) == 0);
    left.resolution = right.resolution = NULL;
    tell(said, &left, &right, &same);
    if (vector->written != NULL)
        JR_ASSERT_TEXT(said->data, vector->written);
    scene_close(&a);
    scene_close(&b);
}

TEST(tells_what_differs)
{
    struct jr_buf JR_BUF_CLEANUP said = JR_BUF_INIT;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        check(&vectors[i], &said);
}

/* Beside nothing, what a spec states is new, and no default is. */
TEST(tells_what_is_new)
{
    struct jr_buf JR_BUF_CLEANUP said = JR_BUF_INIT;
    bool same;
    SCENE(scene, "world_size: 4\nenv: {A: x}\n", &gpus);
    const struct jr_diff_side none = {0}, side = {scene.file, NULL};
    tell(&said, &none, &side, &same);
    JR_ASSERT_TEXT(said.data, "entrypoint.command experiment: - -> [./train] (t.jobrun.yaml:2)\n"
                              "env.A experiment: - -> x (t.jobrun.yaml:4)\n"
                              "world_size experiment: - -> 4 (t.jobrun.yaml:3)\n");
    CU_ASSERT_FALSE(same);
    tell(&said, &side, &none, &same);
    CU_ASSERT_PTR_NOT_NULL(strstr(said.data, "env.A experiment: x "));
    CU_ASSERT_FALSE(same);
    tell(&said, &side, &side, &same);
    JR_ASSERT_TEXT(said.data, "");
    CU_ASSERT_TRUE(same);
}

/* What a function is called with has types. */
TEST(knows_types_of_arguments)
{
    static char function[] = "entrypoint={python: {function: \"m:f\"}}";
    static char *const sets[] = {function, NULL};
    const struct facts facts = {.on = "1x8:H100,96c", .sets = sets};
    struct scene a, b;
    struct jr_buf JR_BUF_CLEANUP said = JR_BUF_INIT;
    bool same;
    scene_open(&a, "per_rank: {0: {args: [1, [2]], kwargs: {a: {}, b: on}}}\n", &facts);
    scene_open(&b, "per_rank: {0: {args: ['1', [2]], kwargs: {b: 'on'}}}\n", &facts);
    CU_ASSERT_EQUAL_FATAL(a.status, JR_STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(b.status, JR_STATUS_OK);
    const struct jr_diff_side left = {a.file, &a.resolution};
    const struct jr_diff_side right = {b.file, &b.resolution};
    tell(&said, &left, &right, &same);
    JR_ASSERT_TEXT(said.data, "per_rank.0.args[0] experiment: 1 (t.jobrun.yaml:3) -> "
                              "\"1\" (t.jobrun.yaml:3)\n"
                              "per_rank.0.kwargs.a experiment: {} (t.jobrun.yaml:3) -> -\n");
    CU_ASSERT_FALSE(same);
    scene_close(&a);
    scene_close(&b);
}
