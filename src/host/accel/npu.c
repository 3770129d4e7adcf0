/*
 * Ascend and Cambricon: by their device nodes, which is all that is there
 * without their libraries. The header of this file is accel.h.
 */
#include "host/accel/accel.h"

#include "base/banned.h"

/* Devices by nodes PREFIX0, PREFIX1, ... of /dev; their numbers are the
 * indices, also where some are missing. */
static void read_nodes(struct jr_host_reader *probe,
                       struct jr_accel_list *found, enum jr_device kind,
                       const char *prefix)
{
    struct jr_strv names = jr_names_list(probe, "/dev", prefix);
    for (size_t i = 0; i < names.count; i++) {
        uint32_t number;
        if (!jr_name_number(&number, names.items[i], prefix) ||
            !jr_accel_list_usable(probe, found, "/dev/%s", names.items[i]))
            continue;
        struct jr_host_device *added =
            jr_accel_list_add(probe, found, kind, NULL);
        if (added != NULL)
            added->index = number;
    }
}

void jr_ascend_read(struct jr_host_reader *probe, struct jr_accel_list *found)
{
    read_nodes(probe, found, JR_DEVICE_NPU, "davinci");
    if (found->count > 0 && jr_node_error(probe, "/dev/davinci_manager") != 0)
        jr_host_reader_problem(
            probe, JR_DEVICE_NPU,
            "there are Ascend NPUs, but /dev/davinci_manager cannot be opened, "
            "so none can be used",
            "pass it to the container too, or run as a member of HwHiAiUser");
}

void jr_cambricon_read(struct jr_host_reader *probe,
                       struct jr_accel_list *found)
{
    read_nodes(probe, found, JR_DEVICE_MLU, "cambricon_dev");
    if (found->count > 0 && jr_node_error(probe, "/dev/cambricon_ctl") != 0)
        jr_host_reader_problem(
            probe, JR_DEVICE_MLU,
            "there are Cambricon MLUs, but /dev/cambricon_ctl "
            "cannot be opened, so none can be used",
            "pass it to the container too");
}
