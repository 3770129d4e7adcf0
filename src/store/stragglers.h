/* Ranks that are slower than the others by half; see step_tracker.h. */
#ifndef JR_STRAGGLERS_H
#define JR_STRAGGLERS_H

#include "store/step_tracker.h"

/* Warn of each rank whose rate is less than half of the median, once, and name
 * its host and device. */
void jr_stragglers_find(struct jr_step_tracker *tracker, uint64_t now_ns);

#endif
