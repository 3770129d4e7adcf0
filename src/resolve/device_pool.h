/* The devices of a machine among which a job has some: all that are visible and of its kind, or
 * those that its spec names. */
#ifndef JR_DEVICE_POOL_H
#define JR_DEVICE_POOL_H

#include "resolve/job.h"

struct jr_host;
struct jr_spec;

/* Fill `ret_may`, with a place for each of the host's devices, for a job that was resolved there.
 * Returns how many there are. */
uint32_t jr_device_pool_find(bool *ret_may, const struct jr_host *host, const struct jr_job *job,
                             const struct jr_spec *spec);

#endif
