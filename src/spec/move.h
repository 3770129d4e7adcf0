/*
 * Fixes that move a pair, or leave it out: `model_parallelism: 2` at the top is
 * `parallelism: {model: 2}` here, and `rank: -1` is nothing. All else stays as
 * it is written, comments included.
 *
 * If it is not certain what to write, there is no fix: for a value with an anchor or a tag, for one
 * of several lines, and for one that would need quotes within braces.
 */
#ifndef JR_MOVE_H
#define JR_MOVE_H

#include "spec/lint_unknown.h"

/* Give the finding about a key the fix that moves its pair to `path`, which is FIELD.MEMBER: into
 * the mapping that is there, beside the one word that is there, or into a new one. */
void jr_move_pair(struct jr_lint *lint, struct jr_diag *diag, const struct jr_unknown *unknown,
                  const char *path);

/* Give it the fix that leaves the pair out, unless it is the only one. */
void jr_move_out(struct jr_lint *lint, struct jr_diag *diag, const struct jr_unknown *unknown);

#endif
