/*
 * What the readers of one machine share. Each reader fills its part of `hw` from files below `root`
 * and leaves out what it cannot read: cpu.c, health.c, accel/ and scheduler/. host.c has the
 * functions that readers call.
 */
#ifndef JR_HOST_INTERNAL_H
#define JR_HOST_INTERNAL_H

#include "base/strv.h"
#include "host/host.h"

struct jr_host_reader {
    struct jr_host *hw;      /* being filled */
    struct jr_arena *arena;  /* for what `hw` points at */
    struct jr_arena scratch; /* for texts on the way; gone after the probe */
    const char *root;        /* "" for this machine */
    const char *groups;      /* of this process, and the mounts that it sees, */
    const char *mounts;      /* once they were read: see jr_cgroup_find */
    char *const *envp;
};

/* The larger readers are declared here; host.c has the others, and lists all. Out of memory shows
 * in the arenas. */

/* Read the CPUs that this process may use, and the NUMA nodes. */
void jr_host_reader_cpus(struct jr_host_reader *probe);

/* Read the caches of the CPUs, for people. */
void jr_host_reader_caches(struct jr_host_reader *probe);

/* Read the devices of all vendors: accel/accel.c. */
void jr_host_reader_accelerators(struct jr_host_reader *probe);

/* Read what a scheduler says of this job: scheduler/scheduler.c. */
void jr_host_reader_scheduler(struct jr_host_reader *probe);

/* The text of the file whose absolute path the format gives, below the root, without its trailing
 * newline; NULL when it cannot be read. In scratch. */
char *jr_host_reader_text(struct jr_host_reader *probe, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The value of the line `KEY: value` of a text, without the blanks around it; NULL when no line
 * begins with `key`. In scratch. */
char *jr_host_reader_field(struct jr_host_reader *probe, const char *text, const char *key);

/* Record that something of the machine is broken. The texts are borrowed. */
void jr_host_reader_problem(struct jr_host_reader *probe, enum jr_device kind, const char *message,
                            const char *help);

/* Where a control group controller of this process lives: version 1, version 2, or both at once
 * (hybrid), seen from inside a cgroup namespace or not. */
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
