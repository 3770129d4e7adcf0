/*
 * Every combination of small sizes, stated or left out, against arithmetic by brute force: what is
 * resolved keeps to all that is stated and adds up; what is called the spec's own contradiction has
 * no solution at all.
 */

#include "case.h"

enum { WORLD, NODES, LOCAL, MODEL, PIPELINE, DATA, SIZES };

/* Stated sizes go from 1 to MOST; 0 is left out. */
enum { MOST = 4, CHOICES = MOST + 1, LARGEST = MOST * MOST * MOST };

static const char *const names[SIZES] = {"world_size",           "nodes",
                                         "local_world_size",     "parallelism.model",
                                         "parallelism.pipeline", "parallelism.data"};

static void write_spec(struct jr_buf *out, const uint32_t *sizes)
{
    const char *comma = "";
    jr_buf_clear(out);
    /* The default port may be another run's. */
    jr_buf_str(out, "oversubscribe: true\nmaster_addr: a\nnode_rank: 0\nmaster_port: 21971\n");
    for (int i = 0; i < MODEL; i++)
        if (sizes[i] != 0)
            jr_buf_printf(out, "%s: %u\n", names[i], sizes[i]);
    jr_buf_str(out, "parallelism: {");
    for (int i = MODEL; i < SIZES; i++) {
        if (sizes[i] == 0)
            continue;
        jr_buf_printf(out, "%s%s: %u", comma, strchr(names[i], '.') + 1, sizes[i]);
        comma = ", ";
    }
    jr_buf_str(out, "}\n");
}

static uint32_t or_one(uint32_t size)
{
    return size == 0 ? 1 : size;
}

static bool may_be(uint32_t stated, uint32_t size)
{
    return stated == 0 || stated == size;
}

/* Whether some number of nodes and ranks makes this world. */
static bool can_spread(const uint32_t *sizes, uint32_t world)
{
    for (uint32_t nodes = 1; nodes <= world; nodes++)
        if (world % nodes == 0 && may_be(sizes[NODES], nodes) &&
            may_be(sizes[LOCAL], world / nodes))
            return true;
    return false;
}

static bool solvable(const uint32_t *sizes)
{
    uint32_t group = or_one(sizes[MODEL]) * or_one(sizes[PIPELINE]);
    for (uint32_t world = group; world <= LARGEST; world += group)
        if (may_be(sizes[WORLD], world) && may_be(sizes[DATA], world / group) &&
            can_spread(sizes, world))
            return true;
    return false;
}

static bool adds_up(const struct jr_job *job, const uint32_t *sizes)
{
    const uint32_t *axes = job->axis_size;
    uint32_t local = job->local_world_sizes[0];
    return job->world_size == job->nodes * local &&
           job->world_size == axes[JR_AXIS_MODEL] * axes[JR_AXIS_PIPELINE] * axes[JR_AXIS_DATA] &&
           may_be(sizes[WORLD], job->world_size) && may_be(sizes[NODES], job->nodes) &&
           may_be(sizes[LOCAL], local) && axes[JR_AXIS_MODEL] == or_one(sizes[MODEL]) &&
           axes[JR_AXIS_PIPELINE] == or_one(sizes[PIPELINE]) &&
           may_be(sizes[DATA], axes[JR_AXIS_DATA]);
}

/* Whether one combination came out as it must. */
static bool is_right(struct scene *scene, const uint32_t *sizes)
{
    if (scene->status == JR_STATUS_OK)
        return scene->diags.errors == 0 && adds_up(&scene->resolution.job, sizes);
    if (scene->diags.errors == 0)
        return false;
    return scene->status != JR_STATUS_INVALID || !solvable(sizes);
}

TEST(agrees_with_arithmetic)
{
    const struct facts facts = {.real = true, .on = "1x0,2c"};
    struct jr_buf JR_BUF_CLEANUP spec = JR_BUF_INIT;
    uint32_t sizes[SIZES], wrong = 0, count[8] = {0};
    for (uint32_t code = 0; code < 15625; code++) { /* CHOICES ^ SIZES */
        uint32_t rest = code;
        for (int i = 0; i < SIZES; i++, rest /= CHOICES)
            sizes[i] = rest % CHOICES;
        write_spec(&spec, sizes);
        SCENE(scene, spec.data, &facts);
        count[scene.status]++;
        if (!is_right(&scene, sizes) && wrong++ < 5)
            printf("\n%sstatus %d\n%s", spec.data, (int)scene.status, scene_told(&scene));
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_TRUE(count[JR_STATUS_OK] > 1000);
    CU_ASSERT_TRUE(count[JR_STATUS_INVALID] > 1000);
    CU_ASSERT_TRUE(count[JR_STATUS_UNRESOLVED] > 0);
    CU_ASSERT_EQUAL(count[JR_STATUS_OK] + count[JR_STATUS_INVALID] + count[JR_STATUS_UNRESOLVED],
                    15625);
}

/* A resolved one that is as it must be whatever the order of the statements. */
TEST(does_not_depend_on_order)
{
    static const char *const lines[] = {"world_size: 8\n", "nodes: 2\n",
                                        "parallelism: {model: 2}\n",
                                        "master_addr: a\nnode_rank: 1\n"};
    const struct facts facts = {.on = "2x4:H100"};
    for (unsigned first = 0; first < 4; first++) {
        struct jr_buf JR_BUF_CLEANUP spec = JR_BUF_INIT;
        for (unsigned i = 0; i < 4; i++)
            jr_buf_str(&spec, lines[(first + i) % 4]);
        SCENE(scene, spec.data, &facts);
        CU_ASSERT_EQUAL_FATAL(scene.status, JR_STATUS_OK);
        JR_ASSERT_TEXT(scene_value(&scene, "local_world_size", 16), "4");
        JR_ASSERT_TEXT(scene_value(&scene, "rank_start", 10), "4");
        JR_ASSERT_TEXT(scene_value(&scene, "parallelism.data", 16), "4");
    }
}

/* Nodes that the machine has, and a world that they cannot share evenly. */
TEST(offers_worlds_that_divide)
{
    static const struct {
        const char *on, *world, *told;
    } rows[] = {
        {"2x4:H100", "world_size: 7\n",
         "t.jobrun.yaml:3:13: error: world_size 7 does not divide by nodes 2 (--on 2x4:H100: nodes "
         "of the profile; no scheduler) [JR0402]\n"
         "nearest world sizes that do: 6, 8; or one size per node: local_world_size: [4, 3]\n"},
        {"3x4:H100", "world_size: 2\n",
         "t.jobrun.yaml:3:13: error: world_size 2 does not divide by nodes 3 (--on 3x4:H100: nodes "
         "of the profile; no scheduler) [JR0402]\nnearest world sizes that do: 3\n"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct facts facts = {.on = rows[i].on};
        SCENE(scene, rows[i].world, &facts);
        CU_ASSERT_EQUAL(scene.status, JR_STATUS_UNRESOLVED);
        JR_ASSERT_TEXT(scene_told(&scene), rows[i].told);
    }
}
