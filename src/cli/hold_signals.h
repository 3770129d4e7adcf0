/*
 * Signals around a run, which takes them itself while it lasts.
 *
 * From the making of its folder to its judgement none of them may end jobrun,
 * or the folder would tell of a run that was lost: they are blocked, and what
 * comes before the run begins it finds pending, and obeys. What comes while it
 * is told of ends jobrun with the exit status 128+N.
 */
#ifndef JR_HOLD_SIGNALS_H
#define JR_HOLD_SIGNALS_H

#include <jobrun/types.h>

/* Block what a run under `policy` takes; NULL: what any does. */
void jr_hold_signals(const struct jr_policy *policy);

/* The judgement is written, or there will be none. Drops what came meanwhile,
 * which was for the run; from now on the stop signals end the process, those
 * aside that were ignored when it began. */
void jr_hold_end(void);

#endif
