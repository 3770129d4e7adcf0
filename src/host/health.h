/*
 * What is wrong with a machine: things that work, but will not work well, or that somebody has left
 * behind. What keeps a job from being resolved at all is jr_host.problems and
 * jr_host_scheduler.problem, and is listed here, too.
 */
#ifndef JR_HEALTH_H
#define JR_HEALTH_H

#include "host/host.h"

struct jr_host_finding {
    const char *message; /* what is wrong */
    const char *help;    /* what to do; NULL: nothing */
};

/* Less than this of /dev/shm is what container engines leave by default, and too little for NCCL
 * and for data loaders. */
#define JR_SHM_LEAST (UINT64_C(1) << 30)
/* Files that a process with a few hundred ranks or sockets opens. */
#define JR_NOFILE_LEAST 4096u

/* List the findings into `arena`, and return how many they are. `root` is the one that `hw` was
 * read below; NULL: the facts are all there is to look at. Out of memory shows in the arena. */
uint32_t jr_host_examine(struct jr_host_finding **ret, struct jr_arena *arena,
                         const struct jr_host *hw, const char *root, char *const *envp);

#endif
