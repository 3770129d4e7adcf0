#include "host/accel/intel.h"

#include <string.h>

#include "base/banned.h"

#define DRM   "/sys/class/drm"
#define ACCEL "/sys/class/accel"

enum { INTEL = 0x8086, HABANA = 0x1da3, DATA_CENTER = 0x0380 };

struct model {
    unsigned id;
    const char *name;
};

static const struct model models[] = {
    {0x0bd5, "Intel Data Center GPU Max 1550"}, {0x0bda, "Intel Data Center GPU Max 1100"},
    {0x0bdb, "Intel Data Center GPU Max 1100"}, {0x56c0, "Intel Data Center GPU Flex 170"},
    {0x56c1, "Intel Data Center GPU Flex 140"},
};

static const struct model gaudis[] = {
    {0x1000, "Gaudi"},  {0x1001, "Gaudi"},  {0x1020, "Gaudi2"},
    {0x1060, "Gaudi3"}, {0x1061, "Gaudi3"}, {0x1062, "Gaudi3"},
};

static const char *model_name(const struct model *table, size_t count, uint64_t id)
{
    for (size_t i = 0; i < count; i++)
        if (table[i].id == id)
            return table[i].name;
    return NULL;
}

/* `PCI_SLOT_NAME=0000:3a:00.0` of the device's uevent. */
static const char *intel_bus(struct jr_host_reader *probe, const char *device)
{
    static const char key[] = "PCI_SLOT_NAME=";
    char *text = jr_host_reader_text(probe, "%s/uevent", device);
    for (char *line; (line = strsep(&text, "\n")) != NULL;)
        if (strncmp(line, key, strlen(key)) == 0)
            return line + strlen(key);
    return NULL;
}

/* The tiles of a GPU: `tile0` ... with xe, `gt/gt0` ... of its card with i915. Level Zero shows
 * each as a device, unless ZE_FLAT_DEVICE_HIERARCHY says COMPOSITE. Only data center GPUs have more
 * than one. */
static size_t count_tiles(struct jr_host_reader *probe, const char *device)
{
    const char *hierarchy = jr_env_get(probe->envp, "ZE_FLAT_DEVICE_HIERARCHY");
    if (hierarchy != NULL && strcmp(hierarchy, "COMPOSITE") == 0)
        return 1;
    struct jr_strv tiles = jr_names_list(probe, device, "tile");
    struct jr_strv cards =
        jr_names_list(probe, jr_arena_printf(&probe->scratch, "%s/drm", device), "card");
    if (tiles.count == 0 && cards.count > 0)
        tiles = jr_names_list(
            probe, jr_arena_printf(&probe->scratch, "%s/drm/%s/gt", device, cards.items[0]), "gt");
    return tiles.count == 0 ? 1 : tiles.count;
}

/* The GPU within a CPU is always at 00:02.0, and nobody means it. */
static void read_render(struct jr_host_reader *probe, struct jr_accel_list *found, const char *name)
{
    const char *device = jr_arena_printf(&probe->scratch, DRM "/%s/device", name);
    if (device == NULL || jr_host_reader_hex(probe, "%s/vendor", device) != INTEL)
        return;
    const char *bus = intel_bus(probe, device);
    if ((bus != NULL && strcmp(bus, "0000:00:02.0") == 0) ||
        !jr_accel_list_usable(probe, found, "/dev/dri/%s", name))
        return;
    uint64_t id = jr_host_reader_hex(probe, "%s/device", device);
    bool big = jr_host_reader_hex(probe, "%s/class", device) >> 8 == DATA_CENTER;
    size_t tiles = big ? count_tiles(probe, device) : 1;
    for (size_t i = 0; i < tiles; i++) {
        struct jr_host_device *added = jr_accel_list_add(probe, found, JR_DEVICE_XPU, bus);
        if (added != NULL)
            added->model = model_name(models, sizeof models / sizeof models[0], id);
    }
}

void jr_intel_read(struct jr_host_reader *probe, struct jr_accel_list *found)
{
    struct jr_strv names = jr_names_list(probe, DRM, "renderD");
    const char *mask = jr_env_get(probe->envp, "ZE_AFFINITY_MASK");
    for (size_t i = 0; i < names.count; i++)
        read_render(probe, found, names.items[i]);
    if (found->count > 0 && mask != NULL && strchr(mask, '.') != NULL)
        jr_host_reader_problem(probe, JR_DEVICE_XPU,
                               "ZE_AFFINITY_MASK names tiles of a device, which is not supported",
                               "name devices; every tile is a device unless "
                               "ZE_FLAT_DEVICE_HIERARCHY is COMPOSITE");
}

void jr_gaudi_read(struct jr_host_reader *probe, struct jr_accel_list *found)
{
    struct jr_strv names = jr_names_list(probe, ACCEL, "accel");
    for (size_t i = 0; i < names.count; i++) {
        const char *device = jr_arena_printf(&probe->scratch, ACCEL "/%s/device", names.items[i]);
        uint32_t number;
        if (device == NULL || !jr_name_number(&number, names.items[i], "accel") ||
            jr_host_reader_hex(probe, "%s/vendor", device) != HABANA ||
            !jr_accel_list_usable(probe, found, "/dev/accel/%s", names.items[i]))
            continue;
        struct jr_host_device *added =
            jr_accel_list_add(probe, found, JR_DEVICE_HPU, intel_bus(probe, device));
        if (added != NULL)
            added->model = model_name(gaudis, sizeof gaudis / sizeof gaudis[0],
                                      jr_host_reader_hex(probe, "%s/device", device));
    }
    if (found->count + found->denied == 0 && found->missing > 0)
        jr_host_reader_problem(probe, JR_DEVICE_HPU,
                               "the habanalabs driver lists Gaudis, but there is no "
                               "device node for any of them in /dev/accel",
                               "start the container with --runtime=habana, or load "
                               "the driver again");
}
