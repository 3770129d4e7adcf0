/* What cells need of the nodes of a sweep: which of them run beside each other, and what of the
 * scheduler's facts each sees. The needs are stated here. */
#include "session/sweep/internal.h"

#include "session/internal.h"
#include "unit.h"

enum { NODES = 3 };

static struct jr_room rooms[NODES] = {{.devices = 2, .cores = 4, .places = 2},
                                      {.devices = 4, .cores = 8, .places = 5},
                                      {.devices = 0, .cores = 16}};

static const struct jr_cell_needs all = {.rooms = rooms, .nodes = NODES};

static void check_held(const struct jr_room *held, const uint32_t devices[static NODES],
                       const uint32_t cores[static NODES])
{
    for (int i = 0; i < NODES; i++) {
        CU_ASSERT_EQUAL(held[i].devices, devices[i]);
        CU_ASSERT_EQUAL(held[i].cores, cores[i]);
    }
}

#define EACH(...) ((const uint32_t[NODES]){__VA_ARGS__})

TEST(adds_what_nodes_have)
{
    struct jr_room room = jr_cell_needs_room(&all);
    CU_ASSERT_EQUAL(room.devices, 6);
    CU_ASSERT_EQUAL(room.cores, 28);
    CU_ASSERT_EQUAL(room.places, 7);
}

/* Each goes to the first node that has room for it beside the others. */
TEST(fills_the_nodes)
{
    struct jr_room held[NODES] = {{0}};
    const struct jr_cell_need two = {.nodes = 1, .devices = 2, .cores = 1};
    const struct jr_cell_need many = {.nodes = 1, .cores = 15};
    CU_ASSERT_TRUE(jr_cell_needs_place(&all, &two, held, 0));
    check_held(held, EACH(2, 0, 0), EACH(1, 0, 0));
    CU_ASSERT_TRUE(jr_cell_needs_place(&all, &two, held, 1));
    CU_ASSERT_TRUE(jr_cell_needs_place(&all, &two, held, 2));
    check_held(held, EACH(2, 4, 0), EACH(1, 2, 0));
    CU_ASSERT_FALSE(jr_cell_needs_place(&all, &two, held, 3));
    CU_ASSERT_TRUE(jr_cell_needs_place(&all, &many, held, 3));
    check_held(held, EACH(2, 4, 0), EACH(1, 2, 15));
    CU_ASSERT_FALSE(jr_cell_needs_place(&all, &many, held, 4));
    const struct jr_cell_need last = {.nodes = 1, .cores = 3};
    CU_ASSERT_TRUE(jr_cell_needs_place(&all, &last, held, 4)); /* exactly */
    check_held(held, EACH(2, 4, 0), EACH(4, 2, 15));
}

/* Alone it begins where it fits; where it fits nowhere, on the last. */
TEST(the_first_begins_wherever_it_fits)
{
    static const struct {
        uint32_t devices, cores;
        int node;
    } vectors[] = {{0, 0, 0}, {2, 4, 0},  {3, 1, 1}, {0, 5, 1},
                   {4, 8, 1}, {0, 16, 2}, {9, 1, 2}, {0, 99, 2}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_room held[NODES] = {{0}};
        const struct jr_cell_need need = {
            .nodes = 1, .devices = vectors[i].devices, .cores = vectors[i].cores};
        uint32_t devices[NODES] = {0}, cores[NODES] = {0};
        devices[vectors[i].node] = need.devices;
        cores[vectors[i].node] = need.cores;
        CU_ASSERT_TRUE(jr_cell_needs_place(&all, &need, held, 0));
        check_held(held, devices, cores);
    }
}

/* One of several nodes has all of them, and begins alone. */
TEST(one_of_several_nodes_is_alone)
{
    struct jr_room held[NODES] = {{0}};
    const struct jr_cell_need two = {.nodes = 2, .cores = 1};
    const struct jr_cell_need one = {.nodes = 1, .cores = 1};
    CU_ASSERT_FALSE(jr_cell_needs_place(&all, &two, held, 1));
    CU_ASSERT_TRUE(jr_cell_needs_place(&all, &two, held, 0));
    CU_ASSERT_FALSE(jr_cell_needs_place(&all, &one, held, 1));
    const struct jr_cell_need none = {.nodes = 1};
    CU_ASSERT_FALSE(jr_cell_needs_place(&all, &none, held, 1));
}

