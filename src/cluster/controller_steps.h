/* The progress of a job on several nodes: each node relays the steps of its ranks
 * (store/step_message.h), and the controller has the job's, writes it, and finds out when it
 * hangs. */
#ifndef JR_CONTROLLER_STEPS_H
#define JR_CONTROLLER_STEPS_H

#include "cluster/controller_run.h"

/* Begin with the progress of the attempt. 0, or -1 with errno. */
int jr_controller_steps_open(struct jr_controller_run *run);

/* Take a line of a node that is no event; whether it is about steps. */
bool jr_controller_steps_take(struct jr_controller_run *run, uint32_t node, const char *line,
                              size_t len);

/* A rank has ended, or its node is lost. */
void jr_controller_steps_end_rank(struct jr_controller_run *run, uint32_t rank);

/* Take the bar off the terminal, until further steps come. */
void jr_controller_steps_hide(struct jr_controller_run *run);

/* The controller, and all ranks, stood still for so long. */
void jr_controller_steps_pause(struct jr_controller_run *run, uint64_t paused_ns);

/* No limit counts any more. */
void jr_controller_steps_stop(struct jr_controller_run *run);

/* Write all for the last time. */
void jr_controller_steps_close(struct jr_controller_run *run);

#endif
