#include "unit.h"

#include <unistd.h>

#include "resolve/device_profile.h"

/* The findings on a profile, one line each; "" when there is none. */
static void check_bad(const char *profile, const char *expected)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_diags diags RELEASE(jr_diags_release) = JR_DIAGS_INIT;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_host hw = {.nodes = 77};
    CU_ASSERT_EQUAL(jr_profile_load(&hw, &arena, profile, &diags), -1);
    CU_ASSERT_EQUAL(hw.nodes, 77);
    jr_diags_render(&text, &diags, JR_DIAG_SHORT, false);
    JR_ASSERT_TEXT(text.len == 0 ? "" : text.data, expected);
}

TEST(bad_shorthands_are_positioned)
{
#define MISSING(what) "error: " what " is missing at the end of the profile"
#define BELONGS(what) "error: " what " belongs here in the profile"
    static const char *const vectors[][2] = {
        {"2", "--on:2: " MISSING("x and the number of devices")},
        {"8:H100", "--on:2: " BELONGS("x and the number of devices")},
        {"2X8", "--on:2: " BELONGS("x and the number of devices")},
        {"2x", "--on:3: " MISSING("the number of devices")},
        {"2x-1", "--on:3: " BELONGS("the number of devices")},
        {"2x8x2", "--on:4: " BELONGS("a comma or nothing")},
        {"2x8 ", "--on:4: " BELONGS("a comma or nothing")},
        {"2x8:", "--on:5: " MISSING("the model of the devices")},
        {"2x8:,4c", "--on:5: " BELONGS("the model of the devices")},
        {"2x8,", "--on:5: " MISSING("CPUSc or MEMg")},
        {"2x8,,", "--on:5: " BELONGS("CPUSc or MEMg")},
        {"2x8,c", "--on:5: " BELONGS("the number of CPUs")},
        {"2x8,96", "--on:5: " BELONGS("CPUSc or MEMg")},
        {"2x8,96k", "--on:5: " BELONGS("CPUSc or MEMg")},
        {"2x8,96c4g", "--on:8: " BELONGS("a comma or nothing")},
        {"2x8,96c,4c", "--on:9: " BELONGS("something that is not there yet")},
        {"0x8", "--on:1: error: the number of nodes is from 1 to 1048576, not 0"},
        {"02x8", "--on:1: error: the number of nodes is from 1 to 1048576, not 02"},
        {"2x9999", "--on:3: error: the number of devices is from 0 to 1024, not 9999"},
        {"1x1,0c", "--on:5: error: the number of CPUs is from 1 to 65536, not 0"},
        {"1x1,99999999999999999999g", "--on:5: error: the memory in GiB is from 1 to 1048576, not "
                                      "99999999999999999999"}};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        char expected[256];
        (void)snprintf(expected, sizeof expected, "%s [JR0480]\n", vectors[i][1]);
        check_bad(vectors[i][0], expected);
    }
    check_bad("2x8:H1O0", "--on:5: error: unknown device model 'H1O0' [JR0481]\n");
    check_bad("2x8:\xc3\xbc,4k", "--on:5: error: unknown device model '\xc3\xbc' [JR0481]\n");
}

TEST(a_machine_in_other_words_is_helped)
{
    EACH_PAIR(given, wanted,
              "H100 => did you mean 1x8:H100 (|8xH100 => did you mean 1x8:H100 (|h100x4 => did you "
              "mean 1x4:H100 (|A100:4 => did you mean 1x4:A100 (|2*8 => did you mean 2x8 "
              "(|2x8xMI300X => did you mean 2x8:MI300X (|RTX4090 => did you mean 1x8:RTX4090 (|8 "
              "=> write NODESxDEVICES[|2x8x4 => write NODESxDEVICES[|facts.yml => write "
              "NODESxDEVICES[|H100-and-a-long-name-behind-it => write NODESxDEVICES[") {
        struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
        struct jr_diags diags RELEASE(jr_diags_release) = JR_DIAGS_INIT;
        struct jr_host hw;
        CU_ASSERT_EQUAL(jr_profile_load(&hw, &arena, given, &diags), -1);
        CU_ASSERT_EQUAL_FATAL(diags.count, 1);
        CU_ASSERT_PTR_NOT_NULL_FATAL(diags.items[0].help);
        CU_ASSERT_PTR_EQUAL(strstr(diags.items[0].help, wanted), diags.items[0].help);
    }
}

