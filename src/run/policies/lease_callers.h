/* Those who ask for the holder of a lease of the run, or wait for its end: see base/backlog.h. */
#ifndef JR_LEASE_CALLERS_H
#define JR_LEASE_CALLERS_H

#include <stdint.h>

#include "base/backlog.h"
#include "eventloop/loop.h"
#include "run/policies/policies.h"

/* What the policy remembers. */
struct jr_lease_callers {
    struct jr_watch watch; /* of the backlog; -1: there are no leases */
    struct jr_backlog backlog;
    int *leases; /* as they are numbered here */
    uint32_t count;
};

/* Before descriptors move into their slots: take copies of those leases that would have to move.
 * Returns 0, or -1 with errno. */
int jr_lease_callers_keep(struct jr_runner *runner);

extern const struct jr_runner_policy jr_lease_callers_policy;

#endif
