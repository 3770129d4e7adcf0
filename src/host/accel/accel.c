#include "host/accel/accel.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "host/accel/amd.h"
#include "host/accel/intel.h"
#include "host/accel/nvidia.h"
#include "host/accel/visible.h"

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

__attribute__((format(printf, 2, 0))) static int node_error(struct jr_host_reader *probe,
                                                            const char *format, va_list args)
{
    const char *path = jr_arena_vprintf(&probe->scratch, format, args);
    const char *full = path == NULL ? NULL : below_root(probe, path);
    return full == NULL || access(full, R_OK) == 0 ? 0 : errno;
}

int jr_node_error(struct jr_host_reader *probe, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int error = node_error(probe, format, args);
    va_end(args);
    return error;
}

bool jr_accel_list_usable(struct jr_host_reader *probe, struct jr_accel_list *found,
                          const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int error = node_error(probe, format, args);
    va_end(args);
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
        {JR_DEVICE_CUDA, jr_nvidia_read}, {JR_DEVICE_ROCM, jr_amd_read},
        {JR_DEVICE_XPU, jr_intel_read},   {JR_DEVICE_HPU, jr_gaudi_read},
        {JR_DEVICE_NPU, jr_ascend_read},  {JR_DEVICE_MLU, jr_cambricon_read},
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

void jr_ascend_read(struct jr_host_reader *probe, struct jr_accel_list *found)
{
    read_nodes(probe, found, JR_DEVICE_NPU, "davinci");
    if (found->count > 0 && jr_node_error(probe, "/dev/davinci_manager") != 0)
        jr_host_reader_problem(probe, JR_DEVICE_NPU,
                               "there are Ascend NPUs, but /dev/davinci_manager cannot be opened, "
                               "so none can be used",
                               "pass it to the container too, or run as a member of HwHiAiUser");
}

void jr_cambricon_read(struct jr_host_reader *probe, struct jr_accel_list *found)
{
    read_nodes(probe, found, JR_DEVICE_MLU, "cambricon_dev");
    if (found->count > 0 && jr_node_error(probe, "/dev/cambricon_ctl") != 0)
        jr_host_reader_problem(probe, JR_DEVICE_MLU,
                               "there are Cambricon MLUs, but /dev/cambricon_ctl "
                               "cannot be opened, so none can be used",
                               "pass it to the container too");
}
