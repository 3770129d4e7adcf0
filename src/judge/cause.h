/* How each rank ended, and the root cause; see cause.c. */
#ifndef JR_CAUSE_H
#define JR_CAUSE_H

#include "judge/judge.h"

/* The state of every rank by how it ended, and in judge->candidates those that may be the root
 * cause. */
void jr_cause_sort(struct jr_judge *judge);

/* Find the root cause: the first of the ranks that failed by themselves, and those that cannot be
 * told apart from it. A rank that ended with 0 and delivered nothing may be the cause, too, so this
 * is to be called once each rank's own delivery is known. */
void jr_cause_find(struct jr_judge *judge);

#endif
