/*
 * A git process that only reads: no hooks, monitors, locks, replaced objects,
 * prompts, or network, and nothing of what GIT_ variables would tell it.
 */
#ifndef JR_GIT_CALL_H
#define JR_GIT_CALL_H

#include <sys/types.h>

/* Start `git -C folder WORDS...` (NULL-terminated, at most 16) with descriptors
 * 0 to 2 as in `fds`, where -1 is /dev/null. Returns its pid, or -1 with errno
 * set. */
pid_t jr_git_spawn(const char *folder, const char *const *words,
                   const int fds[static 3], char *const *envp);

/* Wait for it. Returns its exit status; -1 when a signal ended it. */
int jr_git_reap(pid_t pid);

#endif
