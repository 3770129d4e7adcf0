/* The lines of events.jsonl about ranks that start and end; see rank_events.c. */
#ifndef JR_RANK_EVENTS_H
#define JR_RANK_EVENTS_H

#include "run/policies/policies.h"

extern const struct jr_runner_policy jr_rank_events_policy;

#endif
