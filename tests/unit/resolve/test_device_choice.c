/* `devices: any`, and what is said of devices that others hold. */
#include "case.h"
#include "devices.h"

/* A machine with four devices that no other process has a name for. */
static void open_machine(struct scene *scene, const struct devices *devices)
{
    *scene = (struct scene){.resolution = JR_RESOLUTION_INIT};
    scene_facts(scene, &(struct facts){.on = "1x4:H100,8c", .real = true});
    for (uint32_t i = 0; i < scene->hw.devices_count; i++) {
        scene->hw.devices[i].uuid = devices->list[i];
        scene->hw.devices[i].bus = NULL;
    }
}

static void resolve_on(struct scene *scene, const char *spec,
                       const struct jr_resolve_options *options)
{
    scene_load(scene, spec);
    CU_ASSERT_PTR_NOT_NULL_FATAL(scene->file);
    scene->status = jr_resolve(&scene->resolution, scene->file, &scene->hw, options, &scene->diags);
}

static const struct jr_resolve_options to_run = {.keep_port = true};

static void open_run(struct scene *scene, const struct devices *devices, const char *spec)
{
    open_machine(scene, devices);
    resolve_on(scene, spec, &to_run);
}

static const char *devices_of(const struct scene *scene)
{
    return scene_value(scene, "devices", strlen("devices"));
}

TEST(takes_as_many_as_the_ranks_need)
{
    struct devices devices;
    struct scene first, second, third;
    devices_make(&devices, 0);
    open_run(&first, &devices, "devices: any\nworld_size: 2\n");
    CU_ASSERT_EQUAL_FATAL(first.status, JR_STATUS_OK);
    JR_ASSERT_TEXT(devices_of(&first), "0,1");
    CU_ASSERT_TRUE(first.resolution.job.devices_any);
    CU_ASSERT_EQUAL(first.resolution.device_leases_count, 2);
    open_run(&second, &devices, "devices: any\nlocal_world_size: 1\n");
    JR_ASSERT_TEXT(devices_of(&second), "2");
    open_run(&third, &devices, "devices: any\nworld_size: 2\n");
    CU_ASSERT_EQUAL(third.status, JR_STATUS_UNRESOLVED);
    const char *told = scene_told(&third);
    CU_ASSERT_PTR_NOT_NULL(strstr(told, "3:10: error"));
    CU_ASSERT_PTR_NOT_NULL(strstr(told, "the ranks here need 2 cuda devices, and 1 of 4 is free"));
    CU_ASSERT_PTR_NOT_NULL(strstr(told, "held by pid "));
    CU_ASSERT_PTR_NOT_NULL(strstr(told, "--wait"));
    CU_ASSERT_PTR_NULL(strstr(told, "world_size, for fewer"));
    scene_close(&second);
    scene_close(&third);
    open_run(&third, &devices, "devices: any\nworld_size: 2\n");
    JR_ASSERT_TEXT(devices_of(&third), "2,3");
    scene_close(&first);
    scene_close(&third);
}

/* Whatever is free at the moment must not decide how large a job is. */
TEST(wants_the_whole_machine_unless_sizes_are_stated)
{
    struct devices devices;
    struct scene all, one;
    devices_make(&devices, 0);
    open_run(&all, &devices, "devices: any\n");
    CU_ASSERT_EQUAL_FATAL(all.status, JR_STATUS_OK);
    CU_ASSERT_EQUAL(all.resolution.job.world_size, 4);
    JR_ASSERT_TEXT(devices_of(&all), "0,1,2,3");
    scene_close(&all);
    open_run(&one, &devices, "devices: any\nworld_size: 1\n");
    open_run(&all, &devices, "devices: any\n");
    CU_ASSERT_EQUAL(all.status, JR_STATUS_UNRESOLVED);
    CU_ASSERT_PTR_NOT_NULL(strstr(scene_told(&all), "state world_size, for fewer ranks"));
    scene_close(&one);
    scene_close(&all);
}

