/* Artifacts: files that a job promises beside its results; see artifacts.c. */
#ifndef JR_ARTIFACTS_H
#define JR_ARTIFACTS_H

#include "judge/judgement.h"

/* Remember the artifacts as they stand before the start, and the time, to tell a stale one: *ret is
 * the caller's. `run_fd` is the run folder. -1 with `err`. */
int jr_artifacts_before(struct jr_artifacts **ret, const struct jr_plan *plan, int run_fd,
                        struct jr_error *err);

/* Free what was remembered; NULL is nothing. */
void jr_artifacts_free(struct jr_artifacts *before);

#endif
