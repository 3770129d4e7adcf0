/*
 * What the spec's `setup` exported, as the base of the ranks' environment: it takes the place of
 * what they would have inherited.
 */
#ifndef JR_EXPORTED_H
#define JR_EXPORTED_H

#include <jobrun/plan.h>

#include "base/strv.h"

struct jr_exported {
    bool there; /* else what the plan says is whole */
    struct jr_arena arena;
    struct jr_strv base;
    char **joined, **extended; /* of the last calls; malloc'ed */
};

/* Read NAME=VALUE entries that end with NUL, as env(1) -0 writes them, from the file `fd`, all of
 * it, leave out what `setup` drops, and let PYTHONPATH end with its package. Variables that a shell
 * keeps for itself (PWD, OLDPWD, SHLVL, _) are taken as `setup` was given them. 0, or -1 with
 * `err`; nothing at all is an error. */
int jr_exported_read(struct jr_exported *ret, int fd, const struct jr_plan_setup *setup,
                     struct jr_error *err);

/* The environment for execve of one whose own variables are the first `own` of
 * `env`; `drop` are names that it does not get, or NULL. Valid until the next
 * call; the strings until the release. NULL if memory runs out. */
char **jr_exported_join(struct jr_exported *exported, char **env, uint32_t own, char *const *drop);

/* The environment with `more` variables behind it, NULL-terminated; NULL: none. Valid as above. */
char **jr_exported_extend(struct jr_exported *exported, char **env, char *const *more);

/* Free what was read. */
void jr_exported_release(struct jr_exported *exported);

#endif
