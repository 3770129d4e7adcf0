#include "host/accel/accel.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"

#include "base/banned.h"

#define DIGITS "0123456789"

static const char *below_root(struct jr_host_reader *probe, const char *path)
{
    return jr_arena_printf(&probe->scratch, "%s%s", probe->root, path);
}

bool jr_host_reader_exists(struct jr_host_reader *probe, const char *path)
{
    const char *full = below_root(probe, path);
    return full != NULL && access(full, F_OK) == 0;
}

int jr_node_error(struct jr_host_reader *probe, const char *path)
{
    const char *full = below_root(probe, path);
    return full == NULL || access(full, R_OK) == 0 ? 0 : errno;
}

bool jr_accel_list_usable(struct jr_host_reader *probe, struct jr_accel_list *found,
                          const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *path = jr_arena_vprintf(&probe->scratch, format, args);
    va_end(args);
    int error = path == NULL ? 0 : jr_node_error(probe, path);
    found->missing += error == ENOENT;
    found->denied += error != 0 && error != ENOENT;
    return error == 0;
}

static int numa_node(struct jr_host_reader *probe, const char *bus)
{
    const char *text = jr_host_reader_text(probe, "/sys/bus/pci/devices/%s/numa_node", bus);
    uint32_t node;
    return text != NULL && jr_num_u32(text, &node) && node < 1u << 16 ? (int)node : -1;
}

struct jr_host_device *jr_accel_list_add(struct jr_host_reader *probe, struct jr_accel_list *found,
                                         enum jr_device kind, const char *bus)
{
    struct jr_host_device *device =
        jr_arena_push(&probe->scratch, &found->devices, &found->count, sizeof *device);
    if (device == NULL)
        return NULL;
    *device = (struct jr_host_device){
        .kind = kind,
        .index = (uint32_t)found->count - 1,
        .bus = jr_arena_strdup(probe->arena, bus),
        .numa_node = bus == NULL ? -1 : numa_node(probe, bus),
    };
    return device;
}

/* By the number at the end where the rest is the same; else by length and then by letters, which is
 * right for DOMAIN:BUS:DEVICE.FUNCTION in hexadecimal digits of fixed width, except for a domain
 * beyond four. */
static int compare_device_names(const struct dirent **a, const struct dirent **b)
{
    size_t a_len = strlen((*a)->d_name), b_len = strlen((*b)->d_name);
    if (a_len != b_len)
        return a_len < b_len ? -1 : 1;
    return strcmp((*a)->d_name, (*b)->d_name);
}

struct jr_strv jr_names_list(struct jr_host_reader *probe, const char *folder, const char *part)
{
    struct jr_strv names = {0};
    struct dirent **entries = NULL;
    const char *path = below_root(probe, folder);
    int count = path == NULL ? 0 : scandir(path, &entries, NULL, compare_device_names);
    for (int i = 0; i < count; i++) {
        if (strstr(entries[i]->d_name, part) != NULL)
            jr_strv_push(&names, &probe->scratch,
                         jr_arena_strdup(&probe->scratch, entries[i]->d_name));
        free(entries[i]);
    }
    free(entries);
    return names;
}

bool jr_name_number(uint32_t *ret, const char *name, const char *prefix)
{
    size_t len = strlen(prefix);
    return strncmp(name, prefix, len) == 0 && jr_num_u32(name + len, ret);
}

uint64_t jr_host_reader_hex(struct jr_host_reader *probe, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *path = jr_arena_vprintf(&probe->scratch, format, args);
    va_end(args);
    const char *text = path == NULL ? NULL : jr_host_reader_text(probe, "%s", path);
    return text == NULL ? 0 : strtoull(text, NULL, 16);
}

/*
 * Ascend and Cambricon: by their device nodes, which is all that is there without their libraries.
 */

/* Devices by nodes PREFIX0, PREFIX1, ... of /dev; their numbers are the indices, also where some
 * are missing. */
