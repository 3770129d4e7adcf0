/* The code that a run executes, recorded before its first rank starts. */
#ifndef JR_SESSION_CODE_H
#define JR_SESSION_CODE_H

struct jr_session;

#include <jobrun/error.h>

/* Record the work tree around the job's workdir as it stands: the session's
 * record gets what run.json says of it, the run folder code.patch and, where
 * the job wants its code frozen, the copy. Where there is a work tree that
 * cannot be recorded, the run goes on: the record has the reason, and the user
 * is told. Where it cannot be frozen, -1 with `err`: the run cannot go on. The
 * run folder has to be there. */
int jr_session_record_code(struct jr_session *session, struct jr_error *err);

#endif
