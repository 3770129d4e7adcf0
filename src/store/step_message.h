/*
 * What a node tells the controller of its ranks' steps: lines of JSON among those of its events, at
 * most one a second for each rank whose steps count.
 *
 *   {"steps_of": 3, "step": 120, "of": 1000, "ns": 81, "metrics": {"loss":
 * 0.3}}
 *   {"warning_of": 3, "problem": 4, "count": 2, "text": "rank 3 ..."}
 */
#ifndef JR_STEP_MESSAGE_H
#define JR_STEP_MESSAGE_H

#include "store/step_tracker.h"

/* Append the line of the rank at place `i`. */
void jr_step_message_put(struct jr_buf *out, const struct jr_step_tracker *tracker, uint32_t i);

/* Append the line of a warning. */
void jr_step_message_put_warning(struct jr_buf *out, const struct jr_step_warning *warning);

/* Read a line of either kind, of a node that has the ranks from `first` to below `end`, and note
 * what it says; `offset_ns` is the node's monotonic clock less ours. False: it is none. */
bool jr_step_message_take(struct jr_step_tracker *tracker, const char *line, size_t len,
                          const uint32_t ranks[2], int64_t offset_ns);

#endif
