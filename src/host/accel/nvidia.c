/*
 * NVIDIA GPUs by /proc/driver/nvidia; where that is hidden (sandboxes such
 * as gVisor, WSL), by NVIDIA's library. The header of this file is accel.h.
 */
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "host/accel/accel.h"
#include "host/accel/nvml.h"
#include "host/accel/visible.h"

#include "base/banned.h"

#define DRIVER "/proc/driver/nvidia"

/* Before its first use, the driver shows a UUID of question marks. */
static const char *known_uuid(const char *uuid)
{
    return uuid != NULL && strchr(uuid, '?') == NULL ? uuid : NULL;
}

/* One GPU by the driver's description of it. */
static void read_gpu(struct jr_host_reader *probe, struct jr_accel_list *found,
                     const char *bus)
{
    const char *text =
        jr_host_reader_text(probe, DRIVER "/gpus/%s/information", bus);
    const char *minor = jr_host_reader_field(probe, text, "Device Minor");
    const char *excluded = jr_host_reader_field(probe, text, "GPU Excluded");
    uint32_t number;
    if (minor == NULL || !jr_num_u32(minor, &number) ||
        (excluded != NULL && strcmp(excluded, "Yes") == 0) ||
        !jr_accel_list_usable(probe, found, "/dev/nvidia%u", number))
        return;
    struct jr_host_device *device =
        jr_accel_list_add(probe, found, JR_DEVICE_CUDA, bus);
    if (device == NULL)
        return;
    device->model = jr_arena_strdup(probe->arena,
                                    jr_host_reader_field(probe, text, "Model"));
    device->uuid = jr_arena_strdup(
        probe->arena,
        known_uuid(jr_host_reader_field(probe, text, "GPU UUID")));
}

static void report_missing_gpus(struct jr_host_reader *probe,
                                const struct jr_accel_list *found)
{
    if (found->count + found->missing + found->denied == 0)
        jr_host_reader_problem(
            probe, JR_DEVICE_CUDA,
            "the NVIDIA driver is loaded, but lists no GPU in " DRIVER "/gpus",
            "look at the output of `nvidia-smi` and at the kernel's log");
    else if (found->count == 0 && found->denied == 0)
        jr_host_reader_problem(
            probe, JR_DEVICE_CUDA,
            jr_arena_printf(probe->arena,
                            "the NVIDIA driver lists %zu GPU%s, but there is "
                            "no device node for %s in /dev",
                            found->missing, found->missing == 1 ? "" : "s",
                            found->missing == 1 ? "it" : "any of them"),
            "run `nvidia-modprobe -u -c 0` as root, or start the container "
            "with its GPUs, for example with `docker run --gpus all`");
    else if (found->count > 0 && jr_node_error(probe, "/dev/nvidiactl") != 0)
        jr_host_reader_problem(
            probe, JR_DEVICE_CUDA,
            "there are NVIDIA GPUs, but /dev/nvidiactl cannot be opened, so "
            "none can be used",
            "pass it to the container too, or run `nvidia-modprobe` as root");
}

/* A value that cannot be judged is told, and leaves nothing. */
static void report_unreadable_uuids(struct jr_host_reader *probe,
                                    const char *value,
                                    const struct jr_accel_list *found)
{
    for (size_t i = 0; i < found->count; i++) {
        if (strncmp(value, "GPU-", 4) != 0 || found->devices[i].uuid != NULL)
            continue;
        jr_host_reader_problem(
            probe, JR_DEVICE_CUDA,
            JR_CUDA_VISIBLE
            " names UUIDs, which the driver does not list before its first use",
            "run `nvidia-smi` once, or name GPUs by index");
        return;
    }
}

/* A process uses the MIG instances that the variable names, and no GPU then;
 * without the library nobody knows them. */
static void read_instances(struct jr_host_reader *probe,
                           struct jr_accel_list *found)
{
    struct jr_accel_list instances = {0};
    const char *why =
        jr_nvml_read(probe, &instances, JR_NVML_INSTANCES, JR_NVML_LIMIT_MS);
    if (why != NULL)
        jr_host_reader_problem(
            probe, JR_DEVICE_CUDA,
            jr_arena_printf(probe->arena,
                            JR_CUDA_VISIBLE
                            " names MIG instances, which only "
                            "libnvidia-ml.so.1 knows, and it %s",
                            why),
            "install the driver's libraries, or pass them to the "
            "container, or name whole GPUs");
    else
        *found = instances;
}

/* Something of NVIDIA's can be opened, but /proc does not tell what. Under WSL
 * the node may be another vendor's. */
static void read_hidden(struct jr_host_reader *probe,
                        struct jr_accel_list *found)
{
    const char *node = "/dev/nvidiactl";
    bool own = jr_host_reader_exists(probe, node);
    if (!own && !jr_host_reader_exists(probe, "/dev/dxg"))
        return;
    const char *why =
        jr_nvml_read(probe, found, JR_NVML_GPUS, JR_NVML_LIMIT_MS);
    if (why != NULL && own)
        jr_host_reader_problem(
            probe, JR_DEVICE_CUDA,
            jr_arena_printf(probe->arena,
                            "there is %s, but no " DRIVER
                            " that lists the GPUs, and libnvidia-ml.so.1 %s",
                            node, why),
            "look at the output of `nvidia-smi`, and start the container with "
            "the driver's libraries too");
}

/* By the place on the bus. */
static void complete_device(struct jr_host_device *device,
                            const struct jr_accel_list *found)
{
    for (size_t i = 0; i < found->count; i++) {
        const struct jr_host_device *told = &found->devices[i];
        if (device->bus == NULL || told->bus == NULL ||
            strcmp(device->bus, told->bus) != 0)
            continue;
        device->memory = told->memory;
        if (device->uuid == NULL)
            device->uuid = told->uuid;
        return;
    }
}

void jr_nvidia_complete(struct jr_host_reader *probe)
{
    struct jr_host *hw = probe->hw;
    struct jr_accel_list found = {0};
    bool wanted = false;
    for (uint32_t i = 0; i < hw->devices_count; i++)
        wanted |=
            hw->devices[i].kind == JR_DEVICE_CUDA && hw->devices[i].memory == 0;
    if (!wanted ||
        jr_nvml_read(probe, &found, JR_NVML_GPUS, JR_NVML_LIMIT_MS) != NULL)
        return;
    for (uint32_t i = 0; i < hw->devices_count; i++)
        if (hw->devices[i].kind == JR_DEVICE_CUDA)
            complete_device(&hw->devices[i], &found);
}

void jr_nvidia_read(struct jr_host_reader *probe, struct jr_accel_list *found)
{
    const char *value = probe->hw->environment.visible[JR_DEVICE_CUDA];
    if (!jr_host_reader_exists(probe, DRIVER)) {
        if (value != NULL && jr_visible_is_mig(value))
            read_instances(probe, found);
        else
            read_hidden(probe, found);
        return;
    }
    struct jr_strv buses = jr_names_list(probe, DRIVER "/gpus", ":");
    for (size_t i = 0; i < buses.count; i++)
        read_gpu(probe, found, buses.items[i]);
    report_missing_gpus(probe, found);
    if (value != NULL && jr_visible_is_mig(value))
        read_instances(probe, found);
    else if (value != NULL)
        report_unreadable_uuids(probe, value, found);
}
