/* How each rank ended, and the root cause; see cause.c. */
#ifndef JR_CAUSE_H
#define JR_CAUSE_H

#include "judge/judge.h"

/* The state of every rank by how it ended, and the root cause: the first
 * of the ranks that failed by themselves and those that cannot be told apart
 * from it. */
void jr_cause_find(struct jr_judge *judge);

/* Where the root cause is that a rank lost a peer: blame the first that ended
 * with 0 by then, or up to a second later, and delivered nothing; in the second
 * case the loss is together with it. To be called once each rank's own delivery
 * is known. */
void jr_cause_blame_early(struct jr_judge *judge);

#endif
