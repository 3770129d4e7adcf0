/*
 * NVIDIA's management library, for what /proc does not tell: MIG instances, all
 * of the GPUs where there is no /proc/driver/nvidia, and, for people, their
 * memory.
 *
 * It is loaded when one of these is wanted, and not otherwise: to initialise it
 * takes longer than all the other facts together. And it is loaded in a child:
 * a driver that hangs or crashes it takes nobody along.
 */
#ifndef JR_NVML_H
#define JR_NVML_H

#include "host/accel/accel.h"

/* A GPU of a node whose driver sleeps takes seconds to wake up. */
#define JR_NVML_LIMIT_MS 30000u

enum jr_nvml_what { JR_NVML_GPUS, JR_NVML_INSTANCES };

/* Append all GPUs, or the MIG instances of all GPUs, in the library's order,
 * which is the PCI bus's: UUID, name, memory, and bus and NUMA node of their
 * GPU; what it cannot tell about is left out. Loads libnvidia-ml.so.1 by
 * dlopen(3), below a root that is not "" from its top folder. NULL, or why it
 * did not answer within the limit, as a clause: "cannot be loaded". */
const char *jr_nvml_read(struct jr_host_reader *probe,
                         struct jr_accel_list *found, enum jr_nvml_what what,
                         unsigned limit_ms);

#endif
