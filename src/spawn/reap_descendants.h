/*
 * Ending whatever is left: every descendant of the calling process, however far it daemonised.
 */
#ifndef JR_REAP_DESCENDANTS_H
#define JR_REAP_DESCENDANTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "spawn/cgroup_tree.h"

#define JR_REAP_PIDS 16

struct jr_reap {
    uint32_t killed; /* processes that were reaped */
    uint32_t left;   /* processes that would not end */
    int32_t left_pids[JR_REAP_PIDS];
};

/* Kill and reap until the caller, a child subreaper, has no child, or until
 * `limit_ns` have passed; ret->left then names what is there. The caller's
 * other children are taken too. All of `group` is killed with them: NULL, or
 * one that the caller is not in. */
void jr_reap(struct jr_reap *ret, uint64_t limit_ns, const struct jr_group *group);

/* Whether `pid` is the only child of the caller. */
bool jr_reap_only(pid_t pid);

#endif
