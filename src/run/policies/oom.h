/*
 * Whether the kernel killed a rank for want of memory, by its own account: the count of our control
 * group (oom_kill in memory.events, or in version 1's memory.oom_control), which rises before the
 * rank ends; and for a rank in a group of its own, which ours does not count, or where we are in
 * none, the machine's count (/proc/vmstat) and the kernel's log, which names the process but is not
 * for everybody to read.
 */
#ifndef JR_OOM_H
#define JR_OOM_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "run/policies/policies.h"

#define JR_OOM_NAMED 64 /* processes of the log that are remembered */

/* What the policy remembers. */
struct jr_oom {
    const char *root;          /* below which /proc and /dev lie; borrowed */
    char path[PATH_MAX];       /* of the file with the count */
    bool own;                  /* it counts our group, not the machine */
    uint64_t counted;          /* kills that were there, or were told of */
    uint64_t machine;          /* the machine's, when we began */
    int log_fd;                /* /dev/kmsg, from now on; -1: not to be read */
    pid_t named[JR_OOM_NAMED]; /* by the log, the last of them */
    unsigned named_count;
};

/* Begin to count, below `root` ("": this machine). The descriptor is at least
 * `at_least`. */
void jr_oom_open(struct jr_oom *oom, const char *root, int at_least);

/* Whether the SIGKILL that process `pid`, as the machine numbers it, died of came from there. Each
 * kill that was counted explains one process. */
bool jr_oom_explains(struct jr_oom *oom, pid_t pid);

extern const struct jr_runner_policy jr_oom_policy;

#endif
