/*
 * The environment of the ranks: decided once for the job, expanded per rank.
 *
 * In this order, the later over the earlier: jobrun's own environment without other launchers'
 * variables; `env_remove`; the contract's variables (tables of contract.h); the profiles; `env`;
 * that of `per_rank`. Wherever PYTHONPATH comes from, it gets one more entry, see below; a spec
 * that unsets it by `env` is obeyed.
 */
#ifndef JR_RANK_ENV_H
#define JR_RANK_ENV_H

#include "base/strv.h"

/*
 * PYTHONPATH of the ranks: what the user has, and behind it the folder of the package jobrun, so
 * that `import jobrun` works in whatever Python a rank executes.
 */

#define JR_PYTHON_PATH "PYTHONPATH"

/* A value of the variable with `folder` as its last entry, in `arena`; NULL is the value of one
 * that is not set. The value itself where it has the folder already, and where a colon in its name
 * keeps it from being an entry. */
const char *jr_python_path_with(struct jr_arena *arena, const char *value, const char *folder);

/* The same for the variable in an environment, which is added if it is not there; a new string is
 * in `arena`. `folder` may be NULL: then nothing is done. */
void jr_python_path_extend(struct jr_strv *env, struct jr_arena *arena, const char *folder);

#endif
