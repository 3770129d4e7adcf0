/*
 * Signs of life between controller and agents, from the spec on to the end of the ranks. srun does
 * not report a node that is cut off before Slurm has given it up (SlurmdTimeout), and a slurmstepd
 * that was killed not at all. Before all agents have said hello there are none: until then srun may
 * hold back what is sent to the first of them.
 *
 * Each JR_HEARTBEAT_NS the controller sends `heartbeat` and every agent answers. A node of which
 * nothing was heard for JR_HEARTBEAT_MISSES turns is lost. A file system that hangs is no reason:
 * an agent needs none but to make ready for an attempt, which may take JR_HEARTBEAT_PATIENCE times
 * as long. So may the controller, which writes to the console and to events.jsonl: an agent that
 * receives nothing for that long takes it for lost and stops its ranks.
 *
 * Under `on_failure: continue` ranks continue without a controller, and once a node is lost nothing
 * may be sent to the others. So there the controller sends no signs from the beginning, and agents
 * give theirs unasked. The same is so where they run cells of a sweep (controller_cells.h).
 *
 * Each process counts its own turns, and not time: one that was stopped, or whose machine slept,
 * has had a single turn, and has read before it what came meanwhile. A controller that is suspended
 * sends `away` first.
 */
#ifndef JR_HEARTBEAT_H
#define JR_HEARTBEAT_H

#include <stdbool.h>
#include <stdint.h>

#define JR_HEARTBEAT_NS       (UINT64_C(10) * 1000000000)
#define JR_HEARTBEAT_MISSES   6u
#define JR_HEARTBEAT_PATIENCE 10u

/* A link may be cut for half a minute, and nothing is lost by it. */
#define JR_HEARTBEAT_STOP_NS  (UINT64_C(40) * 1000000000)
#define JR_HEARTBEAT_AGAIN_NS (UINT64_C(3) * 1000000000)

struct jr_controller;
struct jr_controller_run;
struct jr_agent;

/* The controller begins to count the turns of all nodes, from zero. */
void jr_heartbeat_begin(struct jr_controller *controller);

/* The controller has received something from a node. */
void jr_heartbeat_received(struct jr_controller *controller, uint32_t node);

/* A turn of the controller (struct jr_controller) is over: nodes that have been silent for too many
 * are lost, the others are asked for a sign of life. */
void jr_heartbeat_due(void *controller);

/* All nodes were told to stop what they run: ask for a sign of life at once. One that gives none is
 * told of after a moment, and given up after JR_HEARTBEAT_STOP_NS; if that is said `again`, after
 * JR_HEARTBEAT_AGAIN_NS. Nothing where nothing may be sent any more. */
void jr_heartbeat_demand(struct jr_controller *controller, bool again);

/* A moment of the controller (struct jr_controller) for that has come. */
void jr_heartbeat_demand_due(void *controller);

/* An agent has received something from the controller, or a run begins. */
void jr_heartbeat_listen(struct jr_agent *agent);

/* A turn of an agent (struct jr_agent) is over: it gives its sign of life unasked, or finds that
 * the controller has been silent for too many. */
void jr_heartbeat_agent_due(void *agent);

#endif
