/*
 * Signals around a run, which takes them itself while it lasts.
 *
 * Between the creation of its folder and its verdict none of them may end
 * jobrun, or the folder would show a lost run. They are blocked; a run obeys
 * those that are pending when it begins. A signal while the report is printed
 * ends jobrun with the exit status 128+N.
 */
#ifndef JR_HOLD_SIGNALS_H
#define JR_HOLD_SIGNALS_H

struct jr_session;

/* Block the signals that the session's run takes. */
void jr_hold_signals(const struct jr_session *session);

/* The judgement is written, or there will be none. Drops what came meanwhile,
 * which was for the run; from now on the stop signals end the process, those
 * aside that were ignored when it began. */
void jr_hold_end(void);

#endif