TEST(an_unknown_model_is_helped)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_diags diags RELEASE(jr_diags_release) = JR_DIAGS_INIT;
    struct jr_host hw;
    CU_ASSERT_EQUAL(jr_profile_load(&hw, &arena, "2x8:MI30OX,4c", &diags), -1);
    CU_ASSERT_EQUAL_FATAL(diags.count, 1);
    const char *help = diags.items[0].help;
    CU_ASSERT_PTR_NOT_NULL_FATAL(help);
    CU_ASSERT_PTR_NOT_NULL(strstr(help, "did you mean 'MI300X'?"));
    CU_ASSERT_PTR_NOT_NULL(strstr(help, " Gaudi2 "));
    CU_ASSERT_EQUAL(diags.items[0].span.column, 5);
    CU_ASSERT_EQUAL(diags.items[0].span.end_column, 11);
}

TEST(models_decide_the_vendor)
{
    static const struct {
        const char *profile;
        enum jr_device kind;
        const char *model;
    } vectors[] = {{"1x1", JR_DEVICE_CUDA, NULL},
                   {"1x1:h100", JR_DEVICE_CUDA, "H100"},
                   {"1x1:RTX4090", JR_DEVICE_CUDA, "RTX4090"},
                   {"1x1:rtx-6000-ada", JR_DEVICE_CUDA, "rtx-6000-ada"},
                   {"1x1:MI300X", JR_DEVICE_ROCM, "MI300X"},
                   {"1x1:PVC", JR_DEVICE_XPU, "PVC"},
                   {"1x1:Gaudi3", JR_DEVICE_HPU, "Gaudi3"},
                   {"1x1:910B", JR_DEVICE_NPU, "910B"},
                   {"1x1:Ascend910", JR_DEVICE_NPU, "Ascend910"},
                   {"1x1:MLU370", JR_DEVICE_MLU, "MLU370"}};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
        struct jr_diags diags RELEASE(jr_diags_release) = JR_DIAGS_INIT;
        struct jr_host hw;
        CU_ASSERT_EQUAL_FATAL(jr_profile_load(&hw, &arena, vectors[i].profile, &diags), 0);
        CU_ASSERT_EQUAL_FATAL(hw.devices_count, 1);
        CU_ASSERT_EQUAL(hw.devices[0].kind, vectors[i].kind);
        if (vectors[i].model == NULL)
            CU_ASSERT_PTR_NULL(hw.devices[0].model)
        else
            JR_ASSERT_TEXT(hw.devices[0].model, vectors[i].model);
    }
}

TEST(shorthands_are_machines)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_diags diags RELEASE(jr_diags_release) = JR_DIAGS_INIT;
    struct jr_host hw;
    CU_ASSERT_EQUAL_FATAL(jr_profile_load(&hw, &arena, "2x8:H100,96c,1024g", &diags), 0);
    JR_ASSERT_TEXT(hw.origin, "--on 2x8:H100,96c,1024g");
    CU_ASSERT_EQUAL(hw.nodes, 2);
    CU_ASSERT_EQUAL(hw.devices_count, 8);
    CU_ASSERT_EQUAL(hw.devices[7].index, 7);
    CU_ASSERT_EQUAL(hw.devices[7].numa_node, -1);
    CU_ASSERT_TRUE(hw.devices[7].visible);
    CU_ASSERT_EQUAL(hw.cpus.usable, 96);
    CU_ASSERT_EQUAL(hw.cpus.usable_cores, 96);
    JR_ASSERT_TEXT(hw.cpus.set, "0-95");
    CU_ASSERT_EQUAL(hw.memory, UINT64_C(1) << 40);
    CU_ASSERT_EQUAL(hw.port_low, JR_HOST_PORT_LOW);
    CU_ASSERT_FALSE(hw.real);

    CU_ASSERT_EQUAL_FATAL(jr_profile_load(&hw, &arena, "4x0,64g,1c", &diags), 0);
    CU_ASSERT_EQUAL(hw.nodes, 4);
    CU_ASSERT_EQUAL(hw.devices_count, 0);
    CU_ASSERT_EQUAL(hw.cpus.usable, 1);
    JR_ASSERT_TEXT(hw.cpus.set, "0");
    CU_ASSERT_EQUAL(hw.memory, UINT64_C(64) << 30);

    CU_ASSERT_EQUAL_FATAL(jr_profile_load(&hw, &arena, "1x0", &diags), 0);
    CU_ASSERT_EQUAL(hw.cpus.usable, 0);
    CU_ASSERT_PTR_NULL(hw.cpus.set);
    CU_ASSERT_EQUAL(hw.memory, 0);
    CU_ASSERT_EQUAL(diags.count, 0);
}

