/*
 * Signs of life between head and agents, from the spec on to the end of the
 * ranks. Of a node that is cut off srun says nothing before Slurm has given it
 * up (SlurmdTimeout), and of a slurmstepd that is gone nothing at all. Before
 * all agents have said hello there are none: until then srun may hold back what
 * is said to the first of them.
 *
 * Each JR_HEARTBEAT_NS the head says `beat` and every agent answers. A node of
 * which nothing was heard for JR_BEATS turns is lost. A file system that hangs
 * is no reason: an agent needs none but to make ready for an attempt, which may
 * take JR_HEARTBEAT_PATIENCE times as long. So may the head, who writes to the
 * console and to events.jsonl: an agent who hears nothing for that long takes
 * it for lost and stops its ranks, which is for a node that is cut off for
 * good.
 *
 * Under `on_failure: continue` ranks go on without a head, and once a node is
 * lost nothing may be said to the others. So there the head says nothing from
 * the beginning, and agents give their signs unasked.
 *
 * What is counted are one's own turns, and not time: one who was stopped, or
 * whose machine slept, has had a single turn, and has heard before it what came
 * meanwhile. A head that is suspended says `away` first.
 */
#ifndef JR_HEARTBEAT_H
#define JR_HEARTBEAT_H

#include <stdint.h>

#define JR_HEARTBEAT_NS       (UINT64_C(10) * 1000000000)
#define JR_BEATS              6u
#define JR_HEARTBEAT_PATIENCE 10u

struct jr_controller;
struct jr_controller_run;
struct jr_agent;

/* The head: it begins to wait; a node said something; a turn is over. */
void jr_heartbeat_begin(struct jr_controller *head);
void jr_heartbeat_heard(struct jr_controller *head, uint32_t node);
void jr_heartbeat_due(void *head);

/* An agent: a run begins, the head has said something; a turn is over. */
void jr_heartbeat_listen(struct jr_agent *agent);
void jr_heartbeat_unheard(void *agent);

#endif
