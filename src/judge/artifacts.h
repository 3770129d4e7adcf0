/* Artifacts: files that a job promises beside its results; see artifacts.c. */
#ifndef JR_ARTIFACTS_H
#define JR_ARTIFACTS_H

#include <stdbool.h>
#include <sys/stat.h>

#include "judge/judgement.h"

struct jr_judge;

/* Find out, before any rank is held to them, which artifacts are the job's. */
void jr_artifact_open(struct jr_judge *judge);

/* Hold rank `i` to those of `artifacts` that are its own. */
void jr_artifact_check(struct jr_judge *judge, size_t i);

/* Once all ranks are judged: hold them to those of the job. */
void jr_artifact_check_job(struct jr_judge *judge);

/* Why the result file of rank `i` is none of this run's: "is the one from
 * before the start"; NULL: it may be. It is open as `fd`, and `now` is how it
 * stands.
 */
const char *jr_artifact_stale_result(const struct jr_judge *judge, size_t i, int fd,
                                     const struct stat *now);

/* Remember the artifacts as they stand before the start, and the time, to tell
 * a stale one: *ret is the caller's. `run_fd` is the run folder. -1 with `err`.
 */
int jr_artifacts_before(struct jr_artifacts **ret, const struct jr_plan *plan, int run_fd,
                        struct jr_error *err);

/* Free what was remembered; NULL is nothing. */
void jr_artifacts_free(struct jr_artifacts *before);

#endif
