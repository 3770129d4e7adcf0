/* The spec's `on_end`: the command that is run once the record is complete. */
#ifndef JR_ON_END_H
#define JR_ON_END_H

#include "session/session.h"

/* The file of the run folder that has what the command prints. */
#define JR_ON_END_LOG "on_end.log"

/* Start the command of the session's spec, if it has one: the judgement is written. It runs beside
 * whatever the session does until jr_on_end_await. A failure is noted. */
void jr_on_end_start(struct jr_session *session);

/* Wait for its end, and note what went wrong. With `stoppable` a signal that
 * would stop the run ends the command. Where none was started, nothing is done.
 */
void jr_on_end_await(struct jr_session *session, bool stoppable);

/* Warn, as a finding, where the program is not there by now. */
void jr_on_end_check(struct jr_session *session);

#endif