static void read_nodes(struct jr_host_reader *probe, struct jr_accel_list *found,
                       enum jr_device kind, const char *prefix)
{
    struct jr_strv names = jr_names_list(probe, "/dev", prefix);
    for (size_t i = 0; i < names.count; i++) {
        uint32_t number;
        if (!jr_name_number(&number, names.items[i], prefix) ||
            !jr_accel_list_usable(probe, found, "/dev/%s", names.items[i]))
            continue;
        struct jr_host_device *added = jr_accel_list_add(probe, found, kind, NULL);
        if (added != NULL)
            added->index = number;
    }
}

static void read_ascend(struct jr_host_reader *probe, struct jr_accel_list *found)
{
    read_nodes(probe, found, JR_DEVICE_NPU, "davinci");
    if (found->count > 0 && jr_node_error(probe, "/dev/davinci_manager") != 0)
        jr_host_reader_problem(probe, JR_DEVICE_NPU,
                               "there are Ascend NPUs, but /dev/davinci_manager cannot be opened, "
                               "so none can be used",
                               "pass it to the container too, or run as a member of HwHiAiUser");
}

static void read_cambricon(struct jr_host_reader *probe, struct jr_accel_list *found)
{
    read_nodes(probe, found, JR_DEVICE_MLU, "cambricon_dev");
    if (found->count > 0 && jr_node_error(probe, "/dev/cambricon_ctl") != 0)
        jr_host_reader_problem(probe, JR_DEVICE_MLU,
                               "there are Cambricon MLUs, but /dev/cambricon_ctl "
                               "cannot be opened, so none can be used",
                               "pass it to the container too");
}

/* AMD: by the topology of KFD. */

#define NODES "/sys/class/kfd/kfd/topology/nodes"

/* Less memory of its own than this has only the GPU within a CPU, for which nobody builds ROCm
 * programs. */
#define LEAST_MEMORY (UINT64_C(4) << 30)

/* A line `name value` of a text of such lines; 0 if there is none. */
static uint64_t node_property(struct jr_host_reader *probe, const char *text, const char *name)
{
    size_t len = strlen(name);
    uint64_t value = 0;
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, len) != 0 || line[len] != ' ')
            continue;
        const char *number = line + len + 1;
        const char *digits = jr_arena_strndup(&probe->scratch, number, strcspn(number, "\n"));
        return digits != NULL && jr_num_u64(digits, &value) ? value : 0;
    }
    return 0;
}

/* One node of the topology: a CPU, a GPU, or one that belongs to another container, whose gpu_id
 * may not be read. */
static void read_kfd_node(struct jr_host_reader *probe, struct jr_accel_list *found,
                          const char *node)
{
    const char *id = jr_host_reader_text(probe, NODES "/%s/gpu_id", node);
    const char *text = jr_host_reader_text(probe, NODES "/%s/properties", node);
    uint64_t number;
    if (id == NULL || text == NULL || !jr_num_u64(id, &number) || number == 0)
        return;
    /* memory of its own: heaps 1 and 2 are its frame buffer, public and private */
    uint64_t memory = 0;
    for (unsigned bank = 0; bank < 8; bank++) {
        const char *heap =
            jr_host_reader_text(probe, NODES "/%s/mem_banks/%u/properties", node, bank);
        uint64_t type = node_property(probe, heap, "heap_type");
        if (type == 1 || type == 2)
            memory += node_property(probe, heap, "size_in_bytes");
    }
    if (memory > 0 && memory < LEAST_MEMORY)
        return;
    if (!jr_accel_list_usable(probe, found, "/dev/dri/renderD%u",
                              (unsigned)node_property(probe, text, "drm_render_minor")))
        return;
    uint64_t at = node_property(probe, text, "location_id");
    const char *bus = jr_arena_printf(
        &probe->scratch, "%04" PRIx64 ":%02x:%02x.%x", node_property(probe, text, "domain"),
        (unsigned)(at >> 8 & 0xff), (unsigned)(at >> 3 & 0x1f), (unsigned)(at & 7));
    struct jr_host_device *device = jr_accel_list_add(probe, found, JR_DEVICE_ROCM, bus);
    if (device == NULL)
        return;
    uint64_t unique = node_property(probe, text, "unique_id");
    device->memory = memory;
    device->model = jr_arena_strdup(
        probe->arena, jr_host_reader_text(probe, "/sys/bus/pci/devices/%s/product_name", bus));
    if (unique != 0)
        device->uuid = jr_arena_printf(probe->arena, "GPU-%016" PRIx64, unique);
}

