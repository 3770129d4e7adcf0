#include "host/accel/amd.h"

#include <inttypes.h>
#include <string.h>

#include "base/num.h"

#include "base/banned.h"

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

/* Memory of its own: heaps 1 and 2 are its frame buffer, public and private. */
static uint64_t own_memory(struct jr_host_reader *probe, const char *node)
{
    uint64_t bytes = 0;
    for (unsigned bank = 0; bank < 8; bank++) {
        const char *text =
            jr_host_reader_text(probe, NODES "/%s/mem_banks/%u/properties", node, bank);
        uint64_t heap = node_property(probe, text, "heap_type");
        if (heap == 1 || heap == 2)
            bytes += node_property(probe, text, "size_in_bytes");
    }
    return bytes;
}

static const char *amd_bus(struct jr_host_reader *probe, const char *properties)
{
    uint64_t at = node_property(probe, properties, "location_id");
    return jr_arena_printf(&probe->scratch, "%04" PRIx64 ":%02x:%02x.%x",
                           node_property(probe, properties, "domain"), (unsigned)(at >> 8 & 0xff),
                           (unsigned)(at >> 3 & 0x1f), (unsigned)(at & 7));
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
    uint64_t memory = own_memory(probe, node);
    if (memory > 0 && memory < LEAST_MEMORY)
        return;
    if (!jr_accel_list_usable(probe, found, "/dev/dri/renderD%u",
                              (unsigned)node_property(probe, text, "drm_render_minor")))
        return;
    const char *bus = amd_bus(probe, text);
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

void jr_amd_read(struct jr_host_reader *probe, struct jr_accel_list *found)
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
