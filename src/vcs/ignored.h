/* Which files below a folder git is told to ignore. */
#ifndef JR_IGNORED_H
#define JR_IGNORED_H

#include <stdbool.h>

#include "base/strv.h"

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
