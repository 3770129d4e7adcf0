/*
 * What ranks have of their own: `per_rank`, arguments after those of all ranks and variables that
 * override theirs; and `redirects` and `tee`, where both streams of each local rank go.
 */
#ifndef JR_PER_RANK_H
#define JR_PER_RANK_H

#include <jobrun/plan.h>

#include "base/arena.h"
#include "base/rank_set.h"
#include "plan/rank_env.h"

/* One entry, compiled. */
struct jr_addition {
    struct jr_set ranks;
    struct jr_compiled_templates args; /* of a function the whole call, in one word */
    bool call;
    struct jr_env_more env;
    char **drop; /* names that it unsets, NULL-terminated; NULL: none */
};

/* All of them; no two have a rank in common. */
struct jr_additions {
    struct jr_addition *items;
    size_t count;
    unsigned *of; /* by rank, which one, from 1 on; NULL: there are none */
};

/* Compile the job's entries, in the arena of `scopes`; `drop` is in `arena`. Findings: as those of
 * jr_environment_init, and JR0502 for arguments. */
enum jr_status jr_additions_init(struct jr_additions *ret, const struct jr_scopes *scopes,
                                 struct jr_arena *arena, struct jr_diags *diags);

/* The entry of a rank, or NULL. */
struct jr_addition *jr_additions_find(const struct jr_additions *additions, uint32_t rank);

/* The arguments of `argv`, which may be `argv` itself, followed by those of the entry; of a
 * function with the entry's call. NULL if memory runs out. */
char **jr_addition_argv(struct jr_addition *addition, struct jr_arena *arena, char *const *argv,
                        const struct jr_scope *scope);

struct jr_job;

/* The sinks of one local rank. */
struct jr_sinks {
    enum jr_sink out, err;
};

/* The sinks of local ranks 0 .. count - 1, in `arena`: what is teed goes to file and console, what
 * is only redirected to the file, the rest is inherited. NULL if memory runs out, or, with `err`,
 * when the ranks of a rule are no rank set. */
struct jr_sinks *jr_sinks_build(struct jr_arena *arena, const struct jr_job *job, uint32_t count,
                                struct jr_error *err);

#endif