static void read_amd(struct jr_host_reader *probe, struct jr_accel_list *found)
{
    struct jr_strv nodes = jr_names_list(probe, NODES, "");
    for (size_t i = 0; i < nodes.count; i++)
        read_kfd_node(probe, found, nodes.items[i]);
    if (found->count > 0 && jr_node_error(probe, "/dev/kfd") != 0)
        jr_host_reader_problem(probe, JR_DEVICE_ROCM,
                               "there are AMD GPUs, but /dev/kfd cannot be opened, "
                               "so none can be used",
                               "add yourself to the group that owns it (render), or "
                               "pass it to the container with --device /dev/kfd");
    else if (found->count + found->denied == 0 && found->missing > 0)
        jr_host_reader_problem(probe, JR_DEVICE_ROCM,
                               "amdkfd lists AMD GPUs, but there is no device node "
                               "for any of them in /dev/dri",
                               "pass them to the container with --device /dev/dri");
}

/* Intel GPUs by DRM, and Gaudis by the accel class. */

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

static void read_intel(struct jr_host_reader *probe, struct jr_accel_list *found)
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

static void read_gaudi(struct jr_host_reader *probe, struct jr_accel_list *found)
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

/* Into hw, the visible ones first. */
static void keep_devices(struct jr_host_reader *probe, enum jr_device kind,
                         const struct jr_accel_list *found)
{
    struct jr_host *hw = probe->hw;
    size_t kept = hw->devices_count;
    uint32_t count = (uint32_t)found->count;
    uint32_t *order = jr_arena_array(&probe->scratch, count, sizeof *order);
    if (order == NULL)
        return;
    uint32_t visible =
        kind == JR_DEVICE_CUSTOM
            ? jr_visible_custom(order, found->devices, count, hw->environment.visible[kind])
            : jr_visible(order, found->devices, count, kind, probe->envp);
    for (uint32_t i = 0; i < visible; i++)
        found->devices[order[i]].visible = true;
    for (uint32_t i = 0; i < visible + count; i++) {
        uint32_t at = i < visible ? order[i] : i - visible;
        if (i >= visible && found->devices[at].visible)
            continue;
        struct jr_host_device *slot =
            jr_arena_push(probe->arena, &hw->devices, &kept, sizeof *slot);
        if (slot != NULL)
            *slot = found->devices[at];
    }
    hw->devices_count = (uint32_t)kept;
}

void jr_host_reader_accelerators(struct jr_host_reader *probe)
{
    static const struct {
        enum jr_device kind;
        void (*read)(struct jr_host_reader *probe, struct jr_accel_list *found);
    } vendors[] = {
        {JR_DEVICE_CUDA, jr_nvidia_read}, {JR_DEVICE_ROCM, read_amd},
        {JR_DEVICE_XPU, read_intel},      {JR_DEVICE_HPU, read_gaudi},
        {JR_DEVICE_NPU, read_ascend},     {JR_DEVICE_MLU, read_cambricon},
    };
    for (size_t i = 0; i < sizeof vendors / sizeof vendors[0]; i++) {
        struct jr_accel_list found = {0};
        vendors[i].read(probe, &found);
        if (found.count > 0)
            keep_devices(probe, vendors[i].kind, &found);
    }
}

void jr_host_add_custom(struct jr_host *hw, struct jr_arena *arena, const struct jr_host *from,
                        char *const *envp)
{
    struct jr_host_reader probe = {.hw = hw, .arena = arena, .root = "", .envp = envp};
    struct jr_accel_list found = {.devices = from->devices, .count = from->devices_count};
    hw->custom_counted = true;
    hw->custom_variable = from->custom_variable;
    if (from->custom_variable != NULL)
        hw->environment.visible[JR_DEVICE_CUSTOM] =
            jr_arena_strdup(arena, jr_env_get(envp, from->custom_variable));
    for (size_t i = 0; i < found.count; i++) {
        found.devices[i].kind = JR_DEVICE_CUSTOM;
        found.devices[i].visible = false;
    }
    keep_devices(&probe, JR_DEVICE_CUSTOM, &found);
    arena->failed |= probe.scratch.failed;
    jr_arena_release(&probe.scratch);
}