static char path[] = "/tmp/jr_facts_XXXXXX";

__attribute__((constructor)) static void make_file(void)
{
    (void)close(mkstemp(path));
}

__attribute__((destructor)) static void remove_file(void)
{
    (void)unlink(path);
}

static void write_facts(const char *text)
{
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_TRUE(fputs(text, file) >= 0);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

#define V1 "format_version: 1\n"

TEST(bad_facts_are_positioned)
{
#define INTEGER "wants an integer of at least 0, not "
#define KIND                                                                                       \
    "'kind' wants a kind of device: cpu cuda rocm xpu hpu npu mlu "                                \
    "custom"
    static const char *const vectors[][2] = {
        {"[1]", "1:1: error: a facts file must be a mapping [JR0483]\n"},
        {"cpus: {}", "1:1: error: 'format_version' is missing [JR0484]\n"},
        {V1 V1, "2:1: error: duplicate key 'format_version' [JR0106]\n"},
        {"format_version: 2", "1:17: error: 'format_version' wants 1, not '2' [JR0483]\n"},
        {"format_version: \"1\"", "1:17: error: 'format_version' wants 1, not '1' [JR0483]\n"},
        {"format_version: null", "1:17: error: 'format_version' wants 1, not 'null' [JR0483]\n"},
        {V1 "cpu: {}", "2:1: error: unknown fact 'cpu' [JR0482]\n"},
        {V1 "cpus: 4", "2:7: error: 'cpus' wants a mapping, not '4' [JR0483]\n"},
        {V1 "cpus: [4]", "2:7: error: 'cpus' wants a mapping [JR0483]\n"},
        {V1 "cpus: {usable: -1}", "2:16: error: 'usable' " INTEGER "'-1' [JR0483]\n"},
        {V1 "cpus: {usable: \"4\"}", "2:16: error: 'usable' " INTEGER "'4' [JR0483]\n"},
        {V1 "cpus: {usable: 4.0}", "2:16: error: 'usable' " INTEGER "'4.0' [JR0483]\n"},
        {V1 "cpus: {usable: {}}",
         "2:16: error: 'usable' wants an integer of at least 0 [JR0483]\n"},
        {V1 "cpus: {quota: half}", "2:15: error: 'quota' wants a number of "
                                   "CPUs such as 1.5, not 'half' [JR0483]\n"},
        {V1 "cpus: {quota: .inf}", "2:15: error: 'quota' wants a number of "
                                   "CPUs such as 1.5, not '.inf' [JR0483]\n"},
        {V1 "cpus: {set: 4-}", "2:13: error: 'set' wants CPU numbers such as "
                               "0-3,8, not '4-' [JR0483]\n"},
        {V1 "cpus: {set: 0-65536}", "2:13: error: 'set' wants CPU numbers such "
                                    "as 0-3,8, not '0-65536' [JR0483]\n"},
        {V1 "cpus: {set: 0-4294967295}", "2:13: error: 'set' wants CPU numbers such as 0-3,8, not "
                                         "'0-4294967295' [JR0483]\n"},
        {V1 "cpus: {core_cpus: 0 1-4294967295}", "2:19: error: 'core_cpus' wants sets of CPUs such "
                                                 "as 0,4 1,5, not '0 1-4294967295' [JR0483]\n"},
        {V1 "memory: plenty", "2:9: error: 'memory' wants a size such as "
                              "64GiB, not 'plenty' [JR0483]\n"},
        {V1 "hostname: [a]", "2:11: error: 'hostname' wants a string [JR0483]\n"},
        {V1 "devices: {}", "2:10: error: 'devices' wants a list [JR0483]\n"},
        {V1 "devices: null", "2:10: error: 'devices' wants a list, not 'null' [JR0483]\n"},
        {V1 "devices: [H100]", "2:11: error: 'devices' wants a mapping for "
                               "each item, not 'H100' [JR0483]\n"},
        {V1 "devices: [{index: 0}]", "2:11: error: 'kind' is missing [JR0484]\n"},
        {V1 "devices: [{kind: gpu, index: 0}]", "2:18: error: " KIND ", not 'gpu' [JR0483]\n"},
        {V1 "devices: [{kind: custom:acme, index: 0}]",
         "2:18: error: " KIND ", not 'custom:acme' [JR0483]\n"},
        {V1 "devices: [{kind: cuda, index: 0, numa_node: -1}]",
         "2:45: error: 'numa_node' " INTEGER "'-1' [JR0483]\n"},
        {V1 "devices: [{kind: cuda, index: 0, visible: 1}]",
         "2:43: error: 'visible' wants true or false, not '1' [JR0483]\n"},
        {V1 "environment: {RANK: 3}", "2:15: error: unknown fact 'RANK' [JR0482]\n"},
        {V1 "ephemeral_ports: {low: a}", "2:24: error: 'low' " INTEGER "'a' [JR0483]\n"},
        {V1 "problems: [{kind: cpu}]", "2:12: error: 'message' is missing [JR0484]\n"},
        {V1 "custom_variable: 4U", "2:18: error: 'custom_variable' wants the "
                                   "name of a variable, not '4U' [JR0483]\n"},
        {V1 "cpus: {caches: [{level: 2}]}", "2:17: error: 'cpus' is missing [JR0484]\n"},
        /* what cannot all be true */
        {V1 "cpus: {online: 2, usable: 4}",
         "2:27: error: usable is 4, but online is only 2 [JR0486]\n"},
        {V1 "cpus: {usable: 4, cores: 8}",
         "2:26: error: cores is 8, but usable is only 4 [JR0486]\n"},
        {V1 "cpus: {usable: 4, set: 0-2}",
         "2:24: error: set has 3 CPUs, but usable says 4 [JR0486]\n"},
        {V1 "cpus: {set: 0-3, core_cpus: \"0,1 2,9\"}",
         "2:29: error: core_cpus has CPU 9, which is not in set [JR0486]\n"},
        {V1 "cpus: {set: 0-3, numa: [{index: 0, cpus: 0-1}, {index: 1, cpus: 2-4}]}",
         "2:24: error: numa has CPU 4, which is not in set [JR0486]\n"},
        {V1 "devices: [{kind: cuda, index: 1}, {kind: rocm, index: 1}, {kind: cuda, index: 1}]",
         "2:59: error: devices 0 and 2 are of one kind, and both have index 1 [JR0486]\n"},
        {V1 "devices: [{kind: cuda, index: 0, uuid: G}, {kind: cuda, index: 1, uuid: G}]",
         "2:44: error: devices 0 and 1 have one UUID, G [JR0486]\n"},
        {V1 "scheduler: {name: S, nodes: 2, node_rank: 2}",
         "2:43: error: node_rank is 2, but there are 2 nodes, counted from 0 [JR0486]\n"},
        {V1 "scheduler: {name: S, nodes: 2, hosts: \"n[1-3]\"}",
         "2:39: error: 3 hosts, but 2 nodes [JR0486]\n"},
        {V1 "scheduler: {name: S, nodes: 2, hosts: \"n[1-3\"}",
         "2:39: error: 'hosts' wants hosts such as n[1-4], not 'n[1-3' [JR0483]\n"},
        {V1 "ephemeral_ports: {low: 9, high: 3}",
         "2:24: error: 9 to 3 is not a range of ports [JR0486]\n"},
        /* all in one pass */
        {"cpu: 1\nnodes: x\n", "1:1: error: unknown fact 'cpu' [JR0482]\n"
                               "/2:8: error: 'nodes' " INTEGER "'x' [JR0483]\n"
                               "/1:1: error: 'format_version' is missing [JR0484]\n"}};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        JR_BUF_CLEANUP struct jr_buf expected = JR_BUF_INIT;
        char *lines = strdup(vectors[i][1]), *rest = lines;
        for (char *line; (line = strsep(&rest, "/")) != NULL;)
            jr_buf_printf(&expected, "%s:%s", path, line);
        free(lines);
        write_facts(vectors[i][0]);
        check_bad(path, expected.data);
    }
}

