/* Commands from the other nodes of a job, and reports to them, by the link of jr_run_options. */
#ifndef JR_COMMANDS_H
#define JR_COMMANDS_H

#include "eventloop/loop.h"
#include "run/policies/policies.h"
#include "spawn/run_options.h"

/* What the policy remembers. */
struct jr_commands {
    struct jr_watch watch; /* of the commands; -1: there is no link */
    int reports_fd;        /* -1: the same */
    int exchange_fd;       /* -1: the same, or it was taken */
};

/* Before descriptors move into their slots: take copies of the link's. Returns 0, or -1 with errno;
 * without a link nothing is done. */
int jr_commands_keep(struct jr_runner *runner);

/* Tell the other nodes; without a link nothing is done. */
void jr_commands_report(struct jr_runner *runner, const struct jr_report *report);

/* The descriptor of the exchange, which is the caller's from now on; -1: there is no link. */
int jr_commands_take_exchange(struct jr_runner *runner);

extern const struct jr_runner_policy jr_commands_policy;

#endif
