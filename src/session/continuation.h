/*
 * A run that goes on in another process: the job of a scheduler was started again, and this jobrun
 * takes up the job's own run folder, with the attempts that are in it, however the last of them
 * ended.
 *
 * Only the job's own folder is taken up: run.json has its number, and fewer restarts. Where two
 * processes come at once, mkdir(2) of the next attempt's folder decides. A run that succeeded is
 * over: nothing of it is run again.
 */
#ifndef JR_CONTINUATION_H
#define JR_CONTINUATION_H

#include "session/session.h"

/* Open the folder of the job's own run, or make it where there is none yet. 0, with session->over
 * where the run has succeeded; or -1 with `err`. */
int jr_continuation_open(struct jr_session *session, struct jr_error *err);

/* Whether the copy of the code is the one that the start before has made, which then is the
 * record's. */
bool jr_continuation_keeps_code(struct jr_session *session);

/* The run has been taken up: write and say so. */
void jr_continuation_note(const struct jr_session *session);

#endif
