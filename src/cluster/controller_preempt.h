/*
 * Whether the job is preempted: what run/policies/preemption.c asks of one node is asked here once,
 * for all. SIGTERM may come to the controller, or to any agent; each node that has it waits for the
 * word of the controller, and a preemption is everybody's.
 */
#ifndef JR_CONTROLLER_PREEMPT_H
#define JR_CONTROLLER_PREEMPT_H

#include "cluster/controller_run.h"

/* Something may mean that the job is preempted; ask scontrol, and tell all nodes. */
void jr_controller_preempt_ask(struct jr_controller_run *run);

/* The controller was sent a signal that stops runs. True: it may mean a preemption, and is taken
 * care of. */
bool jr_controller_preempt_takes(struct jr_controller_run *run, int sig);

/* The run is over; nothing is asked any more. */
void jr_controller_preempt_close(struct jr_controller_run *run);

#endif