/* A limit counts whatever fits, and within it some may share. */
TEST(keeps_to_the_limit)
{
    struct jr_cell_needs limited = all;
    const struct jr_cell_need one = {.nodes = 1, .cores = 1};
    const struct jr_cell_need shares = {.nodes = 1, .cores = 99, .oversubscribe = true};
    struct jr_room held[NODES] = {{0}};
    limited.parallel = 2;
    CU_ASSERT_TRUE(jr_cell_needs_place(&limited, &one, held, 1));
    CU_ASSERT_FALSE(jr_cell_needs_place(&limited, &one, held, 2));
    CU_ASSERT_TRUE(jr_cell_needs_place(&limited, &shares, held, 1));
    CU_ASSERT_FALSE(jr_cell_needs_place(&limited, &shares, held, 2));
    check_held(held, EACH(0, 0, 0), EACH(1, 0, 0));
    CU_ASSERT_FALSE(jr_cell_needs_place(&all, &shares, held, 1));
}

TEST(tells_the_schedule)
{
    static const bool yes[] = {true};
    static const bool *const may[] = {yes};
    const struct jr_cell_need need = {
        .nodes = 1, .cores = 2, .devices = 3, .may = may, .oversubscribe = true};
    const struct jr_cell_need wide = {.nodes = 2};
    struct jr_slots slots = jr_cell_needs_slots(&need);
    CU_ASSERT_TRUE(slots.cores == 2 && slots.devices == 3 && slots.may == may);
    CU_ASSERT_TRUE(slots.shares && !slots.alone);
    slots = jr_cell_needs_slots(&wide);
    CU_ASSERT_TRUE(slots.alone && !slots.shares);
}

/* Of an allocation a cell of one node sees its name and its end, and none of its nodes. */
TEST(a_cell_sees_its_machine_alone)
{
    struct jr_host host = {.hostname = "n0",
                           .nodes = 4,
                           .devices_each = {.count = 4},
                           .cpus_each = {.count = 4},
                           .scheduler = {.name = "Slurm",
                                         .job_id = "7",
                                         .step = true,
                                         .nodes = 4,
                                         .node_rank = 2,
                                         .tasks_here = 1,
                                         .master_addr = "n0",
                                         .master_port = 5,
                                         .restarts = 3,
                                         .end = 99,
                                         .kill_wait = 30}};
    jr_cell_host_alone(&host);
    JR_ASSERT_TEXT(host.hostname, "n0");
    JR_ASSERT_TEXT(host.scheduler.name, "Slurm");
    JR_ASSERT_TEXT(host.scheduler.job_id, "7");
    CU_ASSERT_EQUAL(host.nodes, 0);
    CU_ASSERT_EQUAL(host.devices_each.count, 0);
    CU_ASSERT_EQUAL(host.cpus_each.count, 0);
    CU_ASSERT_FALSE(host.scheduler.step);
    CU_ASSERT_EQUAL(host.scheduler.nodes, 0);
    CU_ASSERT_EQUAL(host.scheduler.node_rank, -1);
    CU_ASSERT_EQUAL(host.scheduler.tasks_here, 0);
    CU_ASSERT_PTR_NULL(host.scheduler.master_addr);
    CU_ASSERT_EQUAL(host.scheduler.master_port, 0);
    CU_ASSERT_EQUAL(host.scheduler.restarts, 3);
    CU_ASSERT_EQUAL(host.scheduler.end, 99);
    CU_ASSERT_EQUAL(host.scheduler.kill_wait, 30);
}

/* This machine is one, a profile has as many as it says, and agents are on theirs. */
TEST(knows_the_machines)
{
    static struct jr_session session;
    struct jr_host hosts[] = {{.hostname = "n0"}, {.hostname = "n1"}};
    session.host = (struct jr_host){.hostname = "here", .real = true};
    CU_ASSERT_EQUAL(jr_cell_hosts_count(&session), 1);
    session.host.nodes = 4;
    CU_ASSERT_EQUAL(jr_cell_hosts_count(&session), 1);
    CU_ASSERT_EQUAL(jr_cell_host(&session, 0).nodes, 4);
    session.host.real = false;
    CU_ASSERT_EQUAL(jr_cell_hosts_count(&session), 4);
    CU_ASSERT_EQUAL(jr_cell_host(&session, 3).nodes, 0);
    JR_ASSERT_TEXT(jr_cell_host(&session, 3).hostname, "here");
    session.host.nodes = 1;
    CU_ASSERT_EQUAL(jr_cell_hosts_count(&session), 1);
    CU_ASSERT_EQUAL(jr_cell_host(&session, 0).nodes, 1);
    session.cell_hosts = hosts;
    session.cell_hosts_count = 2;
    CU_ASSERT_EQUAL(jr_cell_hosts_count(&session), 2);
    JR_ASSERT_TEXT(jr_cell_host(&session, 1).hostname, "n1");
}
