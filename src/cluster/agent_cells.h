/* Cells of a sweep, as an agent has them (controller_cells.h has the other side): it begins those
 * that are for its node, hands on what they say, and tells of their ends. Who runs them is behind
 * its hooks (agent.h). Not for other layers. */
#ifndef JR_AGENT_CELLS_H
#define JR_AGENT_CELLS_H

#include "cluster/agent_parts.h"

/* The controller asks whether the folder of the cells is there. */
void jr_agent_share_cells(struct jr_agent *agent, const struct jr_message *word);

/* The controller says that cells will come. */
void jr_agent_serve_cells(struct jr_agent *agent, const struct jr_message *word);

/* A cell begins, if it is for this node. */
void jr_agent_begin_cell(struct jr_agent *agent, const struct jr_message *word);

/* A signal came from the cluster, to all of a step: the cells get it. One that stops them is told
 * to the controller, since no other may begin. */
void jr_agent_signal_cells(struct jr_agent *agent, int sig);

/* The controller is gone: end all cells. */
void jr_agent_end_cells(struct jr_agent *agent);

/* Whether some run. */
bool jr_agent_has_cells(const struct jr_agent *agent);

/* Close what is open, once none runs. */
void jr_agent_close_cells(struct jr_agent *agent);

/* Say how far they are. Nothing where no cells run. */
void jr_agent_tell_progress(struct jr_agent *agent);

#endif
