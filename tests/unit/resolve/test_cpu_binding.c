/* Which CPUs each rank gets, on recorded machines and on made ones. */

#include "case.h"

#define MACHINE(name) TEST_SOURCE_DIR "/machines/" name "/expected.yaml"

#define OF_TWO "device: cpu\nnode_rank: 1\nmaster_addr: n1\n"

struct vector {
    const char *spec, *machine;
    const char *expected; /* the slots, blanks between; or a part of what is
                             told, behind "!" */
};

/* numa-gpus: nodes 0-3,8-11 and 4-7,12-15, two threads per core, GPUs 0 and 1
 * on node 0, 2 and 3 on node 1; numa-half: only node 0 may be used; numa-cpus:
 * four nodes of three cores, of which 1 to 10 may be used. */
static const struct vector vectors[] = {
    /* what cannot be */
    {"device: cpu\nbind: device\n", MACHINE("numa-gpus"), "!JR0327"},
    {"bind: device\n", MACHINE("numa-half"), "!JR0432"},
    {"bind: device\n", MACHINE("numa-unknown"), "!not every device"},
    {"local_world_size: 2\nbind: core\n", MACHINE("no-proc"), "!not known"},
    /* nothing stated */
    {"", MACHINE("numa-gpus"), "0-1,8-9 2-3,10-11 4-5,12-13 6-7,14-15"},
    {"", MACHINE("numa-gpus-crossed"), "4,12 0-3,8-11 5,13 6-7,14-15"},
    {"", MACHINE("numa-half"), ""},
    {"", MACHINE("numa-unknown"), ""},
    {"device: cpu\n", MACHINE("numa-cpus"), ""},
    {"", MACHINE("h100x8"), ""},
    {"bind: none\n", MACHINE("numa-gpus"), ""},
    {"devices: [2, 0]\n", MACHINE("numa-gpus"), "4-7,12-15 0-3,8-11"},
    {"devices: [2, 3, 2]\noversubscribe: true\n", MACHINE("numa-gpus"), "4,12 5,13 6-7,14-15"},
    /* cores */
    {"device: cpu\nlocal_world_size: 3\nbind: core\n", MACHINE("numa-gpus"),
     "0-1,8-9 2-4,10-12 5-7,13-15"},
    {"device: cpu\nlocal_world_size: 8\nbind: core\n", MACHINE("numa-half"),
     "0,8 0,8 1,9 1,9 2,10 2,10 3,11 3,11"},
    {"device: cpu\nlocal_world_size: 2\nbind: core\n", MACHINE("numa-cpus"), "1-5 6-10"},
    {"device: cpu\nlocal_world_size: 1\nbind: core\n", MACHINE("cpus-1100"), "0-1099"},
    /* nodes with more ranks, or fewer */
    {OF_TWO "local_world_size: [1, 3]\nbind: core\n", MACHINE("numa-gpus"),
     "0-1,8-9 2-4,10-12 5-7,13-15"},
    {OF_TWO "local_world_size: [3, 1]\nbind: core\n", MACHINE("numa-gpus"), "0-15"},
    /* nodes */
    {"device: cpu\nlocal_world_size: 8\nbind: numa\n", MACHINE("numa-cpus"),
     "1-2 1-2 3-5 3-5 6-8 6-8 9-10 9-10"},
    {"device: cpu\nlocal_world_size: 2\nbind: numa\n", MACHINE("numa-cpus"), "1-5 6-10"},
    {"device: cpu\nlocal_world_size: 1\nbind: numa\n", MACHINE("numa-cpus"), "1-10"},
    {"device: cpu\nlocal_world_size: 3\nbind: numa\n", MACHINE("numa-half"),
     "0-3,8-11 0-3,8-11 0-3,8-11"}};

static void check(const struct vector *vector, bool real)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    const struct facts facts = {.recorded = vector->machine, .real = real};
    SCENE(scene, vector->spec, &facts);
    const struct jr_job *job = &scene.resolution.job;
    bool good = scene.status == JR_STATUS_OK;
    for (uint32_t i = 0; good && i < job->own.slots_count; i++)
        jr_buf_printf(&text, "%s%s", i == 0 ? "" : " ", job->own.slots[i]);
    const char *got = text.len == 0 ? "" : text.data;
    if (vector->expected != NULL && vector->expected[0] == '!')
        CU_ASSERT_PTR_NOT_NULL(strstr(scene_told(&scene), vector->expected + 1))
    else if (vector->expected != NULL)
        JR_ASSERT_TEXT(good ? got : scene_told(&scene), vector->expected);
}

TEST(ranks_get_their_cpus)
{
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        unsigned failures = CU_get_number_of_failures();
        check(&vectors[i], true);
        if (CU_get_number_of_failures() != failures)
            printf("    of %s on %s\n", vectors[i].spec, vectors[i].machine);
    }
}

TEST(a_profile_may_leave_cpus_out)
{
    static const struct vector imagined[] = {
        {"local_world_size: 2\nbind: core\n", MACHINE("no-proc"), ""},
        {"bind: device\n", MACHINE("h100x8"), ""},
        {"bind: device\n", MACHINE("numa-cpus"), ""}};
    for (size_t i = 0; i < sizeof imagined / sizeof imagined[0]; i++)
        check(&imagined[i], false);
}

/* No rank has more threads than cores of its own. */
TEST(threads_fit_the_share)
{
    SCENE(scene, "", &(struct facts){.recorded = MACHINE("numa-gpus-crossed")});
    JR_ASSERT_TEXT(scene_value(&scene, "threads", 7), "1");
    JR_ASSERT_TEXT(scene_value(&scene, "bind", 4), "device");
}

/* Nor fewer because another node has more ranks. */
TEST(threads_are_of_the_own_node)
{
    SCENE(scene, OF_TWO "local_world_size: [8, 2]\n",
          &(struct facts){.recorded = MACHINE("numa-gpus")});
    JR_ASSERT_TEXT(scene_value(&scene, "threads", 7), "4");
}
