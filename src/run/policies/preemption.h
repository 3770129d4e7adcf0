/* The scheduler takes the job's nodes away; see preemption.c. */
#ifndef JR_PREEMPTION_H
#define JR_PREEMPTION_H

#include "eventloop/loop.h"
#include "run/policies/policies.h"

/* What the policy remembers. */
struct jr_preemption {
    struct jr_timer injected; /* when it is rehearsed */
    struct jr_timer limit;    /* when the ranks have had their time */
};

/* The job is preempted: its ranks have `left_ms` from now on, or
 * `timeouts.stop_grace` where that is 0. A second time nothing happens. */
void jr_preemption_begin(struct jr_runner *runner, uint64_t left_ms);

extern const struct jr_runner_policy jr_preemption_policy;

#endif
