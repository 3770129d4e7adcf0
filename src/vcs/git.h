/*
 * What git says of the folder that a spec lies in: the commit, by reading
 * .git; and whether tracked files differ from it, by one `git status` that
 * runs while the caller does something else. Hooks, monitors and locks are
 * off, and the wait for it is bounded.
 *
 *     struct jr_git git = JR_GIT_INIT;
 *     jr_git_start(&git, folder, environ);
 *     ... make the plan ...
 *     jr_git_finish(&git, 300);
 *
 * Finish before jr_run: a run ends every descendant that it finds.
 */
#ifndef JR_GIT_H
#define JR_GIT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/strv.h"

struct jr_git {
    char commit[72];  /* hex; "" where it could not be told */
    bool dirty_known; /* false: no git, no work tree, or no time */
    bool dirty;
    pid_t pid; /* of `git status`, until it is finished; 0: none */
    int fd;    /* its output */
};

#define JR_GIT_INIT ((struct jr_git){.fd = -1})

/* Find the work tree around the absolute path `folder`, read its commit, and
 * start `git status` with `envp` less what begins with GIT_. Nothing happens if
 * there is no work tree or no git. */
void jr_git_start(struct jr_git *git, const char *folder, char *const *environ);

/* Wait for it, at most `timeout_ms`; after that it is killed. Safe to call
 * twice, and after a start that did nothing. */
void jr_git_finish(struct jr_git *git, int timeout_ms);

/*
 * A git process that only reads: no hooks, monitors, locks, replaced objects,
 * prompts, or network, and nothing of what GIT_ variables would tell it.
 */

/* Start `git -C folder WORDS...` (NULL-terminated, at most 16) with descriptors
 * 0 to 2 as in `fds`, where -1 is /dev/null. Returns its pid, or -1 with errno
 * set. */
pid_t jr_git_spawn(const char *folder, const char *const *words,
                   const int fds[static 3], char *const *envp);

/* Wait for it. Returns its exit status; -1 when a signal ended it. */
int jr_git_reap(pid_t pid);

/* Which files below a folder git is told to ignore. */

/* What is ignored and not tracked below `folder`: paths relative to it, in
 * order; of a folder that is ignored as a whole its own path alone, with a
 * slash at the end. None if there is no work tree, no git, or no answer within
 * ten seconds. In `arena`. */
struct jr_strv jr_git_ignored(struct jr_arena *arena, const char *folder,
                              char *const *envp);

/* Whether a path relative to the folder, with a slash at the end if it is that
 * of a folder, is one of them. */
bool jr_git_is_ignored(const struct jr_strv *ignored, const char *path);

#endif
