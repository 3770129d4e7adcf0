/* Executing a session: attempt after attempt, each launched and judged. */
#ifndef JR_ATTEMPTS_H
#define JR_ATTEMPTS_H

#include "session/session.h"

/* Launch and judge, attempt after attempt; attempts.c. The last one's outcome and report stay in
 * the session. */
int jr_session_attempts(struct jr_session *session, const struct jr_session_console *console,
                        struct jr_error *err);

/* Complete the run folder (write_judgement.h) and fill session->ranks: nothing is left to be done.
 * 0 or -1. */
int jr_session_finish(struct jr_session *session, struct jr_error *err);

#endif
