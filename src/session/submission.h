/*
 * A job whose spec and code are frozen when it is submitted: a folder below LOG_DIR/.submitted with
 * both, which the job runs whenever it starts. What is edited in the meantime does not reach it.
 *
 *   spec.yaml    the spec with all that it extends, sets and reads from the
 *                environment, less secrets and what only the nodes can tell
 *   run.json     `code`, as a run has it, `spec_folder`, and `job`, by which
 *                the scheduler knows it
 *   code, code.files, code.patch   the frozen code
 *
 * Of a sweep there is 0007.yaml for cell 7, each a task of a job array, and run.json has `sweep`,
 * its id below LOG_DIR. The folder is made whether the code is frozen or not.
 */
#ifndef JR_SUBMISSION_H
#define JR_SUBMISSION_H

#include <jobrun/jobrun.h>

#include "base/buf.h"
#include "record/prune.h"

#define JR_SUBMITTED_DIR ".submitted" /* below LOG_DIR */

/* Make the folder of a session that is resolved, where its spec wants the code frozen. *ret_folder
 * is its absolute path, and lives as long as the session; NULL: nothing is frozen. */
enum jr_status jr_submission_make(struct jr_session *session, const char **ret_folder,
                                  struct jr_error *err);

/* Make the folder of a sweep, of whose cells the session is one that is resolved. *ret_folder as
 * above, but never NULL. */
enum jr_status jr_submission_make_cells(struct jr_session *session, const char **ret_folder,
                                        struct jr_error *err);

/* Write the spec of a cell, which is resolved, into the folder of another. 0, or -1 with `err`. */
int jr_submission_add_cell(struct jr_session *session, const struct jr_session *cell,
                           uint32_t number, struct jr_error *err);

/* Remove it again, if there is one: the job was not taken. */
void jr_submission_discard(struct jr_session *session);

/* Note in the folder, if there is one, the job that it is for, as `sbatch
 * --parsable` prints it: "ID" or "ID;CLUSTER". 0, or -1 with `err`. */
int jr_submission_note_job(struct jr_session *session, const char *job, struct jr_error *err);

/* Load the spec of such a folder, which is the session's `code_of`, into a session. `cell` is the
 * number of a cell; NULL: it is one job. JR_STATUS_LAUNCH where it cannot be read, or is not
 * ours. */
enum jr_status jr_submission_load(struct jr_session *session, const char *cell,
                                  struct jr_error *err);

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
