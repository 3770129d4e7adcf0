/*
 * Waiting for all agents, before there is a run, and reporting the one that did not come: within
 * timeouts.start, which begins anew as long as something is on its way. controller.h has what
 * others see of it. Not for other layers.
 */
#ifndef JR_AWAIT_AGENTS_H
#define JR_AWAIT_AGENTS_H

#include "cluster/controller_parts.h"

/* Begin to wait for all nodes to be in `state`. */
void jr_controller_begin_wait(struct jr_controller *controller, enum jr_node_state state);

/* Something is on its way to a node: timeouts.start begins anew. */
void jr_controller_wait_on(struct jr_controller *controller);

/* Wait, within timeouts.start, until all nodes are in `state`. -1 with which is not, and why;
 * `what` is what it did not do: "answer". */
int jr_controller_await(struct jr_controller *controller, enum jr_node_state state,
                        const char *what, struct jr_error *err);

/* Whether nobody is to wait any longer (jr_controller_heed). */
bool jr_controller_is_told(const struct jr_controller *controller);

/* Whether any agent has said hello. */
bool jr_controller_has_agent(const struct jr_controller *controller);

#endif
