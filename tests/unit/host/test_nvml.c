/* MIG instances and GPUs by a libnvidia-ml.so.1 of our own; FAKE_NVML is its path, BROKEN_NVML that
 * of one that cannot be initialised, HANGING_NVML and CRASHING_NVML those of worse ones. */
#include "unit.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/strv.h"
#include "host/accel/accel.h"
#include "host/host.h"

#define MACHINE TEST_SOURCE_DIR "/machines/visible-mig"
#define UUID    "MIG-2f6b3c1d-8e4a-5b7f-9c0d-00000000000"

#define ROOT "/tmp/jr_nvml_XXXXXX"

static char root[] = ROOT;

static void make_root(void)
{
    memcpy(root, ROOT, sizeof ROOT);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(root));
}

static void link_to(const char *name, const char *target)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    (void)unlink(path);
    if (target != NULL)
        CU_ASSERT_EQUAL_FATAL(symlink(target, path), 0);
}

struct vector {
    const char *library;  /* NULL: none */
    const char *value;    /* of CUDA_VISIBLE_DEVICES */
    const char *expected; /* the last digits of the devices' UUIDs, those that
                             are not visible behind a slash */
    bool problem;
};

static void check(const struct vector *vector)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_host hw = {0};
    char *envp[] = {jr_arena_printf(&arena, JR_CUDA_VISIBLE "=%s", vector->value), NULL};
    link_to("libnvidia-ml.so.1", vector->library);
    CU_ASSERT_EQUAL(jr_host_probe(&hw, &arena, root, envp, NULL), 0);
    bool hidden = false;
    for (uint32_t i = 0; i < hw.devices_count; i++) {
        const struct jr_host_device *device = &hw.devices[i];
        if (!device->visible && !hidden)
            jr_buf_char(&text, '/');
        hidden = !device->visible;
        jr_buf_char(&text, device->uuid[strlen(device->uuid) - 1]);
        if (strncmp(device->uuid, "MIG-", 4) != 0)
            continue;
        CU_ASSERT_EQUAL(device->memory, 20ull << 30);
        JR_ASSERT_TEXT(device->bus, "0000:c1:00.0");
        CU_ASSERT_EQUAL(device->numa_node, 5);
        JR_ASSERT_TEXT(device->model, "NVIDIA A100-SXM4-40GB MIG 3g.20gb");
    }
    JR_ASSERT_TEXT(text.len == 0 ? "" : text.data, vector->expected);
    CU_ASSERT_EQUAL(hw.problems_count, vector->problem);
}

static struct jr_host probe(struct jr_arena *arena, const char *library, const char *visible)
{
    struct jr_host hw = {0};
    char *envp[] = {jr_arena_printf(arena, JR_CUDA_VISIBLE "=%s", visible), NULL};
    link_to("libnvidia-ml.so.1", library);
    CU_ASSERT_EQUAL(jr_host_probe(&hw, arena, root, visible ? envp : envp + 1, NULL), 0);
    return hw;
}

/* A sandbox that has the nodes and the library, and hides /proc/driver. */
TEST(gpus_without_proc)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    make_root();
    struct jr_host hw = probe(&arena, FAKE_NVML, NULL);
    CU_ASSERT_EQUAL(hw.devices_count, 0); /* nothing of NVIDIA's is there */
    link_to("dev", MACHINE "/dev");
    link_to("sys", MACHINE "/sys");
    hw = probe(&arena, FAKE_NVML, NULL);
    CU_ASSERT_EQUAL_FATAL(hw.devices_count, 2);
    CU_ASSERT_EQUAL(hw.problems_count, 0);
    JR_ASSERT_TEXT(hw.devices[0].uuid, "GPU-7f3a9c4-5d10-4e6b-9a27-b0c4d5e6f700");
    JR_ASSERT_TEXT(hw.devices[0].model, "NVIDIA A100-SXM4-40GB");
    JR_ASSERT_TEXT(hw.devices[0].bus, "0000:c1:00.0");
    CU_ASSERT_EQUAL(hw.devices[0].memory, 40ull << 30);
    CU_ASSERT_EQUAL(hw.devices[0].numa_node, 5);
    hw = probe(&arena, FAKE_NVML, "1");
    CU_ASSERT_EQUAL(hw.devices[0].index, 1);
    CU_ASSERT_FALSE(hw.devices[1].visible);
    hw = probe(&arena, FAKE_NVML, UUID "2");
    CU_ASSERT_EQUAL(hw.devices_count, 2);
    JR_ASSERT_TEXT(hw.devices[0].uuid, UUID "2");
    static const char *const others[][2] = {
        {NULL, "it cannot be loaded"},
        {MACHINE "/env", "it cannot be loaded"},
        {BROKEN_NVML, "it cannot be initialised"},
        {CRASHING_NVML, "it died by SIGSEGV"},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        hw = probe(&arena, others[i][0], NULL);
        CU_ASSERT_EQUAL(hw.devices_count, 0);
        CU_ASSERT_EQUAL_FATAL(hw.problems_count, 1);
        CU_ASSERT_EQUAL(hw.problems[0].kind, JR_DEVICE_CUDA);
        CU_ASSERT_PTR_NOT_NULL(strstr(hw.problems[0].message, others[i][1] + strlen("it ")));
    }
    link_to("dev", NULL);
    link_to("sys", NULL);
    link_to("libnvidia-ml.so.1", NULL);
    CU_ASSERT_EQUAL(rmdir(root), 0);
}

