/*
 * Asking git about the repository of a user who has not asked for that: what is started only reads,
 * runs nothing that the repository configures (hooks, monitors, prompts, transports), takes no
 * lock, and is found in the absolute folders of the PATH alone. The commit is read without git.
 */
#ifndef JR_GIT_H
#define JR_GIT_H

#include <stdbool.h>
#include <sys/types.h>

#include <jobrun/error.h>

#include "base/strv.h"

enum { JR_GIT_HASH = 72 }; /* bytes of the largest name of an object */

/* Report in `err` that memory has run out, as the functions of this folder do. Returns -1. */
int jr_git_report_memory(struct jr_error *err);

/* Read the commit that the work tree around the absolute path `folder` is at, from the files of
 * .git. False, and "", where there is none, or it could not be told. */
bool jr_git_commit(char ret[static JR_GIT_HASH], const char *folder);

/* A git process. NULL where there is nothing. */
struct jr_git_command {
    const char *folder;           /* absolute, that it is about */
    const char *const *words;     /* the command and its arguments */
    const char *const *settings;  /* NAME=VALUE, over those of the repository */
    const char *const *variables; /* NAME=VALUE, for its environment */
    char *const *envp;            /* less GIT_*, which are not passed on */
};

/* Start it with descriptors 0 to 2 as in `fds`, where -1 is /dev/null, as the leader of a process
 * group. Returns its pid, or -1 with errno set: ENOENT where there is no git in an absolute folder
 * of the PATH of `envp`, or only in one that everybody may write to. */
pid_t jr_git_spawn_command(const struct jr_git_command *command, const int fds[static 3]);

/* The same for a command without settings and variables. */
pid_t jr_git_spawn(const char *folder, const char *const *words, const int fds[static 3],
                   char *const *envp);

/* End it, and what it has started. */
void jr_git_kill(pid_t pid);

/* Wait for it. Returns its exit status; -1 when a signal ended it. */
int jr_git_reap(pid_t pid);

/* Which files below a folder git is told to ignore. */

/* What is ignored and not tracked below `folder`: paths relative to it, in order; of a folder that
 * is ignored as a whole its own path alone, with a slash at the end. None if there is no work tree,
 * no git, or no answer within ten seconds. In `arena`. */
struct jr_strv jr_git_ignored(struct jr_arena *arena, const char *folder, char *const *envp);

/* Whether a path relative to the folder, with a slash at the end if it is that of a folder, is one
 * of them. */
bool jr_git_is_ignored(const struct jr_strv *ignored, const char *path);

#endif
