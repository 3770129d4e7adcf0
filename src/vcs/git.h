/*
 * Asking git about the repository of a user who has not asked for that: what is started only reads,
 * runs nothing that the repository configures (hooks, monitors, prompts, transports), takes no
 * lock, and is found in the absolute folders of the PATH alone. The commit is read without git.
 */
#ifndef JR_GIT_H
#define JR_GIT_H

#include <stdbool.h>
#include <stddef.h>

#include <jobrun/error.h>

#include "base/buf.h"
#include "base/strv.h"
#include "base/subprocess.h"

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
    bool talks;                   /* what it reads is written to the task's `in` */
};

/* What a jr_task_sink takes that appends to a jr_buf, which is its data, at most 64 MiB. */
int jr_git_keep(void *data, const char *bytes, size_t len);

/* Start the command, as the leader of a process group. `input` is what it reads; NULL: nothing. 0,
 * or -1 with `err`, whose `sys` is ENOENT where there is no git in an absolute folder of the PATH
 * of `envp`, or only in one that everybody may write to. */
int jr_git_begin(struct jr_task *ret, const struct jr_git_command *command,
                 const struct jr_buf *input, struct jr_error *err);

/* Take its output, and wait for its end, at most as the limit says; then it is killed, and there is
 * no task. Returns 0 if it ended with 0; else -1 with `err`, whose text is what git said last, less
 * its "fatal: ", or that there was no time; its `sys` is ETIMEDOUT without time, EINTR where it was
 * stopped, ECANCELED where the sink ended it, 0 where git failed. */
int jr_git_end(struct jr_task *task, const struct jr_task_sink *sink,
               const struct jr_task_limit *limit, struct jr_error *err);

/* Start it, and wait for its end. */
int jr_git_run(const struct jr_git_command *command, const struct jr_buf *input,
               const struct jr_task_sink *sink, const struct jr_task_limit *limit,
               struct jr_error *err);

/* Which files below a folder git is told to ignore. */

/* What is ignored and not tracked below `folder`: paths relative to it, in order; of a folder that
 * is ignored as a whole its own path alone, with a slash at the end. None if there is no work tree,
 * no git, or no answer within ten seconds. In `arena`. */
struct jr_strv jr_git_ignored(struct jr_arena *arena, const char *folder, char *const *envp);

/* Whether a path relative to the folder, with a slash at the end if it is that of a folder, is one
 * of them. */
bool jr_git_is_ignored(const struct jr_strv *ignored, const char *path);

#endif