TEST(a_file_that_is_not_there_is_helped)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_diags diags RELEASE(jr_diags_release) = JR_DIAGS_INIT;
    struct jr_host hw;
    CU_ASSERT_EQUAL(jr_profile_load(&hw, &arena, "H100x8", &diags), -1);
    CU_ASSERT_EQUAL_FATAL(diags.count, 1);
    JR_ASSERT_TEXT(diags.items[0].code, "JR0101");
    CU_ASSERT_EQUAL(diags.items[0].span.line, 0);
    JR_ASSERT_TEXT(diags.items[0].span.source->name, "H100x8");
    CU_ASSERT_PTR_NOT_NULL_FATAL(diags.items[0].help);
    CU_ASSERT_PTR_NOT_NULL(strstr(diags.items[0].help, "1x8:H100"));
}

/* A profile that a spec states, here at 3:11, is told of in the spec. */
TEST(targets_are_positioned)
{
    static const struct jr_source spec = {.name = "t.yaml"};
    static const struct {
        const char *target;
        uint32_t width; /* of its text in the spec */
        const char *told;
    } vectors[] = {{"2x8:H1O0", 8, "t.yaml:3:15: error: unknown device model 'H1O0'"},
                   {"2x8:H1O0", 10, "t.yaml:3:16: error: unknown device model 'H1O0'"},
                   {"2x8:H1O0", 20, "t.yaml:3:11: error: unknown device model 'H1O0'"},
                   {"2", 1, "t.yaml:3:12: error: x and the number of devices is missing"},
                   {"/a/b.yaml", 9, "t.yaml:3:11: error: /a/b.yaml: there is no such file"},
                   {path, 5, "1:13: error: a facts file must be a mapping"}};
    write_facts("            [1]");
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
        struct jr_diags diags RELEASE(jr_diags_release) = JR_DIAGS_INIT;
        JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
        struct jr_host hw;
        const struct jr_span at = {&spec, 3, 11, 3, 11 + vectors[i].width};
        CU_ASSERT_EQUAL(jr_profile_load_target(&hw, &arena, vectors[i].target, at, &diags), -1);
        CU_ASSERT_EQUAL_FATAL(diags.count, 1);
        jr_diags_render(&text, &diags, JR_DIAG_SHORT, false);
        const char *found = strstr(text.data, vectors[i].told);
        CU_ASSERT_PTR_NOT_NULL(found);
        bool in_file = vectors[i].target == path;
        CU_ASSERT_EQUAL(found == text.data, !in_file);
        CU_ASSERT_EQUAL(diags.items[0].related != NULL, in_file);
    }
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_host hw;
    const struct jr_span at = {&spec, 3, 11, 3, 14};
    CU_ASSERT_EQUAL(jr_profile_load_target(&hw, &arena, "2x8", at, &diags), 0);
    JR_ASSERT_TEXT(hw.origin, "the target");
}

