/* A part of a machine: the cores and devices that are left of it. */
#include "unit.h"
#include "host/host.h"

static char *cores[] = {(char[]){"0,4"}, (char[]){"1,5"}, (char[]){"2,6"}, (char[]){"3,7"}, NULL};
static struct jr_host_numa numa[] = {{0, "0-1,4-5"}, {1, "2-3,6-7"}};
static struct jr_host_device devices[] = {
    {.kind = JR_DEVICE_CUDA, .index = 2, .visible = true},
    {.kind = JR_DEVICE_CUDA, .index = 0, .visible = true},
    {.kind = JR_DEVICE_CUDA, .index = 1},
};

static struct jr_host machine(void)
{
    return (struct jr_host){
        .cpus = {.online = 8,
                 .usable = 8,
                 .usable_cores = 4,
                 .quota = 3,
                 .set = "0-7",
                 .cores = {cores, 4},
                 .numa = numa,
                 .numa_count = 2},
        .devices = devices,
        .devices_count = 3,
    };
}

TEST(is_the_machine_if_nothing_is_said)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    const struct jr_host host = machine();
    struct jr_host part;
    jr_host_narrow(&part, &host, &(struct jr_host_part){0}, &arena);
    CU_ASSERT_EQUAL(memcmp(&part, &host, sizeof part), 0);
    CU_ASSERT_EQUAL(jr_host_core_count(&host), 4);
}

TEST(has_its_cores_alone)
{
    static const uint32_t own[] = {1, 3};
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    const struct jr_host host = machine();
    struct jr_host part;
    jr_host_narrow(&part, &host, &(struct jr_host_part){.cores = own, .cores_count = 2}, &arena);
    JR_ASSERT_TEXT(part.cpus.set, "1,3,5,7");
    CU_ASSERT_EQUAL(part.cpus.usable, 4);
    CU_ASSERT_EQUAL(part.cpus.usable_cores, 2);
    CU_ASSERT_EQUAL(part.cpus.quota, 0);
    CU_ASSERT_EQUAL(part.cpus.cores.count, 2);
    JR_ASSERT_TEXT(part.cpus.cores.items[1], "3,7");
    CU_ASSERT_EQUAL(part.cpus.numa_count, 2);
    JR_ASSERT_TEXT(part.cpus.numa[0].cpus, "1,5");
    CU_ASSERT_PTR_EQUAL(part.devices, host.devices);
}

TEST(leaves_out_nodes_without_cpus)
{
    static const uint32_t own[] = {2};
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    const struct jr_host host = machine();
    struct jr_host part;
    jr_host_narrow(&part, &host, &(struct jr_host_part){.cores = own, .cores_count = 1}, &arena);
    CU_ASSERT_EQUAL(part.cpus.numa_count, 1);
    CU_ASSERT_EQUAL(part.cpus.numa[0].index, 1);
    JR_ASSERT_TEXT(part.cpus.numa[0].cpus, "2,6");
}

TEST(counts_cpus_where_each_is_a_core)
{
    static const uint32_t own[] = {0, 2};
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    const struct jr_host host = {.cpus = {.usable = 3, .usable_cores = 3, .set = "1,4,6"}};
    struct jr_host part;
    CU_ASSERT_EQUAL(jr_host_core_count(&host), 3);
    jr_host_narrow(&part, &host, &(struct jr_host_part){.cores = own, .cores_count = 2}, &arena);
    JR_ASSERT_TEXT(part.cpus.set, "1,6");
    CU_ASSERT_EQUAL(part.cpus.cores.count, 0);
    CU_ASSERT_EQUAL(jr_host_core_count(&(struct jr_host){0}), 0);
}

TEST(sees_its_devices_alone)
{
    static const uint32_t own[] = {1};
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    const struct jr_host host = machine();
    struct jr_host part;
    jr_host_narrow(&part, &host, &(struct jr_host_part){.devices = own, .devices_count = 1},
                   &arena);
    CU_ASSERT_EQUAL(part.devices_count, 3);
    CU_ASSERT_EQUAL(part.devices[0].index, 0);
    CU_ASSERT_TRUE(part.devices[0].visible);
    CU_ASSERT_FALSE(part.devices[1].visible);
    CU_ASSERT_FALSE(part.devices[2].visible);
    CU_ASSERT_TRUE(host.devices[0].visible);
    JR_ASSERT_TEXT(part.cpus.set, "0-7");
}
