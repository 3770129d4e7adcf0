/* The devices among which a job has some. */
#include "resolve/resolve.h"

#include "case.h"

static void expect_pool(const char *spec, const char *expected)
{
    struct scene SCENE_CLEANUP scene = {.resolution = JR_RESOLUTION_INIT};
    bool may[4];
    char text[5] = "";
    scene_facts(&scene, &(struct facts){.on = "1x4:H100,8c"});
    scene.hw.devices[1].visible = false;
    scene_load(&scene, spec);
    CU_ASSERT_PTR_NOT_NULL_FATAL(scene.file);
    const struct jr_resolve_options options = {.skip_leases = true};
    CU_ASSERT_EQUAL_FATAL(
        jr_resolve(&scene.resolution, scene.file, &scene.hw, &options, &scene.diags), JR_STATUS_OK);
    uint32_t count =
        jr_device_pool_find(may, &scene.hw, &scene.resolution.job, jr_spec_get(scene.file));
    for (uint32_t i = 0; i < 4; i++) {
        text[i] = may[i] ? 'x' : '-';
        count -= may[i];
    }
    CU_ASSERT_EQUAL(count, 0);
    JR_ASSERT_TEXT(text, expected);
}

TEST(has_all_that_are_visible)
{
    expect_pool("world_size: 1\n", "x-xx");
    expect_pool("world_size: 1\ndevices: all\n", "x-xx");
    expect_pool("world_size: 1\ndevices: any\n", "x-xx");
}

TEST(has_those_that_the_spec_names)
{
    expect_pool("world_size: 2\ndevices: [2, 0]\n", "x-x-");
    expect_pool("world_size: 1\ndevices: [3]\n", "---x");
}

TEST(has_none_on_the_cpu)
{
    expect_pool("world_size: 1\ndevice: cpu\nbackends: gloo\n", "----");
}