TEST(facts_have_defaults)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_diags diags RELEASE(jr_diags_release) = JR_DIAGS_INIT;
    struct jr_host hw;
    write_facts(V1 "cpus: {quota: 1.5, usable: null}\n"
                   "memory: 64GiB\n"
                   "nodes: 3\n"
                   "devices:\n"
                   "  - {kind: rocm, index: 4, memory: 192GiB}\n"
                   "environment: {CUDA_VISIBLE_DEVICES: \"\"}\n"
                   "problems: []\n");
    CU_ASSERT_EQUAL_FATAL(jr_profile_load(&hw, &arena, path, &diags), 0);
    CU_ASSERT_EQUAL(hw.nodes, 3);
    CU_ASSERT_TRUE(hw.cpus.quota > 1.4 && hw.cpus.quota < 1.6);
    CU_ASSERT_EQUAL(hw.cpus.usable, 0);
    CU_ASSERT_EQUAL(hw.memory, UINT64_C(64) << 30);
    CU_ASSERT_EQUAL_FATAL(hw.devices_count, 1);
    CU_ASSERT_EQUAL(hw.devices[0].kind, JR_DEVICE_ROCM);
    CU_ASSERT_EQUAL(hw.devices[0].index, 4);
    CU_ASSERT_EQUAL(hw.devices[0].memory, UINT64_C(192) << 30);
    CU_ASSERT_EQUAL(hw.devices[0].numa_node, -1);
    CU_ASSERT_TRUE(hw.devices[0].visible);
    CU_ASSERT_PTR_NULL(hw.devices[0].uuid);
    JR_ASSERT_TEXT(hw.environment.visible[JR_DEVICE_CUDA], "");
    CU_ASSERT_PTR_NULL(hw.environment.backend);
    CU_ASSERT_EQUAL(hw.port_low, JR_HOST_PORT_LOW);
    CU_ASSERT_EQUAL(hw.port_high, JR_HOST_PORT_HIGH);
    CU_ASSERT_EQUAL(strncmp(hw.origin, "--on /tmp/", 10), 0);
}

