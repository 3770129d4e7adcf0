/* Intel GPUs by DRM, and Gaudis by the accel class. */
#ifndef JR_INTEL_H
#define JR_INTEL_H

#include "host/accel/accel.h"

/* Find the GPUs of Intel. */
void jr_intel_read(struct jr_host_reader *probe, struct jr_accel_list *found);

/* Find the Gaudis of Intel. */
void jr_gaudi_read(struct jr_host_reader *probe, struct jr_accel_list *found);

#endif
