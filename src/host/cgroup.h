/*
 * Where a control group controller of this process lives: version 1, version 2, or both at once
 * (hybrid), seen from inside a cgroup namespace or not.
 */
#ifndef JR_CGROUP_H
#define JR_CGROUP_H

#include "base/strv.h"
#include "host/reader.h"

struct jr_cgroup {
    bool v2;
    struct jr_strv folders; /* absolute, own group first, mount point last */
};

/* The groups that bind this process under `controller` ("cpu", "cpuset", "memory"), from
 * /proc/self/cgroup and /proc/self/mountinfo (cgroups(7), proc(5)); no folders where it has none.
 * In scratch. */
struct jr_cgroup jr_cgroup_find(struct jr_host_reader *probe, const char *controller);

/* Read the memory of the machine, and its limit. */
void jr_host_reader_memory(struct jr_host_reader *probe);

#endif
