/* MIG instances by a libnvidia-ml.so.1 of our own; FAKE_NVML is its path, and
 * BROKEN_NVML that of one that cannot be initialised. */
#include "unit.h"

#include <stdlib.h>
#include <unistd.h>

#include "buf.h"
#include "hw.h"
#include "strv.h"

#define MACHINE TEST_SOURCE_DIR "/machines/visible-mig"
#define UUID    "MIG-2f6b3c1d-8e4a-5b7f-9c0d-00000000000"

static char root[] = "/tmp/jr_nvml_XXXXXX";

static void link_to(const char *name, const char *target)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    (void)unlink(path);
    if (target != NULL)
        CU_ASSERT_EQUAL_FATAL(symlink(target, path), 0);
}

struct vector {
    const char *library; /* NULL: none */
    const char *value;   /* of CUDA_VISIBLE_DEVICES */
    const char *expected; /* the last digits of the devices' UUIDs, those that
                             are not visible behind a slash */
    bool problem;
};

static void check(const struct vector *vector)
{
    struct jr_arena arena = JR_ARENA_INIT;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_hw hw = {0};
    char *envp[] = {jr_arena_printf(&arena, JR_CUDA_VISIBLE "=%s",
                                    vector->value),
                    NULL};
    link_to("libnvidia-ml.so.1", vector->library);
    CU_ASSERT_EQUAL(jr_hw_probe(&hw, &arena, root, envp, NULL), 0);
    bool hidden = false;
    for (uint32_t i = 0; i < hw.devices_count; i++) {
        const struct jr_hw_device *device = &hw.devices[i];
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
    jr_arena_release(&arena);
}

static void instances_are_devices(void)
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
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(root));
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

JR_UNIT_MAIN("nvml", CASE(instances_are_devices))
