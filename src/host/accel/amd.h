/* AMD GPUs by the topology of amdkfd, in the order in which ROCm counts. */
#ifndef JR_AMD_H
#define JR_AMD_H

#include "host/accel/accel.h"

/* Find the GPUs of AMD. */
void jr_amd_read(struct jr_host_reader *probe, struct jr_accel_list *found);

#endif
