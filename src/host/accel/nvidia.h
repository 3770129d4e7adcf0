/*
 * NVIDIA GPUs by /proc/driver/nvidia. What that does not tell is asked of NVIDIA's management
 * library: MIG instances, all of the GPUs where /proc is hidden (sandboxes such as gVisor, WSL),
 * and, for people, their memory.
 */
#ifndef JR_NVIDIA_H
#define JR_NVIDIA_H

#include "host/accel/accel.h"

/* Find the GPUs of NVIDIA. */
void jr_nvidia_read(struct jr_host_reader *probe, struct jr_accel_list *found);

/* Ask NVIDIA's library for what only people want to know of GPUs that were found: their memory.
 * What it does not tell stays unknown. */
void jr_nvidia_complete(struct jr_host_reader *probe);

/* A GPU of a node whose driver sleeps takes seconds to wake up. */
#define JR_NVML_LIMIT_MS 30000u

enum jr_nvml_what { JR_NVML_GPUS, JR_NVML_INSTANCES };

/* Append all GPUs, or the MIG instances of all GPUs, in the library's order, which is the PCI
 * bus's: UUID, name, memory, and bus and NUMA node of their GPU; what it cannot tell about is left
 * out. Loads libnvidia-ml.so.1 by dlopen(3), below a root that is not "" from its top folder. NULL,
 * or why it did not answer within the limit, as a clause: "cannot be loaded". */
const char *jr_nvml_read(struct jr_host_reader *probe, struct jr_accel_list *found,
                         enum jr_nvml_what what, unsigned limit_ms);

#endif
