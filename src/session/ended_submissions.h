/* What was frozen for jobs that have ended: removed by `prune`. */
#ifndef JR_ENDED_SUBMISSIONS_H
#define JR_ENDED_SUBMISSIONS_H

#include "base/buf.h"
#include "record/prune.h"

/* Remove the folders of LOG_DIR/.submitted (submission.h) whose jobs Slurm does
 * not have in its queue any more, by `options`, of which `keep` is not obeyed:
 * nothing needs them, for each run has a copy of its own. Slurm is asked only
 * if there is such a folder; where it gives no answer, and where the job of a
 * folder was never noted, the folder is left alone, and `bad` says what to
 * type. `out` gets a line for each folder that is removed or would be; `ret`
 * counts what is left alone, and those of waiting and running jobs, as
 * unfinished. */
void jr_submissions_prune(struct jr_pruned *ret, struct jr_buf *out, struct jr_buf *bad,
                          const char *log_dir, const struct jr_prune_options *options,
                          char *const *envp);

#endif
