/* How each rank ended, and the root cause; see cause.c. */
#ifndef JR_CAUSE_H
#define JR_CAUSE_H

#include "judge/judge.h"

/* The state of every rank by how it ended, and the root cause: the first
 * of the ranks that failed by themselves and those that cannot be told apart
 * from it. */
void jr_cause_find(struct jr_judge *judge);

#endif
