/* How fast ranks make their steps, and which are slower than the others by half: see
 * step_tracker.h. */
#ifndef JR_STEP_RATE_H
#define JR_STEP_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/step_tracker.h"

enum { JR_STEP_SAMPLES = 16 };

/* Some of a rank's latest steps, from which its rate is computed. The oldest is first, or at `next`
 * once it is full. */
struct jr_step_window {
    uint64_t ns[JR_STEP_SAMPLES];
    int64_t step[JR_STEP_SAMPLES];
    uint32_t count, next;
};

/* Add a step that was made at `ns`, by the monotonic clock. One that is before the last begins
 * anew. */
void jr_step_window_add(struct jr_step_window *window, uint64_t ns, int64_t step);

/* The steps a second until `step` at `ns`: over the last 10 steps and 5 seconds, and then
 * *ret_whole is true; or over all there were. 0: it is not known. */
double jr_step_window_rate(const struct jr_step_window *window, int64_t step, uint64_t ns,
                           bool *ret_whole);

/* Warn of each rank whose rate is less than half of the median, once, and name its host and
 * device. */
void jr_stragglers_find(struct jr_step_tracker *tracker, uint64_t now_ns);

#endif
