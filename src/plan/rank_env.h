/*
 * The environment of the ranks: decided once for the job, expanded per rank.
 *
 * In this order, the later over the earlier: jobrun's own environment without other launchers'
 * variables; `env_remove`; the contract's variables (tables of contract.h); the profiles; `env`;
 * that of `per_rank`. Wherever PYTHONPATH comes from, it gets one more entry, see env_row.h; a spec
 * that unsets it by `env` is obeyed.
 */
#ifndef JR_RANK_ENV_H
#define JR_RANK_ENV_H

#include "base/strv.h"
#include "diag/diag.h"
#include "plan/template_scope.h"

struct jr_env_row; /* one variable that jobrun sets */
struct jr_rank_entry;

/* Variables of some ranks only. */
struct jr_env_more {
    struct jr_env_row *rows; /* those that it unsets, too */
    size_t count;
};

struct jr_environment {
    struct jr_env_row *rows;
    size_t count;
    struct jr_strv inherited; /* without those that rows set or unset */
    struct jr_strv base;      /* what a spec's `setup` is run with */
    struct jr_strv drop;      /* globs of what ranks do not get of it */
    const char *package;      /* what PYTHONPATH ends with; NULL: nothing */
};

/* Decide the variables, in the arena of `scopes`; inherited strings are copied
 * into `arena`, as are `base` and `drop`, which are made for a job with
 * `setup`. Findings: a required variable that is not there (JR0501,
 * JR_STATUS_UNRESOLVED), a value that is not a template (JR0502,
 * JR_STATUS_INVALID), a variable that replaces the devices (JR0517, a warning).
 */
enum jr_status jr_environment_init(struct jr_environment *ret, const struct jr_scopes *scopes,
                                   struct jr_arena *arena, struct jr_diags *diags);

/* The same for the variables of an entry of `per_rank`, whose dotted path is for findings. */
enum jr_status jr_env_more_init(struct jr_env_more *ret, const struct jr_scopes *scopes,
                                const struct jr_rank_entry *entry, const char *path,
                                struct jr_diags *diags);

/* How many variables jobrun sets for a rank: *ret_own of the next call. */
uint32_t jr_environment_own(const struct jr_environment *env, const struct jr_env_more *more);

/* The environment of one rank, for execve: first the variables that jobrun sets, *ret_own of them,
 * then the inherited ones. `more` is what this rank has besides, or NULL: then *ret_own is the
 * `count` of `env`. NULL if memory runs out. */
char **jr_environment_expand(const struct jr_environment *env, const struct jr_env_more *more,
                             struct jr_arena *arena, const struct jr_scope *scope,
                             uint32_t *ret_own);

#endif