/* It takes nobody along, and no process of it is left. */
TEST(one_that_hangs_is_left_alone)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_host hw = {0};
    struct jr_host_reader probe = {.hw = &hw, .arena = &arena, .root = root};
    struct jr_accel_list found = {0};
    make_root();
    link_to("libnvidia-ml.so.1", HANGING_NVML);
    JR_ASSERT_TEXT(jr_nvml_read(&probe, &found, JR_NVML_GPUS, 200), "gave no answer within 0.2 s");
    CU_ASSERT_EQUAL(found.count, 0);
    CU_ASSERT_EQUAL(waitpid(-1, NULL, WNOHANG), -1);
    CU_ASSERT_EQUAL(errno, ECHILD);
    link_to("libnvidia-ml.so.1", NULL);
    CU_ASSERT_EQUAL(rmdir(root), 0);
    jr_arena_release(&probe.scratch);
}

/* What /proc does not tell, where people ask. */
TEST(completes_gpus_for_people)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    make_root();
    link_to("proc", MACHINE "/proc");
    link_to("dev", MACHINE "/dev");
    struct jr_host hw = probe(&arena, FAKE_NVML, NULL);
    CU_ASSERT_EQUAL_FATAL(hw.devices_count, 4);
    CU_ASSERT_EQUAL(hw.devices[0].memory, 0);
    jr_host_probe_more(&hw, &arena, root);
    JR_ASSERT_TEXT(hw.devices[0].bus, "0000:01:00.0"); /* the library's second */
    CU_ASSERT_EQUAL(hw.devices[0].memory, 40ull << 30);
    CU_ASSERT_EQUAL(hw.devices[1].memory, 0);
    link_to("libnvidia-ml.so.1", CRASHING_NVML);
    hw.devices[0].memory = 0;
    jr_host_probe_more(&hw, &arena, root);
    CU_ASSERT_EQUAL(hw.devices[0].memory, 0);
    link_to("proc", NULL);
    link_to("dev", NULL);
    link_to("libnvidia-ml.so.1", NULL);
    CU_ASSERT_EQUAL(rmdir(root), 0);
}

TEST(instances_are_devices)
{
    static const struct vector vectors[] = {
        /* without the library, the whole GPUs are listed, and none visible */
        {NULL, UUID "0", "/0123", true},
        {BROKEN_NVML, UUID "0", "/0123", true},
        {MACHINE "/env", UUID "0", "/0123", true},
        {FAKE_NVML, UUID "0", "0/2", false},
        {FAKE_NVML, UUID "2," UUID "0", "20", false},
        {FAKE_NVML, UUID "2," UUID "2", "/02", false},
        {FAKE_NVML, UUID "1," UUID "0", "/02", false},
        {FAKE_NVML, UUID "0,GPU-01", "0/2", false},
        {FAKE_NVML, UUID "0,1", "0/2", false},
        {FAKE_NVML, "MIG-2f6b3c1d", "/02", false},
        {FAKE_NVML, "MIG-GPU-01f3a9c4/1/0", "/02", false},
        /* the library is not asked about whole GPUs */
        {FAKE_NVML, "1", "1/023", false},
    };
    make_root();
    link_to("proc", MACHINE "/proc");
    link_to("sys", MACHINE "/sys");
    link_to("dev", MACHINE "/dev");
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        check(&vectors[i]);
    link_to("proc", NULL);
    link_to("sys", NULL);
    link_to("dev", NULL);
    link_to("libnvidia-ml.so.1", NULL);
    CU_ASSERT_EQUAL(rmdir(root), 0);
}