TEST(takes_none_on_the_cpu)
{
    struct devices devices;
    struct scene scene SCENE_CLEANUP;
    devices_make(&devices, 0);
    open_run(&scene, &devices, "device: cpu\ndevices: any\nbackends: gloo\nworld_size: 1\n");
    CU_ASSERT_EQUAL(scene.status, JR_STATUS_OK);
    JR_ASSERT_TEXT(devices_of(&scene), "none");
    CU_ASSERT_EQUAL(scene.resolution.device_leases_count, 0);
}

TEST(shows_what_it_would_take)
{
    static const struct jr_resolve_options to_look = {.keep_port = false};
    struct devices devices;
    struct scene run, plan;
    devices_make(&devices, 0);
    open_run(&run, &devices, "devices: any\nworld_size: 1\n");
    for (int i = 0; i < 2; i++) {
        open_machine(&plan, &devices);
        resolve_on(&plan, "devices: any\nworld_size: 2\n", &to_look);
        CU_ASSERT_EQUAL(plan.status, JR_STATUS_OK);
        JR_ASSERT_TEXT(devices_of(&plan), "1,2");
        CU_ASSERT_EQUAL(plan.resolution.device_leases_count, 0);
        scene_close(&plan);
    }
    open_machine(&plan, &devices);
    resolve_on(&plan, "devices: any\nworld_size: 4\n", &to_look);
    CU_ASSERT_EQUAL(plan.status, JR_STATUS_UNRESOLVED);
    scene_close(&plan);
    scene_close(&run);
}

/* Who only counts devices is not told that they are held. */
TEST(counts_without_leases)
{
    static const struct jr_resolve_options to_count = {.skip_leases = true};
    static const char *const specs[] = {"devices: any\nworld_size: 2\n", "world_size: 2\n"};
    struct devices devices;
    struct scene run, count;
    devices_make(&devices, 0);
    open_run(&run, &devices, "");
    for (int i = 0; i < 2; i++) {
        open_machine(&count, &devices);
        resolve_on(&count, specs[i], &to_count);
        CU_ASSERT_EQUAL(count.status, JR_STATUS_OK);
        CU_ASSERT_EQUAL(count.diags.count, 0);
        CU_ASSERT_EQUAL(count.resolution.device_leases_count, 0);
        scene_close(&count);
    }
    scene_close(&run);
}

/* Other mistakes are told as ever. */
TEST(refuses_more_ranks_than_devices)
{
    struct devices devices;
    struct scene scene;
    devices_make(&devices, 0);
    open_run(&scene, &devices, "devices: any\nworld_size: 5\n");
    CU_ASSERT_EQUAL(scene.status, JR_STATUS_UNRESOLVED);
    CU_ASSERT_PTR_NOT_NULL(strstr(scene_told(&scene), "JR0404"));
    scene_close(&scene);
    open_run(&scene, &devices, "devices: any\nworld_size: 5\noversubscribe: true\n");
    CU_ASSERT_EQUAL(scene.status, JR_STATUS_OK);
    CU_ASSERT_EQUAL(scene.resolution.device_leases_count, 4);
    scene_close(&scene);
}

TEST(cannot_choose_what_it_does_not_know)
{
    struct scene scene;
    scene_open(&scene, "device: custom:acme\nbackends: gloo\ndevices: any\nworld_size: 1\n",
               &(struct facts){.on = "1x0,8c", .real = true});
    CU_ASSERT_EQUAL(scene.status, JR_STATUS_UNRESOLVED);
    CU_ASSERT_PTR_NOT_NULL(strstr(scene_told(&scene), "JR0412"));
    CU_ASSERT_PTR_NOT_NULL(strstr(scene_told(&scene), "does not know the custom:acme devices"));
    scene_close(&scene);
    scene_open(&scene, "device: cuda\ndevices: any\n",
               &(struct facts){.on = "1x0,8c", .real = true});
    CU_ASSERT_EQUAL(scene.status, JR_STATUS_UNRESOLVED);
    CU_ASSERT_PTR_NOT_NULL(strstr(scene_told(&scene), "JR0412"));
    scene_close(&scene);
}

