/*
 * A job of Slurm's that is to be continued: which job this is, and asking for its place in the
 * queue.
 *
 * The record is written before anything is asked, for Slurm ends the processes of a job that it has
 * queued again. So results.json says that the job is queued again, and is written anew where that
 * is refused.
 */
#ifndef JR_SESSION_REQUEUE_H
#define JR_SESSION_REQUEUE_H

#include "session/session.h"

/* Find out whether the session is a job of Slurm's that this jobrun leads, and which. Once it is
 * resolved. */
void jr_requeue_find_job(struct jr_session *session);

/* Whether ranks begin with SIGTERM ignored: Slurm sends it to all processes of a job that it
 * preempts, before jobrun can send the deadline's signal. */
bool jr_requeue_shields(const struct jr_session *session);

/* Whether the run is the job's own, with its number, whose next start goes on with it. That of a
 * cell which was submitted always is: it has one folder. */
bool jr_requeue_keeps_run(const struct jr_session *session);

/* The last attempt is to be continued: where the scheduler does that, make the judgement one of a
 * job that is queued again, and return true. */
bool jr_requeue_plan(struct jr_session *session);

/* The judgement is written: ask for what was planned. What comes of it is noted, and is written
 * where it is a refusal. */
void jr_requeue_ask(struct jr_session *session);

#endif
