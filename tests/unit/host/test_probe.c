#include "scratch.h"

#include <sched.h>

#include "base/arena.h"
#include "host/host.h"
#include "host/internal.h"

#define MACHINES TEST_SOURCE_DIR "/machines/"

static char *no_env[] = {NULL};

TEST(fields_of_a_text)
{
    static const struct {
        const char *text, *key, *expected;
    } vectors[] = {
        {"", "Key", NULL},
        {"Keys: 1\nKe: 2\n Key: 3", "Key", NULL},
        {"Key 4", "Key", NULL},
        {"Key:", "Key", ""},
        {"Key: \t \nNext: 1", "Key", ""},
        {"Key: 1\nKey: 2", "Key", "1"},
        {"A: 1\nKey: \t two words \t\r\nB: 3", "Key", "two words"},
        {"A: 1\nKey:x", "Key", "x"},
    };
    struct jr_host_reader probe = {.root = ""};
    CU_ASSERT_PTR_NULL(jr_host_reader_field(&probe, NULL, "Key"));
    JR_EACH(row, vectors) {
        const char *value = jr_host_reader_field(&probe, row->text, row->key);
        if (row->expected == NULL)
            CU_ASSERT_PTR_NULL(value)
        else
            JR_ASSERT_TEXT(value, row->expected);
    }
    jr_arena_release(&probe.scratch);
}

/* Every allocation of a probe fails once, and it says so without a crash. */
TEST(survives_without_memory)
{
    int got = -1;
    for (size_t limit = 16; got != 0 && limit < 1 << 16; limit += 16) {
        struct jr_arena arena RELEASE(jr_arena_release) = {.limit = limit};
        struct jr_error err = {0};
        struct jr_host hw = {.nodes = 7};
        got = jr_host_probe(&hw, &arena, MACHINES "h100x8", no_env, &err);
        if (got != 0) {
            CU_ASSERT_EQUAL(err.status, JR_STATUS_LAUNCH);
            CU_ASSERT_EQUAL(hw.nodes, 7);
        }
    }
    CU_ASSERT_EQUAL(got, 0);
}

TEST(a_folder_that_is_not_there_has_no_facts)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_host hw;
    CU_ASSERT_EQUAL(jr_host_probe(&hw, &arena, MACHINES "nowhere", no_env, NULL), 0);
    CU_ASSERT_EQUAL(hw.cpus.usable, 0);
    CU_ASSERT_EQUAL(hw.memory, 0);
    CU_ASSERT_EQUAL(hw.devices_count, 0);
    CU_ASSERT_EQUAL(hw.problems_count, 0);
    CU_ASSERT_EQUAL(hw.port_low, JR_HOST_PORT_LOW);
    CU_ASSERT_PTR_NULL(hw.hostname);
    CU_ASSERT_FALSE(hw.real);
}

/* What other interfaces of the system say of this machine. */
TEST(this_machine)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_error err = {0};
    struct jr_host hw;
    char name[256] = "";
    cpu_set_t mask;
    CU_ASSERT_EQUAL_FATAL(jr_host_probe(&hw, &arena, "", no_env, &err), 0);
    CU_ASSERT_TRUE(hw.real);
    JR_ASSERT_TEXT(hw.origin, "hardware");
    CU_ASSERT_EQUAL(gethostname(name, sizeof name - 1), 0);
    JR_ASSERT_TEXT(hw.hostname, name);
    CU_ASSERT_EQUAL(hw.cpus.online, sysconf(_SC_NPROCESSORS_ONLN));
    if (sched_getaffinity(0, sizeof mask, &mask) == 0)
        CU_ASSERT_EQUAL(hw.cpus.usable, (uint32_t)CPU_COUNT(&mask));
    CU_ASSERT_TRUE(hw.cpus.usable_cores >= 1);
    CU_ASSERT_TRUE(hw.cpus.usable_cores <= hw.cpus.usable);
    CU_ASSERT_PTR_NOT_NULL(hw.cpus.set);
    CU_ASSERT_TRUE(hw.memory > 0);
    CU_ASSERT_TRUE(hw.port_low < hw.port_high);
}

TEST(the_threads_own_affinity_counts)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_host hw;
    cpu_set_t before, one;
    CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof before, &before), 0);
    unsigned cpu = 0;
    while (!CPU_ISSET(cpu, &before))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    CU_ASSERT_EQUAL_FATAL(sched_setaffinity(0, sizeof one, &one), 0);
    CU_ASSERT_EQUAL(jr_host_probe(&hw, &arena, "", no_env, NULL), 0);
    CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof before, &before), 0);
    char expected[16];
    (void)snprintf(expected, sizeof expected, "%u", cpu);
    CU_ASSERT_EQUAL(hw.cpus.usable, 1);
    CU_ASSERT_EQUAL(hw.cpus.usable_cores, 1);
    JR_ASSERT_TEXT(hw.cpus.set, expected);
}

/* No kernel has one that is empty, or begins at 0. */
TEST(a_range_of_ports_that_is_none)
{
    static const char *const ranges[] = {"",           "x",     "1024",     "0 2000",  "2000 1",
                                         "1024 65536", "-1 20", "1024 max", "1\t65535"};
    SCRATCH(scratch);
    JR_EACH(range, ranges) {
        struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
        struct jr_host hw;
        char file[128];
        bool good = strcmp(*range, "1\t65535") == 0;
        (void)snprintf(file, sizeof file, "proc/sys/net/ipv4/ip_local_port_range %s", *range);
        scratch_tree(&scratch, file);
        CU_ASSERT_EQUAL(jr_host_probe(&hw, &arena, scratch.dir, no_env, NULL), 0);
        CU_ASSERT_EQUAL(hw.port_low, good ? 1 : JR_HOST_PORT_LOW);
        CU_ASSERT_EQUAL(hw.port_high, good ? 65535 : JR_HOST_PORT_HIGH);
    }
}