/* Of more devices than ranks, those that no rank gets are not used. */
TEST(leases_what_ranks_get)
{
    struct devices devices;
    struct scene first, second;
    devices_make(&devices, 0);
    open_run(&first, &devices, "world_size: 2\n");
    CU_ASSERT_EQUAL(first.resolution.device_leases_count, 2);
    open_run(&second, &devices, "devices: any\nworld_size: 2\n");
    JR_ASSERT_TEXT(devices_of(&second), "2,3");
    scene_close(&first);
    scene_close(&second);
}

/* With a place in the queue, stated devices are not shared. */
TEST(says_what_it_waits_for)
{
    struct devices devices;
    struct scene first, waiting;
    struct jr_device_wait wait = JR_DEVICE_WAIT_INIT;
    const struct jr_resolve_options options = {.keep_port = true, .wait = &wait};
    devices_make(&devices, 0);
    open_run(&first, &devices, "devices: [1]\nworld_size: 1\n");
    open_machine(&waiting, &devices);
    resolve_on(&waiting, "devices: [1, 3]\nworld_size: 2\n", &options);
    CU_ASSERT_EQUAL(waiting.status, JR_STATUS_UNRESOLVED);
    CU_ASSERT_EQUAL(wait.request.need, 2);
    CU_ASSERT_EQUAL_FATAL(wait.request.count, 2);
    JR_ASSERT_TEXT(wait.request.keys[0], devices.list[1]);
    JR_ASSERT_TEXT(wait.request.keys[1], devices.list[3]);
    CU_ASSERT_PTR_NOT_NULL(strstr(scene_told(&waiting), "leave --wait out"));
    scene_close(&waiting);
    CU_ASSERT_EQUAL(jr_device_queue_join(&wait.queue, &wait.request), 0);
    scene_close(&first);
    open_machine(&waiting, &devices);
    resolve_on(&waiting, "devices: [1, 3]\nworld_size: 2\n", &options);
    CU_ASSERT_EQUAL(waiting.status, JR_STATUS_OK);
    CU_ASSERT_EQUAL(waiting.resolution.device_leases_count, 2);
    /* who comes now has what nobody waits for */
    open_run(&first, &devices, "devices: any\nworld_size: 1\n");
    CU_ASSERT_EQUAL(first.status, JR_STATUS_OK);
    JR_ASSERT_TEXT(devices_of(&first), "0");
    scene_close(&first);
    scene_close(&waiting);
    jr_device_queue_leave(&wait.queue);
    jr_arena_release(&wait.arena);
}

/* Who leased the devices that the job sees: a sweep, for its cell. Others are not asked about,
 * whatever the spec says of devices. */
TEST(takes_leases_over)
{
    static const char *const specs[] = {"world_size: 2\n", "devices: any\nworld_size: 2\n",
                                        "devices: [0, 1]\nworld_size: 2\n"};
    struct devices devices;
    struct jr_device_lease leases[2], other;
    devices_make(&devices, 0);
    const struct jr_device_request two = devices_request(&devices, 2, 2);
    const struct jr_device_request one = devices_request(&devices, 1, 1);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct scene cell;
        CU_ASSERT_EQUAL_FATAL(devices_take(&two, 0, leases), 2);
        open_machine(&cell, &devices);
        cell.hw.devices[2].visible = cell.hw.devices[3].visible = false;
        resolve_on(
            &cell, specs[i],
            &(struct jr_resolve_options){.keep_port = true, .leases = leases, .leases_count = 2});
        CU_ASSERT_EQUAL(cell.status, JR_STATUS_OK);
        CU_ASSERT_EQUAL(cell.diags.count, 0);
        JR_ASSERT_TEXT(devices_of(&cell), "0,1");
        CU_ASSERT_EQUAL(cell.resolution.device_leases_count, 2);
        CU_ASSERT_EQUAL(devices_take(&one, 0, &other), 0);
        scene_close(&cell);
        CU_ASSERT_EQUAL(leases[0].fd, -1);
        CU_ASSERT_EQUAL(devices_take(&one, 0, &other), 1);
        jr_device_lease_release(&other);
    }
}
