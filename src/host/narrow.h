/*
 * A part of a machine: the facts as they are for a process that may use only
 * some of its cores and devices.
 */
#ifndef JR_NARROW_H
#define JR_NARROW_H

#include "host/host.h"

/* The part: numbers of cores, in the order of jr_host_core, and of devices, as
 * they lie in host->devices. */
struct jr_host_part {
    const uint32_t *cores;
    uint32_t cores_count; /* 0: all of them */
    const uint32_t *devices;
    uint32_t devices_count; /* 0: all of them */
};

/* How many cores can be told apart; 0: the machine's CPUs are not known. */
uint32_t jr_host_core_count(const struct jr_host *host);

/* Fill *ret with the facts about that part, in `arena`; what is not changed is
 * shared with `host`. Devices that are not of it are not visible any more, as
 * by the visibility variable. Without memory the arena has failed. */
void jr_host_narrow(struct jr_host *ret, const struct jr_host *host,
                    const struct jr_host_part *part, struct jr_arena *arena);

#endif