/* However little memory there is, a profile is read whole or refused. */
TEST(survives_without_memory)
{
    write_facts(V1 "hostname: a\ndevices: [{kind: cuda, index: 1}]\n");
    const char *const profiles[] = {"1x4:RTX1,8c", path};
    for (size_t i = 0; i < 2; i++) {
        int got = -1;
        for (size_t limit = 16; got != 0 && limit < 1 << 16; limit += 16) {
            struct jr_arena arena RELEASE(jr_arena_release) = {.limit = limit};
            struct jr_diags diags RELEASE(jr_diags_release) = JR_DIAGS_INIT;
            struct jr_host hw = {.nodes = 77};
            got = jr_profile_load(&hw, &arena, profiles[i], &diags);
            CU_ASSERT_EQUAL(diags.errors, got == 0 ? 0 : 1);
            CU_ASSERT_TRUE(got == 0 || hw.nodes == 77);
        }
        CU_ASSERT_EQUAL(got, 0);
    }
}

/* Every member that a file can hold, none of them at its default. */
TEST(facts_survive_a_file)
{
    struct jr_host_device devices[] = {
        {JR_DEVICE_CUDA, 3, "NVIDIA \"H\": 100", "GPU-1", "0000:3b:00.0", 80, 1, true},
        {JR_DEVICE_NPU, 0, NULL, NULL, NULL, 0, -1, false}};
    struct jr_host_problem problems[] = {{JR_DEVICE_ROCM, "it is: broken", "mend it"},
                                         {JR_DEVICE_CPU, "null", NULL}};
    static char first[] = "n1", second[] = "n2";
    const struct jr_host hw = {
        .hostname = "4711",
        .nodes = 5,
        .cpus = {.online = 8,
                 .usable = 6,
                 .usable_cores = 3,
                 .quota = 1.0 / 3,
                 .quota_from = "/sys/fs/cgroup/a b/cpu.max",
                 .set = "1-6"},
        .memory = UINT64_C(123456789012),
        .devices = devices,
        .devices_count = 2,
        .environment = {"nccl", "4", {[JR_DEVICE_CUDA] = "0,1"}},
        .scheduler = {.name = "Slurm",
                      .job_id = "7",
                      .step = true,
                      .nodes = 2,
                      .node_rank = 1,
                      .hosts = {(char *[]){first, second}, 2},
                      .tasks = {(uint32_t[]){4, 4}, 2},
                      .end = 99,
                      .kill_wait = 30},
        .problems = problems,
        .problems_count = 2,
        .port_low = 1,
        .port_high = 2,
    };
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_diags diags RELEASE(jr_diags_release) = JR_DIAGS_INIT;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, again = JR_BUF_INIT;
    struct jr_host got = {0};
    jr_profile_emit(&text, &hw);
    write_facts(text.data);
    CU_ASSERT_EQUAL_FATAL(jr_profile_load(&got, &arena, path, &diags), 0);
    jr_profile_emit(&again, &got);
    JR_ASSERT_TEXT(again.data, text.data);
    JR_ASSERT_TEXT(got.hostname, "4711");
    CU_ASSERT_EQUAL(memcmp(&got.cpus.quota, &hw.cpus.quota, sizeof(double)), 0);
    JR_ASSERT_TEXT(got.cpus.quota_from, hw.cpus.quota_from);
    JR_ASSERT_TEXT(got.environment.omp_num_threads, "4");
    CU_ASSERT_PTR_NOT_NULL(got.environment.visible[JR_DEVICE_CUDA]);
    CU_ASSERT_EQUAL(got.scheduler.node_rank, 1);
    CU_ASSERT_EQUAL_FATAL(got.scheduler.hosts.count, 2);
    JR_ASSERT_TEXT(got.scheduler.hosts.items[1], "n2");
    CU_ASSERT_EQUAL_FATAL(got.scheduler.tasks.count, 2);
    CU_ASSERT_EQUAL(got.scheduler.tasks.items[1], 4);
    CU_ASSERT_EQUAL_FATAL(got.devices_count, 2);
    JR_ASSERT_TEXT(got.devices[0].model, devices[0].model);
    CU_ASSERT_FALSE(got.devices[1].visible);
    CU_ASSERT_PTR_NULL(got.devices[1].model);
    CU_ASSERT_EQUAL_FATAL(got.problems_count, 2);
    JR_ASSERT_TEXT(got.problems[1].message, "null");
    CU_ASSERT_PTR_NULL(got.problems[1].help);
}
