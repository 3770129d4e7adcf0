/* Executing a session: attempt after attempt, each launched and judged, and
 * the console that the run shows its output on. */
#ifndef JR_ATTEMPTS_H
#define JR_ATTEMPTS_H

#include "session/session.h"

/* Launch and judge, attempt after attempt; attempts.c. The last one's outcome
 * and report stay in the session. */
int jr_session_attempts(struct jr_session *session,
                        const struct jr_session_console *console,
                        struct jr_error *err);

/* Complete the run folder (write_judgement.h) and fill session->ranks: nothing
 * is left to be done. 0 or -1. */
int jr_session_finish(struct jr_session *session, struct jr_error *err);

/* Once the run has begun: from now on text can be printed there. Once. */
void jr_session_open_console(struct jr_session *session,
                             const struct jr_session_console *console);

/* Print our own text to standard error, after everything that the console still
 * has to show, without waiting for it. False if there is no console of a run,
 * or if memory runs out. */
bool jr_session_print(struct jr_session *session, const char *text, size_t len);

/* Show what is left: however long the console takes, or until a signal comes
 * that would stop the run, all of which are blocked. */
void jr_session_show_rest(struct jr_session *session);

#endif
