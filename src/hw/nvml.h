/*
 * NVIDIA's management library, for what /proc does not tell: MIG instances.
 *
 * It is loaded when the environment names such an instance, and not otherwise:
 * to initialise it takes longer than all the other facts together.
 */
#ifndef JR_NVML_H
#define JR_NVML_H

#include "accel.h"

/* Append the MIG instances of all GPUs, in the library's order, which is the
 * PCI bus's: UUID, name, memory, and bus and NUMA node of their GPU. Loads
 * libnvidia-ml.so.1 by dlopen(3), below a root that is not "" from its top
 * folder. False when the library is not there or does not answer; GPUs that it
 * cannot tell about are left out. */
bool jr_nvml_read(struct jr_probe *probe, struct jr_found *found);

#endif
