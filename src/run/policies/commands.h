/* Orders from the other nodes of a job, by the link of jr_run_options. */
#ifndef JR_COMMANDS_H
#define JR_COMMANDS_H

#include "run/policies/policies.h"

/* Before descriptors move into their slots: take copies of the link's. Returns
 * 0, or -1 with errno; without a link nothing is done. */
int jr_commands_keep(struct jr_runner *runner);

extern const struct jr_runner_policy jr_commands_policy;

#endif
