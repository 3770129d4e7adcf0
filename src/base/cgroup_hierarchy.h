/*
 * Where a control group controller of a process lives: version 1, version 2, or
 * both at once (hybrid), seen from inside a cgroup namespace or not. From the
 * texts of /proc/self/cgroup and /proc/self/mountinfo (cgroups(7), proc(5)).
 */
#ifndef JR_CGROUP_HIERARCHY_H
#define JR_CGROUP_HIERARCHY_H

#include <stdbool.h>

struct jr_cgroup_hierarchy {
    bool v2;
    bool shown;        /* `leaf` is the process's own group. Else the mount
                          shows other ones, as in a container: its topmost is
                          the container's, which binds the process too */
    const char *point; /* where it is mounted; NULL: nowhere */
    const char *leaf;  /* the group below it: "", or "/a/b" */
};

/* Find the hierarchy of `controller` ("cpu", "memory"; NULL: the one of version
 * 2). Both texts are changed, and what is found points into them; NULL texts
 * have nothing in them. */
struct jr_cgroup_hierarchy jr_cgroup_hierarchy_find(char *groups, char *mounts,
                                                    const char *controller);

#endif
