/*
 * The argv of ranks, and of the helper that they are forked from.
 *
 * A program is itself. Python and libraries are run by a program of jobrun's own, which lies in the
 * support folder: the worker module for Python, and jobrun-step for libraries. A function's
 * arguments are one JSON object, the last word of its argv.
 */
#ifndef JR_ARGV_H
#define JR_ARGV_H

#include "plan/template_scope.h"

struct jr_rank_entry;

/* The longest JSON object of arguments; the kernel takes no word of 128 KiB. */
#define JR_CALL_MAX (120u * 1024)

/* Compile the argv of all ranks, in the arena of `scopes`. -1 with `err`: a template is none
 * (JR_STATUS_INVALID), or there is no support folder (JR_STATUS_LAUNCH). */
int jr_argv_compile(struct jr_compiled_templates *ret, const struct jr_scopes *scopes,
                    struct jr_error *err);

/* Compile the last word of a function's argv for the ranks of an entry of
 * `per_rank`: its arguments follow those of all ranks, its named ones override
 * theirs. No entry is NULL. */
int jr_argv_call(struct jr_compiled_template *ret, const struct jr_scopes *scopes,
                 const struct jr_rank_entry *more, struct jr_error *err);

/* The helper's argv, in `arena`; NULL where ranks are spawned, or if memory runs out. */
char **jr_argv_helper(const struct jr_scopes *scopes, struct jr_arena *arena);

/* What the entrypoint names, for people: "pkg.train:main"; NULL for a program.
 */
const char *jr_argv_target(const struct jr_entrypoint *entry);

#endif
