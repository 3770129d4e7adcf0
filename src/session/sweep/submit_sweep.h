/*
 * A sweep for Slurm: a job array, each of whose tasks runs a cell.
 *
 * What is handed over is frozen: the folder of the sweep is made, with a sweep.json that has every
 * cell, and the spec of each is written apart (session/submission.h). A task reads its own spec and
 * writes the folder of its own cell, and nothing else, so that no two of them write to one file on
 * whatever file system they share. What became of them all is read from the cells' folders
 * (show_sweep.h).
 *
 * A task that was queued again goes on in the folder of its cell, as any job does that keeps its
 * run (session/continuation.h).
 */
#ifndef JR_SUBMIT_SWEEP_H
#define JR_SUBMIT_SWEEP_H

#include "base/buf.h"
#include "session/sweep/sweep_run.h"

struct jr_sweep_submission;

struct jr_sweep_submit_options {
    struct jr_sweep_options sweep; /* without `console` */
    bool freezes;                  /* else nothing is written: the script alone */
    char *const *command;          /* as jr_render_request has it; without `freezes` */
    const char *program;           /* jobrun, as it is called there; with `freezes` */
};

/* Append the script of the session's sweep to `out`. The session has facts, or each cell is taken
 * for a machine as it states it. All cells have to ask Slurm for the same: else
 * JR_STATUS_UNRESOLVED. With `freezes` all that its tasks need is written. *ret is closed by the
 * caller in any case; it is NULL where memory has run out. Where nothing is left to be run, `out`
 * stays empty. */
enum jr_status jr_session_submit_sweep(struct jr_sweep_submission **ret, struct jr_session *session,
                                       const struct jr_sweep_submit_options *options,
                                       struct jr_buf *out, struct jr_error *err);

/* Slurm has taken the job, whose id is as `sbatch --parsable` prints it: note that in the files,
 * and tell it. 0, or -1 with `err`. */
int jr_sweep_submission_note_job(struct jr_sweep_submission *submission, const char *job,
                                 struct jr_error *err);

/* Slurm has not taken the job: remove what was made for it. A sweep that was gone on with stays. */
void jr_sweep_submission_discard(struct jr_sweep_submission *submission);

/* The exit status of the sweep as it is now. 0, or -1 with `err`. */
int jr_sweep_submission_status(const struct jr_sweep_submission *submission, int *ret_code,
                               struct jr_error *err);

/* Free it; NULL is nothing. */
void jr_sweep_submission_close(struct jr_sweep_submission *submission);

#endif
