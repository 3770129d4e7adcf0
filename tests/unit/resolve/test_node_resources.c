/* What nodes tell of their devices and CPUs, and what a job makes of it. */
#include "case.h"
#include "resolve/node_resources.h"

TEST(takes_nothing_else)
{
    EACH_PART(part,
              "|null|[]|{}|{\"threads\": 0}|{\"threads\": -1}|{\"threads\": "
              "4294967296}|{\"threads\": \"2\"}|{\"threads\": 2, \"devices\": \"0\"}|{\"threads\": "
              "2, \"devices\": [0]}|{\"threads\": 2, \"devices\": [\"0\", null]}|{\"threads\": 2, "
              "\"cpus\": {}}|{\"threads\": 2, \"cpus\": [\"0\", [\"1\"]]}|{\"threads\": 2") {
        struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
        struct jr_node_resources resources = {.threads = 77};
        CU_ASSERT_EQUAL(jr_node_resources_read(&resources, &arena, part, strlen(part)), -1);
        CU_ASSERT_EQUAL(resources.threads, 77);
    }
}

TEST(tells_what_it_reads)
{
    char *devices[] = {(char *)"4", (char *)"GPU-\"5\""};
    char *slots[] = {(char *)"0-3", (char *)"0-3", (char *)"8"};
    const struct jr_node_resources told = {.devices = devices,
                                           .devices_count = 2,
                                           .device_model = "X1",
                                           .slots = slots,
                                           .slots_count = 3,
                                           .threads = 12,
                                           .held = "4 is held by pid 7"};
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_node_resources resources;
    jr_node_resources_tell(&text, &told);
    CU_ASSERT_EQUAL_FATAL(jr_node_resources_read(&resources, &arena, text.data, text.len), 0);
    CU_ASSERT_EQUAL(resources.threads, 12);
    CU_ASSERT_EQUAL_FATAL(resources.devices_count, 2);
    JR_ASSERT_TEXT(resources.devices[1], "GPU-\"5\"");
    JR_ASSERT_TEXT(resources.device_model, "X1");
    JR_ASSERT_TEXT(resources.held, "4 is held by pid 7");
    CU_ASSERT_EQUAL_FATAL(resources.slots_count, 3);
    JR_ASSERT_TEXT(resources.slots[0], "0-3");
    CU_ASSERT_PTR_EQUAL(resources.slots[0], resources.slots[1]);
    JR_ASSERT_TEXT(resources.slots[2], "8");
    jr_arena_release(&arena);

    jr_buf_clear(&text);
    jr_node_resources_tell(&text, &(struct jr_node_resources){.threads = 1});
    CU_ASSERT_TRUE(text.len < 20);
    CU_ASSERT_EQUAL(jr_node_resources_read(&resources, &arena, text.data, text.len), 0);
    CU_ASSERT_TRUE(resources.devices_count == 0 && resources.slots_count == 0);
    CU_ASSERT_PTR_NULL(resources.device_model);
    CU_ASSERT_PTR_NULL(resources.held);
    jr_arena_release(&arena);
}

/* The resolved spec of two nodes of which the second has `theirs`. */
static void check_spec(const char *spec, char **theirs, uint32_t count, const char *devices,
                       const char *explained)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    SCENE(scene, spec, &(struct facts){.on = "2x2:H100"});
    struct jr_job *job = &scene.resolution.job;
    CU_ASSERT_EQUAL_FATAL(scene.status, JR_STATUS_OK);
    struct jr_node_resources each[2] = {*jr_node_resources_of(job, 0),
                                        *jr_node_resources_of(job, 1)};
    each[1].devices = theirs;
    each[1].devices_count = count;
    jr_node_resources_take(&scene.resolution, each);
    CU_ASSERT_EQUAL(jr_node_resources_of(job, 1)->devices_count, count);
    jr_resolution_emit(&text, &scene.resolution, scene.file);
    CU_ASSERT_PTR_NOT_NULL(strstr(text.data, devices));
    JR_ASSERT_TEXT(scene_value(&scene, "devices", 7), explained);
}

TEST(the_resolved_spec_is_for_all_nodes)
{
    char *alike[] = {(char *)"0", (char *)"1"};
    char *others[] = {(char *)"4", (char *)"5"};
    check_spec("nodes: 2\n", alike, 2, "\ndevices: [0, 1]\n", "0,1");
    check_spec("nodes: 2\n", others, 2, "\ndevices: all\n", "all");
    check_spec("nodes: 2\n", alike, 1, "\ndevices: all\n", "all");
    check_spec("nodes: 2\ndevices: any\n", others, 2, "\ndevices: any\n", "any");
}
