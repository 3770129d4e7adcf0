/* The timeout of silence of a job on several nodes: when it has passed on one, all are asked for
 * how long their ranks have been silent, and the job hangs where it was long enough on each. Not
 * for other layers. */
#ifndef JR_CONTROLLER_SILENCE_H
#define JR_CONTROLLER_SILENCE_H

#include "cluster/controller_run.h"

/* timeouts.silence has passed on a node: ask all that are at work. */
void jr_controller_silence_ask(struct jr_controller_run *run);

/* A node answers, with nanoseconds. */
void jr_controller_silence_answer(struct jr_controller_run *run, uint32_t node, uint64_t silent_ns);

/* If no answer is missing any more, decide whether the run hangs. To be called when a node that was
 * asked will not answer, either. */
void jr_controller_silence_decide(struct jr_controller_run *run);

#endif
