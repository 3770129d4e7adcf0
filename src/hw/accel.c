#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "num.h"
#include "probe.h"
#include "visible.h"

#include "banned.h"

#define DRIVER "/proc/driver/nvidia"

/* The GPUs that the driver lists, and how many of them cannot be used. */
struct found {
    struct jr_hw_device *devices;
    size_t count;
    size_t missing; /* no device node: nobody made it */
    size_t denied;  /* a node that this process may not open */
};

/* 0, or why the device node cannot be used. Reading is asked for, and not just
 * being there: that asks the device controller of the process's cgroup too,
 * which is how Slurm hands out GPUs, without waking the device up. */
static int node_error(struct jr_probe *probe, const char *name)
{
    const char *path =
        jr_arena_printf(&probe->scratch, "%s/dev/%s", probe->root, name);
    return path == NULL || access(path, R_OK) == 0 ? 0 : errno;
}

/* Before its first use, the driver shows a UUID of question marks. */
static const char *known(const char *uuid)
{
    return uuid != NULL && strchr(uuid, '?') == NULL ? uuid : NULL;
}

static int numa_node(struct jr_probe *probe, const char *bus)
{
    const char *text =
        jr_probe_text(probe, "/sys/bus/pci/devices/%s/numa_node", bus);
    uint32_t node;
    return text != NULL && jr_num_u32(text, &node) && node < 1u << 16
               ? (int)node
               : -1;
}

/* One GPU by the driver's description of it. */
static void read_gpu(struct jr_probe *probe, struct found *found,
                     const char *bus)
{
    const char *text = jr_probe_text(probe, DRIVER "/gpus/%s/information", bus);
    const char *minor = jr_probe_field(probe, text, "Device Minor");
    const char *excluded = jr_probe_field(probe, text, "GPU Excluded");
    uint32_t number;
    if (minor == NULL || !jr_num_u32(minor, &number) ||
        (excluded != NULL && strcmp(excluded, "Yes") == 0))
        return;
    const char *node = jr_arena_printf(&probe->scratch, "nvidia%u", number);
    int error = node == NULL ? 0 : node_error(probe, node);
    found->missing += error == ENOENT;
    found->denied += error != 0 && error != ENOENT;
    if (error != 0)
        return;
    struct jr_hw_device *device = jr_arena_push(
        &probe->scratch, &found->devices, &found->count, sizeof *device);
    if (device == NULL)
        return;
    *device = (struct jr_hw_device){
        .kind = JR_DEVICE_CUDA,
        .index = (uint32_t)found->count - 1,
        .model =
            jr_arena_strdup(probe->arena, jr_probe_field(probe, text, "Model")),
        .uuid = jr_arena_strdup(probe->arena,
                                known(jr_probe_field(probe, text, "GPU UUID"))),
        .bus = jr_arena_strdup(probe->arena, bus),
        .numa_node = numa_node(probe, bus),
    };
}

/* DOMAIN:BUS:DEVICE.FUNCTION in hexadecimal digits of fixed width, but for a
 * domain beyond four digits. */
static int by_bus(const struct dirent **a, const struct dirent **b)
{
    size_t a_len = strlen((*a)->d_name), b_len = strlen((*b)->d_name);
    if (a_len != b_len)
        return a_len < b_len ? -1 : 1;
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_bus(const struct dirent *entry)
{
    return strchr(entry->d_name, ':') != NULL;
}

/* False when there is no driver. */
static bool read_gpus(struct jr_probe *probe, struct found *found)
{
    struct dirent **entries = NULL;
    const char *driver =
        jr_arena_printf(&probe->scratch, "%s" DRIVER, probe->root);
    const char *gpus =
        jr_arena_printf(&probe->scratch, "%s" DRIVER "/gpus", probe->root);
    if (driver == NULL || gpus == NULL || access(driver, F_OK) != 0)
        return false;
    int count = scandir(gpus, &entries, is_bus, by_bus);
    for (int i = 0; i < count; i++) {
        read_gpu(probe, found, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return true;
}

static void tell_broken(struct jr_probe *probe, const struct found *found)
{
    if (found->count + found->missing + found->denied == 0)
        jr_probe_problem(
            probe, JR_DEVICE_CUDA,
            "the NVIDIA driver is loaded, but lists no GPU in " DRIVER "/gpus",
            "see what `nvidia-smi` and the kernel's log say about it");
    else if (found->count == 0 && found->denied == 0)
        jr_probe_problem(
            probe, JR_DEVICE_CUDA,
            jr_arena_printf(probe->arena,
                            "the NVIDIA driver lists %zu GPU%s, but there is "
                            "no device node for %s in /dev",
                            found->missing, found->missing == 1 ? "" : "s",
                            found->missing == 1 ? "it" : "any of them"),
            "run `nvidia-modprobe -u -c 0` as root, or start the container "
            "with its GPUs, as by `docker run --gpus all`");
    else if (found->count > 0 && node_error(probe, "nvidiactl") != 0)
        jr_probe_problem(probe, JR_DEVICE_CUDA,
                         "there are NVIDIA GPUs, but /dev/nvidiactl cannot be "
                         "opened, without which none can be used",
                         "give it to the container too, or run "
                         "`nvidia-modprobe` as root");
}

/* A value that cannot be judged is told, and leaves nothing. */
static void tell_unreadable(struct jr_probe *probe, const char *value,
                            const struct found *found)
{
    if (jr_visible_is_mig(value)) {
        jr_probe_problem(probe, JR_DEVICE_CUDA,
                         JR_CUDA_VISIBLE
                         " names MIG instances, which are not supported yet",
                         "name whole GPUs, by index or by GPU- UUID");
        return;
    }
    for (size_t i = 0; i < found->count; i++) {
        if (strncmp(value, "GPU-", 4) != 0 || found->devices[i].uuid != NULL)
            continue;
        jr_probe_problem(probe, JR_DEVICE_CUDA,
                         JR_CUDA_VISIBLE
                         " names UUIDs, which the driver does not tell "
                         "before its first use",
                         "run `nvidia-smi` once, or name GPUs by index");
        return;
    }
}

/* Into hw, the visible ones first. */
static void order_devices(struct jr_probe *probe, const struct found *found)
{
    struct jr_hw *hw = probe->hw;
    uint32_t count = (uint32_t)found->count;
    uint32_t *order = jr_arena_array(&probe->scratch, count, sizeof *order);
    hw->devices = jr_arena_array(probe->arena, count, sizeof *hw->devices);
    if (found->devices == NULL || order == NULL || hw->devices == NULL)
        return;
    uint32_t visible = jr_visible_cuda(order, found->devices, count,
                                       hw->environment.visible_value);
    for (uint32_t i = 0; i < visible; i++) {
        found->devices[order[i]].visible = true;
        hw->devices[hw->devices_count++] = found->devices[order[i]];
    }
    for (uint32_t i = 0; i < count; i++)
        if (!found->devices[i].visible)
            hw->devices[hw->devices_count++] = found->devices[i];
}

void jr_probe_accelerators(struct jr_probe *probe)
{
    struct found found = {0};
    const char *value = probe->hw->environment.visible_value;
    if (!read_gpus(probe, &found))
        return;
    tell_broken(probe, &found);
    if (value != NULL)
        tell_unreadable(probe, value, &found);
    order_devices(probe, &found);
}
