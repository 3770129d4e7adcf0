/* The events of ranks, as their nodes tell them: for events.jsonl by our clock, and for what is
 * known of ranks when their node is lost later. Not for other layers. */
#ifndef JR_CONTROLLER_EVENTS_H
#define JR_CONTROLLER_EVENTS_H

#include "cluster/controller_run.h"

/* Take the whole lines that have come of the events of a node, and about its steps. Those of a node
 * that is lost come too late: its ranks are lost with it. A node that begins to stop its ranks
 * stops the run. */
void jr_controller_events_take(struct jr_controller_run *run, uint32_t node);

#endif
